package ipgeo

import (
	"encoding/binary"
	"fmt"

	"quadrille/cellstore"
)

// rowBytes is the approximate limit of distinct answers in a row, in bytes. It is far below the
// size at which any store refuses the row.
const rowBytes = 16 << 10

// rowBuilder collects consecutive ranges and writes each block of them as a row.
type rowBuilder struct {
	add func(key, value []byte) error

	v4      bool
	ranges  []bound
	which   []int // index of the answer of each range
	answers []string
	numbers map[string]int // of answers
	size    int            // bytes of answers

	blocks  blockWriter
	splits  splitter
	parts   map[string]uint64 // their places in the row's heap
	offsets []uint64
	at      []uint64 // of the records of answers
	key     []byte
	value   []byte
	heap    []byte
	records []byte
}

func newRowBuilder(add func(key, value []byte) error) *rowBuilder {
	return &rowBuilder{add: add, numbers: make(map[string]int), parts: make(map[string]uint64)}
}

// put adds a range. Ranges come in key order.
func (b *rowBuilder) put(v4 bool, first, last u128, answer string) error {
	if len(b.ranges) == blockRanges || b.size >= rowBytes || len(b.ranges) > 0 && b.v4 != v4 {
		if err := b.flush(); err != nil {
			return err
		}
	}
	n, ok := b.numbers[answer]
	if !ok {
		n = len(b.answers)
		b.numbers[answer] = n
		b.answers = append(b.answers, answer)
		b.size += len(answer)
	}
	b.v4 = v4
	b.ranges = append(b.ranges, bound{first, last})
	b.which = append(b.which, n)
	return nil
}

// flush writes the row of the collected ranges.
func (b *rowBuilder) flush() error {
	if len(b.ranges) == 0 {
		return nil
	}
	// The parts come before the records, because similar data side by side compresses better. So
	// the records wait until the length of the parts is known.
	b.heap, b.records, b.at = b.heap[:0], b.records[:0], b.at[:0]
	for _, answer := range b.answers {
		if wrong := b.splits.split([]byte(answer)); wrong != "" {
			return fmt.Errorf("%s: %w", wrong, cellstore.ErrCorrupt)
		}
		a := &b.splits.answer
		var at [answerParts]uint64
		for i, p := range a.part {
			if len(p) > maxPart {
				return fmt.Errorf("an answer has a part of %d bytes, over the limit of %d; leave out the extra fields of a source", len(p), maxPart)
			}
			if len(p) > 0 {
				at[i] = b.part(p)
			}
		}
		b.at = append(b.at, uint64(len(b.records)))
		b.records = a.appendRecord(b.records, &at)
	}
	b.offsets = b.offsets[:0]
	for _, n := range b.which {
		b.offsets = append(b.offsets, uint64(len(b.heap))+b.at[n])
	}
	b.value = b.blocks.appendBounds(b.value[:0], b.v4, b.ranges)
	b.value = b.blocks.appendOffsets(b.value, b.offsets)
	b.value = append(append(b.value, b.heap...), b.records...)
	b.key = appendKey(b.key[:0], b.v4, b.ranges[len(b.ranges)-1].last)
	b.ranges, b.which, b.answers, b.size = b.ranges[:0], b.which[:0], b.answers[:0], 0
	clear(b.numbers)
	clear(b.parts)
	return b.add(b.key, b.value)
}

// part returns the place of a part in the row's heap.
func (b *rowBuilder) part(p []byte) uint64 {
	at, ok := b.parts[string(p)]
	if !ok {
		at = uint64(len(b.heap))
		b.parts[string(p)] = at
		b.heap = append(binary.AppendUvarint(b.heap, uint64(len(p))), p...)
	}
	return at
}

// tableRow is a decoded row: a block and its heap. It points into the value.
type tableRow struct {
	block
	key, bytes []byte
	heap       []byte
}

func corruptRow(key []byte, what string) error {
	return fmt.Errorf("row %x: %s: %w; restore the generation or build it again", key, what, cellstore.ErrCorrupt)
}

// decode decodes a row, except for its records.
func (r *tableRow) decode(key, value []byte) error {
	r.key, r.bytes = key, value
	v4 := len(key) > 0 && key[0] == prefix4
	if !v4 && (len(key) == 0 || key[0] != prefix6) {
		return corruptRow(key, "key is of no version of IP")
	}
	last, rest, ok := readAddr(key[1:], v4)
	if !ok || len(rest) != 0 {
		return corruptRow(key, "key has the wrong length")
	}
	if !r.block.decode(value, v4) {
		return corruptRow(key, cutBlock)
	}
	if r.ends.at(r.n-1) != last {
		return corruptRow(key, "its block ends elsewhere")
	}
	r.heap = value[r.length:]
	return nil
}

// answer decodes the answer of range i.
func (r *tableRow) answer(i int, a *answer) error {
	at, ok := r.offset(i)
	if !ok {
		return corruptRow(r.key, cutBlock)
	}
	if wrong := a.record(r.heap, at); wrong != "" {
		return corruptRow(r.key, wrong)
	}
	return nil
}
