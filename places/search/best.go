package search

import (
	"bytes"
	"math"
	"unicode/utf8"

	"quadrille/cellstore"
	"quadrille/internal/heap"
)

// The best matches of a prefix are found without reading all of them. For a prefix with many
// matches the 100 best are stored, and no other match scores more than the last of them. If filters
// leave too few, the search continues with the prefixes that are one character longer, the greatest
// bound first, until enough places score above every remaining bound.

// openNode is a prefix with unknown matches.
type openNode struct {
	prefix []byte
	bound  int32 // upper bound of the scores of unknown matches
	rows   uint64
}

// Above compares bounds, so that the greatest bound is on top of the heap.
func (n *openNode) Above(o *openNode) bool { return n.bound > o.bound }

// match gathers the matches of a pattern.
func (s *search) match(p *pattern) error {
	// A whole name in the requested language scores more than its list says.
	if p.whole || p.ended || s.q.Lang != "" {
		// The search starts with the names of this fold, best first.
		if err := s.scan(p, append(bytes.Clone(p.fold), 0)); err != nil || p.whole {
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
		// Checking all found places costs less than the work since the last
		// check.
		if s.examined-s.checked >= len(s.found)/4 {
			if s.checked = s.examined; s.settled(s.heap[0].bound - p.penalty) {
				break
			}
		}
		var n openNode
		n, s.heap = heap.Pop(s.heap)
		if n.rows <= uint64(s.r.sizes.scan) || characters(n.prefix) >= prefixCharacters {
			if err := s.scan(p, n.prefix); err != nil {
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

// settled reports whether enough places score more than bound. Equal scores are
// not enough, because the lesser id comes first.
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

// visit considers the candidates of a prefix. A prefix with few names has none
// stored, so visit reads all its names.
func (s *search) visit(p *pattern, prefix []byte) error {
	if characters(prefix) > prefixCharacters {
		return s.scan(p, prefix)
	}
	if !s.read() {
		return nil
	}
	lists, cost := selectLists, int32(0)
	if begun, hides := begunCost(p.fold); s.r.together || hides && !s.others && s.q.Lang == "" {
		lists = selectCandidates
	} else if s.q.Lang == "" {
		cost = begun
	}
	found, err := s.stored(prefix, lists)
	if err != nil {
		return err
	}
	if !found {
		return s.scan(p, prefix)
	}
	open := openNode{prefix: prefix, bound: math.MinInt32}
	for _, cell := range s.list.Cells {
		bound, complete, err := s.take(p, prefix, cell.Value, &open.rows)
		if err != nil {
			return err
		}
		if cell.Family == famOthers {
			bound -= cost
		}
		if !complete {
			open.bound = max(open.bound, bound+s.extra)
		}
	}
	if open.bound > math.MinInt32 {
		s.heap = heap.Push(s.heap, open)
	}
	return nil
}

// stored reads what is stored for a prefix into s.list. It returns false if nothing is.
func (s *search) stored(prefix []byte, sel *cellstore.Selection) (bool, error) {
	if !s.some(prefix) {
		return false, nil
	}
	found, err := s.r.prefixes.Get(s.ctx, prefix, sel, &s.list)
	return found, wrap(err)
}

// take considers the candidates of a list. Unless the list is complete, it returns an upper bound
// of the scores that the list lacks.
func (s *search) take(p *pattern, prefix, list []byte, rows *uint64) (bound int32, complete bool, err error) {
	d := decoder{list, true}
	*rows, complete = d.listHead()
	bound = int32(math.MaxInt32)
	same := bytes.Equal(prefix, p.fold)
	for d.ok && len(d.b) > 0 && s.examined < s.most {
		c := d.candidate()
		if !d.ok {
			break
		}
		bound = c.score()
		if !same {
			// The fold is a whole name, but one that is longer than the query.
			c.exact = false
		}
		if !s.consider(p, &c) {
			d.ok = false
		}
	}
	if !d.ok {
		return 0, false, cellstore.CorruptRow(tablePrefix, prefix, "is damaged")
	}
	return bound, complete, nil
}

// scan considers the names in the rows with a prefix.
func (s *search) scan(p *pattern, prefix []byte) error {
	if !s.read() || !s.some(prefix) {
		return nil
	}
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix(prefix)}, Selection: *selectName}
	for row, err := range s.r.names.Scan(s.ctx, scan) {
		if err != nil {
			return wrap(err)
		}
		fold, base, id, ok := parseNameKey(row.Key)
		if !ok || len(row.Cells) != 1 || len(row.Cells[0].Value) == 0 {
			return cellstore.CorruptRow(tableNames, row.Key, "has another layout")
		}
		c := candidate{base: base, id: id, value: row.Cells[0].Value}
		c.exact = len(fold) == len(p.fold) && c.value[0]&flagSuffix == 0
		if p.whole && !c.exact {
			// Millions of names may end in this word, so the work is bounded.
			if s.examined++; s.spent() {
				return nil
			}
			continue
		}
		if !s.consider(p, &c) {
			return cellstore.CorruptRow(tableNames, row.Key, "is damaged")
		}
		if s.spent() {
			return nil
		}
	}
	return nil
}

// expand visits the prefixes that are one character longer, and considers the
// names that equal the prefix.
func (s *search) expand(p *pattern, prefix []byte) error {
	if err := s.scan(p, append(bytes.Clone(prefix), 0)); err != nil {
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
