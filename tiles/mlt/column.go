package mlt

import (
	"encoding/binary"
	"math"
	"strconv"

	"quadrille/tiles/mvt"
)

// column is an attribute of the features.
type column struct {
	name    []byte
	values  [][]byte // as package mvt encodes them, nil where absent
	present int
	kind    byte
	numbers []uint64
	index   map[string]uint32
	dict    []string
}

func (c *column) reset(name []byte) {
	clear(c.values) // which hold on to the tile
	c.name, c.values, c.present = name, c.values[:0], 0
}

// set gives feature i its value. If it has the attribute twice, the last one counts, as
// in an object.
func (c *column) set(i int, value []byte) {
	for len(c.values) <= i {
		c.values = append(c.values, nil)
	}
	if c.values[i] == nil {
		c.present++
	}
	c.values[i] = value
}

// What the values of a column are.
const (
	texts = 1 << iota
	booleans
	integers
	fractions
)

// maxExact bounds the whole numbers that a double holds exactly.
const maxExact = 1 << 53

// choose finds the type that holds all values. Whole numbers of more than 32 bits are
// doubles, since decoders in JavaScript make a BigInt of a 64-bit column, which styles
// cannot compare with a number.
func (c *column) choose() {
	kinds := 0
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range c.values {
		if v == nil {
			continue
		}
		if _, ok := mvt.StringValue(v); ok {
			kinds |= texts
		} else if _, ok := mvt.BoolValue(v); ok {
			kinds |= booleans
		} else if n, ok := mvt.IntegerValue(v); ok {
			kinds |= integers
			least, most = min(least, n), max(most, n)
		} else {
			kinds |= fractions
		}
	}
	exact := kinds&integers == 0 || least >= -maxExact && most <= maxExact
	switch {
	case kinds == booleans:
		c.kind = columnBool
	case kinds == integers && least >= 0 && most <= math.MaxUint32:
		c.kind = columnUint32
	case kinds == integers && least >= math.MinInt32 && most <= math.MaxInt32:
		c.kind = columnInt32
	case kinds&(texts|booleans) == 0 && exact:
		c.kind = columnDouble
	case kinds == integers:
		c.kind = columnInt64
	default:
		c.kind = columnString
	}
}

// appendColumn appends the streams of a column that all or some of the features have.
func (e *Encoder) appendColumn(b []byte, c *column, features int) []byte {
	lacks := c.present < features
	if c.kind == columnString {
		return e.appendTexts(b, c, features)
	}
	if lacks {
		b = e.appendPresent(b, c, features)
	}
	switch c.kind {
	case columnBool:
		at := c.values[:0:0]
		for _, v := range c.values {
			if v != nil {
				at = append(at, v)
			}
		}
		return e.appendBools(b, streamData, c.present, func(i int) bool { is, _ := mvt.BoolValue(at[i]); return is })
	case columnDouble:
		b = appendStream(b, streamData, encodingBytes, c.present, 8*c.present)
		for _, v := range c.values {
			if v != nil {
				n, _ := mvt.NumberValue(v)
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(n))
			}
		}
		return b
	}
	signed := c.kind != columnUint32
	c.numbers = c.numbers[:0]
	for _, v := range c.values {
		if v == nil {
			continue
		}
		n, _ := mvt.IntegerValue(v)
		if signed {
			c.numbers = append(c.numbers, zigzag(n))
		} else {
			c.numbers = append(c.numbers, uint64(n))
		}
	}
	return e.ints.append(b, streamData, c.numbers, signed, plain|delta|runs)
}

// appendPresent appends which features have a value.
func (e *Encoder) appendPresent(b []byte, c *column, features int) []byte {
	return e.appendBools(b, streamPresent, features, func(i int) bool { return i < len(c.values) && c.values[i] != nil })
}

// appendTexts appends a column of texts: their lengths, and the texts themselves, each
// once if that is shorter.
func (e *Encoder) appendTexts(b []byte, c *column, features int) []byte {
	if c.index == nil {
		c.index = make(map[string]uint32)
	}
	clear(c.index)
	c.dict, c.numbers = c.dict[:0], c.numbers[:0]
	whole, once := 0, 0
	for _, v := range c.values {
		if v == nil {
			continue
		}
		text := textOf(v)
		i, ok := c.index[string(text)]
		if !ok {
			i = uint32(len(c.dict))
			key := string(text)
			c.index[key] = i
			c.dict = append(c.dict, key)
			once += len(text) + 1
		}
		whole += len(text) + 1
		c.numbers = append(c.numbers, uint64(i))
	}
	const streamHead = 4
	shared := once+streamHead+len(c.numbers) < whole
	streams := byte(2)
	if shared {
		streams++
	}
	if c.present < features {
		b = append(b, streams+1)
		b = e.appendPresent(b, c, features)
	} else {
		b = append(b, streams)
	}
	if shared {
		e.lengths = e.lengths[:0]
		for _, text := range c.dict {
			e.lengths = append(e.lengths, uint64(len(text)))
		}
		b = e.ints.append(b, streamDictLengths, e.lengths, false, plain|runs)
		b = e.ints.append(b, streamTextOffsets, c.numbers, false, plain|delta|runs|deltaRuns)
		b = appendStream(b, streamTextDict, encodingBytes, len(c.dict), once-len(c.dict))
		for _, text := range c.dict {
			b = append(b, text...)
		}
		return b
	}
	e.lengths = e.lengths[:0]
	for _, i := range c.numbers {
		e.lengths = append(e.lengths, uint64(len(c.dict[i])))
	}
	b = e.ints.append(b, streamTextLengths, e.lengths, false, plain|runs)
	b = appendStream(b, streamData, encodingBytes, c.present, whole-c.present)
	for _, i := range c.numbers {
		b = append(b, c.dict[i]...)
	}
	return b
}

// textOf is the text of a value of any type.
func textOf(value []byte) []byte {
	if text, ok := mvt.StringValue(value); ok {
		return text
	}
	if is, ok := mvt.BoolValue(value); ok {
		return strconv.AppendBool(nil, is)
	}
	if n, ok := mvt.IntegerValue(value); ok {
		return strconv.AppendInt(nil, n, 10)
	}
	n, _ := mvt.NumberValue(value)
	return strconv.AppendFloat(nil, n, 'g', -1, 64)
}
