package shapefile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/rings"
)

// This is the .shp file: a header of 100 bytes, then records.
//
//	head     0 magic 9994, BE   24 length in 16-bit words, BE   32 shape type, LE
//	record   0 number from 1, BE   4 length of the content in words, BE   8 content
//	.shx     the same head, then for each record   0 offset   4 length of the content, both in words, BE
//	point       0 type   4 point
//	multipoint  0 type   4 box   36 points   40 points, LE
//	others      0 type   4 box   36 rings or lines   40 points   44 first point of each   then points, LE
//
// Shapes with Z or M have those values after the points.
const (
	headSize    = 100
	magic       = 9994
	pointSize   = 20
	pointsHead  = 40
	polygonHead = 44

	typeNull       = 0
	typePoint      = 1
	typeLines      = 3
	typePolygon    = 5
	typeMultiPoint = 8
	typeSurfaces   = 31

	// noData is the bound below which coordinates are unknown.
	noData = -1e38
)

// plain returns a type of shape without its Z and M.
func plain(t int32) int32 {
	if z := t % 10; 0 < t && t < typeSurfaces && z > 0 { // 10 is no null
		return z
	}
	return t
}

var typeNames = map[int32]string{
	typePolygon: string(source.WantPolygons), typePoint: string(source.WantPoints), typeMultiPoint: string(source.WantPoints),
	typeLines: "lines", typeSurfaces: "surfaces in space",
}

// needs has the advice for a file that lacks the wanted shapes.
var needs = map[source.Want]string{
	source.WantPolygons: "regions need polygons or lines",
	source.WantPoints:   "a collection needs points: ingest boundaries takes polygons",
}

// shapes reads the records of a .shp file.
type shapes struct {
	r      *bufio.Reader
	seeker io.ReadSeeker // beneath r; nil in an archive
	offset int64         // of r
	end    int64         // according to the header
	count  int           // records read so far

	index   *bufio.Reader // nil if there is none
	records int           // according to the index
	indexed int64         // bytes of the records it has named

	starts []uint32    // of the current record; reused
	buf    [16384]byte // of points
}

var errTruncated = errors.New("is truncated; fetch it again")

func newShapes(r *bufio.Reader, seeker io.ReadSeeker, size int64, want source.Want) (*shapes, error) {
	s := &shapes{r: r, seeker: seeker, offset: headSize}
	var err error
	var head [headSize]byte
	if head, s.end, err = readHead(r, size); err != nil {
		return nil, err
	}
	if t := int32(binary.LittleEndian.Uint32(head[32:])); t != typeNull && typeNames[plain(t)] != string(want) &&
		(want != source.WantPolygons || plain(t) != typeLines) {
		what := typeNames[plain(t)]
		if what == "" {
			what = fmt.Sprintf("shapes of type %d", t)
		}
		return nil, fmt.Errorf("holds %s; %s", what, needs[want])
	}
	return s, nil
}

// readHead reads the header of a .shp or .shx file, and the length of the file that the header
// claims.
func readHead(r *bufio.Reader, size int64) (head [headSize]byte, end int64, err error) {
	if _, err := io.ReadFull(r, head[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return head, 0, fmt.Errorf("not a shapefile: %w", errTruncated)
	} else if err != nil {
		return head, 0, err
	}
	if binary.BigEndian.Uint32(head[0:]) != magic {
		return head, 0, errors.New("not a shapefile; name a .shp file, or the .zip it came in")
	}
	end = 2 * int64(binary.BigEndian.Uint32(head[24:]))
	switch {
	case end < headSize:
		return head, 0, errors.New("its head says that it has no content; repair it with: ogr2ogr out.shp in.shp")
	case end > size:
		return head, 0, fmt.Errorf("should have %d bytes and has %d: it %w", end, size, errTruncated)
	}
	return head, end, nil
}

// withIndex finds the records by a .shx file. In a file that has been edited in place, the remains
// of old records may lie between the records, or the records are out of order.
func (s *shapes) withIndex(r *bufio.Reader, size int64) error {
	_, end, err := readHead(r, size)
	if err != nil {
		return err
	}
	s.index, s.records = r, int((end-headSize)/8)
	return nil
}

// find goes to the next record and returns the length of its content, or false after the last. A
// length of 0 means that the record is missing.
func (s *shapes) find() (length int64, more bool, err error) {
	if s.index == nil {
		return -1, s.offset < s.end, nil
	}
	if s.count == s.records {
		return 0, false, nil
	}
	var entry [8]byte
	if _, err := io.ReadFull(s.index, entry[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, false, fmt.Errorf(".shx %w", errTruncated)
	} else if err != nil {
		return 0, false, err
	}
	offset, length := 2*int64(binary.BigEndian.Uint32(entry[:])), 2*int64(binary.BigEndian.Uint32(entry[4:]))
	switch {
	case length == 0:
		return 0, true, nil
	case offset < headSize || offset > s.end-8:
		return 0, false, fmt.Errorf(".shx has it at byte %d of %d; the .shp and the .shx do not belong together, or one is truncated", offset, s.end)
	}
	if s.indexed += 8 + length; s.indexed > s.end-headSize {
		return 0, false, errors.New(".shx has records that overlap; the .shp and the .shx do not belong together")
	}
	switch {
	case offset >= s.offset:
		return length, true, s.skip(offset - s.offset)
	case s.seeker == nil:
		return 0, false, errors.New("lies before another that comes before it; unpack the archive and name the .shp")
	}
	if _, err := s.seeker.Seek(offset, io.SeekStart); err != nil {
		return 0, false, err
	}
	s.r.Reset(s.seeker)
	s.offset = offset
	return length, true, nil
}

func (s *shapes) read(p []byte) error {
	n, err := io.ReadFull(s.r, p)
	s.offset += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errTruncated
	}
	return err
}

func (s *shapes) skip(n int64) error {
	for n > 0 {
		k, err := s.r.Discard(int(min(n, 1<<20)))
		s.offset += int64(k)
		n -= int64(k)
		if errors.Is(err, io.EOF) {
			return errTruncated
		} else if err != nil {
			return err
		}
	}
	return nil
}

// shape is the content of a record, or the reason why it has none.
type shape struct {
	geometry       orb.Geometry
	repair         string
	reason, detail string
	unroll         func(orb.Ring) orb.Ring // nil: as drawn
}

func (g *shape) refuse(reason, format string, args ...any) {
	g.reason, g.detail = reason, fmt.Sprintf(format, args...)
}

// next reads a record. It returns false after the last.
func (s *shapes) next(g *shape) (bool, error) {
	fail := func(err error) error { return fmt.Errorf("record %d: %w", s.count+1, err) }
	indexed, more, err := s.find()
	if err != nil || !more {
		if err != nil {
			err = fail(err)
		}
		return false, err
	}
	if indexed == 0 {
		s.count++
		g.refuse(source.ReasonNoGeometry, "")
		return true, nil
	}
	var head [8]byte
	if s.end-s.offset < int64(len(head)) {
		return false, fail(errTruncated)
	}
	if err := s.read(head[:]); err != nil {
		return false, fail(err)
	}
	n, length := binary.BigEndian.Uint32(head[0:]), 2*int64(binary.BigEndian.Uint32(head[4:]))
	switch {
	case indexed > 0 && length != indexed:
		return false, fail(fmt.Errorf("content of %d bytes, by the .shx of %d; the two do not belong together: fetch them again",
			length, indexed))
	case indexed < 0 && n != uint32(s.count+1):
		// An editor that changes a shape in place may leave the old record behind and append the
		// new one. Sequential reading would give outdated borders.
		return false, fail(fmt.Errorf("is numbered %d: the records are not in order; put the .shx that belongs to it beside it", n))
	case length < 4 || length > s.end-s.offset:
		return false, fail(fmt.Errorf("content of %d bytes, with %d left in the file: it %w", length, s.end-s.offset, errTruncated))
	}
	end := s.offset + length
	if err := s.content(g, length); err != nil {
		return false, fail(err)
	}
	if err := s.skip(end - s.offset); err != nil {
		return false, fail(err)
	}
	s.count++
	return true, nil
}

func (s *shapes) content(g *shape, length int64) error {
	var head [polygonHead]byte
	if err := s.read(head[:4]); err != nil {
		return err
	}
	t := int32(binary.LittleEndian.Uint32(head[:]))
	size, what := int64(polygonHead), "polygon"
	switch plain(t) {
	case typeNull:
		g.refuse(source.ReasonNoGeometry, "")
		return nil
	case typePoint:
		size, what = pointSize, "point"
	case typeMultiPoint:
		size, what = pointsHead, "multipoint"
	case typePolygon, typeLines:
	default:
		g.refuse(source.ReasonUnknownKind, "shape type %d", t)
		return nil
	}
	if length < size {
		g.refuse(source.ReasonDamaged, "%s of %d bytes", what, length)
		return nil
	}
	if err := s.read(head[4:size]); err != nil {
		return err
	}
	parts, points := int64(0), int64(0)
	switch size {
	case pointSize:
		p := position(head[4:])
		if g.geometry = p; p[0] < noData || p[1] < noData {
			g.geometry = orb.MultiPoint{}
		}
		return nil
	case pointsHead:
		points = int64(binary.LittleEndian.Uint32(head[36:]))
	case polygonHead:
		parts, points = int64(binary.LittleEndian.Uint32(head[36:])), int64(binary.LittleEndian.Uint32(head[40:]))
	}
	if !g.holds(parts, points, size, length) {
		return nil
	}
	if parts > 0 {
		if ok, err := s.readStarts(int(parts), uint32(points)); err != nil {
			return err
		} else if !ok {
			g.refuse(source.ReasonDamaged, "rings do not follow each other")
			return nil
		}
	}
	all, err := s.readPoints(int(points))
	if err != nil {
		return err
	}
	if plain(t) == typePolygon {
		parted := make([]orb.Ring, parts)
		for i := range parted {
			parted[i] = orb.Ring(all[s.starts[i]:s.starts[i+1]:s.starts[i+1]])
		}
		g.geometry, g.repair, g.reason, g.detail = rings.Assemble(parted, g.unroll)
		return nil
	}
	if plain(t) == typeLines {
		lines := make(orb.MultiLineString, parts)
		for i := range lines {
			lines[i] = orb.LineString(all[s.starts[i]:s.starts[i+1]])
		}
		g.geometry = lines
		return nil
	}
	// Unknown positions are left out. POINT EMPTY within a multipoint is such a position.
	g.geometry = orb.MultiPoint(slices.DeleteFunc(all, func(p orb.Point) bool { return p[0] < noData || p[1] < noData }))
	return nil
}

// holds reports whether a shape of length bytes, which begins with a head of size bytes, has room
// for these numbers of parts and points. If not, it is refused.
func (g *shape) holds(parts, points, size, length int64) bool {
	switch {
	case points > source.MaxVertices:
		g.refuse(source.ReasonTooManyPoints, "%d", points)
	case size == pointsHead && size+16*points > length:
		g.refuse(source.ReasonDamaged, "%d points in %d bytes", points, length)
	case parts > points || size+4*parts+16*points > length:
		g.refuse(source.ReasonDamaged, "%d rings of %d points in %d bytes", parts, points, length)
	case parts > maxRings:
		g.refuse(source.ReasonTooManyPoints, "%d rings", parts)
	case parts == 0 && size == polygonHead:
		g.refuse(source.ReasonNoGeometry, "no rings")
	default:
		return true
	}
	return false
}

// readStarts reads where each ring begins, and adds the end of the last. It
// returns false if that is impossible.
func (s *shapes) readStarts(rings int, points uint32) (bool, error) {
	s.starts = s.starts[:0]
	var b [4]byte
	ok := true
	for range rings {
		if err := s.read(b[:]); err != nil {
			return false, err
		}
		n := binary.LittleEndian.Uint32(b[:])
		if last := len(s.starts) - 1; n > points || last >= 0 && n < s.starts[last] || last < 0 && n != 0 {
			ok = false
		}
		s.starts = append(s.starts, n)
	}
	s.starts = append(s.starts, points)
	return ok, nil
}

// readPoints grows its slice as points are read, and not by the number that the
// record claims: the length of a file in an archive is a claim too.
func (s *shapes) readPoints(n int) ([]orb.Point, error) {
	all := make([]orb.Point, 0, min(n, len(s.buf)))
	for len(all) < n {
		part := s.buf[:min(len(s.buf), 16*(n-len(all)))]
		if err := s.read(part); err != nil {
			return nil, err
		}
		for ; len(part) > 0; part = part[16:] {
			all = append(all, position(part))
		}
	}
	return all, nil
}

// maxRings is the greatest number of rings in a shape, because each ring takes memory.
const maxRings = 1 << 20

func position(b []byte) orb.Point {
	return orb.Point{math.Float64frombits(binary.LittleEndian.Uint64(b)), math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))}
}
