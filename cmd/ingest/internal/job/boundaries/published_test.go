package boundaries

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
)

// squaresWith returns a file of squares side by side, each with a code and the name N1, N2 and so
// on.
func squaresWith(t *testing.T, codes ...string) string {
	t.Helper()
	var features []string
	for i, code := range codes {
		features = append(features,
			fmt.Sprintf(`{"type":"Feature","properties":{"code":%q,"name":"N%d"},"geometry":{"type":"Polygon","coordinates":[[[%d,0],[%[3]d,1],[%d,1],[%[4]d,0],[%[3]d,0]]]}}`, code, i+1, i, i+1))
	}
	return testfile.WriteTemp(t, "squares.geojson", `{"type":"FeatureCollection","features":[`+strings.Join(features, ",")+`]}`)
}

// TestCodesAsPublished tests that codes stay in the publisher's spelling. As an exception, common
// codes and values that cannot be ids keep their slugs. Ids that differ only in case are one
// region, which is reported.
func TestCodesAsPublished(t *testing.T) {
	for _, c := range []struct {
		typ   string
		codes []string
		want  string
		told  []string
	}{
		{"ward", []string{"E06000001", "KEN.1.1_1", "DE21", "01001"}, "E06000001 KEN.1.1_1 DE21 01001", nil},
		{"ward", []string{"Bad Ems", "07/1", "-x", "é", "A B"}, "bad-ems 07-1 x e a-b", nil},
		{"ward", []string{strings.Repeat("A", 80), strings.Repeat("B", 81)}, strings.Repeat("A", 80) + " " + strings.Repeat("b", 80), nil},
		{"country", []string{"FR", "de", "X.1"}, "fr de X.1", nil},
		{"state", []string{"US-KS", "us-mo", "E12000001"}, "us-ks us-mo E12000001", nil},
		{"county", []string{"20001", "E10000002"}, "20001 E10000002", nil},
		{"ward", []string{"de21", "DE22", "DE21", "dE21"}, "DE21 DE22 DE21 DE21", []string{
			"ward DE21: de21 differs only in case, so that it is the same id", "ward DE21: dE21 differs only in case, so that it is the same id",
			"ward DE21 (N1): N3 has the same id and is a part of it",
		}},
		// Ids that differ in more than letter case stay different.
		{"ward", []string{"1.1", "1-1", "11"}, "1-1-" + hash("1.1") + " 1-1-" + hash("1-1") + " 11", nil},
	} {
		rep := &jobtest.Recorder{}
		l := &layer{typ: c.typ}
		in := layerInput(c.typ, squaresWith(t, c.codes...), "code")
		if _, err := l.read(t.Context(), anyFiles(t), in, job.NewTally(0), new(vertexCount), rep); err != nil {
			t.Fatal(err)
		}
		built, shared := l.finish(job.SilentReporter{})
		ids := make([]string, len(c.codes))
		for _, f := range built.Features {
			var n int
			if _, err := fmt.Sscanf(f.Name, "N%d", &n); err != nil {
				t.Fatal(err)
			}
			ids[n-1] = f.ID
		}
		if got := strings.Join(ids, " "); got != c.want || !slices.Equal(shared, c.told) {
			t.Errorf("%s %q:\n%s, want\n%s\n%q", c.typ, c.codes, got, c.want, shared)
		}
	}
}

// The slug that older versions made of a code is the fold of its present id, so it leads to the
// same region.
func TestSlugsAreFolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,79}`).Draw(t, "code")
		if s := slug(code); s != feature.FoldedRegionID(code) {
			t.Fatalf("%q was %q, and is folded to %q", code, s, feature.FoldedRegionID(code))
		}
	})
}

// TestJoinedFeatures tests that features that are one region by their id are counted, unless each is told by its name.
func TestJoinedFeatures(t *testing.T) {
	for name, tc := range map[string]struct {
		features []string // id and name
		want     string
	}{
		"each its own":    {[]string{"a A", "b B"}, ""},
		"one name":        {[]string{"a A", "b B", "a A", "a A"}, "ward: 2 features have the id of another and are one region with it, such as a (3 features)"},
		"told by name":    {[]string{"a A", "a B"}, ""},
		"some told by it": {[]string{"a A", "a B", "b C", "b C"}, "ward: 2 features have the id of another and are one region with it, such as a (2 features)"},
	} {
		text := ""
		for i, f := range tc.features {
			id, name, _ := strings.Cut(f, " ")
			text += fmt.Sprintf(`{"type":"Feature","properties":{"code":%q,"name":%q},"geometry":{"type":"Polygon","coordinates":`+
				`[[[%[3]d,0],[%[3]d,1],[%[3]d.5,1],[%[3]d,0]]]}}`+"\n", id, name, i)
		}
		rep := &jobtest.Recorder{}
		l := &layer{typ: "ward"}
		in := layerInput("ward", testfile.WriteTemp(t, "f.geojson", text), "code")
		if _, err := l.read(t.Context(), anyFiles(t), in, job.NewTally(0), new(vertexCount), rep); err != nil {
			t.Fatal(err)
		}
		l.finish(rep)
		told := slices.DeleteFunc(rep.Notes, func(n string) bool { return !strings.Contains(n, "features have the id") })
		if got := strings.Join(told, "\n"); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
