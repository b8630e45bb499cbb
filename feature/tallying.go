package feature

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"

	"quadrille/internal/instant"
	"quadrille/quadkey"
)

// Tallying is a Tally in progress. Several layers may be added to it, one after the other.
type Tallying struct {
	tally      *Tally
	values     []dictionary      // of the groupings
	properties []string          // of the measures, each once
	distinct   []*distinct       // of the properties; nil where it is not asked for
	times      []bool            // whether texts of the property are times
	numeric    []bool            // whether a measure of the property is of numbers or times
	pairs      map[uint64]uint32 // numbers of groups plus one, by their two values
	singles    []uint32          // the same by one value
	groups     [][MaxGroupings]uint32
	counts     []int64
	stats      []stat // of each group, those of the properties
	skipped    []int64
	text       int
}

// dictionary numbers distinct values from 1.
type dictionary struct {
	numbers map[string]uint32
	values  [][]byte // compact JSON, nil for null
}

type distinct struct {
	dictionary
	seen map[uint64]struct{} // group and number
}

// stat has what is known of a property in a group.
type stat struct {
	n        int64 // numbers and times
	numbers  int64
	high     int64 // with low, the sum of the integers in 128 bits
	low      uint64
	sum, err float64 // of the others, with what rounding has lost
	fraction bool    // there are others
	distinct int64
	ends     [2]Operand // the least and the greatest
	texts    [2][]byte
}

// Operand is a value of a property, ready to be measured.
type Operand struct {
	kind    operandKind
	number  float64
	integer int64  // of an integer, or the seconds of a time, whose number has the rest
	value   uint32 // its number among the distinct ones
}

type operandKind uint8

const (
	operandNone operandKind = iota + 1 // the zero Operand is not known yet
	operandOther
	operandInteger
	operandNumber
	operandTime
)

// Known reports whether it is the result of OperandOf.
func (o *Operand) Known() bool { return o.kind != 0 }

// Begin begins a tally of features whose properties have the kinds of a schema.
func (t *Tally) Begin(s Schema) *Tallying {
	a := &Tallying{tally: t, values: make([]dictionary, len(t.By)), pairs: map[uint64]uint32{}}
	for _, m := range t.Measures {
		i := slices.Index(a.properties, m.Property)
		if i < 0 {
			i = len(a.properties)
			field, _ := s.LookupPath(m.Property)
			a.properties = append(a.properties, m.Property)
			a.distinct, a.times = append(a.distinct, nil), append(a.times, field.Kind == Time)
			a.numeric = append(a.numeric, false)
		}
		a.numeric[i] = a.numeric[i] || m.Op != OpDistinct
		if m.Op == OpDistinct && a.distinct[i] == nil {
			a.distinct[i] = &distinct{seen: map[uint64]struct{}{}}
		}
	}
	a.skipped = make([]int64, len(a.properties))
	return a
}

// Len returns the number of features so far.
func (a *Tallying) Len() (n int64) {
	for _, count := range a.counts {
		n += count
	}
	return n
}

// By returns the groupings.
func (a *Tallying) By() []Grouping { return a.tally.By }

// Properties returns the properties of the measures, each once.
func (a *Tallying) Properties() []string { return a.properties }

// Names lists all properties that are needed, each once.
func (a *Tallying) Names() (names []string) {
	names = append(names, a.properties...)
	for _, g := range a.tally.By {
		if g.Place == nil {
			names = append(names, g.Property)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// number returns the number of a value: compact JSON, nil for null.
func (d *dictionary) number(a *Tallying, value []byte) (uint32, error) {
	var buf [64]byte
	key := value
	if IsNumber(value) {
		key = parseDecimal(value).appendKey(buf[:0])
	}
	n, ok := d.numbers[string(key)]
	if !ok {
		if a.text += 2*len(value) + 64; a.text > mostTalliedText {
			return 0, Faultf(ErrTooMuchWork, "there are too many different values: name a property with fewer")
		}
		if d.numbers == nil {
			d.numbers = map[string]uint32{}
		}
		d.values = append(d.values, bytes.Clone(value))
		n = uint32(len(d.values)) //nolint:gosec // their text is bounded
		d.numbers[string(key)] = n
	}
	return n, nil
}

// appendKey appends bytes that are the same for equal numbers and no other value.
func (d decimal) appendKey(dst []byte) []byte {
	if d.negative && len(d.digits) > 0 {
		dst = append(dst, '-')
	}
	for _, c := range d.digits {
		if c != '.' {
			dst = append(dst, c)
		}
	}
	return strconv.AppendInt(append(dst, 'e'), int64(d.exp), 10)
}

// Group returns the number of a value in a grouping by a property: compact JSON, nil for null.
func (a *Tallying) Group(grouping int, value []byte) (uint32, error) {
	return a.values[grouping].number(a, value)
}

// OperandOf returns the operand for a value of a property: compact JSON, nil for null.
func (a *Tallying) OperandOf(property int, value []byte) (o Operand, err error) {
	v := JSONValue(value)
	o.kind = operandOther
	switch n, ok := v.Integer(); {
	case value == nil:
		o.kind = operandNone
		return o, nil
	case ok:
		o.kind, o.integer, o.number = operandInteger, n, float64(n)
	case v.Kind() == Number:
		o.kind = operandNumber
		o.number, _ = v.Number()
	case a.times[property] && IsText(value):
		if at, ok := instant.Parse(v.Text()); ok {
			o.kind, o.integer, o.number = operandTime, at.Unix(), float64(at.Nanosecond())
		}
	}
	if d := a.distinct[property]; d != nil {
		o.value, err = d.number(a, value)
	}
	return o, err
}

// TallyBatch has some features. Groups has their groups in each grouping. Operand i of a property is
// Operands[Codes[i]], and Text returns its compact JSON.
type TallyBatch struct {
	Len        int
	Groups     [MaxGroupings][]uint32
	Properties []TalliedProperty
}

// TalliedProperty has the values of a property in a TallyBatch.
type TalliedProperty struct {
	Codes    []uint32
	Operands []Operand
	Text     func(code uint32) []byte
}

// Add adds features.
func (a *Tallying) Add(b *TallyBatch) error {
	by := len(a.tally.By)
	last, at := ^uint64(0), uint32(0)
	for i := range b.Len {
		var group [MaxGroupings]uint32
		for k := range by {
			group[k] = b.Groups[k][i]
		}
		if pair := uint64(group[0])<<32 | uint64(group[1]); pair != last {
			if at = a.known(by, pair); at == 0 {
				if n := len(a.groups) + 1; n > mostGroups || n*len(a.properties) > mostStats {
					return Faultf(ErrTooMuchWork, "there are too many groups: name a property with fewer values, or a smaller area")
				}
				at = uint32(len(a.groups)) + 1 //nolint:gosec // bounded
				if by == MaxGroupings {
					a.pairs[pair] = at
				} else {
					a.singles[group[0]] = at
				}
				a.groups, a.counts = append(a.groups, group), append(a.counts, 0)
				a.stats = append(a.stats, make([]stat, len(a.properties))...)
			}
			at--
			last = pair
		}
		a.counts[at]++
		for p := range a.properties {
			of := &b.Properties[p]
			code := of.Codes[i]
			if err := a.measure(&a.stats[int(at)*len(a.properties)+p], p, at, &of.Operands[code], of.Text, code); err != nil {
				return err
			}
		}
	}
	return nil
}

// known returns the number of a group plus one, or 0 if it is new.
func (a *Tallying) known(by int, pair uint64) uint32 {
	if by == MaxGroupings {
		return a.pairs[pair]
	}
	at := int(pair >> 32)
	if at >= len(a.singles) {
		a.singles = append(a.singles, make([]uint32, at+1)...)
	}
	return a.singles[at]
}

func (a *Tallying) measure(s *stat, property int, group uint32, o *Operand, text func(uint32) []byte, code uint32) error {
	if d := a.distinct[property]; d != nil && o.kind != operandNone {
		key := uint64(group)<<32 | uint64(o.value)
		if _, ok := d.seen[key]; !ok {
			if len(d.seen) == mostDistinct {
				return Faultf(ErrTooMuchWork, "there are too many different values to count: name a property with fewer")
			}
			d.seen[key] = struct{}{}
			s.distinct++
		}
	}
	switch o.kind {
	case operandTime:
	case operandInteger:
		s.numbers++
		var carry uint64
		s.low, carry = bits.Add64(s.low, uint64(o.integer), 0)
		s.high += o.integer>>63 + int64(carry) //nolint:gosec // 0 or 1
	case operandNumber: // by Neumaier
		s.numbers++
		s.fraction = true
		sum := s.sum + o.number
		if math.Abs(s.sum) >= math.Abs(o.number) {
			s.err += (s.sum - sum) + o.number
		} else {
			s.err += (o.number - sum) + s.sum
		}
		s.sum = sum
	case operandOther:
		if a.numeric[property] {
			a.skipped[property]++
		}
		return nil
	default:
		return nil
	}
	s.n++
	for end := range s.ends {
		if order := o.compare(&s.ends[end]); s.n == 1 || order < 0 && end == 0 || order > 0 && end == 1 {
			s.ends[end], s.texts[end] = *o, append(s.texts[end][:0], text(code)...)
		}
	}
	return nil
}

func (o *Operand) compare(with *Operand) int {
	if o.kind == with.kind && o.kind != operandNumber {
		return cmp.Or(cmp.Compare(o.integer, with.integer), cmp.Compare(o.number, with.number))
	}
	return cmp.Compare(o.number, with.number)
}

// total returns the sum, exactly if all numbers are integers.
func (s *stat) total() (exact *big.Int, sum float64) {
	exact = new(big.Int).Lsh(big.NewInt(s.high), 64)
	exact.Add(exact, new(big.Int).SetUint64(s.low))
	whole, _ := new(big.Float).SetInt(exact).Float64()
	if !s.fraction {
		return exact, whole
	}
	return nil, whole + (s.sum + s.err)
}

// Totals returns the result so far, with at most limit groups.
func (a *Tallying) Totals(limit int) *Totals {
	t := &Totals{Skipped: a.skipped, Properties: a.properties}
	first := func(x, y uint32) int {
		if a.counts[x] != a.counts[y] {
			return cmp.Compare(a.counts[y], a.counts[x])
		}
		for k := range a.tally.By {
			if c := bytes.Compare(a.value(k, x), a.value(k, y)); c != 0 {
				return c
			}
		}
		return 0
	}
	var order []uint32 // the first limit groups so far, then some more
	cut := func() {
		slices.SortFunc(order, first)
		order = order[:min(len(order), limit)]
	}
	for i, n := range a.counts {
		at := uint32(i) //nolint:gosec // bounded
		if t.Count += n; i < 2*limit || first(at, order[limit-1]) < 0 {
			order = append(order, at)
		}
		if len(order) == 2*limit {
			cut()
		}
	}
	cut()
	t.OtherGroups, t.OtherCount = int64(len(a.groups)-len(order)), t.Count
	for _, at := range order {
		t.OtherCount -= a.counts[at]
	}
	if len(order) == 0 && len(a.tally.By) == 0 { // sums of nothing
		a.groups, a.counts, a.stats = make([][MaxGroupings]uint32, 1), []int64{0}, make([]stat, len(a.properties))
		order = []uint32{0}
	}
	for _, at := range order {
		g := Group{Count: a.counts[at], Numbers: a.groups[at]}
		for k := range a.tally.By {
			name, number := "", a.groups[at][k]
			if p, ok := a.tally.By[k].Place.(NamedPlacer); ok && number > 0 {
				name = p.Name(number)
			}
			g.Values, g.Names = append(g.Values, a.value(k, at)), append(g.Names, name)
		}
		for _, m := range a.tally.Measures {
			p := slices.Index(a.properties, m.Property)
			g.Measures = append(g.Measures, a.stats[int(at)*len(a.properties)+p].result(m.Op))
		}
		t.Groups = append(t.Groups, g)
	}
	return t
}

// value returns the compact JSON of a grouping of a group, nil for none.
func (a *Tallying) value(grouping int, group uint32) []byte {
	number := a.groups[group][grouping]
	if p := a.tally.By[grouping].Place; p != nil {
		if number == 0 {
			return nil
		}
		return p.Value(number)
	}
	return a.values[grouping].values[number-1]
}

// result returns a measure as compact JSON, nil for none.
func (s *stat) result(op string) []byte {
	switch {
	case op == OpDistinct:
		return strconv.AppendInt(nil, s.distinct, 10)
	case s.n == 0:
		return nil
	case op == OpMin:
		return s.texts[0]
	case op == OpMax:
		return s.texts[1]
	}
	exact, sum := s.total()
	switch {
	case s.numbers == 0:
		return nil
	case op == OpMean:
		sum /= float64(s.numbers)
	case exact != nil:
		return exact.Append(nil, 10)
	}
	if math.IsInf(sum, 0) || math.IsNaN(sum) { // no JSON
		return nil
	}
	return NumberValue(sum).AppendJSON(nil)
}

// tallyFeatures is the number of features of a batch.
const tallyFeatures = 4096

// Run adds the features of a layer that a query selects.
func (a *Tallying) Run(ctx context.Context, l Layer, q *Query) error {
	if t, ok := l.(Tallier); ok {
		if err := t.Tally(ctx, q, a); !IsUnsupported(err) {
			return err
		}
	}
	all := *q
	all.Order, all.After, all.Limit, all.Detail = Order{}, nil, 0, WithoutGeometry
	var groups, properties []Path
	for _, g := range a.tally.By {
		groups = append(groups, PathTo(g.Property))
	}
	b := TallyBatch{Properties: make([]TalliedProperty, len(a.properties))}
	texts := make([][][]byte, len(a.properties))
	for i, name := range a.properties {
		of := &b.Properties[i]
		properties = append(properties, PathTo(name))
		texts[i] = make([][]byte, tallyFeatures)
		of.Text = func(code uint32) []byte { return texts[i][code] }
		for code := range uint32(tallyFeatures) {
			of.Codes = append(of.Codes, code)
		}
	}
	var at []quadkey.Position
	flush := func() error {
		defer func() { at, b.Len = at[:0], 0 }()
		for k, g := range a.tally.By {
			if g.Place != nil {
				b.Groups[k] = slices.Grow(b.Groups[k][:0], len(at))[:len(at)]
				if err := g.Place.Place(ctx, at, b.Groups[k]); err != nil {
					return err
				}
			}
		}
		err := a.Add(&b)
		for i := range b.Properties {
			b.Properties[i].Operands = b.Properties[i].Operands[:0]
		}
		for k := range b.Groups {
			b.Groups[k] = b.Groups[k][:0]
		}
		return err
	}
	var memory []byte
	for f, err := range l.Features(ctx, &all) {
		if err != nil {
			return err
		}
		members := f.Properties.compact
		if f.Properties.list != nil {
			memory = f.Properties.AppendMembers(memory[:0])
			members = memory
		}
		at = append(at, f.Position)
		for k := range groups {
			if a.tally.By[k].Place == nil {
				n, err := a.Group(k, groups[k].among(members))
				if err != nil {
					return err
				}
				b.Groups[k] = append(b.Groups[k], n)
			}
		}
		for i := range properties {
			value := properties[i].among(members)
			o, err := a.OperandOf(i, value)
			if err != nil {
				return err
			}
			b.Properties[i].Operands = append(b.Properties[i].Operands, o)
			texts[i][b.Len] = append(texts[i][b.Len][:0], value...)
		}
		if b.Len++; b.Len == tallyFeatures {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
