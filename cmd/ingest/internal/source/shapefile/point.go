package shapefile

import (
	"encoding/binary"
	"math"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// Shapes that are points, alone or several, with Z and M behind them or without.
//
//	point       0 type   4 point
//	multipoint  0 type   4 box   36 points   40 points, LE
const (
	typePoint      = 1
	typeMultiPoint = 8

	pointSize      = 4 + 16
	multiPointHead = 40
)

var pointShapes = &shapeKind{
	[]int32{typePoint, 11, 21, typeMultiPoint, 18, 28}, source.NotAPoint,
	"a collection needs points: ingest boundaries takes polygons",
}

// noData is what coordinates are below that are not known.
const noData = -1e38

// pointContent reads a record of points behind its type.
func (s *shapes) pointContent(g *shape, t int32, length int64) error {
	if t%10 == typeMultiPoint {
		if length < multiPointHead+16 {
			g.refuse(source.NoGeometry, "MultiPoint of %d bytes", length)
			return nil
		}
		var head [multiPointHead - 4]byte
		if err := s.read(head[:]); err != nil {
			return err
		}
		if reason, detail := source.OnePoint(int(binary.LittleEndian.Uint32(head[32:]))); reason != "" {
			g.refuse(reason, "%s", detail)
			return nil
		}
	} else if length < pointSize {
		g.refuse(source.Damaged, "point of %d bytes", length)
		return nil
	}
	var b [16]byte
	if err := s.read(b[:]); err != nil {
		return err
	}
	p := orb.Point{math.Float64frombits(binary.LittleEndian.Uint64(b[:])), math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))}
	reason, detail := source.CheckFinite(p[0], p[1])
	switch {
	case p[0] < noData || p[1] < noData:
		g.refuse(source.NoGeometry, "empty")
	case reason != "":
		g.refuse(reason, "%s", detail)
	default:
		g.point = &p
	}
	return nil
}
