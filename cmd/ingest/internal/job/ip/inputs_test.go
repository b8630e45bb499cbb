package ip

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/must"
)

// badLines records the lines of bad records.
type badLines struct {
	job.SilentReporter
	lines []int
}

func (b *badLines) BadRecords(_ string, _ int64, examples []*source.BadRecord) {
	for _, e := range examples {
		b.lines = append(b.lines, e.Line)
	}
}

// TestNewestOfOneList tests that of one list only the newest is read, and that files which differ otherwise all are.
func TestNewestOfOneList(t *testing.T) {
	for _, tc := range []struct{ names, want, told string }{
		{"dbip-country-lite-2026-10.csv.gz dbip-country-lite-2026-11.csv.gz", "dbip-country-lite-2026-11.csv.gz", "dbip-country-lite-2026-10.csv.gz"},
		{"dbip-asn-2026-10.csv dbip-city-2026-09.csv dbip-city-2026-10.csv", "dbip-asn-2026-10.csv dbip-city-2026-10.csv", "dbip-city-2026-09.csv"},
		{"rv2-20261101-1200.pfx2as.gz rv2-20261101-2200.pfx2as.gz rv2-20261031-2300.pfx2as.gz", "rv2-20261101-2200.pfx2as.gz", "20261031"},
		{"a-2026-11-02.csv a-20261103.csv a_2026_11_01.csv", "a-20261103.csv", "a_2026_11_01.csv"},
		{"DB1.CSV DB1.IPV6.CSV", "DB1.CSV DB1.IPV6.CSV", ""},
		{"as2044.csv as2047.csv part-1.csv part-2.csv", "as2044.csv as2047.csv part-1.csv part-2.csv", ""},
		{"l-2026-10.csv l-2026-11.CSV.gz", "l-2026-11.CSV.gz", "l-2026-10.csv"},
		{"l-2026-10-01-2026-10-31.csv l-2026-11-01-2026-11-30.csv", "l-2026-11-01-2026-11-30.csv", "l-2026-10-01"},
		{"l-20261001-20261031.csv l-20261101-20261130.csv", "l-20261101-20261130.csv", "l-20261001"},
		{"AS201601.csv AS201612.csv plz-200711.csv plz-201112.csv block_2020.01.csv block_2020.02.csv",
			"AS201601.csv AS201612.csv plz-200711.csv plz-201112.csv block_2020.01.csv block_2020.02.csv", ""},
		{"120261101.csv 120261102.csv", "120261101.csv 120261102.csv", ""}, // no dates
	} {
		dir := t.TempDir()
		var paths []string
		for _, name := range strings.Fields(tc.names) {
			paths = append(paths, filepath.Join(dir, name))
			testfile.Write(t, paths[len(paths)-1], "x")
		}
		var rep jobtest.Recorder
		var got []string
		for _, path := range newest("in", paths, &rep) {
			got = append(got, filepath.Base(path))
		}
		slices.Sort(got)
		want := strings.Fields(tc.want)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s: %q", tc.names, got)
		}
		if told := strings.Join(rep.Notes, ";"); len(rep.Notes) != len(paths)-len(want) || !strings.Contains(told, tc.told) {
			t.Errorf("%s: told %q", tc.names, told)
		}
	}
	old := testfile.WriteTemp(t, "a-2026-11.csv", "x")
	young := filepath.Join(filepath.Dir(old), "a-202611.csv")
	testfile.Write(t, young, "x")
	must.Do(t, os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)))
	if got := newest("in", []string{old, young}, job.SilentReporter{}); !slices.Equal(got, []string{young}) {
		t.Errorf("of one date: %q", got)
	}
}

// TestSourcesByName tests that patterns, folders, pipes and standard input are sources as files are.
func TestSourcesByName(t *testing.T) {
	dir := t.TempDir()
	for name, country := range map[string]string{"l-2026-10.csv": "AT", "l-2026-11.csv": "CH", "other.txt": "DE", "readme.md": "x"} {
		network := map[string]string{"DE": "10.9.0.0/16"}[country]
		if network == "" {
			network = "9.0.0.0/8"
		}
		testfile.Write(t, filepath.Join(dir, name), "network,country\n"+strings.ReplaceAll(network, "10.9", "8.8")+","+country+"\n")
	}
	for _, path := range []string{"-", dir, filepath.Join(dir, "l-*.csv"), filepath.Join(dir, "*.csv")} {
		c := jobtest.Catalog(t)
		o := Options{Options: job.Options{Stdin: strings.NewReader("network,country\n9.0.0.0/8,CH\n")}}
		m, err := Ingest(t.Context(), c, []Input{{Input: job.Input{Path: path}}}, o)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got := answer(t, c, "9.1.1.1"); !strings.Contains(got, `"CH"`) {
			t.Errorf("%s: %s", path, got)
		}
		if path == "-" && (m.Sources[0].File != "standard input" || len(m.Sources[0].SHA256) != 64) {
			t.Errorf("%+v", m.Sources)
		}
	}
	for name, want := range map[string]int64{"a.csv b.csv notes.txt": 2, "a.csv x/b.json": 2, "a.txt b.txt LICENSE.TXT": 2, "a.csv b.csv.gz notes.txt.gz": 2, "a.csv.gz": 1} {
		var files [][2]string
		for i, member := range strings.Fields(name) {
			files = append(files, [2]string{member, strings.ReplaceAll("network,country\nN.0.0.0/8,CH\n", "N", string("98x"[i]))})
			if strings.HasSuffix(member, ".json") {
				files[i][1] = `[{"network":"8.0.0.0/8","country":"CH"}]`
			}
			if strings.HasSuffix(member, ".gz") {
				files[i][1] = testfile.Gzip(files[i][1])
			}
		}
		m, err := Ingest(t.Context(), jobtest.Catalog(t), []Input{{Input: job.Input{Path: testfile.WriteTemp(t, "l.zip", testfile.Zip(files...))}}}, Options{})
		if err != nil || m.Records["ipv4"] == 0 || int64(len(m.Sources)) != want || m.Sources[0].File != strings.Fields(name)[0] {
			t.Errorf("%s: %+v, %v", name, m.Sources, err)
		}
	}
	_, err := Ingest(t.Context(), jobtest.Catalog(t), []Input{{Input: job.Input{Path: filepath.Join(dir, "*.none")}}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "name the files themselves") {
		t.Error(err)
	}
	_, err = Ingest(t.Context(), jobtest.Catalog(t), []Input{{Input: job.Input{Path: "-"}}}, Options{Options: job.Options{Stdin: strings.NewReader("PK\x03\x04x")}})
	if err == nil || !strings.Contains(err.Error(), "standard input") || strings.Contains(err.Error(), "/proc/") {
		t.Error(err)
	}
}

// TestFoldersTellWhatTheyLeaveOut tests which files of folders and patterns are read: regular ones, and those that links lead to.
func TestFoldersTellWhatTheyLeaveOut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "b.zip", "c.tar.gz", "d.tgz", "e.ods", "f.xlsm", "readme.md", ".own.csv", "g.mmdb"} {
		testfile.Write(t, filepath.Join(dir, name), "x")
	}
	must.Do(t, os.MkdirAll(filepath.Join(dir, "within.csv"), 0o700))
	must.Do(t, os.Symlink(os.DevNull, filepath.Join(dir, "p.csv"))) // no regular file, as a pipe is none
	for pattern, want := range map[string][2]string{
		"":       {"a.csv b.zip c.tar.gz d.tgz e.ods f.xlsm g.mmdb", "3 of its files and folders are not read"},
		"*.csv":  {"a.csv within.csv", "1 of its files and folders are not read, such as " + filepath.Join(dir, "p.csv")},
		"*.md":   {"readme.md", ""},
		"p*.csv": {"", "1 of its files"},
	} {
		var rep jobtest.Recorder
		paths, err := pathsOf(filepath.Join(dir, pattern), &rep)
		var got []string
		for _, path := range paths {
			got = append(got, filepath.Base(path))
		}
		if err == nil != (want[0] != "") || strings.Join(got, " ") != want[0] || !strings.Contains(strings.Join(rep.Notes, ";"), want[1]) {
			t.Errorf("%q: %q, %v; told %q", pattern, got, err, rep.Notes)
		}
	}
}

// TestRecordsOfAddresses tests lists in workbooks and in Parquet.
func TestRecordsOfAddresses(t *testing.T) {
	type row struct {
		Network string `parquet:"network"`
		Country string `parquet:"country_code"`
		Name    string `parquet:"as_name"`
	}
	lists := filepath.Join(t.TempDir(), "l.parquet")
	must.Do(t, parquet.WriteFile(lists, []row{{"9.0.0.0/8", "CH", "a, \"b\"\n# c"}, {"bad", "CH", ""}, {"2001:200::/32", "JP", ""}}))
	sheet := `<worksheet><sheetData><row r="1"><c t="inlineStr"><is><t>My networks</t></is></c></row>` +
		`<row r="3"><c t="inlineStr"><is><t>network</t></is></c><c t="inlineStr"><is><t>country_code</t></is></c><c t="inlineStr"><is><t>as_name</t></is></c></row>` +
		`<row r="5"><c t="inlineStr"><is><t>9.0.0.0/8</t></is></c><c t="inlineStr"><is><t>CH</t></is></c><c t="inlineStr"><is><t>a, "b" # c</t></is></c></row>` +
		`<row r="7"><c t="inlineStr"><is><t>bad</t></is></c><c t="inlineStr"><is><t>CH</t></is></c></row></sheetData></worksheet>`
	book := testfile.WriteTemp(t, "l.xlsx", testfile.Zip(
		[2]string{"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`},
		[2]string{"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>`},
		[2]string{"xl/worksheets/sheet1.xml", sheet}))
	for path, line := range map[string]int{lists: 3, book: 7} {
		c := jobtest.Catalog(t)
		var rep badLines
		m, err := Ingest(t.Context(), c, []Input{{Input: job.Input{Path: path}}}, Options{Options: job.Options{Reporter: &rep, MaxBad: 0.5}})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got := answer(t, c, "9.1.1.1"); !strings.Contains(got, `"CH"`) || !strings.Contains(got, `a, \"b\" # c`) {
			t.Errorf("%s: %s", path, got)
		}
		if len(m.Sources) != 1 || len(m.Sources[0].SHA256) != 64 || m.Sources[0].Records == 0 {
			t.Errorf("%+v", m.Sources)
		}
		if !slices.Equal(rep.lines, []int{line}) {
			t.Errorf("%s: bad lines %v, want %d", path, rep.lines, line)
		}
	}
	_, err := Ingest(t.Context(), jobtest.Catalog(t), []Input{{Input: job.Input{Path: book + "#T"}}}, Options{})
	if err == nil || !strings.Contains(err.Error(), `has no sheet "T"`) {
		t.Error(err)
	}
}

// TestLinesOfArrays tests that messages name the lines of the file, and not those that objects are made to.
func TestLinesOfArrays(t *testing.T) {
	rows := "[\n  {\n \"network\": \"9.0.0.0/8\",\n \"country\": \"CH\"\n },\n\n  {\"network\": \"bad\", \"country\": \"CH\"}, {\"network\": \"worse\", \"country\": \"CH\"},\n {\"country\": \"CH\"\n}]\n"
	var rep badLines
	_, err := Ingest(t.Context(), jobtest.Catalog(t), []Input{{Input: ipFile(t, "x.json", rows)}}, Options{Options: job.Options{Reporter: &rep, MaxBad: 1}})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rep.lines)
	if !slices.Equal(rep.lines, []int{7, 7, 8}) {
		t.Errorf("%v", rep.lines)
	}
}

// TestColumnsOfNamedFiles tests that columns can be those of a file within a folder, a pattern or an archive.
func TestColumnsOfNamedFiles(t *testing.T) {
	const a, b = "9.0.0.0/8\n", "11.0.0.0/8\n"
	dir := t.TempDir()
	for name, text := range map[string]string{"a.zone": "", "sub.d/a.csv": a, "sub.d/b.csv": b, "sub.d/own.json": `{"network":"13.0.0.0/8","country":"FR"}` + "\n"} {
		testfile.Write(t, filepath.Join(dir, name), text)
	}
	folder := filepath.Join(dir, "sub.d")
	archive := testfile.WriteTemp(t, "l.zip", testfile.Zip([2]string{"x/a.csv", a}, [2]string{"b.csv", b}))
	var tarred strings.Builder
	w := tar.NewWriter(&tarred)
	for name, text := range map[string]string{"x/a.csv": a, "b.csv": b} {
		must.Do(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(text)), Mode: 0o644}))
		must.Get(w.Write([]byte(text))).In(t)
	}
	must.Do(t, w.Close())
	taken := testfile.WriteTemp(t, "l.tar.gz", testfile.Gzip(tarred.String()))
	ch, de := must.Get(ipcsv.ParseColumns("network,country=CH")).In(t), must.Get(ipcsv.ParseColumns("network,country=DE")).In(t)
	for name, tc := range map[string]struct {
		path    string
		columns []NamedColumns
		err     string
	}{
		"a folder":         {folder, []NamedColumns{{"a.csv", ch}, {"b.csv", de}}, ""},
		"its paths":        {folder, []NamedColumns{{filepath.Join(folder, "a.csv"), ch}, {"sub.d/b.csv", de}}, ""},
		"a pattern":        {filepath.Join(folder, "*.csv"), []NamedColumns{{"a.csv", ch}, {"b.csv", de}}, ""},
		"of a pattern":     {folder, []NamedColumns{{"*.csv", de}, {"a.csv", ch}}, ""},
		"an archive":       {archive, []NamedColumns{{"x/a.csv", ch}, {"b.csv", de}}, ""},
		"a tar archive":    {taken, []NamedColumns{{"a.csv", ch}, {"b.csv", de}}, ""},
		"none such":        {folder, []NamedColumns{{"*.csv", ch}, {"c.csv", de}}, "--columns c.csv=…: no file of this name is read; name one of the 3 that are, such as " + folder},
		"an end of a name": {folder, []NamedColumns{{".csv", ch}}, "--columns .csv=…"},
	} {
		c := jobtest.Catalog(t)
		_, err := Ingest(t.Context(), c, []Input{{Input: job.Input{Path: tc.path}}}, Options{Columns: tc.columns})
		if tc.err != "" {
			if !errors.Is(err, ErrUnnamed) || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if ch, de := answer(t, c, "9.1.1.1"), answer(t, c, "11.1.1.1"); !strings.Contains(ch, `"CH"`) || !strings.Contains(de, `"DE"`) {
			t.Errorf("%s: %s, %s", name, ch, de)
		}
	}
}
