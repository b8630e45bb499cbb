package columns

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// chooserOf learns a table whose rows are separated by semicolons, and its columns by bars. The first row has the names.
func chooserOf(word, table string) (*Chooser, [][]string) {
	var rows [][]string
	for row := range strings.SplitSeq(table, ";") {
		rows = append(rows, strings.Split(row, "|"))
	}
	c := NewChooser(word)
	for _, row := range rows[1:] {
		if !c.Begin() {
			break
		}
		for i, value := range row {
			c.Learn(rows[0][i], value, true)
		}
	}
	return c, rows
}

// TestRegions tests how the columns of layers of regions are understood, with a few rows as offices write them.
func TestRegions(t *testing.T) {
	for _, tc := range []struct {
		word, table string
		want        string
		languages   string
	}{
		{"ward", "FID|LAD23CD|LAD23NM|LAD23NMW;1|E06000001|Alpha| ;2|W06000004|Beta|Sir Ddinbych", "LAD23NM, LAD23CD", ""},
		{"area", "ADM2_EN|ADM2_FR|ADM2_AR|ADM2_PCODE|ADM1_EN|ADM1_PCODE;A|Un|أ|BD1001|P|BD10;B|Deux|ب|BD1002|P|BD10", "ADM2_EN, ADM2_PCODE",
			"map[ADM2_AR:ar ADM2_FR:fr]"},
		{"area", "shapeName|shapeISO|shapeID|shapeGroup|shapeType;A||4B1|KEN|ADM2;B||4B2|KEN|ADM2", "shapeName, shapeID", ""},
		{"area", "SA2_CODE21|SA2_NAME21|SA3_CODE21|SA3_NAME21|LOCI_URI21;101|A|10|P|http://x/1;102|B|10|P|http://x/2", "SA2_NAME21, SA2_CODE21", ""},
		{"area", "CD_MUN|NM_MUN|CD_UF|NM_UF|SIGLA_UF;11|A|1|P|RO;12|B|1|P|RO", "NM_MUN, CD_MUN", ""},
		{"area", "COD_REG|PRO_COM_T|COMUNE;1|001001|Alpha;1|001002|Beta", "COMUNE, PRO_COM_T", ""},
		{"area", "PRO_COM|PRO_COM_T|COMUNE|COD_UTS;1001|001001|Alpha|201;1002|001002|Beta|201", "COMUNE, PRO_COM_T", ""},
		{"area", "CDUID|DGUID|CDNAME|PRUID;1001|2021A1001|Alpha|10;1002|2021A1002|Beta|10", "CDNAME, CDUID", ""},
		{"area", "COD_UTS|DEN_PROV|DEN_CM|SIGLA;001|Alpha|-|T1;002|Beta|-|T2", "DEN_PROV, COD_UTS", ""},
		{"area", "N03_001|N03_003|N03_004|N03_007;北海道||札幌市中央区|01101;北海道||札幌市北区|01102", "N03_004, N03_007", ""},
		{"area", "ZCTA5CE20|GEOID20|CLASSFP20|MTFCC20;06731|06731|B5|G6350;06732|06732|B5|G6350", "ZCTA5CE20, GEOID20", ""},
		{"area", "id|statcode|jrstatcode|statnaam|rubriek;1|GM11|24GM11|Alpha|gemeente;2|GM12|24GM12|Beta|gemeente", "statnaam, statcode", ""},
		{"area", "LnKod|LnNamn;01|Alpha;02|Beta", "LnNamn, LnKod", ""},
		{"area", "INSPIREID|NATLEVNAME|NATCODE|NAMEUNIT;ES1|Municipio|341|Alpha;ES2|Municipio|342|Beta", "NAMEUNIT, NATCODE", ""},
		{"area", "DISTRICT|ST_NM|DT_CEN_CD|censuscode;Alpha|Kerala|1|601;Beta|Kerala|2|602", "DISTRICT, censuscode", ""},
		{"kraal", "Kraal|a_name;Alpha|P;Beta|P;Gamma|P", "Kraal, ", ""},
		{"area", "STATEFP20|GEOID20|NAMELSAD20|LSAD20;06|06001|District 1|LR;06|06002|District 2|LR", "NAMELSAD20, GEOID20", ""},
		{"area", "ID|NOM|NOM_M|INSEE_COM|INSEE_DEP;COMMUNE_1|Alpha|ALPHA|01001|01;COMMUNE_2|Beta|BETA|01002|01", "NOM, INSEE_COM", ""},
		{"area", "UUID|OBJEKTART|BFS_NUMMER|DATUM;{7C-1}|Gebiet|4301|2024-01-01;{7C-2}|Gebiet|4302|2024-01-01", ", BFS_NUMMER", ""},
		{"area", "BoroCode|BoroName;4|Queens;1|Bronx", "BoroName, BoroCode", ""},
		{"area", "name:eng_x_preferred|wof:id|wof:name|wof:placetype;|9|Zürich|locality;|7|Bern|locality", "wof:name, wof:id", ""},
		{"area", "surname|file_name|owner name|AREA;A|a.shp|Me|1.5;B|b.shp|You|2.5", ", ", ""},
		{"area", "number_text|mail|site;12|a@b.c|https://a;13|c@d.e|https://b", ", ", ""},
		{"area", "NAME20;101.01;101.02", "NAME20, ", ""},
		{"area", "note;Alpha;Beta", "note, ", ""},
		{"area", "label|title;a1|Alpha;b2|Beta", "label, ", ""},
	} {
		c, rows := chooserOf(tc.word, tc.table)
		var choice Choice
		c.NameOfRegions(&choice, true)
		codes := NewCodes(c, true)
		for _, row := range rows[1:] {
			codes.Add(func(column string) string { return row[slices.Index(rows[0], column)] })
		}
		if best, _ := codes.Best(); best != nil {
			choice.ID, choice.IDBy = Names{best.Column}, ByCodes
		}
		if got := choice.Name.String() + ", " + choice.ID.String(); got != tc.want {
			t.Errorf("%s: %s", tc.table, got)
		}
		if got := fmt.Sprint(choice.Languages); got != tc.languages && (tc.languages != "" || len(choice.Languages) > 0) {
			t.Errorf("%s: %s", tc.table, got)
		}
	}
}

func TestPoints(t *testing.T) {
	for table, want := range map[string]string{
		"ID|Name;1|Alpha;2|Alpha": "Name", "Title;Mr;Mr;Mr": "", "Title|x;Alpha|1;Beta|2": "Title", "Bezeichnung;Halle": "Bezeichnung",
		"name|Title;|Alpha": "", "Name;1;2": "", "Store Name;Alpha": "", "brand;Alpha": "", "stop_name;Alpha;Alpha;Alpha": "stop_name",
	} {
		c, _ := chooserOf("", table)
		var choice Choice
		c.NameOfPoints(&choice)
		if got := choice.Name.String(); got != want {
			t.Errorf("%s: %q", table, got)
		}
	}
}

func TestSentence(t *testing.T) {
	c := Choice{Name: Names{"LAD23NM"}, NameBy: ByName, ID: Names{"a", "b"}, IDBy: asTold, Languages: map[string]string{"y": "fr", "x": "cy"}}
	const want = `name from "LAD23NM" (by its name), names in cy from "x", fr from "y", id from "a+b" (as told)`
	if got := c.Sentence(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if d := cmp.Diff([]string{"c", "name"}, c.Properties([]string{"LAD23NM", "name", "c"})); d != "" {
		t.Error(d)
	}
}

func TestTold(t *testing.T) {
	there := []string{"ref:INSEE", "wof:id", "wof:name", "STATEFP", "COUNTYFP", "a+b", "name", `q"`, "b"}
	for _, tc := range []struct {
		told Told
		want string
	}{
		{Told{Both: "ref:INSEE"}, `["ref:INSEE"] []`},
		{Told{Both: "REF:insee:name"}, `["ref:INSEE"] ["name"]`},
		{Told{Both: "wof:id:wof:name"}, `["wof:id"] ["wof:name"]`},
		{Told{Both: "STATEFP+COUNTYFP:name+b"}, `["STATEFP" "COUNTYFP"] ["name" "b"]`},
		{Told{Both: "a+b"}, `["a+b"] []`},
		{Told{Both: `"wof:id":"wof:name"`}, `["wof:id"] ["wof:name"]`},
		{Told{Both: `"q"""+b`}, `["q\"" "b"] []`},
		{Told{Both: `"name"x:b`}, `["\"name\"x"] ["b"]`},
		{Told{Both: ":name"}, `[] ["name"]`},
		{Told{Both: "b:"}, `["b"] []`},
		{Told{Both: "b", Name: "name", ID: "wof:id"}, `["b"] ["name"]`},
		{Told{ID: "none:here+STATEFP"}, `["none:here" "STATEFP"] []`},
		{Told{Both: "none"}, `["none"] []`},
		{Told{Both: "x:y:z"}, "x:y:z"},
		{Told{Both: "::"}, "::"},
		{Told{}, "[] []"},
	} {
		id, name, err := tc.told.Find(there)
		if got := fmt.Sprintf("%q %q", []string(id), []string(name)); err == nil && got != tc.want || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %s, %v", tc.told, got, err)
		}
	}
	if err := Missing("f", []string{"A", "b"}, Names{"A"}, Names{"c"}); err == nil ||
		err.Error() != `f: there is no column "c" for the name; there are "A", "b"` {
		t.Error(err)
	}
}

// TestQuoted tests that any columns are found again behind a file, whatever their names.
func TestQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[aA:+" ]{1,6}`)
		there := rapid.SliceOfNDistinct(name, 2, 5, strings.ToLower).Draw(t, "there")
		id, of, err := (&Told{Both: Quoted(there[0]) + "+" + Quoted(there[1]) + ":" + Quoted(there[1])}).Find(there)
		quoted := func(s string) bool { return strings.ContainsAny(s, `:+"`) }
		if quoted(there[0]) && quoted(there[1]) && (err != nil || !slices.Equal(id, there[:2]) || !slices.Equal(of, there[1:2])) {
			t.Fatal(id, of, err)
		}
		text := rapid.StringMatching(`[aA:+" ]{0,20}`).Draw(t, "text")
		_, _, _ = (&Told{Both: text, ID: text, Name: text}).Find(there)
	})
}

// TestChooserIsBounded tests that what a Chooser keeps is bounded whatever the records have, and that it chooses a column
// that there is, the same for any order of columns.
func TestChooserIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		column := rapid.OneOf(rapid.SampledFrom([]string{"name", "NAME_1", "LAD23NM", "code", "id", "N03_004", "zip", "", "_", "ADM2_EN"}), rapid.String())
		value := rapid.OneOf(rapid.SampledFrom([]string{"", " ", "Alpha", "Beta", "E06", "007", "\xff", "12.5"}), rapid.String())
		names := rapid.SliceOfNDistinct(column, 1, 8, rapid.ID).Draw(t, "names")
		rows := rapid.SliceOfN(rapid.SliceOfN(value, len(names), len(names)), 0, 6).Draw(t, "rows")
		choose := func(order []int) Choice {
			c := NewChooser("zone")
			for _, row := range rows {
				if c.Begin() {
					for _, i := range order {
						c.Learn(names[i], row[i], true)
					}
				}
			}
			var choice Choice
			c.NameOfRegions(&choice, true)
			return choice
		}
		order := make([]int, len(names))
		for i := range order {
			order[i] = i
		}
		one, other := choose(order), choose(rapid.Permutation(order).Draw(t, "order"))
		if d := cmp.Diff(one, other); d != "" {
			t.Fatal(d)
		}
		for _, name := range one.Name {
			if !slices.Contains(names, name) {
				t.Fatal(one)
			}
		}
	})
	c := NewChooser("")
	for i := range Sample + 10 {
		if !c.Begin() {
			continue
		}
		for k := range maxColumns / 8 {
			c.Learn(fmt.Sprint("c", k, "_", i), fmt.Sprint(i), true)
		}
	}
	values := 0
	for _, of := range c.columns {
		values += of.once.N
	}
	if len(c.columns) != maxColumns || len(c.index) != maxColumns || values > maxColumns*Sample || c.learned() != Sample {
		t.Error(len(c.columns), values)
	}
}

// TestRowNumbers tests that RowNumbers recognises the numbers of rows in any order.
func TestRowNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.IntRange(0, 2).Draw(t, "first")
		n := rapid.IntRange(1, 20).Draw(t, "n")
		texts := make([]string, n)
		for i := range texts {
			texts[i] = fmt.Sprint(first + i)
		}
		texts = rapid.Permutation(texts).Draw(t, "texts")
		if got, ok := RowNumbers(texts); ok != (first < 2) || ok && got != first {
			t.Fatal(texts, got, ok)
		}
		texts[0] = rapid.SampledFrom([]string{"", "x", "-1", "01", "999", texts[n-1] + "0"}).Draw(t, "other")
		if got, ok := RowNumbers(texts); ok && texts[0] != "10" {
			t.Fatal(texts, got, ok)
		}
	})
}
