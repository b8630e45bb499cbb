package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
)

// Face is one group of endpoints of the server, such as those of one imitated service. One file,
// face_NAME.go, registers it. Deleting this file and the package removes the endpoints.
type Face struct {
	Name string
	// Order is the unique position among the faces, in ascending order.
	Order int
	// Kinds are the kinds of errors that only this face has.
	Kinds []web.ProblemKind
	// List describes the layer of this face in the list of the face layers; it is nil if the list
	// has no such layer.
	List *listing.Spec
	// Metrics are the metrics that its handlers collect.
	Metrics []*prometheus.Desc
	// Settings returns the defaults of the operator's settings for this face. Settings is nil if
	// there are none.
	Settings func() Settings
	// Rooted is set if the face's handlers implement the interface rooted.
	Rooted bool
	// New makes its handlers. It is nil if the face only declares errors that several faces share.
	New func(*Parts) Handlers
}

// Handlers is a group of endpoints with their handlers.
type Handlers interface{ Endpoints() []endpoint.Endpoint }

// rooted is implemented by handlers that can also answer at the root of the server, see
// Config.RootGeocoder.
type rooted interface{ RootEndpoints() []endpoint.Endpoint }

// Parts are the shared objects from which faces are made.
type Parts struct {
	Kit    *web.Kit
	Config *Config
	Batch  web.BatchLimits
	// Lists are the lists of all faces.
	Lists []listing.Spec
	// Earlier are the handlers of the previous faces.
	Earlier []Handlers
	// DescribeBelow returns an OpenAPI 3.0 document of the paths below the path below. server is
	// the address of this path.
	DescribeBelow func(path, server string) ([]byte, error)
}

var registered []Face

// register adds a face to all servers. Only init functions call it.
func register(f Face) { registered = append(registered, f) }

// Faces returns the registered faces, in their order.
func Faces() []Face {
	return slices.SortedFunc(slices.Values(registered), func(a, b Face) int { return cmp.Compare(a.Order, b.Order) })
}

// RootGeocoders returns the names that are allowed in Config.RootGeocoder.
func RootGeocoders() (names []string) {
	for _, f := range Faces() {
		if f.Rooted {
			names = append(names, f.Name)
		}
	}
	return names
}

// Settings are the operator's settings for one face: a pointer to a struct whose tagged, exported
// fields are flags. The parser of flags calls the method Validate if there is one.
type Settings interface {
	// Open opens the files that the flags name. It may change the configuration to inform other
	// faces.
	Open(ctx context.Context, in *Process) error
}

// Process is the part of the program that Open may use. Opening adds to its lists of functions.
type Process struct {
	Config      *Config
	Log         *slog.Logger
	CacheBytes  int64         // bytes that there are for caches
	GracePeriod time.Duration // in which to end running work
	// Reloading returns a function with the result of load. load is called again when the files have
	// changed. flag is for the log.
	Reloading func(flag string, load func() (any, error), files ...string) (get func() any, err error)

	PollFiles []func()       // look at files again
	OnReady   []func()       // are called once the data is there
	OnClose   []func() error // end what the face has begun, even if Open failed
}

// NewSettings returns the settings of all faces with their defaults.
func NewSettings() (all []Settings) {
	for _, f := range Faces() {
		if f.Settings != nil {
			all = append(all, f.Settings())
		}
	}
	return all
}

// flags returns a server's settings of type T. If it has none, they are the defaults.
func flags[T any](cfg *Config) *T {
	for _, s := range cfg.Settings {
		if f, ok := s.(any).(*T); ok {
			return f
		}
	}
	return new(T)
}
