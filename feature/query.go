package feature

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"quadrille/quadkey"
)

// Query selects features of a layer. The zero Query selects all of them in the layer's own order.
// Only that order allows a list of any length.
type Query struct {
	// In is the area of the features, or nil for anywhere. A feature that is not a point is in a
	// box if the two have a point in common. It is in any other area if the two share ground: some
	// of the feature lies inside, and not just on the border.
	In Area
	// Near sorts the nearest first. Features at one distance come in the layer's own order.
	Near *Near
	// Filter decides which features pass; nil lets all pass.
	Filter Filter
	// Order selects another order than the layer's own, if Near is nil.
	Order Order
	// After is the mark of the feature after which the result begins. It must be from the same
	// query.
	After Mark
	// Limit bounds the number of features. 0 means all, which only the layer's own order allows.
	Limit int
	// At selects the features as they were at an instant; the zero time is now.
	At time.Time
	// Detail sets the needed parts of a feature.
	Detail Detail
	// MaxExamined bounds the number of examined features. Beyond it the answer ends with TooMuchWork. 0
	// means the layer's own bound.
	MaxExamined int
	// Step, if set, is called after every few examined features, whether they are in the answer or
	// not, so that other work can run. Its error ends the answer.
	Step func(context.Context) error
}

// Near is a ring around a position: distances in metres, both included. A MaxM of 0 bounds
// nothing.
type Near struct {
	quadkey.Position
	MinM, MaxM float64
}

// NearTo returns a Near for everything within maxM metres of a position in degrees; 0 bounds
// nothing.
func NearTo(lat, lon, maxM float64) *Near {
	return &Near{Position: quadkey.Position{Lat: lat, Lon: lon}, MaxM: maxM}
}

// Order is an order of features. The zero Order is the layer's own.
type Order struct {
	// Importance sorts the most important first, in the layer's sense.
	Importance bool
	// Sort orders by a property, if it names one. Features that lack it come last.
	Sort
}

// Detail is the needed part of a feature.
type Detail uint8

const (
	// WithGeometry includes the geometry.
	WithGeometry Detail = iota
	// WithoutGeometry leaves out the geometry of features that are not points.
	WithoutGeometry
)

// Filter decides which features pass. It may be used by many goroutines.
type Filter interface {
	// Match reports whether a feature fulfils it.
	Match(ctx context.Context, f *Feature) (bool, error)
	// Terms returns conditions that every passing feature fulfils, for use by an index. all is true
	// if every feature that fulfils the conditions passes.
	Terms() (terms []Term, all bool)
	// String distinguishes the filter from others.
	String() string
}

// Mark is the position of a feature in the order of its query. Only its layer can interpret the
// bytes.
type Mark []byte

// matches reports whether a feature passes the filter of the query.
func (q *Query) matches(ctx context.Context, f *Feature) (bool, error) {
	if q.Filter == nil {
		return true, nil
	}
	return q.Filter.Match(ctx, f)
}

// stepFeatures is the number of examined features between steps.
const stepFeatures = 64

// Select yields the features of a query. scan goes through the features in the order of the
// answer. It calls consider with each and reports whether the feature is in the area. If consider
// returns an error, scan ends and returns it. Select handles all other parts of a query: the
// filter, the limit, the bound on examined features, and turns.
func (q *Query) Select(ctx context.Context, scan func(consider func(f *Feature, in bool) error) error) iter.Seq2[*Feature, error] {
	return SeqOf(func(fn func(*Feature) error) error {
		var found, looked int
		var last Mark
		return scan(func(f *Feature, in bool) (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if q.MaxExamined > 0 && looked == q.MaxExamined {
				return &TooMuchWork{After: last, Examined: looked}
			}
			if looked++; q.MaxExamined > 0 {
				last = append(last[:0], f.Mark...)
			}
			if looked%stepFeatures == 0 && q.Step != nil {
				if err := q.Step(ctx); err != nil {
					return err
				}
			}
			if in {
				in, err = q.matches(ctx, f)
			}
			if err != nil || !in {
				return err
			}
			if err = fn(f); err == nil {
				if found++; found == q.Limit {
					err = errEnded
				}
			}
			return err
		})
	})
}

// The text of a cursor is base64url of
//
//	version (1) │ data (4) │ query (4) │ check (4) │ mark
//
// where data and query are the beginnings of checksums of the data and of the query, and
// check is the checksum of all the rest. It is no secret: a forged cursor only chooses where to
// begin.
const (
	cursorVersion = 3
	cursorHead    = 9
	cursorCheck   = 4
	// MaxMarkBytes is the greatest size of a mark in bytes.
	MaxMarkBytes = 512
)

type tag [4]byte

func tagOf(b []byte) tag {
	sum := sha256.Sum256(b)
	return tag(sum[:])
}

// tag returns a checksum of everything that must not change between the pages of a query of a
// layer.
func (q *Query) tag(of *Info) tag {
	b := make([]byte, 0, 256)
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	number := func(v float64) { b = binary.BigEndian.AppendUint64(b, math.Float64bits(v+0)) } // -0 as 0
	text(of.Name)
	if q.In != nil {
		text(q.In.String())
	} else {
		text("")
	}
	if n := q.Near; n != nil {
		for _, v := range [...]float64{n.Lat, n.Lon, n.MinM, n.MaxM} {
			number(v)
		}
	}
	if q.Filter != nil {
		text(q.Filter.String())
	} else {
		text("")
	}
	text(fmt.Sprint(q.Order.Importance, q.Order.Descending, q.Order.Field.Name))
	if !q.At.IsZero() {
		b = binary.BigEndian.AppendUint64(b, uint64(q.At.UnixMilli()))
	}
	return tagOf(b)
}

// data returns a checksum that changes when marks lose their places in the data. In the layer's own
// order, which is that of ids or positions, marks keep their places in other data too.
func (q *Query) data(of *Info) (t tag) {
	if q.Near == nil && q.Order == (Order{}) {
		return t
	}
	return tagOf([]byte(of.Fingerprint))
}

// Cursor returns the text of a mark, for a query that continues after the mark and differs only in
// Limit, Detail, MaxExamined and Step.
func (q *Query) Cursor(of *Info, m Mark) string {
	data, query := q.data(of), q.tag(of)
	b := append(make([]byte, 0, cursorHead+cursorCheck+len(m)), cursorVersion)
	b = append(append(b, data[:]...), query[:]...)
	check := tagOf(append(b, m...))
	return base64.RawURLEncoding.EncodeToString(append(append(b, check[:]...), m...))
}

// Continue sets After to the mark of a cursor; "" is the beginning. Errors match ErrCursor,
// or ErrCursorExpired if the data has been replaced.
func (q *Query) Continue(of *Info, cursor string) error {
	q.After = nil
	if cursor == "" {
		return nil
	}
	if len(cursor) > base64.RawURLEncoding.EncodedLen(cursorHead+cursorCheck+MaxMarkBytes) {
		return BadCursor("it is not one that was handed out")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder skips line breaks, so the length is compared too.
	if err != nil || base64.RawURLEncoding.EncodedLen(len(b)) != len(cursor) || len(b) <= cursorHead+cursorCheck || b[0] != cursorVersion {
		return BadCursor("it is not one that was handed out")
	}
	m := b[cursorHead+cursorCheck:]
	if tagOf(slices.Concat(b[:cursorHead], m)) != tag(b[cursorHead:]) {
		return BadCursor("it is not one that was handed out")
	}
	if tag(b[5:]) != q.tag(of) {
		return BadCursor("it belongs to a query with other parameters")
	}
	if tag(b[1:]) != q.data(of) {
		return fmt.Errorf("%w: the data has been replaced since; ask for the first page again, without a cursor", ErrCursorExpired)
	}
	q.After = m
	return nil
}

// BadCursor returns an error that matches ErrCursor. A layer returns it for a mark that the layer
// cannot have made.
func BadCursor(why string) error {
	return fmt.Errorf("%w: %s; ask for the first page again, without a cursor", ErrCursor, why)
}
