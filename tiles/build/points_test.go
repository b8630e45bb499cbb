package build

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
)

// sourceIndex is the unchanged source in degrees: the segments of all features, by columns of
// longitude.
type sourceIndex struct {
	columns [][]sourceSegment
	ids     []string
	around  map[string]bool // features that cross ±180°: not judged
}

type sourceSegment struct {
	feature        int32
	x0, y0, x1, y1 float64
}

const sourceColumns = 7200

func newSourceIndex(layers []Layer) *sourceIndex {
	s := &sourceIndex{columns: make([][]sourceSegment, sourceColumns), around: map[string]bool{}}
	column := func(lon float64) int {
		return max(0, min(sourceColumns-1, int((lon+180)/360*sourceColumns)))
	}
	for _, l := range layers {
		for _, f := range l.Features {
			id := int32(len(s.ids))
			s.ids = append(s.ids, l.Type+":"+f.ID)
			polys := tilestest.Polygons(f.Geometry)
			for _, p := range polys {
				for _, r := range p {
					for i, a := range r {
						b := r[(i+1)%len(r)]
						if a[0] > b[0] {
							a, b = b, a
						}
						if b[0]-a[0] > 180 {
							s.around[s.ids[id]] = true
							continue
						}
						for c := column(a[0]); c <= column(b[0]); c++ {
							s.columns[c] = append(s.columns[c], sourceSegment{id, a[0], a[1], b[0], b[1]})
						}
					}
				}
			}
		}
	}
	return s
}

// at returns the features that hold a point, by counting the segments north of it. It returns false
// if a border is within two units of the grid.
func (s *sourceIndex) at(lon, lat float64) ([]string, bool) {
	c := min(sourceColumns-1, int((lon+180)/360*sourceColumns))
	const near = 2 * 360.0 / grid.WorldSize
	count := map[int32]int{}
	for _, g := range s.columns[c] {
		if g.x0 <= lon && lon < g.x1 && g.y0+(lon-g.x0)/(g.x1-g.x0)*(g.y1-g.y0) > lat {
			count[g.feature]++
		}
		// Distances are in degrees of longitude, like the grid's units. Beyond the tiles degrees of
		// latitude have the same length.
		k := 1.0
		if math.Abs(lat) < quadkey.MaxLatitude {
			k = 1 / math.Cos(lat*math.Pi/180)
		}
		dx, dy := g.x1-g.x0, (g.y1-g.y0)*k
		px, py := lon-g.x0, (lat-g.y0)*k
		t := 0.0
		if l := dx*dx + dy*dy; l > 0 {
			t = max(0, min(1, (px*dx+py*dy)/l))
		}
		if math.Hypot(px-t*dx, py-t*dy) < near {
			return nil, false
		}
	}
	var ids []string
	for f, n := range count {
		if n%2 == 1 && !s.around[s.ids[f]] {
			ids = append(ids, s.ids[f])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), true
}

// TestPointsAgainstSource compares the regions at points with the source's polygons in degrees. The
// points are anywhere, and near borders but not within two units of them.
func TestPointsAgainstSource(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	t.Parallel() // it takes long, and one build does not keep two processors busy
	scale, anywhere, nearby := "110m", 20_000, 5_000
	only := []string{"USA", "MEX", "FJI", "LSO", "ZAF", "CHE", "AUT", "ITA", "SDN"}
	if tilestest.Full {
		scale, anywhere, nearby, only = "10m", 1_000_000, 100_000, nil
	}
	layers := func() []Layer {
		return []Layer{
			naturalEarth(t, "country", scale+"/ne_"+scale+"_admin_0_countries.geojson.gz", "ADM0_A3", "NAME", only...),
			naturalEarth(t, "state", scale+"/ne_"+scale+"_admin_1_states_provinces.geojson.gz", "adm1_code", "name"),
		}
	}
	source := newSourceIndex(layers())
	r, _, _ := buildReader(t, layers()...)
	rnd := rand.New(rand.NewPCG(11, 12))
	asked, skipped, wrong := 0, 0, 0
	check := func(lon, lat float64) {
		want, ok := source.at(lon, lat)
		if !ok {
			skipped++
			return
		}
		asked++
		found, err := r.At(t.Context(), lat, lon)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			if id := f.Type + ":" + f.ID; !source.around[id] {
				got = append(got, id)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			if wrong++; wrong <= 10 {
				t.Errorf("at lat %v lon %v: %v, the source has %v", lat, lon, got, want)
			}
		}
	}
	for range anywhere {
		// The points are distributed evenly over the sphere, including the poles.
		check(rnd.Float64()*360-180, math.Asin(2*rnd.Float64()-1)*180/math.Pi)
	}
	for range nearby {
		var segments []sourceSegment
		for len(segments) == 0 {
			segments = source.columns[rnd.IntN(sourceColumns)]
		}
		g := segments[rnd.IntN(len(segments))]
		f := rnd.Float64()
		lon := g.x0 + f*(g.x1-g.x0) + rnd.NormFloat64()*1e-4
		lat := g.y0 + f*(g.y1-g.y0) + rnd.NormFloat64()*1e-4
		if math.Abs(lon) < 180 && math.Abs(lat) < 90 {
			check(lon, lat)
		}
	}
	t.Logf("%d points asked, %d too near to a border, %d disagreements", asked, skipped, wrong)
}
