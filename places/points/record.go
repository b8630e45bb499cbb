package points

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/quadkey"
)

// SchemaVersion is the version of the row layout.
const SchemaVersion = 1

// These are the families, and the first bytes of their rows.
const (
	famID    = "id"
	famPoint = "point"
	famPast  = "past"
	famTree  = "tree"

	rowID    = 'i'
	rowPoint = 'p'
	rowPast  = 'h'
	rowTree  = 't'
)

// These are lengths of parts of rows, in bytes.
const (
	keyHead   = 9 // of the key of a point: the first byte and the PointKey
	valueHead = 16
	idValue   = 16
)

// CheckID returns nil if a point may have the id, or an error that matches ErrInvalidPoint.
func CheckID(id string) error {
	switch {
	case id == "":
		return feature.Faultf(ErrInvalidPoint, "it has no id: give every point one of 1 to %d bytes", MaxIDBytes)
	case len(id) > MaxIDBytes:
		return feature.Faultf(ErrInvalidPoint, "its id has %d bytes: give at most %d", len(id), MaxIDBytes)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return feature.Faultf(ErrInvalidPoint, "its id %.40q has control characters or is not UTF-8: remove them", id)
	}
	return nil
}

// CheckPosition returns an error that matches ErrInvalidPoint unless degrees are in range. It
// mentions a likely swap of latitude and longitude.
func CheckPosition(lat, lon float64) error {
	switch {
	case quadkey.Position{Lat: lat, Lon: lon}.Valid():
		return nil
	case quadkey.Position{Lat: lon, Lon: lat}.Valid():
		return feature.Faultf(ErrInvalidPoint, "latitude %v is not within ±90°, and longitude %v could be one: are the two swapped?",
			lat, lon)
	}
	return feature.Faultf(ErrInvalidPoint, "latitude %v, longitude %v: give degrees, at most ±90 and ±180", lat, lon)
}

// appendPointKey appends the row key of a point.
func appendPointKey(dst []byte, key quadkey.PointKey, id string) []byte {
	return append(key.AppendTo(append(dst, rowPoint)), id...)
}

// appendIDKey appends the row key of an id.
func appendIDKey(dst []byte, id string) []byte { return append(append(dst, rowID), id...) }

// record is a stored point. Its bytes belong to the row it was read from.
type record struct {
	position
	id         []byte
	version    int64
	expires    int64
	properties []byte
}

// appendIDValue appends the value of the row of an id. The value of the row of a point
// begins in the same way.
func (r *record) appendIDValue(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.expires))
	dst = binary.BigEndian.AppendUint32(dst, uint32(r.lat))
	return binary.BigEndian.AppendUint32(dst, uint32(r.lon))
}

// appendValue appends the value of the row of a point.
func (r *record) appendValue(dst []byte) []byte { return append(r.appendIDValue(dst), r.properties...) }

// parse reads the row of a point. In the family past, the value is empty once the point has left.
// gone is set for such a value.
func (r *record) parse(row *cellstore.Row) (gone bool, err error) {
	if len(row.Cells) == 0 || len(row.Key) <= keyHead {
		return false, damaged(row)
	}
	c := &row.Cells[0]
	r.key, r.id = quadkey.PointKey(binary.BigEndian.Uint64(row.Key[1:])), row.Key[keyHead:]
	r.version = c.Timestamp
	if len(c.Value) == 0 {
		return true, nil
	}
	if len(c.Value) < valueHead+len("{}") || !r.parseHead(c.Value) {
		return false, damaged(row)
	}
	r.properties = c.Value[valueHead:]
	return false, nil
}

// parseHead reads the common beginning of the values of both rows.
func (r *record) parseHead(v []byte) bool {
	r.expires = int64(binary.BigEndian.Uint64(v))
	r.lat, r.lon = int32(binary.BigEndian.Uint32(v[8:])), int32(binary.BigEndian.Uint32(v[12:]))
	return -90*unitsPerDegree <= r.lat && r.lat <= 90*unitsPerDegree && -180*unitsPerDegree <= r.lon && r.lon <= 180*unitsPerDegree
}

// parseID reads the row of an id. It sets all fields but the id and the properties.
func (r *record) parseID(row *cellstore.Row) error {
	if len(row.Cells) == 0 || len(row.Cells[0].Value) != idValue || !r.parseHead(row.Cells[0].Value) {
		return damaged(row)
	}
	r.position, r.version = positionOf(r.lat, r.lon), row.Cells[0].Timestamp
	return nil
}

func damaged(row *cellstore.Row) error {
	return fmt.Errorf("points: %w: the row %.40q does not hold a point", cellstore.ErrCorrupt, row.Key)
}

// show sets f to the point of a record. The properties and the mark refer to the record's memory,
// while the id is a copy.
func (r *record) show(f *feature.Feature) {
	if f.ID != string(r.id) {
		f.ID = string(r.id)
	}
	f.Position, f.DistanceM, f.Version = r.degrees(), 0, r.version
	f.Expires = live.ExpiryTime(r.expires)
	f.ClusterSize, f.Properties = 0, feature.CompactProperties(r.properties[1:len(r.properties)-1])
}
