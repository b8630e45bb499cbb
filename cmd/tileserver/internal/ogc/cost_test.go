package ogc

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cmd/internal/cql2"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
)

// fake is a layer whose features come from a function.
type fake struct {
	about feature.Info
	next  func(after feature.Mark, f *feature.Feature) bool
	read  int
}

func (l *fake) Info() *feature.Info { return &l.about }

func (l *fake) Get(context.Context, string, time.Time, *feature.Feature) error {
	return feature.ErrNotFound
}

func (l *fake) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	return q.Select(ctx, func(consider func(*feature.Feature, bool) error) error {
		after := slices.Clone(q.After)
		for f := (feature.Feature{}); l.next(after, &f); after = append(after[:0], f.Mark...) {
			l.read++
			if err := consider(&f, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// collectionOf returns a collection with a fake layer.
func collectionOf(l *fake) *collection {
	return &collection{Layer: &ask.Layer{Layer: l, LayerInfo: l.about}}
}

// endless returns a layer with an endless sequence of features.
func endless() *fake {
	return &fake{about: feature.Info{Name: "places", AllPoints: true, Schema: feature.Schema{{Name: "a", Kind: feature.Number}}},
		next: func(_ feature.Mark, f *feature.Feature) bool {
			*f = feature.Feature{ID: "a", Mark: feature.Mark("a"), Properties: feature.CompactProperties([]byte(`"a":1`))}
			return true
		}}
}

// asked has the parameters of a filter.
var asked = endpoint.Endpoint{Params: []endpoint.Param{filterParam}, TakesFilters: true}

// The more expensive a filter is, the fewer features are examined for a page. Thus the work of a
// page is bounded for every filter, and the next page continues.
func TestFilterWorkIsBounded(t *testing.T) {
	for _, filter := range []string{
		"a = 2", strings.Repeat("a = 2 OR ", 900) + "a = 2", "a IN (" + strings.Repeat("2,", 990) + "2)",
		"a LIKE '" + strings.Repeat("%x", 490) + "'",
		strings.Repeat("NOT ", 90) + "a = 2 AND a = 1",
	} {
		f, err := cql2.Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		s := endless()
		q := endpoint.ParamsOf(&asked, "filter="+url.QueryEscape(filter))
		a, err := read(&q, collectionOf(s))
		if err != nil {
			t.Fatal(err)
		}
		next, _, err := a.page(t.Context(), collectionOf(s), func(*feature.Feature) (int, error) { return 0, nil })
		if err != nil || next == "" {
			t.Errorf("%.20s: the next page is %q, %v", filter, next, err)
		}
		if work, most := s.read*(readCost+f.Cost()), maxLooked*readCost+maxLimit*(readCost+1); work > most || s.read < 1 {
			t.Errorf("%.20s: %d features at %d are looked at: %d, want at most %d", filter, s.read, f.Cost(), work, most)
		}
	}
}

// Each box of a filter of regions needs a separate search. Too many boxes are refused before the
// first search.
func TestFilterBoxesAreBounded(t *testing.T) {
	for n, want := range map[int]bool{maxBoxes + 1: true, maxBoxes + 2: false} {
		var boxes []string
		for i := range n {
			boxes = append(boxes, fmt.Sprintf("S_INTERSECTS(geometry, BBOX(0,0,%d,1))", i+1), "S_INTERSECTS(geometry, BBOX(0,0,1,1))")
		}
		q := endpoint.ParamsOf(&asked, "filter="+url.QueryEscape(strings.Join(boxes, " OR ")))
		regions := &fake{about: feature.Info{Name: "country"}}
		if _, err := read(&q, collectionOf(regions)); (err == nil) != want {
			t.Errorf("%d boxes: %v", n, err)
		}
		if _, err := read(&q, collectionOf(endless())); err != nil {
			t.Errorf("%d boxes of points: %v", n, err)
		}
	}
}
