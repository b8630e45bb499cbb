package mvt_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/tiles/mvt"
)

// lenient are fixtures that the set calls valid although they break a rule. 016 has the same bytes
// as 003, which the set calls invalid. 057 declares about 500 million points and has one. The same
// is true of 051, which the set calls invalid.
var lenient = map[string]bool{"016": true, "057": true}

// TestValidateFixtures tests that Validate agrees with the verdicts in the fixture set.
func TestValidateFixtures(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(fixtures, "[0-9][0-9][0-9]"))
	if err != nil || len(dirs) == 0 {
		t.Skipf("no fixtures in %s", fixtures)
	}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		info, err := os.ReadFile(filepath.Join(dir, "info.json"))
		if err != nil {
			t.Fatal(err)
		}
		tile, err := os.ReadFile(filepath.Join(dir, "tile.mvt"))
		if err != nil {
			t.Fatal(err)
		}
		err = mvt.Validate(tile)
		if want := validV2(info) && !lenient[name]; (err == nil) != want {
			t.Errorf("%s: %v; valid %v: %s", name, err, want, info)
		}
		if err != nil && !errors.Is(err, mvt.ErrMalformed) {
			t.Errorf("%s: %v matches no sentinel", name, err)
		}
	}
}

// geometryTile makes a tile of one polygon feature with the given geometry.
func geometryTile(typ mvt.GeomType, geometry ...uint64) []byte {
	field := func(dst []byte, number int, body []byte) []byte {
		dst = binary.AppendUvarint(dst, uint64(number<<3|2))
		return append(binary.AppendUvarint(dst, uint64(len(body))), body...)
	}
	var geom []byte
	for _, v := range geometry {
		geom = binary.AppendUvarint(geom, v)
	}
	feature := field([]byte{3 << 3, byte(typ)}, 4, geom)
	layer := field([]byte{15 << 3, 2}, 1, []byte("x"))
	return field(nil, 3, field(layer, 2, feature))
}

func TestValidateGeometry(t *testing.T) {
	zig := func(v int64) uint64 { return uint64(v<<1^v>>63) & 0xFFFFFFFF }
	ring := func(pts ...int64) []uint64 { // steps
		g := []uint64{9, zig(pts[0]), zig(pts[1]), uint64(len(pts)/2-1)<<3 | 2}
		for _, p := range pts[2:] {
			g = append(g, zig(p))
		}
		return append(g, 15)
	}
	shell := ring(0, 0, 10, 0, 0, 10)
	hole := ring(0, 0, 0, 10, 10, 0)
	for name, c := range map[string]struct {
		tile []byte
		want string // part of the error; empty: valid
	}{
		"shell":          {geometryTile(mvt.Polygon, shell...), ""},
		"shell and hole": {geometryTile(mvt.Polygon, append(shell[:len(shell):len(shell)], hole...)...), ""},
		"hole first":     {geometryTile(mvt.Polygon, hole...), "interior ring before"},
		"no area":        {geometryTile(mvt.Polygon, ring(0, 0, 10, 10, 5, 5)...), "without area"},
		"repeated start": {geometryTile(mvt.Polygon, ring(0, 0, 10, 0, 0, 10, -10, -10)...), "repeats its first point"},
		"no length":      {geometryTile(mvt.Polygon, ring(0, 0, 10, 0, 0, 0, 0, 10)...), "no length"},
		"two points":     {geometryTile(mvt.Polygon, ring(0, 0, 10, 0)...), "fewer than three"},
		"never closed":   {geometryTile(mvt.Polygon, shell[:len(shell)-1]...), "ends within"},
		"too large":      {geometryTile(mvt.Polygon, ring(0, 0, 1<<30, 0, 1, 1)...), "too large"},
		"large": {
			geometryTile(mvt.Polygon, ring(-1<<30, -1<<30, 1<<30, 0, 1<<30, 0, 0, 1<<30, 0, 1<<30, -1<<30, 0, -1<<30, 0)...),
			"",
		},
		"line":             {geometryTile(mvt.LineString, 9, 0, 0, 10, 2, 2), ""},
		"two lines":        {geometryTile(mvt.LineString, 9, 0, 0, 10, 2, 2, 9, 0, 0, 10, 2, 2), ""},
		"line of a point":  {geometryTile(mvt.LineString, 9, 0, 0), "ends within"},
		"repeated move":    {geometryTile(mvt.LineString, 9, 0, 0, 9, 0, 0, 10, 2, 2), "command 1 where 2"},
		"line with two":    {geometryTile(mvt.LineString, 17, 0, 0, 2, 2, 10, 2, 2), "begins with 2"},
		"points":           {geometryTile(mvt.Point, 17, 0, 0, 2, 2), ""},
		"point and more":   {geometryTile(mvt.Point, 9, 0, 0, 9, 2, 2), "follows"},
		"no point":         {geometryTile(mvt.Point, 1), "without a point"},
		"half a point":     {geometryTile(mvt.Point, 9, 0), "fewer are there"},
		"no geometry":      {geometryTile(mvt.Point), "no geometry"},
		"overlong varint":  {geometryTile(mvt.Point, 9, 1<<33, 0), "too large"},
		"two of one name":  {append(geometryTile(mvt.Point, 9, 2, 2), geometryTile(mvt.Point, 9, 2, 2)...), "two layers"},
		"unknown field":    {[]byte{1 << 3, 0}, "not of the specification"},
		"extension":        {[]byte{20<<3&0x7F | 0x80, 1, 0}, ""},
		"layer is a count": {[]byte{3 << 3, 0}, "wrong wire type"},
		"truncated":        {geometryTile(mvt.Point, 9, 2, 2)[:8], "beyond the end"},
	} {
		err := mvt.Validate(c.tile)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestInvalidErrorNamesThePlace(t *testing.T) {
	err := mvt.Validate(geometryTile(mvt.Point, 1))
	var invalid *mvt.InvalidError
	if !errors.As(err, &invalid) || invalid.Layer != "x" || invalid.Feature != 0 {
		t.Errorf("%v", err)
	}
}

// FuzzValidate: the validator returns without a panic for any bytes, and the reader can read each
// tile that it calls valid.
func FuzzValidate(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(fixtures, "[0-9][0-9][0-9]", "tile.mvt"))
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	f.Add(geometryTile(mvt.Polygon, 9, 0, 0, 18, 20, 0, 0, 20, 15))
	f.Fuzz(func(t *testing.T, tile []byte) {
		err := mvt.Validate(tile)
		if err != nil {
			if !errors.Is(err, mvt.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		var v mvt.LayerView
		for len(tile) > 0 {
			rest, ok, err := mvt.NextLayer(tile, &v)
			if err != nil {
				if v.Extent == mvt.Extent || strings.Contains(err.Error(), "extent") {
					return // the reader bounds extents more tightly
				}
				t.Fatal(err)
			}
			if !ok {
				return
			}
			tile = rest
			for i := range v.Len() {
				ft, err := v.Feature(i)
				if err != nil {
					t.Fatal(err)
				}
				if err := v.EachTag(ft, func(_, _ []byte) bool { return true }); err != nil {
					t.Fatal(err)
				}
				if ft.Type == mvt.Unknown {
					continue
				}
				var p mvt.Path
				p.Reset(ft)
				for {
					_, _, ok, err := p.Next(nil)
					if err != nil {
						t.Fatal(err)
					}
					if !ok {
						break
					}
				}
			}
		}
	})
}
