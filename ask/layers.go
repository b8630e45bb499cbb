package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"quadrille/cellstore/dataset"
	"quadrille/feature"
	"quadrille/places/live"
)

// Names of the layers that are one data set. All other layers are types of regions,
// or collections of points, whose names begin with PointsPrefix. Tiles and every
// interface of features use these names.
const (
	PlacesLayer   = "places"
	AirportsLayer = "airports"
	StationsLayer = "stations"
	PointsPrefix  = "points:"
)

// ErrNoLayer: there is no layer of that name.
var ErrNoLayer = errors.New("no such layer")

// Layer is a layer held for a question. Release it.
type Layer struct {
	feature.Layer
	// About describes the layer, with its name among all layers and the attribution
	// of its generation.
	About feature.Info
	// IDs are the generations on which answers depend. It is nil if answers hold for this
	// moment only and may not be kept.
	IDs []uint64
	// Written says that the layer takes writes. Its features then have versions.
	Written bool
	dropped func() bool
	release func()
}

// Dropped reports whether the layer has been removed since it was taken. That can happen to
// layers that take writes.
func (l *Layer) Dropped() bool { return l.dropped != nil && l.dropped() }

// Count implements feature.Counter.
func (l Layer) Count(ctx context.Context, q *feature.Query) (int64, error) {
	return feature.Count(ctx, l.Layer, q)
}

// Release gives the layer back. It is called once.
func (l *Layer) Release() { l.release() }

// LayerKind is where layers come from.
type LayerKind struct {
	// names are those that all may see.
	names func(s *Sets) []string
	// take holds the layer of a name. It returns ErrNoLayer for names of other kinds.
	take func(s *Sets, name string) (Layer, error)
	// tiled holds the one layer of the kind: of a given generation, or of the newest one for
	// nil. The field is nil for a kind without tiles, or with many layers.
	tiled func(s *Sets, generation *uint64, t *Tiled)
	name  string // of that layer
}

// layerKinds are in the order in which layers are listed. Sets.More and the collections of
// points come after them. A layer that is added here is in every interface.
var layerKinds = []LayerKind{
	{names: regionNames, take: takeRegions},
	SingleLayer(PlacesLayer, func(s *Sets) *dataset.Live[Places] { return s.Places }),
	SingleLayer(AirportsLayer, func(s *Sets) *dataset.Live[Airports] { return s.Airports }),
	SingleLayer(StationsLayer, func(s *Sets) *dataset.Live[Stations] { return s.Stations }),
}

// kinds are all kinds, the last one that of the collections of points.
func (s *Sets) kinds() []LayerKind {
	return slices.Concat(layerKinds, s.More, []LayerKind{{names: pointNames, take: takePoints}})
}

// MoreNames lists the layers of Sets.More, published or not.
func (s *Sets) MoreNames() (names []string) {
	for _, kind := range s.More {
		if kind.name != "" {
			names = append(names, kind.name)
		}
	}
	return names
}

// LayerNames lists the layers that are published and that all may see.
func (s *Sets) LayerNames() (names []string) {
	for _, kind := range s.kinds() {
		names = append(names, kind.names(s)...)
	}
	return names
}

// Layer takes the layer of a name. The error matches ErrNoLayer if no layer has the name,
// ErrMissing if the layer is not published, and ErrFailed if it cannot be read. The
// caller checks who may read a private layer.
func (s *Sets) Layer(name string) (Layer, error) {
	// Boundaries come last, whatever they call their types.
	for _, kind := range slices.Backward(s.kinds()) {
		l, err := kind.take(s, name)
		if err == nil || !errors.Is(err, ErrNoLayer) {
			return l, err
		}
	}
	return Layer{}, fmt.Errorf("%w: %.60q", ErrNoLayer, name)
}

// SingleLayer is a data set that is one layer. It has tiles if T is a feature.Tiler. The name is
// a part of addresses: it must be a valid name of a collection of points, or SingleLayer panics.
func SingleLayer[T feature.Layer](name string, set func(s *Sets) *dataset.Live[T]) LayerKind {
	if err := live.CheckName(name); err != nil {
		panic("ask: a layer's name is as that of a collection of points: " + err.Error())
	}
	kind := LayerKind{
		name: name,
		names: func(s *Sets) []string {
			p := Pin(set(s))
			defer p.Release()
			if errors.Is(p.Err, ErrMissing) || p.Handle != nil && p.Handle.Value().Info().Private {
				return nil
			}
			return []string{name}
		},
		take: func(s *Sets, wanted string) (Layer, error) {
			if wanted != name {
				return Layer{}, ErrNoLayer
			}
			return pinLayer(set(s), name, func(of T) (feature.Layer, error) { return of, nil })
		},
	}
	if reflect.TypeFor[T]().Implements(reflect.TypeFor[feature.Tiler]()) {
		kind.tiled = func(s *Sets, generation *uint64, t *Tiled) {
			var p Pinned[T]
			if generation == nil {
				p = Pin(set(s))
			} else {
				p = PinGeneration(set(s), *generation)
			}
			t.Name, t.Err, t.ID = name, p.Err, p.ID
			switch {
			case p.Handle == nil:
			case p.Handle.Value().Info().Private:
				p.Release()
				t.Err, t.ID = ErrMissing, IDMissing
			default:
				t.held = heldLayer[T]{p.Handle}
			}
		}
	}
	return kind
}

// pinLayer holds a generation for a layer of it.
func pinLayer[T any](live *dataset.Live[T], name string, layer func(T) (feature.Layer, error)) (l Layer, err error) {
	p := Pin(live)
	of, err := p.Get()
	if err == nil {
		l.Layer, err = layer(of)
	}
	if err != nil {
		p.Release()
		return Layer{}, err
	}
	l.About, l.IDs, l.release = *l.Info(), []uint64{p.ID}, p.Release
	if l.About.Name = name; l.About.Live {
		l.IDs = nil
	}
	if p.Handle != nil {
		l.About.Attribution = cmp.Or(l.About.Attribution, attribution(p.Handle.Manifest()))
	}
	return l, nil
}

// attribution joins the attributions of the sources of a generation.
func attribution(m *dataset.Manifest) string {
	if m == nil {
		return ""
	}
	var all []string
	for _, source := range m.Sources {
		if source.Attribution != "" && !slices.Contains(all, source.Attribution) {
			all = append(all, source.Attribution)
		}
	}
	return strings.Join(all, " · ")
}

func regionNames(s *Sets) (names []string) {
	p := Pin(s.Boundaries)
	defer p.Release()
	if b, err := p.Get(); err == nil {
		for _, t := range b.Types() {
			names = append(names, t.Name)
		}
	}
	return names
}

func takeRegions(s *Sets, name string) (Layer, error) {
	if strings.HasPrefix(name, PointsPrefix) {
		return Layer{}, ErrNoLayer
	}
	return pinLayer(s.Boundaries, name, func(b Boundaries) (feature.Layer, error) {
		if !HasType(b, name) {
			return nil, fmt.Errorf("%w: %.60q", ErrNoLayer, name)
		}
		return b.Layer(name)
	})
}

func pointNames(s *Sets) (names []string) {
	for _, name := range s.Collections.Names() {
		if l, err := takePoints(s, PointsPrefix+name); err == nil {
			if !l.About.Private {
				names = append(names, PointsPrefix+name)
			}
			l.Release()
		}
	}
	return names
}

func takePoints(s *Sets, name string) (Layer, error) {
	collection, ok := strings.CutPrefix(name, PointsPrefix)
	if !ok {
		return Layer{}, ErrNoLayer
	}
	p := s.Collections.Pin(collection)
	of, err := p.Get()
	if err != nil {
		p.Release()
		if errors.Is(err, live.ErrNoCollection) {
			err = fmt.Errorf("%w: %w", ErrNoLayer, err)
		}
		return Layer{}, err
	}
	l := Layer{Layer: of, About: *of.Info(), IDs: p.From(), release: p.Release}
	if l.About.Name = name; l.About.Live {
		l.IDs = nil
	}
	if l.Written = p.Live != nil; l.Written {
		l.dropped = func() bool { return s.Collections.Live.Collection(collection) != p.Live }
	}
	l.About.Title = cmp.Or(l.About.Title, feature.Title(collection))
	l.About.Description = cmp.Or(l.About.Description, "Points of the collection "+collection+".")
	return l, nil
}

// IsAbsent reports whether an error of Layer says that there is no such layer, and not that it
// cannot be read. A layer that is known to be private is absent for those who may not read it.
func IsAbsent(err error) bool {
	return errors.Is(err, ErrNoLayer) || errors.Is(err, ErrMissing) || OfPrivate(err)
}
