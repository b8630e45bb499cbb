package layertest

import (
	"errors"
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"quadrille/feature"
	"quadrille/quadkey"
)

// encloses compares the features that Enclosing yields at positions with those that hold the
// positions by their geometries, grounds and bounds.
func (j *judge) encloses() {
	e, is := j.l.(feature.Encloser)
	if !is {
		return
	}
	for range j.rounds * 4 {
		at := j.inside()
		found, err := collect(e, j, at)
		if err != nil {
			j.Errorf("what holds %v: %v", at, err)
			continue
		}
		size := func(b quadkey.Box) float64 { return width(b) * (b.North - b.South) }
		if !slices.IsSortedFunc(found, func(a, b feature.Feature) int {
			return compareAbout(size(a.Bounds), size(b.Bounds))
		}) {
			j.Errorf("what holds %v is not the smallest first: %v", at, ids(found))
		}
		for i := range j.all {
			f := &j.all[i]
			k := slices.IndexFunc(found, func(o feature.Feature) bool { return o.ID == f.ID })
			if k >= 0 {
				without := f.Clone()
				without.Geometry, found[k].Mark, without.Mark = feature.NoGeometry, nil, nil
				if got := show(&found[k]); got != show(&without) {
					j.Errorf("what holds %v is %s; in a list it is %s", at, got, show(&without))
				}
			}
			in, err := within(j.Context(), e.Ground(f.ID), at)
			if err != nil || in != (k >= 0) {
				j.Errorf("feature %q holds %v: %v; its ground: %v, %v", f.ID, at, k >= 0, in, err)
			}
			if in, near := drawn(f, at); !near && in != (k >= 0) {
				j.Errorf("feature %q holds %v: %v; its geometry: %v", f.ID, at, k >= 0, in)
			}
		}
	}
	for _, id := range []string{"", "no such id, I hope", "\x00"} {
		if _, err := within(j.Context(), e.Ground(id), quadkey.Position{}); !errors.Is(err, feature.ErrNotFound) {
			j.Errorf("the ground of %q, which is not there: %v", id, err)
		}
	}
	for _, at := range []quadkey.Position{{Lat: 91}, {Lon: math.NaN()}} {
		if found, err := collect(e, j, at); err == nil {
			j.Errorf("what holds %v: %v, without an error", at, ids(found))
		}
	}
}

func collect(e feature.Encloser, j *judge, at quadkey.Position) (list []feature.Feature, err error) {
	err = feature.Each(e.Enclosing(j.Context(), at), func(f *feature.Feature) error {
		list = append(list, f.Clone())
		return nil
	})
	return list, err
}

func ids(list []feature.Feature) (ids []string) {
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids
}

// width returns the width of a box, in degrees.
func width(b quadkey.Box) float64 {
	if b.East < b.West {
		return b.East - b.West + 360
	}
	return b.East - b.West
}

// compareAbout compares two sizes. Sizes that differ only by rounding are equal.
func compareAbout(a, b float64) int {
	switch {
	case math.Abs(a-b) <= 1e-9*max(a, b):
		return 0
	case a < b:
		return -1
	}
	return 1
}

// inside returns a position within the bounds of a feature.
func (j *judge) inside() quadkey.Position {
	b := j.all[j.r.IntN(len(j.all))].Bounds
	lon := b.West + j.r.Float64()*width(b)
	return quadkey.Position{Lat: b.South + j.r.Float64()*(b.North-b.South), Lon: math.Remainder(lon, 360)}
}

// slack is the distance in degrees within which a border may be rounded, or bent by the map's projection.
const slack = 0.02

// drawn reports whether the geometry of a feature holds a position, in degrees as if these were
// plane, and whether a border is too near for a certain answer. Lines hold nothing.
func drawn(f *feature.Feature, at quadkey.Position) (in, near bool) {
	g, err := f.Orb()
	if err != nil || g == nil {
		return false, true
	}
	var all orb.MultiPolygon
	switch g := g.(type) {
	case orb.Polygon:
		all = orb.MultiPolygon{g}
	case orb.MultiPolygon:
		all = g
	}
	for _, polygon := range all {
		for _, ring := range polygon {
			near = near || planar.DistanceFrom(orb.LineString(ring), orb.Point{at.Lon, at.Lat}) < slack
		}
	}
	in = holds(all, at)
	return in, near
}
