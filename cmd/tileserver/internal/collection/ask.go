package collection

import (
	"errors"
	"fmt"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/places/live"
)

// asked is a collection that is to be described.
type asked struct {
	name string
	pin  ask.PinnedCollection
	from ask.Collection
	meta *live.Meta
}

// live returns the live collections, or nil if there are none.
func (s *Handlers) live() *live.Store {
	if s.Views.Collections == nil {
		return nil
	}
	return s.Views.Collections.Live
}

// dropped reports whether a live collection has been dropped.
func (a *asked) dropped(s *Handlers) bool {
	return a.pin.Live != nil && s.live().Collection(a.name) != a.pin.Live
}

// find returns a collection. A private one does not exist for clients that may not read it. from
// lists the generations on which answers depend; it is nil if answers may not be cached.
func (s *Handlers) find(c echo.Context, v ask.View, name string) (a asked, from []uint64, err error) {
	a = asked{name: name, pin: v.Collection(name)}
	if a.from, err = a.pin.Get(); err != nil {
		return a, nil, s.unread(c, name, err)
	}
	if a.meta = a.from.Meta(); !s.mayRead(c, name, a.meta) {
		return a, nil, fmt.Errorf("%w: %.60q", live.ErrNoCollection, name)
	}
	if from = a.pin.GenerationIDs(); a.meta.Private { // whether a private collection is shown depends on the key
		from = nil
	}
	return a, from, nil
}

// unread returns the error about a collection that cannot be read. The error does not reveal
// whether a private collection exists.
func (s *Handlers) unread(c echo.Context, name string, err error) error {
	// A failure is never "not found", unless the collection is known to be private.
	if errors.Is(err, ask.ErrFailed) && !ask.IsPrivateFailure(err) {
		return err
	}
	if !s.mayRead(c, name, &live.Meta{Private: true}) {
		return fmt.Errorf("%w: %.60q", live.ErrNoCollection, name)
	}
	return err
}

// collectionOf returns the name of the collection in the path.
func collectionOf(c echo.Context) (string, error) {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return "", err
	}
	if strings.Contains(values[0], ",") {
		return "", endpoint.Refuse(endpoint.ErrParameter, "collection", "Name one collection: only nearby and count take several.")
	}
	return values[0], nil
}
