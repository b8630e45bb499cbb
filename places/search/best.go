package search

import (
	"bytes"
	"math"
	"unicode/utf8"

	"quadrille/cellstore"
	"quadrille/places/internal/near"
)

// The best matches of a prefix are found without reading all of them. A prefix
// with many has its 100 best stored, and no other scores more than the last of
// those; when filters leave too few of them, the same is asked of the prefixes
// that are one character longer, that with the greatest bound first, until
// enough places score above every bound left.

// openNode is a prefix whose matches are not all known.
type openNode struct {
	prefix []byte
	bound  int32 // no match that is not known scores more
	rows   uint64
}

// Above puts the greatest bound on top of the heap.
func (n *openNode) Above(o *openNode) bool { return n.bound > o.bound }

// match gathers the matches of a pattern.
func (s *search) match(p *pattern) error {
	if p.whole || p.ended {
		// Names of this fold, best first.
		if err := s.scan(p, cellstore.Prefix(append(bytes.Clone(p.fold), 0))); err != nil || p.whole {
			return err
		}
	}
	prefix := bytes.Clone(p.fold)
	if p.ended {
		prefix = append(prefix, ' ')
	}
	s.heap = s.heap[:0]
	if err := s.visit(p, prefix); err != nil {
		return err
	}
	for len(s.heap) > 0 && !s.spent() {
		// Looking through all found costs less than what was done since.
		if s.examined-s.checked >= len(s.found)/4 {
			if s.checked = s.examined; s.settled(s.heap[0].bound - p.penalty) {
				break
			}
		}
		var n openNode
		n, s.heap = near.Pop(s.heap)
		if n.rows <= uint64(s.r.sizes.scan) || characters(n.prefix) >= prefixCharacters {
			if err := s.scan(p, cellstore.Prefix(n.prefix)); err != nil {
				return err
			}
			continue
		}
		if err := s.expand(p, n.prefix); err != nil {
			return err
		}
	}
	return nil
}

// settled reports whether enough places score more than bound. Equal scores do
// not do: the lesser id comes first.
func (s *search) settled(bound int32) bool {
	n := 0
	for i := range s.found {
		if s.found[i].points > bound {
			if n++; n == s.need {
				return true
			}
		}
	}
	return false
}

// visit looks at the candidates of a prefix, or at all its names if there are
// none stored because they are few.
func (s *search) visit(p *pattern, prefix []byte) error {
	if characters(prefix) > prefixCharacters {
		return s.scan(p, cellstore.Prefix(prefix))
	}
	s.reads++
	found, err := s.r.prefixes.Get(s.ctx, prefix, selectCandidates, &s.list)
	if err != nil {
		return wrap(err)
	}
	if !found {
		return s.scan(p, cellstore.Prefix(prefix))
	}
	d := decoder{s.list.Cells[0].Value, true}
	rows, complete := d.listHead()
	bound := int32(math.MaxInt32)
	same := bytes.Equal(prefix, p.fold)
	for d.ok && len(d.b) > 0 {
		c := d.candidate()
		if !d.ok {
			break
		}
		bound = c.score()
		if !same {
			// The whole name, but of a longer text.
			c.exact = false
		}
		if !s.consider(p, &c) {
			d.ok = false
		}
	}
	if !d.ok {
		return corrupt(tablePrefix, prefix, "is damaged")
	}
	if !complete {
		s.heap = near.Push(s.heap, openNode{prefix, bound + s.extra, rows})
	}
	return nil
}

// scan looks at the names in a range of rows.
func (s *search) scan(p *pattern, rng cellstore.Range) error {
	s.reads++
	scan := cellstore.Scan{Ranges: []cellstore.Range{rng}, Selection: *selectName}
	for row, err := range s.r.names.Scan(s.ctx, scan) {
		if err != nil {
			return wrap(err)
		}
		fold, base, id, ok := parseNameKey(row.Key)
		if !ok || len(row.Cells) != 1 || len(row.Cells[0].Value) == 0 {
			return corrupt(tableNames, row.Key, "has another layout")
		}
		c := candidate{base: base, id: id, value: row.Cells[0].Value}
		c.exact = len(fold) == len(p.fold) && c.value[0]&flagSuffix == 0
		if p.whole && !c.exact {
			// Millions of names may end in this word.
			if s.examined++; s.spent() {
				return nil
			}
			continue
		}
		if !s.consider(p, &c) {
			return corrupt(tableNames, row.Key, "is damaged")
		}
		if s.spent() {
			return nil
		}
	}
	return nil
}

// expand visits the prefixes that are one character longer, and looks at the
// names that are no longer.
func (s *search) expand(p *pattern, prefix []byte) error {
	if err := s.scan(p, cellstore.Prefix(append(bytes.Clone(prefix), 0))); err != nil {
		return err
	}
	end := cellstore.PrefixEnd(prefix)
	from := append(bytes.Clone(prefix), ' ')
	for !s.spent() {
		next, err := s.nextCharacter(prefix, from, end)
		if err != nil || next < 0 {
			return err
		}
		if err := s.visit(p, utf8.AppendRune(bytes.Clone(prefix), next)); err != nil {
			return err
		}
		from = utf8.AppendRune(append(from[:0], prefix...), next+1)
	}
	return nil
}
