// Package collection answers what is in users' own collections of points, and takes
// writes.
package collection

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/points"
)

// Config says what the room of collections serves.
type Config struct {
	Collections *datasets.Collections
	Boundaries  *dataset.Live[datasets.Boundaries]
	// MayRead reports whether whoever sent a request may read a private collection. Nil
	// shows those to nobody.
	MayRead func(c echo.Context, name string) bool
	// Batch bounds a body of many writes.
	Batch web.BatchLimits
	// Draining is closed when the server is about to stop, which ends streams of events.
	// Nil never is.
	Draining <-chan struct{}
}

// Room answers what is in collections of points.
type Room struct {
	*web.Kit
	Config
}

// New makes the room.
func New(k *web.Kit, cfg Config) *Room { return &Room{k, cfg} }

// Routes are the endpoints.
func (s *Room) Routes() []web.Route { return s.writeRoutes() }

// Kinds are the errors of collections.
var Kinds = append([]web.Kind{
	{Err: points.ErrNoCollection, Status: http.StatusNotFound, Type: "collection-not-found", Title: "There is no such collection",
		Detail: "Use one of the collections that /points lists."},
	{Err: points.ErrNotFound, Status: http.StatusNotFound, Type: "point-not-found", Title: "There is no such point",
		Detail: "Check the point's id; it may have been removed, or have expired."},
}, writeKinds...)
