package enrich

import (
	"context"
	"slices"

	"quadrille/ask"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// regionSource makes two columns for each type of region: names and ids.
type regionSource struct {
	join *tiles.PointJoin
}

// separator stands between the parts of a cell, where regions of one type overlap.
const separator = ";"

// Regions returns a Source of the regions that hold a point, of the given types, or of all if none is given. The
// columns of a type are called as the type, with the names of the regions, and TYPE_id, with their ids.
// Where regions of one type overlap, a cell has all of them, the smallest first, separated by
// semicolons. Errors match tiles.ErrUnknownType for a type that is not published.
func Regions(v ask.View, types ...string) (Source, error) {
	join, err := pointJoin(&v.Boundaries, types)
	if err != nil {
		return nil, err
	}
	return &regionSource{join}, nil
}

func pointJoin(from *ask.Regions, types []string) (*tiles.PointJoin, error) {
	reader, err := from.ReaderOf(types...)
	if err != nil {
		return nil, err
	}
	return reader.PointJoin(types...)
}

func (s *regionSource) Inputs() []string { return nil }

func (s *regionSource) Columns() (list []Column) {
	for _, t := range s.join.Types() {
		list = append(list, Column{Name: t}, Column{Name: t + "_id"})
	}
	return list
}

func (s *regionSource) filler() fill {
	found := newFound(s.join)
	var texts [][]regionText // by type and answer
	for range s.join.Types() {
		texts = append(texts, make([]regionText, 1)) // 0 is no region
	}
	return func(ctx context.Context, c *Chunk, out []Cells) error {
		if err := found.find(ctx, c.Points); err != nil {
			return err
		}
		for k := range texts {
			for answer := len(texts[k]); answer < s.join.Answers(k); answer++ {
				texts[k] = append(texts[k], textOf(s.join.Regions(k, int32(answer))))
			}
		}
		rows := found.rows(texts, len(c.Points), c.most)
		for k, of := range texts {
			names, ids := &out[2*k], &out[2*k+1]
			for _, answer := range found.answers[k][:rows] {
				t := &of[max(answer, 0)]
				names.Add(t.names)
				ids.Add(t.ids)
			}
		}
		return nil
	}
}

// regionText is the cells of an answer.
type regionText struct{ names, ids string }

func textOf(regions []tiles.Region) (t regionText) {
	for i := range regions {
		if i > 0 {
			t.names, t.ids = t.names+separator, t.ids+separator
		}
		t.names, t.ids = t.names+regions[i].Name, t.ids+regions[i].ID
	}
	return t
}

// found has the answers of a join for a chunk of points.
type found struct {
	join    *tiles.PointJoin
	answers [][]int32 // by type and point
}

// rows returns how many of the first rows have about most bytes of texts; 0 bounds nothing.
func (f *found) rows(texts [][]regionText, all, most int) int {
	if most == 0 {
		return all
	}
	size := 0
	for i := range all {
		for k, of := range texts {
			t := &of[max(f.answers[k][i], 0)]
			size += len(t.names) + len(t.ids)
		}
		if size >= most {
			return i + 1
		}
	}
	return all
}

func newFound(join *tiles.PointJoin) found {
	return found{join, make([][]int32, len(join.Types()))}
}

func (f *found) find(ctx context.Context, points []quadkey.Position) error {
	for k := range f.answers {
		f.answers[k] = slices.Grow(f.answers[k][:0], len(points))[:len(points)]
	}
	return f.join.Find(ctx, points, f.answers)
}
