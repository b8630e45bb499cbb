package boundaries

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
)

// area returns a square of a size at a longitude, with the columns of a view.
func area(code, name string, lon, size int, columns string) string {
	return fmt.Sprintf(`{"type":"Feature","properties":{"ADM0_A3":"%[1]s","NAME":"%[2]s"%[5]s},"geometry":{"type":"Polygon","coordinates":[[[%[3]d,0],[%[4]d,0],[%[4]d,1],[%[3]d,1],[%[3]d,0]]]}}`,
		code, name, lon, lon+size, columns)
}

func TestWorldview(t *testing.T) {
	file := testfile.WriteTemp(t, "ne_countries.geojson", `{"type":"FeatureCollection","features":[`+strings.Join([]string{
		area("BIG", "Bigger", 0, 9, `,"FCLASS_XX":"Unrecognized","ADM0_A3_XX":"SML","FCLASS_ISO":"Admin-0 country","ADM0_ISO":"BIG"`),
		area("SML", "Smaller", 10, 1, `,"FCLASS_XX":null,"ADM0_A3_XX":"SML","FCLASS_ISO":"Admin-0 country","ADM0_ISO":"SML"`),
		area("PRV", "Province", 20, 1, `,"FCLASS_XX":"Admin-1 states provinces","ADM0_A3_XX":"BIG","FCLASS_ISO":"Unrecognized","ADM0_ISO":"-99"`),
		area("SLP", "Slip", 30, 1, `,"FCLASS_XX":"","ADM0_A3_XX":"BIG","FCLASS_ISO":"Admin-0 country","ADM0_ISO":"SLP"`),
		area("QUI", "Quiet", 40, 1, `,"FCLASS_XX":null,"ADM0_A3_XX":"SML","FCLASS_ISO":"Unrecognized","ADM0_ISO":"SML"`),
		area("SEL", "Self", 50, 1, `,"FCLASS_XX":"Admin-0 country","ADM0_A3_XX":"SML","FCLASS_ISO":"Unrecognized","ADM0_ISO":"SML"`),
		area("NOB", "Nobody", 60, 1, `,"FCLASS_XX":"Unrecognized","ADM0_A3_XX":"NOB","FCLASS_ISO":"Unrecognized","ADM0_ISO":"-99"`),
		area("FAR", "Far", 70, 1, `,"FCLASS_XX":"Unrecognized","ADM0_A3_XX":"B45","FCLASS_ISO":"Unrecognized","ADM0_ISO":"ZZZ"`),
		area("RNA", "Round", 80, 1, `,"FCLASS_XX":"Unrecognized","ADM0_A3_XX":"RNB","FCLASS_ISO":"Admin-0 country","ADM0_ISO":"RNA"`),
		area("RNB", "About", 90, 1, `,"FCLASS_XX":"Unrecognized","ADM0_A3_XX":"RNA","FCLASS_ISO":"Admin-0 country","ADM0_ISO":"RNB"`),
	}, ",\n")+"]}")
	for view, want := range map[string]string{
		"":    "big=Bigger far=Far nob=Nobody prv=Province qui=Quiet rna=Round rnb=About sel=Self slp=Slip sml=Smaller",
		"xx":  "far=Far nob=Nobody rna=Round rnb=About sel=Self slp=Slip sml=Smaller",
		"XX":  "far=Far nob=Nobody rna=Round rnb=About sel=Self slp=Slip sml=Smaller",
		"ISO": "big=Bigger far=Far nob=Nobody prv=Province rna=Round rnb=About slp=Slip sml=Smaller",
	} {
		in := layerInput("country", file, "")
		in.Worldview = view
		if got := regionsOf(t, in); got != want {
			t.Errorf("%s:\n%s, want\n%s", view, got, want)
		}
	}
	plain := layerInput("country", "testdata/squares.geojson", "")
	plain.Worldview = "IN"
	ward := layerInput("ward", "testdata/squares.geojson", "")
	ward.Worldview = "IN"
	other := layerInput("country", file, "")
	other.Worldview = "QQ"
	odd := layerInput("country", file, "")
	odd.Worldview = "England"
	for want, in := range map[string]Input{
		"ne_10m_admin_0_countries of Natural Earth 5":                  plain,
		"only a layer of countries":                                    ward,
		"does not know how QQ sees disputed areas; it knows ISO, XX":   other,
		`"England" is no worldview; give the two letters of a country`: odd,
	} {
		if _, err := Ingest(context.Background(), jobtest.Catalog(t), []Input{in}, job.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// regionsOf lists the regions of a layer, each by the name of its first feature, in the order of
// their ids.
func regionsOf(t *testing.T, in Input) string {
	t.Helper()
	l, vertices := &layer{typ: in.Type}, vertexCount{}
	if _, err := l.read(context.Background(), anyFiles(t), in, job.NewTally(0), &vertices, job.SilentReporter{}); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	layer, _ := l.finish(job.SilentReporter{})
	for _, f := range layer.Features {
		if _, ok := names[f.ID]; !ok {
			names[f.ID] = f.Name
		}
	}
	var b strings.Builder
	for i, id := range slices.Sorted(maps.Keys(names)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(id + "=" + names[id])
	}
	return b.String()
}

// TestWorldviewsOfNaturalEarth compares the countries of Natural Earth in each of its views with
// those in the file's own view.
func TestWorldviewsOfNaturalEarth(t *testing.T) {
	file := naturalEarth + "/zip/ne_50m_admin_0_countries.zip"
	if _, err := os.Stat(file); err != nil {
		t.Skip("no real data: ", err)
	}
	testrace.SkipUnderRace(t, "one goroutine, and much to read")
	all := map[string]bool{}
	for _, region := range strings.Fields(regionsOf(t, layerInput("country", file, ""))) {
		id, _, _ := strings.Cut(region, "=")
		all[id] = true
	}
	for view, want := range map[string][]string{
		"US":  {"cyn", "sol"},
		"CN":  {"cyn", "kas", "sol", "tw", "xk"},
		"IN":  {"cyn", "eh", "kas", "sol", "xk"},
		"PK":  {"cyn", "il", "kas", "sol", "tw"},
		"MA":  {"cyn", "eh", "kas", "sol", "tw", "xk"},
		"AR":  {"cyn", "fk", "kas", "sol", "xk"},
		"TW":  {"cn", "cyn", "kas"},
		"ISO": {"atc", "cyn", "ioa", "sol", "xk"},
	} {
		in := layerInput("country", file, "")
		in.Worldview = view
		left := map[string]bool{}
		for _, region := range strings.Fields(regionsOf(t, in)) {
			id, _, _ := strings.Cut(region, "=")
			left[id] = true
		}
		var gone []string
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if strings.Contains(id, "-") || len(id) > 3 {
				continue // a piece of a name
			}
			if !left[id] {
				gone = append(gone, id)
			}
		}
		if d := cmp.Diff(want, gone); d != "" {
			t.Errorf("%s: %s", view, d)
		}
	}
}
