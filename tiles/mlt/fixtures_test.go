package mlt_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quadrille/tiles/mlt"
	"quadrille/tiles/mlt/mlttest"
	"quadrille/tiles/mvt"
)

// TestFixtures encodes the content of the specification's fixtures and decodes it again.
// QUADRILLE_MLT_FIXTURES names their directory (test/synthetic). It skips, by name, what a Mapbox
// Vector Tile cannot hold: nested attributes.
func TestFixtures(t *testing.T) {
	dir := os.Getenv("QUADRILLE_MLT_FIXTURES")
	if dir == "" {
		t.Skip("QUADRILLE_MLT_FIXTURES names no directory of the specification's fixtures")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "package") })
	if err != nil || len(files) < 100 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	var p *pairs
	if os.Getenv("QUADRILLE_CLIENTS") != "" {
		p = newPairs(t)
	}
	var e mlt.Encoder
	done := 0
	for _, file := range files {
		tile, ok := fixture(t, file)
		if !ok {
			t.Logf("left out: %s", filepath.Base(file))
			continue
		}
		want, err := fromMVT(tile)
		if err != nil {
			t.Fatal(err)
		}
		table, err := e.AppendTile(nil, tile)
		if err != nil {
			t.Fatal(err)
		}
		got, err := mlttest.Decode(table)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !sameLayers(got, want) && !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got  %v\n want %v", file, got, want)
		}
		if p != nil && !beyondDoubles(want) {
			p.add(tile)
		}
		done++
	}
	t.Logf("%d of %d fixtures", done, len(files))
	if p != nil {
		p.compare()
	}
}

// beyondDoubles reports whether layers have whole numbers or ids beyond 2^53. JavaScript decoders
// of both formats round them and so lose their sign.
func beyondDoubles(layers []mlttest.Layer) bool {
	for _, l := range layers {
		for _, f := range l.Features {
			for _, v := range f.Properties {
				if n, ok := v.(float64); ok && n == math.Trunc(n) && math.Abs(n) > 1<<53 {
					return true
				}
			}
			if f.ID > 1<<53 {
				return true
			}
		}
	}
	return false
}

// fixture returns the vector tile of a fixture.
func fixture(t *testing.T, file string) (tile []byte, ok bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Features []struct {
			ID       uint64
			Geometry struct {
				Type        string
				Coordinates json.RawMessage
			}
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, false // an id or a number that Go's types do not hold
	}
	var l mvt.Layer
	for i, f := range doc.Features {
		if i == 0 {
			name, _ := f.Properties["_layer"].(string)
			extent, _ := f.Properties["_extent"].(float64)
			l.Reset(name)
			l.SetExtent(uint32(extent))
		}
		shape := func(deep any) {
			if err := json.Unmarshal(f.Geometry.Coordinates, deep); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		line := func(points [][2]int32) (all []mvt.XY) {
			for _, p := range points {
				all = append(all, mvt.XY{X: p[0], Y: p[1]})
			}
			return all
		}
		ring := func(points [][2]int32, hole bool) {
			all := line(points)
			all = all[:len(all)-1]
			area := int64(0)
			for i, q := range all {
				next := all[(i+1)%len(all)]
				area += int64(q.X)*int64(next.Y) - int64(next.X)*int64(q.Y)
			}
			if (area > 0) == hole {
				slices.Reverse(all)
			}
			l.Ring(all)
		}
		kinds := map[string]mvt.GeomType{
			"Point":           mvt.Point,
			"MultiPoint":      mvt.Point,
			"LineString":      mvt.LineString,
			"MultiLineString": mvt.LineString,
			"Polygon":         mvt.Polygon,
			"MultiPolygon":    mvt.Polygon,
		}
		l.Begin(f.ID, kinds[f.Geometry.Type])
		var points [][2]int32
		var lines [][][2]int32
		var polygons [][][][2]int32
		switch f.Geometry.Type {
		case "Point":
			points = make([][2]int32, 1)
			shape(&points[0])
		case "MultiPoint":
			shape(&points)
		case "LineString":
			lines = make([][][2]int32, 1)
			shape(&lines[0])
		case "MultiLineString":
			shape(&lines)
		case "Polygon":
			polygons = make([][][][2]int32, 1)
			shape(&polygons[0])
		default:
			shape(&polygons)
		}
		for _, p := range points {
			l.Point(mvt.XY{X: p[0], Y: p[1]})
		}
		for _, p := range lines {
			l.Line(line(p))
		}
		for _, p := range polygons {
			for i, r := range p {
				ring(r, i > 0)
			}
		}
		for name, v := range f.Properties {
			if name == "_layer" || name == "_extent" {
				continue
			}
			switch v := v.(type) {
			case nil:
			case string:
				l.TagString(name, v)
			case bool:
				l.TagBool(name, v)
			case float64:
				if whole := int64(v); float64(whole) == v && v < 1<<63 && v >= -1<<63 {
					l.TagInt(name, whole)
				} else {
					l.TagDouble(name, v)
				}
			default:
				return nil, false
			}
		}
		l.End()
	}
	return l.AppendTo(nil), l.Len() == len(doc.Features) && l.Len() > 0
}
