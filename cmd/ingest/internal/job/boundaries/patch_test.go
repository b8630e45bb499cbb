package boundaries

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/tiles/build"
)

// wardInput is a file of wards of one date, so that rows do not differ by their timestamps.
func wardInput(path string, told columns.Told, patch bool) Input {
	in := Input{Type: "ward", Input: jobtest.Input(path), Told: told, Patch: patch}
	in.Released = time.Unix(1e9, 0)
	return in
}

// rowsOf returns the checksums of the files with rows.
func rowsOf(m dataset.Manifest) (sums []string) {
	for _, f := range m.Files {
		if strings.HasSuffix(f.Path, ".sst") {
			sums = append(sums, f.SHA256)
		}
	}
	return sums
}

// testWard is a region, or a part of one.
type testWard struct{ code, text string }

// drawWards draws regions that may share borders, overlap, have several parts and ids in either case.
func drawWards(t *rapid.T, label string, least int) []testWard {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) testWard {
		code := rapid.SampledFrom([]string{"A1", "a1", "B.2", "b.2", "C3", "D4", "E5", "F6", "G7", "H8"}).Draw(t, "code")
		at := func(label string, most int) float64 { return float64(rapid.IntRange(0, most).Draw(t, label)) / 2 }
		x, y, w, h := at("x", 8), at("y", 8), at("w", 4)+0.5, at("h", 4)+0.5
		ring := fmt.Sprintf("[[%g,%g],[%g,%g],[%g,%g],[%g,%g],[%[1]g,%[2]g]]", x, y, x+w, y+at("slant", 2), x+w, y+h, x, y+h)
		return testWard{code, fmt.Sprintf(`{"type":"Feature","properties":{"code":%q,"title_de":%q,"n":%d,"other":"x%d"},"geometry":{"type":"Polygon","coordinates":[%s]}}`,
			code, rapid.SampledFrom([]string{"Bern", "Thun", "Biel"}).Draw(t, "name"), rapid.IntRange(0, 3).Draw(t, "n"), int(x), ring)}
	}), least, 10).Draw(t, label)
}

func writeWards(t *testing.T, wards []testWard) string {
	texts := make([]string, len(wards))
	for i, w := range wards {
		texts[i] = w.text
	}
	return testfile.WriteTemp(t, "wards.geojson", jobtest.FeatureCollection(texts...))
}

// TestPatchEqualsWhole tests that a patched layer has the same rows, byte for byte, as a whole
// build of the patched file, whatever is replaced, added and removed, and that other layers stay.
func TestPatchEqualsWhole(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	ctx := t.Context()
	told := columns.Told{ID: "code", Name: "title_de"}
	county := layerInput("county", "testdata/topology.json", "")
	county.Released = time.Unix(1e9, 0)
	cases, most := 0, 40
	if testing.Short() {
		most = 8
	}
	rapid.Check(t, func(rt *rapid.T) {
		if cases++; cases > most {
			return
		}
		base, patch := drawWards(rt, "base", 1), drawWards(rt, "patch", 0)
		var keep Keep
		gone := map[string]bool{}
		published := map[string]string{}
		for _, w := range base {
			if key := feature.FoldedRegionID(w.code); published[key] == "" || w.code < published[key] {
				published[key] = w.code
			}
		}
		for i, w := range patch {
			// TestPatchSpelledOtherwise has other spellings.
			if code := published[feature.FoldedRegionID(w.code)]; code != "" {
				patch[i] = testWard{code, strings.Replace(w.text, strconv.Quote(w.code), strconv.Quote(code), 1)}
			}
			gone[feature.FoldedRegionID(w.code)] = true
		}
		for _, w := range base {
			if key := feature.FoldedRegionID(w.code); !gone[key] && rapid.IntRange(0, 3).Draw(rt, "remove") == 0 {
				gone[key] = true
				keep.Remove = append(keep.Remove, Region{"ward", strings.ToLower(w.code)})
			}
		}
		whole := slices.DeleteFunc(slices.Clone(base), func(w testWard) bool { return gone[feature.FoldedRegionID(w.code)] })
		whole = append(whole, patch...)
		c, other := jobtest.Catalog(t), jobtest.Catalog(t)
		if _, err := Ingest(ctx, c, []Input{wardInput(writeWards(t, base), told, false), county}, job.Options{}); err != nil {
			rt.Fatal(err)
		}
		var inputs []Input
		if len(patch) > 0 {
			inputs = []Input{wardInput(writeWards(t, patch), columns.Told{}, true)}
		}
		inputs, err := KeepSome(ctx, c, ask.Boundaries.Dataset, inputs, keep)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := Ingest(ctx, c, inputs, job.Options{})
		if len(whole) == 0 {
			if err == nil || !strings.Contains(err.Error(), "nothing would be left of the layer ward") {
				rt.Fatal(err)
			}
			return
		}
		want, wantErr := Ingest(ctx, other, []Input{wardInput(writeWards(t, whole), told, false), county}, job.Options{})
		if (err == nil) != (wantErr == nil) {
			rt.Fatalf("%v; of the whole file: %v", err, wantErr)
		}
		if d := cmp.Diff(rowsOf(want), rowsOf(got)); d != "" || err == nil && len(rowsOf(got)) < 2 {
			rt.Fatal(d)
		}
	})
}

// A patch takes ids and names from the columns of the published layer, which a few regions would
// not show: here a column that is called a code but repeats, and ids of features that count from 1.
func TestPatchTakesPublishedColumns(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	row := func(id, code, name string, x int) string {
		return fmt.Sprintf(`{"type":"Feature"%s,"properties":{"GEOID":%q,"KIND":%q,"KIND_FR":"fr %[3]s"},"geometry":{"type":"Polygon","coordinates":[[[%[4]d,0],[%[5]d,0],[%[5]d,1],[%[4]d,1],[%[4]d,0]]]}}`,
			id, code, name, x, x+1)
	}
	for name, c := range map[string]struct {
		base  []string
		patch string
		told  columns.Told
		want  string // the ids
	}{
		"names, since codes repeat": {
			[]string{row("", "7", "Bern", 0), row("", "7", "Thun", 1), row("", "7", "Biel", 2)}, row("", "9", "Thun", 5), columns.Told{}, "bern biel thun"},
		"features' own ids": {
			[]string{row(`,"id":"1"`, "7", "Bern", 0), row(`,"id":"5"`, "7", "Thun", 1), row(`,"id":"9"`, "7", "Biel", 2)},
			row(`,"id":"1"`, "9", "Wil", 5), columns.Told{}, "1 5 9"},
		"codes": {
			[]string{row("", "71", "Bern", 0), row("", "72", "Thun", 1)}, row(`,"id":"70"`, "72", "Wil", 5), columns.Told{}, "71 72"},
		"told": {
			[]string{row("", "7", "Bern", 0), row("", "8", "Thun", 1)}, row("", "9", "Thun", 5), columns.Told{ID: "KIND"}, "Bern Thun"},
	} {
		t.Run(name, func(t *testing.T) {
			cat, rep := jobtest.Catalog(t), &jobtest.Recorder{}
			in := wardInput(testfile.WriteTemp(t, "base.geojson", jobtest.FeatureCollection(c.base...)), c.told, false)
			if _, err := Ingest(t.Context(), cat, []Input{in}, job.Options{}); err != nil {
				t.Fatal(err)
			}
			patch := wardInput(testfile.WriteTemp(t, "patch.geojson", jobtest.FeatureCollection(c.patch)), columns.Told{}, true)
			inputs, err := KeepSome(t.Context(), cat, ask.Boundaries.Dataset, []Input{patch}, Keep{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := Ingest(t.Context(), cat, inputs, job.Options{Reporter: rep})
			if err != nil {
				t.Fatalf("%v; %q", err, rep.Notes)
			}
			var ids []string
			r, _ := jobtest.Open(t, cat, ask.Boundaries)
			layer, err := r.Layer("ward")
			if err != nil {
				t.Fatal(err)
			}
			for f, err := range layer.Features(t.Context(), &feature.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, f.ID)
				if members := string(f.Properties.AppendMembers(nil)); !strings.Contains(members, `"name:fr"`) {
					t.Errorf("%s has no name in French: %s", f.ID, members)
				}
			}
			if slices.Sort(ids); strings.Join(ids, " ") != c.want || m.Records["ward"] != int64(len(c.base)) {
				t.Errorf("%q, %v; %q", ids, m.Records, rep.Notes)
			}
			want := fmt.Sprintf("ward: regions replaced: 1, added: 0, removed: 0, left as they are: %d", len(c.base)-1)
			if !slices.Contains(rep.Notes, want) {
				t.Errorf("%q", rep.Notes)
			}
		})
	}
}

// A layer that is patched every night credits its file and the last patch of each credit.
func TestPatchSources(t *testing.T) {
	l := &layer{sources: []dataset.Source{{Name: "whole"}}}
	for _, night := range []string{"a", "b", "c", "c"} {
		l.patchSources([]dataset.Source{{Name: night}})
	}
	l.patchSources([]dataset.Source{{Name: "d", License: "CC0-1.0"}})
	var names []string
	for _, s := range l.sources {
		names = append(names, s.Name)
	}
	if d := cmp.Diff([]string{"whole", "c", "d"}, names); d != "" || l.patches != 2 {
		t.Error(d, l.patches)
	}
}

// Whatever cannot be meant is refused, and what is published stays.
func TestRefusedPatches(t *testing.T) {
	ctx, c := t.Context(), jobtest.Catalog(t)
	base := layerInput("ward", squaresWith(t, "A", "B", "C"), "code")
	patch := func(code string) Input {
		in := layerInput("ward", squaresWith(t, code), "code")
		in.Patch = true
		return in
	}
	empty := patch("A")
	empty.Input = jobtest.Input(testfile.WriteTemp(t, "empty.geojson", `{"type":"FeatureCollection","features":[]}`))
	if err := empty.Where.UnmarshalText([]byte("code = 'A'")); err != nil {
		t.Fatal(err)
	}
	if _, err := KeepSome(ctx, c, ask.Boundaries.Dataset, []Input{patch("A")}, Keep{}); err == nil || !strings.Contains(err.Error(), "has none") {
		t.Error(err)
	}
	if _, err := Ingest(ctx, c, []Input{base}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		inputs []Input
		keep   Keep
		want   string
	}{
		"unknown layer to keep":    {nil, Keep{Only: []string{"wart"}}, "no layer wart is published in boundaries, which has ward"},
		"unknown layer":            {nil, Keep{Remove: []Region{{"county", "A"}}}, "no layer county is published"},
		"unknown region":           {nil, Keep{Remove: []Region{{"ward", "D"}}}, "no such region is published"},
		"replaced and removed":     {[]Input{patch("a")}, Keep{Remove: []Region{{"ward", "A"}}}, "leave out one of them"},
		"nothing left":             {nil, Keep{Remove: []Region{{"ward", "A"}, {"ward", "B"}, {"ward", "c"}}}, "nothing would be left"},
		"whole file and patch":     {[]Input{base, patch("A")}, Keep{}, "replaced by a whole file"},
		"whole file and removal":   {[]Input{base}, Keep{Remove: []Region{{"ward", "A"}}}, "replaced by a whole file"},
		"lines":                    {[]Input{{Type: "ward", Patch: true, Told: columns.Told{ID: "code", Nameless: true}, Input: jobtest.Input(linesWith(t, "A"))}}, Keep{}, "lines and polygons"},
		"an empty patch":           {[]Input{empty}, Keep{}, "if a patch may be empty, give --allow-empty"},
		"nothing kept but nothing": {nil, Keep{Only: []string{}}, "no layers"},
	} {
		inputs, err := KeepSome(ctx, c, ask.Boundaries.Dataset, tc.inputs, tc.keep)
		if err == nil {
			_, err = Ingest(ctx, c, inputs, job.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m, err := c.Current(ctx, ask.Boundaries.Name); err != nil || m.Generation != 1 {
		t.Error(m.Generation, err)
	}
}

// If it is not known where a published layer has its ids from, a patch must have one of them.
func TestPatchOfUnknownColumns(t *testing.T) {
	for name, tc := range map[string]struct {
		columns, patch *layerColumns
		refused        bool
	}{
		"earlier version": {nil, &layerColumns{IDs: idsOfNames}, true},
		"several":         {&layerColumns{}, &layerColumns{}, true},
		"others":          {&layerColumns{IDs: idsOfOwn}, &layerColumns{IDs: idsOfNames}, true},
		"the same":        {&layerColumns{IDs: idsOfNames}, &layerColumns{IDs: idsOfNames}, false},
	} {
		wards := func(id string) []build.Feature { return []build.Feature{{ID: id}} }
		l := &layer{typ: "ward", kept: true, columns: tc.columns, features: wards("A")}
		l.patch = &layer{typ: "ward", kept: true, columns: tc.patch, features: wards("Q")} // kept: it has its ids
		err := l.applyPatch(job.SilentReporter{})
		if (err != nil) != tc.refused || err != nil && !strings.Contains(err.Error(), "none of the ids of the patch, such as Q: name the column") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A patch that spells published ids otherwise would rename regions, and is refused. One that replaces all regions may.
func TestPatchSpelledOtherwise(t *testing.T) {
	for name, tc := range map[string]struct {
		published, patch []string
		want             []string // ids
		refused, note    string
	}{
		"another case": {[]string{"E05", "E06", "E07", "E08"}, []string{"e05", "E06", "e07"}, nil,
			"2 in all, such as e05 for E05, and styles and hooks that compare ids would miss these: spell them as they are " +
				"published, or remove these regions before, as by ingest boundaries --remove ward:E05", ""},
		"another separator": {[]string{"A-1", "B"}, []string{"A_1"}, nil, "1 in all, such as A_1 for A-1", ""},
		"all of them": {[]string{"E05", "E06"}, []string{"e05", "e06"}, []string{"e05", "e06"}, "",
			"spelled otherwise than before: 2, such as e05 for E05"},
		"new ones": {[]string{"E05", "E06"}, []string{"E05", "e07"}, []string{"E06", "E05", "e07"}, "", ""},
		"the same": {[]string{"E05", "e06"}, []string{"E05"}, []string{"e06", "E05"}, "", ""},
	} {
		wards := func(ids []string) (list []build.Feature) {
			for _, id := range ids {
				list = append(list, build.Feature{ID: id})
			}
			return list
		}
		l := &layer{typ: "ward", kept: true, features: wards(tc.published)}
		l.patch = &layer{typ: "ward", kept: true, features: wards(tc.patch)}
		rep := &jobtest.Recorder{}
		err := l.applyPatch(rep)
		if tc.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refused) || len(l.features) != len(tc.published) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var got []string
		for i := range l.features {
			got = append(got, l.features[i].ID)
		}
		if d := cmp.Diff(tc.want, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
		if notes := strings.Join(rep.Notes, "\n"); !strings.Contains(notes, tc.note) || tc.note == "" && strings.Contains(notes, "otherwise") {
			t.Errorf("%s: %q", name, notes)
		}
	}
}

func linesWith(t *testing.T, code string) string {
	t.Helper()
	return testfile.WriteTemp(t, "lines.geojson", fmt.Sprintf(`{"type":"Feature","properties":{"code":%q},"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`, code))
}

// Layers that --keep does not list are gone, and told.
func TestKeepSome(t *testing.T) {
	ctx, c, rep := t.Context(), jobtest.Catalog(t), &jobtest.Recorder{}
	var all []Input
	for _, typ := range []string{"ward", "parish", "district"} {
		all = append(all, layerInput(typ, squaresWith(t, "A", "B"), "code"))
	}
	if _, err := Ingest(ctx, c, all, job.Options{}); err != nil {
		t.Fatal(err)
	}
	inputs, err := KeepSome(ctx, c, ask.Boundaries.Dataset, nil, Keep{Only: []string{"district"}, Remove: []Region{{"ward", "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Ingest(ctx, c, inputs, job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int64{"ward": 1, "district": 2}, m.Records); d != "" {
		t.Error(d)
	}
	if len(rep.Notes) == 0 || !strings.Contains(rep.Notes[0], "will be gone: parish; ") {
		t.Errorf("%q", rep.Notes)
	}
}

// A file of a later date with the same regions is no change for --max-change.
func TestLaterDateIsNoChange(t *testing.T) {
	c, zero := jobtest.Catalog(t), 0.0
	in := wardInput(squaresWith(t, "A", "B"), columns.Told{ID: "code"}, false)
	if _, err := Ingest(t.Context(), c, []Input{in}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	in.Released = in.Released.AddDate(0, 0, 1)
	if m, err := Ingest(t.Context(), c, []Input{in}, job.Options{MaxChange: &zero}); err != nil || m.Generation != 2 {
		t.Error(m.Generation, err)
	}
	in.Path = squaresWith(t, "A", "C")
	if _, err := Ingest(t.Context(), c, []Input{in}, job.Options{MaxChange: &zero}); !errors.Is(err, job.ErrChanged) {
		t.Error(err)
	}
}
