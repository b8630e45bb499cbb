package geopackage

import (
	"encoding/binary"
	"fmt"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/wkb"
)

// decode reads a GeoPackage geometry, or returns the reason why there is none. The result does not
// refer to blob.
//
//	0 "GP"   2 version 0   3 flags   4 coordinate system, int32   8 envelope   then WKB
//	flags: extended<<5 | empty<<4 | kind of envelope<<1 | little-endian
func decode(blob []byte, srs int64) (g orb.Geometry, reason, detail string) {
	if len(blob) == 0 {
		return nil, source.ReasonNoGeometry, ""
	}
	if len(blob) < 8 || blob[0] != 'G' || blob[1] != 'P' {
		return nil, source.ReasonDamaged, "not a GeoPackage geometry"
	}
	flags := blob[3]
	if blob[2] != 0 || flags&(1<<5) != 0 {
		return nil, source.ReasonUnknownKind, "GeoPackage geometry of a later or an extended kind"
	}
	id := int64(int32(binary.BigEndian.Uint32(blob[4:])))
	if flags&1 == 1 {
		id = int64(int32(binary.LittleEndian.Uint32(blob[4:])))
	}
	// 0 and -1 mean "unknown", and are common in the blobs of careless writers.
	if id != srs && id != 0 && id != -1 {
		return nil, source.ReasonOtherSystem, fmt.Sprintf("%d, the layer in %d", id, srs)
	}
	envelope := [8]int{0, 32, 48, 48, 64, -1, -1, -1}[flags>>1&7]
	if envelope < 0 || len(blob) < 8+envelope {
		return nil, source.ReasonDamaged, "envelope cut off"
	}
	if len(blob) == 8+envelope {
		return nil, source.ReasonNoGeometry, ""
	}
	g, srid, reason, detail := wkb.Decode(blob[8+envelope:])
	if srid != 0 {
		return nil, source.ReasonDamaged, "well-known binary with a coordinate system of its own"
	}
	return g, reason, detail
}
