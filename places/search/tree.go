package search

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"
)

const (
	// prefixCharacters is the greatest length of a prefix in place_prefix.
	prefixCharacters = 12
	// answerPlaces is the number of places in a finished answer. A prefix with at most that many
	// matches has no finished answer, because reading its names is as quick.
	answerPlaces = 10
)

// sizes has the sizes of the tree; tests make them small.
type sizes struct {
	// list is the number of candidates in family c, at least answerPlaces.
	list int
	// A prefix with at most rows rows of place_names has no candidates, because
	// reading all rows is as quick.
	rows int
	// A search reads the rows of a prefix with at most scan rows, instead of
	// the candidates of longer prefixes.
	scan int
	// A search seeks at most reads times, and for the wrong letters of one
	// spelling at most typos times.
	reads, typos int
	// The folds of all names are in memory if they take at most folds bytes.
	folds int
}

var usual = sizes{list: 100, rows: 256, scan: 2_000, reads: maxReads, typos: typoReads, folds: maxFoldBytes}

// slack is the ratio of gathered to wanted candidates. The best are then chosen.
const slack = 5

// tree builds the nodes of place_prefix from the rows of place_names in their
// order.
//
// The prefixes of one row form a path. A node is finished when the first row without its prefix
// comes. Its best candidates are then passed to the node above. Each row is therefore handled once,
// at the deepest node of its path, and a node with one child only takes over the child's list.
type tree struct {
	sizes
	emit  func(order uint64, n *finishedNode) error
	path  []byte // the longest open prefix
	ends  [prefixCharacters + 1]int
	depth int
	nodes [prefixCharacters + 1]node
	order uint64

	seen    idSet
	scratch []candidate
	out     finishedNode
	chunk   []byte
}

// node is a prefix that may get more rows.
type node struct {
	order       uint64
	rows        uint64
	exact       []candidate // the prefix is their whole fold; best first
	share       [3]int      // of exact: main names, others, codes
	main, other shortlist   // names that go on
}

// shortlist has the best of many candidates. The list is unsorted until cut is called.
type shortlist struct {
	list      []candidate
	worst     candidate // the last of list after cut: anything worse is dropped
	truncated bool
}

// of returns the shortlist that a candidate belongs to.
func (n *node) of(c *candidate) *shortlist {
	if isMain(c.value[0]) {
		return &n.main
	}
	return &n.other
}

// shareOf returns the index of a candidate in node.share.
func shareOf(c *candidate) int {
	switch {
	case c.value[0]&flagCode != 0:
		return 2
	case isMain(c.value[0]):
		return 0
	}
	return 1
}

// finishedNode is the stored part of a node.
type finishedNode struct {
	top     []candidate
	encoded []byte
}

func newTree(s sizes, emit func(uint64, *finishedNode) error) *tree {
	return &tree{sizes: s, emit: emit}
}

// add takes a row. The candidate's value is copied.
func (t *tree) add(fold []byte, c candidate) error {
	// same is the length of the open path that the row shares, in characters.
	same := 0
	for same < t.depth && len(fold) >= t.ends[same+1] && bytes.Equal(fold[t.ends[same]:t.ends[same+1]], t.path[t.ends[same]:t.ends[same+1]]) {
		same++
	}
	if err := t.close(same); err != nil {
		return err
	}
	t.path = t.path[:t.ends[same]]
	for t.depth < prefixCharacters && len(t.path) < len(fold) {
		_, size := utf8.DecodeRune(fold[len(t.path):])
		t.path = append(t.path, fold[len(t.path):len(t.path)+size]...)
		t.depth++
		t.ends[t.depth] = len(t.path)
		n := &t.nodes[t.depth]
		n.order, n.rows = t.order, 0
		t.order++
	}
	n := &t.nodes[t.depth]
	n.rows++
	c.exact = len(t.path) == len(fold) && c.value[0]&flagSuffix == 0
	switch of := n.of(&c); {
	case c.exact:
		// The names of one kind are sorted best first. Each kind has a share of its
		// own, so the node above gets as many names as it may show.
		share := &n.share[shareOf(&c)]
		if *share == t.list {
			n.main.truncated, n.other.truncated = true, true
			return nil
		}
		*share++
		c.value = t.keep(c.value)
		n.exact = append(n.exact, c)
	case c.value[0]&flagCode == 0 && of.wants(&c):
		c.value = t.keep(c.value)
		t.gather(of, c)
	}
	return nil
}

// keep copies a value. The memory chunks are small, because one candidate keeps its whole chunk
// alive.
func (t *tree) keep(value []byte) []byte {
	if len(value) > cap(t.chunk)-len(t.chunk) {
		t.chunk = make([]byte, 0, max(8<<10, len(value)))
	}
	at := len(t.chunk)
	t.chunk = append(t.chunk, value...)
	return t.chunk[at:len(t.chunk):len(t.chunk)]
}

// wants reports whether a candidate may be among the best.
func (l *shortlist) wants(c *candidate) bool {
	return !l.truncated || l.worst.id == 0 || c.better(&l.worst)
}

func (t *tree) gather(l *shortlist, c candidate) {
	l.list = append(l.list, c)
	if len(l.list) >= slack*t.list {
		t.cut(l)
	}
}

// cut sorts a shortlist, keeps the best candidate of each place, and drops all but the best of
// these.
func (t *tree) cut(l *shortlist) {
	slices.SortFunc(l.list, compareCandidates)
	t.seen.reset()
	kept := l.list[:0]
	for _, c := range l.list {
		if !t.seen.add(c.id) {
			continue
		}
		if len(kept) == t.list {
			l.truncated = true
			l.worst = kept[t.list-1]
			break
		}
		kept = append(kept, c)
	}
	clear(l.list[len(kept):]) // releases chunks
	l.list = kept
}

func compareCandidates(a, b candidate) int {
	switch {
	case a.better(&b):
		return -1
	case b.better(&a):
		return 1
	}
	return 0
}

func (t *tree) finish() error { return t.close(0) }

// close finishes the open nodes deeper than to.
func (t *tree) close(to int) error {
	for ; t.depth > to; t.depth-- {
		n := &t.nodes[t.depth]
		if n.rows > answerPlaces {
			if err := t.store(n, t.path[:t.ends[t.depth]]); err != nil {
				return err
			}
		}
		if t.depth > 1 {
			t.handUp(n, &t.nodes[t.depth-1])
		}
		clear(n.exact)
		n.exact, n.share = n.exact[:0], [3]int{}
		n.main.empty()
		n.other.empty()
	}
	return nil
}

// empty forgets all candidates and keeps the memory of the list.
func (l *shortlist) empty() {
	clear(l.list) // releases chunks
	*l = shortlist{list: l.list[:0]}
}

// handUp passes the candidates of a finished node to the node above. None of them is exact there.
func (t *tree) handUp(n, up *node) {
	up.rows += n.rows
	t.handOver(&n.main, &up.main)
	t.handOver(&n.other, &up.other)
	for _, c := range n.exact {
		if c.exact = false; c.value[0]&flagCode == 0 && up.of(&c).wants(&c) {
			t.gather(up.of(&c), c)
		}
	}
}

func (t *tree) handOver(from, to *shortlist) {
	if len(to.list) == 0 && to.worst.id == 0 {
		to.list, from.list = from.list, to.list
		to.worst = from.worst
	} else {
		for _, c := range from.list {
			if to.wants(&c) {
				t.gather(to, c)
			}
		}
	}
	to.truncated = to.truncated || from.truncated
}

// store emits a node if it has more places than an answer, or more rows than are read. Rows of
// longer codes do not count as its places.
func (t *tree) store(n *node, prefix []byte) error {
	t.cut(&n.main)
	t.cut(&n.other)
	main := append(append(t.scratch[:0], n.exact...), n.main.list...)
	slices.SortFunc(main, compareCandidates)
	t.scratch = main
	t.best(prefix, main, n.other.list)
	few := n.rows <= uint64(t.rows)
	// No query ends in a space, but searches that continue word by word read
	// its candidates.
	if len(t.out.top) <= answerPlaces || prefix[len(prefix)-1] == ' ' {
		if few {
			return nil
		}
		t.out.top = nil
	}
	t.out.top = t.out.top[:min(len(t.out.top), answerPlaces)]
	var lists [2][]byte
	if !few {
		lists[0] = t.encode(n.rows, main, n.main.truncated)
		lists[1] = t.encode(n.rows, n.other.list, n.other.truncated)
	}
	t.out.encoded = encodeNode(t.out.encoded[:0], prefix, lists, t.out.top)
	return t.emit(n.order, &t.out)
}

// best gathers the first places of the answer to a prefix, in the order in which a search finds
// them. If there are more places, it gathers one more.
func (t *tree) best(prefix []byte, main, other []candidate) {
	cost, hides := begunCost(prefix)
	if hides && slices.ContainsFunc(main, func(c candidate) bool { return answers(&c, prefix) }) {
		other = nil
	}
	t.seen.reset()
	t.out.top = t.out.top[:0]
	for len(t.out.top) <= answerPlaces && len(main)+len(other) > 0 {
		from := &main
		if len(main) == 0 || len(other) > 0 && begunBefore(&other[0], &main[0], cost) {
			from = &other
		}
		if c := (*from)[0]; answers(&c, prefix) && t.seen.add(c.id) {
			t.out.top = append(t.out.top, c)
		}
		*from = (*from)[1:]
	}
}

// begunBefore reports whether the beginning of another name comes before a
// candidate.
func begunBefore(other, main *candidate, cost int32) bool {
	if a, b := other.score()-cost, main.score(); a != b {
		return a > b
	}
	return other.id < main.id
}

// encode makes a value of family c or o.
func (t *tree) encode(rows uint64, list []candidate, truncated bool) (value []byte) {
	kept := list[:min(len(list), t.list)]
	value = appendListHead(nil, rows, !truncated && len(kept) == len(list))
	for i := range kept {
		value = appendCandidate(value, &kept[i])
	}
	return value
}

// answers reports whether a candidate is in the finished answer of a prefix. It is for
// texts that equal their fold, so not for codes with a hyphen.
func answers(c *candidate, prefix []byte) bool {
	if c.value[0]&flagCode == 0 {
		return true
	}
	r, ok := parseRecord(c.value)
	return ok && bytes.EqualFold(r.name, prefix)
}

// This is the form of a node in the sort:
//
//	length, prefix │ length, value of family c │ length, value of family o │
//	candidates of the answer
func encodeNode(dst, prefix []byte, lists [2][]byte, top []candidate) []byte {
	dst = appendText(dst, prefix)
	for _, list := range lists {
		dst = appendText(dst, list)
	}
	for i := range top {
		dst = appendCandidate(dst, &top[i])
	}
	return dst
}

type storedNode struct {
	prefix []byte
	lists  [2][]byte // of families c and o
	top    []candidate
}

func decodeNode(b []byte) (n storedNode, err error) {
	d := decoder{b, true}
	n.prefix, n.lists[0], n.lists[1] = d.text(), d.text(), d.text()
	for d.ok && len(d.b) > 0 {
		n.top = append(n.top, d.candidate())
	}
	if !d.ok || len(n.prefix) == 0 {
		return n, errors.New("temporary file is damaged")
	}
	return n, nil
}

// idSet is a set of a few hundred ids that is cleared in constant time.
type idSet struct {
	slots [setSlots]struct{ round, id uint32 }
	round uint32
}

const setSlots = 2048 // a power of two, more than twice the ids added

func (s *idSet) reset() {
	if s.round++; s.round == 0 {
		s.slots = [setSlots]struct{ round, id uint32 }{}
		s.round = 1
	}
}

// add reports whether the id is new.
func (s *idSet) add(id uint32) bool {
	for i := id * 2654435761 >> 21; ; i++ {
		e := &s.slots[i%setSlots]
		if e.round != s.round {
			e.round, e.id = s.round, id
			return true
		}
		if e.id == id {
			return false
		}
	}
}
