package verify

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/tilestest"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/layout"
)

// witnessesOf reads the witnesses of a region.
func witnessesOf(t *testing.T, store *pebblestore.Store, typeByte uint8, id string) []byte {
	t.Helper()
	table, err := store.Table(context.Background(), layout.TableRegions)
	if err != nil {
		t.Fatal(err)
	}
	var row cellstore.Row
	if _, err := table.Get(context.Background(), layout.RegionKey(typeByte, id), nil, &row); err != nil {
		t.Fatal(err)
	}
	b, _ := row.Value(layout.FamilyWitness, nil)
	return slices.Clone(b)
}

// setWitnesses replaces the witnesses of a region; nil deletes them.
func setWitnesses(t *testing.T, store *pebblestore.Store, typeByte uint8, id string, b []byte) {
	t.Helper()
	table, err := store.Table(context.Background(), layout.TableRegions)
	if err != nil {
		t.Fatal(err)
	}
	op := cellstore.PutAt(layout.FamilyWitness, nil, 2, b)
	if b == nil {
		op = cellstore.DeleteColumn(layout.FamilyWitness, nil, 2)
	}
	if err := table.Apply(context.Background(), cellstore.Mutation{Row: layout.RegionKey(typeByte, id), Ops: []cellstore.Op{op}}); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyFindsLostArea tests that Run detects a build that agrees with itself but not with
// its source. Each build gets the witnesses of another figure, from which it differs as a faulty
// build would: without the lobes, which an earlier build lost, or with too much area.
func TestVerifyFindsLostArea(t *testing.T) {
	box := tilestest.Box(0, 0, 10, 10)
	for name, faulty := range map[string]tilestest.Figure{
		"lobes lost":   {{box, {{2, 2}, {5, 5}, {2, 8}}, {{8, 2}, {8, 8}, {5, 5}}}},
		"a lobe lost":  {{box, {{8, 2}, {8, 8}, {5, 5}}}},
		"area added":   {{tilestest.Box(-3, -3, 13, 13)}},
		"all but lost": {{tilestest.Box(0, 0, 1, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			layer := func(f tilestest.Figure) build.Layer {
				return build.Layer{Type: "land", Features: []build.Feature{{ID: "f", Geometry: f.Polygons(20, 30, 0.01)}}}
			}
			good, _, _ := built(t, layer(tilestest.Figure{{box}, {{{2, 2}, {8, 8}, {8, 2}, {2, 8}}}}))
			store, meta, _ := built(t, layer(faulty))
			if report := verify(t, store, meta); len(report.Findings) > 0 || report.Types[0].Witnesses < 20 {
				t.Fatalf("before: %d points, %s", report.Types[0].Witnesses, describeFindings(report))
			}
			setWitnesses(t, store, 0, "f", witnessesOf(t, good, 0, "f"))
			report := verify(t, store, meta)
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

// Builds of earlier versions have no witnesses, which is not an error.
func TestVerifyWithoutWitnesses(t *testing.T) {
	store, meta, _ := built(t, build.Layer{Type: "land", Features: []build.Feature{{ID: "f", Geometry: tilestest.Square(20, 30, 20.1, 30.1)}}})
	setWitnesses(t, store, 0, "f", nil)
	if report := verify(t, store, meta); len(report.Findings) > 0 || report.Types[0].Witnesses != 0 {
		t.Errorf("%d points, %s", report.Types[0].Witnesses, describeFindings(report))
	}
	setWitnesses(t, store, 0, "f", []byte("half of a"))
	if report := verify(t, store, meta); len(report.Findings) != 1 || report.Findings[0].Problem != ProblemRow {
		t.Errorf("%s", describeFindings(report))
	}
}

// Records of lines have a geometry, except in data sets of older programs.
func TestLinesWithoutGeometry(t *testing.T) {
	store, meta, _ := built(t, checkWorlds()["neighbours"]...)
	at := slices.IndexFunc(meta.Types, func(m tiles.TypeMeta) bool { return m.IsLines })
	table, err := store.Table(t.Context(), layout.TableRegions)
	if err != nil {
		t.Fatal(err)
	}
	op := cellstore.DeleteColumn(layout.FamilyGeometry, nil, math.MaxInt64-1)
	if err := table.Apply(t.Context(), cellstore.Mutation{
		Row: layout.RegionKey(meta.Types[at].KeyByte, "canal"),
		Ops: []cellstore.Op{op},
	}); err != nil {
		t.Fatal(err)
	}
	for schema, want := range map[int]bool{2: false, 3: true} {
		meta.SchemaVersion = schema
		report := verify(t, store, meta)
		if got := strings.Contains(describeFindings(report), "no geometry"); got != want {
			t.Errorf("layout %d: %s", schema, describeFindings(report))
		}
	}
}
