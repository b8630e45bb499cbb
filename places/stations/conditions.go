package stations

import (
	"context"
	"fmt"
	"time"

	"quadrille/feature"
	"quadrille/internal/instant"
)

// Filter selects the stations of a query. The zero Filter selects all.
type Filter struct {
	Country string    // ISO 3166-1 alpha-2, in upper case
	At      time.Time // only stations whose record has this day, or may have it; zero: any
}

// FeatureFilter returns the filter for a query. It is nil if it selects all stations. Errors match
// ErrQuery.
func (f Filter) FeatureFilter() (feature.Filter, error) {
	var terms []feature.Term
	if f.Country != "" {
		terms = append(terms, feature.Term{Name: "country", Values: []string{f.Country}})
	}
	rest, err := feature.ParseFilter(schema, terms)
	if err != nil || f.At.IsZero() {
		return rest, err
	}
	if y := f.At.UTC().Year(); y < 1 || y > 9999 {
		return nil, feature.BadQuery("date %v; give one of the years 1 to 9999", f.At)
	}
	return &onDay{rest, dayOf(f.At.UTC(), 0)}, nil
}

// onDay is a filter for stations whose record includes a day. If the first or last day of a station
// is not known, its record may include the day. Terms cannot express that.
type onDay struct {
	rest feature.Filter // nil for none
	day  int32
}

// Match implements feature.Filter.
func (o *onDay) Match(ctx context.Context, f *feature.Feature) (bool, error) {
	day := func(name string, unknown int32) int32 {
		if v, ok := f.Properties.Lookup(name); ok {
			if at, ok := instant.Parse(v.Text()); ok {
				return dayOf(at, unknown)
			}
		}
		return unknown
	}
	if day("begin", always) > o.day || o.day > day("end", forever) {
		return false, nil
	}
	if o.rest == nil {
		return true, nil
	}
	return o.rest.Match(ctx, f)
}

// Terms implements feature.Filter.
func (o *onDay) Terms() (terms []feature.Term, all bool) {
	if o.rest != nil {
		terms, _ = o.rest.Terms()
	}
	return terms, false
}

// String implements feature.Filter.
func (o *onDay) String() string {
	text := fmt.Sprint("on day ", o.day)
	if o.rest != nil {
		text += " " + o.rest.String()
	}
	return text
}
