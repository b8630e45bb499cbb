// Package layers serves the endpoints that all layers of points have: the features near a point,
// and the features, or their number, within a box, a tile or a region. For layers with open
// properties it also serves single features and their past positions.
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

// Config configures the endpoints of this package.
type Config struct {
	// Lists are the layers that have their own paths. The paths of a layer of ask.Sets.OpenLayerNames
	// contain its name.
	Lists []listing.Spec
	// StreamTimeout bounds how long a client may take to read an answer in lines. The default is 5
	// minutes.
	StreamTimeout time.Duration
	// MayRead reports whether the sender of a request may read a private layer with the name in the
	// path. If MayRead is nil, no client may.
	MayRead func(c echo.Context, name string) bool
}

// Handlers has the handlers of the endpoints that all layers of points have.
type Handlers struct {
	*web.Kit
	Config
	lists []*list
	// pageForm is for the forms of pages, areaForm for the forms of answers within an area.
	pageForm, areaForm *endpoint.Value[string]
}

// list is a set of layers with the endpoints of lists.
type list struct {
	listing.Spec
	handlers *Handlers
	named    bool   // the path names the layer
	of       string // the layer with which the path begins, if it has no words of its own
}

// New makes the handlers.
func New(k *web.Kit, cfg Config) *Handlers {
	if cfg.StreamTimeout <= 0 {
		cfg.StreamTimeout = 5 * time.Minute
	}
	s := &Handlers{Kit: k, Config: cfg, pageForm: listing.FormatParam(false), areaForm: listing.FormatParam(true)}
	for _, set := range cfg.Lists {
		s.lists = append(s.lists, &list{Spec: set, handlers: s, named: strings.Contains(set.Path, "{")})
	}
	for _, name := range k.Views.OpenLayerNames() {
		s.lists = append(s.lists, &list{Spec: byName(name), handlers: s, of: name})
	}
	return s
}

// byName returns a description of a layer that is not in Lists.
func byName(name string) listing.Spec {
	things := strings.NewReplacer("_", " ", "-", " ").Replace(name)
	var id string
	for word := range strings.FieldsSeq(things) {
		id += feature.TitleOf(word)
	}
	return listing.Spec{
		Layer: name, Path: "/" + name, Name: name, Open: true, NoLayer: "dataset-missing", NoFeature: "not-found",
		Words: listing.Words{Tag: "collections", Rank: 50, IDSuffix: id, Things: things},
		List:  listing.OpenPointsAs(name, id+"Points"), Features: listing.OpenFeatures{}, Item: listing.OpenFeature{},
	}
}
