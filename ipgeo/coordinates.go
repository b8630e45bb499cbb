package ipgeo

import (
	"encoding/binary"
	"math"
	"math/bits"

	"quadrille/quadkey"
)

// Coordinates are stored in a few bytes, and each lookup writes their text. Most sources have one
// of two kinds of numbers. Decimals with up to seven places fit into 32 bits as ten-millionths of a
// degree. The others are 32-bit floats that were converted to 64 bits, so their text has up to 17
// digits.
const (
	pointNone    = iota
	pointDecimal // two 32-bit integers: ten-millionths of a degree
	pointSingle  // two 32-bit floats
	pointRaw     // two 64-bit floats; their text is stored too
)

// pointBytes is the number of bytes of a point, by kind.
var pointBytes = [4]int{pointDecimal: 8, pointSingle: 8, pointRaw: 16}

const decimalScale = 7 // digits after the point

var powersOf10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

// point is a coordinate pair in stored form.
type point struct {
	kind int
	b    [16]byte // little-endian
}

// pointOf returns the shortest form that decodes to the same numbers. Unless the kind is raw, it
// also decodes to the text of appendNumber.
func pointOf(lat, lon float64) (p point) {
	var text, want [64]byte
	same := func() bool {
		x, y, ok := p.degrees()
		if !ok || x != lat || y != lon {
			return false
		}
		for i, v := range [2]float64{lat, lon} {
			if string(p.appendText(text[:0], i)) != string(appendNumber(want[:0], v)) {
				return false
			}
		}
		return true
	}
	put := func(kind int, a, b uint32) {
		p.kind = kind
		binary.LittleEndian.PutUint32(p.b[:], a)
		binary.LittleEndian.PutUint32(p.b[4:], b)
	}
	scale := float64(powersOf10[decimalScale])
	if put(pointDecimal, uint32(int32(math.Round(lat*scale))), uint32(int32(math.Round(lon*scale)))); same() {
		return p
	}
	if put(pointSingle, math.Float32bits(float32(lat)), math.Float32bits(float32(lon))); same() {
		return p
	}
	p.setRaw(lat, lon)
	return p
}

func (p *point) setRaw(lat, lon float64) {
	p.kind = pointRaw
	binary.LittleEndian.PutUint64(p.b[:], math.Float64bits(lat))
	binary.LittleEndian.PutUint64(p.b[8:], math.Float64bits(lon))
}

// degrees returns the coordinates. It refuses coordinates out of range, and NaN.
func (p *point) degrees() (lat, lon float64, ok bool) {
	switch p.kind {
	case pointDecimal:
		scale := float64(powersOf10[decimalScale])
		lat = float64(int32(binary.LittleEndian.Uint32(p.b[:]))) / scale
		lon = float64(int32(binary.LittleEndian.Uint32(p.b[4:]))) / scale
	case pointSingle:
		lat = float64(math.Float32frombits(binary.LittleEndian.Uint32(p.b[:])))
		lon = float64(math.Float32frombits(binary.LittleEndian.Uint32(p.b[4:])))
	case pointRaw:
		lat = math.Float64frombits(binary.LittleEndian.Uint64(p.b[:]))
		lon = math.Float64frombits(binary.LittleEndian.Uint64(p.b[8:]))
	}
	return lat, lon, quadkey.Position{Lat: lat, Lon: lon}.Valid()
}

// appendText appends the text of the latitude (0) or the longitude (1). The point must not be raw.
func (p *point) appendText(dst []byte, which int) []byte {
	v := binary.LittleEndian.Uint32(p.b[4*which:])
	if p.kind == pointSingle {
		return appendSingle(dst, math.Float32frombits(v))
	}
	n := int64(int32(v))
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	whole, fraction, scale := n/1e7, n%1e7, decimalScale
	if fraction%1000 == 0 { // four places are most common
		fraction, scale = fraction/1000, scale-3
	}
	for scale > 0 && fraction%10 == 0 {
		fraction, scale = fraction/10, scale-1
	}
	return appendFraction(dst, uint8(whole), uint64(fraction), scale)
}

// appendSingle appends the same as appendNumber(dst, float64(f)) and is faster
// for coordinates.
//
// A float of 32 bits, written as one of 64, leaves the low 29 bits of its
// mantissa zero. So 17 of its digits are exact in integers of 128 bits. The
// shortest text drops digits as long as the number stays within half a step of
// the 64-bit float.
func appendSingle(dst []byte, f float32) []byte {
	const mantissa = 23
	b := math.Float32bits(f)
	e := int(b>>mantissa&0xff) - 127 // 2^e ≤ |f| < 2^(e+1)
	m := uint64(b&(1<<mantissa-1) | 1<<mantissa)
	if e < -9 || e > 7 || m == 1<<mantissa { // for a power of 2 the step below is smaller
		return appendNumber(dst, float64(f))
	}
	k := uint(mantissa - e) // |f| is m / 2^k
	whole, fraction := m>>k, m&(1<<k-1)
	// q are the digits of the fraction that make 17 digits in all. rest / 2^k is the remainder
	// after the last one.
	scale := scales[e+9]
	if e >= 0 && whole >= powersOf10[17-scale] {
		scale--
	}
	hi, lo := bits.Mul64(fraction, powersOf10[scale])
	if e < 0 && hi<<(64-k)|lo>>k >= powersOf10[17] {
		scale--
		hi, lo = bits.Mul64(fraction, powersOf10[scale])
	}
	q, rest := hi<<(64-k)|lo>>k, lo&(1<<k-1)
	half := powersOf10[scale] >> 30 // of a step, in units of rest

	// Halves are rounded to the even digit.
	ten, hundred, thousand := q%10, q%100, q%1000
	if within(hundred, 100, k, rest, half) && within(thousand, 1000, k, rest, half) {
		return appendNumber(dst, float64(f)) // its text is short
	}
	switch {
	case within(hundred, 100, k, rest, half):
		q, scale = q/100+above(hundred, 50, q/100, rest), scale-2
	case within(ten, 10, k, rest, half):
		q, scale = q/10+above(ten, 5, q/10, rest), scale-1
	default:
		q += above(rest, 1<<(k-1), q, 0)
	}
	if b>>31 != 0 {
		dst = append(dst, '-')
	}
	return appendFraction(dst, uint8(whole), q, scale)
}

// within reports whether a multiple of unit lies within half a step of a number. The number is a
// multiple of unit plus over, plus rest / 2^k.
func within(over, unit uint64, k uint, rest, half uint64) bool {
	return over<<k+rest <= half || (unit-over)<<k-rest <= half
}

// above returns 1 if a number must be rounded up to the next multiple, and otherwise 0. The number
// is multiple number digits plus over, plus a little more if rest is not zero. Halfway between two
// multiples, the even multiple is chosen.
func above(over, middle, digits, rest uint64) uint64 {
	if over > middle || over == middle && (rest > 0 || digits&1 == 1) {
		return 1
	}
	return 0
}

// scales lists, by binary exponent from -9 to 7, the number of decimals with which a number has 17
// digits, or 18 for the larger numbers of that exponent.
var scales = [...]int{19, 19, 19, 19, 18, 18, 17, 17, 17, 16, 16, 16, 16, 15, 15, 15, 14}

// appendFraction appends a whole number and a fraction of scale digits.
func appendFraction(dst []byte, whole uint8, fraction uint64, scale int) []byte {
	d := &decimals[whole]
	dst = append(dst, d[:d[3]]...)
	if scale == 0 {
		return dst
	}
	var digits [24]byte
	const eight = 1e8
	binary.LittleEndian.PutUint64(digits[16:], eightDigits(fraction%eight))
	fraction /= eight
	binary.LittleEndian.PutUint64(digits[8:], eightDigits(fraction%eight))
	binary.LittleEndian.PutUint64(digits[:], eightDigits(fraction/eight))
	return append(append(dst, '.'), digits[len(digits)-scale:]...)
}

// eightDigits returns the digits of n < 10^8 as text in memory order. It halves the groups of
// digits three times, all groups at once.
func eightDigits(n uint64) uint64 {
	n = n/10000 | n%10000<<32
	q := n * 10486 >> 20 & (0x7f<<32 | 0x7f)
	n = q | (n-100*q)<<16
	q = n * 103 >> 10 & (0xf<<48 | 0xf<<32 | 0xf<<16 | 0xf)
	n = q | (n-10*q)<<8
	return n | 0x3030303030303030
}

// quadDigits has the four quadkey digits of each value of a cell's byte.
var quadDigits = func() (t [256][4]byte) {
	for i := range t {
		for j := range t[i] {
			t[i][j] = byte('0' + i>>(6-2*j)&3)
		}
	}
	return t
}()

const cellDigits = 16

// appendCell appends the quadkey of a cell.
func appendCell(dst []byte, cell uint32) []byte {
	var d [cellDigits]byte
	*(*[4]byte)(d[:]) = quadDigits[cell>>24]
	*(*[4]byte)(d[4:]) = quadDigits[cell>>16&0xff]
	*(*[4]byte)(d[8:]) = quadDigits[cell>>8&0xff]
	*(*[4]byte)(d[12:]) = quadDigits[cell&0xff]
	return append(dst, d[:]...)
}
