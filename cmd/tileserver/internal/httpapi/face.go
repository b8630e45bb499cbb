package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"quadrille/ask/hierarchy"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
)

// Face is one interface of the server. It is registered by one file, face_NAME.go, and is gone
// when that file and its room are deleted.
type Face struct {
	Name string
	// At is its place among the faces, from the least on. No two have the same.
	At int
	// Kinds are the errors that it alone meets.
	Kinds []web.Kind
	// Metrics are those that its room collects.
	Metrics []*prometheus.Desc
	// Settings returns what the operator says of it, before it is said. Nil is nothing.
	Settings func() *Settings
	// Root says that its room is a rooted one.
	Root bool
	// New makes its room. Nil is for errors alone, which several faces meet.
	New func(*Parts) Room
}

// Room answers one kind of question.
type Room interface{ Endpoints() []endpoint.Endpoint }

// rooted is a room that can answer at the root of the server too, see Config.RootGeocoder.
type rooted interface{ RootEndpoints() []endpoint.Endpoint }

// Parts are what rooms are made of.
type Parts struct {
	Kit    *web.Kit
	Config *Config
	Sets   *hierarchy.Sets
	Batch  web.BatchLimits
	// Rooms are those of the faces before.
	Rooms []Room
	// DescribeBelow returns an OpenAPI 3.0 document of the paths below one, for the address
	// that this is at.
	DescribeBelow func(path, server string) ([]byte, error)
}

var registered []Face

// register adds a face to all servers. It is for init functions.
func register(f Face) { registered = append(registered, f) }

// faces are those that are registered, in their order.
func faces() []Face {
	return slices.SortedFunc(slices.Values(registered), func(a, b Face) int { return cmp.Compare(a.At, b.At) })
}

// RootGeocoders are the names that Config.RootGeocoder may have.
func RootGeocoders() (names []string) {
	for _, f := range faces() {
		if f.Root {
			names = append(names, f.Name)
		}
	}
	return names
}

// Settings are what the operator says of one face. A function that is nil does nothing.
type Settings struct {
	// Flags is a pointer to a struct whose fields are flags, by their tags.
	Flags any
	// Validate refuses what can never be served.
	Validate func() error
	// Memory is how many bytes it takes of those that there are for caches.
	Memory func(cache int64) int64
	// Open opens the files that the flags name. It may say in the configuration what other
	// faces are to know. It returns what closes them, nil for nothing.
	Open func(ctx context.Context, in *Process) (closing func() error, err error)
	// Start begins work for a server whose data is there. It returns what ends it, or nil. grace
	// is how long that may take.
	Start func(ctx context.Context, cfg *Config, grace time.Duration) (stop func())
}

// Process is where settings are opened.
type Process struct {
	Config *Config
	Log    *slog.Logger
	Cache  int64 // bytes that there are for caches
	// Reloaded returns what load makes of files, and makes anew when they have changed. flag
	// is for the log.
	Reloaded func(flag string, load func() (any, error), files ...string) (get func() any, err error)
	// Reload has a function called when files are to be looked at again.
	Reload func(func())
}

// AllSettings are those of all faces.
type AllSettings []*Settings

// NewSettings returns the settings of all faces, before anything is said.
func NewSettings() (all AllSettings) {
	for _, f := range faces() {
		if f.Settings != nil {
			all = append(all, f.Settings())
		}
	}
	return all
}

// Validate refuses what can never be served.
func (all AllSettings) Validate() error {
	for _, s := range all {
		if s.Validate != nil {
			if err := s.Validate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Memory is how many bytes the faces take of those that there are for caches.
func (all AllSettings) Memory(cache int64) (sum int64) {
	for _, s := range all {
		if s.Memory != nil {
			sum += s.Memory(cache)
		}
	}
	return sum
}

// Open opens the files that the flags name. The error is of all that cannot be opened, and
// then none is open.
func (all AllSettings) Open(ctx context.Context, in *Process) (closing func() error, err error) {
	var open []func() error
	closing = func() (err error) {
		for _, c := range open {
			err = errors.Join(err, c())
		}
		return err
	}
	for _, s := range all {
		if s.Open == nil {
			continue
		}
		c, failed := s.Open(ctx, in)
		if err = errors.Join(err, failed); c != nil {
			open = append(open, c)
		}
	}
	if err != nil {
		return nil, errors.Join(err, closing())
	}
	return closing, nil
}

// Start begins the work of the faces, until stop is called.
func (all AllSettings) Start(ctx context.Context, cfg *Config, grace time.Duration) (stop func()) {
	var stops []func()
	for _, s := range all {
		if s.Start == nil {
			continue
		}
		if stop := s.Start(ctx, cfg, grace); stop != nil {
			stops = append(stops, stop)
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// flags are those of one type that a server has, as they are when nothing is said if it has none.
func flags[T any](cfg *Config) *T {
	for _, s := range cfg.Settings {
		if f, ok := s.Flags.(*T); ok {
			return f
		}
	}
	return new(T)
}
