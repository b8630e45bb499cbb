package names

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/points"
	"quadrille/cmd/ingest/internal/job/stations"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/testfile"
	"quadrille/places/names"
	"quadrille/places/search"
)

// searchNames returns the first feature that a text finds.
func searchNames(t *testing.T, c *dataset.Catalog, text string) (f names.Feature) {
	t.Helper()
	r, _ := jobtest.Open(t, c, ask.Names)
	hits, err := r.Search(t.Context(), search.Query{Text: text}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(hits) > 0 {
		f = hits[0].Feature
	}
	return f
}

func TestNames(t *testing.T) {
	c := jobtest.Catalog(t)
	o := job.Options{Reporter: &jobtest.Recorder{}}
	if _, err := Ingest(t.Context(), c, o); !errors.Is(err, ErrNoNames) {
		t.Fatal(err)
	}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(boundaries.Ingest(t.Context(), c, []boundaries.Input{
		{
			Type: "county",
			Input: jobtest.Input(testfile.WriteTemp(t, "county.geojson",
				jobtest.FeatureCollection(jobtest.Square("20159", "Rice", "", 1, 1, 1), jobtest.Square("22001", "Acadia", "", 3, 1, 1)))),
			Told: columns.Told{ID: "id", Nameless: true},
		},
		{
			Type: "country",
			Input: jobtest.Input(testfile.WriteTemp(t, "country.geojson",
				jobtest.FeatureCollection(jobtest.Square("us", "United States", `,"iso_a2":"US"`, 0, 0, 10)))),
			Told: columns.Told{ID: "id", Nameless: true},
		},
		{
			Type: "timezone",
			Input: jobtest.Input(testfile.WriteTemp(t, "zone.geojson",
				jobtest.FeatureCollection(jobtest.Square("america-chicago", "America/Chicago", `,"tzid":"America/Chicago"`, 0, 0, 10)))),
			Told: columns.Told{ID: "id", Nameless: true},
		},
	}, o))
	must(stations.Ingest(t.Context(), c, job.Input{
		Path:   testfile.WriteTemp(t, "isd-history.csv", jobtest.StationsHead+jobtest.RowZurich),
		Credit: job.NOAA,
	}, o))
	shops := testfile.WriteTemp(t, "shops.csv", "id,name,lat,lon\n1,Corner <Shop>,1.5,1.5\n2,,1.5,1.5\n")
	must(points.Ingest(t.Context(), c, points.Collection{Name: "shops", Search: true}, []string{shops}, o))
	must(points.Ingest(t.Context(), c, points.Collection{Name: "secret", Private: true}, []string{shops}, o))

	m, err := Ingest(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int64{"regions": 3, "stations": 1, "points": 1, "timezones": 1, "airports": 0} {
		if m.Records[kind] != want {
			t.Errorf("%d %s, want %d", m.Records[kind], kind, want)
		}
	}
	parents := func(f names.Feature) (list []string) {
		for _, p := range f.Parents {
			list = append(list, p.Name)
		}
		return list
	}
	for text, want := range map[string]struct {
		kind        names.Kind
		title, code string
		parents     []string
	}{
		"rice county":   {names.Region, "Rice County", "", []string{"United States"}},
		"acadia parish": {names.Region, "Acadia Parish", "", []string{"United States"}},
		"united states": {names.Region, "", "US", nil},
		"us":            {names.Region, "", "US", nil},
		"corner shop":   {names.Point, "", "", []string{"Rice", "United States"}},
		"zurich town":   {names.Station, "", "", nil},
		"chicago":       {names.Zone, "", "", nil},
	} {
		f := searchNames(t, c, text)
		if f.Kind != want.kind || f.Title != want.title || f.Code != want.code || !slices.Equal(parents(f), want.parents) {
			t.Errorf("%s: %+v, want %+v", text, f, want)
		}
	}

	if f := searchNames(t, c, "chicago"); f.Name != "America/Chicago" || f.Type != "timezone" || f.ID != "america-chicago" {
		t.Errorf("%+v", f)
	}

	for collection, want := range map[string]bool{"shops": true, "secret": true} { // the index has points, which may be its own
		if got, err := IsSearched(t.Context(), c, ask.CollectionPrefix+collection); err != nil || got != want {
			t.Errorf("%s: %v, %v", collection, got, err)
		}
	}
	must(points.Ingest(t.Context(), c, points.Collection{Name: "shops"}, []string{shops}, o))
	must(Ingest(t.Context(), c, o))
	if f := searchNames(t, c, "corner shop"); f.ID != "" {
		t.Errorf("%+v", f)
	}
	if got, err := IsSearched(t.Context(), c, ask.CollectionOf("shops").Name); err != nil || got {
		t.Errorf("%v, %v", got, err)
	}
	if of, _ := jobtest.Open(t, c, ask.CollectionOf("shops")); of.Meta().Search {
		t.Errorf("%+v", of.Meta())
	}
}

func TestCountyTitle(t *testing.T) {
	for _, c := range []struct{ typ, id, want string }{
		{"county", "20159", "X County"},
		{"county", "US-KS", "X County"}, // the code of the record
		{"county", "US-LA", "X Parish"},
		{"county", "US-AK", ""},
		{"county", "GB-KEN", ""},
		{"county", "22001", "X Parish"},
		{"county", "72001", "X Municipio"},
		{"county", "02013", ""},
		{"county", "11001", ""},
		{"county", "51510", ""}, // an independent city
		{"county", "66010", ""},
		{"county", "ch-zh", ""},
		{"state", "20159", ""},
	} {
		if got := countyTitle(c.typ, c.id, &regionRecord{Name: "X", ISO3166: code(strings.Trim(c.id, "0123456789"))}); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.typ, c.id, got, c.want)
		}
	}
}
