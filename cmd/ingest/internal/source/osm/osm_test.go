package osm

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/must"
)

// file writes a file of format PBF.
type file struct {
	bytes.Buffer
	table   []string
	index   map[string]uint64
	groups  [][]byte
	packing string // "", zlib or zstd
}

func newFile(packing string, features ...string) *file {
	f := &file{packing: packing}
	var header []byte
	for _, name := range features {
		header = protowire.AppendString(protowire.AppendTag(header, 4, protowire.BytesType), name)
	}
	f.blob("OSMHeader", header)
	f.begin()
	return f
}

func (f *file) begin() { f.table, f.index, f.groups = []string{""}, map[string]uint64{}, nil }

func field(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

func number(dst []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), v)
}

func (f *file) blob(typ string, data []byte) {
	var blob []byte
	switch f.packing {
	case "zlib":
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		_, _ = w.Write(data)
		_ = w.Close()
		blob = field(number(nil, 2, uint64(len(data))), 3, b.Bytes())
	case "zstd":
		w, _ := zstd.NewWriter(nil)
		blob = field(number(nil, 2, uint64(len(data))), 7, w.EncodeAll(data, nil))
	default:
		blob = field(nil, 1, data)
	}
	header := number(field(nil, 1, []byte(typ)), 3, uint64(len(blob)))
	_ = binary.Write(f, binary.BigEndian, uint32(len(header)))
	f.Write(header)
	f.Write(blob)
}

func (f *file) text(s string) uint64 {
	n, ok := f.index[s]
	if !ok {
		n = uint64(len(f.table))
		f.index[s], f.table = n, append(f.table, s)
	}
	return n
}

// tagged appends tags: names and values in turn.
func (f *file) tagged(dst []byte, tags []string) []byte {
	var keys, vals []byte
	for i := 0; i < len(tags); i += 2 {
		keys, vals = protowire.AppendVarint(keys, f.text(tags[i])), protowire.AppendVarint(vals, f.text(tags[i+1]))
	}
	return field(field(dst, 2, keys), 3, vals)
}

func zigzags(values ...int64) (out []byte) {
	last := int64(0)
	for _, v := range values {
		out = protowire.AppendVarint(out, protowire.EncodeZigZag(v-last))
		last = v
	}
	return out
}

const granularity = 1000 // of positions, in 1e-9 degrees

type node struct {
	id       int64
	lon, lat float64
	tags     []string
}

func (f *file) nodes(dense bool, nodes ...node) {
	unit := func(v float64) int64 { return int64(v * 1e9 / granularity) }
	if !dense {
		for _, n := range nodes {
			b := number(nil, 1, protowire.EncodeZigZag(n.id))
			b = number(number(b, 8, protowire.EncodeZigZag(unit(n.lat))), 9, protowire.EncodeZigZag(unit(n.lon)))
			f.groups = append(f.groups, field(nil, 1, f.tagged(b, n.tags)))
		}
		return
	}
	var ids, lats, lons []int64
	var mixed []byte
	for _, n := range nodes {
		ids, lats, lons = append(ids, n.id), append(lats, unit(n.lat)), append(lons, unit(n.lon))
		for _, t := range n.tags {
			mixed = protowire.AppendVarint(mixed, f.text(t))
		}
		mixed = protowire.AppendVarint(mixed, 0)
	}
	b := field(field(field(field(nil, 1, zigzags(ids...)), 8, zigzags(lats...)), 9, zigzags(lons...)), 10, mixed)
	f.groups = append(f.groups, field(nil, 2, b))
}

func (f *file) way(id int64, tags []string, refs ...int64) {
	f.groups = append(f.groups, field(nil, 3, field(f.tagged(number(nil, 1, uint64(id)), tags), 8, zigzags(refs...))))
}

func (f *file) relation(id int64, tags []string, ways ...int64) {
	var types, roles []byte
	for range ways {
		types, roles = protowire.AppendVarint(types, 1), protowire.AppendVarint(roles, 0)
	}
	b := field(f.tagged(number(nil, 1, uint64(id)), tags), 8, roles)
	f.groups = append(f.groups, field(nil, 4, field(field(b, 9, zigzags(ways...)), 10, types)))
}

// end ends a block.
func (f *file) end() {
	var table, block []byte
	for _, s := range f.table {
		table = field(table, 1, []byte(s))
	}
	block = field(nil, 1, table)
	for _, g := range f.groups {
		block = field(block, 2, g)
	}
	f.blob("OSMData", number(block, 17, granularity))
	f.begin()
}

func (f *file) write(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "f.osm.pbf")
	must.Do(t, os.WriteFile(path, f.Bytes(), 0o600))
	return path
}

// read returns a line for each feature, and the notes.
func read(t testing.TB, path, tags string, want source.Want) (lines, notes []string, err error) {
	r, err := Open(path, Options{Tags: must.Get(ParseTags(tags)).In(t), Want: want, Dir: t.TempDir()})
	if err != nil {
		return nil, nil, err
	}
	for f, failed := range r.Features(t.Context()) {
		if failed != nil {
			err = failed
			continue
		}
		line := f.ID + " "
		switch g := f.Geometry.(type) {
		case orb.MultiPolygon:
			var rings []string
			for _, p := range g {
				rings = append(rings, fmt.Sprint(len(p)))
			}
			line += fmt.Sprintf("area %.4g in polygons of %s rings", planar.Area(g), strings.Join(rings, ", "))
		default:
			line += fmt.Sprint(g)
		}
		for _, m := range f.Members {
			line += fmt.Sprintf(" %s=%s", m.Name, m.Value)
		}
		lines = append(lines, line)
	}
	return lines, r.Notes(), err
}

// world is a file with a municipality of four ways, an enclave in it, an island, and lines.
func world(packing string, dense bool) *file {
	f := newFile(packing, "OsmSchema-V0.6", "DenseNodes")
	f.nodes(dense, node{1, 0, 0, nil}, node{2, 4, 0, nil}, node{3, 4, 4, nil}, node{4, 0, 4, []string{"amenity", "cafe", "name", "Ümlaut \"A\""}},
		node{5, 1, 1, nil}, node{6, 3, 1, nil}, node{7, 2, 3, nil}, node{8, 9, 9, []string{"amenity", "bar"}})
	f.end()
	f.nodes(dense, node{9, 10, 0, nil}, node{10, 11, 0, nil}, node{11, 11, 1, nil})
	f.way(100, nil, 1, 2)
	f.way(101, nil, 3, 2)
	f.way(102, nil, 3, 4, 1)
	f.way(103, []string{"admin_level", "8", "name", "Enclave"}, 5, 6, 7, 5)
	f.way(104, []string{"amenity", "cafe", "building", "yes"}, 9, 10, 11, 9)
	f.way(105, []string{"highway", "primary", "amenity", "cafe"}, 9, 10, 11, 9)
	f.way(106, []string{"highway", "primary"}, 9, 10, 99)
	f.end()
	f.relation(1000, []string{"type", "boundary", "admin_level", "8", "name", "Town"}, 100, 102, 101, 103, 104, 101)
	f.relation(1001, []string{"type", "boundary", "admin_level", "8", "name", "Open"}, 100, 102)
	f.relation(1002, []string{"type", "multipolygon", "admin_level", "8"}, 100, 999)
	f.relation(1003, []string{"type", "route", "admin_level", "8"}, 100)
	f.end()
	return f
}

func TestRead(t *testing.T) {
	for _, packing := range []string{"", "zlib", "zstd"} {
		for _, dense := range []bool{false, true} {
			path := world(packing, dense).write(t)
			for _, tc := range []struct {
				tags         string
				want         source.Want
				lines, notes []string
			}{
				{"admin_level=8", source.WantPolygons, []string{
					`relation/1000 area 14.5 in polygons of 2, 1 rings type="boundary" admin_level="8" name="Town"`,
					`way/103 area 2 in polygons of 1 rings admin_level="8" name="Enclave"`,
				}, []string{
					path + ": relation/1001 Open is broken and left out: a ring of it is not closed at node/2",
					path + ": relation/1002 is broken and left out: 1 of its 2 ways are not in the file, or not whole",
					path + ": 1 nodes of ways are not in the file",
				}},
				{"amenity=cafe|bar", source.WantPoints, []string{
					`node/4 [0 4] amenity="cafe" name="Ümlaut \"A\""`, `node/8 [9 9] amenity="bar"`, `way/104 [10.75 0.5] amenity="cafe" building="yes"`,
					`way/105 [10.75 0.5] highway="primary" amenity="cafe"`,
				}, nil},
				{"highway=primary,highway", source.WantPoints, nil, []string{path + ": 2 ways that are no areas are no points, and left out"}},
				{"highway", source.WantPolygons, []string{`way/105 [[10 0] [11 0] [11 1] [10 0]] highway="primary" amenity="cafe"`}, []string{
					path + ": way/106 is broken and left out: 1 of its 1 ways are not in the file, or not whole", path + ": 1 nodes of ways are not in the file",
				}},
				{"name=none", source.WantPolygons, nil, nil},
			} {
				lines, notes, err := read(t, path, tc.tags, tc.want)
				if tc.tags == "admin_level=8" {
					notes = slices.DeleteFunc(notes, func(n string) bool { return strings.Contains(n, "nodes of ways") })
					tc.notes = tc.notes[:2]
				}
				if d := cmp.Diff(tc.lines, lines) + cmp.Diff(tc.notes, notes); d != "" || err != nil {
					t.Errorf("%s, %t, %s: %v %s", packing, dense, tc.tags, err, d)
				}
			}
		}
	}
}

// TestOrder tests that nodes are read in the order in which osmium and editors write them, with new elements first, and that
// another order is refused as such.
func TestOrder(t *testing.T) {
	for order, want := range map[string]string{
		"-1 -2 -30 4 5": "",
		"0 -1 4":        "",
		"1 2 2":         "",
		"-2 -1 4":       ": line 3: its nodes are not in the order of their numbers",
		"4 -1":          "osmium sort FILE -o sorted.osm.pbf",
		"2 1":           "osmium sort FILE -o sorted.osm.pbf",
	} {
		text := `<osm version="0.6">`
		ids := strings.Fields(order)
		for _, id := range ids {
			text += "\n" + `<node id="` + id + `" lat="1" lon="2"><tag k="a" v="b"/></node>`
		}
		text += `<way id="-7"><nd ref="` + ids[0] + `"/><nd ref="` + ids[1] + `"/><tag k="a" v="b"/></way></osm>`
		f := newFile("")
		f.Buffer = *bytes.NewBufferString(text)
		lines, _, err := read(t, f.write(t), "a=b", source.WantPolygons)
		switch {
		case want == "" && (err != nil || len(lines) != 1 || !strings.Contains(lines[0], "way/-7")):
			t.Errorf("%s: %q, %v", order, lines, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "no whole file")):
			t.Errorf("%s: %v, want %s", order, err, want)
		}
	}
}

// TestXML tests that the same elements in XML are the same features.
func TestXML(t *testing.T) {
	const text = `<?xml version="1.0" encoding="UTF-8"?><osm version="0.6" generator="x"><bounds minlat="0"/>
<node id="1" lat="0" lon="0"/><node id="2" lat="0" lon="4"/><node id="3" lat="4" lon="4"/>
<node id="4" lat="4.0000000" lon="0"><tag k="amenity" v="cafe"/><tag k="name" v="A &amp; B"/></node>
<way id="7"><nd ref="1"/><nd ref="2"/><nd ref="3"/></way><way id="8"><nd ref="1"/><nd ref="4"/><nd ref="3"/></way>
<relation id="9"><member type="way" ref="7" role="outer"/><member type="way" ref="8" role=""/><member type="node" ref="1" role="label"/>
<tag k="type" v="boundary"/><tag k="admin_level" v="8"/></relation></osm>`
	f := newFile("")
	f.Buffer = *bytes.NewBufferString(text)
	path := f.write(t)
	for tags, want := range map[string]string{
		"amenity=cafe":  `node/4 [0 4] amenity="cafe" name="A \u0026 B"`,
		"admin_level=8": `relation/9 [2 2] type="boundary" admin_level="8"`,
	} {
		lines, notes, err := read(t, path, tags, source.WantPoints)
		if err != nil || len(notes) > 0 || !slices.Equal(lines, []string{want}) {
			t.Errorf("%s: %q %q %v, want %q", tags, lines, notes, err, want)
		}
	}
	for cut, want := range map[string]string{
		text[:len(text)-6]: "cut off", strings.Replace(text, `ref="1"`, `ref="one"`, 1): `a nd has the ref "one"`,
		strings.Replace(text, `lat="4"`, `lat="north"`, 1): `a node has the lat "north"`, strings.Replace(text, "</way>", "<", 1): "syntax error",
	} {
		f.Buffer = *bytes.NewBufferString(cut)
		if _, _, err := read(t, f.write(t), "admin_level", source.WantPolygons); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestRefused tests that files that cannot be read say why.
func TestRefused(t *testing.T) {
	whole := world("zlib", true).Bytes()
	unsorted := newFile("")
	unsorted.nodes(true, node{2, 0, 0, nil}, node{1, 0, 0, nil})
	unsorted.end()
	lzma := newFile("")
	lzma.Buffer.Reset()
	header := number(field(nil, 1, []byte("OSMData")), 3, 6)
	_ = binary.Write(lzma, binary.BigEndian, uint32(len(header)))
	lzma.Write(append(header, field(nil, 4, []byte("lzma"))...))
	claim := func(length uint64) []byte {
		header := number(field(nil, 1, []byte("OSMHeader")), 3, length)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(header))), header...)
	}
	for name, tc := range map[string]struct {
		file []byte
		want string
	}{
		"empty":             {nil, "the file is empty"},
		"cut off":           {whole[:len(whole)-9], "is cut off within a blob"},
		"cut in a header":   {whole[:2], "is cut off"},
		"long header":       {[]byte{1, 0, 0, 0}, "claims 16777216 bytes, where the format allows 65536"},
		"long blob":         {claim(1 << 31), "claims 2147483648 bytes, where the format allows 33554432"},
		"less than claimed": {claim(30 << 20), "is cut off within a blob"},
		"history":           {newFile("", "HistoricalInformation").Bytes(), "osmium time-filter"},
		"other feature":     {newFile("", "Tomorrow").Bytes(), `needs the feature "Tomorrow"`},
		"unsorted":          {unsorted.Bytes(), ": its nodes are not in the order of their numbers"},
		"lzma":              {lzma.Bytes(), "compressed by lzma, which is not read"},
	} {
		f := newFile("")
		f.Buffer = *bytes.NewBuffer(tc.file)
		path := f.write(t)
		if _, _, err := read(t, path, "a", source.WantPoints); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := Open("f", Options{}); !errors.Is(err, ErrTags) {
		t.Error(err)
	}
	for text, want := range map[string]string{"a=b,c": "a=b,c", "a=b|c, d=*": "a=b|c,d"} {
		if got := FormatTags(must.Get(ParseTags(text)).In(t)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "=b", "a=", "a,,b"} {
		if _, err := ParseTags(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestRings tests that rings cut into ways of any order and direction are the same area again.
func TestRings(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		// Squares in rows: some have a hole, and some of these an island in the hole that touches it in a corner.
		var want float64
		var ways [][]vertex
		nodes := map[[2]int64]int64{}
		at := func(x, y int64) vertex {
			key := [2]int64{x, y}
			if nodes[key] == 0 {
				nodes[key] = int64(len(nodes) + 1)
			}
			return vertex{node: nodes[key], lon: x * 1e6, lat: y * 1e6}
		}
		square := func(x, y, side int64, sign float64) {
			want += sign * float64(side*side) / 1e6
			ring := []vertex{at(x, y), at(x+side, y), at(x+side, y+side), at(x, y+side)}
			start := rapid.IntRange(0, 3).Draw(r, "start")
			ring = append(ring[start:len(ring):len(ring)], ring[:start]...)
			ring = append(ring, ring[0])
			for len(ring) > 1 {
				n := rapid.IntRange(2, len(ring)).Draw(r, "vertices")
				way := slices.Clone(ring[:n])
				if rapid.Bool().Draw(r, "reversed") {
					slices.Reverse(way)
				}
				ways, ring = append(ways, way), ring[n-1:]
			}
		}
		for i := range int64(rapid.IntRange(1, 4).Draw(r, "squares")) {
			square(i*200, 0, 100, 1)
			if rapid.Bool().Draw(r, "hole") {
				square(i*200+10, 10, 50, -1)
				if rapid.Bool().Draw(r, "island") {
					square(i*200+10, 10, 20, 1)
				}
			}
		}
		ways = rapid.Permutation(ways).Draw(r, "ways")
		got, why := polygons(ways)
		if why != "" || max(planar.Area(got), -planar.Area(got))-want > 1e-9 || want-planar.Area(got) > 1e-9 {
			r.Errorf("area %v, want %v: %s", planar.Area(got), want, why)
		}
		if p := inside(got).(orb.Point); !planar.MultiPolygonContains(got, p) {
			r.Errorf("%v is not inside %v", p, got)
		}
	})
}

// TestShared tests that rings of one area which share a border are one ring.
func TestShared(t *testing.T) {
	at := func(node, lon, lat int64) vertex { return vertex{node: node, lon: lon * 1e9, lat: lat * 1e9} }
	a, b, c, d, e, f := at(1, 0, 0), at(2, 1, 0), at(3, 2, 0), at(4, 2, 1), at(5, 1, 1), at(6, 0, 1)
	got, why := polygons([][]vertex{{a, b, e, f, a}, {b, c, d, e, b}})
	if why != "" || len(got) != 1 || len(got[0]) != 1 || len(got[0][0]) != 7 || max(planar.Area(got), -planar.Area(got)) != 2 {
		t.Errorf("%v, %s", got, why)
	}
}

// TestFlipped tests that damaged files end without a panic.
func TestFlipped(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, packing := range []string{"", "zlib", "zstd"} {
		whole := world(packing, true).Bytes()
		for range 1500 {
			damaged := bytes.Clone(whole)
			for range 1 + rng.IntN(4) {
				damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
			}
			none := func(int64, *tags, []int64) error { return nil }
			_ = scan(bytes.NewReader(damaged), &handler{
				node: func(int64, int64, int64, *tags) error { return nil }, way: none,
				relation: func(_ int64, tags *tags, _ []member) error { _ = new(Reader).packed(tags); return nil },
			}, func(int64) {})
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(world("", false).Bytes())
	f.Add(world("zlib", true).Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		in := &file{Buffer: *bytes.NewBuffer(text)}
		r, err := Open(in.write(t), Options{Tags: []Tag{{Key: "admin_level"}}, Want: source.WantPolygons, Dir: t.TempDir(), Memory: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for range r.Features(context.Background()) { //nolint:revive // nothing may panic
		}
	})
}

var update = flag.Bool("update", false, "write the sample of package format")

// TestSample tests that the sample of package format is what is written here.
func TestSample(t *testing.T) {
	f := newFile("zlib", "OsmSchema-V0.6", "DenseNodes")
	f.nodes(true, node{1, 8.5, 47.3, nil}, node{2, 8.6, 47.3, nil}, node{3, 8.6, 47.4, nil}, node{4, 8.55, 47.35, []string{"id", "w1", "name", "Well"}})
	f.end()
	f.way(1, []string{"id", "p1", "name", "Park"}, 1, 2, 3, 1)
	f.end()
	const path = "../format/testdata/openstreetmap.osm.pbf"
	if *update {
		must.Do(t, os.WriteFile(path, f.Bytes(), 0o600))
	}
	if !bytes.Equal(must.Get(os.ReadFile(path)).In(t), f.Bytes()) {
		t.Error("the sample differs; write it anew by: go test ./cmd/ingest/internal/source/osm -run TestSample -update")
	}
}
