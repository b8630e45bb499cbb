package mmdb

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"

	"quadrille/internal/repeats"
)

// record is one side of a node: nothing, another node, or data.
type record uint32

const (
	nothing record = 0
	// ofData marks the offset of data. All other values are numbers of nodes, beginning at 1.
	ofData record = 1 << 31

	maxNodes = 1<<31 - 1
	maxData  = 1<<31 - 1
)

// treeBits is the depth of the tree: every database is written for IP version 6, in which clients
// can also look up IPv4 addresses.
const treeBits = 128

// number is an address in the tree: IPv4 addresses are the first of IPv6.
type number struct{ hi, lo uint64 }

func numberOf(a netip.Addr) number {
	if a.Is4() {
		b := a.As4()
		return number{0, uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return number{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// bit returns the bit at a depth; the first bit has depth 0.
func (n number) bit(depth int) bool {
	if depth < 64 {
		return n.hi>>(63-depth)&1 != 0
	}
	return n.lo>>(127-depth)&1 != 0
}

// common counts the first bits that two numbers share.
func (n number) common(m number) int {
	if d := n.hi ^ m.hi; d != 0 {
		return bits.LeadingZeros64(d)
	}
	return 64 + bits.LeadingZeros64(n.lo^m.lo)
}

// end returns the last address of a network.
func (n number) end(length int) number {
	switch {
	case length == 0:
		return number{^uint64(0), ^uint64(0)}
	case length < 64:
		return number{n.hi | ^uint64(0)>>length, ^uint64(0)}
	case length == 64:
		return number{n.hi, ^uint64(0)}
	case length == 128:
		return n
	}
	return number{n.hi, n.lo | ^uint64(0)>>(length-64)}
}

func (n number) less(m number) bool { return n.hi < m.hi || n.hi == m.hi && n.lo < m.lo }

// tree builds a search tree of networks that come in ascending order. Only the nodes on the path
// to the current network are open. A node is closed once everything below it has been added, so
// that equal nodes are found and stored once.
type tree struct {
	nodes *nodes

	path  number
	depth int    // of the current subtree, below path
	at    record // the current subtree
	left  [treeBits]record
	end   number // the last address taken
	some  bool
}

// add stores a record at a network. It returns an error if the network does not follow the earlier
// ones, or if there are too many nodes.
func (t *tree) add(first number, length int, r record) error {
	if t.some && !t.end.less(first) {
		return fmt.Errorf("network %x/%d is not after those before", first, length)
	}
	if t.some {
		shared := t.path.common(first)
		if err := t.close(shared + 1); err != nil {
			return err
		}
		t.left[shared] = t.at
		t.fork(first, shared+1, length)
	} else {
		t.fork(first, 0, length)
	}
	t.path, t.depth, t.at, t.end, t.some = first, length, r, first.end(length), true
	return nil
}

// fork records that no networks are to the left of a new path.
func (t *tree) fork(path number, from, to int) {
	for i := from; i < to; i++ {
		if path.bit(i) {
			t.left[i] = nothing
		}
	}
}

// close makes the nodes of the path down to a depth.
func (t *tree) close(depth int) (err error) {
	for t.depth > depth {
		t.depth--
		a, b := t.at, nothing
		if t.path.bit(t.depth) {
			a, b = t.left[t.depth], t.at
		}
		if t.at, err = t.join(a, b); err != nil {
			return err
		}
	}
	return nil
}

// join returns the record for two halves of a network.
func (t *tree) join(a, b record) (record, error) {
	if a == b && (a == nothing || a&ofData != 0) {
		return a, nil
	}
	return t.nodes.add(a, b)
}

// subtree closes the current network of a length, and returns its content. Nothing
// can be added to it any more.
func (t *tree) subtree(length int) (record, error) {
	if !t.some {
		return nothing, nil
	}
	err := t.close(length)
	t.end = t.path.end(length)
	return t.at, err
}

// root closes the tree. Even if all addresses have the same record, there is a node for the root,
// because the format requires one.
func (t *tree) root() (record, error) {
	r, err := t.subtree(0)
	if err == nil && (r == nothing || r&ofData != 0) {
		return t.nodes.add(r, r)
	}
	return r, err
}

// nodes holds the finished nodes. Each is stored once, as long as there is enough memory to
// recognise equal nodes.
type nodes struct {
	pages [][]uint64 // left in the high half
	n     int
	known []uint32 // numbers of nodes by hash; 0 is empty
	count int
	again repeats.Watch
	most  int64 // bytes
}

const pageNodes = 1 << 16

func (s *nodes) at(number record) (left, right record) {
	i := number - 1
	v := s.pages[i/pageNodes][i%pageNodes]
	return record(v >> 32), record(v)
}

func (s *nodes) add(left, right record) (record, error) {
	v := uint64(left)<<32 | uint64(right)
	var slot *uint32
	if s.again.ShouldLook() {
		if 4*(s.count+1) > 3*len(s.known) {
			s.grow()
		}
		if slot = s.find(v); *slot != 0 {
			s.again.Found()
			return record(*slot), nil
		}
	}
	if s.n == maxNodes || int64(s.n)*8 > s.most {
		return 0, fmt.Errorf("the search tree has more than %d nodes, all that the memory has room for; give a larger --memory", s.n)
	}
	if s.n%pageNodes == 0 {
		s.pages = append(s.pages, make([]uint64, 0, pageNodes))
	}
	page := &s.pages[len(s.pages)-1]
	*page = append(*page, v)
	s.n++
	if slot != nil {
		s.count++
		*slot = uint32(s.n)
	}
	return record(s.n), nil
}

// find returns the slot of a node, or the empty one where it belongs.
func (s *nodes) find(v uint64) *uint32 {
	mask := uint64(len(s.known) - 1)
	h := v * 0x9E3779B97F4A7C15
	for i := (h ^ h>>32) & mask; ; i = (i + 1) & mask {
		slot := &s.known[i]
		if *slot == 0 || s.value(*slot) == v {
			return slot
		}
	}
}

func (s *nodes) value(number uint32) uint64 {
	i := number - 1
	return s.pages[i/pageNodes][i%pageNodes]
}

// grow makes room to recognise more nodes. If there is no memory for more, it forgets the present
// ones. The tree is then larger, but still correct.
func (s *nodes) grow() {
	const slotBytes = 4
	size := max(2*len(s.known), 1<<12)
	if len(s.known) > 0 && int64(s.n)*8+int64(size)*slotBytes*3/2 > s.most {
		clear(s.known)
		s.count = 0
		return
	}
	old := s.known
	s.known = make([]uint32, size)
	for _, n := range old {
		if n != 0 {
			*s.find(s.value(n)) = n
		}
	}
}
