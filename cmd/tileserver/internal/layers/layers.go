// Package layers answers the questions that every layer of points can be asked: which features are
// near a point, and which or how many are within a box, a tile or a region. Layers with properties
// of their own also answer with single features and with the positions that these had.
package layers

import (
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

// Config says what the face serves.
type Config struct {
	// Lists are the layers that have words of their own. A layer of ask.Sets.OpenNames has paths by
	// its name.
	Lists []listing.Set
	// StreamTimeout bounds how long a client may take over an answer of lines. The default is 5
	// minutes.
	StreamTimeout time.Duration
	// MayRead reports whether the sender of a request may read a private layer, by the name in its
	// path. If MayRead is nil, nobody may.
	MayRead func(c echo.Context, name string) bool
}

// Handlers answers the questions that every layer of points can be asked.
type Handlers struct {
	*web.Kit
	Config
	lists []*list
	// pageForm is for the forms of pages, areaForm for the forms of answers within an area.
	pageForm, areaForm *endpoint.Value[string]
}

// list is a set of layers that are listed.
type list struct {
	listing.Set
	handlers *Handlers
	named    bool   // the path names the layer
	of       string // the layer with which the path begins, if it has no words of its own
}

// New makes the handlers.
func New(k *web.Kit, cfg Config) *Handlers {
	if cfg.StreamTimeout <= 0 {
		cfg.StreamTimeout = 5 * time.Minute
	}
	s := &Handlers{Kit: k, Config: cfg, pageForm: listing.FormParam(false), areaForm: listing.FormParam(true)}
	for _, set := range cfg.Lists {
		s.lists = append(s.lists, &list{Set: set, handlers: s, named: strings.Contains(set.Path, "{")})
	}
	for _, name := range k.Views.OpenNames() {
		s.lists = append(s.lists, &list{Set: byName(name), handlers: s, of: name})
	}
	return s
}

// byName describes a layer for which there is no description.
func byName(name string) listing.Set {
	things := strings.NewReplacer("_", " ", "-", " ").Replace(name)
	var id string
	for word := range strings.FieldsSeq(things) {
		id += feature.Title(word)
	}
	return listing.Set{
		Layer: name, Path: "/" + name, Name: name, Open: true, NoLayer: "dataset-missing", NoFeature: "not-found",
		Words: listing.Words{Tag: "collections", Rank: 50, IDs: id, Things: things},
		List:  listing.OpenList(name, id+"Points"), Features: listing.OpenFeatures{}, One: listing.OpenFeature{},
	}
}
