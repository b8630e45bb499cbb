package points

import (
	"hash/maphash"
	"math"

	"quadrille/feature"
)

// column has a property of all points of a sheet. It implements feature.Coded.
type column struct {
	narrow []uint8 // codes, in the narrowest list that can hold them
	middle []uint16
	wide   []uint32
	text   []byte // the values one after the other
	ends   []uint32
	// tooLarge columns have no values: filters by them read the rows.
	tooLarge bool
}

func (c *column) bytes() int64 {
	return int64(len(c.narrow) + 2*len(c.middle) + 4*len(c.wide) + len(c.text) + 4*len(c.ends))
}

func (c *column) values() int { return len(c.ends) }

// Len implements feature.Coded.
func (c *column) Len() int { return len(c.ends) + 1 }

// Value implements feature.Coded. It returns nil for 0.
func (c *column) Value(code uint32) []byte {
	switch code {
	case 0:
		return nil
	case 1:
		return c.text[:c.ends[0]]
	}
	return c.text[c.ends[code-2]:c.ends[code-1]]
}

// Codes implements feature.Coded.
func (c *column) Codes(dst []uint32, from int) {
	for i := range dst {
		dst[i] = c.code(from + i)
	}
}

// code returns the code of a row.
func (c *column) code(row int) uint32 {
	switch {
	case c.narrow != nil:
		return uint32(c.narrow[row])
	case c.middle != nil:
		return uint32(c.middle[row])
	}
	return c.wide[row]
}

// list returns all codes.
func (c *column) list(n int) []uint32 {
	all := make([]uint32, n)
	c.Codes(all, 0)
	return all
}

// columnMaker makes a column.
type columnMaker struct {
	name     string
	path     feature.Path
	codes    []uint32
	text     []byte
	ends     []uint32
	slots    []uint32 // a hash table of codes; 0 is free
	tooLarge bool
}

var hashSeed = maphash.MakeSeed()

// newColumnMaker returns a maker that begins with the values of a column, if it is not nil.
func newColumnMaker(name string, known *column) columnMaker {
	m := columnMaker{name: name, path: feature.PathTo(name), slots: make([]uint32, 64)}
	if known != nil {
		m.tooLarge = known.tooLarge
		m.text, m.ends = append(m.text, known.text...), append(m.ends, known.ends...)
		m.grow()
	}
	return m
}

// add appends the value of a point: compact JSON, nil for none.
func (m *columnMaker) add(value []byte) {
	switch {
	case m.tooLarge:
	case value == nil:
		m.codes = append(m.codes, 0)
	default:
		m.codes = append(m.codes, m.code(value))
		if int64(len(m.text)+12*len(m.ends)) > columnBytes/4 || len(m.text) > math.MaxInt32 {
			m.tooLarge, m.codes, m.text, m.ends, m.slots = true, nil, nil, nil, nil
		}
	}
}

func (m *columnMaker) code(value []byte) uint32 {
	known := column{text: m.text, ends: m.ends}
	at := m.slot(value)
	for m.slots[at] != 0 {
		if string(known.Value(m.slots[at])) == string(value) {
			return m.slots[at]
		}
		at = (at + 1) % len(m.slots)
	}
	m.text = append(m.text, value...)
	m.ends = append(m.ends, uint32(len(m.text)))
	code := uint32(len(m.ends))
	if m.slots[at] = code; 2*len(m.ends) > len(m.slots) {
		m.grow()
	}
	return code
}

func (m *columnMaker) slot(value []byte) int {
	return int(maphash.Bytes(hashSeed, value) % uint64(len(m.slots))) //nolint:gosec // less than the length
}

// grow makes the hash table large enough.
func (m *columnMaker) grow() {
	n := len(m.slots)
	for n < 4*len(m.ends) {
		n *= 2
	}
	m.slots = make([]uint32, n)
	known := column{text: m.text, ends: m.ends}
	for code := range uint32(len(m.ends)) {
		at := m.slot(known.Value(code + 1))
		for m.slots[at] != 0 {
			at = (at + 1) % n
		}
		m.slots[at] = code + 1
	}
}

// column returns the column. The maker is not used any more.
func (m *columnMaker) column() *column {
	c := &column{text: m.text, ends: m.ends, tooLarge: m.tooLarge}
	switch n := len(m.ends); {
	case m.tooLarge:
	case n <= math.MaxUint8:
		c.narrow = make([]uint8, len(m.codes))
		for i, code := range m.codes {
			c.narrow[i] = uint8(code)
		}
	case n <= math.MaxUint16:
		c.middle = make([]uint16, len(m.codes))
		for i, code := range m.codes {
			c.middle[i] = uint16(code)
		}
	default:
		c.wide = m.codes
	}
	return c
}
