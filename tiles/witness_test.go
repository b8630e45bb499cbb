package tiles

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
)

// witnessesOf reads the witnesses of a region.
func witnessesOf(t *testing.T, store *pebblestore.Store, typeByte uint8, id string) []byte {
	t.Helper()
	table, err := store.Table(context.Background(), TableRegions)
	if err != nil {
		t.Fatal(err)
	}
	var row cellstore.Row
	if _, err := table.Get(context.Background(), regionKey(typeByte, id), nil, &row); err != nil {
		t.Fatal(err)
	}
	b, _ := row.Value(familyWitness, nil)
	return slices.Clone(b)
}

// setWitnesses replaces them; nil takes them away.
func setWitnesses(t *testing.T, store *pebblestore.Store, typeByte uint8, id string, b []byte) {
	t.Helper()
	table, err := store.Table(context.Background(), TableRegions)
	if err != nil {
		t.Fatal(err)
	}
	op := cellstore.PutAt(familyWitness, nil, 2, b)
	if b == nil {
		op = cellstore.DeleteColumn(familyWitness, nil, 2)
	}
	if err := table.Apply(context.Background(), cellstore.Mutation{Row: regionKey(typeByte, id), Ops: []cellstore.Op{op}}); err != nil {
		t.Fatal(err)
	}
}

// What witnesses say is what the source means, on both sides of the border.
func TestWitnesses(t *testing.T) {
	all := randomFigures(rand.New(rand.NewPCG(75, 76)), 10)
	for name, f := range figures() {
		all[name] = f
	}
	for name, f := range all {
		borders := f.withoutLines()
		for _, x0 := range []float64{-180, -3, 10, 175, 179.995} { // across the antimeridian too
			var polygons [][]ring
			for _, feature := range f.features("f", x0, 40, 1, true) {
				p, err := cleanRings(feature.Geometry, LongEdgesAuto, new(assumed))
				if err != nil {
					t.Fatal(err)
				}
				polygons = append(polygons, p...)
			}
			b := appendWitnesses(nil, polygons, 1, 7)
			if !slices.Equal(b, appendWitnesses(nil, polygons, 1, 7)) {
				t.Fatal("not the same twice")
			}
			witnesses, err := parseWitnesses(b)
			if err != nil {
				t.Fatal(err)
			}
			sides := map[bool]int{}
			for _, w := range witnesses {
				lon, lat := w.degrees()
				switch {
				case lon < x0-180:
					lon += 360
				case lon > x0+180:
					lon -= 360
				}
				if borders.apart(lon-x0, lat-40) < 1e-6 {
					t.Errorf("%s: %v lies on an edge", name, w)
				} else if in := borders.holds(lon-x0, lat-40); in != w.inside {
					t.Errorf("%s: %v, %v is said to be inside: %t", name, lon, lat, w.inside)
				}
				sides[w.inside]++
			}
			if name == "a bow-tie in a box" && (sides[true] < 10 || sides[false] < 3) {
				t.Errorf("%s: witnesses %v", name, sides)
			}
		}
	}
	if few := appendWitnesses(nil, [][]ring{{{{0, 0}, {1, 0}, {0, 1}}}}, 350_000, 7); len(few) != 2*8 {
		t.Errorf("%d bytes for one of very many regions", len(few))
	}
	if _, err := parseWitnesses(make([]byte, 7)); err == nil {
		t.Error("half a witness was taken")
	}
}

// A build that agrees with itself but not with its source is found out: its
// witnesses are those of figures whose lobes are lost in it, as they were when
// windings were added up, or which it fills.
func TestVerifyFindsLostArea(t *testing.T) {
	for name, faulty := range map[string]figure{
		"lobes lost":   {{quad(0, 0, 10, 10), {{2, 2}, {5, 5}, {2, 8}}, {{8, 2}, {8, 8}, {5, 5}}}},
		"a lobe lost":  {{quad(0, 0, 10, 10), {{8, 2}, {8, 8}, {5, 5}}}},
		"area added":   {{quad(-3, -3, 13, 13)}},
		"all but lost": {{quad(0, 0, 1, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			layer := func(f figure) Layer { return Layer{"land", f.features("f", 20, 30, 0.01, true)} }
			_, good, _ := buildReader(t, layer(figures()["a bow-tie in a box"]))
			r, store, _ := buildReader(t, layer(faulty))
			if report := verify(t, store, r.meta); len(report.Findings) > 0 || report.Types[0].Witnesses < 20 {
				t.Fatalf("before: %d points, %s", report.Types[0].Witnesses, describeFindings(report))
			}
			setWitnesses(t, store, 0, "f", witnessesOf(t, good, 0, "f"))
			report := verify(t, store, r.meta)
			if len(report.Findings) != 1 {
				t.Fatalf("%s", describeFindings(report))
			}
			f := report.Findings[0]
			if f.Problem != ProblemSource || f.Type != "land" || f.Count == 0 || f.Examples[0].Region != "f" ||
				!strings.Contains(f.Examples[0].Detail, "in the source and") || !strings.HasPrefix(f.Examples[0].Tile, "13/") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Builds of earlier versions have no witnesses, which is no fault of theirs.
func TestVerifyWithoutWitnesses(t *testing.T) {
	r, store, _ := buildReader(t, Layer{"land", []Feature{{ID: "f", Geometry: square(20, 30, 20.1, 30.1)}}})
	setWitnesses(t, store, 0, "f", nil)
	if report := verify(t, store, r.meta); len(report.Findings) > 0 || report.Types[0].Witnesses != 0 {
		t.Errorf("%d points, %s", report.Types[0].Witnesses, describeFindings(report))
	}
	setWitnesses(t, store, 0, "f", []byte("half of a"))
	if report := verify(t, store, r.meta); len(report.Findings) != 1 || report.Findings[0].Problem != ProblemRow {
		t.Errorf("%s", describeFindings(report))
	}
}
