package source

import (
	"math"
	"strconv"
	"strings"

	"github.com/paulmach/orb"
)

// MaxVertices is the greatest number of vertices that a feature may have. The largest feature of
// Natural Earth has 447,163 and the largest in OpenStreetMap a few million.
const MaxVertices = 16 << 20

// Want is the content that a job takes from a file that may have several kinds. A file without it
// is refused at once.
type Want string

// These are the kinds of geometries that jobs accept.
const (
	WantPolygons  Want = "polygons" // or lines
	WantPoints    Want = "points"
	WantAddresses Want = "addresses" // of IP
	WantRows      Want = "rows"      // of a publisher's tables
)

// These are the reasons for which a feature is refused, for the readers of polygons and of points.
const (
	ReasonNotAFeature    = "not a feature"
	ReasonNoGeometry     = "no geometry"
	ReasonNotAPolygon    = "geometry is not a polygon"
	ReasonNoArea         = "rings of fewer than four points"
	ReasonNotANumber     = "coordinate is not a number"
	ReasonOutsideWorld   = "coordinate outside the world; degrees expected, longitude first"
	ReasonWrongNesting   = "coordinates nested wrongly for the geometry's type"
	ReasonTooManyPoints  = "too many vertices"
	ReasonBadTopologyArc = "arc reference that does not fit"
	ReasonDamaged        = "record is damaged"
	ReasonOtherSystem    = "coordinates are in another system than the layer says"
	ReasonNotAPoint      = "geometry is not a point"
	ReasonUnknownKind    = "geometry is of a kind that is not read"
	ReasonTooLarge       = "properties are too large"
	ReasonNoID           = "id is missing"
	ReasonAtZero         = "position is exactly 0, 0, which --drop-zero leaves out"
)

// AddRepair adds another assumption of a reader about a feature to the sentences about that
// feature.
func AddRepair(repair *string, what string) {
	switch {
	case *repair == "":
		*repair = what
	case !strings.Contains(*repair, what):
		*repair += "; " + what
	}
}

// IsOpen reports whether a ring does not end where it begins, although it has
// enough points to enclose something.
func IsOpen(r orb.Ring) bool { return len(r) > 2 && r[0] != r[len(r)-1] }

// OnePoint returns the reason why a multipoint is not a point, or "" if it has one position.
func OnePoint(positions int) (reason, detail string) {
	switch positions {
	case 0:
		return ReasonNoGeometry, "empty"
	case 1:
		return "", ""
	}
	return ReasonNotAPoint, "MultiPoint of " + strconv.Itoa(positions) + " positions"
}

// PositionOf returns the position of a point, or of a multipoint with one point. It is finite, and
// otherwise the same as in the file. Reason says why there is no position.
func PositionOf(g orb.Geometry) (p orb.Point, reason, detail string) {
	switch g := g.(type) {
	case nil:
		return p, ReasonNoGeometry, ""
	case orb.Point:
		p = g
	case orb.MultiPoint:
		if reason, detail = OnePoint(len(g)); reason != "" {
			return p, reason, detail
		}
		p = g[0]
	default:
		return p, ReasonNotAPoint, g.GeoJSONType()
	}
	reason, detail = CheckFinite(p[0], p[1])
	return p, reason, detail
}

// PolygonsOf returns a geometry as an orb.Polygon or an orb.MultiPolygon. Every longitude and
// latitude in it is finite and within ±360° and ±90°. Rings are closed and have four points or
// more. repair describes how they were changed for that, or is "". Other faults are not repaired:
// rings may cross themselves, run in either direction, and cross the antimeridian by leaving ±180°
// or by a step of more than 180°. Members of a collection that are empty or not polygons are left
// out. Reason says why no polygon is left. The points of g are changed.
func PolygonsOf(g orb.Geometry) (out orb.Geometry, repair, reason, detail string) {
	var all []orb.Polygon
	var other string // kind of something that is no polygon
	vertices := 0
	polygon := func(p orb.Polygon) {
		for _, ring := range p {
			vertices += len(ring)
			for i := range ring {
				var why, what string
				if ring[i], why, what = NormalizePosition(ring[i][0], ring[i][1]); why != "" && reason == "" {
					reason, detail = why, what
				}
			}
			if IsOpen(ring) {
				repair = RepairClosed
			}
		}
		all = AddPolygon(all, p)
	}
	var add func(g orb.Geometry)
	add = func(g orb.Geometry) {
		switch g := g.(type) {
		case nil:
		case orb.Polygon:
			polygon(g)
		case orb.MultiPolygon:
			for _, p := range g {
				polygon(p)
			}
		case orb.Collection:
			for _, member := range g {
				add(member)
			}
		default:
			other = g.GeoJSONType()
		}
	}
	add(g)
	switch {
	case reason != "":
	case len(all) > 0:
		return JoinPolygons(all), repair, "", ""
	case other != "":
		reason, detail = ReasonNotAPolygon, other
	case vertices > 0:
		reason = ReasonNoArea
	case g != nil:
		reason, detail = ReasonNoGeometry, "empty"
	default:
		reason = ReasonNoGeometry
	}
	return nil, "", reason, detail
}

// LinesOf returns the lines of a geometry that consists of lines only, with positions as in PolygonsOf.
// Lines of fewer than two points are left out. ok reports whether the geometry consists of lines.
// If no line is left, reason says why.
func LinesOf(g orb.Geometry) (out orb.MultiLineString, ok bool, reason, detail string) {
	lines, ok := g.(orb.MultiLineString)
	if one, is := g.(orb.LineString); is {
		lines, ok = orb.MultiLineString{one}, true
	}
	for _, l := range lines {
		for i := range l {
			if l[i], reason, detail = NormalizePosition(l[i][0], l[i][1]); reason != "" {
				return nil, ok, reason, detail
			}
		}
		if len(l) > 1 {
			out = append(out, l)
		}
	}
	if ok && len(out) == 0 {
		reason, detail = ReasonNoGeometry, "empty"
	}
	return out, ok, reason, detail
}

// CheckFinite returns a reason and detail for a BadRecord if a position is not finite.
func CheckFinite(lon, lat float64) (reason, detail string) {
	if math.IsNaN(lon-lon) || math.IsNaN(lat-lat) {
		return ReasonNotANumber, pair(lon, lat)
	}
	return "", ""
}

// rounding is the distance, in degrees, by which a coordinate may exceed the limits of the world
// because of rounding in the program that wrote the file: time zones of Natural Earth reach
// 90.0002.
const rounding = 0.01

// NormalizePosition checks a coordinate pair in degrees. Values that exceed ±180° and ±90° by
// rounding are set to the limit. A longitude up to ±360°, as in shapes that are unwrapped across
// the antimeridian, is kept. If it were normalized, its edges would seem to go around the globe. An
// impossible pair is refused with a reason and detail for a BadRecord.
func NormalizePosition(lon, lat float64) (p orb.Point, reason, detail string) {
	switch {
	case -180 <= lon && lon <= 180 && -90 <= lat && lat <= 90:
		return orb.Point{lon, lat}, "", ""
	case math.IsNaN(lon) || math.IsNaN(lat) || math.IsInf(lon, 0) || math.IsInf(lat, 0):
		return p, ReasonNotANumber, pair(lon, lat)
	case math.Abs(lon) > 360 || math.Abs(lat) > 90+rounding:
		return p, ReasonOutsideWorld, pair(lon, lat)
	}
	if math.Abs(lon) > 180 && math.Abs(lon) <= 180+rounding {
		lon = math.Copysign(180, lon)
	}
	return orb.Point{lon, max(-90, min(90, lat))}, "", ""
}

// pair formats a position in the notation of files.
func pair(x, y float64) string {
	show := func(f float64) string {
		if math.Abs(f) < 1e15 {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return "[" + show(x) + ", " + show(y) + "]"
}

// CloseRing closes a ring that is open. It returns nil for a ring of fewer than four points, which
// has no area: quantised sources have islands that have shrunk to such rings.
func CloseRing(r orb.Ring) orb.Ring {
	if n := len(r); n > 0 && r[0] != r[n-1] {
		r = append(r, r[0])
	}
	if len(r) < 4 {
		return nil
	}
	return r
}

// AddPolygon closes the rings and appends them as a polygon. It leaves out rings without an area,
// and leaves out the whole polygon if its outer ring has no area.
func AddPolygon(polygons []orb.Polygon, rings []orb.Ring) []orb.Polygon {
	kept := make(orb.Polygon, 0, len(rings))
	for i, r := range rings {
		switch r = CloseRing(r); {
		case r != nil:
			kept = append(kept, r)
		case i == 0:
			return polygons
		}
	}
	if len(kept) == 0 {
		return polygons
	}
	return append(polygons, kept)
}

// JoinPolygons returns the polygons as one geometry, or nil without polygons.
func JoinPolygons(polygons []orb.Polygon) orb.Geometry {
	switch len(polygons) {
	case 0:
		return nil
	case 1:
		return polygons[0]
	}
	return orb.MultiPolygon(polygons)
}

// InBounds reports whether a box shares a point with bounds, both in degrees. If the west of the
// bounds is greater than their east, they cross the antimeridian. Longitudes of the box may be
// beyond ±180°, as in shapes that are unwrapped across it; if its west is greater than its east, it
// has all longitudes.
func InBounds(bounds, box orb.Bound) bool {
	if box.Min[1] > bounds.Max[1] || box.Max[1] < bounds.Min[1] {
		return false
	}
	if box.Min[0] > box.Max[0] {
		return true
	}
	west, east := bounds.Min[0], bounds.Max[0]
	if west > east {
		east += 360
	}
	for _, turn := range []float64{-360, 0, 360} {
		if box.Min[0]+turn <= east && box.Max[0]+turn >= west {
			return true
		}
	}
	return false
}
