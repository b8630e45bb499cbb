package boundaries

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/tiles"
)

// whereInput returns an input whose features must fulfil a condition.
func whereInput(t *testing.T, typ, path, where string) Input {
	t.Helper()
	in := layerInput(typ, path, "")
	var w features.Where
	if err := w.UnmarshalText([]byte(where)); err != nil {
		t.Fatal(err)
	}
	in.Where = w
	return in
}

// A layer needs a feature that fulfils --where, but not each of its files. Otherwise nothing is published.
func TestWhere(t *testing.T) {
	dir := t.TempDir()
	square := func(id, kind string, west float64) string {
		return jobtest.Square(id, strings.ToUpper(id), `,"kind":"`+kind+`"`, west, 0, 1)
	}
	testfile.Write(t, filepath.Join(dir, "a.geojson"), jobtest.FeatureCollection(square("a", "county", 0), square("b", "region", 1)))
	testfile.Write(t, filepath.Join(dir, "b.geojson"), jobtest.FeatureCollection(square("c", "region", 2)))
	files := filepath.Join(dir, "*.geojson")
	for where, tc := range map[string]struct {
		county, region int64
		err            string
	}{
		"":                    {3, 3, ""},
		"kind = 'county'":     {1, 1, ""},
		"kind IN ('region')":  {2, 2, ""},
		"kind = 'town'":       {0, 0, `layer county: --where "kind = 'town'" leaves out all 3 records; kind is "county"`},
		"kindd = 'county'":    {0, 0, `layer county: --where: no record has "kindd"; there are "kind"`},
		"kind.name = 'Berne'": {0, 0, `no record has "kind.name"; there are "kind"`},
	} {
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		m, err := Ingest(t.Context(), c, []Input{whereInput(t, "county", files, where), whereInput(t, "region", files, where)}, job.Options{Reporter: rep})
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) || m.Records["county"] != tc.county || m.Records["region"] != tc.region {
			t.Errorf("%s: %v, %v; want %v", where, m.Records, err, tc)
		}
		if _, err := c.Current(t.Context(), ask.Boundaries.Name); tc.err != "" && !errors.Is(err, dataset.ErrNoGeneration) {
			t.Errorf("%s: published: %v", where, err)
		}
		if told := strings.Contains(strings.Join(rep.Notes, "; "), "b.geojson: 1 of 1 records are left out by --where"); told != (where == "kind = 'county'" || tc.err != "") {
			t.Errorf("%s: %q", where, rep.Notes)
		}
	}
}

// Divisions of Overture Maps are layers by --where, with the ids, names and languages that their authors wrote.
func TestOvertureDivisions(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	const dir = "../../../../../../shared/data/files/"
	text, err := os.ReadFile(dir + "answers.json")
	if err != nil {
		t.Skip("no files of foreign writers:", err)
	}
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, row := range all {
		var a struct {
			File, Run   string
			Count, Also int64
			Features    []struct {
				ID, Name string
				Langs    map[string]string
			}
			Say struct{ Where string }
			At  [][3]any
		}
		if json.Unmarshal(row, &a) != nil || a.Say.Where == "" || a.Run != "boundaries" {
			continue
		}
		tried++
		name, value, _ := strings.Cut(a.Say.Where, "=")
		c := jobtest.Catalog(t)
		m, err := Ingest(t.Context(), c, []Input{whereInput(t, "division", dir+a.File, name+" = '"+value+"'")}, job.Options{})
		if n := m.Records["division"]; err != nil || n < a.Count || n > a.Count+a.Also {
			t.Errorf("%s: %d, want %d; %v", value, n, a.Count, err)
			continue
		}
		r, _ := jobtest.Open(t, c, ask.Boundaries)
		l, err := r.Layer("division")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range a.Features {
			var f feature.Feature
			if err := l.Get(t.Context(), want.ID, time.Time{}, &f); err != nil || f.Properties.Text("name") != want.Name || f.Properties.Text("country") != "QD" {
				t.Errorf("%s: %v %v, want %s", want.ID, f.Properties.Text("name"), err, want.Name)
			}
			for language, name := range want.Langs {
				if got := f.Properties.Text("name:" + language); got != name {
					t.Errorf("%s in %s: %q, want %q", want.ID, language, got, name)
				}
			}
		}
		for _, at := range a.At {
			found, err := r.At(t.Context(), at[0].(float64), at[1].(float64))
			if err != nil || len(found) == 0 || !slices.ContainsFunc(found, func(r tiles.Region) bool { return r.Name == at[2] }) {
				t.Errorf("%v: %v, %v", at, found, err)
			}
		}
	}
	t.Logf("%d answers", tried)
}
