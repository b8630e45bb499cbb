package ipgeo

import (
	"encoding/binary"
	"math"
	"net/netip"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// The table "ip" has one family "r" with one column, whose qualifier is empty.
// A row is up to 64 consecutive ranges. No two ranges overlap, so within a
// family of addresses ranges and rows sort alike by first and by last address.
//
//	row key, 5 or 17 bytes
//	┌──────┬──────────────────────────┐
//	│ 0x04 │ last address, 4 bytes    │   IPv4, big-endian
//	├──────┼──────────────────────────┴───────────────────────┐
//	│ 0x06 │ last address, 16 bytes                           │   IPv6
//	└──────┴──────────────────────────────────────────────────┘
//
//	value
//	┌─────────────────────┬─────────────────────────────────┐
//	│ block, see block.go │ heap of the row, see answer.go  │
//	└─────────────────────┴─────────────────────────────────┘
//
// A key has the last address of the row's last range. The first row at or after an address
// therefore covers the address, or no row does.
//
// Neighbours share countries, cities and whole answers, so a row holds each part
// of its answers once. Common parts of several rows are left to the compression of the store's
// blocks.
//
// While a table is built, an answer is a sequence of sections:
//
//	┌─────┬──────────────────┬────────────────┐
//	│ tag │ length, uvarint  │ bytes          │
//	└─────┴──────────────────┴────────────────┘
//
//	tag 1  ISO 3166-1 code of the country, two bytes
//	tag 2  members of the answer known from country-level sources:
//	       "continent":{…},"country":{…},"registered_country":{…},
//	       "represented_country":{…}   (JSON, without the braces around)
//	tag 3  those known from city-level sources:
//	       "city":{…},"location":{…},"postal":{…},"subdivisions":[…]
//	tag 4  the members of "traits", without "network", which each lookup adds
//	tag 5  the members GeoIP2 has not:
//	       "quadkey":"…","extra":{…},"derived":[…]
//	tag 6  latitude and longitude: degrees, two big-endian IEEE 754 doubles
//	tag 7  number of the autonomous system, four bytes, big-endian
//
// The builder merges and encodes the sections once, and lookups put the stored
// parts of them together again. Sections are in the order of their tags, and
// empty ones are left out.
//
// Layout 1 had country codes only. Layouts 1 and 2 had a row for each range.
const (
	// Layout is the version of this row layout. It is the schema version of a
	// generation's manifest and also stored in Meta.
	Layout = 3

	tableName  = "ip"
	familyName = "r"

	prefix4, prefix6 = 0x04, 0x06

	sectionCode        = 1
	sectionCountry     = 2
	sectionCity        = 3
	sectionTraits      = 4
	sectionOwn         = 5
	sectionCoordinates = 6
	sectionASN         = 7

	maxKey = 1 + 16
)

// These keys end the rows of each address family.
var end4, end6 = []byte{prefix4 + 1}, []byte{prefix6 + 1}

func schema() cellstore.Schema {
	return cellstore.Schema{Table: tableName, Families: []cellstore.Family{{
		Name:        familyName,
		Bloom:       cellstore.BloomNone, // never read by exact key
		Compression: cellstore.CompressionZstd,
		BlockSize:   32 << 10,            // a dozen rows, which compress each other
		MaxVersions: cellstore.Unlimited, // rows are written once: the store need not look for more
	}}}
}

// appendKey appends the key of a row that ends at an address.
func appendKey(dst []byte, v4 bool, a u128) []byte {
	if v4 {
		return appendAddr(append(dst, prefix4), v4, a)
	}
	return appendAddr(append(dst, prefix6), v4, a)
}

func appendAddr(dst []byte, v4 bool, a u128) []byte {
	if v4 {
		return binary.BigEndian.AppendUint32(dst, uint32(a.lo))
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, a.hi), a.lo)
}

// readAddr reads the address at the start of b.
func readAddr(b []byte, v4 bool) (a u128, rest []byte, ok bool) {
	switch {
	case v4 && len(b) >= 4:
		return u128{lo: uint64(binary.BigEndian.Uint32(b))}, b[4:], true
	case !v4 && len(b) >= 16:
		return u128{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, b[16:], true
	}
	return u128{}, b, false
}

// sections are the decoded sections of an answer. The slices point into it.
type sections struct {
	code     []byte // "FR"; may be empty
	country  []byte // JSON members, as are those below
	city     []byte
	traits   []byte
	own      []byte
	lat, lon float64 // degrees, if located
	located  bool
	asn      uint32
}

const cutOff = "a section is cut off"

// nextSection splits the first section off b, which is not empty.
func nextSection(b []byte) (tag byte, body, rest []byte, ok bool) {
	n, w := binary.Uvarint(b[1:])
	if w <= 0 || n > uint64(len(b)-1-w) {
		return 0, nil, nil, false
	}
	end := 1 + w + int(n)
	return b[0], b[1+w : end], b[end:], true
}

// decode decodes sections and returns a description of their damage, or "". Fields of missing
// sections keep their values.
func (s *sections) decode(b []byte) (wrong string) {
	for len(b) > 0 {
		tag, body, rest, ok := nextSection(b)
		if !ok {
			return cutOff
		}
		b = rest
		switch tag {
		case sectionCode:
			if !isCode(body) {
				return "country code is not two letters"
			}
			s.code = body
		case sectionCountry:
			s.country = body
		case sectionCity:
			s.city = body
		case sectionTraits:
			s.traits = body
		case sectionOwn:
			s.own = body
		case sectionCoordinates:
			if s.lat, s.lon, s.located = readCoordinates(body); !s.located {
				return "coordinates are none"
			}
		case sectionASN:
			if len(body) != 4 {
				return "the number of the autonomous system has the wrong length"
			}
			s.asn = binary.BigEndian.Uint32(body)
		}
	}
	return ""
}

func appendCoordinates(dst []byte, lat, lon float64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(lat))
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(lon))
}

// readCoordinates is the inverse of appendCoordinates. It refuses coordinates
// out of range.
func readCoordinates[T ~string | ~[]byte](b T) (lat, lon float64, ok bool) {
	if len(b) != 16 {
		return 0, 0, false
	}
	lat, lon = math.Float64frombits(bigEndian(b[:8])), math.Float64frombits(bigEndian(b[8:]))
	if !(quadkey.Position{Lat: lat, Lon: lon}).Valid() {
		return 0, 0, false
	}
	return lat, lon, true
}

func bigEndian[T ~string | ~[]byte](b T) (n uint64) {
	for i := range len(b) {
		n = n<<8 | uint64(b[i])
	}
	return n
}

// appendSection appends one section of a record, unless it is empty.
func appendSection[T ~string | ~[]byte](dst []byte, tag byte, body T) []byte {
	if len(body) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(append(dst, tag), uint64(len(body)))
	return append(dst, body...)
}

func isCode[T ~string | ~[]byte](s T) bool {
	return len(s) == 2 && 'A' <= s[0] && s[0] <= 'Z' && 'A' <= s[1] && s[1] <= 'Z'
}

// codes has AA, AB … ZZ in sequence, so that the code of a row becomes a string without an
// allocation.
var codes = func() string {
	b := make([]byte, 0, 26*26*2)
	for i := byte('A'); i <= 'Z'; i++ {
		for j := byte('A'); j <= 'Z'; j++ {
			b = append(b, i, j)
		}
	}
	return string(b)
}()

func codeString(c []byte) string {
	if len(c) != 2 {
		return ""
	}
	i := (int(c[0]-'A')*26 + int(c[1]-'A')) * 2
	return codes[i : i+2]
}

// numberOf returns an address as a number. The address must be valid.
func numberOf(a netip.Addr) u128 {
	if a.Is4() {
		b := a.As4()
		return u128{lo: uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return u128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// addrOf is the inverse of numberOf.
func addrOf(v4 bool, n u128) netip.Addr {
	if v4 {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(n.lo))
		return netip.AddrFrom4(b)
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], n.hi)
	binary.BigEndian.PutUint64(b[8:], n.lo)
	return netip.AddrFrom16(b)
}
