package search

import (
	"bytes"
	"slices"
)

// gaps remembers ranges without folds. A search for wrong letters looks up many beginnings near each
// other, and with gaps it does not seek again in a range that an earlier seek found empty.
type gaps struct {
	text []byte // of all gaps, end to end
	list []gap  // in the order of learning
	// order has the numbers of gaps in the order of their beginnings. Numbers are moved rather than
	// gaps because they are small.
	order []int32
}

// gap records that text[fold:end] is the first fold at or after text[from:fold]. If text[fold:end] is
// empty, there is no fold after from.
type gap struct{ from, fold, end int }

// maxGaps bounds the memory of gaps, and the time for inserting them in order.
const maxGaps = 4_096

func (g *gaps) forget() { g.text, g.list, g.order = g.text[:0], g.list[:0], g.order[:0] }

// next returns the first fold at or after from, or an empty one if there is none. known is false if
// no gap covers from.
func (g *gaps) next(from []byte) (fold []byte, known bool) {
	i, found := g.find(from)
	if !found {
		i--
	}
	if i < 0 {
		return nil, false
	}
	x := g.list[g.order[i]]
	fold = g.text[x.fold:x.end]
	return fold, len(fold) == 0 || bytes.Compare(from, fold) <= 0
}

// learn remembers the first fold at or after from.
func (g *gaps) learn(from, fold []byte) {
	i, found := g.find(from)
	if found || len(g.list) == maxGaps {
		return
	}
	x := gap{from: len(g.text)}
	g.text = append(g.text, from...)
	x.fold = len(g.text)
	g.text = append(g.text, fold...)
	x.end = len(g.text)
	g.order = slices.Insert(g.order, i, int32(len(g.list)))
	g.list = append(g.list, x)
}

func (g *gaps) find(from []byte) (int, bool) {
	return slices.BinarySearchFunc(g.order, from, func(i int32, from []byte) int {
		x := g.list[i]
		return bytes.Compare(g.text[x.from:x.fold], from)
	})
}
