package mvt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrMalformed is matched by every error about bytes that are not a vector
// tile.
var ErrMalformed = errors.New("not a valid vector tile")

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrMalformed, what) }

// LayerView is a layer that is read without a copy: it refers to the tile's bytes, which must not change
// while it is in use. Reusing a LayerView for many tiles avoids allocation.
type LayerView struct {
	Name    []byte
	Version uint32
	Extent  uint32

	keys     [][]byte
	values   [][]byte
	features [][]byte
}

// Feature is a feature of a LayerView, read in place.
type Feature struct {
	ID   uint64
	Type GeomType

	tags []byte
	geom []byte
}

// NextLayer reads the first layer of tile into v and returns the rest of the
// tile. At the end of the tile ok is false.
func NextLayer(tile []byte, v *LayerView) (rest []byte, ok bool, err error) {
	for len(tile) > 0 {
		field, wire, val, body, next, err := readField(tile)
		if err != nil {
			return nil, false, err
		}
		tile = next
		if field != tileLayers || wire != wireBytes {
			continue
		}
		_ = val
		if err := v.parse(body); err != nil {
			return nil, false, err
		}
		return tile, true, nil
	}
	return nil, false, nil
}

func (v *LayerView) parse(b []byte) error {
	*v = LayerView{Version: 1, Extent: Extent, keys: v.keys[:0], values: v.values[:0], features: v.features[:0]}
	named := false
	for len(b) > 0 {
		field, wire, val, body, next, err := readField(b)
		if err != nil {
			return err
		}
		b = next
		switch {
		case field == layerName && wire == wireBytes:
			v.Name, named = body, true
		case field == layerFeatures && wire == wireBytes:
			v.features = append(v.features, body)
		case field == layerKeys && wire == wireBytes:
			v.keys = append(v.keys, body)
		case field == layerValues && wire == wireBytes:
			v.values = append(v.values, body)
		case field == layerExtent && wire == wireVarint:
			if val == 0 || val > math.MaxInt32 {
				return malformed("extent out of range")
			}
			v.Extent = uint32(val)
		case field == layerVersion && wire == wireVarint:
			v.Version = uint32(val)
		}
	}
	if !named {
		return malformed("layer without a name")
	}
	return nil
}

// Len returns the number of features.
func (v *LayerView) Len() int { return len(v.features) }

// Feature reads feature i, 0 ≤ i < Len.
func (v *LayerView) Feature(i int) (Feature, error) {
	var f Feature
	b := v.features[i]
	for len(b) > 0 {
		field, wire, val, body, next, err := readField(b)
		if err != nil {
			return Feature{}, err
		}
		b = next
		switch {
		case field == featureID && wire == wireVarint:
			f.ID = val
		case field == featureTags && wire == wireBytes:
			f.tags = body
		case field == featureType && wire == wireVarint:
			if val > uint64(Polygon) {
				return Feature{}, malformed("unknown geometry type")
			}
			f.Type = GeomType(val)
		case field == featureGeometry && wire == wireBytes:
			f.geom = body
		}
	}
	return f, nil
}

// EachTag calls fn with the key and the encoded value of each attribute until
// it returns false. Decode values with [StringValue], [BoolValue],
// [IntegerValue] and [NumberValue].
func (v *LayerView) EachTag(f Feature, fn func(key, value []byte) bool) error {
	b := f.tags
	for len(b) > 0 {
		k, n := binary.Uvarint(b)
		if n <= 0 {
			return malformed("tags")
		}
		b = b[n:]
		val, n := binary.Uvarint(b)
		if n <= 0 {
			return malformed("odd number of tags")
		}
		b = b[n:]
		if k >= uint64(len(v.keys)) || val >= uint64(len(v.values)) {
			return malformed("tag index out of range")
		}
		if !fn(v.keys[k], v.values[val]) {
			return nil
		}
	}
	return nil
}

// StringTag returns the value of a string attribute, or nil if the feature has
// no such attribute.
func (v *LayerView) StringTag(f Feature, key string) []byte {
	b := f.tags
	for len(b) > 0 {
		k, n := binary.Uvarint(b)
		if n <= 0 {
			return nil
		}
		b = b[n:]
		val, n := binary.Uvarint(b)
		if n <= 0 {
			return nil
		}
		b = b[n:]
		if k < uint64(len(v.keys)) && val < uint64(len(v.values)) && string(v.keys[k]) == key {
			s, _ := StringValue(v.values[val])
			return s
		}
	}
	return nil
}

// StringValue decodes a string value.
func StringValue(value []byte) ([]byte, bool) {
	for len(value) > 0 {
		field, wire, _, body, next, err := readField(value)
		if err != nil {
			return nil, false
		}
		if field == valueString && wire == wireBytes {
			return body, true
		}
		value = next
	}
	return nil, false
}

// BoolValue decodes a boolean value.
func BoolValue(value []byte) (is, ok bool) {
	for len(value) > 0 {
		field, wire, val, _, next, err := readField(value)
		if err != nil {
			return false, false
		}
		if field == valueBool && wire == wireVarint {
			return val != 0, true
		}
		value = next
	}
	return false, false
}

// IntegerValue decodes an integer value.
func IntegerValue(value []byte) (int64, bool) {
	for len(value) > 0 {
		field, wire, val, _, next, err := readField(value)
		if err != nil {
			return 0, false
		}
		switch {
		case field == valueInt && wire == wireVarint, field == valueUint && wire == wireVarint && val <= math.MaxInt64:
			return int64(val), true
		case field == valueSint && wire == wireVarint:
			return int64(val>>1) ^ -int64(val&1), true
		}
		value = next
	}
	return 0, false
}

// NumberValue decodes a numeric or boolean value.
func NumberValue(value []byte) (float64, bool) {
	for len(value) > 0 {
		field, wire, val, _, next, err := readField(value)
		if err != nil {
			return 0, false
		}
		switch {
		case field == valueFloat && wire == wireFixed32:
			return float64(math.Float32frombits(uint32(val))), true
		case field == valueDouble && wire == wireFixed64:
			return math.Float64frombits(val), true
		case field == valueInt && wire == wireVarint:
			return float64(int64(val)), true
		case (field == valueUint || field == valueBool) && wire == wireVarint:
			return float64(val), true
		case field == valueSint && wire == wireVarint:
			return float64(int64(val>>1) ^ -int64(val&1)), true
		}
		value = next
	}
	return 0, false
}

// Path reads a feature's geometry path by path. Call Reset before the first
// use.
type Path struct {
	b    []byte
	x, y int32
}

// Reset starts at the feature's first path.
func (p *Path) Reset(f Feature) { *p = Path{b: f.geom} }

// Next appends the points of the next path to dst. It reports whether the path
// was closed (a ring, whose first point is not repeated). At the end of the
// geometry ok is false. A multipoint is one path.
func (p *Path) Next(dst []XY) (pts []XY, closed, ok bool, err error) {
	if len(p.b) == 0 {
		return dst, false, false, nil
	}
	started := false
	for len(p.b) > 0 {
		head, n := binary.Uvarint(p.b)
		if n <= 0 {
			return dst, false, false, malformed("geometry command")
		}
		cmd, count := head&7, head>>3
		if cmd == cmdMoveTo && started {
			return dst, false, true, nil
		}
		p.b = p.b[n:]
		switch cmd {
		case cmdMoveTo, cmdLineTo:
			if cmd == cmdLineTo && !started {
				return dst, false, false, malformed("line without a start")
			}
			// Each point takes at least two bytes, so a larger count is wrong.
			if count == 0 || count > uint64(len(p.b))/2 {
				return dst, false, false, malformed("geometry command count")
			}
			for range count {
				if err := p.step(); err != nil {
					return dst, false, false, err
				}
				dst = append(dst, XY{X: p.x, Y: p.y})
			}
			started = true
		case cmdClosePath:
			if !started || count != 1 {
				return dst, false, false, malformed("close without a path")
			}
			return dst, true, true, nil
		default:
			return dst, false, false, malformed("unknown geometry command")
		}
	}
	return dst, false, true, nil
}

func (p *Path) step() error {
	dx, n := binary.Uvarint(p.b)
	if n <= 0 || dx > math.MaxUint32 {
		return malformed("geometry parameter")
	}
	p.b = p.b[n:]
	dy, n := binary.Uvarint(p.b)
	if n <= 0 || dy > math.MaxUint32 {
		return malformed("geometry parameter")
	}
	p.b = p.b[n:]
	p.x += unzigzag(uint32(dx))
	p.y += unzigzag(uint32(dy))
	return nil
}

func unzigzag(v uint32) int32 { return int32(v>>1) ^ -int32(v&1) }

// readField reads one protobuf field. val holds a varint or fixed number, body
// the bytes of a length-delimited field.
func readField(b []byte) (field int, wire int, val uint64, body, rest []byte, err error) {
	tag, n := binary.Uvarint(b)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return 0, 0, 0, nil, nil, malformed("field tag")
	}
	b = b[n:]
	field, wire = int(tag>>3), int(tag&7)
	switch wire {
	case wireVarint:
		val, n = binary.Uvarint(b)
		if n <= 0 {
			return 0, 0, 0, nil, nil, malformed("varint")
		}
		return field, wire, val, nil, b[n:], nil
	case wireBytes:
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return 0, 0, 0, nil, nil, malformed("length beyond the end")
		}
		b = b[n:]
		return field, wire, 0, b[:size], b[size:], nil
	case wireFixed64:
		if len(b) < 8 {
			return 0, 0, 0, nil, nil, malformed("fixed64 beyond the end")
		}
		return field, wire, binary.LittleEndian.Uint64(b), nil, b[8:], nil
	case wireFixed32:
		if len(b) < 4 {
			return 0, 0, 0, nil, nil, malformed("fixed32 beyond the end")
		}
		return field, wire, uint64(binary.LittleEndian.Uint32(b)), nil, b[4:], nil
	}
	return 0, 0, 0, nil, nil, malformed("unknown wire type")
}
