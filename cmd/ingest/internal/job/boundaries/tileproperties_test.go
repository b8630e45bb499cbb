package boundaries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
)

// wardsOf returns a file of two wards with properties.
func wardsOf(t *testing.T, properties ...string) string {
	var all []string
	for i, p := range properties {
		all = append(all, fmt.Sprintf(`{"type":"Feature","properties":{"code":"W%d","name":"Ward %d",%s},"geometry":{"type":"Polygon",`+
			`"coordinates":[[[%d,0],[%[4]d.9,0],[%[4]d.9,1],[%[4]d,0]]]}}`, i, i, p, i))
	}
	return testfile.WriteTemp(t, "wards.geojson", `{"type":"FeatureCollection","features":[`+strings.Join(all, ",")+`]}`)
}

// Tiles have few and short properties by themselves, the named ones otherwise; kept layers have what
// they had, or what is named for them.
func TestTilesHaveChosenProperties(t *testing.T) {
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprintf(`"p%d":%d`, i, i))
	}
	long := strings.Repeat("x", 150)
	for _, tc := range []struct {
		properties []string
		named      []feature.Field
		columns    string
		note       string
		err        string
	}{
		{properties: []string{`"turnover":1.5,"open":true`, `"turnover":2`}, columns: "[open turnover]", note: "tiles have the properties open, turnover;"},
		{properties: []string{`"a":"` + long + `","b":1`, `"a":"` + long + `"`}, columns: "[b]", note: "properties b, and not the long ones a;"},
		{properties: []string{strings.Join(many, ","), `"p0":1`}, columns: "[]", note: "it has 21 properties, so tiles have none"},
		{properties: []string{strings.Join(many, ","), `"p0":1`}, named: []feature.Field{{Name: "p3"}}, columns: "[p3]"},
		{properties: []string{`"list":[1]`, `"code2":"W1"`}, columns: "[]"},
		{properties: []string{`"pop":"12"`, `"pop":" "`, `"pop":"1.5"`}, named: []feature.Field{{Name: "pop", Kind: feature.Number}}, columns: "[pop]"},
		{properties: []string{`"pop":"nan"`, `"pop":"-7"`, `"pop":"N/A"`}, named: []feature.Field{{Name: "pop", Kind: feature.Number}}, columns: "[pop]"},
		{properties: []string{`"pop":"inf"`}, named: []feature.Field{{Name: "pop", Kind: feature.Number}}, err: `which is no number`},
		{properties: []string{`"pop":"12 k"`}, named: []feature.Field{{Name: "pop", Kind: feature.Number}}, err: `ward W0: pop is "12 k", which is no number`},
		{properties: []string{`"list":[1]`}, named: []feature.Field{{Name: "list"}}, err: "--property list: no such property in ward"},
	} {
		in := Input{Type: "ward", Input: job.Input{Path: wardsOf(t, tc.properties...)}, InTiles: tc.named}
		rep, c := &jobtest.Recorder{}, jobtest.Catalog(t)
		_, err := Ingest(t.Context(), c, []Input{in}, job.Options{Reporter: rep})
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v", tc.err, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r, _ := jobtest.Open(t, c, ask.Boundaries)
		meta := r.Types()[0]
		if got := fmt.Sprint(meta.Columns); got != tc.columns {
			t.Errorf("%s: columns %s", tc.columns, got)
		}
		if !strings.Contains(strings.Join(rep.Notes, "\n"), tc.note) {
			t.Errorf("%s: %q", tc.note, rep.Notes)
		}
		if f, ok := meta.Schema.Lookup("pop"); ok && f.Kind != feature.Number {
			t.Errorf("pop is %v", f.Kind)
		}
	}
}

func TestKeptLayersKeepTheirProperties(t *testing.T) {
	ctx, c := context.Background(), jobtest.Catalog(t)
	columns := func() string {
		r, _ := jobtest.Open(t, c, ask.Boundaries)
		return fmt.Sprint(r.Types()[0].Columns)
	}
	in := Input{Type: "ward", Input: job.Input{Path: wardsOf(t, `"a":1,"b":2`)}, InTiles: []feature.Field{{Name: "b"}}}
	if _, err := Ingest(ctx, c, []Input{in}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	other := Input{Type: "zone", Input: job.Input{Path: wardsOf(t, `"a":1`)}, InTiles: []feature.Field{{Name: "a"}}}
	all, err := KeepLayers(ctx, c, ask.Boundaries.Dataset, []Input{other})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].InTiles = other.InTiles
	}
	if _, err := Ingest(ctx, c, all, job.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := columns(); got != "[b]" {
		t.Errorf("a kept layer has %s", got)
	}
	if all, err = KeepLayers(ctx, c, ask.Boundaries.Dataset, nil); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].InTiles = []feature.Field{{Name: "a"}}
	}
	if _, err := Ingest(ctx, c, slices.Clone(all), job.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := columns(); got != "[a]" {
		t.Errorf("a kept layer of which others are named has %s", got)
	}
	for i := range all {
		all[i].base, all[i].InTiles = nil, []feature.Field{{Name: "none"}}
	}
	if _, err := Ingest(ctx, c, all, job.Options{}); !errors.Is(err, ErrNoProperty) {
		t.Error(err)
	}
}
