// Package pmtiles encodes and decodes the binary parts of a PMTiles archive, version 3 of the
// public specification: the header, the directories and the ids of tiles. The writer of ingest
// and the reader of the tile server share it. Its input is untrusted.
package pmtiles

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"quadrille/quadkey"
)

// These are sizes in bytes that the specification fixes.
const (
	HeaderSize = 127
	// HeadSize bounds the header and the root directory together: clients first fetch this many
	// bytes.
	HeadSize = 16 << 10
)

// Magic is the beginning of an archive. The version follows it.
const Magic = "PMTiles"

// Version is the version that this package supports.
const Version = 3

// Compression is the coding of directories, metadata and tiles.
type Compression uint8

// These are the compressions of the specification.
const (
	UnknownCompression Compression = iota
	NoCompression
	Gzip
	Brotli
	Zstd
)

// TileType is the format of the tiles.
type TileType uint8

// These are the types of tiles of the specification.
const (
	UnknownTile TileType = iota
	MVT
	PNG
	JPEG
	WebP
	AVIF
	MLT
)

// MaxZoom is the deepest zoom whose tiles have ids.
const MaxZoom = 31

// Section is a part of the file.
type Section struct{ Offset, Length uint64 }

// Within reports whether the section lies in a file of size bytes.
func (s Section) Within(size uint64) bool { return s.Offset <= size && s.Length <= size-s.Offset }

// Header is the content of the first bytes of an archive. Numbers of tiles are 0 if they are
// unknown. Positions are degrees; a center is longitude and latitude.
type Header struct {
	Root, Metadata, Leaves, Tiles Section
	Addressed, Entries, Contents  uint64
	Clustered                     bool
	Internal, TileCompression     Compression
	Type                          TileType
	MinZoom, MaxZoom, CenterZoom  uint8
	Bounds                        [4]float64 // west, south, east, north
	Center                        [2]float64
}

// These are the offsets of the fields that are not 64-bit numbers.
const (
	atClustered  = 96
	atBounds     = 102
	atCenterZoom = 118
	atCenter     = 119
)

// numbers returns the eleven 64-bit fields in their order.
func (h *Header) numbers() [11]*uint64 {
	return [...]*uint64{
		&h.Root.Offset, &h.Root.Length, &h.Metadata.Offset, &h.Metadata.Length, &h.Leaves.Offset, &h.Leaves.Length,
		&h.Tiles.Offset, &h.Tiles.Length, &h.Addressed, &h.Entries, &h.Contents,
	}
}

// Append appends the header.
func (h *Header) Append(dst []byte) []byte {
	dst = append(dst, Magic...)
	dst = append(dst, Version)
	for _, n := range h.numbers() {
		dst = binary.LittleEndian.AppendUint64(dst, *n)
	}
	clustered := byte(0)
	if h.Clustered {
		clustered = 1
	}
	dst = append(dst, clustered, byte(h.Internal), byte(h.TileCompression), byte(h.Type), h.MinZoom, h.MaxZoom)
	degrees := func(v float64) { dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(math.Round(v*1e7)))) }
	for _, v := range h.Bounds {
		degrees(v)
	}
	dst = append(dst, h.CenterZoom)
	degrees(h.Center[0])
	degrees(h.Center[1])
	return dst
}

// ErrFormat is matched by errors about bytes that are not an archive of this version.
var ErrFormat = errors.New("not a PMTiles archive of version 3")

// ParseHeader reads the first HeaderSize bytes of an archive. It checks only the magic.
func ParseHeader(b []byte) (h Header, err error) {
	if len(b) < HeaderSize || string(b[:len(Magic)]) != Magic {
		return h, fmt.Errorf("%w: it does not begin with %s", ErrFormat, Magic)
	}
	if v := b[len(Magic)]; v != Version {
		return h, fmt.Errorf("%w, but of version %d: convert it with pmtiles convert", ErrFormat, v)
	}
	for i, n := range h.numbers() {
		*n = binary.LittleEndian.Uint64(b[8+8*i:])
	}
	c := b[atClustered:]
	h.Clustered, h.Internal, h.TileCompression, h.Type, h.MinZoom, h.MaxZoom = c[0] == 1, Compression(c[1]), Compression(c[2]), TileType(c[3]), c[4], c[5]
	degrees := func(at int) float64 { return float64(int32(binary.LittleEndian.Uint32(b[at:]))) / 1e7 }
	for i := range h.Bounds {
		h.Bounds[i] = degrees(atBounds + 4*i)
	}
	h.CenterZoom = b[atCenterZoom]
	h.Center = [2]float64{degrees(atCenter), degrees(atCenter + 4)}
	return h, nil
}

// TileID returns the specification's number of a tile. Tiles of lower zooms come first. Tiles of
// one zoom are in the order of the Hilbert curve.
func TileID(t quadkey.Tile) uint64 { return ZoomStart(t.Z) + t.Hilbert() }

// ZoomStart returns the id of the first tile of a zoom.
func ZoomStart(z uint8) uint64 { return (uint64(1)<<(2*z) - 1) / 3 }

// tileIDs is the number of valid ids. This number would be the first id of zoom 32.
const tileIDs = math.MaxUint64 / 3
