package features

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/must"
)

// tarOf returns a tar archive of files, each a name and its content, compressed by gzip.
func tarOf(t *testing.T, files ...[2]string) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		must.Do(t, w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o600, Size: int64(len(f[1])), Format: tar.FormatPAX}))
		must.Get(w.Write([]byte(f[1]))).In(t)
	}
	must.Do(t, w.Close())
	return testfile.Gzip(out.String())
}

// TestMembersAreFiles tests which members of archives are read as the files of a folder are, and in which order.
func TestMembersAreFiles(t *testing.T) {
	zip := func(files ...[2]string) string { return testfile.Zip(files...) }
	tarred := func(files ...[2]string) string { return tarOf(t, files...) }
	for _, tc := range []struct {
		name string
		pack func(...[2]string) string
		in   string // names
		want string // names, "" for the archive itself, or an error
	}{
		{"zip", zip, "data/2/b.geojson data/1/c.geojson a.GEOJSON __MACOSX/a.geojson x/._b.geojson .c.geojson readme.txt", "a.GEOJSON data/1/c.geojson data/2/b.geojson"},
		{"tar", tarred, "data/2/b.geojson data/1/c.geojson a.GEOJSON x/._b.geojson ../d.geojson", "a.GEOJSON data/1/c.geojson data/2/b.geojson"},
		{"tables", zip, "b.csv a.csv readme.txt", "a.csv b.csv"},
		{"named#b.geojson", zip, "a.csv b.geojson", "b.geojson"},
		{"named in tar#x/a.csv", tarred, "x/a.csv b.geojson", "x/a.csv"},
		{"a shapefile#a", zip, "a.shp b.shp", "#a"},
		{"a shapefile#a.shp", zip, "a.shp b.shp", "#a.shp"},
		{"texts", zip, "b.txt a.txt", "a.txt b.txt"},
		{"one", zip, "a.csv readme.txt", ""},
		{"one in tar", tarred, "a.csv readme.md", "a.csv"},
		{"two formats", zip, "a.csv b.geojson", `holds both "a.csv" and "b.geojson"; name one member as FILE#MEMBER`},
		{"two of one format beside another", zip, "a.csv b.csv metadata.json", `holds both "b.csv" and "metadata.json"`},
		{"compressed", zip, "b.csv.GZ a.csv readme.txt.gz", "a.csv b.csv.GZ"},
		{"compressed in tar", tarred, "b.csv.zst a.csv", "a.csv b.csv.zst"},
		{"one compressed", zip, "a.csv.gz", "a.csv.gz"},
		{"odd names", zip, `c:b.csv d\a.csv`, `c:b.csv d\a.csv`},
		{"odd names in tar", tarred, `c:b.csv d\a.csv`, `c:b.csv d\a.csv`},
		{"one name twice", zip, "a.csv b.csv a.csv", `several members of the name "a.csv"`},
		{"one name twice in tar", tarred, "a.csv b.csv a.csv", `several members of the name "a.csv"`},
		{"named but missing#c.csv", zip, "a.csv b.csv", `has no member "c.csv"; it has "a.csv", "b.csv"`},
		{"named but missing in tar#c.csv", tarred, "a.csv", `has no member "c.csv"; it has "a.csv"`},
		{"two formats in tar", tarred, "a.csv b.geojson", `holds both "a.csv" and "b.geojson"`},
		{"shapefiles", zip, "a.shp a.dbf b.shp b.dbf", ""},
		{"a shapefile in tar", tarred, "a.shp a.dbf", "unpack it by tar xf"},
		{"a feed", zip, "stops.txt routes.txt", ""},
		{"nothing", tarred, "a.exe b.exe", "no member of it is of a format"},
	} {
		dir := t.TempDir()
		var files [][2]string
		for _, name := range strings.Fields(tc.in) {
			files = append(files, [2]string{name, "of " + name})
		}
		path := testfile.WriteTemp(t, "archive", tc.pack(files...))
		one, two, _ := strings.Cut(tc.name, "#")
		tc.name = one
		named := path
		if two != "" {
			named += "#" + two
		}
		var rep jobtest.Recorder
		s := must.Get(New(t.Context(), &rep, dir, nil)).In(t)
		all, err := s.Expand(job.Input{Path: named}, source.WantPoints)
		var got []string
		for _, in := range all {
			name, is := strings.CutPrefix(strings.TrimPrefix(in.Path, path), "/")
			if is {
				if text := must.Get(os.ReadFile(in.OnDisk())).In(t); string(text) != "of "+name {
					t.Errorf("%s: %s holds %q", tc.name, name, text)
				}
			}
			got = append(got, name)
		}
		if err != nil && (tc.want == "" || !strings.Contains(err.Error(), tc.want)) || err == nil && strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
		if told := strings.Contains(strings.Join(rep.Notes, ""), "1 of its members are not read"); told != strings.Contains(tc.in, "../") {
			t.Errorf("%s: told %q", tc.name, rep.Notes)
		}
		if len(got) > 1 != strings.Contains(strings.Join(rep.Notes, ""), "members of one kind are read") {
			t.Errorf("%s: told %q", tc.name, rep.Notes)
		}
		must.Do(t, s.Close())
		if left := must.Get(os.ReadDir(dir)).In(t); len(left) > 0 {
			t.Errorf("%s: left %v", tc.name, left)
		}
	}
}

// TestTarsAreWhole tests that tar archives are refused if they are cut, go on after their end, or have holes that cost no
// bytes, and that links are told.
func TestTarsAreWhole(t *testing.T) {
	raw := func(headers ...tar.Header) string {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, h := range headers {
			h.Mode = 0o600
			must.Do(t, w.WriteHeader(&h))
			must.Get(w.Write(make([]byte, h.Size))).In(t)
		}
		must.Do(t, w.Close())
		return out.String()
	}
	csv := tar.Header{Name: "a.csv", Size: 1024} // of zeros, as the end is
	other := csv
	other.Name = "b.csv"
	two := raw(csv, other)
	pax := csv
	pax.PAXRecords = map[string]string{"GNU_sparse.map": "0,1", "GNU_sparse.size": "99999999999", "GNU_sparse.numblocks": "1"}
	old := []byte(raw(tar.Header{Name: "a.csv", Format: tar.FormatGNU}))
	old[156] = tar.TypeGNUSparse
	copy(old[148:156], "        ")
	sum := 0
	for _, b := range old[:512] {
		sum += int(b)
	}
	copy(old[148:156], fmt.Sprintf("%06o\x00 ", sum))
	for name, tc := range map[string]struct{ text, want, told string }{
		"whole":             {two, "", "2 members of one kind"},
		"padded":            {two + strings.Repeat("\x00", 8192), "", ""},
		"cut after member":  {two[:1536], "without its end", ""},
		"cut in its end":    {two[:3072+512], "without its end", ""},
		"cut in a member":   {two[:1100], "truncated", ""},
		"two in one":        {two + two, "more after its end", ""},
		"sparse":            {string(old), "is sparse", ""},
		"sparse by records": {strings.ReplaceAll(raw(pax), "GNU_sparse", "GNU.sparse"), "is sparse", ""},
		"links": {raw(csv, tar.Header{Name: "b.csv", Linkname: "a.csv", Typeflag: tar.TypeLink},
			tar.Header{Name: "c.csv", Linkname: "a.csv", Typeflag: tar.TypeSymlink}), "", `2 of its members are not read, because they are links`},
	} {
		var rep jobtest.Recorder
		s := must.Get(New(t.Context(), &rep, t.TempDir(), nil)).In(t)
		_, err := s.Expand(job.Input{Path: testfile.WriteTemp(t, "x", tc.text)}, source.WantPoints)
		if err == nil != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) || !strings.Contains(strings.Join(rep.Notes, ";"), tc.told) {
			t.Errorf("%s: %v; told %q", name, err, rep.Notes)
		}
		must.Do(t, s.Close())
	}
}

// TestCopiesOfMembersHaveNoName tests that a killed run leaves none of them, except those whose reader asks for a name.
func TestCopiesOfMembersHaveNoName(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files have no paths here")
	}
	many := make([][2]string, maxNameless+2)
	for i := range many {
		many[i] = [2]string{fmt.Sprint(i, ".csv"), "x"}
	}
	for name, tc := range map[string]struct {
		files [][2]string
		named int
	}{
		"tables":      {[][2]string{{"a.csv", "x"}, {"b.csv.gz", "x"}}, 0},
		"GeoPackages": {[][2]string{{"a.gpkg", "x"}, {"b.gpkg", "x"}}, 2},
		"many":        {many, 2},
	} {
		dir := t.TempDir()
		s := must.Get(New(t.Context(), job.SilentReporter{}, dir, nil)).In(t)
		must.Get(s.Expand(job.Input{Path: testfile.WriteTemp(t, "x.zip", testfile.Zip(tc.files...))}, source.WantPoints)).In(t)
		if named := must.Get(os.ReadDir(dir)).In(t); len(named) != tc.named {
			t.Errorf("%s: %v", name, named)
		}
		must.Do(t, s.Close())
	}
}

// TestMembersAreBounded tests archives that unpack to more than any real one of their size.
func TestMembersAreBounded(t *testing.T) {
	zeros := strings.Repeat("0", 9<<20)
	for name, text := range map[string]string{
		"one": testfile.Zip([2]string{"a.csv", zeros + zeros}, [2]string{"b.csv", ""}),
		"all": testfile.Zip([2]string{"a.csv", zeros}, [2]string{"b.csv", zeros}),
		"tar": tarOf(t, [2]string{"a.csv", zeros}, [2]string{"b.csv", zeros}),
	} {
		s := must.Get(New(t.Context(), job.SilentReporter{}, t.TempDir(), nil)).In(t)
		_, err := s.Expand(job.Input{Path: testfile.WriteTemp(t, "x", text)}, source.WantPoints)
		if !errors.Is(err, source.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		must.Do(t, s.Close())
	}
	var many [][2]string
	for i := range 10001 {
		many = append(many, [2]string{fmt.Sprint(i, ".csv"), ""})
	}
	for name, text := range map[string]string{"zip": testfile.Zip(many...), "tar": tarOf(t, many...)} {
		s := must.Get(New(t.Context(), job.SilentReporter{}, t.TempDir(), nil)).In(t)
		if _, err := s.Expand(job.Input{Path: testfile.WriteTemp(t, "x", text)}, source.WantPoints); err == nil || !strings.Contains(err.Error(), "unpack it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEachAndOne tests the patterns of commands that read rows.
func TestEachAndOne(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.csv", "a.csv", "c.txt"} {
		testfile.Write(t, filepath.Join(dir, name), name)
	}
	s := must.Get(New(t.Context(), job.SilentReporter{}, "", nil)).In(t)
	for pattern, want := range map[string]string{"*.csv": "a.csv b.csv", "b.csv": "b.csv", "none.csv": "none.csv", "*.none": "no file matches", "": ""} {
		all, err := s.Each(job.Input{Path: filepath.Join(dir, pattern)})
		var got []string
		for _, in := range all {
			got = append(got, strings.TrimPrefix(strings.TrimPrefix(in.Path, dir), "/"))
		}
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
	if _, err := s.One(job.Input{Path: filepath.Join(dir, "*.csv")}); err == nil || !strings.Contains(err.Error(), "names 2 files") {
		t.Error(err)
	}
	if in, err := s.One(job.Input{Path: filepath.Join(dir, "c.*")}); err != nil || in.Path != filepath.Join(dir, "c.txt") {
		t.Error(in, err)
	}
}
