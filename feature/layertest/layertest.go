// Package layertest checks that a feature.Layer keeps the contract of package feature, for any
// implementation. It lists all features first. Then it compares every other answer with the one
// that it computes from that list.
package layertest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"quadrille/feature"
	"quadrille/quadkey"
)

// TB is the part of testing.TB that Test needs.
type TB interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
}

// Options set how a layer is checked. The zero Options check everything.
type Options struct {
	// Seed is the seed of the random choices.
	Seed uint64
	// Rounds is the number of random questions of each kind; 0 means 20.
	Rounds int
	// Areas are queried in addition to Test's own areas.
	Areas []feature.Area
}

// maxLate bounds the features that may come after the context has ended.
const maxLate = 4096

// Test checks a layer whose features do not change meanwhile. It should have a thousand features
// or fewer. Test checks that the layer refuses everything outside its abilities, and then skips
// it.
func Test(t TB, l feature.Layer, o Options) {
	t.Helper()
	j := &judge{TB: t, l: l, about: l.Info(), r: rand.New(rand.NewPCG(o.Seed, 7)), rounds: cmp.Or(o.Rounds, 20),
		areas: o.Areas, grounds: map[string]*ground{}, verdictsIn: map[string]map[string]verdict{}}
	j.info()
	var err error
	if j.all, err = j.list(feature.Query{}); err != nil {
		t.Errorf("all features: %v", err)
		return
	}
	if n := j.about.Count; n >= 0 && int(n) != len(j.all) {
		t.Errorf("the layer says that it has %d features and lists %d", n, len(j.all))
	}
	for i := range j.all {
		j.feature(&j.all[i])
	}
	j.twice()
	j.get()
	j.ends()
	j.marks()
	if len(j.all) == 0 {
		return
	}
	j.encloses()
	j.drawing()
	queries := []feature.Query{{}}
	for range j.rounds {
		queries = append(queries, feature.Query{In: j.area()}, feature.Query{Near: j.near()}, feature.Query{Filter: j.filter()},
			feature.Query{In: j.area(), Filter: j.filter()}, feature.Query{Near: j.near(), Filter: j.filter()},
			feature.Query{Order: feature.Order{Importance: true}, In: j.area(), Filter: j.filter()},
			feature.Query{Order: feature.Order{Sort: j.sort()}, In: j.area(), Filter: j.filter()})
	}
	for i := range queries {
		j.query(queries[i])
	}
}

// judge is the state of one test.
type judge struct {
	TB
	l      feature.Layer
	about  *feature.Info
	r      *rand.Rand
	rounds int
	all    []feature.Feature

	areas      []feature.Area
	grounds    map[string]*ground            // by the id of a feature
	verdictsIn map[string]map[string]verdict // by the name of an area
}

// list collects an answer. Nothing may come after an error.
func (j *judge) list(q feature.Query) (list []feature.Feature, err error) {
	for f, failed := range j.l.Features(j.Context(), &q) {
		switch {
		case err != nil:
			return list, fmt.Errorf("the answer goes on after an error: %w", err)
		case failed != nil:
			err = failed
		default:
			list = append(list, f.Clone())
		}
	}
	return list, err
}

func (j *judge) info() {
	in := j.about
	if in.Name == "" || !in.Bounds.Valid() {
		j.Errorf("the layer is called %q and lies in %v", in.Name, in.Bounds)
	}
	for i, f := range in.Schema {
		if f.Kind == feature.Null || i > 0 && in.Schema[i-1].Name >= f.Name {
			j.Errorf("the schema is not sorted, or has a property twice or without a kind: %v", in.Schema)
		}
	}
}

// feature checks a single feature.
func (j *judge) feature(f *feature.Feature) {
	switch {
	case f.ID == "" || f.Number != 0 && strconv.FormatUint(f.Number, 10) != f.ID:
		j.Errorf("the number of feature %q is %d", f.ID, f.Number)
	case f.Position.Check() != nil:
		j.Errorf("feature %q is at %v", f.ID, f.Position)
	case j.about.AllPoints && (!f.Geometry.IsPoint() || f.Bounds != (quadkey.Box{}) || !j.about.Bounds.Contains(f.Lon, f.Lat)):
		j.Errorf("feature %q of a layer of points within %v is at %v, with bounds %v", f.ID, j.about.Bounds, f.Position, f.Bounds)
	case !j.about.AllPoints && !f.Bounds.Valid():
		j.Errorf("the bounds of feature %q are %v", f.ID, f.Bounds)
	case len(f.Mark) == 0 || len(f.Mark) > feature.MaxMarkBytes:
		j.Errorf("the mark of feature %q has %d bytes", f.ID, len(f.Mark))
	}
	if _, err := f.Orb(); err != nil {
		j.Errorf("the geometry of feature %q: %v", f.ID, err)
	}
	text := append(f.Properties.AppendMembers([]byte{'{'}), '}')
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		j.Errorf("the properties of feature %q are %s: %v", f.ID, text, err)
	}
	for name, v := range f.Properties.All() {
		of, ok := j.about.Schema.Lookup(name)
		if same, has := f.Properties.Lookup(name); !has || same.Text() != v.Text() {
			j.Errorf("the property %q of feature %q is %s in the list of all and %s by its name", name, f.ID, v.Text(), same.Text())
		}
		if !ok || !fits(of.Kind, v.Kind()) {
			j.Errorf("feature %q has the property %q with %s, which the schema has as %q", f.ID, name, v.Text(), of.Kind)
		}
	}
}

// fits reports whether a property may have a value.
func fits(of, value feature.Kind) bool {
	switch value {
	case feature.Null:
		return true
	case feature.Number, feature.Integer:
		return of == feature.Number || of == feature.Integer || of == feature.Any
	case feature.Text:
		return of == feature.Text || of == feature.RegionID || of == feature.Time || of == feature.Any
	case feature.Boolean:
		return of == feature.Boolean || of == feature.Any
	}
	return of == feature.Texts || of == feature.Any
}

// twice queries from several goroutines at once. All must get the same answer.
func (j *judge) twice() {
	var wg sync.WaitGroup
	got := make([][]feature.Feature, 3)
	for i := range got {
		wg.Go(func() { got[i], _ = j.list(feature.Query{}) })
	}
	wg.Wait()
	for i := range got {
		j.same("all features again", got[i], j.all)
	}
}

// get checks Get with the ids of all features, and with ids that do not exist.
func (j *judge) get() {
	for range min(j.rounds, len(j.all)) {
		want := &j.all[j.r.IntN(len(j.all))]
		got := feature.Feature{
			ID:          "other",
			Number:      7,
			DistanceM:   7,
			Version:     7,
			ClusterSize: 7,
			Expires:     time.Unix(1, 0),
			Properties:  feature.PropertiesOf(feature.Property{Name: "other"}),
		}
		if err := j.l.Get(j.Context(), want.ID, time.Time{}, &got); err != nil || show(&got) != show(want) {
			j.Errorf("the feature %q is %s, %v; in a list it is %s", want.ID, show(&got), err, show(want))
		}
	}
	var f feature.Feature
	for _, id := range []string{"", "\x00", "no such id, I hope", strings.Repeat("9", 10_000), "../..", "\xff", "00", "-1", "1e3", " "} {
		known := slices.ContainsFunc(j.all, func(f feature.Feature) bool { return f.ID == id })
		if err := j.l.Get(j.Context(), id, time.Time{}, &f); !known && !errors.Is(err, feature.ErrNotFound) {
			j.Errorf("the feature %.30q, which is not there: %v", id, err)
		}
	}
}

// ends checks answers that stop early: by a break of the loop, and by a cancelled context.
func (j *judge) ends() {
	for _, err := range j.l.Features(j.Context(), &feature.Query{}) {
		if err != nil {
			j.Errorf("the first feature: %v", err)
		}
		break
	}
	ctx, cancel := context.WithCancel(j.Context())
	n, late := 0, 0
	var err error
	for _, err = range j.l.Features(ctx, &feature.Query{}) {
		if err == nil {
			n++
			late = max(0, n-2)
		}
		if n == 2 {
			cancel()
		}
	}
	cancel()
	if late > maxLate || n < len(j.all) && !errors.Is(err, context.Canceled) {
		j.Errorf("after the context had ended %d features came, of %d, and the error %v", late, len(j.all), err)
	}
	for _, err = range j.l.Features(ctx, &feature.Query{}) {
	}
	if len(j.all) > 0 && err == nil {
		j.Errorf("an answer in a context that had ended has no error")
	}
}

// marks queries with marks that no answer can have had. The layer must refuse a mark, or take it as
// a place in the order.
func (j *judge) marks() {
	strange := []string{
		"x",
		"\x00",
		strings.Repeat("\x00", 8),
		strings.Repeat("\xff", 12),
		strings.Repeat("a", 500),
		"us-ks",
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12",
	}
	for _, m := range strange {
		got, err := j.list(feature.Query{After: feature.Mark(m)})
		if errors.Is(err, feature.ErrCursor) {
			continue
		}
		if err != nil || len(got) > len(j.all) {
			j.Errorf("after the mark %.20q: %d features, %v", m, len(got), err)
			continue
		}
		j.same(fmt.Sprintf("after the mark %.20q", m), got, j.all[len(j.all)-len(got):])
	}
}

// area returns an area around a feature.
func (j *judge) area() feature.Area {
	if n := len(j.areas); n > 0 && j.r.IntN(2) == 0 {
		return j.areas[j.r.IntN(n)]
	}
	f := &j.all[j.r.IntN(len(j.all))]
	switch j.r.IntN(8) {
	case 0:
		return nil
	case 1:
		return feature.Box(quadkey.World)
	case 2:
		return feature.Box{West: f.Lon, South: f.Lat, East: f.Lon, North: f.Lat}
	case 3, 4:
		tile, _ := quadkey.TileAt(f.Lon, f.Lat, uint8(j.r.IntN(quadkey.MaxZoom+1)))
		return feature.Tile(tile)
	case 5:
		return stripes{}
	}
	size := math.Exp(j.r.Float64()*10 - 5)
	wrapped := func(lon float64) float64 { return math.Remainder(lon, 360) }
	return feature.Box{
		West:  wrapped(f.Lon - size),
		South: max(f.Lat-size/2, -90),
		East:  wrapped(f.Lon + size*j.r.Float64()),
		North: min(f.Lat+size/3, 90),
	}
}

// stripes is an area that no index has: every other stripe in the eastern half of the world, each
// as wide as a tile of zoom 8, and the whole north-western quarter. Its parts are valid only until
// the call ends, like the parts of regions.
type stripes struct{}

const stripe = 360.0 / 256 // degrees

func (stripes) String() string { return "stripes" }

func (stripes) Cover(_ context.Context, from quadkey.Cell, fn func(p *feature.AreaPart) error) error {
	for i, tile := range (quadkey.Tile{}).Children() {
		p := feature.AreaPart{}
		p.Cells.First, p.Cells.Last = tile.CellRange()
		over := false
		if i%2 == 1 {
			p.Contains = func(at quadkey.Position) (bool, error) {
				if over {
					return false, errors.New("the part of an area is asked after its end")
				}
				return int(at.Lon/stripe)%2 == 0, nil
			}
			p.Border = func() (*feature.Border, error) {
				if over {
					return nil, errors.New("the border of a part is asked for after its end")
				}
				return stripesIn(int32(i / 2)), nil
			}
		}
		if i == 2 || p.Cells.Last < from {
			continue
		}
		err := fn(&p)
		if over = true; err != nil {
			return err
		}
	}
	return nil
}

// stripesIn returns the stripes of the northern half, 0, or of the southern one, 1.
func stripesIn(half int32) *feature.Border {
	const side, step, quarter = 1 << 24, 1 << 17, 1 << 23
	b := &feature.Border{}
	for x := int32(side); x < 2*side; x += 2 * step {
		rect := func(y0, y1 int32) feature.Ring { return feature.Ring{{x, y0}, {x + step, y0}, {x + step, y1}, {x, y1}} }
		b.Mercator = append(b.Mercator, rect(half*side, (half+1)*side))
		b.Polar = append(b.Polar, rect(half*quarter, (half+1)*quarter))
	}
	return b
}

// near returns a ring around a position, which may be a feature's.
func (j *judge) near() *feature.Near {
	n := &feature.Near{Position: quadkey.Position{Lat: j.r.Float64()*180 - 90, Lon: j.r.Float64()*360 - 180}}
	switch j.r.IntN(6) {
	case 0:
		n.Lat = math.Copysign(90, n.Lat)
	case 1:
		n.Lon = math.Copysign(180, n.Lon)
	case 2, 3:
		n.Position = j.all[j.r.IntN(len(j.all))].Position
	}
	if j.r.IntN(2) == 0 {
		n.MaxM = math.Exp(j.r.Float64() * 17)
	}
	if j.r.IntN(3) == 0 {
		n.MinM = j.r.Float64() * cmp.Or(n.MaxM, 1e7)
	}
	return n
}

// sort returns the order by a property.
func (j *judge) sort() feature.Sort {
	var can []feature.Field
	for _, f := range j.about.Schema {
		if feature.Sortable(f.Kind) {
			can = append(can, f)
		}
	}
	if len(can) == 0 {
		return feature.Sort{}
	}
	return feature.Sort{Field: can[j.r.IntN(len(can))], Descending: j.r.IntN(2) == 0}
}

// filter returns nil, or a filter that lets some features pass: by their ids, which no index knows,
// or by terms.
func (j *judge) filter() feature.Filter {
	if j.r.IntN(4) == 0 {
		return nil
	}
	f := &j.all[j.r.IntN(len(j.all))]
	var terms []feature.Term
	for name, v := range f.Properties.All() {
		if of, ok := j.about.Schema.Lookup(name); ok && j.r.IntN(4) == 0 && v.Kind() != feature.Null && of.Kind != feature.Any &&
			of.Kind != feature.Texts {
			term := feature.Term{Name: name, Values: []string{v.Text()}}
			if of.Kind != feature.Boolean && feature.Sortable(of.Kind) {
				term.Op = []string{"", "", feature.OpLess, feature.OpGreaterOrEqual}[j.r.IntN(4)]
			}
			if other := j.all[j.r.IntN(len(j.all))].Properties.Text(name); term.Op == "" && other != "" && j.r.IntN(2) == 0 {
				term.Values = append(term.Values, other)
			}
			terms = append(terms, term)
		}
	}
	made, err := feature.ParseFilter(j.about.Schema, terms[:min(len(terms), 3)])
	if err != nil || made == nil || j.r.IntN(3) == 0 {
		return odd{uint64(j.r.IntN(5)), made}
	}
	return made
}

// odd is a filter that passes some features by their ids, if they also pass another filter.
type odd struct {
	salt uint64
	also feature.Filter
}

func (o odd) Match(ctx context.Context, f *feature.Feature) (bool, error) {
	sum := o.salt
	for _, c := range []byte(f.ID) {
		sum = sum*31 + uint64(c)
	}
	if o.also == nil || sum%3 == 0 {
		return sum%3 > 0, nil
	}
	return o.also.Match(ctx, f)
}

func (o odd) Terms() ([]feature.Term, bool) {
	if o.also == nil {
		return nil, false
	}
	terms, _ := o.also.Terms()
	return terms, false
}

func (o odd) String() string { return fmt.Sprint("odd ", o.salt, o.also) }

// maxRanked bounds the number of features from orders other than the layer's own.
const maxRanked = 1000

// query checks the answer to a query, as a whole and page by page.
func (j *judge) query(q feature.Query) {
	what := j.describe(&q)
	ranked := q.Near != nil || q.Order != (feature.Order{})
	if ranked {
		q.Limit = maxRanked
	}
	got, err := j.list(q)
	if cannot := errors.Is(j.about.Check(&q), errors.ErrUnsupported); cannot || errors.Is(err, errors.ErrUnsupported) {
		if !cannot {
			j.Errorf("%s: the layer says that it can be asked this, and answers %v: change its Info.Can or the layer", what, err)
		} else if !errors.Is(err, errors.ErrUnsupported) {
			j.Errorf("%s: the layer says that it cannot be asked this, and answers with %d features and the error %v: change "+
				"its Info.Can or the layer", what, len(got), err)
		}
		return
	}
	if err != nil {
		j.Errorf("%s: %v", what, err)
		return
	}
	want, exact := j.expect(&q)
	switch {
	case !exact && ranked: // only the layer knows the borders
		if want, err = j.list(feature.Query{In: q.In, Filter: q.Filter}); err != nil {
			j.Errorf("%s, in the layer's own order: %v", what, err)
		}
		j.sorted(what, &q, got, want)
	case !exact:
		j.bounded(what, &q, got)
		want = got
	case q.Near != nil:
		want = want[:min(len(want), q.Limit)]
		j.nearest(what, &q, got, want)
	case ranked:
		j.sorted(what, &q, got, want)
	default:
		j.same(what, got, want)
	}
	j.pages(what, q, got)
	if len(got) == maxRanked && ranked {
		return
	}
	if n, err := feature.Count(j.Context(), j.l, &feature.Query{In: q.In, Filter: q.Filter}); q.Near == nil &&
		(err != nil || int(n) != len(want)) {
		j.Errorf("%s: %d are counted and %d are there, %v", what, n, len(want), err)
	}
	// The answer must have the error of its filter.
	failed := errors.New("the filter fails")
	q.Filter = failing{q.Filter, failed}
	if len(want) > 0 {
		if got, err := j.list(q); !errors.Is(err, failed) || len(got) > 0 {
			j.Errorf("%s: %d features and the error %v of a filter that fails", what, len(got), err)
		}
	}
}

type failing struct {
	of  feature.Filter
	err error
}

func (f failing) Match(context.Context, *feature.Feature) (bool, error) { return false, f.err }
func (f failing) Terms() ([]feature.Term, bool) {
	if f.of == nil {
		return nil, false
	}
	terms, _ := f.of.Terms()
	return terms, false
}
func (f failing) String() string { return "failing" }

func (j *judge) describe(q *feature.Query) string {
	text := fmt.Sprintf("in %v, order %v", q.In, q.Order)
	if q.Near != nil {
		text += fmt.Sprintf(", near %v", *q.Near)
	}
	if q.Filter != nil {
		text += fmt.Sprintf(", filter %q", q.Filter)
	}
	return text
}

// expect returns the answer that a query must have among all features, the nearest in the order of
// their distance. The answer is exact if it depends on positions, or on distances that only the
// layer knows.
func (j *judge) expect(q *feature.Query) (want []feature.Feature, exact bool) {
	var far map[string]float64
	if q.Near != nil && !j.about.AllPoints {
		far = j.distances(q.Near.Position)
	}
	for i := range j.all {
		f := j.all[i]
		in := true
		var err error
		if j.about.AllPoints {
			if in, err = within(j.Context(), q.In, f.Position); err != nil {
				j.Errorf("the area %v: %v", q.In, err)
			}
		}
		if n := q.Near; n != nil {
			if f.DistanceM = f.Position.Distance(n.Position); far != nil {
				f.DistanceM, in = far[f.ID]
			}
			in = in && f.DistanceM >= n.MinM && (n.MaxM == 0 || f.DistanceM <= n.MaxM)
		}
		if in && q.Filter != nil {
			if in, err = q.Filter.Match(j.Context(), &f); err != nil {
				j.Errorf("the filter %q: %v", q.Filter, err)
			}
		}
		if in {
			want = append(want, f)
		}
	}
	if q.Near != nil {
		slices.SortStableFunc(want, func(a, b feature.Feature) int { return cmp.Compare(a.DistanceM, b.DistanceM) })
	}
	return want, q.In == nil || j.about.AllPoints
}

// distances returns the layer's distances of features that are not points. Every feature with a
// geometry must have one, the nearest first.
func (j *judge) distances(from quadkey.Position) map[string]float64 {
	list, err := j.list(feature.Query{Near: &feature.Near{Position: from}, Limit: maxRanked})
	if err != nil {
		j.Errorf("all features by their distance from %v: %v", from, err)
	}
	far, last := make(map[string]float64), 0.0
	for i := range list {
		f := &list[i]
		if _, twice := far[f.ID]; twice || !(f.DistanceM >= last) {
			j.Errorf("by its distance from %v, the feature %q is there twice, or comes at %v m behind one at %v m",
				from, f.ID, f.DistanceM, last)
		}
		last = f.DistanceM
		far[f.ID] = last
	}
	for i := range j.all {
		f := &j.all[i]
		shape, _ := f.Orb()
		if _, there := far[f.ID]; !there && shape != nil && len(list) < maxRanked {
			j.Errorf("the feature %q has a geometry and no distance from %v", f.ID, from)
		}
	}
	return far
}

// bounded checks features with borders. They must be in the layer's order. Features wholly in a box
// must be in the answer, and those outside of it must not. In another area, features with ground
// well inside must be in the answer, and those far from it must not.
func (j *judge) bounded(what string, q *feature.Query, got []feature.Feature) {
	i := 0
	box, boxed := q.In.(feature.Box)
	for k := range j.all {
		f := &j.all[k]
		there := i < len(got) && got[i].ID == f.ID
		if there {
			i++
		}
		b := quadkey.Box(box)
		whole := b.Contains(f.Bounds.West, f.Bounds.South) && b.Contains(f.Bounds.East, f.Bounds.North) &&
			f.Bounds.West <= f.Bounds.East && b.West <= b.East
		beside := f.Bounds.North < b.South || f.Bounds.South > b.North
		if !boxed {
			v := j.verdicts(q.In)[f.ID]
			whole, beside = v.shares, v.apart
		}
		passes := true
		if q.Filter != nil {
			passes, _ = q.Filter.Match(j.Context(), f)
		}
		if there && (beside || !passes) || !there && whole && passes {
			j.Errorf("%s: feature %q with bounds %v is in the answer: %v", what, f.ID, f.Bounds, there)
		}
	}
	if i < len(got) {
		j.Errorf("%s: feature %q does not stand where it stands among all", what, got[i].ID)
	}
}

// nearest checks distances. The layer decides which of several points at one distance is first.
func (j *judge) nearest(what string, q *feature.Query, got, want []feature.Feature) {
	if len(got) != len(want) {
		j.Errorf("%s: %d features, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		d := got[i].Position.Distance(q.Near.Position)
		if !j.about.AllPoints {
			if d = want[i].DistanceM; got[i].ID != want[i].ID {
				j.Errorf("%s: feature %d is %q, want %q", what, i, got[i].ID, want[i].ID)
				return
			}
		}
		if got[i].DistanceM != d || d != want[i].DistanceM {
			j.Errorf("%s: feature %d is %q at %v m, says %v m, want %v m", what, i, got[i].ID, d, got[i].DistanceM, want[i].DistanceM)
			return
		}
	}
	j.each(what, got)
}

// sorted checks an order by a property, or by something that only the layer knows.
func (j *judge) sorted(what string, q *feature.Query, got, want []feature.Feature) {
	if n := min(len(want), q.Limit); len(got) != n {
		j.Errorf("%s: %d features, want %d", what, len(got), n)
	}
	for i := 1; i < len(got) && q.Order.Field.Name != ""; i++ {
		a, hasA := sortKey(&got[i-1], q.Order.Field)
		b, hasB := sortKey(&got[i], q.Order.Field)
		if !hasA && hasB || hasA && hasB && (a > b) != q.Order.Descending && a != b {
			j.Errorf("%s: %s comes before %s", what, show(&got[i-1]), show(&got[i]))
			return
		}
	}
	j.each(what, got)
}

func sortKey(f *feature.Feature, by feature.Field) (uint64, bool) {
	return feature.SortKey(append(f.Properties.AppendMembers([]byte{'{'}), '}'), by)
}

// each checks that features are of the layer, and that none occurs twice.
func (j *judge) each(what string, got []feature.Feature) {
	seen := map[string]bool{}
	for i := range got {
		f := got[i]
		k := slices.IndexFunc(j.all, func(o feature.Feature) bool { return o.ID == f.ID })
		if f.DistanceM = 0; k < 0 || seen[f.ID] || show(&f) != show(&j.all[k]) {
			j.Errorf("%s: %s is there twice, or another one than among all", what, show(&got[i]))
		}
		seen[f.ID] = true
	}
}

// pages sends the same query again, a few features at a time, from marks.
func (j *judge) pages(what string, q feature.Query, want []feature.Feature) {
	for _, size := range []int{1, 7, max(1, len(want)/2)} {
		var got []feature.Feature
		for q.After = nil; len(got) < min(len(want), 4*size); {
			q.Limit = size
			page, err := j.list(q)
			if err != nil || len(page) != min(size, len(want)-len(got)) {
				j.Errorf("%s: %d features behind the first %d of %d, at most %d are wanted, %v", what, len(page), len(got), len(want), size, err)
				return
			}
			got = append(got, page...)
			q.After = page[len(page)-1].Mark
		}
		j.same(what+", in pages", got, want[:len(got)])
	}
	if len(want) == 0 {
		return
	}
	i := j.r.IntN(len(want))
	if q.After, q.Limit = want[i].Mark, maxRanked; q.Near == nil && q.Order == (feature.Order{}) {
		q.Limit = 0
	}
	if got, err := j.list(q); err != nil || len(want) < maxRanked && len(got) != len(want)-i-1 {
		j.Errorf("%s: %d features behind number %d of %d, %v", what, len(got), i, len(want), err)
	}
}

// same checks that features are the same in the same order.
func (j *judge) same(what string, got, want []feature.Feature) {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			j.Errorf("%s: %d features, want %d: %s lacks", what, len(got), len(want), show(&want[i]))
		case i >= len(want):
			j.Errorf("%s: %d features, want %d: %s is there", what, len(got), len(want), show(&got[i]))
		case show(&got[i]) != show(&want[i]):
			j.Errorf("%s: feature %d is %s, want %s", what, i, show(&got[i]), show(&want[i]))
		default:
			continue
		}
		return
	}
}

// show returns a text of everything in a feature except its mark.
func show(f *feature.Feature) string {
	w := feature.Writer{GeoJSON: true, NestProperties: true, WithVersion: true, WithBounds: true}
	text, err := w.Append(nil, f, "")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s, number %d, members %d, %v m", text, f.Number, f.ClusterSize, f.DistanceM)
}
