// Package osm reads regions, lines and points of OpenStreetMap from files of format PBF or in XML: elements that
// have certain tags.
//
// The file is read three times: for relations, for their ways, and for the nodes of these. What is between is sorted on
// disk, so that memory does not grow with the file. Elements must be sorted by kind and number, as programs write them.
package osm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/extsort"
	"quadrille/internal/jsontext"
)

// IsPBF reports whether a file begins as one of format PBF does: with the length and the header of a blob of a known type.
func IsPBF(head []byte) bool {
	if len(head) < 16 || head[0] != 0 || head[1] != 0 {
		return false
	}
	begin := head[4:min(len(head), 64)]
	return bytes.Contains(begin, []byte("\x0a\x09OSMHeader")) || bytes.Contains(begin, []byte("\x0a\x07OSMData"))
}

// headBytes is enough to know a file.
const headBytes = 512

// IsXML reports whether a file begins as one in XML does.
func IsXML(head []byte) bool {
	head = bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")
	return bytes.HasPrefix(head, []byte{'<'}) && bytes.Contains(head[:min(len(head), headBytes)], []byte("<osm "))
}

// Tag is a condition of an element: a key with one of several values, or with any if there are none.
type Tag struct {
	Key    string
	Values []string
}

// ParseTags reads conditions that all must hold, such as boundary=administrative,admin_level=8 or amenity=cafe|bar.
func ParseTags(text string) (all []Tag, err error) {
	for _, part := range strings.Split(text, ",") {
		key, value, valued := strings.Cut(strings.TrimSpace(part), "=")
		if key == "" || valued && value == "" {
			return nil, fmt.Errorf("%s names no tags; write them as boundary=administrative,admin_level=8", source.Excerpt(text))
		}
		t := Tag{Key: key}
		if valued && value != "*" {
			t.Values = strings.Split(value, "|")
		}
		all = append(all, t)
	}
	return all, nil
}

// FormatTags writes conditions as ParseTags reads them.
func FormatTags(all []Tag) string {
	var parts []string
	for _, t := range all {
		if len(t.Values) > 0 {
			t.Key += "=" + strings.Join(t.Values, "|")
		}
		parts = append(parts, t.Key)
	}
	return strings.Join(parts, ",")
}

// ErrTags is matched by the error for reading without tags.
var ErrTags = errors.New("it has everything there is")

// Options say what is read.
type Options struct {
	Tags   []Tag
	Want   source.Want // areas become points within them for WantPoints
	Dir    string      // for temporary files
	Memory int64       // for each of several sorts; 0: 64 MiB
}

// Reader reads a file once. It belongs to one goroutine, but for Progress.
type Reader struct {
	o    Options
	path string
	size int64
	done atomic.Int64
	base int64 // of done, from earlier readings

	features []*element
	uses     []use // of ways, sorted by them
	values   []byte
	members  []source.Member

	broken  []string // what could not be made, the first ones
	left    int      // all of them
	held    int64    // bytes of the tags of features
	cut     int64    // tags that are too long
	open    int      // ways that are no areas, left out of points
	missing int64    // nodes that are not in the file
}

// element is a relation or way that becomes a feature.
type element struct {
	id      string // relation/1
	members []byte // its tags as a list of names and JSON texts, each after its length
	area    bool   // its closed ways are rings
	ways    int
}

// use says that a way belongs to an element.
type use struct {
	way     int64
	element int32
}

// These are bounds of what is in memory.
const (
	maxElements = 4 << 20
	maxUses     = 32 << 20
	maxHeld     = 512 << 20 // bytes of tags
	maxTag      = 4 << 10   // bytes of a key or value; OpenStreetMap has 255 letters
	maxTagged   = 64 << 10  // bytes of the tags of an element
	mostBroken  = 20
	readings    = 3
)

// Open opens a file.
func Open(path string, o Options) (*Reader, error) {
	if len(o.Tags) == 0 {
		return nil, fmt.Errorf("%s: is data of OpenStreetMap: %w; say what you want of it by --tags, such as --tags "+
			"boundary=administrative,admin_level=8 or --tags amenity=cafe", path, ErrTags)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if o.Memory == 0 {
		o.Memory = 64 << 20
	}
	return &Reader{o: o, path: path, size: info.Size()}, nil
}

// Size and Progress are the work of all readings, and what of it is done, in bytes.
func (r *Reader) Size() int64 { return readings * r.size }

// Progress is described at Size.
func (r *Reader) Progress() int64 { return r.done.Load() }

// Notes returns what was left out so far.
func (r *Reader) Notes() (notes []string) {
	for _, b := range r.broken {
		notes = append(notes, r.path+": "+b)
	}
	if more := r.left - len(r.broken); more > 0 {
		notes = append(notes, fmt.Sprintf("%s: and %d more areas or lines cannot be made", r.path, more))
	}
	if r.open > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d ways that are no areas are no points, and left out", r.path, r.open))
	}
	if r.cut > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d tags are too long and left out", r.path, r.cut))
	}
	if r.missing > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d nodes of ways are not in the file", r.path, r.missing))
	}
	return notes
}

func (r *Reader) breaks(e *element, why string) {
	if r.left++; len(r.broken) < mostBroken {
		name := ""
		r.each(e, func(key string, value []byte) {
			if key == "name" {
				name = " " + string(value)
			}
		})
		r.broken = append(r.broken, fmt.Sprintf("%s%s is broken and left out: %s", e.id, name, why))
	}
}

// scan reads the file once more.
func (r *Reader) scan(ctx context.Context, h *handler) error {
	in, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	read := scan
	first := bufio.NewReaderSize(in, 256<<10)
	if head, _ := first.Peek(headBytes); IsXML(head) { // reading returns the error
		read = scanXML
	}
	err = read(first, h, func(n int64) { r.done.Store(r.base + n) })
	if err == nil {
		r.base += r.size
		err = ctx.Err()
	}
	return err
}

// wanted reports whether an element has the tags.
func (r *Reader) wanted(t *tags) bool {
	for _, want := range r.o.Tags {
		value, has := t.get(want.Key)
		if !has || len(want.Values) > 0 && !slices.Contains(want.Values, string(value)) {
			return false
		}
	}
	return true
}

// packed returns the tags as element.members has them.
func (r *Reader) packed(t *tags) (out []byte) {
	for i, k := range t.keys {
		if size := len(t.table[k]) + len(t.table[t.vals[i]]); size > maxTag || len(out)+size > maxTagged {
			r.cut++
			continue
		}
		for _, b := range [][]byte{t.table[k], t.table[t.vals[i]]} {
			out = binary.AppendUvarint(out, uint64(len(b)))
			out = append(out, b...)
		}
	}
	return out
}

// each calls fn with the tags of an element.
func (r *Reader) each(e *element, fn func(key string, value []byte)) {
	rest := e.members
	next := func() []byte {
		n, size := binary.Uvarint(rest)
		b := rest[size : size+int(n)]
		rest = rest[size+int(n):]
		return b
	}
	for len(rest) > 0 {
		key := next()
		fn(string(key), next())
	}
}

// describe returns a feature with the tags of an element.
func (r *Reader) describe(e *element, number int) source.Feature {
	r.values, r.members = r.values[:0], r.members[:0]
	f := source.Feature{ID: e.id, Line: number}
	r.each(e, func(key string, value []byte) {
		from := len(r.values)
		r.values = jsontext.AppendString(r.values, string(value))
		r.members = append(r.members, source.Member{Name: key, Value: r.values[from:len(r.values):len(r.values)]})
	})
	f.Members = r.members
	return f
}

func (r *Reader) add(e *element, ways ...int64) error {
	if len(r.features) == maxElements || len(r.uses)+len(ways) > maxUses {
		return fmt.Errorf("more than %d elements or %d of their ways have these tags: name tags that fewer have", maxElements, maxUses)
	}
	if r.held += int64(len(e.members)) + 64; r.held > maxHeld {
		return fmt.Errorf("the tags of the elements take more than %d MiB: name tags that fewer have", maxHeld>>20)
	}
	slices.Sort(ways)
	ways = slices.Compact(ways)
	for _, w := range ways {
		r.uses = append(r.uses, use{w, int32(len(r.features))})
	}
	e.ways = len(ways)
	r.features = append(r.features, e)
	return nil
}

// errUnsorted is the error for a file whose nodes are not in order.
var errUnsorted = errors.New("its nodes are not in the order of their numbers, as in answers of Overpass and exports of editors; " +
	"sort them by: osmium sort FILE -o sorted.osm.pbf")

// Features yields the elements: points first, and then areas and lines in the order of their numbers, relations first.
// What cannot be made is told by Notes. An error ends the sequence.
func (r *Reader) Features(ctx context.Context) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		stopped := errors.New("stopped")
		number := 0
		err := r.run(ctx, func(f source.Feature) error {
			number++
			f.Line = number
			if !yield(f, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, errUnsorted):
				err = fmt.Errorf("%s: %w", r.path, err)
			default:
				err = fmt.Errorf("%s: is no whole file of OpenStreetMap: %w", r.path, err)
			}
			yield(source.Feature{}, err)
		}
	}
}

func (r *Reader) run(ctx context.Context, yield func(source.Feature) error) (err error) {
	err = r.scan(ctx, &handler{relation: func(id int64, t *tags, members []member) error {
		kind, _ := t.get("type")
		if !r.wanted(t) || string(kind) != "multipolygon" && string(kind) != "boundary" {
			return nil
		}
		var ways []int64
		for _, m := range members {
			if m.isWay {
				ways = append(ways, m.id)
			}
		}
		return r.add(&element{id: "relation/" + strconv.FormatInt(id, 10), members: r.packed(t), area: true}, ways...)
	}})
	if err != nil {
		return err
	}
	nodes := extsort.New(r.o.Dir, r.o.Memory)
	defer func() { err = errors.Join(err, nodes.Close()) }()
	if err := r.readWays(ctx, nodes); err != nil {
		return err
	}
	points := extsort.New(r.o.Dir, r.o.Memory)
	defer func() { err = errors.Join(err, points.Close()) }()
	if err := r.readNodes(ctx, nodes, points, yield); err != nil {
		return err
	}
	return r.assemble(ctx, points, yield)
}

// A value in the sort of nodes is the way, the place of the node in it, and how many it has.
const placeSize = 8 + 4 + 4

// readWays reads the ways of elements, and those that are elements themselves.
func (r *Reader) readWays(ctx context.Context, nodes *extsort.Sorter) error {
	byWay := func(a, b use) int { return cmp.Or(cmp.Compare(a.way, b.way), cmp.Compare(a.element, b.element)) }
	slices.SortFunc(r.uses, byWay)
	relations := r.uses
	value := make([]byte, placeSize)
	err := r.scan(ctx, &handler{way: func(id int64, t *tags, refs []int64) error {
		_, used := slices.BinarySearchFunc(relations, id, func(u use, id int64) int { return cmp.Compare(u.way, id) })
		if r.wanted(t) && len(refs) > 0 {
			area := r.isArea(t, refs)
			if !area && r.o.Want == source.WantPoints {
				r.open++
			} else if err := r.add(&element{id: "way/" + strconv.FormatInt(id, 10), members: r.packed(t), area: area}, id); err != nil {
				return err
			} else {
				used = true
			}
		}
		if !used {
			return nil
		}
		if len(refs) > source.MaxVertices {
			return fmt.Errorf("way %d has %d nodes", id, len(refs))
		}
		binary.BigEndian.PutUint64(value, uint64(id))
		binary.BigEndian.PutUint32(value[12:], uint32(len(refs)))
		for i, n := range refs {
			binary.BigEndian.PutUint32(value[8:], uint32(i))
			if err := nodes.Add(ordered(n), value); err != nil {
				return err
			}
		}
		return nil
	}})
	slices.SortFunc(r.uses, byWay)
	return err
}

// isArea reports whether a way is an area by itself: it is closed, and neither its tag area nor what is asked for says
// that it is a line.
func (r *Reader) isArea(t *tags, refs []int64) bool {
	if len(refs) < 4 || refs[0] != refs[len(refs)-1] {
		return false
	}
	if area, has := t.get("area"); has {
		return string(area) != "no"
	}
	for _, want := range r.o.Tags {
		switch want.Key {
		case "highway", "barrier", "railway", "waterway", "route", "aerialway", "power":
		default:
			return true
		}
	}
	return false
}

// readNodes gives the nodes of ways their positions. Nodes with the tags are points.
func (r *Reader) readNodes(ctx context.Context, nodes, points *extsort.Sorter, yield func(source.Feature) error) error {
	type place struct {
		node  uint64
		value []byte
	}
	next, stop := iter.Pull2(func(yield func(place, error) bool) {
		err := nodes.Each(func(key uint64, value []byte) error {
			if !yield(place{key, value}, nil) {
				return io.EOF
			}
			return nil
		})
		if err != nil && !errors.Is(err, io.EOF) {
			yield(place{}, err)
		}
	})
	defer stop()
	wanted, err, more := next()
	last := uint64(0)
	out := make([]byte, 8+8+8+8)
	scanErr := r.scan(ctx, &handler{node: func(id, lat, lon int64, t *tags) error {
		if err != nil {
			return err
		}
		if ordered(id) < last {
			return errUnsorted
		}
		last = ordered(id)
		for ; more && wanted.node < ordered(id); wanted, err, more = next() {
			r.missing++
		}
		for ; more && wanted.node == ordered(id); wanted, err, more = next() {
			copy(out, wanted.value[8:])
			binary.BigEndian.PutUint64(out[8:], uint64(id))
			binary.BigEndian.PutUint64(out[16:], uint64(lat))
			binary.BigEndian.PutUint64(out[24:], uint64(lon))
			if err := points.Add(binary.BigEndian.Uint64(wanted.value), out); err != nil {
				return err
			}
		}
		if r.o.Want != source.WantPoints || len(t.keys) == 0 || !r.wanted(t) {
			return err
		}
		f := r.describe(&element{id: "node/" + strconv.FormatInt(id, 10), members: r.packed(t)}, 0)
		f.Geometry = orb.Point{degrees(lon), degrees(lat)}
		return yield(f)
	}})
	if scanErr != nil || err != nil {
		return cmp.Or(scanErr, err)
	}
	for ; more; wanted, err, more = next() {
		r.missing++
	}
	return err
}

// ordered returns a key that sorts as programs sort elements: 0, negative numbers, which editors give to new elements, and
// positive ones, each by their amount.
func ordered(n int64) uint64 {
	if n > 0 {
		return 1<<63 | uint64(n)
	}
	return uint64(-n)
}

func degrees(nano int64) float64 { return float64(nano) / 1e9 }

// assemble makes the areas and lines.
func (r *Reader) assemble(ctx context.Context, points *extsort.Sorter, yield func(source.Feature) error) (err error) {
	lines := extsort.New(r.o.Dir, r.o.Memory)
	defer func() { err = errors.Join(err, lines.Close()) }()
	var way uint64
	var line []vertex
	whole := 0 // nodes that the way has
	flush := func() error {
		if len(line) < whole || whole == 0 { // no shape without all its nodes
			line = line[:0]
			return nil
		}
		slices.SortFunc(line, func(a, b vertex) int { return cmp.Compare(a.place, b.place) })
		value := encode(line)
		from, _ := slices.BinarySearchFunc(r.uses, int64(way), func(u use, id int64) int { return cmp.Compare(u.way, id) })
		for _, u := range r.uses[from:] {
			if u.way != int64(way) {
				break
			}
			if err := lines.Add(uint64(u.element), value); err != nil {
				return err
			}
		}
		line = line[:0]
		return ctx.Err()
	}
	err = points.Each(func(key uint64, value []byte) error {
		if key != way {
			if err := flush(); err != nil {
				return err
			}
			way, whole = key, int(binary.BigEndian.Uint32(value[4:]))
		}
		line = append(line, vertex{
			place: binary.BigEndian.Uint32(value), node: int64(binary.BigEndian.Uint64(value[8:])),
			lat: int64(binary.BigEndian.Uint64(value[16:])), lon: int64(binary.BigEndian.Uint64(value[24:])),
		})
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	number := 0
	var ways [][]vertex
	vertices := 0
	finish := func(until int) error {
		for ; number < until; number++ {
			if err := r.finish(r.features[number], ways, vertices, yield); err != nil {
				return err
			}
			ways, vertices = nil, 0
		}
		return ctx.Err()
	}
	err = lines.Each(func(key uint64, value []byte) error {
		if err := finish(int(key)); err != nil {
			return err
		}
		if vertices += len(value) / vertexSize; vertices <= source.MaxVertices {
			ways = append(ways, decode(value))
		}
		return nil
	})
	if err == nil {
		err = finish(len(r.features))
	}
	return err
}

// finish makes the geometry of an element and yields it.
func (r *Reader) finish(e *element, ways [][]vertex, vertices int, yield func(source.Feature) error) error {
	var g orb.Geometry
	why := ""
	switch {
	case vertices > source.MaxVertices:
		why = source.ReasonTooManyPoints
	case len(ways) < e.ways:
		why = fmt.Sprintf("%d of its %d ways are not in the file, or not whole", e.ways-len(ways), e.ways)
	case !e.area:
		var line orb.LineString
		for i := range ways[0] {
			line = append(line, ways[0][i].point())
		}
		if g = line; len(line) < 2 {
			why = "it has fewer than two positions"
		}
	default:
		g, why = polygons(ways)
	}
	if p, is := g.(orb.MultiPolygon); is && why == "" && r.o.Want == source.WantPoints {
		g = inside(p)
	}
	if why != "" {
		r.breaks(e, why)
		return nil
	}
	f := r.describe(e, 0)
	f.Geometry = g
	return yield(f)
}

// vertex is a node of a way. Its position is in units of 1e-9 degrees.
type vertex struct {
	place          uint32
	node, lat, lon int64
}

func (v *vertex) point() orb.Point { return orb.Point{degrees(v.lon), degrees(v.lat)} }

const vertexSize = 8 + 8 + 8

func encode(line []vertex) []byte {
	out := make([]byte, 0, len(line)*vertexSize)
	for _, v := range line {
		for _, n := range []int64{v.node, v.lat, v.lon} {
			out = binary.BigEndian.AppendUint64(out, uint64(n))
		}
	}
	return out
}

func decode(value []byte) []vertex {
	line := make([]vertex, 0, len(value)/vertexSize)
	for ; len(value) > 0; value = value[vertexSize:] {
		line = append(line, vertex{
			node: int64(binary.BigEndian.Uint64(value)), lat: int64(binary.BigEndian.Uint64(value[8:])),
			lon: int64(binary.BigEndian.Uint64(value[16:])),
		})
	}
	return line
}
