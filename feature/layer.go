package feature

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"quadrille/quadkey"
)

// Feature is an object with a position or geometry and properties.
type Feature struct {
	// ID identifies the feature within its layer. Number is the id as a number if ids are numbers,
	// and else 0.
	ID     string
	Number uint64
	// Position is where the feature is. If the feature is not a point, the position is a point that
	// represents it.
	quadkey.Position
	// Bounds is the box around a feature that is not a point. Its West is greater than its
	// East if it crosses ±180°. For a point it is the zero Box.
	Bounds     quadkey.Box
	Geometry   Geometry
	Properties Properties
	// DistanceM is the distance in metres from the position of Query.Near.
	DistanceM float64
	// Mark is the place of the feature in the order of the answer.
	Mark Mark
	// Version is in milliseconds since 1970 and rises with every write of the feature. Layers that
	// take writes set it. Expires is the instant at which the feature is removed; the zero time
	// means never.
	Version int64
	Expires time.Time
	// ClusterSize is the number of features that a cluster represents. The cluster itself is not a
	// feature of the layer, and its ID is an argument for the method Cluster of a Clusterer. 0
	// means that this is no cluster.
	ClusterSize int64
}

// Name returns the text of the property name, or "" if there is none.
func (f *Feature) Name() string { return f.Properties.Text("name") }

// Clone returns the same feature with memory of its own.
func (f *Feature) Clone() Feature {
	c := *f
	c.Mark = append(Mark(nil), f.Mark...)
	c.Properties = f.Properties.clone()
	c.Geometry.json = bytes.Clone(f.Geometry.json)
	return c
}

// Info describes a layer. It is not to be changed.
type Info struct {
	// Name identifies the layer. The other texts are for people; "" means unknown.
	Name, Title, Description string
	Attribution, Licence     string
	// Schema has all properties that features have.
	Schema Schema
	// Bounds is a box that holds all features. It is quadkey.World if no smaller box is known.
	Bounds quadkey.Box
	// Count is the number of features, or -1 if it is not known.
	Count int64
	// AllPoints says that all features are points.
	AllPoints bool
	// Live layers change at any time. Layers with a History can answer as of an instant.
	// Private layers are shown only to those who may read them.
	Live, Private, History bool
	// Can lists the layer's abilities.
	Can Abilities
	// Drawing says how maps show the layer. If it is nil, maps draw the features as dots and
	// clusters with all properties.
	Drawing *Drawing
	// Fingerprint changes when new data of the layer makes earlier marks meaningless. Marks in the
	// layer's own order always keep their meaning, because it is an order of ids or positions.
	Fingerprint string
}

// Layer is a data set of features. It is safe for concurrent use. Errors match those of this
// package, or come from the store, the context, or the functions in a query. An answer that ends
// without an error is complete.
type Layer interface {
	// Info describes the layer as it is now.
	Info() *Info
	// Get overwrites f with the feature that has the id, as it was at an instant; the zero time
	// means now. The caller owns the memory that f refers to.
	Get(ctx context.Context, id string, at time.Time, f *Feature) error
	// Features yields the answer to a query, as of one moment. A feature is valid until the loop's
	// body ends; Clone copies it. The body runs within a read of the store, so it must not wait for
	// a client.
	Features(ctx context.Context, q *Query) iter.Seq2[*Feature, error]
}

// ErrPageFull is returned by the function of Page to end a page after the current feature.
var ErrPageFull = errors.New("the page is full")

// Page calls fn with a page of the answer to a query, at most limit features. It returns the cursor
// of the next page, or "" if there is none.
func Page(ctx context.Context, l Layer, q Query, limit int, fn func(*Feature) error) (next string, err error) {
	q.Limit = limit + 1 // to tell whether another page follows
	n, full := 0, false
	var last Mark
	for f, err := range l.Features(ctx, &q) {
		switch {
		case err != nil:
			return "", err
		case full:
			return q.Cursor(l.Info(), last), nil
		}
		err := fn(f)
		n++
		if full = n == limit || errors.Is(err, ErrPageFull); full {
			last = append(last, f.Mark...)
		}
		if err != nil && !errors.Is(err, ErrPageFull) {
			return "", err
		}
	}
	return "", nil
}

// Counter is a Layer that can count faster than by listing its features. Callers use the function
// Count.
type Counter interface {
	Layer
	// Count returns the number of features that a query selects. It ignores Order, After and Limit.
	Count(ctx context.Context, q *Query) (int64, error)
}

// Count returns the number of features that a query selects. It ignores Order, After and Limit.
func Count(ctx context.Context, l Layer, q *Query) (n int64, err error) {
	if c, ok := l.(Counter); ok {
		n, err = c.Count(ctx, q)
		if q.Near != nil || !IsUnsupported(err) {
			return n, err
		}
	}
	all := *q
	all.Order, all.After, all.Limit, all.Detail, n = Order{}, nil, 0, WithoutGeometry, 0
	for _, err := range l.Features(ctx, &all) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// Tiler is a Layer that can be drawn on a map.
type Tiler interface {
	Layer
	// Tile yields the content of a map tile: features, the most important first, and clusters. Only
	// features that pass the filter are shown and counted; nil lets all pass. Layers that cannot
	// filter their tiles return an error that matches ErrUnsupported for any other filter.
	Tile(ctx context.Context, t quadkey.Tile, f Filter) iter.Seq2[*Feature, error]
}

// Clusterer is a Tiler whose clusters have ids.
type Clusterer interface {
	Tiler
	// Cluster returns the area that holds the features of a cluster and, of those that pass the
	// filter, no others. At each zoom a feature is in at most one cluster. id is the ID of the
	// cluster in a tile, with the same filter or with none.
	Cluster(ctx context.Context, id string, f Filter) (Area, error)
}

// Versioned is a Layer that tells whether it has changed.
type Versioned interface {
	Layer
	// State identifies the state of the layer among all states of all layers of the process. What is
	// read after a call of State is of that state or of a later one. Features that expire are gone at
	// their Expires without a new state. State returns 0 if the layer cannot tell.
	State(ctx context.Context) (uint64, error)
}

// Encloser is a Layer of areas that finds the areas around a position.
type Encloser interface {
	Layer
	// Enclosing yields the features that hold a position, those with the smallest bounds in
	// square degrees first. They have no geometry.
	Enclosing(ctx context.Context, at quadkey.Position) iter.Seq2[*Feature, error]
	// Ground returns the ground of a feature as an area for queries. A position is in the area if
	// and only if Enclosing yields the feature there. The error of its Cover matches ErrNotFound if
	// no feature has the id.
	Ground(id string) Area
}

// Stop is the position of a feature from an instant on.
type Stop struct {
	quadkey.Position
	Version int64 // the instant: milliseconds since 1970
	// Gone says that the feature has ceased to exist.
	Gone bool
}

// Tracker is a Layer with a history.
type Tracker interface {
	Layer
	// Track returns the stops of a feature from one instant to another, both included: the oldest
	// first, and at most as many as most. next is the instant from which to continue. It is zero if
	// all stops have been returned. Zero instants mean the ends of the recorded history.
	Track(ctx context.Context, id string, from, to time.Time, most int) (stops []Stop, next time.Time, err error)
}

// SeqOfError returns an iterator that yields one error.
func SeqOfError(err error) iter.Seq2[*Feature, error] {
	return func(yield func(*Feature, error) bool) { yield(nil, err) }
}

// SeqOf returns an iterator over the features that the function each passes to fn. If fn returns an
// error, each must end and return it.
func SeqOf(each func(fn func(*Feature) error) error) iter.Seq2[*Feature, error] {
	return func(yield func(*Feature, error) bool) {
		err := each(func(f *Feature) error {
			if !yield(f, nil) {
				return errEnded
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnded) {
			yield(nil, err)
		}
	}
}

// Each calls fn with the features of an answer. An error of the answer or of fn ends it, and is
// returned.
func Each(answer iter.Seq2[*Feature, error], fn func(*Feature) error) error {
	for f, err := range answer {
		if err == nil {
			err = fn(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errEnded ends the function each when the loop has ended.
var errEnded = errors.New("ended")

// DecodedLayer returns the layer with every property and geometry as values, without bytes of JSON.
// Tests use it to ensure that no code depends on how features are stored.
func DecodedLayer(l Layer) Layer { return decoded{l} }

type decoded struct{ Layer }

func (d decoded) Get(ctx context.Context, id string, at time.Time, f *Feature) error {
	err := d.Layer.Get(ctx, id, at, f)
	if err == nil {
		err = f.decode()
	}
	return err
}

func (d decoded) Features(ctx context.Context, q *Query) iter.Seq2[*Feature, error] {
	return func(yield func(*Feature, error) bool) {
		for f, err := range d.Layer.Features(ctx, q) {
			if err == nil {
				err = f.decode()
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

func (f *Feature) decode() error {
	f.Properties = f.Properties.decoded()
	if f.Geometry.json == nil {
		return nil
	}
	shape, err := f.Orb()
	f.Geometry = Geometry{shape: shape}
	return err
}

// TitleOf turns a name such as time_zone into a title for people.
func TitleOf(name string) string {
	words := strings.NewReplacer("_", " ", "-", " ").Replace(name)
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}
