// Package httpapi composes the HTTP interface of the tile server: a web.Kit, faces, and the tables
// of their routes and errors. A face is a group of endpoints for one purpose.
//
// Each face is a package that no other face imports. A separate file here, face_NAME.go, registers
// it, and no other file refers to it. Code that several faces need is in ask and its packages,
// problems, listing, timezone, ipdatabase, ogcapi and basemaps.
package httpapi

import (
	"cmp"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/basemaps"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/timezone"
	"quadrille/cmd/tileserver/internal/web"
)

// Config is the configuration of a handler. A nil data set counts as not published. Other zero
// fields mean the documented defaults.
type Config struct {
	// Config configures how requests are served. New sets its Kinds, Meaning and Generations.
	web.Config

	ask.Sets

	// BaseMaps returns the base maps, the lowest first. If BaseMaps is nil, there are none.
	BaseMaps basemaps.Maps

	// Settings are the operator's settings for each face.
	Settings []Settings

	// Store is the kind of store that /status shows: "local" or "hbase".
	Store string
	// Remote is set if other programs may remove generations while the server reads them.
	Remote bool

	// PageFiles has the built map page with index.html at its root. If it is nil, the server shows a
	// page with instructions to build it.
	PageFiles fs.FS

	// EmptyTile is the status of an empty vector tile: 204, which is the default, 200 with no
	// bytes, or 404. It can be chosen because clients differ.
	EmptyTile int

	// RootGeocoder is the name of the imitated geocoder whose paths are also answered at the root,
	// instead of the server's own paths with the same name. It is one of RootGeocoders. Any other
	// name means none.
	RootGeocoder string

	// Glyphs is the address of the glyphs for names on maps, with {fontstack} and
	// {range}, for /style.json. Empty means fonts of the client.
	Glyphs string

	// PinTiles makes TileJSON give permanent addresses of tiles, whose content never changes; see
	// getPinnedTile. Clients can override it with pinned=.
	PinTiles bool
	// ResponseCacheBytes bounds the caches of finished tiles. Tiles of base maps, if there are any,
	// get a quarter of it, answers to searches an eighth, and pages of features a quarter. With 0
	// nothing is cached.
	ResponseCacheBytes int64

	// BatchLines bounds the lines of a batch, and BatchBytes the bytes of its body, compressed or
	// not. BatchTimeout bounds the time a client may take to send a batch, or to read an answer
	// with all points of an area. The defaults are 1,000,000, 256 MiB and 5 minutes.
	BatchLines   int64
	BatchBytes   int64
	BatchTimeout time.Duration

	// Require and NoData have the same meaning as in ops.Config.
	Require []string
	NoData  func() error

	// Draining is closed when the server is about to stop. Then /readyz reports this, and all other
	// endpoints still work. It may be nil.
	Draining <-chan struct{}

	// Usage returns the reason why the counts of clients are not stored on disk. It is nil if
	// --usage is not set.
	Usage func() error

	// MetricsHandler answers /metrics. If it is nil, the answer is 404.
	MetricsHandler http.Handler
}

// Server is the composition of the faces. They share a kit.
type Server struct {
	*web.Kit
	faces []Handlers          // in the order of the faces
	named map[string]Handlers // by the names of the faces
	ops   *ops.Handlers
	// atRoot are the endpoints of Config.RootGeocoder.
	atRoot []endpoint.Endpoint
}

func init() {
	// These are errors that several faces share, by their positions in documents.
	for at, kinds := range map[int][]web.ProblemKind{
		25: problems.RegionProblems,
		42: problems.LayerProblems,
		45: problems.PlaceProblems,
		65: problems.AirportProblems,
		75: timezone.Kinds,
		78: problems.PointProblems,
		85: problems.StationProblems,
	} {
		register(Face{Order: at, Kinds: kinds})
	}
}

// New returns the handler of the whole service. It does not close the data
// sets of the configuration.
func New(cfg Config) http.Handler { return Compose(&cfg, Faces()).Handler() }

// Compose makes a server from some faces and the pages for operators.
func Compose(cfg *Config, faces []Face) *Server {
	http := cfg.Config
	http.Kinds = slices.Concat(problems.Kinds, ogcapi.Kinds)
	var lists []listing.Spec
	for _, f := range faces {
		http.Kinds = append(http.Kinds, f.Kinds...)
		if f.List != nil {
			lists = append(lists, *f.List)
		}
	}
	http.Kinds = append(http.Kinds, ops.Kinds...)
	if http.Views == nil {
		http.Views = ask.NewViews(cfg.Sets)
	}
	http.TranslateError, http.Generations = ask.MarkTemporary(cfg.Remote), cfg.generations
	k := web.New(&http)
	s := &Server{Kit: k, named: map[string]Handlers{}, ops: ops.New(k, ops.Config{
		BaseMaps: cfg.BaseMaps, Version: cfg.Version, Store: cfg.Store, Usage: cfg.Usage,
		Require: cfg.Require, NoData: cfg.NoData,
		Draining: cfg.Draining, MetricsHandler: cfg.MetricsHandler, PageFiles: cfg.PageFiles,
	})}
	s.ops.AllEndpoints = s.Endpoints
	p := &Parts{
		Kit: k, Config: cfg, Lists: lists, DescribeBelow: s.ops.DescribeBelow,
		Batch: web.BatchLimits{
			Lines: cmp.Or(max(cfg.BatchLines, 0), 1_000_000), Bytes: cmp.Or(max(cfg.BatchBytes, 0), 256<<20),
			Timeout: cmp.Or(max(cfg.BatchTimeout, 0), 5*time.Minute),
		},
	}
	for _, f := range faces {
		if f.New == nil {
			continue
		}
		handlers := f.New(p)
		if f.Rooted && f.Name == cfg.RootGeocoder {
			s.atRoot = handlers.(rooted).RootEndpoints()
		}
		s.named[f.Name], p.Earlier = handlers, append(p.Earlier, handlers)
	}
	s.faces = p.Earlier
	s.checkNames(http.Views.OpenLayerNames())
	return s
}

// checkNames panics if a path of the server's own begins with the name of a layer, or if a layer's
// operation has the id of another one.
func (s *Server) checkNames(names []string) {
	if len(names) == 0 {
		return
	}
	layers := map[string]string{} // by ids of operations
	for _, e := range s.Endpoints() {
		name := e.Layer
		for _, path := range e.Paths() {
			word, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
			if e.Layer == "" && slices.Contains(names, word) {
				panic("httpapi: the server has a path or a layer of its own of the name " + word + ": give the layer another name")
			}
		}
		if other, taken := layers[e.ID]; taken && other+name != "" {
			panic("httpapi: the layer " + cmp.Or(name, other) + " would have the operation " + e.ID + " of another: give it another name")
		}
		layers[e.ID] = name
	}
}

// baseMapBytes returns the share of the caches for tiles of base maps, or 0 if there are none.
func (cfg *Config) baseMapBytes() int64 {
	if len(cfg.BaseMaps.All()) == 0 {
		return 0
	}
	return cfg.ResponseCacheBytes / 4
}

// tileBytes returns the share of the caches that remains after searches, pages of features and base
// maps.
func (cfg *Config) tileBytes() int64 {
	cache := cfg.ResponseCacheBytes
	return cache - cache/8 - cache/4 - cfg.baseMapBytes()
}

// generations returns the generations in service, for traces and dates. A generation that was built
// in the same second as the previous one has no date, because the date would match both.
func (cfg *Config) generations() (all []web.Generation) {
	for _, st := range cfg.States() {
		if m := st.Serving; m != nil {
			g := web.Generation{Dataset: st.Dataset, Number: m.Generation, ID: ask.IdentityOf(m)}
			if m.Predecessor == nil || !m.Predecessor.Built.Equal(m.Built) {
				g.Built = m.Built
			}
			all = append(all, g)
		}
	}
	return all
}

// Endpoints returns all declared endpoints. Endpoints of the service at the root replace others
// with the same path and method.
func (s *Server) Endpoints() (all []endpoint.Endpoint) {
	for _, handlers := range append(slices.Clip(s.faces), s.ops) {
		all = append(all, handlers.Endpoints()...)
	}
	return append(endpoint.Without(all, s.atRoot), s.atRoot...)
}

// Handlers returns the handlers of a face, or nil if the server has no such face.
func (s *Server) Handlers(face string) Handlers { return s.named[face] }

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler { return s.Kit.Handler(s.Endpoints()) }

// NewMetrics returns counters at zero, for one Config. The caller registers them.
func NewMetrics() *web.Metrics {
	described := slices.Clone(ops.MetricDescs)
	for _, f := range Faces() {
		described = append(described, f.Metrics...)
	}
	return web.NewMetrics(described...)
}
