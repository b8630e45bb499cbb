package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

const sum0 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func sample() *Manifest {
	return &Manifest{
		Version: 1, Dataset: "boundaries", Generation: 12, SchemaVersion: 3, Built: when,
		Records: map[string]int64{"regions": 258, "rows": 120000},
		Bad:     map[string]int64{"self-crossing ring, repaired": 2},
		Sources: []Source{{
			Name: "Natural Earth", File: "countries-10m.json", SHA256: sum0, Bytes: 3600000,
			Modified: time.Date(2022, 5, 1, 0, 0, 0, 0, time.UTC), Version: "5.1.1",
			License: "CC-PDDC", Attribution: `Made with <a href="https://www.naturalearthdata.com">Natural Earth</a>`,
		}, {Name: "hand-made"}},
		Bounds: []float64{-180, -90, 180, 83.634},
		Meta:   json.RawMessage(`{"types":[{"name":"country","byte":1}]}`),
		Files:  []File{{"store/000004.sst", 1234, sum0}},
	}
}

func TestManifestGolden(t *testing.T) {
	got, err := encodeManifest(sample())
	must.Do(t, err)
	golden := filepath.Join("testdata", "manifest.json")
	if *update {
		must.Do(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	must.Do(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("the format has changed (-golden +now):\n%s", cmp.Diff(string(want), string(got)))
	}
	m, err := decodeManifest(want)
	must.Do(t, err)
	wrote := sample()
	wrote.Digest = digestBytes(want)
	if d := cmp.Diff(wrote, m); d != "" {
		t.Errorf("read back differs (-wrote +read):\n%s", d)
	}
}

func TestManifestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*Manifest)
		want error
	}{
		"newer":                 {func(m *Manifest) { m.Version = manifestVersion + 1 }, cellstore.ErrNewer},
		"no version":            {func(m *Manifest) { m.Version = 0 }, cellstore.ErrCorrupt},
		"name climbs out":       {func(m *Manifest) { m.Dataset = "../ip" }, cellstore.ErrCorrupt},
		"no generation":         {func(m *Manifest) { m.Generation = 0 }, cellstore.ErrCorrupt},
		"negative schema":       {func(m *Manifest) { m.SchemaVersion = -1 }, cellstore.ErrCorrupt},
		"negative count":        {func(m *Manifest) { m.Records["regions"] = -1 }, cellstore.ErrCorrupt},
		"three bounds":          {func(m *Manifest) { m.Bounds = m.Bounds[:3] }, cellstore.ErrCorrupt},
		"south above north":     {func(m *Manifest) { m.Bounds = []float64{0, 2, 1, 1} }, cellstore.ErrCorrupt},
		"longitude out":         {func(m *Manifest) { m.Bounds = []float64{-181, 0, 1, 1} }, cellstore.ErrCorrupt},
		"source checksum":       {func(m *Manifest) { m.Sources[0].SHA256 = "abc" }, cellstore.ErrCorrupt},
		"file climbs out":       {func(m *Manifest) { m.Files[0].Path = "../../etc/passwd" }, cellstore.ErrCorrupt},
		"file is absolute":      {func(m *Manifest) { m.Files[0].Path = "/etc/passwd" }, cellstore.ErrCorrupt},
		"file path not clean":   {func(m *Manifest) { m.Files[0].Path = "store//a" }, cellstore.ErrCorrupt},
		"file without a name":   {func(m *Manifest) { m.Files[0].Path = "" }, cellstore.ErrCorrupt},
		"file of negative size": {func(m *Manifest) { m.Files[0].Bytes = -1 }, cellstore.ErrCorrupt},
		"file listed twice":     {func(m *Manifest) { m.Files = append(m.Files, m.Files[0]) }, cellstore.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			m := sample()
			tc.edit(m)
			b, err := json.Marshal(m)
			must.Do(t, err)
			_, err = decodeManifest(b)
			wantErr(t, err, tc.want)
			if errors.Is(tc.want, cellstore.ErrCorrupt) {
				_, err = encodeManifest(m) // an invalid manifest is not even written
				wantErr(t, err, ErrBadManifest)
			}
		})
	}
	m := sample()
	m.Bounds[0] = math.NaN()
	_, err := encodeManifest(m)
	wantErr(t, err, ErrBadManifest)
	m = sample()
	m.Meta = json.RawMessage(`{"a":`)
	_, err = encodeManifest(m)
	wantErr(t, err, ErrBadManifest)
	m.Meta = json.RawMessage(`"` + strings.Repeat("x", maxManifest) + `"`)
	_, err = encodeManifest(m)
	wantErr(t, err, ErrBadManifest)
}

func TestCheckSchema(t *testing.T) {
	m := sample()
	if err := m.CheckSchema(3); err != nil {
		t.Error(err)
	}
	wantErr(t, m.CheckSchema(2), cellstore.ErrNewer)
}

func TestTimestamp(t *testing.T) {
	early, late := time.UnixMilli(1000), time.UnixMilli(2000)
	for _, tc := range []struct {
		sources []Source
		want    int64
	}{
		{nil, 0},
		{[]Source{{}}, 0},
		{[]Source{{Modified: late}, {Modified: early}, {}}, 2000},
		{[]Source{{Modified: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)}}, 0},
	} {
		if got := Timestamp(tc.sources); got != tc.want {
			t.Errorf("Timestamp(%v) = %d, want %d", tc.sources, got, tc.want)
		}
	}
}

func TestFileSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.csv")
	must.Do(t, os.WriteFile(path, nil, 0o644))
	must.Do(t, os.Chtimes(path, when, when))
	got, err := FileSource(t.Context(), path)
	want := Source{Name: "empty.csv", File: "empty.csv", SHA256: sum0, Modified: when}
	if err != nil || !got.Is(want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := FileSource(t.Context(), filepath.Dir(path)); err == nil {
		t.Error("a directory was taken for a source")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = FileSource(gone, path)
	wantErr(t, err, context.Canceled)
}

func TestPointerRefusals(t *testing.T) {
	entry1 := `{"generation":1,"manifest_sha256":"` + sum0 + `"}`
	for name, tc := range map[string]struct {
		json string
		want error
	}{
		"good":             {`{"version":1,"current":1,"last":1,"generations":[` + entry1 + `]}`, nil},
		"empty file":       {``, ErrBadPointer},
		"cut off":          {`{"version":1,"current":1,"last":1,"gener`, ErrBadPointer},
		"newer":            {`{"version":3,"current":"of another shape"}`, cellstore.ErrNewer},
		"no version":       {`{"current":1,"last":1,"generations":[` + entry1 + `]}`, ErrBadPointer},
		"names none":       {`{"version":1,"current":0,"last":1,"generations":[` + entry1 + `]}`, ErrBadPointer},
		"dropped":          {`{"version":2,"current":0,"dropped":1,"last":1,"generations":[` + entry1 + `]}`, nil},
		"nothing left":     {`{"version":2,"current":0,"last":1,"generations":null}`, nil},
		"names unlisted":   {`{"version":1,"current":2,"last":2,"generations":[` + entry1 + `]}`, ErrBadPointer},
		"last too low":     {`{"version":1,"current":1,"last":0,"generations":[` + entry1 + `]}`, ErrBadPointer},
		"last too high":    {`{"version":1,"current":1,"last":18446744073709551615,"generations":[` + entry1 + `]}`, ErrBadPointer},
		"listed twice":     {`{"version":1,"current":1,"last":1,"generations":[` + entry1 + `,` + entry1 + `]}`, ErrBadPointer},
		"negative":         {`{"version":1,"current":-1,"last":1,"generations":[` + entry1 + `]}`, ErrBadPointer},
		"without checksum": {`{"version":1,"current":1,"last":1,"generations":[{"generation":1}]}`, ErrBadPointer},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodePointer([]byte(tc.json))
			wantErr(t, err, tc.want)
			if tc.want == ErrBadPointer {
				wantErr(t, err, cellstore.ErrCorrupt)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	good, err := encodeManifest(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte(`{"version":1,"current":1,"last":1,"generations":[{"generation":1,"manifest_sha256":"` + sum0 + `"}]}`))
	f.Add([]byte(`{"version":99}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeManifest(b); err == nil {
			again, err := encodeManifest(m)
			if err != nil {
				t.Fatalf("read but not written: %v", err)
			}
			m2, err := decodeManifest(again)
			if err != nil {
				t.Fatalf("written but not read: %v", err)
			}
			if third, _ := encodeManifest(m2); !bytes.Equal(again, third) {
				t.Fatalf("%s\n%s", again, third)
			}
		} else if !errors.Is(err, cellstore.ErrCorrupt) && !errors.Is(err, cellstore.ErrNewer) {
			t.Fatalf("unexpected kind of error: %v", err)
		}
		if p, err := decodePointer(b); err == nil {
			if _, ok := p.find(p.Current); !ok && p.Current != 0 {
				t.Fatal("accepted a pointer to nothing")
			}
		}
	})
}
