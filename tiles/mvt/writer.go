package mvt

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"

	"quadrille/tiles/internal/grid"
)

// Extent is the number of coordinate units across a tile.
const Extent = 4096

// GeomType is the geometry type of a feature, numbered as on the wire.
type GeomType uint8

const (
	Unknown    GeomType = iota // no geometry that is drawn
	Point                      // one point or several
	LineString                 // one line or several
	Polygon                    // rings, each exterior one before its holes
)

// XY is a point in tile coordinates: X grows to the east, Y to the south.
type XY = grid.Point

// These are field numbers and wire types of the specification's protobuf schema.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5

	tileLayers = 3

	layerName     = 1
	layerFeatures = 2
	layerKeys     = 3
	layerValues   = 4
	layerExtent   = 5
	layerVersion  = 15

	featureID       = 1
	featureTags     = 2
	featureType     = 3
	featureGeometry = 4

	valueString = 1
	valueFloat  = 2
	valueDouble = 3
	valueInt    = 4
	valueUint   = 5
	valueSint   = 6
	valueBool   = 7

	cmdMoveTo    = 1
	cmdLineTo    = 2
	cmdClosePath = 7
)

// Layer builds one layer. Call Reset before the first use; a reused Layer
// allocates little. It belongs to one goroutine.
//
// A feature is written by Begin, any number of Tag calls, geometry calls of its
// type, and End. A feature without geometry is dropped.
type Layer struct {
	name     string
	extent   uint32
	keys     []string
	values   [][]byte          // encoded value messages
	keyIndex map[string]uint32 // of keys beyond the first few, which searchFirst finds
	slots    []uint32          // a hash table of many values: 1 more than their places; 0 is free
	features []byte
	count    int

	id      uint64
	typ     GeomType
	tags    []byte
	geom    []byte
	x, y    int32 // the cursor
	scratch []byte
}

// Reset empties the layer and sets its name.
func (l *Layer) Reset(name string) {
	l.name = name
	l.extent = Extent
	l.keys = l.keys[:0]
	l.values = l.values[:0]
	if len(l.keyIndex) > 0 {
		clear(l.keyIndex)
	}
	l.slots = l.slots[:0]
	l.features = l.features[:0]
	l.count = 0
}

// ResetTo empties the layer, sets its name, and gives it the keys and values of another layer, so that CopyTags can
// copy the attributes of that one's features. They are written even if no feature has them.
func (l *Layer) ResetTo(name string, v *LayerView) {
	l.Reset(name)
	for _, key := range v.keys {
		addKey(l, key)
	}
	for _, value := range v.values {
		l.addValue(value)
	}
}

// CopyTags adds all attributes of a feature of the layer of ResetTo to the current feature.
func (l *Layer) CopyTags(f Feature) { l.tags = append(l.tags, f.tags...) }

// SetExtent changes the layer's extent. Reset sets it to 4096.
func (l *Layer) SetExtent(extent uint32) { l.extent = extent }

// Len returns the number of features written.
func (l *Layer) Len() int { return l.count }

// Begin starts a feature. An id of 0 is left out.
func (l *Layer) Begin(id uint64, t GeomType) {
	l.id, l.typ = id, t
	l.tags = l.tags[:0]
	l.geom = l.geom[:0]
	l.x, l.y = 0, 0
}

// TagString adds a string attribute to the current feature.
func (l *Layer) TagString(key, value string) {
	l.scratch = AppendString(l.scratch[:0], value)
	tag(l, key)
}

// TagInt adds an integer attribute to the current feature.
func (l *Layer) TagInt(key string, value int64) {
	l.scratch = AppendInt(l.scratch[:0], value)
	tag(l, key)
}

// TagDouble adds a number to the current feature.
func (l *Layer) TagDouble(key string, value float64) {
	l.scratch = AppendDouble(l.scratch[:0], value)
	tag(l, key)
}

// TagBool adds a boolean attribute to the current feature.
func (l *Layer) TagBool(key string, value bool) {
	l.scratch = AppendBool(l.scratch[:0], value)
	tag(l, key)
}

// TagValue adds an attribute with an encoded value message, such as [AppendString] writes and
// [LayerView.EachTag] of another layer returns.
func (l *Layer) TagValue(key string, encoded []byte) {
	l.scratch = append(l.scratch[:0], encoded...)
	tag(l, key)
}

// CopyTag does the same with a key that is not kept.
func (l *Layer) CopyTag(key, encoded []byte) {
	l.scratch = append(l.scratch[:0], encoded...)
	tag(l, key)
}

// tag adds the value in scratch.
func tag[K string | []byte](l *Layer, key K) {
	k, ok := searchFirst(l.keys, func(k string) bool { return k == string(key) })
	if !ok && len(l.keys) > mostSearched {
		k, ok = l.keyIndex[string(key)]
	}
	if !ok {
		k = addKey(l, key)
	}
	l.tags = binary.AppendUvarint(l.tags, uint64(k))
	l.tags = binary.AppendUvarint(l.tags, uint64(l.placeOf(l.scratch)))
}

// addKey adds a key, and returns its place.
func addKey[K string | []byte](l *Layer, key K) uint32 {
	k := len(l.keys)
	// From before a Reset there is often the same one.
	if k < cap(l.keys) && l.keys[:k+1][k] == string(key) {
		l.keys = l.keys[:k+1]
	} else {
		l.keys = append(l.keys, string(key))
	}
	if k >= mostSearched {
		if l.keyIndex == nil {
			l.keyIndex = make(map[string]uint32)
		}
		l.keyIndex[l.keys[k]] = uint32(k)
	}
	return uint32(k)
}

// placeOf returns the place of a value, and adds it if it is new.
func (l *Layer) placeOf(value []byte) uint32 {
	n := len(l.values)
	if n < mostSearched {
		if v, ok := searchFirst(l.values, func(v []byte) bool { return bytes.Equal(v, value) }); ok {
			return v
		}
		return l.addValue(value)
	}
	if 2*n >= len(l.slots) {
		l.growSlots()
	}
	slot := l.slotOf(value)
	for ; l.slots[slot] != 0; slot = (slot + 1) % len(l.slots) {
		if v := l.slots[slot] - 1; bytes.Equal(l.values[v], value) {
			return v
		}
	}
	l.slots[slot] = uint32(n + 1)
	return l.addValue(value)
}

// addValue adds a copy of a value, and returns its place.
func (l *Layer) addValue(value []byte) uint32 {
	v := len(l.values)
	// This reuses the place's memory from before a Reset.
	if v < cap(l.values) {
		l.values = l.values[:v+1]
		l.values[v] = append(l.values[v][:0], value...)
	} else {
		l.values = append(l.values, bytes.Clone(value))
	}
	return uint32(v)
}

var hashSeed = maphash.MakeSeed()

func (l *Layer) slotOf(value []byte) int {
	return int(maphash.Bytes(hashSeed, value) % uint64(len(l.slots))) //nolint:gosec // less than the length
}

// growSlots makes the hash table four times as large as the number of values.
func (l *Layer) growSlots() {
	n := 4 * len(l.values)
	l.slots = slices.Grow(l.slots[:0], n)[:n]
	clear(l.slots)
	for v := range l.values {
		slot := l.slotOf(l.values[v])
		for l.slots[slot] != 0 {
			slot = (slot + 1) % n
		}
		l.slots[slot] = uint32(v + 1)
	}
}

// mostSearched is the number of keys and values that are searched one by one. Most layers have no more.
const mostSearched = 16

// searchFirst returns the place of an element among the first ones of a list.
func searchFirst[T any](list []T, is func(T) bool) (uint32, bool) {
	for i := range min(len(list), mostSearched) {
		if is(list[i]) {
			return uint32(i), true
		}
	}
	return 0, false
}

// Geometry adds the geometry of a feature of another layer with the same extent, as it is encoded.
func (l *Layer) Geometry(f Feature) { l.geom = append(l.geom, f.geom...) }

// Point adds one point to the current feature.
func (l *Layer) Point(p XY) {
	l.geom = binary.AppendUvarint(l.geom, cmdMoveTo|1<<3)
	l.delta(p)
}

// Ring adds a polygon ring of at least three points, without repeating the
// first at the end. Consecutive points must differ.
func (l *Layer) Ring(ring []XY) {
	if len(ring) < 3 {
		return
	}
	l.path(ring)
	l.geom = binary.AppendUvarint(l.geom, cmdClosePath|1<<3)
}

// Line adds a line of at least two points.
func (l *Layer) Line(line []XY) {
	if len(line) >= 2 {
		l.path(line)
	}
}

func (l *Layer) path(pts []XY) {
	l.geom = binary.AppendUvarint(l.geom, cmdMoveTo|1<<3)
	l.delta(pts[0])
	l.geom = binary.AppendUvarint(l.geom, uint64(cmdLineTo|(len(pts)-1)<<3))
	for _, p := range pts[1:] {
		l.delta(p)
	}
}

func (l *Layer) delta(p XY) {
	l.geom = binary.AppendUvarint(l.geom, uint64(zigzag(p.X-l.x)))
	l.geom = binary.AppendUvarint(l.geom, uint64(zigzag(p.Y-l.y)))
	l.x, l.y = p.X, p.Y
}

// End finishes the current feature.
func (l *Layer) End() {
	if len(l.geom) == 0 {
		return
	}
	m := l.scratch[:0]
	if l.id != 0 {
		m = appendVarintField(m, featureID, l.id)
	}
	if len(l.tags) > 0 {
		m = appendBytesField(m, featureTags, l.tags)
	}
	m = appendVarintField(m, featureType, uint64(l.typ))
	m = appendBytesField(m, featureGeometry, l.geom)
	l.scratch = m
	l.features = appendBytesField(l.features, layerFeatures, m)
	l.count++
}

// AppendTo appends the layer to dst as one record of a tile. A layer without
// features appends nothing, because the specification has no empty layers.
func (l *Layer) AppendTo(dst []byte) []byte {
	if l.count == 0 {
		return dst
	}
	m := l.scratch[:0]
	m = appendVarintField(m, layerVersion, 2)
	m = appendBytesField(m, layerName, l.name)
	m = append(m, l.features...)
	for _, k := range l.keys {
		m = appendBytesField(m, layerKeys, k)
	}
	for _, v := range l.values {
		m = appendBytesField(m, layerValues, v)
	}
	m = appendVarintField(m, layerExtent, uint64(l.extent))
	l.scratch = m
	return appendBytesField(dst, tileLayers, m)
}

// AppendString appends a text as a value message.
func AppendString(dst []byte, value string) []byte { return appendBytesField(dst, valueString, value) }

// AppendInt appends an integer as a value message.
func AppendInt(dst []byte, value int64) []byte {
	if value >= 0 {
		return appendVarintField(dst, valueUint, uint64(value))
	}
	return appendVarintField(dst, valueSint, zigzag64(value))
}

// AppendDouble appends a number as a value message.
func AppendDouble(dst []byte, value float64) []byte {
	dst = binary.AppendUvarint(dst, valueDouble<<3|wireFixed64)
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(value))
}

// AppendBool appends a boolean as a value message.
func AppendBool(dst []byte, value bool) []byte {
	n := uint64(0)
	if value {
		n = 1
	}
	return appendVarintField(dst, valueBool, n)
}

func zigzag(v int32) uint32   { return uint32(v)<<1 ^ uint32(v>>31) }
func zigzag64(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func appendVarintField(b []byte, field int, v uint64) []byte {
	b = binary.AppendUvarint(b, uint64(field<<3|wireVarint))
	return binary.AppendUvarint(b, v)
}

func appendBytesField[T string | []byte](b []byte, field int, v T) []byte {
	b = binary.AppendUvarint(b, uint64(field<<3|wireBytes))
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}
