package places

import (
	"math"
	"math/bits"
)

// mask is the set of a tier's blocks that can have places that pass a filter.
type mask struct {
	all bool // every block
	// none is set if no place of the tier passes.
	none    bool
	words   []uint64
	summary []uint64 // bit i reports whether words[i] has bits
	// sparse is set if a block contains on average few places that pass.
	sparse bool
	// areas is set if only places of class A pass.
	areas bool
	// count is the number of places that pass. If exact is false, it is an upper bound.
	count uint64
	exact bool

	// peopled has a bit for each block with places that pass and have a population. No passing
	// place is more important than most. No passing place in the other blocks is more important
	// than least.
	peopled     []uint64
	most, least uint64
}

// masks are the masks of a filter, one for each tier.
type masks [tiers]mask

// bound lowers a bound of importance: no passing place in the blocks first to last is more
// important than the result.
func (m *mask) bound(rank uint64, first, last int32) uint64 {
	switch {
	case m.all || rank <= m.least:
		return rank
	case m.hasPeople(first, last):
		return min(rank, m.most)
	}
	return m.least
}

// hasPeople reports whether the bit in peopled is set for one of the blocks first to last.
func (m *mask) hasPeople(first, last int32) bool {
	for b := first; b <= last; b = (b/64 + 1) * 64 {
		w := m.peopled[b/64] >> (b % 64)
		if n := last - b + 1; n < 64 {
			w &= 1<<n - 1
		}
		if w != 0 {
			return true
		}
	}
	return false
}

// meets reports whether one of the blocks first to last is in the set.
func (m *mask) meets(first, last int32) bool {
	if m.all {
		return first <= last
	}
	if m.none || first > last {
		return false
	}
	from, to := first/64, last/64
	head, tail := ^uint64(0)<<(first%64), ^uint64(0)>>(63-last%64)
	if from == to {
		return m.words[from]&head&tail != 0
	}
	if m.words[from]&head != 0 || m.words[to]&tail != 0 {
		return true
	}
	for from++; from < to; {
		w := m.summary[from/64] >> (from % 64)
		if w == 0 {
			from = (from/64 + 1) * 64
			continue
		}
		return from+int32(bits.TrailingZeros64(w)) < to
	}
	return false
}

func (m *mask) has(b int32) bool { return m.all || m.words[b/64]>>(b%64)&1 != 0 }

// mask makes the set for a filter.
func (x *index) mask(f *filter) (m mask) {
	if x.count == 0 {
		return mask{none: true, exact: true}
	}
	if f.none() {
		return mask{all: true, count: x.count, exact: true}
	}
	passes := make([]bool, len(x.codes))
	m.areas, m.exact = true, f.minPopulation <= 1 // a group's places all have a population, or none has
	for i, code := range x.codes {
		if passes[i] = f.qualifier([]byte(code)); passes[i] && code[0] != 'A' {
			m.areas = false
		}
	}
	m.words = make([]uint64, (len(x.blocks)+63)/64)
	m.peopled = make([]uint64, len(m.words))
	from := uint32(0)
	for i := range x.groups {
		g := &x.groups[i]
		if g.maxPopulation >= f.minPopulation && (g.code == anyCode || passes[g.code] &&
			f.countries.Has(g.country)) {
			m.count += uint64(g.count)
			m.areas, m.exact = m.areas && g.code != anyCode, m.exact && g.code != anyCode
			peopled := m.limit(x, g)
			x.eachBlock(from, g.end, func(b uint32) {
				m.words[b/64] |= 1 << (b % 64)
				if peopled {
					m.peopled[b/64] |= 1 << (b % 64)
				}
			})
		}
		from = g.end
	}
	m.exact = m.exact || m.count == 0
	m.finish(x, f)
	return m
}

// limit raises the bounds of m to the greatest importance that places of a
// group can have. peopled reports whether that importance depends on the
// population.
func (m *mask) limit(x *index, g *group) (peopled bool) {
	rank := uint64(math.MaxUint64)
	if x.unweighted && g.code != anyCode {
		rank = importance([]byte(x.codes[g.code]), g.maxPopulation, 0)
		peopled = g.maxPopulation > 0
	}
	m.most = max(m.most, rank)
	if !peopled {
		m.least = max(m.least, rank)
	}
	return peopled
}

// finish leaves out blocks that lack the population and makes the summary.
func (m *mask) finish(x *index, f *filter) {
	m.summary = make([]uint64, (len(m.words)+63)/64)
	blocks := uint64(0)
	for i, w := range m.words {
		if f.minPopulation > 0 {
			for rest := w; rest != 0; rest &= rest - 1 {
				bit := bits.TrailingZeros64(rest)
				if x.blocks[64*i+bit].maxPopulation < f.minPopulation {
					w &^= 1 << bit
				}
			}
			m.words[i] = w
		}
		if w != 0 {
			m.summary[i/64] |= 1 << (i % 64)
			blocks += uint64(bits.OnesCount64(w))
		}
	}
	m.none = blocks == 0
	m.sparse = m.count < blocks*(blockPlaces/8)
}

// cachedMasks is the number of cached masks: a few filters are used again and again.
const cachedMasks = 64

func (f *Finder) masks(flt *filter) *masks {
	if flt.none() {
		return f.unfiltered
	}
	key := flt.key
	if key == "" {
		var memory [64]byte
		key = string(flt.appendTo(memory[:0]))
	}
	if m, ok := f.kept.Get(key); ok {
		return m
	}
	m := &masks{}
	for tier, x := range f.indexes {
		m[tier] = x.mask(flt)
	}
	f.kept.Add(key, m)
	return m
}
