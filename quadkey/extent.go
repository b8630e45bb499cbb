package quadkey

import "math"

// Extent joins boxes into one box that holds them all and may cross ±180°. Each new box is
// joined on the nearer side of the world. The zero value holds nothing.
type Extent struct {
	box Box
	any bool
}

// Add makes the extent hold a box. An invalid box is ignored.
func (e *Extent) Add(b Box) {
	switch {
	case !b.Valid():
		return
	case !e.any:
		e.box, e.any = b, true
		return
	}
	// The joined box begins at the start of one of the two, and goes east to the farther end.
	reach := func(from float64) float64 {
		return max(east(from, e.box.West)+width(e.box), east(from, b.West)+width(b))
	}
	west, far := e.box.West, reach(e.box.West)
	if other := reach(b.West); other < far {
		west, far = b.West, other
	}
	e.box.South, e.box.North = min(e.box.South, b.South), max(e.box.North, b.North)
	switch e.box.West, e.box.East = west, west+far; {
	case far > 360-1e-9: // rounding must not shrink it to a point
		e.box.West, e.box.East = World.West, World.East
	case e.box.East > 180:
		e.box.East -= 360
	}
}

// east returns the eastward distance of a longitude from another, in degrees from 0 to 360.
func east(from, lon float64) float64 {
	if lon < from {
		lon += 360
	}
	return lon - from
}

// width returns the width of a box in degrees of longitude.
func width(b Box) float64 { return east(b.West, b.East) }

// Bounds returns west, south, east, north of a box that does not cross ±180° and lies within the
// latitudes of Mercator maps. An extent that crosses ±180° gets all longitudes. An empty extent
// gets the whole map.
func (e *Extent) Bounds() [4]float64 {
	b := e.shown()
	if b.West > b.East {
		b.West, b.East = World.West, World.East
	}
	return [4]float64{b.West, b.South, b.East, b.North}
}

// CenterAndZoom returns the centre of a Mercator map that shows the extent, in degrees. zoom is the
// greatest whole zoom from least to most at which about 512 pixels hold the extent.
func (e *Extent) CenterAndZoom(least, most float64) (lon, lat, zoom float64) {
	b := e.shown()
	left, top := Project(b.West, b.North)
	_, bottom := Project(b.East, b.South)
	across := width(b) / 360
	if left += across / 2; left > 1 {
		left--
	}
	lon, lat = Unproject(left, (top+bottom)/2)
	if size := max(across, bottom-top); size > 0 {
		zoom = math.Floor(-math.Log2(size)) + 1
	} else {
		zoom = most
	}
	return lon, lat, min(max(zoom, least), most)
}

func (e *Extent) shown() Box {
	b := e.box
	if !e.any {
		b = World
	}
	b.South, b.North = min(max(b.South, -MaxLatitude), MaxLatitude), max(min(b.North, MaxLatitude), -MaxLatitude)
	return b
}
