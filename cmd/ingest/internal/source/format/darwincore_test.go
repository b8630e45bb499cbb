package format

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
)

// TestDarwinCore tests that meta.xml says which table of an archive is read, and how.
func TestDarwinCore(t *testing.T) {
	const (
		events      = "id\teventID\tdecimalLatitude\tdecimalLongitude\ne1\tA\t47.1\t8.1\n"
		occurrences = "id\tscientificName\tdecimalLatitude\tdecimalLongitude\no1\tBufo\t48.1\t9.1\n"
		lat         = `<field index="2" term="http://rs.tdwg.org/dwc/terms/decimalLatitude"/>`
		lon         = `<field index="3" term="http://rs.tdwg.org/dwc/terms/decimalLongitude"/>`
		ofTab       = ` fieldsTerminatedBy="\t" ignoreHeaderLines="1"`
		inEvent     = `<files><location>event.txt</location></files><id index="0"/>`
		inOther     = `<files><location>occurrence.txt</location></files><coreid index="0"/>`
	)
	for name, tc := range map[string]struct {
		meta, events, occurrences string
		options                   Options
		want                      string // id, longitude and properties
		note                      string
	}{
		"the core": {`<core` + ofTab + `>` + inEvent + lat + lon + `</core><extension` + ofTab + `>` + inOther + lat + lon + `</extension>`,
			events, occurrences, Options{}, "e1 8.1 eventID", "its member d/event.txt is read"},
		"an extension": {`<core` + ofTab + `>` + inEvent + `</core><extension` + ofTab + `>` + inOther + lat + lon + `</extension>`,
			events, occurrences, Options{}, "o1 9.1 scientificName", "its core event.txt has no positions, so that its extension occurrence.txt is read"},
		"no line of names": {`<core fieldsTerminatedBy="\t" ignoreHeaderLines="0">` + inEvent +
			`<field index="0" term="http://rs.tdwg.org/dwc/terms/occurrenceID"/>` + lat + lon + `<field term="http://x/country" default="NO"/></core>`,
			"e1\tA\t47.1\t8.1\n", occurrences, Options{}, "e1 8.1 2", "the table has no line of names"},
		"a separator": {`<core fieldsTerminatedBy="|" ignoreHeaderLines="0"><files><location>./event.txt</location></files><id index="0"/>` +
			`<field index="1" term="http://x#note"/>` + lat + lon + `</core>`, "e1|a,b,c,d,e|47.1|8.1\n", occurrences, Options{}, "e1 8.1 note", ""},
		"names that are given": {`<core fieldsTerminatedBy="\t" ignoreHeaderLines="0">` + inEvent + lat + lon + `</core>`, "e1\tA\t8.1\t47.1\n",
			occurrences, Options{Headless: true, ColumnNames: []string{"id", "a", "lon", "lat"}}, "e1 8.1 a", ""},
		"several files": {`<core` + ofTab + `><files><location>event.txt</location><location>more.txt</location></files>` + lat + lon + `</core>`,
			events, occurrences, Options{}, "e1 8.1 eventID", "1 more files of its table are not read, such as more.txt"},
	} {
		path := testfile.WriteTemp(t, "a.zip", testfile.Zip([2]string{"d/occurrence.txt", tc.occurrences}, [2]string{"d/event.txt", tc.events},
			[2]string{"d/meta.xml", `<archive xmlns="http://rs.tdwg.org/dwc/text/">` + tc.meta + `</archive>`}))
		tc.options.Want = source.WantPoints
		features, f, err := open(t, path, tc.options)
		if err != nil || len(features) != 1 {
			t.Errorf("%s: %v, %v", name, features, err)
			continue
		}
		got := fmt.Sprint(features[0].Properties["id"], " ", features[0].Geometry.(orb.Point).Lon())
		for name := range features[0].Properties {
			if name != "id" {
				got += " " + name
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if !slices.ContainsFunc(f.notes, func(n string) bool { return strings.Contains(n, tc.note) }) {
			t.Errorf("%s: %q, want %q", name, f.notes, tc.note)
		}
	}
	broken := testfile.Zip([2]string{"meta.xml", "<archive><core>"}, [2]string{"event.txt", events}, [2]string{"occurrence.txt", occurrences})
	if _, _, err := open(t, testfile.WriteTemp(t, "a.zip", broken), Options{Want: source.WantPoints}); err == nil || !strings.Contains(err.Error(), "unpack it and name one") {
		t.Error(err)
	}
}
