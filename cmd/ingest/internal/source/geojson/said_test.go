package geojson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
)

// readAll reads files that belong together.
func readAll(texts ...string) (said geojson.Said, features int, err error) {
	for i, text := range texts {
		for _, e := range geojson.Read(strings.NewReader(text), fmt.Sprintf("p%d.geojson", i), &said) {
			if bad := (*source.BadRecord)(nil); e != nil && !errors.As(e, &bad) {
				return said, features, e
			}
			features++
		}
	}
	return said, features, said.Missing("a b")
}

// paged returns a collection with a number of features and other members.
func paged(features int, before, after string) string {
	all := make([]string, features)
	for i := range all {
		all[i] = feature(`{"type":"Point","coordinates":[1,2]}`)
	}
	return `{"type":"FeatureCollection",` + before + `"features":[` + strings.Join(all, ",") + `]` + after + `}`
}

func TestPages(t *testing.T) {
	const how = "; fetch all pages and give them together: a b; if nothing is missing, remove what says so from the file"
	for name, tc := range map[string]struct {
		texts []string
		err   string // without how
		note  string
	}{
		"ArcGIS": {
			[]string{paged(2, `"exceededTransferLimit":true,`, "")},
			"p0.geojson: is one page of several, says its exceededTransferLimit",
			"",
		},
		"ArcGIS, nested": {
			[]string{paged(2, `"properties":{"exceededTransferLimit":true},`, "")},
			"p0.geojson: is one page of several, says its exceededTransferLimit",
			"",
		},
		"nested, at the end": {
			[]string{paged(2, "", `,"properties":{"x":1,"exceededTransferLimit":true}`)},
			"p0.geojson: is one page of several, says its exceededTransferLimit",
			"",
		},
		"not exceeded": {[]string{paged(2, `"exceededTransferLimit":false,`, `,"properties":{"exceededTransferLimit":false}`)}, "", ""},
		"of another kind": {
			[]string{paged(2, `"exceededTransferLimit":{"a":[true]},"numberMatched":"unknown","totalFeatures":null,"numberReturned":[9],"links":"next",`, "")},
			"",
			"",
		},
		"two of two": {
			[]string{paged(2, `"exceededTransferLimit":true,`, ""), paged(1, "", "")},
			"",
			"p0.geojson: is one page of several, says its exceededTransferLimit; with the last page 3 features were read; " +
				"whether all pages between are there is not known",
		},
		"two of three": {
			[]string{paged(2, `"exceededTransferLimit":true,`, ""), paged(1, `"exceededTransferLimit":true,`, "")},
			"p0.geojson: is one page of several, says its exceededTransferLimit",
			"",
		},
		"in one file": {
			[]string{paged(2, `"exceededTransferLimit":true,`, "") + "\n" + paged(1, "", "")},
			"",
			"with the last page 3 features were read; whether all pages between are there is not known",
		},
		"WFS": {
			[]string{paged(20, `"totalFeatures":33,"numberMatched":33,"numberReturned":20,`, "")},
			"p0.geojson: is one page of several: it says that there are 33 features, and 20 were read",
			"",
		},
		"WFS, both": {
			[]string{paged(20, `"numberMatched":33,"numberReturned":20,`, ""), paged(13, "", `,"numberMatched":33,"numberReturned":13`)},
			"",
			"",
		},
		"WFS, one lost": {
			[]string{paged(20, `"numberMatched":33,`, ""), paged(12, `"numberMatched":33,`, "")},
			"it says that there are 33 features, and 32 were read",
			"",
		},
		"another layer's": {
			[]string{paged(20, `"numberMatched":33,`, ""), paged(13, `"numberMatched":13,`, "")},
			"it says that there are 33 features, and 20 were read",
			"",
		},
		"too high": {
			[]string{paged(1, `"numberMatched":9007199254740993e300,`, "")},
			"it says that there are 9007199254740992 features, and 1 were read",
			"",
		},
		"high": {
			[]string{paged(1, `"numberMatched":1e12,`, "")},
			"it says that there are 1000000000000 features, and 1 were read",
			"",
		},
		"too low":  {[]string{paged(3, `"numberMatched":2,"numberReturned":1,`, "")}, "", ""},
		"negative": {[]string{paged(3, `"numberMatched":-7,"numberReturned":-1,`, "")}, "", ""},
		"cut": {
			[]string{paged(3, `"numberReturned":4,`, "")},
			"p0.geojson: has 3 features, and says that it has 4: it was cut off or its features were filtered",
			"",
		},
		"link": {
			[]string{paged(2, `"links":[{"rel":"self","href":"a"},{"href":"b","rel":"next"},null],`, "")},
			`p0.geojson: is one page of several, says its link "next"`,
			"",
		},
		"links, no next": {[]string{paged(2, `"links":[{"rel":"nextish"},{"rel":7},{"rel":"prev"}],`, "")}, "", ""},
		"link, and all":  {[]string{paged(2, `"numberMatched":2,"links":[{"rel":"next"}],`, "")}, "", ""},
		"links, and both": {
			[]string{paged(2, `"numberMatched":3,"links":[{"rel":"next"}],`, ""), paged(1, `"numberMatched":3,"links":[{"rel":"next"}],`, "")},
			"",
			"",
		},
		"links, one lost": {
			[]string{paged(2, `"numberMatched":4,"links":[{"rel":"next"}],`, ""), paged(1, `"numberMatched":4,"links":[{"rel":"next"}],`, "")},
			"it says that there are 4 features, and 3 were read",
			"",
		},
		"link, too low": {
			[]string{paged(3, `"numberMatched":2,"links":[{"rel":"next"}],`, "")},
			`p0.geojson: is one page of several, says its link "next"`,
			"",
		},
		"a feature's own": {
			[]string{`{"type":"Feature","links":[{"rel":"next"}],"numberMatched":9,"properties":{"exceededTransferLimit":true},"geometry":null}`},
			"",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			said, _, err := readAll(tc.texts...)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.err+how)) {
				t.Errorf("%v", err)
			}
			if note := said.Together(); tc.err == "" && (!strings.HasSuffix(note, tc.note) || tc.note == "" && note != "") {
				t.Errorf("%q", note)
			}
		})
	}
}

// TestPagesTogether tests that several files with the pages of a layer are refused if and only if a
// feature of the pages is missing, in any order of the files.
func TestPagesTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 5).Draw(t, "sizes")
		total := 0
		for _, n := range sizes {
			total += n
		}
		texts := make([]string, len(sizes))
		for i, n := range sizes {
			texts[i] = paged(n, fmt.Sprintf(`"numberMatched":%d,`, total), fmt.Sprintf(`,"numberReturned":%d`, n))
		}
		texts = rapid.Permutation(texts).Draw(t, "order")
		if _, n, err := readAll(texts...); err != nil || n != total {
			t.Fatal(n, err)
		}
		if _, _, err := readAll(texts[1:]...); len(texts) > 1 && err == nil {
			t.Fatal("a page is missing")
		}
	})
}

// Counts of any number of layers take bounded memory.
func TestPagesOfManyLayers(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		text.WriteString(paged(1, fmt.Sprintf(`"numberMatched":%d,`, i+2), "") + "\n")
	}
	if _, _, err := readAll(text.String()); err == nil || !strings.Contains(err.Error(), "pages of more than 1000 layers") {
		t.Error(err)
	}
}

func TestGeometriesWithoutAttributes(t *testing.T) {
	polygon := `{"type":"Polygon","coordinates":[` + square + `]}`
	for text, want := range map[string]string{
		`{"type":"GeometryCollection","geometries":[` + polygon + `,` + polygon +
			`]}`: "p0.geojson: is a GeometryCollection without attributes: its 2 geometries are one feature; to make a feature " +
			"of each: ogr2ogr -explodecollections out.geojson p0.geojson",
		`{"type":"GeometryCollection","geometries":[` + polygon + `]}`:                          "",
		feature(`{"type":"GeometryCollection","geometries":[` + polygon + `,` + polygon + `]}`): "",
		polygon: "",
	} {
		said, n, err := readAll(text)
		if got := strings.Join(said.Notes, "\n"); err != nil || n != 1 || got != want {
			t.Errorf("%s: %d %q %v", text, n, got, err)
		}
	}
}
