package wkb

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// geometry writes well-known binary: uint32s and float64s in a byte order, and already encoded
// parts.
func geometry(order binary.AppendByteOrder, parts ...any) string {
	b := []byte{1}
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b[0] = 0
	}
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = order.AppendUint32(b, uint32(p))
		case float64:
			b = order.AppendUint64(b, math.Float64bits(p))
		case string:
			b = append(b, p...)
		}
	}
	return string(b)
}

func TestDecode(t *testing.T) {
	little, big := binary.AppendByteOrder(binary.LittleEndian), binary.AppendByteOrder(binary.BigEndian)
	nan := math.NaN()
	at := func(lon, lat float64) string { return geometry(little, 1, lon, lat) }
	square := orb.Ring{{0, 0}, {1, 0}, {0, 1}, {0, 0}}
	for _, c := range []struct {
		name string
		b    string
		want orb.Geometry
		srid uint32
	}{
		{"a point", at(8.5, 47.4), orb.Point{8.5, 47.4}, 0},
		{"big end first", geometry(big, 1, 8.5, 47.4), orb.Point{8.5, 47.4}, 0},
		{"ISO's with height", geometry(little, 1001, 1., 2., 3.), orb.Point{1, 2}, 0},
		{"ISO's with height and measure", geometry(little, 3001, 1., 2., 3., 4.), orb.Point{1, 2}, 0},
		{"flags for height and measure", geometry(little, 1|3<<30, 1., 2., 3., 4.), orb.Point{1, 2}, 0},
		{"PostGIS's", geometry(little, 1|1<<29, 4326, 1., 2.), orb.Point{1, 2}, 4326},
		{"an empty point", at(nan, nan), orb.MultiPoint{}, 0},
		{"a line with heights", geometry(little, 1002, 2, 1., 2., 9., 3., 4., 9.), orb.LineString{{1, 2}, {3, 4}}, 0},
		{"an empty polygon", geometry(little, 3, 0), orb.Polygon{}, 0},
		{"points", geometry(little, 4, 3, at(1, 2), at(nan, nan), at(3, 4)), orb.MultiPoint{{1, 2}, {3, 4}}, 0},
		{"polygons", geometry(little, 6, 1, geometry(little, 3, 1, 4, 0., 0., 1., 0., 0., 1., 0., 0.)), orb.MultiPolygon{{square}}, 0},
		{
			"a surface of polygons",
			geometry(little, 12, 1, geometry(little, 17, 1, 4, 0., 0., 1., 0., 0., 1., 0., 0.)),
			orb.Collection{orb.Polygon{square}},
			0,
		},
		{"a collection", geometry(little, 7, 2, at(1, 2), geometry(little, 2, 0)), orb.Collection{orb.Point{1, 2}, orb.LineString{}}, 0},
		{
			"points among which is a line",
			geometry(little, 4, 2, at(1, 2), geometry(little, 2, 0)),
			orb.Collection{orb.Point{1, 2}, orb.LineString{}},
			0,
		},
	} {
		g, srid, reason, detail := Decode([]byte(c.b))
		if reason != "" || !reflect.DeepEqual(g, c.want) || srid != c.srid {
			t.Errorf("%s: %#v, %d, %s %s", c.name, g, srid, reason, detail)
		}
		for cut := range len(c.b) { // none panics, and none is whole
			if g, _, reason, _ := Decode([]byte(c.b[:cut])); reason != source.ReasonDamaged || g != nil {
				t.Errorf("%s cut off after %d bytes: %#v, %q", c.name, cut, g, reason)
			}
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	little := binary.AppendByteOrder(binary.LittleEndian)
	nested := geometry(little, 1, 1., 2.)
	for range maxDepth + 1 {
		nested = geometry(little, 7, 1, nested)
	}
	for _, c := range []struct{ name, b, reason, says string }{
		{"another order of bytes", "\x02", source.ReasonDamaged, "cut off"},
		{"another order of bytes", "\x02\x01\x00\x00\x00", source.ReasonDamaged, "byte order 2"},
		{"a kind that is not read", geometry(little, 10, 0), source.ReasonUnknownKind, "CurvePolygon"},
		{"a kind that nobody knows", geometry(little, 99, 0), source.ReasonUnknownKind, "type 99"},
		{"dimensions that nobody knows", geometry(little, 4001, 0), source.ReasonUnknownKind, "type 4001"},
		{"a part with its own system", geometry(little, 7, 1, geometry(little, 1|1<<29, 4326, 1., 2.)), source.ReasonDamaged, "its own"},
		{"nested", nested, source.ReasonTooManyPoints, "nested"},
		{"a line longer than its bytes", geometry(little, 2, 1<<31-1, 1., 2.), source.ReasonDamaged, "cut off"},
		{"more rings than bytes", geometry(little, 3, 1<<31-1, 1., 2.), source.ReasonDamaged, "cut off"},
		{"more parts than bytes", geometry(little, 7, 1<<31-1), source.ReasonDamaged, "cut off"},
		{"more rings than are borne", geometry(little, 3, maxParts+1, strings.Repeat("\x00", 4*(maxParts+1))), source.ReasonTooManyPoints,
			"rings"},
	} {
		g, _, reason, detail := Decode([]byte(c.b))
		if g != nil || reason != c.reason || !strings.Contains(detail, c.says) {
			t.Errorf("%s (%s…): %v, %q, %q", c.name, hex.EncodeToString([]byte(c.b[:min(len(c.b), 9)])), g, reason, fmt.Sprintf("%.80s", detail))
		}
	}
}
