//go:build !race

package servertest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/planar"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/quadkey"
)

// regionsAnswer is the part of /regions/at and /regions/within that the tests read.
type regionsAnswer struct {
	Regions []struct {
		Type, ID, Match string
		Distance        float64 `json:"distance_m"`
		BBox            [4]float64
	}
	None []struct{ Type, Match string }
	Next string
}

func regions(w *servertest.World, path string) (a regionsAnswer) {
	w.T.Helper()
	res := w.Get(path)
	text := servertest.Body(w.T, res)
	if err := json.Unmarshal([]byte(text), &a); err != nil || res.StatusCode != 200 {
		w.T.Fatalf("%s: %d %v %s", path, res.StatusCode, err, text)
	}
	return a
}

func (a *regionsAnswer) String() string {
	var s []string
	for _, r := range a.Regions {
		s = append(s, strings.TrimSpace(r.Type+":"+r.ID+" "+r.Match))
	}
	for _, n := range a.None {
		s = append(s, n.Type+" "+n.Match)
	}
	return strings.Join(s, ", ")
}

func TestRealSnap(t *testing.T) {
	w := servertest.NewWorld(t)
	for _, tt := range []struct{ query, want string }{
		{"lat=47&lon=4.5", "country:wl inside, state:wl-s inside"},
		{"lat=47&lon=3.9", "country:wl snapped, state:wl-s snapped"},
		{"lat=47&lon=3.9&types=state", "state:wl-s snapped"},
		{"lat=47&lon=7", "country:el inside, state none"},
		{"lat=10&lon=-30", "country none, state none"},
		{"lat=-90&lon=180", "country none, state none"},
	} {
		a := regions(w, "/regions/at?snap=20000&"+tt.query)
		if got := a.String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.query, got, tt.want)
		}
		for _, r := range a.Regions {
			want := 0.0
			if r.Match == "snapped" {
				want = quadkey.Distance(3.9, 47, 4, 47)
			}
			// The coast is the meridian at 4° east, rounded to the grid.
			if math.Abs(r.Distance-want) > 2 {
				t.Errorf("%s: %v m, want %v", tt.query, r.Distance, want)
			}
		}
	}
	if a := regions(w, "/regions/at?snap=5000&lat=47&lon=3.9"); len(a.Regions) != 0 {
		t.Errorf("beyond the distance: %v", a.String())
	}
}

func TestRealWithin(t *testing.T) {
	w := servertest.NewWorld(t)
	for _, tt := range []struct{ query, want string }{
		{"bbox=-180,-90,180,90", "country:el, country:is, country:wl, state:wl-n, state:wl-s"},
		{"bbox=3,45,5,47", "country:wl, state:wl-s"},
		{"bbox=3,45,5,47&types=country", "country:wl"},
		{"bbox=170,-1,-170,1", "country:is"},
		{"bbox=-10,-10,0,0", ""},
	} {
		a := regions(w, "/regions/within?"+tt.query)
		if got := a.String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.query, got, tt.want)
		}
	}
	// Neighbours touch a box that ends at their border, but share no area with a region.
	for _, tt := range []struct{ query, want string }{
		{"region=country:wl", "country:wl, state:wl-n, state:wl-s"},
		{"region=country:el", "country:el"},
		{"region=country:el&types=state", ""},
		{"region=country:is&types=country", "country:is"},
		{"region=state:wl-s", "country:wl, state:wl-s"},
		{"region=state:wl-n&types=state", "state:wl-n"},
		{"tile=0/0/0", "country:el, country:is, country:wl, state:wl-n, state:wl-s"},
	} {
		for _, more := range []string{"", "&format=geojson", "&limit=1"} {
			if more == "" {
				if a := regions(w, "/regions/within?"+tt.query); a.String() != tt.want || a.Next != "" {
					t.Errorf("%s: %s, want %s", tt.query, a.String(), tt.want)
				}
			}
			var got []string
			for next := ""; ; {
				var doc struct {
					Regions  []struct{ Type, ID string }
					Features []struct{ Properties struct{ Type, ID string } }
					Next     string
				}
				if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/regions/within?"+tt.query+more+next))), &doc); err != nil {
					t.Fatal(err)
				}
				for _, r := range doc.Regions {
					got = append(got, r.Type+":"+r.ID)
				}
				for _, f := range doc.Features {
					got = append(got, f.Properties.Type+":"+f.Properties.ID)
				}
				if doc.Next == "" {
					break
				}
				next = "&cursor=" + doc.Next
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("%s%s: %s, want %s", tt.query, more, s, tt.want)
			}
		}
		var counted struct{ Count int }
		text := servertest.Body(t, w.Get("/regions/count?"+tt.query))
		if err := json.Unmarshal([]byte(text), &counted); err != nil ||
			counted.Count != len(strings.FieldsFunc(tt.want, func(r rune) bool { return r == ',' })) {
			t.Errorf("%s: %s, want %s, %v", tt.query, text, tt.want, err)
		}
	}
	servertest.WantProblem(t, w.Get("/regions/within?region=country:xx"), 404, "region-not-found")
	servertest.WantProblem(t, w.Get("/regions/count?region=county:wl"), 404, "unknown-layer")
	servertest.WantProblem(t, w.Get("/regions/within?region=wl"), 400, "bad-parameter")
	// The joined pages equal the whole list.
	var got []string
	path := "/regions/within?bbox=-180,-90,180,90&limit=2"
	for next := ""; ; {
		a := regions(w, path+next)
		got = append(got, a.String())
		if a.Next == "" {
			break
		}
		next = "&cursor=" + a.Next
	}
	if g := strings.Join(got, " | "); g != "country:el, country:is | country:wl, state:wl-n | state:wl-s" {
		t.Errorf("pages %s", g)
	}
	servertest.WantProblem(t, w.Get(path+"&cursor=AQAA"), 400, "bad-parameter")
	servertest.WantProblem(t, w.Get("/regions/within?bbox=0,0,1,1&types=country&id=xx"), 404, "region-not-found")
}

func TestRealCutout(t *testing.T) {
	w := servertest.NewWorld(t)
	cut := func(box, id string) (*geojson.FeatureCollection, float64) {
		t.Helper()
		path := fmt.Sprintf("/regions/within?bbox=%s&types=country&id=%s", box, id)
		res := w.Get(path)
		text := servertest.Body(t, res)
		fc, err := geojson.UnmarshalFeatureCollection([]byte(text))
		if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/geo+json" {
			t.Fatalf("%s: %d %v %s", path, res.StatusCode, err, text)
		}
		zoom, ok := fc.ExtraMembers["zoom"].(float64)
		if !ok {
			t.Fatalf("%s: no zoom: %s", path, text)
		}
		return fc, zoom
	}
	fc, zoom := cut("4.5,46.5,5,47", "wl")
	if len(fc.Features) != 1 || zoom != 13 {
		t.Fatalf("%d features at zoom %v", len(fc.Features), zoom)
	}
	if p, ok := fc.Features[0].Geometry.(orb.Polygon); !ok || len(p) != 1 || len(p[0]) != 5 || math.Abs(planar.Area(p)-0.25) > 1e-6 {
		t.Errorf("inside: %v", fc.Features[0].Geometry)
	}
	fc, _ = cut("170,-10,-170,10", "is")
	if mp, ok := fc.Features[0].Geometry.(orb.MultiPolygon); !ok || len(mp) != 2 {
		t.Errorf("across ±180°: %v", fc.Features[0].Geometry)
	}
	if fc, _ = cut("0,0,1,1", "wl"); len(fc.Features) != 0 {
		t.Errorf("elsewhere: %v", fc.Features)
	}
	fc, zoom = cut("-180,-90,180,90", "wl")
	if len(fc.Features) != 1 || zoom > 13 || zoom < 8 {
		t.Errorf("the world: %d features at zoom %v", len(fc.Features), zoom)
	}
}

func BenchmarkRegionsAtSnap(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, "/regions/at?lat=47&lon=3.9&snap=20000")
}

func BenchmarkRegionsWithin(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, "/regions/within?bbox=4,46,8,50")
}

func BenchmarkRegionsCutout(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, "/regions/within?bbox=5.8,48.8,6.2,49.2&types=country&id=wl")
}
