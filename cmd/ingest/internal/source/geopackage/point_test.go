package geopackage

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"quadrille/cmd/ingest/internal/source"
)

func pointBlob(t testing.TB, g orb.Geometry, order binary.ByteOrder) []byte {
	t.Helper()
	body, err := wkb.Marshal(g, order)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("GP\x00\x01\x00\x00\x00\x00"), body...)
}

// decodePoint does the same as decode, for readers that want points.
func decodePoint(blob []byte) (g orb.Geometry, reason, detail string) {
	g, reason, detail = decode(blob, 4326)
	if reason != "" {
		return nil, reason, detail
	}
	p, reason, detail := source.PositionOf(g)
	return p, reason, detail
}

func TestDecodePoint(t *testing.T) {
	at := orb.Point{-200, 95} // the caller checks degrees
	little, nan := binary.LittleEndian, math.NaN()
	z := pointBlob(t, at, little)
	binary.LittleEndian.PutUint32(z[9:], 1001)
	z = append(z, make([]byte, 8)...)
	for name, tc := range map[string]struct {
		blob           []byte
		reason, detail string
	}{
		"little-endian": {blob: pointBlob(t, at, little)},
		"big-endian":    {blob: pointBlob(t, at, binary.BigEndian)},
		"with height":   {blob: z},
		"alone":         {blob: pointBlob(t, orb.MultiPoint{at}, little)},
		"several":       {pointBlob(t, orb.MultiPoint{at, at}, little), source.ReasonNotAPoint, "MultiPoint of 2 positions"},
		"none":          {pointBlob(t, orb.MultiPoint{}, little), source.ReasonNoGeometry, "empty"},
		"empty":         {pointBlob(t, orb.Point{nan, nan}, little), source.ReasonNoGeometry, "empty"},
		"infinite":      {pointBlob(t, orb.Point{math.Inf(1), 1}, little), source.ReasonNotANumber, "[+Inf, 1]"},
		"line":          {pointBlob(t, orb.LineString{at, at}, little), source.ReasonNotAPoint, "LineString"},
		"null":          {nil, source.ReasonNoGeometry, ""},
		"cut off":       {pointBlob(t, at, little)[:20], source.ReasonDamaged, "well-known binary cut off"},
		"kind 5001": {
			append(append(pointBlob(t, at, little)[:9:9], 0x89, 0x13, 0, 0), make([]byte, 16)...),
			source.ReasonUnknownKind,
			"well-known binary of type 5001",
		},
		"extended": {[]byte("GP\x00\x21\x00\x00\x00\x00xxxx"), source.ReasonUnknownKind,
			"GeoPackage geometry of a later or an extended kind"},
	} {
		t.Run(name, func(t *testing.T) {
			g, reason, detail := decodePoint(tc.blob)
			if reason != tc.reason || detail != tc.detail || reason == "" && g != orb.Geometry(at) {
				t.Errorf("%v %q %q", g, reason, detail)
			}
		})
	}
}

func FuzzPoint(f *testing.F) {
	f.Add(pointBlob(f, orb.Point{1, 2}, binary.LittleEndian))
	f.Add(pointBlob(f, orb.MultiPoint{{1, 2}}, binary.BigEndian))
	f.Fuzz(func(t *testing.T, b []byte) {
		kept := slices.Clone(b)
		g, reason, _ := decodePoint(b)
		if p, _ := g.(orb.Point); reason == "" && math.IsNaN(p[0]-p[0]+p[1]-p[1]) {
			t.Fatalf("%q and %v", reason, g)
		}
		if !slices.Equal(kept, b) {
			t.Fatal("the blob was changed")
		}
	})
}
