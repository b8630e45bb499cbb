package mmdb

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oschwald/maxminddb-golang/v2"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/mmdb/mmdbtest"
	"quadrille/cmd/internal/testfile"
)

// records reads a file, each network as text.
func records(t testing.TB, path string) (out []string, err error) {
	t.Helper()
	f, err := Open(path, t.TempDir())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	for r, err := range f.Networks() {
		if err != nil {
			return out, err
		}
		m, err := r.Fields()
		var bad *source.BadRecord
		if err != nil && !errors.As(err, &bad) {
			return out, err
		}
		if bad != nil {
			out = append(out, fmt.Sprintf("%d %s", bad.Line, bad.Reason))
			continue
		}
		out = append(out, fmt.Sprintf("%d %s-%s %v", r.Number, r.First, r.Last, m))
	}
	return out, nil
}

func country(code string) map[string]any { return map[string]any{"country_code": code} }

var sample = mmdbtest.Database{Type: "Hand-made", IPVersion: 6, Epoch: 1700000000, Entries: []mmdbtest.Entry{
	{Network: "1.0.0.0/8", Data: country("AU")},
	{Network: "1.1.0.0/16", Data: country("CN")},
	{Network: "2001:200::/32", Data: country("JP")},
	{Network: "2002::/16", Data: "6to4"},
}}

var sampleRecords = []string{
	"1 1.0.0.0-1.0.255.255 map[country_code:AU]",
	"2 1.1.0.0-1.1.255.255 map[country_code:CN]",
	"3 1.2.0.0-1.3.255.255 map[country_code:AU]",
	"4 1.4.0.0-1.7.255.255 map[country_code:AU]",
	"5 1.8.0.0-1.15.255.255 map[country_code:AU]",
	"6 1.16.0.0-1.31.255.255 map[country_code:AU]",
	"7 1.32.0.0-1.63.255.255 map[country_code:AU]",
	"8 1.64.0.0-1.127.255.255 map[country_code:AU]",
	"9 1.128.0.0-1.255.255.255 map[country_code:AU]",
	"10 2001:200::-2001:200:ffff:ffff:ffff:ffff:ffff:ffff map[country_code:JP]",
	"11 record is not a map",
}

func TestNetworks(t *testing.T) {
	for _, size := range []int{24, 28, 32} {
		d := sample
		d.RecordSize = size
		path := testfile.WriteTemp(t, "x.mmdb", d.Bytes())
		got, err := records(t, path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sampleRecords, got); diff != "" {
			t.Error(size, diff)
		}
	}
	f, err := Open(testfile.WriteTemp(t, "x.mmdb", sample.Bytes()), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !f.Built.Equal(time.Unix(1700000000, 0)) || f.Type != "Hand-made" || !slices.Equal(f.Languages, []string{"en"}) || f.Size == 0 {
		t.Errorf("%+v", f)
	}
	for range f.Networks() {
		break // nothing more is yielded
	}
}

// TestFixtureByLibrary tests that MaxMind's library reads the output of mmdbtest, so that the
// fixtures are real databases.
func TestFixtureByLibrary(t *testing.T) {
	db, err := maxminddb.OpenBytes(sample.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]string{"1.0.0.0": "AU", "1.1.255.255": "CN", "1.2.0.0": "AU", "2.0.0.0": "", "2001:200::1": "JP"} {
		var rec struct {
			Code string `maxminddb:"country_code"`
		}
		if err := db.Lookup(netip.MustParseAddr(addr)).Decode(&rec); err != nil || rec.Code != want {
			t.Errorf("%s: %q, %v", addr, rec.Code, err)
		}
	}
}

func TestFieldTypes(t *testing.T) {
	d := mmdbtest.Database{Type: "x", IPVersion: 4, Entries: []mmdbtest.Entry{{Network: "1.0.0.0/8", Data: map[string]any{
		"s":     "é",
		"d":     1.5,
		"f":     float32(0.5),
		"u16":   uint16(7),
		"u32":   uint32(70000),
		"u64":   uint64(1 << 63),
		"i":     int32(-5),
		"b":     true,
		"bytes": []byte{0, 255},
		"list":  []any{uint16(1), "x"}, "map": map[string]any{"n": uint32(0)},
	}}}}
	f, err := Open(testfile.WriteTemp(t, "x.mmdb", d.Bytes()), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r, err := range f.Networks() {
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Fields()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"s": "é", "d": 1.5, "f": 0.5, "u16": uint64(7), "u32": uint64(70000), "u64": uint64(1 << 63), "i": int64(-5), "b": true, "bytes": "00ff",
			"list": []any{uint64(1), "x"}, "map": map[string]any{"n": uint64(0)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// A database is found in every kind of packing.
func TestPacked(t *testing.T) {
	raw := string(sample.Bytes())
	tarred := func(names ...string) string {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, name := range names {
			b := raw
			if !IsName(name) {
				b = "text"
			}
			if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(b)), Mode: 0o644}); err != nil {
				t.Fatal(err)
			}
			io.WriteString(w, b)
		}
		w.Close()
		return out.String()
	}
	zipped := func(names ...string) string {
		var members [][2]string
		for _, name := range names {
			members = append(members, [2]string{name, raw})
		}
		return testfile.Zip(members...)
	}
	for name, b := range map[string]string{
		"x.mmdb.gz": testfile.Gzip(raw),
		"x":         raw,
		"x.tar.gz":  testfile.Gzip(tarred("GeoLite2-City_20260101/COPYRIGHT.txt", "GeoLite2-City_20260101/GeoLite2-City.mmdb")),
		"x.tar":     tarred("a.mmdb"), "x.zip": zipped("readme.txt", "d/A.MMDB"),
	} {
		temp := t.TempDir()
		f, err := Open(testfile.WriteTemp(t, name, b), temp)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n := 0
		for _, err := range f.Networks() {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		if err := f.Close(); err != nil || n != len(sampleRecords) {
			t.Errorf("%s: %d networks, %v", name, n, err)
		}
		if left, _ := os.ReadDir(temp); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
	for name, b := range map[string]string{
		"cut.mmdb.gz": testfile.Gzip(raw)[:200],
		"none.tar.gz": testfile.Gzip(tarred("a.txt")),
		"cut.tar.gz":  testfile.Gzip(tarred("a.mmdb")[:700]),
		"two.zip":     zipped("a.mmdb", "b.mmdb"),
		"none.zip":    zipped("a.txt"),
		"cut.mmdb":    raw[:len(raw)-100], "empty.mmdb": "", "text.mmdb": "<html>", "zeros.gz": testfile.Gzip(make([]byte, 40<<20)),
	} {
		temp := t.TempDir()
		if f, err := Open(testfile.WriteTemp(t, name, b), temp); err == nil {
			t.Errorf("%s: opened as %s", name, f.Type)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error does not name it: %v", name, err)
		}
		if left, _ := os.ReadDir(temp); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}

// TestSharedNodes tests that a tree whose nodes are shared at every level is refused quickly,
// because it has 2¹²⁸ networks.
func TestSharedNodes(t *testing.T) {
	for _, empty := range []bool{true, false} {
		d := sample
		d.Nodes = func([][2]uint32) [][2]uint32 {
			const n = 128
			nodes := make([][2]uint32, n)
			for i := range nodes {
				nodes[i] = [2]uint32{uint32(i + 1), uint32(i + 1)} // the last: no data
			}
			if !empty {
				nodes[n-1] = [2]uint32{n + 16, n + 16}
			}
			return nodes
		}
		got, err := records(t, testfile.WriteTemp(t, "x.mmdb", d.Bytes()))
		if !errors.Is(err, ErrDamaged) || len(got) > 129*leavesPerNode {
			t.Errorf("%d records, %v", len(got), err)
		}
	}
}

func TestNoIPv4Tree(t *testing.T) {
	d := mmdbtest.Database{Type: "x", IPVersion: 6, Entries: []mmdbtest.Entry{{Network: "::/64", Data: country("AU")}}}
	got, err := records(t, testfile.WriteTemp(t, "x.mmdb", d.Bytes()))
	want := []string{"1 ::-::ffff:ffff:ffff:ffff map[country_code:AU]", "1 0.0.0.0-255.255.255.255 map[country_code:AU]"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestMetadata(t *testing.T) {
	for name, change := range map[string]func(*mmdbtest.Database){
		"version": func(d *mmdbtest.Database) { d.IPVersion = 5 },
		"record":  func(d *mmdbtest.Database) { d.RecordSize = 20 },
		"date":    func(d *mmdbtest.Database) { d.Epoch = 1 << 40 },
		"type":    func(d *mmdbtest.Database) { d.Type = "" },
	} {
		d := sample
		change(&d)
		if _, err := records(t, testfile.WriteTemp(t, "x.mmdb", d.Bytes())); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every damaged file is refused, or read to its end. None makes the program panic.
func TestBadData(t *testing.T) {
	files, _ := filepath.Glob(filepath.FromSlash("../../../../../../shared/data/maxmind-test/*/*/*.mmdb"))
	if len(files) == 0 {
		t.Skip("no real data")
	}
	// These files are well-formed except for a detail that caused errors in other readers.
	fine := []string{"libmaxminddb-empty-array-last-in-metadata.mmdb", "libmaxminddb-empty-map-last-in-metadata.mmdb",
		"libmaxminddb-corrupt-search-tree.mmdb"}
	for _, file := range files {
		_, err := records(t, file)
		if !errors.Is(err, ErrDamaged) && !slices.Contains(fine, filepath.Base(file)) {
			t.Errorf("%s: %v", file, err)
		}
		if err != nil && len(err.Error()) > 800 {
			t.Errorf("%s: an error of %d bytes", file, len(err.Error()))
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(sample.Bytes())
	small := mmdbtest.Database{
		Type:       "x",
		IPVersion:  4,
		RecordSize: 24,
		Entries:    []mmdbtest.Entry{{Network: "128.0.0.0/1", Data: map[string]any{"a": []any{1.5, uint32(1)}}}},
	}
	f.Add(small.Bytes())
	small.RecordSize = 28
	f.Add(small.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, _, err := open(func() (*maxminddb.Reader, error) { return maxminddb.OpenBytes(b) })
		if err != nil {
			return
		}
		db := &File{Path: "x.mmdb", db: r}
		n := 0
		for r, err := range db.Networks() {
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Fatal(err)
				}
				return
			}
			if n++; n > len(b) {
				t.Fatal("more networks than bytes")
			}
			if !r.First.IsValid() || r.Last.Less(r.First) {
				t.Fatalf("%s to %s", r.First, r.Last)
			}
			if _, err := r.Fields(); err != nil {
				var bad *source.BadRecord
				if !errors.Is(err, ErrDamaged) && !errors.As(err, &bad) {
					t.Fatal(err)
				}
			}
		}
	})
}
