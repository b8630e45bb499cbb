package layertest

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"quadrille/feature"
	"quadrille/quadkey"
)

// ground describes a feature with a border independently of its layer: positions well inside of it,
// and the cells around it.
type ground struct {
	inside [][]quadkey.Position // with positions around each
	around []quadkey.Range
}

// tries is the number of positions that are tried for each feature.
const tries = 64

// groundOf finds positions in a polygon, and on a line. Borders are straight in degrees here and on the map in
// layers, so only positions well inside count.
func (j *judge) groundOf(f *feature.Feature) *ground {
	if g := j.grounds[f.ID]; g != nil {
		return g
	}
	shape, _ := f.Orb()
	width := width(f.Bounds)
	margin := 1e-4 + min(width, f.Bounds.North-f.Bounds.South)/100
	g := &ground{}
	b := quadkey.Box{
		West: math.Remainder(f.Bounds.West-margin, 360), South: max(-90, f.Bounds.South-margin),
		East: math.Remainder(f.Bounds.East+margin, 360), North: min(90, f.Bounds.North+margin),
	}
	if width+2*margin >= 360 {
		b.West, b.East = -180, 180
	}
	var err error
	if g.around, err = quadkey.CoverBox(b, 64); err != nil {
		j.Errorf("the box around %q: %v", f.ID, err)
	}
	add := func(lon, lat float64) {
		var all []quadkey.Position
		for _, d := range [...][2]float64{{0, 0}, {1, 1}, {1, 0}, {1, -1}, {0, 1}, {0, -1}, {-1, 1}, {-1, 0}, {-1, -1}} {
			p := quadkey.Position{Lat: lat + d[1]*margin, Lon: lon + d[0]*margin}
			if p.Check() != nil || shape.Dimensions() == 2 && !holds(shape, p) {
				return
			}
			all = append(all, p)
		}
		g.inside = append(g.inside, all)
	}
	switch lines := shape.(type) {
	case orb.Polygon, orb.MultiPolygon:
		for range tries {
			add(math.Remainder(f.Bounds.West+width*j.r.Float64(), 360), f.Bounds.South+(f.Bounds.North-f.Bounds.South)*j.r.Float64())
		}
	case orb.LineString:
		addMiddles(lines, add)
	case orb.MultiLineString:
		for _, l := range lines {
			addMiddles(l, add)
		}
	}
	j.grounds[f.ID] = g
	return g
}

func addMiddles(l orb.LineString, add func(lon, lat float64)) {
	for i := range l[1:] {
		if a, b := l[i], l[i+1]; math.Abs(a[0]-b[0])+math.Abs(a[1]-b[1]) < 0.1 { // nearly straight on any map
			add((a[0]+b[0])/2, (a[1]+b[1])/2)
		}
	}
}

func holds(shape orb.Geometry, p quadkey.Position) bool {
	switch s := shape.(type) {
	case orb.Polygon:
		return planar.PolygonContains(s, orb.Point{p.Lon, p.Lat})
	case orb.MultiPolygon:
		return planar.MultiPolygonContains(s, orb.Point{p.Lon, p.Lat})
	}
	return false
}

// verdict says whether an area certainly shares ground with a feature, and whether it certainly
// does not.
type verdict struct{ shares, apart bool }

// verdicts compares an area with all features.
func (j *judge) verdicts(in feature.Area) map[string]verdict {
	if v := j.verdictsIn[in.String()]; v != nil {
		return v
	}
	all := map[string]verdict{}
	held := map[string][]int{}
	for i := range j.all {
		f := &j.all[i]
		all[f.ID], held[f.ID] = verdict{apart: true}, make([]int, len(j.groundOf(f).inside))
	}
	err := in.Cover(j.Context(), 0, func(p *feature.AreaPart) error {
		for i := range j.all {
			id := j.all[i].ID
			v := all[id]
			if err := j.grounds[id].compare(p, &v, held[id]); err != nil {
				return err
			}
			all[id] = v
		}
		return nil
	})
	if err != nil {
		j.Errorf("the area %v: %v", in, err)
	}
	j.verdictsIn[in.String()] = all
	return all
}

// compare adds the evidence of a part of an area. held counts the positions of each place that
// are in the area.
func (g *ground) compare(p *feature.AreaPart, v *verdict, held []int) error {
	near := false
	for _, r := range g.around {
		near = near || r.Last >= p.Cells.First && r.First <= p.Cells.Last
	}
	if !near {
		return nil
	}
	v.apart = false
	for i, all := range g.inside {
		for _, at := range all {
			cell, err := quadkey.CellOf(at.Lon, at.Lat)
			if err != nil {
				return err
			}
			in := p.Cells.Contains(cell)
			if in {
				in, err = p.Holds(at)
			}
			if err != nil {
				return err
			}
			if in {
				held[i]++
			}
		}
		v.shares = v.shares || held[i] == len(all)
	}
	return nil
}
