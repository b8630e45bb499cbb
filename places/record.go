package places

import (
	"encoding/binary"
	"errors"
	"math"

	"quadrille/cellstore"
)

// The first sort brings the records of one place together. Its keys are
//
//	id (32 bits) │ kind (2 bits) │ 0 (30 bits)
const (
	recordPlace = iota
	recordAdmin5
	recordParent
	recordName
)

func sortKey(id uint32, kind uint64) uint64 { return uint64(id)<<32 | kind<<30 }

func splitSortKey(key uint64) (id uint32, kind uint64) { return uint32(key >> 32), key >> 30 & 3 }

var errTempFile = errors.New("temporary file is damaged")

// columns is a Place in the form for sorting: coordinates in 1e-7 degrees, texts in the memory of
// the record.
type columns struct {
	id             uint32
	modified       int64 // seconds since 1970
	lat, lon       int32
	population     uint64
	weight         uint64
	country        country
	class          string
	known          byte
	elevation, dem int64

	code, name, asciiName, alternates, cc2 string
	admin1, admin2, admin3, admin4         string
	timeZone, extra, kind                  string
}

// These are the bits of columns.known.
const (
	knowsElevation = 1 << iota
	knowsDEM
	knowsModified
)

// fixedColumns is the length of a record before its variable part.
const fixedColumns = 8 + 4 + 4 + 8 + 8 + 2 + 1 + 1

// appendColumns appends the record of a valid place.
func appendColumns(dst []byte, p *Place) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Modified.Unix()))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(toUnits(p.Lat)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(toUnits(p.Lon)))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Population))
	dst = binary.LittleEndian.AppendUint64(dst, p.Weight)
	var c country
	copy(c[:], p.Country)
	class, known := byte(0), byte(0)
	if p.Class != "" {
		class = p.Class[0]
	}
	var elevation, dem int64
	if p.Elevation != nil {
		known, elevation = known|knowsElevation, int64(*p.Elevation)
	}
	if p.DEM != nil {
		known, dem = known|knowsDEM, int64(*p.DEM)
	}
	if !p.Modified.IsZero() {
		known |= knowsModified
	}
	dst = append(dst, c[0], c[1], class, known)
	dst = binary.AppendVarint(dst, elevation)
	dst = binary.AppendVarint(dst, dem)
	for _, s := range [...]string{p.Code, p.Name, p.ASCIIName, p.AlternateNames, p.CC2,
		p.Admin1, p.Admin2, p.Admin3, p.Admin4, p.TimeZone} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.Extra)))
	dst = append(dst, p.Extra...)
	dst = binary.AppendUvarint(dst, uint64(len(p.Kind)))
	return append(dst, p.Kind...)
}

// parse decodes a record.
func (c *columns) parse(record string) error {
	if len(record) < fixedColumns {
		return errTempFile
	}
	r := fields{rest: record}
	c.modified = int64(r.uint64())
	c.lat, c.lon = int32(r.uint32()), int32(r.uint32())
	c.population, c.weight = r.uint64(), r.uint64()
	c.country = country{r.rest[0], r.rest[1]}
	if c.class = r.rest[2:3]; c.class == "\x00" {
		c.class = ""
	}
	c.known = r.rest[3]
	r.rest = r.rest[4:]
	c.elevation, c.dem = r.varint(), r.varint()
	for _, s := range [...]*string{&c.code, &c.name, &c.asciiName, &c.alternates, &c.cc2,
		&c.admin1, &c.admin2, &c.admin3, &c.admin4, &c.timeZone, &c.extra, &c.kind} {
		*s = r.text()
	}
	if r.cut || r.rest != "" {
		return errTempFile
	}
	return nil
}

// date returns the modification date for the order of rows of the same place: a later row replaces
// an earlier one.
func (c *columns) date() int64 { return clampSeconds(c.modified) }

func clampSeconds(s int64) int64 { return min(max(s, 0), math.MaxUint32) }

// timestamp returns the timestamp of the place's cells: milliseconds since 1970, never negative.
func (c *columns) timestamp() int64 {
	return min(max(c.modified, 0), cellstore.MaxTimestamp/1000-1) * 1000
}

func (c *columns) countryCode() string {
	if c.country == (country{}) {
		return ""
	}
	return string(c.country[:])
}

// fields reads a record from its beginning. For a missing field it returns zero and sets cut.
type fields struct {
	rest string
	cut  bool
}

func (r *fields) uint32() uint32 {
	if len(r.rest) < 4 {
		r.cut = true
		return 0
	}
	b := r.rest
	r.rest = b[4:]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func (r *fields) uint64() uint64 {
	low := uint64(r.uint32())
	return low | uint64(r.uint32())<<32
}

func (r *fields) uvarint() uint64 {
	var v uint64
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		b := r.rest[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return v
		}
	}
	r.cut, r.rest = true, ""
	return 0
}

func (r *fields) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *fields) text() string {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.cut, r.rest = true, ""
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

// alternate is an AlternateName in the form for sorting.
type alternate struct {
	flags      byte
	lang, name string
}

// These are the bits of alternate.flags.
const (
	isPreferred = 1 << iota
	isShort
	isColloquial
	isHistoric
)

func appendAlternate(dst []byte, a *AlternateName) []byte {
	flags := byte(0)
	for bit, set := range [...]bool{a.Preferred, a.Short, a.Colloquial, a.Historic} {
		if set {
			flags |= 1 << bit
		}
	}
	dst = append(dst, flags, byte(len(a.Lang)))
	return append(append(dst, a.Lang...), a.Name...)
}

func (a *alternate) parse(record string) error {
	if len(record) < 2 || len(record) < 2+int(record[1]) {
		return errTempFile
	}
	n := 2 + int(record[1])
	a.flags, a.lang, a.name = record[0], record[2:n], record[n:]
	return nil
}

// stored is a record of the second sort: a row of tile_places without its key.
//
//	timestamp (8) │ length of qualifier (1) │ qualifier │ value
type stored struct {
	ts               int64
	qualifier, value []byte
}

func appendStoredHead(dst []byte, ts int64, class, code string) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(ts))
	at := len(dst)
	dst = appendQualifier(append(dst, 0), class, code)
	dst[at] = byte(len(dst) - at - 1)
	return dst
}

func parseStored(record []byte) (s stored, err error) {
	const head = 9
	if len(record) < head || len(record) < head+int(record[8]) {
		return s, errTempFile
	}
	n := head + int(record[8])
	return stored{int64(binary.BigEndian.Uint64(record)), record[head:n:n], record[n:]}, nil
}
