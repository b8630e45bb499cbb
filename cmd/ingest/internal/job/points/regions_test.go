package points

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
)

// Rows without positions get the ids and places of the regions that they name, by whatever of these a
// column has.
func TestValuesOfRegions(t *testing.T) {
	c := jobtest.Catalog(t)
	var regions []string
	for i, name := range []string{"Aarau", "Zürich", "Buchs", "Buchs", "Genève"} {
		regions = append(regions, fmt.Sprintf(`{"type":"Feature","properties":{"gemeinde":"CH-%[1]d","name":%[2]q,"bfs":"00%[1]d1","kind":"village"},"geometry":`+
			`{"type":"Polygon","coordinates":[[[%[1]d,0],[%[1]d.5,0],[%[1]d.5,1],[%[1]d,0]]]}}`, i, name))
	}
	file := testfile.WriteTemp(t, "regions.geojson", `{"type":"FeatureCollection","features":[`+strings.Join(regions, ",")+`]}`)
	if _, err := boundaries.Ingest(t.Context(), c, []boundaries.Input{{
		Type: "commune", Input: job.Input{Path: file}, Told: columns.Told{ID: "gemeinde", Name: "name"},
	}}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what, file, text, told string
		want, note, bad, err   string
	}{
		{what: "names, in other letters", file: "a.csv", text: "Ort;Umsatz\nZURICH;1,5\ngeneve;2,5\n",
			want: "CH-1 {\"Ort\":\"ZURICH\",\"Umsatz\":1.5} CH-4 {\"Ort\":\"geneve\",\"Umsatz\":2.5}", note: `"Ort" is the name of regions of commune`},
		{what: "codes without zeros", file: "b.csv", text: "nr,v\n11,7\n41,8\n", want: `CH-1 {"nr":11,"v":7} CH-4 {"nr":41,"v":8}`, note: `"nr" is the bfs of`},
		{what: "ids", file: "c.ndjson", text: `{"k":"ch-2","v":1}` + "\n" + `{"k":"CH-3","v":2}` + "\n", want: `CH-2 {"k":"ch-2","v":1} CH-3 {"k":"CH-3","v":2}`, note: `"k" is the id of`},
		{what: "a homonym and a stranger", file: "d.csv", text: "name,v\nBuchs,1\nZurch,2\nAarau,3\n", want: `CH-0 {"name":"Aarau","v":3}`,
			bad: reasonHomonym + " 1 " + reasonNoRegion + " 1"},
		{what: "a column that is told", file: "e.csv", text: "id,name,v\nCH-0,Zürich,1\n", told: "name", want: `CH-1 {"id":"CH-0","name":"Zürich","v":1}`},
		{what: "a value that all regions have", file: "h.csv", text: "State,Kind,v\nAarau,village,1\nGenève,village,2\nBern,village,3\n",
			want: `CH-0 {"State":"Aarau","Kind":"village","v":1} CH-4 {"State":"Genève","Kind":"village","v":2}`, bad: reasonNoRegion + " 1"},
		{what: "codes as measured numbers", file: "i.csv", text: "code,v\n1.0,11\n41.0,1\n", want: `CH-0 {"code":"1.0","v":11} CH-4 {"code":"41.0","v":1}`},
		{what: "no column that is told", file: "f.csv", text: "id,v\nCH-0,1\n", told: "code", err: "there is no column \"code\", as --id says; there are \"id\""},
		{what: "no column", file: "g.csv", text: "who,v\nx,1\ny,99\nz,98\n", err: "rows name no regions of commune: no column has their ids, codes or names; there are"},
	} {
		rep := &jobtest.Recorder{}
		_, err := Ingest(t.Context(), c, Collection{Name: "values", ValuesOf: "commune", Told: columns.Told{ID: tc.told}},
			[]string{testfile.WriteTemp(t, tc.file, tc.text)}, job.Options{Reporter: rep, MaxBad: 1})
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v", tc.what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.what, err)
			continue
		}
		if tc.note != "" && strings.Count(strings.Join(rep.Notes, "\n"), tc.note) != 1 {
			t.Errorf("%s: %q", tc.what, rep.Notes)
		}
		for _, reason := range strings.Fields(tc.bad) {
			if !strings.Contains(fmt.Sprint(rep.Counts, rep.Notes), reason) {
				t.Errorf("%s: %v, %q", tc.what, rep.Counts, rep.Notes)
			}
		}
		r, _ := jobtest.Open(t, c, ask.CollectionOf("values"))
		var got []string
		for f, err := range r.Features(t.Context(), &feature.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Lon < 0 || f.Lon > 5 || f.Lat != 0.5 {
				t.Errorf("%s: %s is at %v", tc.what, f.ID, f.Position)
			}
			got = append(got, f.ID+" {"+strings.TrimPrefix(string(f.Properties.AppendMembers(nil)), ",")+"}")
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: %s", tc.what, text)
		}
	}
	if _, err := Ingest(t.Context(), c, Collection{Name: "values", ValuesOf: "nothing"}, nil, job.Options{}); err == nil ||
		!strings.Contains(err.Error(), "--values-of nothing") || errors.Is(err, ErrNoRegions) {
		t.Error(err)
	}
}
