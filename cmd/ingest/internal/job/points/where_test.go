package points

import (
	"errors"
	"strings"
	"testing"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
)

// A collection has the points that fulfil --where. If there are none, or a property is misspelt, nothing is published.
func TestWhere(t *testing.T) {
	a := testfile.WriteTemp(t, "a.csv", "id,lat,lon,kind,price\n1,1,1,cafe,9\n2,2,2,cafe,10\n3,,,bar,\n4,1,1,bar,11\n")
	b := testfile.WriteTemp(t, "b.csv", "id,lat,lon,kind,price\n5,1,1,bar,12\n")
	for where, tc := range map[string]struct {
		points int64
		err    string
	}{
		"":                            {4, ""},
		"kind = 'cafe'":               {2, ""},
		"kind = 'cafe' AND price < 1": {0, "leaves out all 5 records"},
		"price > 9":                   {3, ""},
		"id = '5'":                    {1, ""},
		"knd = 'cafe'":                {0, `no record has "knd"; there are "kind", "id", "price"`},
	} {
		var w features.Where
		if err := w.UnmarshalText([]byte(where)); err != nil {
			t.Fatal(err)
		}
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		m, err := Ingest(t.Context(), c, Collection{Name: "shops", Where: w}, []string{a, b}, job.Options{Reporter: rep})
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) || m.Records["points"] != tc.points {
			t.Errorf("%s: %v, %v; want %v", where, m.Records, err, tc)
		}
		if _, err := c.Current(t.Context(), "points-shops"); tc.err != "" && !errors.Is(err, dataset.ErrNoGeneration) {
			t.Errorf("%s: published: %v", where, err)
		}
		if m, err := Ingest(t.Context(), c, Collection{Name: "open", Where: w, AllowEmpty: true}, []string{a, b}, job.Options{}); tc.points == 0 &&
			(err == nil) != strings.Contains(tc.err, "leaves out") {
			t.Errorf("%s: of a feed that may be empty: %v, %v", where, m.Records, err)
		}
		// A record without a position counts only if it is wanted.
		if without := strings.Contains(strings.Join(rep.Notes, "; "), "not counted as bad, such as "+a+":4"); without != (where == "") {
			t.Errorf("%s: %q", where, rep.Notes)
		}
	}
}
