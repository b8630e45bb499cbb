package ipgeo

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// lane holds the begun spans of one source. A span that has ended stays until it reaches the top.
//
// Spans that are nested deeper than memory allows are on disk: the narrowest are in a heap, and the
// others in sections, each in the order of wins. The winner is the best one among the top of the
// heap and the first of each section.
type lane struct {
	rank     uint32
	heap     []span   // the winner of them first
	sections laneHeap // the one with the best first span first
	held     int64    // bytes of memory of heap
	reading  int64    // bytes of memory of sections
}

// top returns the winner, or nil. It is valid until the next change.
func (l *lane) top() *span {
	var best *span
	if len(l.heap) > 0 {
		best = &l.heap[0]
	}
	if len(l.sections) > 0 && (best == nil || l.sections[0].span.wins(best)) {
		best = &l.sections[0].span
	}
	return best
}

func (l *lane) push(s *span) {
	l.held += s.size()
	h := append(l.heap, *s)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].wins(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	l.heap = h
}

// pop removes the winner.
func (l *lane) pop() error {
	if len(l.sections) > 0 && l.top() == &l.sections[0].span {
		c := l.sections[0]
		l.reading -= c.size()
		more, err := l.sections.advance()
		if more {
			l.reading += c.size()
		}
		return err
	}
	h := l.heap
	l.held -= h[0].size()
	n := len(h) - 1
	h[0], h[n] = h[n], span{}
	h = h[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && h[down+1].wins(&h[down]) {
			down++
		}
		if !h[down].wins(&h[i]) {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	l.heap = h
	return nil
}

// compact drops the spans that can no longer answer: those that end before at, and those that end
// before a better one does. The remaining spans are in the order of wins, and each ends after the
// previous ones.
func (l *lane) compact(at u128) {
	slices.SortFunc(l.heap, func(a, b span) int {
		if c := a.last.sub(a.first).compare(b.last.sub(b.first)); c != 0 {
			return c
		}
		return cmp.Compare(a.order, b.order)
	})
	kept := l.heap[:0]
	for i := range l.heap {
		s := &l.heap[i]
		if s.last.less(at) || len(kept) > 0 && s.last.compare(kept[len(kept)-1].last) <= 0 {
			l.held -= s.size()
			continue
		}
		kept = append(kept, *s)
	}
	clear(l.heap[len(kept):])
	l.heap = kept
	l.clip()
}

// clip frees the memory of a heap when most of it is unused.
func (l *lane) clip() {
	if cap(l.heap) > 4*(len(l.heap)+1) {
		l.heap = slices.Clone(l.heap)
	}
}

// lanes are the lanes of a sweep, in bounded memory.
type lanes struct {
	v4   bool
	dir  string
	room int64 // bytes of memory for all
	all  []lane
	file *os.File // nil until something is spilled
	end  int64    // of the file

	held, reading int64 // of all
}

// minSections is the number of sections that a lane may always have.
const minSections = 8

// lane returns the lane of a rank.
func (l *lanes) lane(rank uint32) *lane {
	i, ok := slices.BinarySearchFunc(l.all, rank, func(l lane, rank uint32) int { return cmp.Compare(l.rank, rank) })
	if !ok {
		l.all = slices.Insert(l.all, i, lane{rank: rank})
	}
	return &l.all[i]
}

// push adds a span that begins at address at. Spans must be added in the order of their beginnings.
func (l *lanes) push(s *span, at u128) error {
	l.lane(s.rank).push(s)
	if l.held += s.size(); l.held <= l.room-min(l.reading, l.room/2) {
		return nil
	}
	l.held = 0
	for i := range l.all {
		l.all[i].compact(at)
		l.held += l.all[i].held
	}
	for l.held > l.room/4 {
		// The largest lane has the deepest nesting. Each lane keeps one span in memory.
		var big *lane
		for i := range l.all {
			if at := &l.all[i]; len(at.heap) > 1 && (big == nil || at.held > big.held) {
				big = at
			}
		}
		if big == nil {
			break
		}
		if err := l.change(big, l.spill); err != nil {
			return err
		}
		if l.reading > l.room/4 && len(big.sections) >= minSections {
			if err := l.change(big, func(big *lane) error { return l.merge(big, at) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// change lets fn change a lane and updates the totals of memory.
func (l *lanes) change(lane *lane, fn func(*lane) error) error {
	held, reading := lane.held, lane.reading
	err := fn(lane)
	l.held += lane.held - held
	l.reading += lane.reading - reading
	return err
}

// expire removes winners that end before at, until the winner of each lane does not. It reports
// whether any span is left.
func (l *lanes) expire(at u128) (some bool, err error) {
	pop := (*lane).pop
	for i := range l.all {
		lane := &l.all[i]
		for {
			top := lane.top()
			if top == nil {
				break
			}
			if !top.last.less(at) {
				some = true
				break
			}
			if err := l.change(lane, pop); err != nil {
				return false, err
			}
		}
	}
	return some, nil
}

// spill writes the wider half of a compact lane to disk.
func (l *lanes) spill(big *lane) error {
	if l.file == nil {
		f, err := os.CreateTemp(l.dir, "nested-*.tmp")
		if err != nil {
			return err
		}
		l.file = f
		// Where the system permits it, remove the open file: then a killed process leaves nothing
		// behind. Elsewhere close removes it.
		_ = os.Remove(f.Name())
	}
	half := len(big.heap) / 2
	err := l.section(big, func(put func(*span) error) error {
		for i := half; i < len(big.heap); i++ {
			if err := put(&big.heap[i]); err != nil {
				return err
			}
			big.held -= big.heap[i].size()
		}
		return nil
	})
	clear(big.heap[half:])
	big.heap = big.heap[:half]
	big.clip()
	return err
}

// merge merges the shorter half of a lane's sections into one, because each takes memory. The
// longer ones wait, so that no span is copied often.
func (l *lanes) merge(big *lane, at u128) error {
	slices.SortFunc(big.sections, func(a, b *laneSection) int { return cmp.Compare(a.length, b.length) })
	half := (len(big.sections) + 1) / 2
	short := slices.Clone(big.sections[:half])
	big.sections = slices.Delete(big.sections, 0, half)
	for _, c := range short {
		big.reading -= c.size()
	}
	heap.Init(&big.sections)
	heap.Init(&short)
	return l.section(big, func(put func(*span) error) error {
		for len(short) > 0 {
			if s := &short[0].span; !s.last.less(at) {
				if err := put(s); err != nil {
					return err
				}
			}
			if _, err := short.advance(); err != nil {
				return err
			}
		}
		return nil
	})
}

// section writes the spans that fill passes to put, in the order of wins, as a section of a lane.
func (l *lanes) section(of *lane, fill func(put func(*span) error) error) error {
	w := bufio.NewWriterSize(io.NewOffsetWriter(l.file, l.end), laneBuffer)
	begin := l.end
	var key, value, head []byte
	failed := func(err error) error {
		return fmt.Errorf("spilling nested ranges: %w; free some space or allow more memory", err)
	}
	err := fill(func(s *span) error {
		key, value = appendKey(key[:0], l.v4, s.first), s.appendValue(value[:0], l.v4)
		head = binary.AppendUvarint(head[:0], uint64(len(value)))
		for _, b := range [][]byte{key, head, value} {
			if _, err := w.Write(b); err != nil {
				return failed(err)
			}
			l.end += int64(len(b))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return failed(err)
	}
	c := &laneSection{v4: l.v4, length: l.end - begin}
	c.r = bufio.NewReaderSize(io.NewSectionReader(l.file, begin, c.length), laneBuffer)
	if more, err := c.next(); err != nil || !more {
		return err
	}
	of.reading += c.size()
	heap.Push(&of.sections, c)
	return nil
}

func (l *lanes) close() error {
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	err := f.Close()
	if rm := os.Remove(f.Name()); rm != nil && !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}

// laneBuffer is small because there may be many buffers.
const laneBuffer = 4 << 10

// laneSection is a reader of the spans that were spilled together, at one of them.
type laneSection struct {
	v4     bool
	span   span
	r      *bufio.Reader
	buf    []byte
	length int64 // in the file
}

// size returns the approximate memory of c in bytes.
func (c *laneSection) size() int64 { return laneBuffer + int64(cap(c.buf)) + c.span.size() }

// next moves to the next span, or reports that there is none.
func (c *laneSection) next() (more bool, err error) {
	n := uint64(1 + 16)
	if c.v4 {
		n = 1 + 4
	}
	var key [maxKey]byte
	if _, err := io.ReadFull(c.r, key[:n]); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("%w: %w", errTempFile, err)
	}
	size, err := binary.ReadUvarint(c.r)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errTempFile, err)
	}
	if size > maxRecord+maxKey+3*binary.MaxVarintLen64 {
		return false, errTempFile
	}
	c.buf = slices.Grow(c.buf[:0], int(size))[:size]
	if _, err := io.ReadFull(c.r, c.buf); err != nil {
		return false, fmt.Errorf("%w: %w", errTempFile, err)
	}
	_, err = c.span.decode(key[:n], c.buf)
	return true, err
}

// laneHeap is a heap of sections.
type laneHeap []*laneSection

func (h laneHeap) Len() int           { return len(h) }
func (h laneHeap) Less(i, j int) bool { return h[i].span.wins(&h[j].span) }
func (h laneHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *laneHeap) Push(c any)        { *h = append(*h, c.(*laneSection)) }
func (h *laneHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return c
}

// advance moves the first section to its next span, or removes it.
func (h *laneHeap) advance() (more bool, err error) {
	if more, err = (*h)[0].next(); err != nil {
		return false, err
	}
	if more {
		heap.Fix(h, 0)
	} else {
		heap.Pop(h)
	}
	return more, nil
}
