package mvt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// InvalidError says where and how a tile breaks the specification. It matches ErrMalformed.
type InvalidError struct {
	Layer   string // name of the layer, as far as it was read
	Feature int    // index of the feature within it, or −1
	Reason  string
}

func (e *InvalidError) Error() string {
	where := ""
	if e.Layer != "" {
		where = fmt.Sprintf(" layer %q:", e.Layer)
	}
	if e.Feature >= 0 {
		where += fmt.Sprintf(" feature %d:", e.Feature)
	}
	return fmt.Sprintf("%v:%s %s", ErrMalformed, where, e.Reason)
}

func (e *InvalidError) Unwrap() error { return ErrMalformed }

// maxPolygon bounds the coordinates of polygons, so that areas are exact.
const maxPolygon = 1 << 30

// Validate reports the first rule of the vector tile specification, version
// 2.1, that a tile breaks, as an *InvalidError. The empty tile is valid.
//
// It checks every MUST of the specification. Versions are 1 or 2. Layer names
// are unique. Fields have the right wire type and occur once. Tag indexes are
// within the keys and values, and no key occurs twice in a feature. A value has
// exactly one type. Geometry has whole commands in the order of its type,
// without steps of no length. Exterior rings (positive area in the axes of a
// tile) come before interior ones (negative), and none is without area.
// Extension fields are allowed, and so is geometry of type UNKNOWN. Validate
// does not check whether rings cross, which the specification leaves to
// geometry.
func Validate(tile []byte) error {
	var names [][]byte
	for len(tile) > 0 {
		field, wire, _, body, rest, err := readField(tile)
		if err != nil {
			return invalid(nil, -1, "tile: "+reason(err))
		}
		tile = rest
		if field != tileLayers {
			if field < 16 {
				return invalid(nil, -1, fmt.Sprintf("tile: field %d is not of the specification", field))
			}
			continue // an extension
		}
		if wire != wireBytes {
			return invalid(nil, -1, "layer of the wrong wire type")
		}
		name, err := validateLayer(body)
		if err != nil {
			return err
		}
		for _, n := range names {
			if bytes.Equal(n, name) {
				return invalid(name, -1, "two layers have this name")
			}
		}
		names = append(names, name)
	}
	return nil
}

func invalid(layer []byte, feature int, reason string) error {
	return &InvalidError{Layer: string(layer), Feature: feature, Reason: reason}
}

// reason returns the text of a readField error without its prefix.
func reason(err error) string {
	const prefix = "not a valid vector tile: "
	s := err.Error()
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}

// once records a field that may occur only once, and reports whether it
// occurred before.
func once(seen *uint32, field int) bool {
	bit := uint32(1) << field
	again := *seen&bit != 0
	*seen |= bit
	return again
}

// layerWires has the wire types of a layer's fields by number.
var layerWires = map[int]int{
	layerName: wireBytes, layerFeatures: wireBytes, layerKeys: wireBytes,
	layerValues: wireBytes, layerExtent: wireVarint, layerVersion: wireVarint,
}

// validateLayer checks a layer in two passes, because features may come before
// the keys and values they refer to.
func validateLayer(layer []byte) (name []byte, err error) {
	var seen uint32
	var keys, values uint64
	version := uint64(0)
	for b := layer; len(b) > 0; {
		field, wire, val, body, rest, err := readField(b)
		if err != nil {
			return nil, invalid(name, -1, reason(err))
		}
		b = rest
		want, known := layerWires[field]
		if !known {
			if field < 16 {
				return nil, invalid(name, -1, fmt.Sprintf("field %d is not of the specification", field))
			}
			continue
		}
		if wire != want {
			return nil, invalid(name, -1, fmt.Sprintf("field %d is of the wrong wire type", field))
		}
		switch field {
		case layerFeatures:
			continue
		case layerKeys:
			if keys++; !utf8.Valid(body) {
				return nil, invalid(name, -1, "a key is not UTF-8")
			}
			continue
		case layerValues:
			if values++; !validValue(body) {
				return nil, invalid(name, -1, fmt.Sprintf("value %d is not of exactly one known type", values-1))
			}
			continue
		case layerName:
			name = body
		case layerVersion:
			version = val
		case layerExtent:
			if val == 0 || val > math.MaxUint32 {
				return nil, invalid(name, -1, "extent out of range")
			}
		}
		if once(&seen, field) {
			return nil, invalid(name, -1, fmt.Sprintf("field %d is given twice", field))
		}
	}
	switch {
	case seen&(1<<layerName) == 0 || len(name) == 0:
		return nil, invalid(nil, -1, "layer without a name")
	case !utf8.Valid(name):
		return nil, invalid(nil, -1, "name of a layer is not UTF-8")
	case version != 1 && version != 2:
		return nil, invalid(name, -1, fmt.Sprintf("version %d, must be 2", version))
	}
	var tags tagSet
	n := 0
	for b := layer; len(b) > 0; {
		field, _, _, body, rest, _ := readField(b)
		b = rest
		if field == layerFeatures {
			if why := validateFeature(body, keys, values, &tags); why != "" {
				return nil, invalid(name, n, why)
			}
			n++
		}
	}
	return name, nil
}

// validValue reports whether a value message has exactly one value, of the type
// of its field.
func validValue(b []byte) bool {
	n := 0
	for len(b) > 0 {
		field, wire, val, body, rest, err := readField(b)
		if err != nil {
			return false
		}
		b = rest
		want := wireVarint
		switch field {
		case valueString:
			want = wireBytes
			if !utf8.Valid(body) {
				return false
			}
		case valueFloat:
			want = wireFixed32
		case valueDouble:
			want = wireFixed64
		case valueInt, valueUint, valueSint:
		case valueBool:
			if val > 1 {
				return false
			}
		default:
			if field < 8 {
				return false
			}
			continue // an extension
		}
		if wire != want {
			return false
		}
		n++
	}
	return n == 1
}

// tagSet records which keys a feature has used. It need not be cleared between
// features.
type tagSet struct {
	used  []uint32 // by key, the feature that used it last
	count uint32   // of features
}

func (s *tagSet) begin() { s.count++ }

func (s *tagSet) add(key uint64) (again bool) {
	for uint64(len(s.used)) <= key {
		s.used = append(s.used, 0)
	}
	again = s.used[key] == s.count
	s.used[key] = s.count
	return again
}

func validateFeature(b []byte, keys, values uint64, tags *tagSet) (why string) {
	var seen uint32
	var tagBytes, geom []byte
	var typ GeomType
	for len(b) > 0 {
		field, wire, val, body, rest, err := readField(b)
		if err != nil {
			return reason(err)
		}
		b = rest
		want := wireVarint
		switch field {
		case featureID:
		case featureTags:
			want, tagBytes = wireBytes, body
		case featureType:
			if val > uint64(Polygon) {
				return "geometry type out of range"
			}
			typ = GeomType(val)
		case featureGeometry:
			want, geom = wireBytes, body
		default:
			return fmt.Sprintf("field %d is not of the specification", field)
		}
		if wire != want {
			return fmt.Sprintf("field %d is of the wrong wire type", field)
		}
		if once(&seen, field) {
			return fmt.Sprintf("field %d is given twice", field)
		}
	}
	if seen&(1<<featureType) == 0 {
		return "no geometry type"
	}
	if len(geom) == 0 {
		return "no geometry"
	}
	tags.begin()
	for n := 0; len(tagBytes) > 0; n++ {
		k, size := binary.Uvarint(tagBytes)
		if size <= 0 {
			return "tags are not whole numbers"
		}
		tagBytes = tagBytes[size:]
		v, size := binary.Uvarint(tagBytes)
		if size <= 0 {
			return "odd number of tags"
		}
		tagBytes = tagBytes[size:]
		switch {
		case k >= keys:
			return fmt.Sprintf("tag of key %d, the layer has %d", k, keys)
		case v >= values:
			return fmt.Sprintf("tag of value %d, the layer has %d", v, values)
		case tags.add(k):
			return fmt.Sprintf("key %d is tagged twice", k)
		}
	}
	g := geometry{b: geom}
	switch typ {
	case Point:
		return g.points()
	case LineString:
		return g.lines()
	case Polygon:
		return g.polygons()
	}
	return ""
}

// geometry validates a command stream.
type geometry struct {
	b    []byte
	x, y int64
}

// command reads the next command and its count. It refuses a count that the
// remaining bytes cannot hold.
func (g *geometry) command(want int) (count uint64, why string) {
	head, n := binary.Uvarint(g.b)
	if n <= 0 || head > math.MaxUint32 {
		return 0, "geometry ends within a command"
	}
	g.b = g.b[n:]
	cmd, count := int(head&7), head>>3
	if cmd != want {
		return 0, fmt.Sprintf("command %d where %d must be", cmd, want)
	}
	if cmd != cmdClosePath && count > uint64(len(g.b))/2 {
		return 0, fmt.Sprintf("command of %d points, fewer are there", count)
	}
	return count, ""
}

// step reads one pair of parameters. Only a step at the start of a path may
// have no length.
func (g *geometry) step() (moved bool, why string) {
	var d [2]int64
	for i := range d {
		v, n := binary.Uvarint(g.b)
		if n <= 0 || v > math.MaxUint32 {
			return false, "geometry ends within a point, or its parameter is too large"
		}
		g.b = g.b[n:]
		d[i] = int64(unzigzag(uint32(v)))
	}
	g.x, g.y = g.x+d[0], g.y+d[1]
	return d != [2]int64{}, ""
}

func (g *geometry) points() string {
	count, why := g.command(cmdMoveTo)
	if why != "" {
		return why
	}
	if count == 0 {
		return "point geometry without a point"
	}
	for range count {
		if _, why := g.step(); why != "" {
			return why
		}
	}
	if len(g.b) > 0 {
		return "something follows the points"
	}
	return ""
}

// start reads the MoveTo of one point that begins a line or a ring.
func (g *geometry) start() string {
	count, why := g.command(cmdMoveTo)
	if why != "" {
		return why
	}
	if count != 1 {
		return fmt.Sprintf("path begins with %d points, must with 1", count)
	}
	_, why = g.step()
	return why
}

func (g *geometry) lines() string {
	for len(g.b) > 0 {
		if why := g.start(); why != "" {
			return why
		}
		count, why := g.command(cmdLineTo)
		if why != "" {
			return why
		}
		if count == 0 {
			return "line of one point"
		}
		for range count {
			moved, why := g.step()
			if why != "" {
				return why
			}
			if !moved {
				return "step of no length"
			}
		}
	}
	return ""
}

func (g *geometry) polygons() string {
	for first := true; len(g.b) > 0; first = false {
		area, why := g.ring()
		switch {
		case why != "":
			return why
		case area == 0:
			return "ring without area"
		case area < 0 && first:
			return "interior ring before any exterior one"
		}
	}
	return ""
}

// ring reads one ring and returns the sign of its area.
func (g *geometry) ring() (sign int, why string) {
	if why := g.start(); why != "" {
		return 0, why
	}
	x0, y0 := g.x, g.y
	count, why := g.command(cmdLineTo)
	if why != "" {
		return 0, why
	}
	if count < 2 {
		return 0, "ring of fewer than three points"
	}
	var hi, lo uint64 // twice the area, in 128 bits
	px, py := x0, y0
	for range count {
		moved, why := g.step()
		if why != "" {
			return 0, why
		}
		if !moved {
			return 0, "step of no length"
		}
		if max(g.x, -g.x, g.y, -g.y) > maxPolygon {
			return 0, "polygon of coordinates too large"
		}
		term := px*g.y - g.x*py
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(term), 0)
		hi += uint64(term>>63) + carry
		px, py = g.x, g.y
	}
	if px == x0 && py == y0 {
		return 0, "ring repeats its first point"
	}
	term := px*y0 - x0*py
	lo, carry := bits.Add64(lo, uint64(term), 0)
	hi += uint64(term>>63) + carry
	if count, why = g.command(cmdClosePath); why != "" {
		return 0, why
	}
	switch {
	case count != 1:
		return 0, fmt.Sprintf("ring closed %d times, must be once", count)
	case hi>>63 != 0:
		return -1, ""
	case hi|lo == 0:
		return 0, ""
	}
	return 1, ""
}
