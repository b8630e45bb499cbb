package feature

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/internal/must"
	"quadrille/quadkey"
)

func TestCursorRoundTrip(t *testing.T) {
	of := &Info{Name: "shops", Fingerprint: "a"}
	rapid.Check(t, func(t *rapid.T) {
		q := Query{In: Box{East: rapid.Float64Range(0, 180).Draw(t, "east"), North: 1}}
		mark := rapid.SliceOfN(rapid.Byte(), 1, MaxMarkBytes).Draw(t, "mark")
		if err := q.Continue(of, q.Cursor(of, mark)); err != nil || !bytes.Equal(q.After, mark) {
			t.Fatalf("%x becomes %x, %v", mark, q.After, err)
		}
	})
}

// A query refuses a cursor of any other query. A cursor in the layer's own order stays valid when
// the data is replaced.
func TestCursorIsOfOneQuery(t *testing.T) {
	of := &Info{Name: "shops", Fingerprint: "a"}
	newer := &Info{Name: "shops", Fingerprint: "b"}
	near := func(maxM float64) Query { return Query{Near: NearTo(1, 2, maxM)} }
	down := Query{Order: Order{Sort: Sort{Field: Field{Name: "price", Kind: Number}, Descending: true}}}
	for _, c := range []struct {
		from, to Query
		of       *Info
		want     error
	}{
		{Query{}, Query{Limit: 5, Detail: WithoutGeometry, MaxExamined: 9}, of, nil},
		{Query{}, Query{}, newer, nil},
		{Query{In: Box(quadkey.World)}, Query{In: Box(quadkey.World)}, newer, nil},
		{near(0), near(math.Copysign(0, -1)), of, nil},
		{near(0), near(0), newer, ErrCursorExpired},
		{down, down, newer, ErrCursorExpired},
		{near(0), near(5), newer, ErrCursor},
		{Query{}, Query{In: Box(quadkey.World)}, of, ErrCursor},
		{Query{}, Query{At: time.UnixMilli(5)}, of, ErrCursor},
		{Query{}, down, of, ErrCursor},
		{Query{}, Query{}, &Info{Name: "streets"}, ErrCursor},
		{Query{}, Query{Filter: mustFilter(t, "a", "x")}, of, ErrCursor},
		{Query{Filter: mustFilter(t, "a", "y")}, Query{Filter: mustFilter(t, "a", "x")}, of, ErrCursor},
		{Query{Filter: mustFilter(t, "a", "x")}, Query{Filter: mustFilter(t, "a", "x")}, of, nil},
	} {
		q := c.to
		err := q.Continue(c.of, c.from.Cursor(of, Mark("m")))
		if !errors.Is(err, c.want) || err == nil && string(q.After) != "m" || err != nil && q.After != nil {
			t.Errorf("%+v after %+v: %q, %v, want %v", c.to, c.from, q.After, err, c.want)
		}
	}
}

func mustFilter(t *testing.T, name, value string) Filter {
	t.Helper()
	return must.Get(ParseFilter(Schema{{Name: name, Kind: Text}}, []Term{{Name: name, Values: []string{value}}})).In(t)
}

// A text is either refused, or it is a cursor from a page.
func FuzzCursor(f *testing.F) {
	of, other := &Info{Name: "shops", Fingerprint: "a"}, &Info{Name: "streets", Fingerprint: "a"}
	q := Query{Near: NearTo(1, 2, 3)}
	for _, mark := range []string{"m", "country:ch", string(make([]byte, MaxMarkBytes)), string(make([]byte, MaxMarkBytes+1))} {
		f.Add(q.Cursor(of, Mark(mark)))
	}
	f.Add(q.Cursor(other, Mark("m")))
	f.Add(q.Cursor(of, nil))
	f.Add(q.Cursor(of, Mark("m")) + "\r\n")
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		q := q
		if err := q.Continue(of, text); err != nil {
			if !errors.Is(err, ErrCursor) && !errors.Is(err, ErrCursorExpired) {
				t.Fatal(err)
			}
			return
		}
		if text != "" && q.Cursor(of, q.After) != text {
			t.Fatalf("%q is %x, whose cursor is %q", text, q.After, q.Cursor(of, q.After))
		}
	})
}
