package boundaries

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	orbmvt "github.com/paulmach/orb/encoding/mvt"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// LABEL_X, LABEL_Y and LABELRANK, in any case of letters, determine the places and ranks of labels.
// This also holds for a layer that is kept. Unusable labels are counted and reported.
func TestLabelColumns(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{"type":"FeatureCollection","features":[`)
	feature := func(name, columns string) {
		if !strings.HasSuffix(text.String(), "[") {
			text.WriteString(",\n")
		}
		text.WriteString(`{"type":"Feature","properties":{"name":"` + name + `"` + columns +
			`},"geometry":{"type":"Polygon","coordinates":[[[0,0],[40,0],[40,40],[0,40],[0,0]]]}}`)
	}
	feature("upper", `,"LABEL_X":1.5,"LABEL_Y":2,"LABELRANK":3`)
	feature("mixed", `,"Label_x":"10","label_Y":10,"labelrank":-5`)
	feature("none", `,"LABEL_X":null,"LABEL_Y":null,"LABELRANK":-99`)
	feature("empty", `,"LABEL_X":"","LABEL_Y":"","LABELRANK":""`)
	feature("nan", `,"LABEL_X":"NaN","LABEL_Y":2,"LABELRANK":3`)
	feature("half", `,"LABEL_X":1`)
	feature("text", `,"LABEL_X":"<b>","LABEL_Y":[1],"LABELRANK":{}`)
	feature("far", `,"LABEL_X":1000,"LABEL_Y":2`)
	feature("endless", `,"LABELRANK":"1e999"`)
	feature("outside", `,"LABEL_X":-60,"LABEL_Y":2,"LABELRANK":4`)
	text.WriteString("]}")
	path := filepath.Join(t.TempDir(), "countries.geojson")
	testfile.Write(t, path, text.String())
	const want = `mixed 2161 1933
nan 2275 1778
upper 2065 2025
outside 2275 1778
empty 2275 1778
endless 2275 1778
far 2275 1778
half 2275 1778
none 2275 1778
text 2275 1778
`
	ctx, c := t.Context(), jobtest.Catalog(t)
	inputs := []Input{layerInput("country", path, "")}
	for range 2 {
		rep := &jobtest.Recorder{}
		if _, err := Ingest(ctx, c, inputs, job.Options{Reporter: rep}); err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(rep.Notes, "\n")
		unused := strings.Contains(notes,
			path+": places or ranks of labels that are not used, for they are no numbers or not in the world: 5, the first in line 5")
		if astray := strings.Contains(notes,
			"(outside): the place of its label is not inside of it: another one was chosen"); unused == inputs[0].kept || !astray {
			t.Errorf("want both notes when a file is read, the second of a kept layer; kept: %v, notes: %s", inputs[0].kept, notes)
		}
		r, _ := jobtest.Open(t, c, ask.Boundaries)
		tile, err := r.AppendLabels(ctx, nil, quadkey.Tile{}, []tiles.Selector{{Type: "country"}})
		if err != nil {
			t.Fatal(err)
		}
		layers, err := orbmvt.Unmarshal(tile)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, f := range layers[0].Features {
			p := f.Geometry.(orb.Point)
			fmt.Fprintln(&got, f.Properties["name"], int(p[0]), int(p[1]))
		}
		if d := cmp.Diff(want, got.String()); d != "" {
			t.Error(d)
		}
		if inputs, err = KeepLayers(ctx, c, ask.Boundaries.Dataset, nil); err != nil {
			t.Fatal(err)
		}
	}
}
