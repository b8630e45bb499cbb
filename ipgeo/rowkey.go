package ipgeo

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"quadrille/cellstore"
)

// The table "ip" has one family "r" with one column, whose qualifier is empty.
// A row is one range; no two rows overlap, so within a family of addresses the
// rows sort alike by first and by last address.
//
//	row key, 5 or 17 bytes
//	┌──────┬──────────────────────────┐
//	│ 0x04 │ last address, 4 bytes    │   IPv4, big-endian
//	├──────┼──────────────────────────┴───────────────────────┐
//	│ 0x06 │ last address, 16 bytes                           │   IPv6
//	└──────┴──────────────────────────────────────────────────┘
//
//	value
//	┌───────────────────────┬─────────┬─────────┬─ ─ ─
//	│ first address, 4 / 16 │ section │ section │
//	└───────────────────────┴────┬────┴─────────┴─ ─ ─
//	                             │
//	          ┌─────┬────────────┴─────┬────────────────┐
//	          │ tag │ length, uvarint  │ bytes          │
//	          └─────┴──────────────────┴────────────────┘
//
//	tag 1  ISO 3166-1 code of the country, two bytes
//	tag 2  members of the answer known from country-level sources:
//	       "continent":{…},"country":{…}   (JSON, without the braces around)
//
// The sections are the record: encoded once by the builder, and put on the
// wire as they are. Readers skip tags they do not know, so a new kind of
// knowledge is a new tag and no new layout.
const (
	// Layout is the version of all of the above: the schema version of a
	// generation's manifest. It is kept in Meta too.
	Layout = 1

	tableName  = "ip"
	familyName = "r"

	prefix4, prefix6 = 0x04, 0x06

	sectionCode    = 1
	sectionCountry = 2

	maxKey = 1 + 16
)

// The keys that end the rows of either family of addresses.
var end4, end6 = []byte{prefix4 + 1}, []byte{prefix6 + 1}

func schema() cellstore.Schema {
	return cellstore.Schema{Table: tableName, Families: []cellstore.Family{{
		Name:        familyName,
		Bloom:       cellstore.BloomNone, // never read by exact key
		Compression: cellstore.CompressionZstd,
		MaxVersions: cellstore.Unlimited, // rows are written once: the store need not look for more
	}}}
}

// appendKey appends the key of the row that would end at an address.
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

// row is a decoded row. The slices point into the value.
type row struct {
	first, last u128
	code        []byte // "FR"; may be empty
	country     []byte // JSON members
}

func decodeRow(key, value []byte, v4 bool) (r row, err error) {
	bad := func(what string) (row, error) {
		return row{}, fmt.Errorf("ipgeo: row %x: %s: %w; restore the generation or build it again", key, what, cellstore.ErrCorrupt)
	}
	var ok bool
	if len(key) == 0 {
		return bad("no key")
	}
	rest := key[1:]
	if r.last, rest, ok = readAddr(rest, v4); !ok || len(rest) != 0 {
		return bad("key has the wrong length")
	}
	if r.first, rest, ok = readAddr(value, v4); !ok {
		return bad("value has no first address")
	}
	if r.last.less(r.first) {
		return bad("first address is after the last")
	}
	for len(rest) > 0 {
		tag := rest[0]
		n, w := binary.Uvarint(rest[1:])
		if w <= 0 || n > uint64(len(rest)-1-w) {
			return bad("a section is cut off")
		}
		body := rest[1+w : 1+w+int(n)]
		rest = rest[1+w+int(n):]
		switch tag {
		case sectionCode:
			if len(body) != 2 || !isCode(body) {
				return bad("country code is not two letters")
			}
			r.code = body
		case sectionCountry:
			r.country = body
		}
	}
	return r, nil
}

// appendSection appends one section of a record; an empty one is left out.
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

// codes spells AA, AB … ZZ one after another, so that a code read from a row
// becomes a string without an allocation.
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
