package shapefile_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/shapefile"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/cmd/internal/testfile"
)

// pointRecord returns the content of a record of that type. Several points make a multipoint.
func pointRecord(kind uint32, points ...orb.Point) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, kind)
	if kind%10 == 8 {
		b = le.AppendUint32(append(b, make([]byte, 32)...), uint32(len(points)))
	}
	for _, p := range points {
		b = le.AppendUint64(le.AppendUint64(b, math.Float64bits(p[0])), math.Float64bits(p[1]))
	}
	return append(b, make([]byte, 16)...) // Z and M
}

func readPoints(path string) (found []string, bad []string, err error) {
	f, err := shapefile.Open(path, "", source.WantPoints)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	for feature, e := range sourcetest.Decoded(f.Features()) {
		var at orb.Point
		if e == nil { // like a reader of points
			var reason, detail string
			if at, reason, detail = source.PositionOf(feature.Geometry); reason != "" {
				e = &source.BadRecord{Line: feature.Line, Reason: reason, Detail: detail}
			}
		}
		if b, ok := e.(*source.BadRecord); ok {
			bad = append(bad, strings.TrimSpace(fmt.Sprintf("%d: %s %s", b.Line, b.Reason, b.Detail)))
			continue
		} else if e != nil {
			return found, bad, e
		}
		found = append(found, fmt.Sprint(feature.Line, at, feature.Properties))
	}
	return found, bad, nil
}

func TestPoints(t *testing.T) {
	content := shp(1, pointRecord(1, orb.Point{8, 47}), pointRecord(11, orb.Point{-200, 95}), pointRecord(21, orb.Point{1, 2}),
		pointRecord(8, orb.Point{3, 4}), pointRecord(8, orb.Point{3, 4}, orb.Point{5, 6}), pointRecord(18), []byte{0, 0, 0, 0},
		pointRecord(1, orb.Point{math.NaN(), 1}), pointRecord(1, orb.Point{-1e39, -1e39}), []byte{1, 0, 0, 0, 0, 0, 0, 0},
		record(box(0, 0, 1, 1)), pointRecord(1, orb.Point{9, 9}))
	path := testfile.WriteTemp(t, "p.shp", content)
	found, bad, err := readPoints(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 [8 47] map[]", "2 [-200 95] map[]", "3 [1 2] map[]", "4 [3 4] map[]", "12 [9 9] map[]"}
	wantBad := []string{
		"5: geometry is not a point MultiPoint of 2 positions", "6: no geometry empty", "7: no geometry",
		"8: coordinate is not a number [NaN, 1]",
		"9: no geometry empty", "10: record is damaged point of 8 bytes", "11: geometry is not a point Polygon",
	}
	if d := cmp.Diff(want, found) + cmp.Diff(wantBad, bad); d != "" {
		t.Error(d)
	}
	if _, _, err := read(path, ""); err == nil || !strings.Contains(err.Error(), "holds points; regions need polygons") {
		t.Error(err)
	}
	if _, _, err := readPoints(testfile.WriteTemp(t, "q.shp", shp(5))); err == nil ||
		!strings.Contains(err.Error(), "holds polygons; a collection needs points") {
		t.Error(err)
	}
}

func FuzzPoints(f *testing.F) {
	f.Add(shp(1, pointRecord(1, orb.Point{8, 47}), pointRecord(8, orb.Point{8, 47})))
	f.Add(shp(11, pointRecord(18, orb.Point{8, 47}, orb.Point{1, 1}), []byte{0, 0, 0, 0}))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := shapefile.Open(testfile.WriteTemp(t, "p.shp", b), "", source.WantPoints)
		if err != nil {
			return
		}
		defer file.Close()
		for feature, err := range sourcetest.Decoded(file.Features()) {
			if err == nil && feature.Geometry == nil {
				t.Fatalf("%+v", feature)
			}
		}
	})
}
