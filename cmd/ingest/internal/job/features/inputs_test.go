package features

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		{"two formats", zip, "a.csv b.geojson", ""},
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
		if len(got) > 1 != strings.Contains(strings.Join(rep.Notes, ""), "members of one kind are read") {
			t.Errorf("%s: told %q", tc.name, rep.Notes)
		}
		must.Do(t, s.Close())
		if left := must.Get(os.ReadDir(dir)).In(t); len(left) > 0 {
			t.Errorf("%s: left %v", tc.name, left)
		}
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
