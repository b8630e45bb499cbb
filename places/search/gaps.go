package search

import (
	"bytes"
	"slices"
)

// gaps remembers ranges without keys. A search for wrong letters looks up many beginnings near each
// other, and with gaps it does not seek again in a range that an earlier seek found empty.
type gaps struct {
	text []byte // of all gaps, end to end
	list []gap  // in the order of learning
	// order has the numbers of gaps in the order of their beginnings. Numbers are moved rather than
	// gaps because they are small.
	order []int32
}

// gap records that text[key:end] is the first key at or after text[from:key]. If text[key:end] is
// empty, there is no key after from.
type gap struct{ from, key, end int }

// maxGaps bounds the memory of gaps, and the time for inserting them in order.
const maxGaps = 4_096

func (g *gaps) forget() { g.text, g.list, g.order = g.text[:0], g.list[:0], g.order[:0] }

// next returns the first key at or after from, or an empty key if there is none. known is false if
// no gap covers from.
func (g *gaps) next(from []byte) (key []byte, known bool) {
	i, found := g.find(from)
	if !found {
		i--
	}
	if i < 0 {
		return nil, false
	}
	x := g.list[g.order[i]]
	key = g.text[x.key:x.end]
	return key, len(key) == 0 || bytes.Compare(from, key) <= 0
}

// learn remembers the first key at or after from.
func (g *gaps) learn(from, key []byte) {
	i, found := g.find(from)
	if found || len(g.list) == maxGaps {
		return
	}
	x := gap{from: len(g.text)}
	g.text = append(g.text, from...)
	x.key = len(g.text)
	g.text = append(g.text, key...)
	x.end = len(g.text)
	g.order = slices.Insert(g.order, i, int32(len(g.list)))
	g.list = append(g.list, x)
}

func (g *gaps) find(from []byte) (int, bool) {
	return slices.BinarySearchFunc(g.order, from, func(i int32, from []byte) int {
		x := g.list[i]
		return bytes.Compare(g.text[x.from:x.key], from)
	})
}
