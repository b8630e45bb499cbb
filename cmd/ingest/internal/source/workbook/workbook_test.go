package workbook_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/workbook"
	"quadrille/cmd/internal/testfile"
)

// sheet is a sheet with its name and the XML of its rows.
type sheet struct{ name, rows string }

// xlsx returns a workbook. more are other members.
func xlsx(sheets []sheet, more ...[2]string) string {
	members := more
	var list, relations strings.Builder
	for i, s := range sheets {
		fmt.Fprintf(&list, `<sheet name=%q sheetId="9" r:id="rId%d"/>`, s.name, i)
		fmt.Fprintf(&relations, `<Relationship Id="rId%d" Target="worksheets/s%d.xml"/>`, i, i)
		members = append(members, [2]string{fmt.Sprintf("xl/worksheets/s%d.xml", i), `<worksheet><dimension ref="A1:ZZ9"/><sheetData>` + s.rows +
			`</sheetData><mergeCells><mergeCell ref="A1:B1"/></mergeCells></worksheet>`})
	}
	if !slices.ContainsFunc(more, func(m [2]string) bool { return m[0] == "xl/workbook.xml" }) {
		members = append(members, [2]string{"xl/workbook.xml", `<workbook><sheets>` + list.String() + `</sheets></workbook>`})
	}
	return testfile.Zip(append(members, [2]string{"xl/_rels/workbook.xml.rels", "<Relationships>" + relations.String() + "</Relationships>"})...)
}

// ods returns a spreadsheet.
func ods(sheets ...sheet) string {
	var tables strings.Builder
	for _, s := range sheets {
		fmt.Fprintf(&tables, `<table:table table:name=%q><table:table-column/>%s</table:table>`, s.name, s.rows)
	}
	return testfile.Zip([2]string{"mimetype", "application/vnd.oasis.opendocument.spreadsheet"}, [2]string{"META-INF/manifest.xml", "<x/>"},
		[2]string{"content.xml", `<?xml version="1.0"?><office:document-content><office:body><office:spreadsheet>` + tables.String() +
			`</office:spreadsheet></office:body></office:document-content>`})
}

// texts returns a row of XLSX of texts.
func texts(cells ...string) string {
	var row strings.Builder
	for _, c := range cells {
		var escaped bytes.Buffer
		_ = xml.EscapeText(&escaped, []byte(c)) // to memory
		fmt.Fprintf(&row, `<c t="inlineStr"><is><t>%s</t></is></c>`, &escaped)
	}
	return "<row>" + row.String() + "</row>"
}

// odsTexts returns a row of ODS of texts.
func odsTexts(cells ...string) string {
	var row strings.Builder
	for _, c := range cells {
		var escaped bytes.Buffer
		_ = xml.EscapeText(&escaped, []byte(c)) // to memory
		fmt.Fprintf(&row, `<table:table-cell office:value-type="string"><text:p>%s</text:p></table:table-cell>`, &escaped)
	}
	return "<table:table-row>" + row.String() + "</table:table-row>"
}

// read returns the rows of a sheet as text, such as `2 id="a" lat=1`, and the notes.
func read(path, sheet string) (rows, notes []string, err error) {
	f, err := workbook.Open(path, sheet)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	for feature, err := range f.Features() {
		if err != nil {
			return rows, f.Notes(), err
		}
		row := strconv.Itoa(feature.Line)
		for _, m := range feature.Members {
			row += fmt.Sprintf(" %s=%s", m.Name, m.Value)
			if !json.Valid(m.Value) {
				return rows, nil, fmt.Errorf("%s: no JSON", m.Value)
			}
		}
		if feature.Geometry != nil || feature.ID != "" {
			return rows, nil, errors.New("a row has a geometry or an id")
		}
		rows = append(rows, row)
	}
	if f.Progress() != f.Size() && f.Size() > 0 {
		return rows, nil, fmt.Errorf("%d of %d bytes were read", f.Progress(), f.Size())
	}
	return rows, f.Notes(), nil
}

func TestRows(t *testing.T) {
	styles := [2]string{"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy-mm-dd hh:mm"/><numFmt numFmtId="165" formatCode="00000"/></numFmts>` +
		`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="21"/><xf numFmtId="165"/></cellXfs></styleSheet>`}
	shared := [2]string{"xl/sharedStrings.xml", `<sst><si> <t>id</t> </si><si><r><t>na</t></r><r><t>me</t></r><rPh><t>nope</t></rPh></si><si><t xml:space="preserve"> A&amp;B </t></si><si/></sst>`}
	head := texts("id", "name")
	for name, tc := range map[string]struct {
		file  string
		sheet string
		want  []string
		notes []string
	}{
		"types of XLSX": {
			file: xlsx([]sheet{{"a", texts("text", "number", "yes", "day", "moment", "hour", "formula", "bad", "iso") +
				`<row r="5"><c r="A5" t="str"><v>x_x000D_</v></c><c r="B5"><v>0.10000000000000001</v></c><c r="C5" t="b"><v>1</v></c>` +
				`<c r="D5" s="1"><v>46356</v></c><c r="E5" s="2"><v>46356.5</v></c><c r="F5" s="3"><v>0.5</v></c>` +
				`<c r="G5"><f>1+1</f><v>2</v></c><c r="H5" t="e"><v>#N/A</v></c><c r="I5" t="d"><v>2026-11-30</v></c><c r="K5" s="1"/></row>` +
				`<row/><row><c r="B7"><v>-1E-3</v></c><c r="L7"><v>3</v></c></row>`}}, styles),
			want: []string{`5 text="x" number=0.1 yes=true day="2026-11-30" moment="2026-11-30T12:00:00" hour="12:00:00" formula=2 iso="2026-11-30"`,
				"7 number=-0.001"},
			notes: []string{"1 cells are errors such as #N/A and are left out, the first is H5",
				"1 values are in columns without a name in row 1 and are left out, the first is L7", "1 cells are merged of several"},
		},
		"shared texts": {
			file: xlsx([]sheet{{"a", `<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row><row><c t="s"><v>2</v></c><c t="s"><v>3</v></c></row>`}}, shared),
			want: []string{`2 id="A\u0026B"`},
		},
		"codes with zeros": {
			file: xlsx([]sheet{{"a", head + `<row><c s="4"><v>1067</v></c><c s="4"><v>80331</v></c></row><row><c s="4"><v>1.5</v></c><c s="4"><v>-7</v></c></row>`}}, styles),
			want: []string{`2 id="01067" name="80331"`, "3 id=1.5 name=-7"},
		},
		"from 1904": {
			file: xlsx([]sheet{{"a", head + `<row><c s="1"><v>0</v></c><c s="1"><v>44894</v></c></row>`}}, styles,
				[2]string{"xl/workbook.xml", `<workbook><workbookPr date1904="1"/><sheets><sheet name="a" r:id="rId0"/></sheets></workbook>`}),
			want: []string{`2 id="1904-01-01" name="2026-11-30"`},
		},
		"no dates": {
			file:  xlsx([]sheet{{"a", head + `<row><c s="1"><v>60</v></c><c s="1"><v>-1</v></c></row><row><c s="1"><v>61</v></c></row>`}}, styles),
			want:  []string{`3 id="1900-03-01"`},
			notes: []string{"2 cells with a format of dates have a number that is no date and are left out, the first is A2"},
		},
		"titles": {
			file: xlsx([]sheet{{"a", texts("Branches of 2026") + `<row r="3"><c t="inlineStr"><is><t>as of</t></is></c><c><v>2026</v></c></row>` +
				texts(" id\nof it ", "name", "lat") + texts("1", "x", "48") + texts("", "", "") + texts("Source: us")}}),
			want:  []string{`5 id of it="1" name="x" lat="48"`, `7 id of it="Source: us"`},
			notes: []string{`the names of the columns are in row 4; what is above them is left out: "Branches of 2026", "as of"`},
		},
		"years as names": {
			file: xlsx([]sheet{{"a", texts("id", "name", "lat") + `<row><c><v>1</v></c></row>`}}),
			want: []string{"2 id=1"},
		},
		"one column": {xlsx([]sheet{{"a", texts("position") + texts("POINT(1 2)")}}), "", []string{`2 position="POINT(1 2)"`}, nil},
		"the sheet with a table": {
			file:  xlsx([]sheet{{"read me", texts("Hello")}, {"data", head + texts("1", "x")}, {"more", head}}),
			want:  []string{`2 id="1" name="x"`},
			notes: []string{`sheet "data" is read; FILE#SHEET names another: "more"`},
		},
		"a sheet by name": {
			file: xlsx([]sheet{{"a", head}, {"b", head + texts("1", "x")}}), sheet: "b",
			want: []string{`2 id="1" name="x"`},
		},
		"types of ODS": {
			file: ods(sheet{"a", odsTexts("text", "number", "yes", "day", "hour", "bad", "old", "same", "again") +
				`<table:table-row><table:table-cell office:value-type="string"><office:annotation><text:p>no</text:p></office:annotation>` +
				`<text:p>a<text:s/>b<text:span>c</text:span></text:p><text:p>d</text:p></table:table-cell>` +
				`<table:table-cell office:value-type="percentage" office:value="0.50"/><table:table-cell office:value-type="boolean" office:boolean-value="false"/>` +
				`<table:table-cell office:value-type="date" office:date-value="2026-11-30T12:00:00"/><table:table-cell office:value-type="time" office:time-value="PT26H03M04.50S"/>` +
				`<table:table-cell office:value-type="string" office:string-value="" calcext:value-type="error"><text:p>#N/A</text:p></table:table-cell>` +
				`<table:table-cell table:formula="x" office:value-type="float" office:value="0"><text:p>Err:502</text:p></table:table-cell>` +
				`<table:table-cell table:number-columns-repeated="2" office:value-type="float" office:value="7"/><table:table-cell table:number-columns-repeated="16000"/></table:table-row>` +
				`<table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>` +
				`<table:table-row-group><table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-spanned="2" office:value-type="float" office:value="1"/>` +
				`<table:covered-table-cell/><table:table-cell office:value-type="boolean" office:boolean-value="true"/></table:table-row></table:table-row-group>`}),
			want: []string{`2 text="a bc\u000ad" number=0.5 yes=false day="2026-11-30T12:00:00" hour="26:03:04.5" same=7 again=7`,
				"1000003 text=1 yes=true", "1000004 text=1 yes=true"},
			notes: []string{"2 cells are errors such as #N/A and are left out, the first is F2", "1 cells are merged of several"},
		},
		"the ODS sheet with a table": {
			file:  ods(sheet{"read me", odsTexts("Hello")}, sheet{"none", ""}, sheet{"data", odsTexts("id", "name") + odsTexts("1", "x")}, sheet{"more", odsTexts("a", "b")}),
			want:  []string{`2 id="1" name="x"`},
			notes: []string{`sheet "data" is read; FILE#SHEET names another: "more"`},
		},
		"an ODS sheet by name": {ods(sheet{"a", odsTexts("id")}, sheet{"b", odsTexts("id") + odsTexts("1")}), "b", []string{`2 id="1"`}, nil},
		"one column of ODS":    {ods(sheet{"a", odsTexts("id") + odsTexts("1")}, sheet{"b", odsTexts("id")}), "", []string{`2 id="1"`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := testfile.WriteTemp(t, "book", tc.file)
			rows, notes, err := read(path, tc.sheet)
			if err != nil || !slices.Equal(rows, tc.want) {
				t.Errorf("%q, %v\nwant %q", rows, err, tc.want)
			}
			all := strings.Join(notes, "\n")
			for _, note := range tc.notes {
				if !strings.Contains(all, note) {
					t.Errorf("notes %s, want %s", all, note)
				}
			}
			if len(notes) > len(tc.notes)+1 || strings.Count(all, path) != len(notes) {
				t.Errorf("notes %s, want %q", all, tc.notes)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	head := texts("id", "name")
	wide := func(n int) string {
		return `<table:table-cell table:number-columns-repeated="` + strconv.Itoa(n) + `" office:value-type="float" office:value="1"/>`
	}
	for name, tc := range map[string]struct{ file, sheet, want string }{
		"another sheet":    {xlsx([]sheet{{"a", head}}), "b", `has no sheet "b"; it has ["a"]`},
		"another of ODS":   {ods(sheet{"a", odsTexts("id")}), "b", `has no sheet "b"; it has ["a"]`},
		"no sheets":        {xlsx(nil), "", "has no sheets"},
		"no sheets in ODS": {ods(), "", "is an OpenDocument without sheets"},
		"another archive":  {testfile.Zip([2]string{"a", "b"}), "", "is no workbook"},
		"no rows":          {xlsx([]sheet{{"a", ""}}), "", `sheet "a" has no rows`},
		"no names":         {xlsx([]sheet{{"a", "<row><c><v>1</v></c><c><v>2</v></c></row>"}}), "", "has no row with the names of its columns"},
		"two of a name":    {xlsx([]sheet{{"a", texts("id", "id")}}), "", `two columns are called "id": rename one in row 1`},
		"a shared text":    {xlsx([]sheet{{"a", head + `<row><c t="s"><v>7</v></c></row>`}}), "", `row 2: A2 refers to the shared text "7"`},
		"no number":        {xlsx([]sheet{{"a", head + `<row><c><v>x</v></c></row>`}}), "", `row 2: A2 has "x" where a number should be`},
		"cells astray":     {xlsx([]sheet{{"a", head + `<row><c r="B2"/><c r="A2"/></row>`}}), "", `row 2: the cell called "A2" is no cell behind`},
		"no cell":          {xlsx([]sheet{{"a", head + `<row><c r="12"/></row>`}}), "", `the cell called "12"`},
		"columns":          {xlsx([]sheet{{"a", head + `<row><c r="XFE2"><v>1</v></c></row>`}}), "", "row 2: has more than 16384 columns"},
		"a row far below":  {xlsx([]sheet{{"a", head + `<row r="99999999"><c><v>1</v></c></row>`}}), "", "is beyond 16777216 rows"},
		"cut XML":          {xlsx([]sheet{{"a", head + `<row><c`}}), "", "row 2: XML syntax error"},
		"an element ends":  {xlsx([]sheet{{"a", head + `</sheetData></worksheet></x>`}}), "", "damaged"},
		"a large cell":     {xlsx([]sheet{{"a", head + texts(random(2<<20))}}), "", "row 2: "},
		"in pieces":        {xlsx([]sheet{{"a", head + "<row><c t=\"inlineStr\"><is>" + strings.Repeat("<t>"+random(1000)+"</t>", 2000) + "</is></c></row>"}}), "", "more than 1048576 bytes"},
		"an entity":        {xlsx([]sheet{{"a", head + "<row><c t=\"str\"><v>&lol;</v></c></row>"}}), "", "invalid character entity &lol;"},
		"a large document type": {
			xlsx([]sheet{{"a", head}}, [2]string{"xl/styles.xml", "<!DOCTYPE x [" + random(2<<20) + "]><x/>"}), "", "more than 1048576 bytes",
		},
		"shared texts that grow": {
			xlsx([]sheet{{"a", head + "<row>" + strings.Repeat(`<c t="s"><v>0</v></c>`, 16000) + "</row>"}},
				[2]string{"xl/sharedStrings.xml", "<sst><si><t>" + random(500_000) + "</t></si></sst>"}), "", "row 2: has more than 4194304 bytes of values",
		},
		"ODS texts that grow": {
			ods(sheet{"a", odsTexts("id") + `<table:table-row><table:table-cell table:number-columns-repeated="16000"><text:p>` + random(500_000) + `</text:p></table:table-cell></table:table-row>`}),
			"", "row 2: has more than 4194304 bytes of values",
		},
		"a long name":     {xlsx([]sheet{{random(2000), head}}), "", "a name of more than 1024 bytes"},
		"a bomb":          {xlsx([]sheet{{"a", head + texts(strings.Repeat("x", 60<<20))}}), "", "more than 200 times"},
		"repeated cells":  {ods(sheet{"a", odsTexts("id") + `<table:table-row>` + wide(10_000_000) + `</table:table-row>`}), "", "row 2: has more than 16384 columns"},
		"repeated rows":   {ods(sheet{"a", odsTexts("id") + `<table:table-row table:number-rows-repeated="1000">` + wide(16000) + `</table:table-row>`}), "", "row 2: more than 8388608 cells of the sheet are repeated"},
		"endless rows":    {ods(sheet{"a", odsTexts("id") + `<table:table-row table:number-rows-repeated="99999999">` + wide(1) + `</table:table-row>`}), "", "are repeated"},
		"cut off in ODS":  {testfile.Zip([2]string{"META-INF/manifest.xml", ""}, [2]string{"content.xml", `<office:spreadsheet><table:table table:name="a"><table:table-row>`}), "", "row 1: unexpected EOF"},
		"no number there": {ods(sheet{"a", odsTexts("id") + `<table:table-row><table:table-cell office:value-type="float"/></table:table-row>`}), "", "A2 has \"\" where a number"},
	} {
		t.Run(name, func(t *testing.T) {
			path := testfile.WriteTemp(t, "book", tc.file)
			rows, _, err := read(path, tc.sheet)
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%d rows, %v, want %q", len(rows), err, tc.want)
			}
		})
	}
}

// random returns text that compression does not shrink much.
func random(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = 'a' + byte(x>>24)%26
	}
	return string(b)
}

// A workbook that is cut off is refused. One with another byte is refused or has the same rows.
func TestDamaged(t *testing.T) {
	for _, whole := range []string{
		xlsx([]sheet{{"a", texts("id", "name") + texts("1", "x") + texts("2", random(3000))}}),
		ods(sheet{"a", odsTexts("id", "name") + odsTexts("1", "x") + odsTexts("2", random(3000))}),
	} {
		dir := t.TempDir()
		want, _, err := read(testfile.Write(t, dir+"/whole", whole), "")
		if err != nil || len(want) != 2 {
			t.Fatal(want, err)
		}
		step := 1
		if testing.Short() {
			step = 7
		}
		for at := 0; at < len(whole); at += step {
			if _, _, err := read(testfile.Write(t, dir+"/cut", whole[:at]), ""); err == nil || !strings.Contains(err.Error(), dir+"/cut: ") {
				t.Errorf("the first %d bytes: %v", at, err)
			}
			flipped := []byte(whole)
			flipped[at] ^= 0x11
			if got, _, err := read(testfile.Write(t, dir+"/flipped", flipped), ""); err != nil && !strings.Contains(err.Error(), dir+"/flipped: ") ||
				err == nil && !slices.Equal(got, want) {
				t.Errorf("byte %d: %q, %v", at, got, err)
			}
		}
	}
}

// Depth and unknown elements take no memory of the stack.
func TestDepth(t *testing.T) {
	deep := strings.Repeat("<x>", 1<<20) + strings.Repeat("</x>", 1<<20)
	for _, file := range []string{
		xlsx([]sheet{{"a", texts("id", "name") + "<row>" + deep + "</row>" + texts("1", "x")}}),
		ods(sheet{"a", odsTexts("id", "name") + "<table:table-row>" + deep + "</table:table-row>" + odsTexts("1", "x")}),
	} {
		if rows, _, err := read(testfile.WriteTemp(t, "book", file), ""); err != nil || !slices.Equal(rows, []string{`3 id="1" name="x"`}) {
			t.Errorf("%q, %v", rows, err)
		}
	}
}

// A table is the same in both formats, and has the values that were written.
func TestSameInBoth(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		type value struct{ xlsx, ods, want string }
		values := rapid.OneOf(
			rapid.Map(rapid.StringMatching(`[a-cÀ-ž<>&"'/=\\_東𝄞-]{1,8}`), func(s string) value {
				x, o := texts(s), odsTexts(s)
				want, _ := json.Marshal(s)
				return value{x[len("<row>") : len(x)-len("</row>")], o[len("<table:table-row>") : len(o)-len("</table:table-row>")], string(want)}
			}),
			rapid.Map(rapid.Float64Range(-1e9, 1e9), func(v float64) value {
				s := strconv.FormatFloat(v, 'e', 17, 64)
				if v == 0 {
					v = 0 // no -0
				}
				want, _ := json.Marshal(v)
				return value{"<c><v>" + s + "</v></c>", `<table:table-cell office:value-type="float" office:value="` + s + `"/>`, string(want)}
			}),
			rapid.Just(value{"<c/>", "<table:table-cell/>", ""}),
		)
		x, o := texts("a", "b", "c"), odsTexts("a", "b", "c")
		var want []string
		for i, row := range rapid.SliceOfN(rapid.SliceOfN(values, 3, 3), 0, 5).Draw(t, "rows") {
			x, o = x+"<row>", o+"<table:table-row>"
			line := strconv.Itoa(i + 2)
			for j, v := range row {
				if x, o = x+v.xlsx, o+v.ods; v.want != "" {
					line += " " + string(rune('a'+j)) + "=" + v.want
				}
			}
			if x, o = x+"</row>", o+"</table:table-row>"; strings.Contains(line, " ") {
				want = append(want, line)
			}
		}
		for _, file := range []string{xlsx([]sheet{{"s", x}}), ods(sheet{"s", o})} {
			got, _, err := read(testfile.Write(t, filepath.Join(dir, "book"), file), "")
			if err != nil || len(got) != len(want) {
				t.Fatalf("%q, %v, want %q", got, err, want)
			}
			for i := range got {
				if !sameRow(got[i], want[i]) {
					t.Fatalf("%s, want %s", got[i], want[i])
				}
			}
		}
	})
}

// sameRow reports whether rows have equal values, however their texts are escaped and their numbers
// are spelled.
func sameRow(a, b string) bool {
	return slices.EqualFunc(strings.Fields(a), strings.Fields(b), func(a, b string) bool {
		nameA, a, _ := strings.Cut(a, "=")
		nameB, b, _ := strings.Cut(b, "=")
		var x, y any
		bad := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y))
		return nameA == nameB && x == y && (bad == nil || a == "" && b == "")
	})
}

// Workbooks of other programs have the rows that these programs count.
func TestForeignWorkbooks(t *testing.T) {
	const dir = "../../../../../../shared/data/files/sheets/"
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	for file, want := range map[string]struct {
		rows         int
		first, notes string
	}{
		"Filialen.xlsx": {90, `2 Nr="s-0001" Name="Alte Yarrowendstad" Kategorie="cafe" Preis=18.72 Eröffnet="1960-01-01" Mitarbeiter=24 PLZ="08242" ` +
			`Breite=-38.396416 Länge=22.096643`, ""},
		"Export_Komma.xlsx": {70, `4 id="s-0001" name="Zum Zemmebrevovo" category="cafe" price="14,84" opened="1960-01-01" lat="-39,104927" ` +
			`lon="20,612481" twice=0 postcode="09844"`, "the names of the columns are in row 3"},
		"branches.ods": {50, `2 id="s-0001" name="Drei Nooralundstad" category="cafe" price=1.75 opened="1960-01-01T00:00:00" staff=88 open_sunday=true ` +
			`postcode="04157" latitude=-38.752275 longitude=21.779421`, ""},
		"gdal.ods": {30, `2 id="s-0001" name="Zum Efralundford" category="cafe" price=23.43 opened="1960-01-01" staff=67 open_sunday=1 postcode="01523" ` +
			`y=-38.269261 x=20.700915`, ""},
	} {
		rows, notes, err := read(dir+file, "")
		if err != nil || len(rows) != want.rows || rows[0] != want.first || !strings.Contains(strings.Join(notes, "\n"), want.notes) {
			t.Errorf("%s: %d rows, %q, %v", file, len(rows), rows[:min(len(rows), 1)], err)
		}
	}
	if _, _, err := read(dir+"../bad/shops_bomb.xlsx", ""); !errors.Is(err, source.ErrTooLarge) {
		t.Error(err)
	}
}

// FuzzOpen: any archive is read or refused with its name. What is changed is the archive, or the XML in
// it.
func FuzzOpen(f *testing.F) {
	head := texts("id", "name")
	f.Add([]byte(xlsx([]sheet{{"a", head + texts("1", "x")}})), "")
	f.Add([]byte(ods(sheet{"a", odsTexts("id", "name") + odsTexts("1", "x")})), "")
	f.Add([]byte{}, head+`<row r="3"><c r="A3" s="1"><v>7</v></c></row>`)
	f.Add([]byte{1}, odsTexts("id", "name")+`<table:table-row table:number-rows-repeated="3"><table:table-cell office:value-type="time" office:time-value="PT1S"/></table:table-row>`)
	f.Fuzz(func(t *testing.T, archive []byte, rows string) {
		file := string(archive)
		switch {
		case rows != "" && len(archive) == 0:
			file = xlsx([]sheet{{"a", rows}})
		case rows != "":
			file = ods(sheet{"a", rows})
		}
		path := filepath.Join(t.TempDir(), "book")
		testfile.Write(t, path, file)
		book, err := workbook.Open(path, "")
		if err == nil {
			defer book.Close()
			for feature, bad := range book.Features() {
				if err = bad; feature.Line > 10_000 { // rows that repeat
					break
				}
			}
		}
		if err != nil && !strings.HasPrefix(err.Error(), path+": ") {
			t.Error(err)
		}
	})
}
