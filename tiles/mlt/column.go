package mlt

import (
	"encoding/binary"
	"math"
	"strconv"

	"quadrille/tiles/mvt"
)

// column is an attribute of the features, with the values of the features that have it. A tile may
// have as many columns as attributes, so the cost of each must depend only on its values.
type column struct {
	name   []byte
	at     []uint32 // the features, ascending
	values [][]byte // as package mvt encodes them
	kind   byte
}

func (c *column) reset(name []byte) {
	clear(c.values) // they refer to the tile
	c.name, c.at, c.values = name, c.at[:0], c.values[:0]
}

// set sets the value of the newest feature, number i. If a feature has the attribute twice, the
// last value counts, as in a JSON object.
func (c *column) set(i int, value []byte) {
	if n := len(c.at); n > 0 && c.at[n-1] == uint32(i) {
		c.values[n-1] = value
		return
	}
	c.at, c.values = append(c.at, uint32(i)), append(c.values, value)
}

// These are the kinds of values of a column, as bits.
const (
	texts = 1 << iota
	booleans
	integers
	fractions
)

// maxExact bounds the whole numbers that a double holds exactly.
const maxExact = 1 << 53

// choose finds the type that holds all values. Whole numbers of more than 32 bits become doubles,
// because JavaScript decoders turn a 64-bit column into BigInts, which styles cannot compare with a
// number.
func (c *column) choose() {
	kinds := 0
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range c.values {
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

// appendColumn appends the streams of a column. Some features may lack the column.
func (e *Encoder) appendColumn(b []byte, c *column, features int) []byte {
	if c.kind == columnString {
		return e.appendTexts(b, c, features)
	}
	b = e.appendPresent(b, c, features)
	switch c.kind {
	case columnBool:
		return e.appendBools(b, streamData, len(c.values), func(i int) bool { is, _ := mvt.BoolValue(c.values[i]); return is })
	case columnDouble:
		b = appendStream(b, streamData, encodingBytes, len(c.values), 8*len(c.values))
		for _, v := range c.values {
			n, _ := mvt.NumberValue(v)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(n))
		}
		return b
	}
	signed := c.kind != columnUint32
	e.numbers = e.numbers[:0]
	for _, v := range c.values {
		n, _ := mvt.IntegerValue(v)
		if signed {
			e.numbers = append(e.numbers, zigzag(n))
		} else {
			e.numbers = append(e.numbers, uint64(n))
		}
	}
	return e.ints.append(b, streamData, e.numbers, signed, plain|delta|runs)
}

// appendPresent appends a bit for each feature that is set if the feature has a value. It appends
// nothing if all features have one.
func (e *Encoder) appendPresent(b []byte, c *column, features int) []byte {
	if len(c.at) == features {
		return b
	}
	at := c.at
	return e.appendBools(b, streamPresent, features, func(i int) bool {
		has := len(at) > 0 && at[0] == uint32(i)
		if has {
			at = at[1:]
		}
		return has
	})
}

// appendTexts appends a column of texts: their lengths, and the texts themselves. It stores each
// distinct text once if that is shorter.
func (e *Encoder) appendTexts(b []byte, c *column, features int) []byte {
	if e.index == nil {
		e.index = make(map[string]uint32)
	}
	clear(e.index)
	e.dict, e.numbers = e.dict[:0], e.numbers[:0]
	whole, once := 0, 0
	for _, v := range c.values {
		text := textOf(v)
		i, ok := e.index[string(text)]
		if !ok {
			i = uint32(len(e.dict))
			key := string(text)
			e.index[key] = i
			e.dict = append(e.dict, key)
			once += len(text) + 1
		}
		whole += len(text) + 1
		e.numbers = append(e.numbers, uint64(i))
	}
	const streamHead = 4
	shared := once+streamHead+len(e.numbers) < whole
	streams := byte(2)
	if shared {
		streams++
	}
	if len(c.values) < features {
		streams++
	}
	b = append(b, streams)
	b = e.appendPresent(b, c, features)
	e.lengths = e.lengths[:0]
	if shared {
		for _, text := range e.dict {
			e.lengths = append(e.lengths, uint64(len(text)))
		}
		b = e.ints.append(b, streamDictLengths, e.lengths, false, plain|runs)
		b = e.ints.append(b, streamTextOffsets, e.numbers, false, plain|delta|runs|deltaRuns)
		b = appendStream(b, streamTextDict, encodingBytes, len(e.dict), once-len(e.dict))
		for _, text := range e.dict {
			b = append(b, text...)
		}
		return b
	}
	for _, i := range e.numbers {
		e.lengths = append(e.lengths, uint64(len(e.dict[i])))
	}
	b = e.ints.append(b, streamTextLengths, e.lengths, false, plain|runs)
	b = appendStream(b, streamData, encodingBytes, len(c.values), whole-len(c.values))
	for _, i := range e.numbers {
		b = append(b, e.dict[i]...)
	}
	return b
}

// textOf returns the text of a value of any type.
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
