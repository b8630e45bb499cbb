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
	// answerPlaces is the number of places in a finished answer. Prefixes with
	// no more matches have none, because reading their names is as quick.
	answerPlaces = 10
)

// sizes can be made small in tests.
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
}

var usual = sizes{list: 100, rows: 256, scan: 2_000, reads: maxReads, typos: typoReads}

// slack is how many times the wanted candidates are gathered before the best
// are chosen.
const slack = 5

// tree builds the nodes of place_prefix from the rows of place_names in their
// order.
//
// The prefixes of one row form a path. A node is finished when a row comes
// without its prefix. Its best candidates are then handed to the node above.
// Each row is therefore handled once, at the deepest node of its path, and a
// node with one child only takes over the child's list.
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

// node is a prefix whose rows are still coming. others is unsorted until cut.
type node struct {
	order     uint64
	rows      uint64
	exact     []candidate // the prefix is their whole fold; best first
	codes     int         // in exact, which are not handed up
	others    []candidate
	worst     candidate // the last of others after cut: anything worse is dropped
	truncated bool
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
		n.order, n.rows, n.truncated = t.order, 0, false
		t.order++
	}
	n := &t.nodes[t.depth]
	n.rows++
	c.exact = len(t.path) == len(fold) && c.value[0]&flagSuffix == 0
	switch {
	case c.exact:
		// They come best first. Codes have their own share, so that the node
		// above gets as many names as it may show.
		of := len(n.exact) - n.codes
		if c.value[0]&flagCode != 0 {
			of = n.codes
		}
		if of == t.list {
			n.truncated = true
			return nil
		}
		if c.value[0]&flagCode != 0 {
			n.codes++
		}
		c.value = t.keep(c.value)
		n.exact = append(n.exact, c)
	case c.value[0]&flagCode == 0 && n.wants(&c):
		c.value = t.keep(c.value)
		t.gather(n, c)
	}
	return nil
}

// keep copies a value. Chunks are small, because one candidate keeps a whole
// chunk alive.
func (t *tree) keep(value []byte) []byte {
	if len(value) > cap(t.chunk)-len(t.chunk) {
		t.chunk = make([]byte, 0, max(8<<10, len(value)))
	}
	at := len(t.chunk)
	t.chunk = append(t.chunk, value...)
	return t.chunk[at:len(t.chunk):len(t.chunk)]
}

// wants reports whether a candidate may be among the best of others.
func (n *node) wants(c *candidate) bool { return !n.truncated || n.worst.id == 0 || c.better(&n.worst) }

func (t *tree) gather(n *node, c candidate) {
	n.others = append(n.others, c)
	if len(n.others) >= slack*t.list {
		t.cut(n)
	}
}

// cut sorts others and keeps the best candidate of each place, and of these the
// best.
func (t *tree) cut(n *node) {
	slices.SortFunc(n.others, compareCandidates)
	t.seen.reset()
	kept := n.others[:0]
	for _, c := range n.others {
		if !t.seen.add(c.id) {
			continue
		}
		if len(kept) == t.list {
			n.truncated = true
			n.worst = kept[t.list-1]
			break
		}
		kept = append(kept, c)
	}
	clear(n.others[len(kept):]) // releases chunks
	n.others = kept
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
		clear(n.others)
		n.exact, n.codes, n.others, n.worst = n.exact[:0], 0, n.others[:0], candidate{}
	}
	return nil
}

// handUp adds a finished node to the one above, which has nothing exact.
func (t *tree) handUp(n, up *node) {
	up.rows += n.rows
	if len(up.others) == 0 && up.worst.id == 0 {
		up.others, n.others = n.others, up.others
		up.worst = n.worst
	} else {
		for _, c := range n.others {
			if up.wants(&c) {
				t.gather(up, c)
			}
		}
	}
	up.truncated = up.truncated || n.truncated
	for _, c := range n.exact {
		if c.exact = false; c.value[0]&flagCode == 0 && up.wants(&c) {
			t.gather(up, c)
		}
	}
}

// store emits a node if it has more places than an answer, or more rows than are read: those of
// longer codes are none of its places.
func (t *tree) store(n *node, prefix []byte) error {
	t.cut(n)
	t.scratch = append(append(t.scratch[:0], n.exact...), n.others...)
	slices.SortFunc(t.scratch, compareCandidates)
	t.seen.reset()
	places := 0
	top := t.out.top[:0]
	for _, c := range t.scratch {
		if !answers(&c, prefix) || !t.seen.add(c.id) {
			continue
		}
		if places++; places > answerPlaces {
			break
		}
		top = append(top, c)
	}
	few := n.rows <= uint64(t.rows)
	// No query ends in a space, but searches that continue word by word read
	// its candidates.
	if places <= answerPlaces || prefix[len(prefix)-1] == ' ' {
		if few {
			return nil
		}
		top = top[:0]
	}
	t.out.top = top
	list := t.scratch[:min(len(t.scratch), t.list)]
	complete := !n.truncated && len(list) == len(t.scratch)
	var c []byte
	if !few {
		c = appendListHead(c, n.rows, complete)
		for i := range list {
			c = appendCandidate(c, &list[i])
		}
	}
	t.out.encoded = encodeNode(t.out.encoded[:0], prefix, c, t.out.top)
	return t.emit(n.order, &t.out)
}

// answers reports whether a candidate is in the finished answer of a prefix. That is for
// texts that are their own fold, which no code with a hyphen is.
func answers(c *candidate, prefix []byte) bool {
	if c.value[0]&flagCode == 0 {
		return true
	}
	r, ok := parseRecord(c.value)
	return ok && bytes.EqualFold(r.name, prefix)
}

// A node on its way through the sort:
//
//	length, prefix │ length, value of family c │ candidates of the answer
func encodeNode(dst, prefix, list []byte, top []candidate) []byte {
	dst = appendText(appendText(dst, prefix), list)
	for i := range top {
		dst = appendCandidate(dst, &top[i])
	}
	return dst
}

type storedNode struct {
	prefix, list []byte
	top          []candidate
}

func decodeNode(b []byte) (n storedNode, err error) {
	d := decoder{b, true}
	n.prefix, n.list = d.text(), d.text()
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
