package ogc

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/cql2"
	"quadrille/cmd/tileserver/internal/endpoint"
)

// endless is a source of features that go on for ever, and counts those it reads.
type endless struct {
	source
	read int
}

func (s *endless) page(_ context.Context, _ *ask, limit int, _ string) (features []item, next string, err error) {
	for range limit {
		s.read++
		features = append(features, item{id: "a", mark: "a", properties: []byte(`"a":1`)})
	}
	return features, "a", nil
}

func (s *endless) load(context.Context, *item, bool) error { return nil }

// The dearer a filter, the fewer features a page looks at: the work of a page is bounded
// whatever the filter, and the next page goes on.
func TestFilterWorkIsBounded(t *testing.T) {
	for _, filter := range []string{
		"a = 2", strings.Repeat("a = 2 OR ", 900) + "a = 2", "a IN (" + strings.Repeat("2,", 990) + "2)", "a LIKE '" + strings.Repeat("%x", 490) + "'",
		strings.Repeat("NOT ", 90) + "a = 2 AND a = 1",
	} {
		f, err := cql2.Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		s := &endless{}
		a := &ask{limit: 10, filter: f}
		next, err := a.page(t.Context(), &collection{source: s}, false, func(*item) (int, error) { return 0, nil })
		if err != nil || next == "" {
			t.Errorf("%.20s: the next page is %q, %v", filter, next, err)
		}
		if work, most := s.read*(readCost+f.Cost()), maxLooked*readCost+maxLimit*(readCost+1); work > most || s.read < 1 {
			t.Errorf("%.20s: %d features at %d are looked at: %d, want at most %d", filter, s.read, f.Cost(), work, most)
		}
	}
}

// Each box of a filter of regions is a search: too many are refused before any runs.
func TestFilterBoxesAreBounded(t *testing.T) {
	for n, want := range map[int]bool{maxBoxes + 1: true, maxBoxes + 2: false} {
		var boxes []string
		for i := range n {
			boxes = append(boxes, fmt.Sprintf("S_INTERSECTS(geometry, BBOX(0,0,%d,1))", i+1), "S_INTERSECTS(geometry, BBOX(0,0,1,1))")
		}
		of := endpoint.Endpoint{Params: []endpoint.Param{filterParam}, Filters: true}
		q := endpoint.ParamsOf(&of, "filter="+url.QueryEscape(strings.Join(boxes, " OR ")))
		if _, err := readAsk(&q, &collection{id: "country", source: &regions{}}); (err == nil) != want {
			t.Errorf("%d boxes: %v", n, err)
		}
		if _, err := readAsk(&q, &collection{id: "places", source: &endless{}}); err != nil {
			t.Errorf("%d boxes of points: %v", n, err)
		}
	}
}
