// Package layers answers the questions that every layer of points can be asked: which features are
// near a point, and which or how many are within a box, a tile or a region. Layers with properties
// of their own also answer with single features and with the positions that these had.
package layers

import (
	"slices"
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
	// Lists are the layers that have words of their own. A layer of ask.Sets.OpenLayerNames has paths
	// by its name.
	Lists []listing.Spec
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
	listing.Spec
	handlers *Handlers
	named    bool // the path names the layer
}

// New makes the handlers.
func New(k *web.Kit, cfg Config) *Handlers {
	if cfg.StreamTimeout <= 0 {
		cfg.StreamTimeout = 5 * time.Minute
	}
	s := &Handlers{Kit: k, Config: cfg, pageForm: listing.FormatParam(false), areaForm: listing.FormatParam(true)}
	for _, set := range cfg.Lists {
		s.add(set)
	}
	for _, name := range k.Views.OpenLayerNames() {
		if slices.Contains(ownNames, name) || slices.ContainsFunc(s.lists, func(l *list) bool { return l.Path == "/"+name }) {
			panic("layers: the server has a layer or a path of its own of the name " + name + ": give the layer another name")
		}
		s.add(byName(name))
	}
	return s
}

func (s *Handlers) add(set listing.Spec) {
	s.lists = append(s.lists, &list{Spec: set, handlers: s, named: strings.Contains(set.Path, "{")})
}

// ownNames are the first words of paths, or of names of operations, of other faces. No layer
// may have them.
var ownNames = []string{"points", "regions", "tiles", "basemap", "ip", "geoip", "ogc", "places", "airports", "stations", "collection"}

// byName describes a layer for which there is no description.
func byName(name string) listing.Spec {
	things := strings.NewReplacer("_", " ", "-", " ").Replace(name)
	var id string
	for word := range strings.FieldsSeq(things) {
		id += feature.TitleOf(word)
	}
	return listing.Spec{
		Layer: name, Path: "/" + name, Name: name, Open: true, NoLayer: "dataset-missing", NoFeature: "not-found",
		Words: listing.Words{Tag: "collections", Rank: 50, IDSuffix: id, Things: things},
		List:  listing.OpenList(name, id+"Points"), Features: listing.OpenFeatures{}, Item: listing.OpenFeature{},
	}
}
