package layertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// shops returns a layer of points everywhere on the Earth, some of them at one position.
func shops(n int) *Memory {
	r := rand.New(rand.NewPCG(1, 2))
	m := &Memory{LayerInfo: feature.Info{Name: "shops",
		Schema: feature.Schema{{Name: "kind", Kind: feature.Text}, {Name: "name", Kind: feature.Text}, {Name: "price", Kind: feature.Number}},
		Bounds: quadkey.World, Count: int64(n), AllPoints: true}}
	for i := range n {
		f := feature.Feature{ID: fmt.Sprint("s", i)}
		f.Position = quadkey.Position{Lat: r.Float64()*180 - 90, Lon: r.Float64()*360 - 180}
		switch i % 10 {
		case 0:
			f.Position = quadkey.Position{Lat: 47, Lon: 8}
		case 1:
			f.Position = quadkey.Position{Lat: 90, Lon: f.Lon}
		case 2:
			f.Position = quadkey.Position{Lat: f.Lat, Lon: 180}
		}
		f.Properties = feature.CompactProperties(fmt.Appendf(nil, `"kind":"kind %d","name":"Shop \"%d\"","price":%d.50`, i%4, i, i%7))
		m.List = append(m.List, f)
	}
	return m
}

// findings counts the findings of Test.
type findings struct {
	*testing.T
	all []string
}

func (f *findings) Errorf(format string, args ...any) {
	f.all = append(f.all, fmt.Sprintf(format, args...))
}

func TestMemory(t *testing.T) {
	Test(t, shops(200), Options{Rounds: 8})
	Test(t, shops(0), Options{})
	sorted := shops(200)
	sorted.Sorts = true
	Test(t, sorted, Options{Rounds: 8})
	Test(t, feature.DecodedLayer(shops(50)), Options{Rounds: 5})
}

// faulty is a layer with a fault.
type faulty struct {
	*Memory
	info     func(feature.Info) feature.Info
	get      func(id string, f *feature.Feature, err error) error
	question func(q *feature.Query)
	answer   func(ctx context.Context, q *feature.Query, seq iter.Seq2[*feature.Feature, error]) iter.Seq2[*feature.Feature, error]
}

func (l *faulty) Info() *feature.Info {
	in := *l.Memory.Info()
	if l.info != nil {
		in = l.info(in)
	}
	return &in
}

func (l *faulty) Get(ctx context.Context, id string, at time.Time, f *feature.Feature) error {
	err := l.Memory.Get(ctx, id, at, f)
	if l.get != nil {
		err = l.get(id, f, err)
	}
	return err
}

func (l *faulty) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	asked := *q
	if l.question != nil {
		l.question(&asked)
	}
	seq := l.Memory.Features(ctx, &asked)
	if l.answer != nil {
		seq = l.answer(ctx, &asked, seq)
	}
	return seq
}

// each returns an answer that calls fn with every feature and its number. fn may yield it or not.
func each(fn func(i int, f *feature.Feature, yield func(*feature.Feature, error) bool) bool) func(context.Context,
	*feature.Query, iter.Seq2[*feature.Feature, error]) iter.Seq2[*feature.Feature, error] {
	return func(_ context.Context, _ *feature.Query, seq iter.Seq2[*feature.Feature, error]) iter.Seq2[*feature.Feature, error] {
		return func(yield func(*feature.Feature, error) bool) {
			i := 0
			for f, err := range seq {
				if err != nil {
					yield(nil, err)
					return
				}
				if !fn(i, f, yield) {
					return
				}
				i++
			}
		}
	}
}

// TestPlantedFaults tests that layertest finds each of these faults in a layer that has no other
// fault.
func TestPlantedFaults(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	broken := errors.New("the disk fails")
	for name, l := range map[string]*faulty{
		"late": {answer: func(_ context.Context, q *feature.Query, _ iter.Seq2[*feature.Feature, error]) iter.Seq2[*feature.Feature, error] {
			return shops(100).Features(context.Background(), q)
		}},
		"short after the context has ended": {answer: func(ctx context.Context, _ *feature.Query,
			seq iter.Seq2[*feature.Feature, error]) iter.Seq2[*feature.Feature, error] {
			return func(yield func(*feature.Feature, error) bool) {
				for f, err := range seq {
					if ctx.Err() != nil || !yield(f, err) {
						return
					}
				}
			}
		}},
		"wrongly ordered": {answer: func(_ context.Context, _ *feature.Query,
			seq iter.Seq2[*feature.Feature, error]) iter.Seq2[*feature.Feature, error] {
			return func(yield func(*feature.Feature, error) bool) {
				var held *feature.Feature
				for f, err := range seq {
					if err == nil && held == nil && f.ID == "s7" {
						c := f.Clone()
						held = &c
						continue
					}
					if !yield(f, err) {
						return
					}
					if held != nil && held.Name() != "" {
						if !yield(held, nil) {
							return
						}
						held = &feature.Feature{}
					}
				}
				if held != nil && held.Name() != "" {
					yield(held, nil)
				}
			}
		}},
		"ignores the mark": {question: func(q *feature.Query) { q.After = nil }},
		"takes strange marks": {question: func(q *feature.Query) {
			if len(q.After) > 0 && len(q.After) != 16 {
				q.After = nil
				q.Filter = odd{salt: 1}
			}
		}},
		"ignores the limit":  {question: func(q *feature.Query) { q.Limit = 0 }},
		"ignores the filter": {question: func(q *feature.Query) { q.Filter = nil }},
		"swallows the error of a filter": {answer: func(_ context.Context, _ *feature.Query,
			seq iter.Seq2[*feature.Feature, error]) iter.Seq2[*feature.Feature, error] {
			return func(yield func(*feature.Feature, error) bool) {
				for f, err := range seq {
					if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, feature.ErrCursor) || !yield(f, err) {
						return
					}
				}
			}
		}},
		"goes on after an error": {answer: each(func(i int, f *feature.Feature, yield func(*feature.Feature, error) bool) bool {
			return (i != 20 || yield(nil, broken)) && yield(f, nil)
		})},
		"fails in the middle in silence": {answer: each(func(i int, f *feature.Feature, yield func(*feature.Feature, error) bool) bool {
			return i < 20 && yield(f, nil)
		})},
		"loses one in a box": {answer: func(_ context.Context, q *feature.Query,
			seq iter.Seq2[*feature.Feature, error]) iter.Seq2[*feature.Feature, error] {
			return each(func(_ int, f *feature.Feature, yield func(*feature.Feature, error) bool) bool {
				_, box := q.In.(feature.Box)
				return box && f.ID == "s10" || yield(f, nil)
			})(nil, q, seq)
		}},
		"measures badly": {answer: each(func(_ int, f *feature.Feature, yield func(*feature.Feature, error) bool) bool {
			f.DistanceM *= 1.000001
			return yield(f, nil)
		})},
		"counts badly":     {info: func(in feature.Info) feature.Info { in.Count--; return in }},
		"lacks a property": {info: func(in feature.Info) feature.Info { in.Schema = in.Schema[1:]; return in }},
		"is of another type": {info: func(in feature.Info) feature.Info {
			in.Schema = feature.Schema{{Name: "kind", Kind: feature.Number}, in.Schema[1], in.Schema[2]}
			return in
		}},
		"gets another one":  {get: func(_ string, f *feature.Feature, err error) error { f.Version++; return err }},
		"finds what is not": {get: func(string, *feature.Feature, error) error { return nil }},
		"fails where nothing is": {get: func(_ string, _ *feature.Feature, err error) error {
			if err != nil {
				return broken
			}
			return nil
		}},
		"lists one twice": {answer: each(func(i int, f *feature.Feature, yield func(*feature.Feature, error) bool) bool {
			return yield(f, nil) && (i != 3 || yield(f, nil))
		})},
	} {
		l.Memory = shops(100)
		found := &findings{T: t}
		Test(found, l, Options{Rounds: 5})
		if len(found.all) == 0 {
			t.Errorf("a layer that %s: nothing is found", name)
		}
		t.Logf("%s: %d, such as %.150s", name, len(found.all), append(found.all, "")[0])
	}
}

// stopped is the panic value of a test that Fatalf has ended.
type stopped struct{ *findings }

func (s stopped) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	panic(s)
}

// Pages and SameWithoutIndex report failures, and report an index that finds more features.
func TestFaultsOfOneFilter(t *testing.T) {
	kind := feature.Term{Name: "kind", Values: []string{"kind 1"}}
	wrong := &faulty{Memory: shops(40), question: func(q *feature.Query) {
		if terms, _ := q.Filter.Terms(); len(terms) > 0 {
			q.Filter = odd{salt: 1}
		}
	}}
	broken := &faulty{Memory: shops(40), question: func(q *feature.Query) { q.At = time.Unix(1, 0) }}
	for name, c := range map[string]struct {
		layer feature.Layer
		term  feature.Term
		want  string
	}{
		"none":         {shops(40), kind, ""},
		"index":        {wrong, kind, "features with the index"},
		"answer":       {broken, kind, "only what is now is kept"},
		"no such term": {shops(40), feature.Term{Name: "nothing"}, "nothing"},
	} {
		found := stopped{&findings{T: t}}
		n := 0
		func() {
			defer func() { _ = recover() }()
			n = SameWithoutIndex(found, c.layer, feature.Query{}, 7, c.term)
		}()
		if all := fmt.Sprint(found.all); len(found.all) > 1 || c.want == "" != (n == 10 && len(found.all) == 0) ||
			!strings.Contains(all, c.want) {
			t.Errorf("%s: %d features, %s, want %q", name, n, all, c.want)
		}
	}
}
