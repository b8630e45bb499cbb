package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/cellstore/published"
	"quadrille/tiles"
)

// sourceRing is a ring of the source with its box.
type sourceRing struct {
	region  int // index into the ids
	polygon int // through all regions
	hole    bool
	points  orb.Ring
	box     orb.Bound
}

// readSource reads the rings of a file of GeoJSON whose features have an id in a
// property.
func readSource(file, property string) (ids []string, rings []sourceRing, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	polygons, numbers := 0, map[string]int{}
	err = features(f, func(f *geojson.Feature) {
		id := strings.ToLower(fmt.Sprint(f.Properties[property]))
		region, ok := numbers[id]
		if !ok {
			region = len(ids)
			numbers[id] = region
			ids = append(ids, id)
		}
		var all orb.MultiPolygon
		switch g := f.Geometry.(type) {
		case orb.Polygon:
			all = orb.MultiPolygon{g}
		case orb.MultiPolygon:
			all = g
		}
		for _, p := range all {
			for i, r := range p {
				rings = append(rings, sourceRing{region, polygons, i > 0, r, r.Bound()})
			}
			polygons++
		}
	})
	return ids, rings, err
}

// features decodes the features of a collection one after another.
func features(r io.Reader, fn func(*geojson.Feature)) error {
	d := json.NewDecoder(r)
	for { // up to the list of features
		t, err := d.Token()
		if err != nil {
			return err
		}
		if t == "features" {
			break
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		var f geojson.Feature
		if err := d.Decode(&f); err != nil {
			return err
		}
		fn(&f)
	}
	return nil
}

// atBorder is the distance from a border, in degrees, within which points are not compared. A step
// of the tiles' grid is about a metre there, and the digits of the source are even coarser.
const atBorder = 3e-5

// regionsAt returns the regions at a point by looking at every ring. border is set if a border is
// too near for a certain answer.
func regionsAt(ids []string, rings []sourceRing, p orb.Point) (at []string, border bool) {
	inside := map[int]int{} // polygon to its rings around the point
	region := map[int]int{}
	for i := range rings {
		r := &rings[i]
		if p[0] < r.box.Min[0]-atBorder || p[0] > r.box.Max[0]+atBorder || p[1] < r.box.Min[1]-atBorder || p[1] > r.box.Max[1]+atBorder {
			continue
		}
		in, near := holds(r.points, p)
		if near {
			return nil, true
		}
		if in && r.hole {
			inside[r.polygon] = -1 << 20 // whatever else holds it
		} else if in {
			inside[r.polygon]++
			region[r.polygon] = r.region
		}
	}
	for polygon, n := range inside {
		if n > 0 && !slices.Contains(at, ids[region[polygon]]) {
			at = append(at, ids[region[polygon]])
		}
	}
	slices.Sort(at)
	return at, false
}

// holds reports whether a ring is around a point, by counting the edges east of it. near is set if
// an edge is too near for a certain answer.
func holds(r orb.Ring, p orb.Point) (in, near bool) {
	for i := 1; i < len(r); i++ {
		a, b := r[i-1], r[i]
		if min(a[1], b[1]) > p[1]+atBorder || max(a[1], b[1]) < p[1]-atBorder {
			continue
		}
		dx, dy := b[0]-a[0], b[1]-a[1]
		t := 0.0
		if l := dx*dx + dy*dy; l > 0 {
			t = max(0, min(1, ((p[0]-a[0])*dx+(p[1]-a[1])*dy)/l))
		}
		if math.Hypot(a[0]+t*dx-p[0], a[1]+t*dy-p[1]) < atBorder {
			return false, true
		}
		if (a[1] > p[1]) != (b[1] > p[1]) && p[0] < a[0]+dx*(p[1]-a[1])/dy {
			in = !in
		}
	}
	return in, false
}

// compareRegions compares the published layer with the source's polygons at the same points. One
// half of the points is anywhere, and the other within the boxes of rings.
func compareRegions(ctx context.Context, c *cli, data, typ, file, property string) (_ string, err error) {
	ids, rings, err := readSource(file, property)
	if err != nil {
		return "", err
	}
	g, err := published.Open(ctx, data, "boundaries")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r, err := tiles.OpenPublished(ctx, g)
	if err != nil {
		return "", err
	}
	rnd := rand.New(rand.NewPCG(c.Seed, 3))
	asked, borders := 0, 0
	for i := range c.Points {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		box := orb.Bound{Min: orb.Point{-180, -85}, Max: orb.Point{180, 85}}
		if i%2 == 1 {
			box = rings[rnd.IntN(len(rings))].box
		}
		p := orb.Point{
			box.Min[0] + rnd.Float64()*(box.Max[0]-box.Min[0]),
			box.Min[1] + rnd.Float64()*(box.Max[1]-box.Min[1]),
		}
		want, border := regionsAt(ids, rings, p) // in lower case
		if border {
			borders++
			continue
		}
		found, err := r.At(ctx, p[1], p[0], typ)
		if err != nil {
			return "", err
		}
		var got []string
		for _, f := range found {
			got = append(got, strings.ToLower(f.ID))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return "", fmt.Errorf("at longitude %v, latitude %v are %q by the source, and %q by the tiles", p[0], p[1], want, got)
		}
		asked++
	}
	return fmt.Sprintf("%d points as by the source's rings, %d at borders left out", asked, borders), nil
}
