package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
)

// contents returns the files and folders of a directory, with checksums.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) && path == dir {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = info.Mode().String()
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[path] += fmt.Sprintf(" %x", sha256.Sum256(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A dry run of each publishing command reports what it would change, and leaves the data
// directory as it is, byte for byte.
func TestDryRun(t *testing.T) {
	data := filepath.Join(t.TempDir(), "new", "data")
	stations := testfile.Read(t, "../../sample/stations.csv")
	head, rows, _ := strings.Cut(string(stations), "\n")
	id := strings.ReplaceAll(strings.Join(strings.SplitN(rows, ",", 3)[:2], "-"), `"`, "")
	weather := filepath.Join(t.TempDir(), id+"-2024")
	testfile.Write(t, weather, "2024 01 01 00   -70   -80 10130   230    50     0     0     0\n")
	write := func(name, text string) string { return testfile.WriteTemp(t, name, text) }
	for _, tc := range []struct {
		args, then []string // the command, and the same with other files
		changed    string   // the report of a dry run of then
	}{
		{[]string{"boundaries", "--layer", "ward=" + write("a.json", jobtest.FeatureCollection(jobtest.Square("a", "A", "", 0, 0, 5)))},
			[]string{
				"boundaries",
				"--layer",
				"ward=" + write("b.json", jobtest.FeatureCollection(jobtest.Square("a", "A", "", 0, 0, 5),
					jobtest.Square("b", "B", "", 10, 0, 5))),
			},
			"boundaries would have: 2 ward\n  generation 1, which is published, has: 1 ward\n"},
		{[]string{"places", "--as", "places=" + write("p.txt", jobtest.RowBern+"\n"+jobtest.RowThun+"\n")},
			[]string{"places", "--as", "places=" + write("p.txt", jobtest.RowBern+"\n"+jobtest.RowSuva+"\n")},
			"table place_info: 1 rows added, 1 removed, 0 changed, "},
		{[]string{"airports", write("a.csv", jobtest.AirportHeader+jobtest.AirportBern)},
			[]string{"airports", write("a.csv", jobtest.AirportHeader+strings.Replace(jobtest.AirportBern, "Bern Test", "Bern-Belp", 1))},
			"0 rows added, 0 removed, 1 changed"},
		{[]string{"stations", "../../sample/stations.csv"},
			[]string{"stations", write("s.csv", head+"\n"+rows[:strings.IndexByte(rows, '\n')+1])},
			"stations would have: 1 leaves, 1 positions, 1 stations\n"},
		{[]string{"weather", weather}, nil, ""},
		{[]string{"points", "shops", write("p.csv", "id,lat,lon,name\na,1,2,A\nb,3,4,B\n")},
			[]string{"points", "shops", write("p.csv", "id,lat,lon,name\na,1,2,A\nb,3,4,C\nc,5,6,C\n")},
			"table points: "},
		{[]string{"names"}, nil, ""},
		{[]string{"ip", write("ip.csv", "1.0.0.0/24,AU\n8.8.8.0/24,US\n")},
			[]string{"ip", write("ip.csv", "1.0.0.0/24,AU\n8.8.8.0/24,CA\n")},
			"compared with ip generation 1: 2 rows, then 2\n"},
		{[]string{"timezones", write("z.json", jobtest.ZoneSquares)}, nil, ""},
	} {
		tryDry := func(args []string, want ...string) {
			t.Helper()
			before := contents(t, data)
			var out bytes.Buffer
			if err := run(t.Context(), append(args, "--dry-run", "--data", data), &out, io.Discard); err != nil {
				t.Errorf("%q: %v", args, err)
			}
			for _, want := range append(want, "nothing was published: of ", "run it again without --dry-run to publish\n") {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q: no %q in\n%s", args, want, out.String())
				}
			}
			if strings.Contains(out.String(), "published "+args[0]+" generation") {
				t.Errorf("%q: %s", args, out.String())
			}
			if !maps.Equal(contents(t, data), before) {
				t.Errorf("%q has changed the directory: %v, was %v", args, contents(t, data), before)
			}
		}
		tryDry(tc.args)
		if err := run(t.Context(), append(tc.args, "--data", data), io.Discard, io.Discard); err != nil {
			t.Fatalf("%q: %v", tc.args, err)
		}
		tryDry(tc.args, "no row differs in ", " stays; run it again")
		if tc.then != nil {
			tryDry(tc.then, tc.changed, " stays; run it again")
		}
	}
}

// A change that --max-change refuses is refused in a dry run too.
func TestDryRunRefused(t *testing.T) {
	data := t.TempDir()
	if err := run(t.Context(), []string{
		"ip",
		testfile.WriteTemp(t, "a.csv", "8.8.8.0/24,US\n"),
		"--data",
		data,
	}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	before := contents(t, data)
	err := run(t.Context(), []string{
		"ip",
		testfile.WriteTemp(t, "b.csv", "8.8.8.0/24,CA\n"),
		"--max-change",
		"5%",
		"--dry-run",
		"--data",
		data,
	}, io.Discard, io.Discard)
	if exitCode(err) != 3 || !maps.Equal(contents(t, data), before) {
		t.Errorf("exit code %d, %v", exitCode(err), err)
	}
	err = run(t.Context(), []string{"points", "shops", "x.csv", "--into-live", "http://127.0.0.1:1", "--dry-run", "--data", data},
		io.Discard, io.Discard)
	if exitCode(err) != 2 {
		t.Errorf("into a live collection: %v", err)
	}
}

// A dry run of a refresh records nothing, so the next refresh does all its work.
func TestDryRefresh(t *testing.T) {
	data, settings := t.TempDir(), filepath.Join(t.TempDir(), "ingest.yaml")
	text := fmt.Sprintf("data: %s\nstations:\n  file: ../../sample/stations.csv\nip:\n  file: [%s]\nworld:\n  only: [places]\n",
		data, testfile.WriteTemp(t, "a.csv", "8.8.8.0/24,US\n"))
	testfile.Write(t, settings, text)
	for range 2 {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"refresh", "--config", settings, "--dry-run", "--json"}, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for line := range strings.Lines(out.String()) {
			var e struct{ Event, Dataset string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			found[e.Event+" "+e.Dataset]++
		}
		if found["rehearsed stations"] != 1 || found["rehearsed ip"] != 1 || found["source places"] == 0 || len(contents(t, data)) != 1 {
			t.Errorf("%v, and on the disk %v", found, contents(t, data))
		}
	}
}

// TestNoEmptyWords tests that with --empty= no word means an empty cell. In contrast, an empty
// variable in the environment counts as not set, so the usual words apply.
func TestNoEmptyWords(t *testing.T) {
	file := testfile.WriteTemp(t, "a.csv", "id,lat,lon,note\na,1,1,NULL\nb,2,2,x\n")
	t.Setenv("QUADRILLE_POINTS_EMPTY", "")
	for flag, want := range map[string]bool{"": true, "--empty=": false, "--empty=x": true} {
		args := []string{"points", "shops", file, "--data", t.TempDir()}
		if flag != "" {
			args = append(args, flag)
		}
		var out bytes.Buffer
		err := run(t.Context(), args, &out, &out)
		if got := strings.Contains(out.String(), "for an empty one"); err != nil || got != want {
			t.Errorf("%q: %v, %s", flag, err, out.String())
		}
	}
}

// The advice of a refused command can be typed literally, even if the value begins with a hyphen.
func TestAdviceCanBeTyped(t *testing.T) {
	for text, advised := range map[string]string{
		"A|B|5.1.0.0/24|x\nA|B|5.2.0.0/24|y\n":                       `--columns=\S+`,
		"-name,-oben,-rechts\na,151.2,-33.8\nb,151.2,-33.8\nc,1,2\n": `--l[a-z]+=\S+ --l[a-z]+=\S+`,
	} {
		args := []string{"ip", testfile.WriteTemp(t, "a.csv", text), "--data", t.TempDir()}
		if !strings.Contains(text, "|") {
			args = append([]string{"points", "p"}, append(args[1:], "--lat=-oben", "--lon=-rechts")...)
		}
		err := run(t.Context(), args, io.Discard, io.Discard)
		advice := regexp.MustCompile(advised).FindString(fmt.Sprint(err))
		if err == nil || advice == "" {
			t.Fatalf("%q: %v", text, err)
		}
		args = append(args, strings.Fields(strings.ReplaceAll(advice, `"`, ""))...)
		if err := run(t.Context(), args, io.Discard, io.Discard); err != nil {
			t.Errorf("%s: %v", advice, err)
		}
	}
}
