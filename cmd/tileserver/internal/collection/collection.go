// Package collection lists and describes the users' collections of points. It writes live
// collections, sends their events, and manages the hooks that receive events.
package collection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/places/live"
)

// Config configures the endpoints of this package.
type Config struct {
	// MayRead reports whether the sender of a request may read a private collection. If MayRead is
	// nil, no client may.
	MayRead func(c echo.Context, name string) bool
	// Batch bounds a body of many writes.
	Batch web.BatchLimits
	// Draining is closed when the server is about to stop. This ends streams of events. It may be
	// nil.
	Draining <-chan struct{}
	// Hooks are the webhooks of live collections.
	Hooks Hooks
}

// Handlers has the handlers of the endpoints for collections of points.
type Handlers struct {
	*web.Kit
	Config
	heartbeat time.Duration
}

// New makes the handlers.
func New(k *web.Kit, cfg Config) *Handlers {
	return &Handlers{k, cfg, heartbeat}
}

// mayRead reports whether the sender of a request may read a collection.
func (s *Handlers) mayRead(c echo.Context, name string, m *live.Meta) bool {
	return !m.Private || s.MayRead != nil && s.MayRead(c, name)
}

// Kinds are the errors of writes and of hooks.
var Kinds = slices.Concat(writeKinds, hookKinds)

// Collection is the description of a collection.
type Collection struct {
	_           struct{}        `doc:"A collection of points."`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Points      *int64          `json:"points,omitempty" doc:"How many there are; absent if they cannot be read." schema:"min=0"`
	State       string          `json:"state,omitempty" doc:"What keeps a live collection from being read or written; absent if nothing does." schema:"enum=damaged|full|failing"`
	Detail      string          `json:"detail,omitempty" doc:"What the operator can do about the state."`
	BBox        []float64       `json:"bbox,omitempty" doc:"Of a published collection: west, south, east, north of all points, in degrees." schema:"minItems=4,maxItems=4"`
	Live        bool            `json:"live" doc:"Whether points are written while it is served."`
	Private     bool            `json:"private,omitempty" doc:"Whether only some keys may read it; absent if all may."`
	History     string          "json:\"history,omitempty\" doc:\"For how long a live collection remembers where points were; absent if it does not. `at` reaches as far back.\" schema:\"example=24h0m0s\""
	Attribution string          `json:"attribution,omitempty"`
	Licence     string          `json:"licence,omitempty"`
	Schema      []feature.Field `json:"schema" doc:"The properties that points have, by name."`
}

// CollectionList is the answer of /points.
type CollectionList struct {
	_           struct{}     `doc:"The collections there are."`
	Collections []Collection `json:"collections"`
}

// describe returns the description of the collection.
func (a *asked) describe(ctx context.Context) (d Collection, err error) {
	m := a.meta
	count := m.Points
	d = Collection{
		Name: a.name, Title: m.Title, Points: &count, Live: a.pin.Live != nil, Private: m.Private,
		Attribution: m.Attribution, Licence: m.Licence, Schema: m.Schema,
	}
	if d.Schema == nil {
		d.Schema = []feature.Field{}
	}
	if m.HistoryRetention > 0 {
		d.History = time.Duration(m.HistoryRetention).String()
	}
	switch {
	case d.Live:
		count, err = a.from.Count(ctx, &feature.Query{})
	case m.Points > 0:
		d.BBox = m.Bounds[:]
	}
	return d, err
}

// getCollections answers GET /points with the list of collections.
func (s *Handlers) getCollections(c echo.Context, q *endpoint.Params) error {
	from := []uint64{}
	if s.live() != nil {
		from = nil // another one may begin at any time
	}
	var all []asked
	// A collection that cannot be read, or has been removed, must not hide the others.
	for _, name := range q.View().CollectionNames() {
		a, ids, err := s.find(c, q.View(), name)
		if err != nil {
			continue
		}
		if all = append(all, a); ids == nil {
			from = nil
		} else if from != nil {
			from = append(from, ids...)
		}
	}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, from, func(ctx context.Context, out *web.Scratch) error {
		doc := CollectionList{Collections: []Collection{}}
		for i := range all {
			d, err := all[i].describe(ctx)
			if all[i].dropped(s) || errors.As(err, new(*live.DamagedError)) {
				continue
			}
			if err != nil {
				return err
			}
			doc.Collections = append(doc.Collections, d)
		}
		s.addTroubled(c, &doc)
		var err error
		out.Body, err = appendJSON(out.Body, &doc)
		return err
	})
}

// addTroubled adds to a list the errors of its live collections, and the collections that cannot be
// read. Otherwise a client would believe that such a collection had been dropped.
func (s *Handlers) addTroubled(c echo.Context, doc *CollectionList) {
	if s.live() == nil {
		return
	}
	byName := func(d Collection, name string) int { return strings.Compare(d.Name, name) }
	for _, t := range s.live().Troubles() {
		if !s.mayRead(c, t.Name, &live.Meta{Private: t.Private}) {
			continue
		}
		at, is := slices.BinarySearchFunc(doc.Collections, t.Name, byName)
		if !is {
			doc.Collections = slices.Insert(doc.Collections, at, Collection{Name: t.Name, Live: true, Private: t.Private, Schema: []feature.Field{}})
		}
		trouble := problems.NewTrouble("live", t.Name, t.Err)
		doc.Collections[at].State, doc.Collections[at].Detail = trouble.State, trouble.Detail
	}
}

// getCollection answers GET /points/{collection} with the description of a collection.
func (s *Handlers) getCollection(c echo.Context, q *endpoint.Params) error {
	name, err := collectionOf(c)
	if err != nil {
		return err
	}
	a, from, err := s.find(c, q.View(), name)
	if err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, from, func(ctx context.Context, out *web.Scratch) error {
		d, err := a.describe(ctx)
		if err != nil {
			if a.dropped(s) {
				err = fmt.Errorf("%w: %.60q", live.ErrNoCollection, name)
			}
			return err
		}
		out.Body, err = appendJSON(out.Body, d)
		return err
	})
}

func appendJSON(dst []byte, doc any) ([]byte, error) {
	b, err := json.Marshal(doc)
	return append(dst, b...), err
}
