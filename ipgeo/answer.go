package ipgeo

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"quadrille/quadkey"
)

// An answer is stored in parts, because each part repeats much more often than
// the whole. A heap holds each part once, and records that say which parts make
// an answer.
//
//	part    length, uvarint · bytes
//	record  mask, 2 bytes · offset in the heap of each part it has · point · cell
//	mask    bits 0–7: the parts it has, by the numbers below
//	        bits 8, 9: the kind of its point, which coordinates.go explains
//	        bits 10, 11: its cell: 0 none, 1 that of the point, 2 four bytes
//	        bits 12–14: bytes of an offset, less 1
//
// Numbers are little-endian.
const (
	partOfCountry      = iota // code, or two zeros; then the members of rowkey.go's section 2
	partOfCity                // the member "city"
	partBefore                // what precedes "latitude" in the member "location"
	partAfter                 // the members after "longitude" in it
	partOfPostal              // the member "postal"
	partOfSubdivisions        // the member "subdivisions"
	partOfTraits              // number of the autonomous system, 4 bytes, big-endian; then the members
	partOfOwn                 // section 5, without its quadkey if there is a cell
	answerParts

	pointShift, cellShift, widthShift = 8, 10, 12

	cellNone, cellOfPoint, cellStored = 0, 1, 2
	cellBytes                         = 4
	maxMask                           = 1<<15 - 1

	// maxPart bounds the bytes of a part, so that a damaged length cannot turn a whole file into an
	// answer. The text of a record is shorter than maxRecord, and several sources rarely add up to
	// maxPart.
	maxPart = 1 << 20
)

// answer is a decoded record. Its parts point into the heap.
type answer struct {
	part     [answerParts][]byte
	point    point
	lat, lon float64
	cellKind int
	cell     uint32
}

// equal reports whether two answers are the same. Equal answers have equal
// parts, because split is a function of the answer.
func (a *answer) equal(b *answer) bool {
	for i := range a.part {
		if !bytes.Equal(a.part[i], b.part[i]) {
			return false
		}
	}
	return a.point == b.point && (a.cellKind == cellNone) == (b.cellKind == cellNone) && a.cellOf() == b.cellOf()
}

// cellOf returns the cell of the answer, or 0 if there is none.
func (a *answer) cellOf() uint32 {
	if a.cellKind == cellOfPoint {
		c, _ := quadkey.CellOf(a.lon, a.lat) // the record's coordinates are checked
		return uint32(c)
	}
	return a.cell
}

func (a *answer) code() []byte {
	if p := a.part[partOfCountry]; len(p) >= 2 && p[0] != 0 {
		return p[:2]
	}
	return nil
}

func (a *answer) country() []byte {
	if p := a.part[partOfCountry]; len(p) >= 2 {
		return p[2:]
	}
	return nil
}

func (a *answer) asn() uint32 {
	if p := a.part[partOfTraits]; len(p) >= 4 {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (a *answer) traits() []byte {
	if p := a.part[partOfTraits]; len(p) >= 4 {
		return p[4:]
	}
	return nil
}

// appendCity appends the members known from city-level sources.
func (a *answer) appendCity(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, a.part[partOfCity]...)
	if kind := a.point.kind; kind == pointDecimal || kind == pointSingle {
		const opening, latitude = `,"location":{"latitude":`, `"latitude":`
		all := opening
		if len(dst) == start {
			all = opening[1:]
		}
		if before := a.part[partBefore]; len(before) == 0 {
			dst = append(dst, all...)
		} else {
			dst = append(dst, all[:len(all)-len(latitude)]...)
			dst = append(append(dst, before...), latitude...)
		}
		dst = a.point.appendText(dst, 0)
		dst = append(dst, `,"longitude":`...)
		dst = a.point.appendText(dst, 1)
		dst = append(append(dst, a.part[partAfter]...), '}')
	} else if before := a.part[partBefore]; len(before) > 0 {
		dst = append(appendComma(dst, start), `"location":{`...)
		dst = append(append(dst, before...), '}')
	}
	if p := a.part[partOfPostal]; len(p) > 0 {
		dst = append(appendComma(dst, start), p...)
	}
	if p := a.part[partOfSubdivisions]; len(p) > 0 {
		dst = append(appendComma(dst, start), p...)
	}
	return dst
}

// appendComma appends a comma if anything follows start.
func appendComma(dst []byte, start int) []byte {
	if len(dst) > start {
		return append(dst, ',')
	}
	return dst
}

// appendOwn appends the members that GeoIP2 lacks.
func (a *answer) appendOwn(dst []byte) []byte {
	if a.cellKind != cellNone {
		dst = append(dst, `"quadkey":"`...)
		dst = append(appendCell(dst, a.cellOf()), '"')
	}
	return append(dst, a.part[partOfOwn]...)
}

// appendSections appends the answer as the sections of rowkey.go.
func (a *answer) appendSections(dst []byte) []byte {
	var buf [512]byte
	dst = appendSection(dst, sectionCode, a.code())
	dst = appendSection(dst, sectionCountry, a.country())
	dst = appendSection(dst, sectionCity, a.appendCity(buf[:0]))
	dst = appendSection(dst, sectionTraits, a.traits())
	dst = appendSection(dst, sectionOwn, a.appendOwn(buf[:0]))
	if a.point.kind != pointNone {
		dst = appendSection(dst, sectionCoordinates, appendCoordinates(buf[:0], a.lat, a.lon))
	}
	if asn := a.asn(); asn != 0 {
		dst = appendSection(dst, sectionASN, binary.BigEndian.AppendUint32(buf[:0], asn))
	}
	return dst
}

// splitter splits the sections of answers into parts. It reuses its memory, so
// the parts are valid until the next call.
type splitter struct {
	answer
	buf   []byte
	check []byte
}

func (p *splitter) split(rest []byte) (wrong string) {
	var s sections
	if wrong := s.decode(rest); wrong != "" {
		return wrong
	}
	p.answer = answer{lat: s.lat, lon: s.lon}
	a := &p.answer
	p.buf = slices.Grow(p.buf[:0], 2+len(s.country)+4+len(s.traits)) // so the appends below do not move it
	if len(s.code) > 0 || len(s.country) > 0 {
		p.buf = append(append(p.buf, 0, 0), s.country...)
		copy(p.buf, s.code)
		a.part[partOfCountry] = p.buf
	}
	if at := len(p.buf); s.asn != 0 || len(s.traits) > 0 {
		p.buf = append(binary.BigEndian.AppendUint32(p.buf, s.asn), s.traits...)
		a.part[partOfTraits] = p.buf[at:]
	}
	if s.located {
		a.point = pointOf(s.lat, s.lon)
	}
	a.splitCity(s.city)
	a.splitOwn(s.own)
	// An answer in another form than merge.go writes stays whole.
	if p.check = a.appendSections(p.check[:0]); !bytes.Equal(p.check, rest) {
		for i := partOfCity; i <= partOfSubdivisions; i++ {
			a.part[i] = nil
		}
		a.part[partOfCity], a.part[partOfOwn], a.cellKind = s.city, s.own, cellNone
		if s.located {
			a.point.setRaw(s.lat, s.lon)
		}
	}
	return ""
}

func (a *answer) splitCity(members []byte) {
	for len(members) > 0 {
		key, value, rest, ok := nextMember(members)
		if !ok {
			return
		}
		whole := members[:len(key)+3+len(value)]
		switch string(key) {
		case "city":
			a.part[partOfCity] = whole
		case "location":
			a.splitLocation(inner(value))
		case "postal":
			a.part[partOfPostal] = whole
		case "subdivisions":
			a.part[partOfSubdivisions] = whole
		}
		members = rest
	}
}

func (a *answer) splitLocation(members []byte) {
	a.part[partBefore] = members
	if a.point.kind == pointNone || a.point.kind == pointRaw {
		return
	}
	for rest := members; len(rest) > 0; {
		key, _, next, ok := nextMember(rest)
		if !ok {
			return
		}
		if string(key) != "latitude" {
			rest = next
			continue
		}
		_, longitude, _, ok := nextMember(next)
		if !ok {
			return
		}
		end := len(members) - len(next) + len(`"longitude":`) + len(longitude)
		a.part[partBefore], a.part[partAfter] = members[:len(members)-len(rest)], members[end:]
		return
	}
}

func (a *answer) splitOwn(own []byte) {
	a.part[partOfOwn] = own
	const before, after = `"quadkey":"`, `"`
	if a.point.kind == pointNone || !bytes.HasPrefix(own, []byte(before)) || len(own) < len(before)+cellDigits+len(after) {
		return
	}
	a.cellKind = cellOfPoint
	a.part[partOfOwn] = own[len(before)+cellDigits+len(after):]
}

// appendRecord appends a record. Its parts are in the heap at the offsets in
// at.
func (a *answer) appendRecord(dst []byte, at *[answerParts]uint64) []byte {
	mask, width := uint16(0), 1
	for i, p := range a.part {
		if len(p) > 0 {
			mask |= 1 << i
			width = max(width, (bits.Len64(at[i])+7)/8)
		}
	}
	mask |= uint16(a.point.kind)<<pointShift | uint16(a.cellKind)<<cellShift | uint16(width-1)<<widthShift
	dst = binary.LittleEndian.AppendUint16(dst, mask)
	for i, p := range a.part {
		if len(p) > 0 {
			dst = appendUint(dst, at[i], width)
		}
	}
	dst = append(dst, a.point.b[:pointBytes[a.point.kind]]...)
	if a.cellKind == cellStored {
		dst = binary.LittleEndian.AppendUint32(dst, a.cell)
	}
	return dst
}

// appendUint appends the low bytes of n.
func appendUint(dst []byte, n uint64, bytes int) []byte {
	for range bytes {
		dst = append(dst, byte(n))
		n >>= 8
	}
	return dst
}

// record decodes the record at an offset of the heap and returns a description of its damage, or
// "". It trusts nothing in the heap.
func (a *answer) record(heap []byte, at uint64) (wrong string) {
	const outside = "a record lies outside the heap"
	if at >= uint64(len(heap)) || len(heap)-int(at) < 2 {
		return outside
	}
	b := heap[at:]
	mask := binary.LittleEndian.Uint16(b)
	a.point.kind, a.cellKind = int(mask>>pointShift&3), int(mask>>cellShift&3)
	width := int(mask>>widthShift&7) + 1
	if mask > maxMask || a.cellKind > cellStored || a.cellKind == cellOfPoint && a.point.kind == pointNone {
		return "a record has an unknown form"
	}
	has := uint(mask & (1<<answerParts - 1))
	b = b[2:]
	fixed := bits.OnesCount(has) * width
	need := fixed + pointBytes[a.point.kind]
	if a.cellKind == cellStored {
		need += cellBytes
	}
	if len(b) < need {
		return outside
	}
	for ; has != 0; has &= has - 1 {
		var off uint64
		if len(b) >= 8 {
			off = binary.LittleEndian.Uint64(b) << (64 - 8*width) >> (64 - 8*width)
		} else {
			for i := width - 1; i >= 0; i-- {
				off = off<<8 | uint64(b[i])
			}
		}
		b = b[width:]
		if off >= uint64(len(heap)) {
			return "a part lies outside the heap"
		}
		p := heap[off:]
		n, w := uint64(p[0]), 1
		if n >= 0x80 {
			n, w = binary.Uvarint(p)
		}
		if w <= 0 || n > uint64(len(p)-w) {
			return "a part ends outside the heap"
		}
		if n > maxPart {
			return "a part is too long"
		}
		a.part[bits.TrailingZeros(has)] = p[w : w+int(n) : w+int(n)]
	}
	if n := pointBytes[a.point.kind]; n > 0 {
		copy(a.point.b[:n], b)
		b = b[n:]
		var ok bool
		if a.lat, a.lon, ok = a.point.degrees(); !ok {
			return "coordinates are none"
		}
	}
	if a.cellKind == cellStored {
		a.cell = binary.LittleEndian.Uint32(b)
	}
	if p := a.part[partOfCountry]; len(p) == 1 || len(p) >= 2 && !isCode(p[:2]) && (p[0] != 0 || p[1] != 0) {
		return "country code is not two letters"
	}
	if p := a.part[partOfTraits]; 0 < len(p) && len(p) < 4 {
		return "the number of the autonomous system has the wrong length"
	}
	return ""
}
