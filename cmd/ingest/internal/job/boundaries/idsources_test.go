package boundaries

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/testfile"
)

// readAlone reads one file as a layer, without publishing it.
func readAlone(t *testing.T, in Input) (out map[string]string, order, notes []string) {
	t.Helper()
	rep := &jobtest.Recorder{}
	layers, _, err := readLayers(t.Context(), []Input{in}, job.NewTally(0), job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	l, _ := layers[0].finish(rep)
	out = map[string]string{}
	for _, f := range l.Features {
		var properties []string
		for _, p := range f.Properties {
			properties = append(properties, fmt.Sprintf("%s=%v", p.Name, p.Value))
		}
		out[f.ID] = strings.TrimSpace(f.Name + " " + strings.Join(properties, " "))
		order = append(order, f.ID)
	}
	return out, order, rep.Notes
}

// gridded returns a feature with an id, which is JSON, and properties. Its square begins at a
// position.
func gridded(id, properties string, lon, lat float64) string {
	if id != "" {
		id = `"id":` + id + ","
	}
	return fmt.Sprintf(`{"type":"Feature",%s"properties":{%s},"geometry":{"type":"Polygon","coordinates":[[[%[3]v,%[4]v],[%[5]v,%[4]v],[%[5]v,%[6]v],[%[3]v,%[6]v],[%[3]v,%[4]v]]]}}`,
		id, properties, lon, lat, lon+.1, lat+.1)
}

// A number counts as a code only if the name, the position or the whole file agrees.
func TestNumbersAreNobodysCodes(t *testing.T) {
	const lon, lat = 7, 46
	var many []string
	for i, n := range []int{4, 8, 10, 12, 16, 20, 24, 28, 31, 32, 36, 40, 44, 48, 50, 51, 52, 56, 60, 64} {
		many = append(many, gridded(fmt.Sprint(n), "", float64(i), lat))
	}
	for name, tc := range map[string]struct {
		typ      string
		features []string
		want     []string // ids
		record   string   // a part of the first feature's record
		note     string   // a part of one
	}{
		"provinces of Spain": {"state", []string{
			gridded(`"01"`, `"name":"Andalucía"`, -5, 37),
			gridded(`"13"`, `"name":"Comunidad de Madrid"`, -4, 40),
		},
			[]string{"01", "13"}, "Andalucía", "state: ids are made of features' own ids (2, such as 01, 13)"},
		"states by name": {
			"state",
			[]string{gridded(`"01"`, `"name":"Alabama"`, lon, lat), gridded(`2`, `"name":"ALASKA"`, 8, lat)},
			[]string{"us-al", "us-ak"},
			"country=US fips=01",
			"FIPS codes (2, such as us-al, us-ak)",
		},
		"fips of another country": {
			"state",
			[]string{gridded("", `"name":"Andalucía","iso_a2":"ES","fips":51`, -5, 37)},
			[]string{"51"},
			"Andalucía country=ES",
			"fips (1, such as 51)",
		},
		"counties of another": {
			"county",
			[]string{gridded("", `"name":"Kiel","iso_a2":"DE","fips":"10001"`, 10, 54)},
			[]string{"10001"},
			"Kiel country=DE",
			"fips (1",
		},
		"a territory": {
			"state",
			[]string{gridded("", `"name":"Guam","iso_a2":"GU","fips":66`, 144.7, 13.4)},
			[]string{"us-gu"},
			"fips=66",
			"",
		},
		"states by place": {"state", []string{gridded(`"06"`, `"name":"Kalifornien"`, -120, 37)}, []string{"us-ca"}, "country=US", ""},
		"towns of Spain": {
			"county",
			[]string{gridded(`"01001"`, `"name":"Alegría-Dulantzi"`, -2.5, 42.8), gridded(`"28079"`, `"name":"Madrid"`, -3.7, 40.4)},
			[]string{"01001", "28079"},
			"Alegría-Dulantzi",
			"features' own ids",
		},
		"counties by place": {
			"county",
			[]string{gridded(`"04015"`, `"name":"Mohave"`, -114, 35)},
			[]string{"04015"},
			"state=Arizona iso_3166_2=US-AZ country=US",
			"FIPS codes",
		},
		"counties, five lost": {"county", []string{gridded(`4015`, `"name":"Mohave"`, -114, 35)}, []string{"04015"}, "fips=04015", ""},
		"counties by country": {
			"county",
			[]string{gridded(`"01001"`, `"name":"Autauga","country":"US"`, lon, lat)},
			[]string{"01001"},
			"fips=01001 state=Alabama",
			"",
		},
		"counties of no name": {
			"county",
			[]string{gridded(`"01001"`, `"name":"Autauga","country":"United States"`, lon, lat)},
			[]string{"01001"},
			"fips=01001 state=Alabama",
			"",
		},
		"counties by state": {
			"county",
			[]string{gridded(`"13001"`, `"name":"Appling","state":"Georgia"`, lon, lat)},
			[]string{"13001"},
			"fips=13001 state=Georgia",
			"",
		},
		"Colombia, no Colorado": {
			"county",
			[]string{gridded(`"08001"`, `"name":"Barranquilla","country_code":"CO"`, -74.8, 11)},
			[]string{"08001"},
			"Barranquilla",
			"features' own ids (1",
		},
		"Germany, no Delaware": {
			"county",
			[]string{gridded(`"10041"`, `"name":"Saarbrücken","country_code":"DE"`, 7, 49)},
			[]string{"10041"},
			"Saarbrücken",
			"features' own ids (1",
		},
		"the country Georgia": {
			"county",
			[]string{gridded(`"13001"`, `"name":"Batumi","country":"Georgia"`, 41.6, 41.6)},
			[]string{"13001"},
			"Batumi",
			"features' own ids (1",
		},
		"fips of a country code": {
			"county",
			[]string{gridded("", `"name":"Kiel","country_code":"de","fips":"10001"`, 10, 54)},
			[]string{"10001"},
			"Kiel",
			"fips (1",
		},
		"municipios": {
			"county",
			[]string{gridded(`"08019"`, `"name":"Chihuahua"`, -106, 28.6)},
			[]string{"08019"},
			"Chihuahua",
			"features' own ids",
		},
		"rows of countries": {"country",
			[]string{gridded(`"0"`, `"name":"Fiji","iso_a3":"FJI"`, 7, lat), gridded(`"1"`, `"name":"Tanzania","iso_a3":"TZA"`, 8, lat),
				gridded(`"2"`, `"name":"W. Sahara","iso_a3":"ESH"`, 9, lat),
				gridded(`"3"`, `"name":"Canada","iso_a3":"CAN"`, 10, lat), gridded(`"4"`, `"name":"United States of America","iso_a3":"USA"`, 11, lat)},
			[]string{"fj", "tz", "eh", "ca", "us"}, "iso_a2=FJ iso_a3=FJI", "such as fj, tz, eh"},
		"rows without codes": {
			"country",
			[]string{gridded(`"4"`, `"name":"Spain"`, 7, lat), gridded(`"8"`, `"name":"Italy"`, 8, lat)},
			[]string{"spain", "italy"},
			"Spain",
			"names (2",
		},
		"a column before the id": {
			"country",
			[]string{gridded(`"004"`, `"name":"Afghanistan","iso_a3":"USA"`, 7, lat)},
			[]string{"us"},
			"iso_a2=US iso_a3=USA",
			"",
		},
		"numbers that agree": {
			"country",
			[]string{
				gridded(`"180"`, `"name":"Dem. Rep. Congo"`, 7, lat),
				gridded(`"4"`, `"name":"Afghanistan"`, 8, lat),
				gridded("", `"name":"Kosovo"`, 9, lat),
			},
			[]string{"cd", "af", "kosovo"},
			"iso_n3=180",
			"names (1, such as kosovo)",
		},
		"numbers without names": {
			"country",
			[]string{gridded(`4`, ``, 7, lat), gridded(`8`, ``, 8, lat), gridded(`276`, ``, 9, lat)},
			[]string{"country-u0jjbr", "country-u0jtzp", "country-u0nmvz"},
			"",
			"the type and the place",
		},
		"many without names": {
			"country",
			many,
			[]string{"af", "al", "aq", "dz", "as", "ad", "ao", "ag", "az", "ar", "au", "at", "bs", "bh", "bd", "am", "bb", "be", "bm", "bt"},
			"iso_a2=AF",
			"",
		},
		"continent of a row": {
			"continent",
			[]string{gridded(`0`, `"name":"Fiji","continent":"Oceania"`, 7, lat), gridded(`4`, `"name":"France","iso_a3":"FRA"`, 8, lat)},
			[]string{"oceania", "europe"},
			"Oceania",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := testfile.WriteTemp(t, "in.geojson", strings.Join(tc.features, "\n"))
			regions, order, notes := readAlone(t, layerInput(tc.typ, path, ""))
			if d := cmp.Diff(tc.want, order); d != "" {
				t.Error(d)
			}
			if record := regions[tc.want[0]]; !strings.Contains(record, tc.record) ||
				tc.record != "" && tc.record[0] >= 'A' && tc.record[0] <= 'Z' && !strings.HasPrefix(record, tc.record) {
				t.Errorf("%q", record)
			}
			if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, tc.note) }) {
				t.Errorf("%q", notes)
			}
		})
	}
}

// TestCodesAreFound tests sources of ids without a column of the user.
func TestCodesAreFound(t *testing.T) {
	row := func(i int, id, properties string) string { return gridded(id, properties, float64(i), 10) }
	for name, tc := range map[string]struct {
		features []string
		property string
		want     []string
		note     string
	}{
		"rows from 0": {
			[]string{row(0, `"0"`, `"GEOID":"01001","NAME":"A"`), row(1, `"1"`, `"GEOID":"01003","NAME":"B"`)},
			"",
			[]string{"01001", "01003"},
			"number the rows (0, 1)",
		},
		"in another order": {
			[]string{row(0, `1`, `"GEOID":"01001","NAME":"A"`), row(1, `0`, `"GEOID":"01003","NAME":"B"`)},
			"",
			[]string{"01001", "01003"},
			"number the rows (1, 0)",
		},
		"rows, names alone": {
			[]string{row(0, `0`, `"name":"A"`), row(1, `1`, `"name":"B"`)},
			"",
			[]string{"a", "b"},
			"names (2, such as a, b)",
		},
		"rows that are meant": {[]string{row(0, `0`, `"name":"A"`), row(1, `1`, `"name":"B"`)}, "id", []string{"0", "1"}, ""},
		"numbers of a person": {
			[]string{row(0, `1`, `"name":"A"`), row(1, `2`, `"name":"B"`)},
			"",
			[]string{"1", "2"},
			"features' own ids (2, such as 1, 2)",
		},
		"of a database": {
			[]string{row(0, `1`, `"OBJECTID":1,"name":"A"`), row(1, `2`, `"OBJECTID":2,"name":"B"`)},
			"",
			[]string{"a", "b"},
			"number the rows (1, 2)",
		},
		"the only ones": {[]string{row(0, `1`, `"OBJECTID":1`), row(1, `2`, `"OBJECTID":2`)}, "", []string{"1", "2"}, "features' own ids"},
		"beside codes": {
			[]string{row(0, `17`, `"fid":17,"LAD23CD":"E06"`), row(1, `29`, `"fid":29,"LAD23CD":"E07"`)},
			"",
			[]string{"E06", "E07"},
			`area: id from "LAD23CD" (its values are codes, each once)`,
		},
		"own ids first": {
			[]string{row(0, `"x7"`, `"code":"A1"`), row(1, `"x9"`, `"code":"A2"`)},
			"",
			[]string{"x7", "x9"},
			"features' own ids",
		},
		"the deepest level": {
			[]string{row(0, "", `"GID_0":"KEN","GID_1":"KEN.1_1","GID_2":"KEN.1.1_1"`)},
			"",
			[]string{"KEN.1.1_1"},
			`area: id from "GID_2" (its values are codes, each once)`,
		},
		"one duplicate": {func() (all []string) {
			for i := range 12 {
				all = append(all, row(i, "", fmt.Sprintf(`"WARD_CODE":"W%d","name":"N%d"`, max(i, 1), i)))
			}
			return all
		}(), "", []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"},
			`"WARD_CODE" is no id: 1 of 12 regions lack one or repeat one, the first is number 2`},
		"eleven columns": {
			[]string{
				row(0, "", `"code":"","c1_cd":"x","c2_cd":"x","c3_cd":"x","c4_cd":"x","c5_cd":"x","c6_cd":"x","c7_cd":"x","c8_cd":"x","GEOID":"g7","w_uid":"u1"`),
				row(1, "", `"code":"","GEOID":"g9","w_uid":"u2"`),
			},
			"",
			[]string{"g7", "g9"},
			`area: id from "GEOID" (its values are codes, each once)`,
		},
		"serial ids": {[]string{row(0, "", `"id":1,"name":"A"`), row(1, "", `"id":2,"name":"B"`)}, "", []string{"a", "b"}, "names"},
		"ids in a property": {
			[]string{row(0, "", `"id":"k9","name":"A"`), row(1, "", `"id":"k3","name":"B"`)},
			"",
			[]string{"k9", "k3"},
			`area: id from "id" (its values are codes, each once)`,
		},
		"no codes": {
			[]string{row(0, "", `"postcode":"two words","name":"A"`), row(1, "", `"postcode":1.5,"name":"B"`)},
			"",
			[]string{"a", "b"},
			"names",
		},
		"named": {[]string{row(0, `"0"`, `"x":"A1"`), row(1, `"1"`, `"x":"A2"`)}, "x", []string{"A1", "A2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := testfile.WriteTemp(t, "in.geojson", strings.Join(tc.features, "\n"))
			_, order, notes := readAlone(t, layerInput("area", path, tc.property))
			if d := cmp.Diff(tc.want, order); d != "" {
				t.Error(d)
			}
			if tc.note == "" && slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "ids are") }) ||
				!slices.ContainsFunc(append(notes, ""), func(n string) bool { return strings.Contains(n, tc.note) }) {
				t.Errorf("%q", notes)
			}
		})
	}
}

// TestColumnsOfTheUser tests the columns behind a file and of flags, and the names in other languages.
func TestColumnsOfTheUser(t *testing.T) {
	row := func(i int, properties string) string { return gridded("", properties, float64(i), 10) }
	path := testfile.WriteTemp(t, "in.geojson", strings.Join([]string{
		row(0, `"ADM2_EN":"Alpha","ADM2_FR":"Un","ADM1_EN":"P","S":"01","C":"003","ref:no":"x1"`),
		row(1, `"ADM2_EN":"Beta","ADM2_FR":"Deux","ADM1_EN":"P","S":"01","C":"007","ref:no":"x2"`),
	}, "\n"))
	for _, tc := range []struct {
		told columns.Told
		id   string
		want string // a part of the first record
		note string
	}{
		{columns.Told{}, "x1", "Alpha name:fr=Un ADM1_EN=P ADM2_EN=Alpha ADM2_FR=Un",
			`zone: name from "ADM2_EN" (by its name), names in fr from "ADM2_FR", id from "ref:no" (its values are codes, each once)`},
		{columns.Told{Both: "s+c"}, "01003", "Alpha", `zone: name from "ADM2_EN" (by its name), names in fr from "ADM2_FR", id from "S+C" (as told)`},
		{columns.Told{Both: "ref:no:adm1_en+S"}, "x1", "P 01 ", ""},
		{columns.Told{ID: "ref:no", Name: `"ADM2_FR"`}, "x1", "Un ", ""},
		{columns.Told{Both: "C", ID: "none", Name: "ADM2_FR"}, "003", "Un ", ""},
	} {
		in := layerInput("zone", path, "")
		in.Told = tc.told
		regions, _, notes := readAlone(t, in)
		if !strings.HasPrefix(regions[tc.id], tc.want) || !slices.Contains(append(notes, ""), tc.note) || tc.note == "" && len(notes) > 0 {
			t.Errorf("%+v: %q %q", tc.told, regions, notes)
		}
	}
	for both, want := range map[string]string{"none": `there is no column "none" for the id; there are "ADM1_EN", `,
		"C:none": `there is no column "none" for the name; there are`, "C:S:S": "has 3 parts"} {
		in := layerInput("zone", path, "")
		in.Told = columns.Told{Both: both}
		if _, _, err := readLayers(t.Context(), []Input{in}, job.NewTally(0), job.Options{Reporter: &jobtest.Recorder{}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", both, err)
		}
	}
}

// TestColumnsOfLaterRegions tests that what the first regions show counts for all.
func TestColumnsOfLaterRegions(t *testing.T) {
	var rows []string
	for i := range columns.Sample + 20 {
		properties := fmt.Sprintf(`"DEN":"Nome %c%c%c","COD":"%05d"`, 'a'+i/676, 'a'+i/26%26, 'a'+i%26, i)
		if i > columns.Sample+10 {
			properties += `,"late":"L"`
		}
		rows = append(rows, gridded("", properties, float64(i%300)/2, float64(i/300)))
	}
	in := layerInput("zone", testfile.WriteTemp(t, "in.geojson", strings.Join(rows, "\n")), "")
	regions, _, _ := readAlone(t, in)
	last := fmt.Sprintf("%05d", columns.Sample+15)
	if len(regions) != len(rows) || !strings.HasPrefix(regions[last], "Nome gcd") {
		t.Errorf("%d, %q", len(regions), regions[last])
	}
	in.Told = columns.Told{Name: "late"}
	if regions, _, _ = readAlone(t, in); !strings.HasPrefix(regions[last], "L ") {
		t.Errorf("%q", regions[last])
	}
}

// TestAtlases tests that the regions of the demo's packages keep the ids that they have.
func TestAtlases(t *testing.T) {
	for _, tc := range []struct {
		typ, file string
		features  int
		want      map[string]string // a part of the record, by id
	}{
		{
			"country",
			"world-atlas/countries-110m.json",
			177,
			map[string]string{"us": "United States of America iso_a2=US iso_a3=USA iso_n3=840", "fj": "Fiji", "eh": "W. Sahara", "kosovo": "Kosovo"},
		},
		{
			"state",
			"us-atlas/states-10m.json",
			56,
			map[string]string{"us-ga": "Georgia iso_3166_2=US-GA country=US fips=13", "us-gu": "Guam", "us-ak": "Alaska"},
		},
		{
			"county",
			"us-atlas/counties-10m.json",
			3231,
			map[string]string{
				"04015": "Mohave fips=04015 state=Arizona",
				"02016": "Aleutians West fips=02016 state=Alaska",
				"15003": "Honolulu fips=15003 state=Hawaii",
			},
		},
	} {
		path := filepath.Join("../../../../../sample/node_modules", tc.file)
		if _, err := os.Stat(path); err != nil {
			t.Skip("the sample packages are not installed: ", err)
		}
		regions, order, notes := readAlone(t, layerInput(tc.typ, path, ""))
		if len(order) != tc.features {
			t.Errorf("%s: %d, %q", tc.typ, len(order), notes)
		}
		for id, want := range tc.want {
			if !strings.HasPrefix(regions[id], want) {
				t.Errorf("%s %s: %q", tc.typ, id, regions[id])
			}
		}
		if tc.typ == "county" {
			for id, record := range regions {
				if !strings.Contains(record, "country=US") {
					t.Errorf("%s: %s", id, record)
				}
			}
		}
	}
}

// TestIDsOfCases tests files from users.
func TestIDsOfCases(t *testing.T) {
	const cases = "../../../../../../shared/cases/boundaries-2/"
	if _, err := os.Stat(cases); err != nil {
		t.Skip("the cases are not there: ", err)
	}
	for _, tc := range []struct {
		typ, file string
		want      []string
		record    string
	}{
		{"state", "state_codes_of_spain", []string{"01", "04", "06", "13"}, "Andalucía"},
		{"country", "country_row_numbers", []string{"fj", "tz", "eh", "ca", "us", "kz", "uz", "pg", "id"}, "Fiji iso_a2=FJ iso_a3=FJI"},
		{"country", "country_three_letters_iso_a3", []string{"de", "at", "pl"}, "Germany iso_a2=DE iso_a3=DEU"},
		{
			"county",
			"county_results",
			[]string{"01001", "01003", "01005"},
			"Autauga fips=01001 state=Alabama iso_3166_2=US-AL country=US votes_a=1 votes_b=2 winner=A",
		},
		{"lake", "lake_depths", []string{"a", "b", "c"}, "A depth_m=30 owner=town"},
		{"area", "rows_before", []string{"01001", "01003", "01005", "01007"}, "Autauga GEOID=01001"},
		{"area", "rows_after_sorting", []string{"01007", "01005", "01003", "01001"}, "Bibb GEOID=01007"},
	} {
		regions, order, notes := readAlone(t, layerInput(tc.typ, cases+tc.file+".geojson", ""))
		if !slices.Equal(order, tc.want) || regions[tc.want[0]] != tc.record {
			t.Errorf("%s: %q %q %q", tc.file, order, regions[tc.want[0]], notes)
		}
	}
}

// A file cut into pages or layers keeps all its properties, whatever their names.
func TestPropertiesBesideKnownOnes(t *testing.T) {
	f := source.Feature{Properties: map[string]any{
		"name":        "Kansas",
		"iso_3166_2":  "US-KS",
		"country":     "Union",
		"kind":        "plain",
		"type_en":     "State",
		"source_kind": "x",
		"fips":        "20",
		"ALAND":       int64(7),
		"postal":      "KS",
		"id":          "q",
		"statefp":     int64(20), "iso_a2": "USA", "geoid": "0400000US20", "region": "-99", "abbrev": "Kan.",
	}}
	var got []string
	for _, p := range presetFor("state").of(newColumns(&f)).properties {
		got = append(got, fmt.Sprintf("%s=%v", p.Name, p.Value))
	}
	want := []string{"iso_3166_2=US-KS", "country=US", "fips=20", "postal=KS", "kind=State", "abbrev=Kan.", "ALAND=7", "source_country=Union",
		"geoid=0400000US20", "source_id=q", "source_iso_a2=USA", "source_kind=plain", "source_source_kind=x"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
