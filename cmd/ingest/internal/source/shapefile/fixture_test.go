package shapefile_test

import (
	"bytes"
	stdcmp "cmp"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/shapefile"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/cmd/internal/testfile"
)

const wgs84 = `GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]`

// box returns a clockwise ring, the direction of an outer ring; hole returns the reverse.
func box(w, s, e, n float64) orb.Ring {
	return orb.Ring{{w, s}, {w, n}, {e, n}, {e, s}, {w, s}}
}

func hole(w, s, e, n float64) orb.Ring {
	return orb.Ring{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}
}

// record returns the content of a polygon record.
func record(rings ...orb.Ring) []byte { return typed(5, rings...) }

func typed(kind uint32, rings ...orb.Ring) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, kind)
	b = append(b, make([]byte, 32)...) // the bounding box, which no reader uses
	n := 0
	for _, r := range rings {
		n += len(r)
	}
	b = le.AppendUint32(b, uint32(len(rings)))
	b = le.AppendUint32(b, uint32(n))
	at := 0
	for _, r := range rings {
		b = le.AppendUint32(b, uint32(at))
		at += len(r)
	}
	for _, r := range rings {
		for _, p := range r {
			b = le.AppendUint64(b, math.Float64bits(p[0]))
			b = le.AppendUint64(b, math.Float64bits(p[1]))
		}
	}
	switch kind {
	case 15:
		b = append(b, make([]byte, 2*(16+8*n))...)
	case 25:
		b = append(b, make([]byte, 16+8*n)...)
	}
	return b
}

// shp returns a file of records with the given contents.
func shp(kind uint32, contents ...[]byte) []byte {
	be := binary.BigEndian
	b := bytes.Repeat([]byte{0}, 100)
	be.PutUint32(b, 9994)
	binary.LittleEndian.PutUint32(b[28:], 1000)
	binary.LittleEndian.PutUint32(b[32:], kind)
	for i, c := range contents {
		b = be.AppendUint32(b, uint32(i+1))
		b = be.AppendUint32(b, uint32(len(c)/2))
		b = append(b, c...)
	}
	be.PutUint32(b[24:], uint32(len(b)/2))
	return b
}

// shx returns the index of a file from shp.
func shx(b []byte) []byte {
	be := binary.BigEndian
	out := append([]byte(nil), b[:100]...)
	for at := 100; at < len(b); at += 8 + 2*int(be.Uint32(b[at+4:])) {
		out = be.AppendUint32(out, uint32(at/2))
		out = append(out, b[at+4:at+8]...)
	}
	be.PutUint32(out[24:], uint32(len(out)/2))
	return out
}

type column struct {
	name  string
	kind  byte
	width int
}

// dbf returns a table. A row whose first value begins with "*" is deleted.
func dbf(language byte, columns []column, rows ...[]string) []byte {
	size := 1
	for _, c := range columns {
		size += c.width
	}
	le := binary.LittleEndian
	b := bytes.Repeat([]byte{0}, 32)
	b[0] = 3
	le.PutUint32(b[4:], uint32(len(rows)))
	le.PutUint16(b[8:], uint16(32+32*len(columns)+1))
	le.PutUint16(b[10:], uint16(size))
	b[29] = language
	for _, c := range columns {
		f := make([]byte, 32)
		copy(f, c.name)
		f[11], f[16], f[17] = c.kind, byte(c.width), byte(c.width>>8)
		b = append(b, f...)
	}
	b = append(b, 0x0D)
	for _, row := range rows {
		mark := byte(' ')
		if rest, ok := strings.CutPrefix(row[0], "*"); ok && columns[0].kind == 'C' {
			mark, row[0] = '*', rest
		}
		b = append(b, mark)
		for i, c := range columns {
			v := row[i] + strings.Repeat(" ", c.width)
			b = append(b, v[:c.width]...)
		}
	}
	return append(b, 0x1A)
}

var nameOnly = []column{{"NAME", 'C', 20}}

// named returns a table of names.
func named(names ...string) []byte {
	var rows [][]string
	for _, n := range names {
		rows = append(rows, []string{n})
	}
	return dbf(0, nameOnly, rows...)
}

// files writes files into a directory and returns the path of the first .shp.
func files(t testing.TB, content map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	var found string
	for name, b := range content {
		testfile.Write(t, filepath.Join(dir, name), b)
		if strings.HasSuffix(strings.ToLower(name), ".shp") {
			found = filepath.Join(dir, name)
		}
	}
	return found
}

// archive returns a zip of the members, in their order: name, content, …
func archive(members ...any) []byte {
	var list [][2]string
	for i := 0; i < len(members); i += 2 {
		list = append(list, [2]string{members[i].(string), string(members[i+1].([]byte))})
	}
	return []byte(testfile.Zip(list...))
}

// unroll makes steps of more than 300° cross ±180°.
func unroll(r orb.Ring) orb.Ring {
	out := r.Clone()
	for i := 1; i < len(r); i++ {
		step := r[i][0] - r[i-1][0]
		if math.Abs(step) > 300 {
			step -= math.Copysign(360, step)
		}
		out[i][0] = out[i-1][0] + step
	}
	return out
}

// read returns all features, the bad ones as text, and the error that ended reading.
func read(path, layer string) (features []source.Feature, bad []string, err error) {
	f, err := shapefile.Open(path, layer, source.WantPolygons)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	f.Unroll = unroll
	for feature, e := range sourcetest.Decoded(f.Features()) {
		if e == nil { // like a reader of polygons
			var repair, reason, detail string
			feature.Geometry, repair, reason, detail = source.PolygonsOf(feature.Geometry)
			if feature.Repair = stdcmp.Or(feature.Repair, repair); reason != "" {
				e = &source.BadRecord{Line: feature.Line, Reason: reason, Detail: detail}
			}
		}
		if b, ok := e.(*source.BadRecord); ok {
			bad = append(bad, strings.TrimSpace(fmt.Sprintf("%d: %s %s", b.Line, b.Reason, b.Detail)))
			continue
		} else if e != nil {
			return features, bad, e
		}
		features = append(features, feature)
	}
	if p := f.Progress(); p > f.Size {
		err = fmt.Errorf("progress %d of %d", p, f.Size)
	}
	return features, bad, err
}
