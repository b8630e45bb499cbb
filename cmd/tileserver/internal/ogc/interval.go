package ogc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
	"quadrille/internal/instant"
)

// interval is a span of time, both ends included. A zero end is open.
type interval struct{ from, to time.Time }

// datetime reads an instant or an interval of times and days: "T", "A/B", "A/..", "../B". It
// returns false if the parameter is absent.
func datetime(q *endpoint.Params) (span interval, ok bool) {
	if !q.Has("datetime") {
		return span, false
	}
	refuse := func() (interval, bool) {
		q.Refuse("datetime", "Set datetime to a time such as 2024-01-31T06:00:00Z or a day, or to an interval of two with / "+
			"between, .. for an open end; write a + as %2B.")
		return interval{}, false
	}
	from, to, two := strings.Cut(q.Text("datetime", 100), "/")
	if !two {
		to = from
	}
	var good bool
	if span.from, good = bound(from, two, false); !good {
		return refuse()
	}
	if span.to, good = bound(to, two, true); !good {
		return refuse()
	}
	if two && span.from.IsZero() && span.to.IsZero() && from == "" && to == "" {
		return refuse()
	}
	if !span.from.IsZero() && !span.to.IsZero() && span.from.After(span.to) {
		q.Refuse("datetime", "Set datetime to an interval whose first time is not after the second.")
		return interval{}, false
	}
	return span, true
}

// bound reads one end of an interval. If the end of the interval is a day, it extends to the end of
// this day.
func bound(text string, open, last bool) (time.Time, bool) {
	if open && (text == "" || text == "..") {
		return time.Time{}, true
	}
	from, to, ok := instant.ParseSpan(text)
	if last {
		return to, ok && to.Year() > 0
	}
	return from, ok && from.Year() > 0
}

// meets reports whether the time between two days, inclusive, overlaps the interval. "" is an open
// end.
func (s interval) meets(begin, end string) bool {
	b, known := bound(begin, true, false)
	e, known2 := bound(end, true, true)
	return known && known2 && (b.IsZero() || s.to.IsZero() || !b.After(s.to)) && (e.IsZero() || s.from.IsZero() || !e.Before(s.from))
}

// span is a filter. It passes features that exist at some time of an interval and also pass another
// filter.
type span struct {
	interval
	first, last string // the properties with the times
	also        feature.Filter
}

// Match implements feature.Filter.
func (s *span) Match(ctx context.Context, f *feature.Feature) (bool, error) {
	begin, _ := f.Properties.Lookup(s.first)
	end, _ := f.Properties.Lookup(s.last)
	if !s.meets(textOf(begin), textOf(end)) {
		return false, nil
	}
	if s.also == nil {
		return true, nil
	}
	return s.also.Match(ctx, f)
}

// Terms implements feature.Filter.
func (s *span) Terms() (terms []feature.Term, all bool) {
	if s.also != nil {
		terms, _ = s.also.Terms()
	}
	return terms, false
}

// String implements feature.Filter.
func (s *span) String() string { return fmt.Sprint(s.from, s.to, s.first, s.last, s.also) }

// textOf returns the text of a value that is a text, and "" for any other.
func textOf(v feature.Value) string {
	if v.Kind() != feature.Text {
		return ""
	}
	return v.Text()
}
