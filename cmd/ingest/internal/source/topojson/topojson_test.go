package topojson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/cmd/ingest/internal/source/topojson"
)

type result struct {
	features []source.Feature
	bad      []source.BadRecord
	err      error
}

func read(text string, wanted ...string) (r result) {
	features, bad, err := sourcetest.All(sourcetest.Decoded(topojson.Read(iotest.HalfReader(strings.NewReader(text)), "x.json", wanted...)))
	for _, b := range bad {
		r.bad = append(r.bad, *b)
	}
	r.features, r.err = features, err
	return r
}

// These are two unit squares side by side. Arc 0 is the border between them, drawn northwards. Arc
// 1 is the rest of the western square, and arc 2 that of the eastern one. The topology is
// quantised: one step is a tenth of a degree, and the origin is 10°E 20°N.
const squares = `{"type":"Topology","transform":{"scale":[0.1,0.1],"translate":[10,20]},
"objects":{"fields":{"type":"GeometryCollection","geometries":[
 {"type":"Polygon","id":"w","properties":{"name":"West"},"arcs":[[0,1]]},
 {"type":"Polygon","id":7,"arcs":[[-1,2]]},
 {"type":"MultiPolygon","properties":null,"arcs":[[[0,1]],[[2,-1]]]},
 {"type":"GeometryCollection","id":"both","geometries":[{"type":"Polygon","arcs":[[0,1]]},{"type":"Point","coordinates":[0,0]},{"type":"Polygon","arcs":[[2,-1]]}]}]}},
"arcs":[[[10,0],[0,10]],[[10,10],[-10,0],[0,-10],[10,0]],[[10,0],[10,0],[0,10],[-10,0]]]}`

var (
	west = orb.Ring{{11, 20}, {11, 21}, {10, 21}, {10, 20}, {11, 20}}
	east = orb.Ring{{11, 21}, {11, 20}, {12, 20}, {12, 21}, {11, 21}}
)

func TestQuantised(t *testing.T) {
	// Arc -1 is arc 0 southwards. Arc 2 begins at the south end of arc 0, so the two join.
	east2 := orb.Ring{{11, 20}, {12, 20}, {12, 21}, {11, 21}, {11, 20}}
	want := []source.Feature{
		{ID: "w", Properties: map[string]any{"name": "West"}, Geometry: orb.Polygon{west}, Line: 1},
		{ID: "7", Geometry: orb.Polygon{east}, Line: 2},
		{Geometry: orb.MultiPolygon{{west}, {east2}}, Line: 3},
		{ID: "both", Geometry: orb.MultiPolygon{{west}, {east2}}, Line: 4},
	}
	r := read(squares)
	if r.err != nil || len(r.bad) > 0 {
		t.Fatalf("%+v", r)
	}
	if d := cmp.Diff(want, r.features); d != "" {
		t.Error(d)
	}
}

// Members may come in any order, so the transform of the arcs may be known only at the end.
func TestOrderOfMembers(t *testing.T) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(squares), &members); err != nil {
		t.Fatal(err)
	}
	want := read(squares)
	for _, order := range []string{"arcs objects transform type", "transform arcs type objects", "objects arcs type transform"} {
		var b strings.Builder
		for i, name := range strings.Fields(order) {
			fmt.Fprintf(&b, "%c%q:%s", "{,"[min(i, 1)], name, members[name])
		}
		b.WriteString("}")
		if d := cmp.Diff(want.features, read(b.String()).features); d != "" {
			t.Errorf("%s: %s", order, d)
		}
	}
}

func TestWithoutTransform(t *testing.T) {
	r := read(`{"type":"Topology","objects":{"a":{"type":"Polygon","arcs":[[0]]}},"arcs":[[[0,0],[1.5,0],[1,1],[0,0]]]}`)
	want := []source.Feature{{Geometry: orb.Polygon{{{0, 0}, {1.5, 0}, {1, 1}, {0, 0}}}, Line: 1}}
	if d := cmp.Diff(want, r.features); d != "" || r.err != nil || len(r.bad) > 0 {
		t.Error(d, r)
	}
}

func topology(geometries, arcs string) string {
	return `{"type":"Topology","objects":{"a":{"type":"GeometryCollection","geometries":[` + geometries + `]}},"arcs":[` + arcs + `]}`
}

const triangle = `[[0,0],[1,0],[1,1],[0,0]]`

func TestBadRecords(t *testing.T) {
	polygon := func(arcs string) string { return `{"type":"Polygon","arcs":` + arcs + `}` }
	for _, tc := range []struct{ geometry, reason, detail string }{
		{polygon(`[[99]]`), source.ReasonBadTopologyArc, "99 of 6 arcs"},
		{polygon(`[[-100]]`), source.ReasonBadTopologyArc, "-100 of 6 arcs"},
		{polygon(`[[-2147483648]]`), source.ReasonBadTopologyArc, "-2147483648 of 6 arcs"},
		{polygon(`[[1e10]]`), source.ReasonBadTopologyArc, "1e+10"},
		{polygon(`[[0.5]]`), source.ReasonBadTopologyArc, "0.5"},
		{polygon(`[[NaN]]`), source.ReasonBadTopologyArc, "NaN"},
		{polygon(`[[1]]`), source.ReasonBadTopologyArc, "ring of 1 arcs does not close"},
		{polygon(`[[0,1]]`), source.ReasonBadTopologyArc, "arc 1 does not begin where the one before it ends"},
		{polygon(`[[2]]`), source.ReasonNoArea, ""},
		{polygon(`[[3]]`), source.ReasonNotANumber, "[1, NaN]"},
		{polygon(`[[4]]`), source.ReasonOutsideWorld, "[500000, 1]"},
		{polygon(`[[5]]`), source.ReasonNoArea, ""},
		{polygon(`[]`), source.ReasonNoGeometry, "empty array of arcs"},
		{polygon(`[[]]`), source.ReasonNoGeometry, "empty array of arcs"},
		{polygon(`[0]`), source.ReasonWrongNesting, "Polygon of depth 1"},
		{polygon(`[[[0]]]`), source.ReasonWrongNesting, "Polygon of depth 3"},
		{polygon(`0`), source.ReasonWrongNesting, "Polygon of depth 0"},
		{polygon(`[[0,[0]]]`), source.ReasonWrongNesting, "arrays of different depth"},
		{polygon(`[["0"]]`), source.ReasonWrongNesting, "string"},
		{polygon(`null`), source.ReasonWrongNesting, "null"},
		{`{"type":"Polygon"}`, source.ReasonDamaged, "Polygon without arcs"},
		{polygon(`[0,[]]`), source.ReasonWrongNesting, "arrays of different depth"},
		{polygon(`[[],[0]]`), source.ReasonNoArea, "outer ring without arcs"},
		{`{"type":null}`, source.ReasonNoGeometry, "no type"},
		{`null`, source.ReasonNoGeometry, "no type"},
		{`{"type":"LineString","arcs":[0]}`, source.ReasonNotAPolygon, "LineString"},
		{`{"type":"GeometryCollection","geometries":[]}`, source.ReasonNotAPolygon, "GeometryCollection without one"},
		{`{"type":"GeometryCollection"}`, source.ReasonNotAPolygon, "GeometryCollection without one"},
	} {
		good := polygon(`[[0]]`)
		r := read(topology(good+","+tc.geometry+","+good,
			triangle+`,[[5,5],[6,6]],[[0,0],[1,1],[0,0]],[[0,0],[1],[1,1],[0,0]],[[0,0],[500000,1],[1,1],[0,0]],[]`))
		want := []source.BadRecord{{Source: "x.json", Line: 2, Reason: tc.reason, Detail: tc.detail}}
		if r.err != nil || len(r.features) != 2 || !cmp.Equal(r.bad, want) {
			t.Errorf("%s:\n%+v", tc.geometry, r)
		}
	}
}

func TestDocuments(t *testing.T) {
	for _, tc := range []struct{ text, err string }{
		{``, "is empty"},
		{`[]`, "not TopoJSON"},
		{`{"type":"FeatureCollection","features":[]}`, "not a TopoJSON Topology"},
		{`{"type":"Topology","objects":{}}`, "without arcs"},
		{`{"type":"Topology","arcs":[]}`, "does not hold the object wanted"},
		{`{"type":"Topology","objects":{},"arcs":[]}`, "does not hold the object wanted"},
		{`{"type":"Topology","objects":{},"arcs":{}}`, "object where array should be"},
		{`{"type":"Topology","objects":{},"arcs":[1]}`, "number where array should be"},
		{`{"type":"Topology","transform":{"scale":[1],"translate":[0,0]},"objects":{},"arcs":[]}`, "transform of 1 numbers"},
		{`{"type":"Topology","transform":{"scale":"x"},"objects":{},"arcs":[]}`, "string where array should be"},
		{topology(``, triangle) + "{}", "after the end"},
		{topology(``, triangle)[:60], "truncated"},
	} {
		r := read(tc.text)
		if len(r.features) != 0 || r.err == nil || !strings.Contains(r.err.Error(), tc.err) || !strings.HasPrefix(r.err.Error(), "x.json: ") {
			t.Errorf("%s: %+v; want error %q", tc.text, r, tc.err)
		}
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	for n := range len(squares) {
		if r := read(squares[:n]); r.err == nil || len(r.features) > 0 {
			t.Errorf("no error for %q", squares[:n])
		}
	}
}

func TestChoosingTheObject(t *testing.T) {
	object := func(id string) string { return `{"type":"Polygon","id":"` + id + `","arcs":[[0]]}` }
	several := `{"type":"Topology","objects":{"counties":` + object("c") + `,"states":` + object("s") + `,"nation":` +
		object("n") + `},"arcs":[` + triangle + `]}`
	single := `{"type":"Topology","objects":{"stuff":` + object("x") + `},"arcs":[` + triangle + `]}`
	for _, tc := range []struct {
		text, wanted, id string
	}{
		{several, "state states", "s"},
		{several, "counties", "c"},
		{several, "states counties", "s"},
		{several, "country countries", ""},
		{several, "", ""},
		{single, "", "x"},
		{single, "state states", "x"},
	} {
		r := read(tc.text, strings.Fields(tc.wanted)...)
		if tc.id == "" {
			if !errors.Is(r.err, topojson.ErrObject) || !strings.Contains(r.err.Error(), `["counties" "nation" "states"]`) {
				t.Errorf("%q: %+v", tc.wanted, r)
			}
			continue
		}
		if r.err != nil || len(r.features) != 1 || r.features[0].ID != tc.id {
			t.Errorf("%q: %+v", tc.wanted, r)
		}
	}
}

// TestCollapsedShapes tests that a shape that has lost its area to quantisation becomes a small
// box: Vatican City in world-atlas and Falls Church in us-atlas are such shapes, but people look
// them up.
func TestCollapsedShapes(t *testing.T) {
	quantised := func(geometry, arcs string) result {
		return read(`{"type":"Topology","transform":{"scale":[0.5,0.25],"translate":[10,20]},"objects":{"a":` + geometry +
			`},"arcs":[` + arcs + `]}`)
	}
	box := []source.Feature{{ID: "va", Line: 1, Repair: source.RepairCollapsed,
		Geometry: orb.Polygon{{{9.75, 19.875}, {10.25, 19.875}, {10.25, 20.375}, {9.75, 20.375}, {9.75, 19.875}}}}}
	for name, r := range map[string]result{
		"one arc":  quantised(`{"type":"Polygon","id":"va","arcs":[[0]]}`, `[[0,0],[0,1],[0,-1]]`),
		"two arcs": quantised(`{"type":"MultiPolygon","id":"va","arcs":[[[0,1]]]}`, `[[0,0],[0,1]],[[0,1],[0,-1]]`),
	} {
		if d := cmp.Diff(box, r.features); d != "" || r.err != nil || r.bad != nil {
			t.Errorf("%s: %s %+v", name, d, r)
		}
	}
	// The box of a collapsed shape on the antimeridian does not extend around the globe.
	across := read(`{"type":"Topology","transform":{"scale":[0.5,0.25],"translate":[-180,-90]},"objects":{"a":{"type":"Polygon","id":"va","arcs":[[0]]}},"arcs":[[[720,300],[-720,1],[720,-1]]]}`)
	box[0].Geometry = orb.Polygon{{{179.75, -15.125}, {180.25, -15.125}, {180.25, -14.625}, {179.75, -14.625}, {179.75, -15.125}}}
	if d := cmp.Diff(box, across.features); d != "" || across.err != nil || across.bad != nil {
		t.Errorf("across: %s %+v", d, across)
	}
	// A collapsed islet next to a shape with an area is not kept.
	r := quantised(`{"type":"MultiPolygon","arcs":[[[0]],[[1]]]}`, `[[0,0],[0,1],[0,-1]],[[0,0],[4,0],[0,4],[-4,-4]]`)
	want := []source.Feature{{Line: 1, Geometry: orb.Polygon{{{10, 20}, {12, 20}, {12, 21}, {10, 20}}}}}
	if d := cmp.Diff(want, r.features); d != "" {
		t.Error(d)
	}
}

// TestGapsOfAStepAreClosed tests that rings that are open by one or two steps are closed, because
// the border of Illinois in us-atlas's counties is open by one step. Rings with larger gaps are
// refused.
func TestGapsOfAStepAreClosed(t *testing.T) {
	for gap, good := range map[int]bool{0: true, 1: true, 2: true, 3: false, 100: false} {
		// There are two arcs; the second begins gap steps away from the end of the first.
		r := read(fmt.Sprintf(`{"type":"Topology","transform":{"scale":[0.001,0.001],"translate":[0,0]},"objects":{"a":{"type":"Polygon","arcs":[[0,1]]}},
"arcs":[[[0,0],[1000,0],[0,1000]],[[%d,1000],[%d,0],[0,-1000]]]}`, 1000-gap, gap-1000))
		if r.err != nil || (len(r.features) == 1) != good {
			t.Errorf("gap of %d: %+v", gap, r)
		}
		// This is a single arc that ends gap steps away from its beginning.
		r = read(fmt.Sprintf(`{"type":"Topology","transform":{"scale":[0.001,0.001],"translate":[0,0]},"objects":{"a":{"type":"Polygon","arcs":[[0]]}},
"arcs":[[[0,0],[1000,0],[0,1000],[-1000,%d]]]}`, gap-1000))
		if r.err != nil || (len(r.features) == 1) != good {
			t.Errorf("open by %d: %+v", gap, r)
		} else if good {
			ring := r.features[0].Geometry.(orb.Polygon)[0]
			if ring[0] != ring[len(ring)-1] {
				t.Errorf("open by %d: not closed", gap)
			}
		}
	}
}

// A file may refer to one long arc again and again. This must not multiply the memory.
func TestAmplificationIsBounded(t *testing.T) {
	var arc strings.Builder
	arc.WriteString("[[0,0]")
	for i := range 20000 {
		fmt.Fprintf(&arc, ",[%g,1]", float64(i)/1000)
	}
	arc.WriteString(",[0,0]]")
	r := read(topology(`{"type":"MultiPolygon","arcs":[`+strings.Repeat("[[0]],", 1000)+`[[0]]]}`, arc.String()))
	if r.err != nil || len(r.bad) != 1 || r.bad[0].Reason != source.ReasonTooManyPoints {
		t.Errorf("%v %v", r.err, r.bad)
	}
}

// Random grids of rectangles, encoded as a topology by the obvious method, are read back as the
// same rectangles, with neighbours' corners exactly equal.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, rows := rapid.IntRange(1, 4).Draw(t, "columns"), rapid.IntRange(1, 4).Draw(t, "rows")
		scale := [2]float64{rapid.Float64Range(1e-6, 0.01).Draw(t, "sx"), rapid.Float64Range(1e-6, 0.01).Draw(t, "sy")}
		translate := [2]float64{rapid.Float64Range(-179, 100).Draw(t, "tx"), rapid.Float64Range(-89, 40).Draw(t, "ty")}
		at := func(x, y int) orb.Point {
			return orb.Point{float64(x)*100*scale[0] + translate[0], float64(y)*100*scale[1] + translate[1]}
		}
		// The arcs are all grid edges, eastwards and northwards.
		type edge struct{ x, y, dx, dy int }
		index := map[edge]int{}
		var arcs []string
		reference := func(x, y, dx, dy int) int {
			if dx < 0 || dy < 0 {
				return ^index[edge{x + dx, y + dy, -dx, -dy}]
			}
			return index[edge{x, y, dx, dy}]
		}
		for x := range columns + 1 {
			for y := range rows + 1 {
				for _, e := range []edge{{x, y, 1, 0}, {x, y, 0, 1}} {
					index[e] = len(arcs)
					arcs = append(arcs, fmt.Sprintf("[[%d,%d],[%d,%d]]", x*100, y*100, e.dx*100, e.dy*100))
				}
			}
		}
		var geometries []string
		var want []source.Feature
		for x := range columns {
			for y := range rows {
				refs := fmt.Sprintf("[[%d,%d,%d,%d]]", reference(x, y, 1, 0), reference(x+1, y, 0, 1), reference(x+1, y+1, -1, 0),
					reference(x, y+1, 0, -1))
				geometries = append(geometries, `{"type":"Polygon","arcs":`+refs+`}`)
				want = append(want, source.Feature{
					Line:     len(want) + 1,
					Geometry: orb.Polygon{{at(x, y), at(x+1, y), at(x+1, y+1), at(x, y+1), at(x, y)}},
				})
			}
		}
		transform, _ := json.Marshal(map[string]any{"scale": scale, "translate": translate})
		r := read(`{"type":"Topology","transform":` + string(transform) +
			`,"objects":{"a":{"type":"GeometryCollection","geometries":[` + strings.Join(geometries, ",") + `]}},"arcs":[` +
			strings.Join(arcs, ",") + `]}`)
		if r.err != nil || len(r.bad) > 0 {
			t.Fatal(r.err, r.bad)
		}
		if d := cmp.Diff(want, r.features); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(squares)
	f.Add(topology(`{"type":"Polygon","arcs":[[0]]},{"type":"Polygon","arcs":[[-1,99]]},null`, triangle))
	f.Add(`{"type":"Topology","objects":{"a":{"type":"MultiPolygon","arcs":[[[0]],[]]}},"arcs":[[[0,0],[1e999,0],[NaN,1],[0,0]]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r := read(text, "a", "fields")
		for _, f := range r.features {
			polygons, ok := f.Geometry.(orb.MultiPolygon)
			if p, single := f.Geometry.(orb.Polygon); single {
				polygons, ok = orb.MultiPolygon{p}, true
			}
			if !ok || len(polygons) == 0 || f.Line < 1 {
				t.Fatalf("%#v", f)
			}
			for _, p := range polygons {
				if len(p) == 0 {
					t.Fatal("polygon without rings")
				}
				for _, r := range p {
					if len(r) < 4 || r[0] != r[len(r)-1] {
						t.Fatalf("ring %v", r)
					}
					for _, v := range r {
						if !(math.Abs(v[0]) <= 180 && math.Abs(v[1]) <= 90) {
							t.Fatalf("vertex %v", v)
						}
					}
				}
			}
		}
		if r.err == nil && !json.Valid([]byte(text)) && !strings.ContainsAny(text, "NI") {
			t.Fatalf("no error for text that is not JSON: %q", text)
		}
	})
}
