package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quadrille/cellstore/dataset"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Names of the layers that are one data set each. All other layers are types of regions, or
// collections of points, whose names begin with PointsPrefix. Tiles and every interface of features
// use these names.
const (
	PlacesLayer   = "places"
	AirportsLayer = "airports"
	StationsLayer = "stations"
	PointsPrefix  = "points:"
)

// ErrNoLayer is returned when no layer has the name.
var ErrNoLayer = errors.New("no such layer")

// Layer is a layer of a view, or the reason why it cannot be read.
type Layer struct {
	feature.Layer // nil with Err
	// LayerInfo describes the layer, with its name among all layers and the attribution
	// of its generation.
	LayerInfo feature.Info
	// GenerationIDs are the generations on which answers depend. It is nil if answers hold for this
	// moment only and must not be cached.
	GenerationIDs []uint64
	// Manifest is the manifest of the generation. It is nil without one.
	Manifest *dataset.Manifest
	// TakesWrites is set if the layer takes writes. Its features then have versions.
	TakesWrites bool
	// Err matches ErrMissing if the layer is not published, and ErrFailed if it cannot be read.
	Err     error
	dropped func() bool
}

// IsDropped reports whether the layer has been removed since the view was taken. That can happen to
// layers that take writes.
func (l *Layer) IsDropped() bool { return l.dropped != nil && l.dropped() }

// AppendGenerationIDs appends the layer's generations to those on which an answer depends. Begin
// with an empty list that is not nil. The result is nil, and stays nil, if the answer must not be
// cached: it holds for this moment only, or access depends on a key.
func (l *Layer) AppendGenerationIDs(from []uint64) []uint64 {
	if from == nil || l.GenerationIDs == nil || l.LayerInfo.Private {
		return nil
	}
	return append(from, l.GenerationIDs...)
}

// Bounds returns a box that holds all features of a layer that can be read. That of the manifest is
// the tighter one.
func (l *Layer) Bounds() quadkey.Box {
	if l.Manifest != nil {
		if b := l.Manifest.Bounds; len(b) == 4 && [4]float64(b) != [4]float64{} {
			return quadkey.Box{West: b[0], South: b[1], East: b[2], North: b[3]}
		}
	}
	return l.Info().Bounds
}

// Count implements feature.Counter.
func (l *Layer) Count(ctx context.Context, q *feature.Query) (int64, error) {
	return feature.Count(ctx, l.Layer, q)
}

// Tiler returns the layer as a feature.Tiler, or the error why it cannot be read. The layer must
// come from Moment.AppendTiledLayers or Moment.TiledCollection.
func (l *Layer) Tiler() (feature.Tiler, error) {
	if l.Err != nil {
		return nil, l.Err
	}
	return l.Layer.(feature.Tiler), nil
}

// ID returns the identity of the layer's generation, for cache keys and ETags. It is IDUnreadable
// if the layer cannot be read, and IDMissing if there is none.
func (l *Layer) ID() uint64 {
	switch {
	case len(l.GenerationIDs) > 0:
		return l.GenerationIDs[0]
	case l.Err != nil && !errors.Is(l.Err, ErrMissing):
		return IDUnreadable
	}
	return IDMissing
}

// LayerKind is a data set that is one layer.
type LayerKind struct{ described }

// SingleLayer returns a data set that is one layer. It has tiles if T is a feature.Tiler, and finds
// what holds a point if T is a feature.Encloser. The name is a part of URLs: it must be a valid
// name of a collection of points, or SingleLayer panics.
func SingleLayer[T feature.Layer](name string, set func(s *Sets) *dataset.Live[T]) LayerKind {
	if err := live.CheckName(name); err != nil {
		panic("ask: a layer's name is as that of a collection of points: " + err.Error())
	}
	return LayerKind{layered(&DatasetOf[T]{
		Dataset: Dataset{Name: name},
		set:     func(s *Sets) **dataset.Live[T] { l := set(s); return &l },
	})}
}

// layerOf makes a layer of a pinned generation.
func layerOf[T any](p *Pinned[T], name string, layer func(T) (feature.Layer, error)) *Layer {
	l := &Layer{LayerInfo: feature.Info{Name: name}}
	of, err := p.Get()
	if err == nil {
		l.Layer, err = layer(of)
	}
	if l.Err = err; err != nil {
		return l
	}
	l.LayerInfo, l.GenerationIDs, l.Manifest = *l.Info(), []uint64{p.ID}, p.Manifest()
	if l.LayerInfo.Name = name; l.LayerInfo.Live {
		l.GenerationIDs = nil
	}
	l.LayerInfo.Title = cmp.Or(l.LayerInfo.Title, feature.TitleOf(name))
	l.LayerInfo.Attribution = cmp.Or(l.LayerInfo.Attribution, attribution(l.Manifest, name))
	return l
}

// attribution joins the attributions of the sources of a layer of a generation.
func attribution(m *dataset.Manifest, layer string) string {
	if m == nil {
		return ""
	}
	var all []string
	for _, source := range m.SourcesOf(layer) {
		if source.Attribution != "" && !slices.Contains(all, source.Attribution) {
			all = append(all, source.Attribution)
		}
	}
	return strings.Join(all, " · ")
}

// single is a layer that is a whole data set.
type single struct {
	*Layer
	maker func() *Layer

	tiled, encloses bool
}

// now returns the layer. For a live layer, its Info is the present one.
func (l *single) now() *Layer {
	if l.Err != nil || !l.LayerInfo.Live {
		return l.Layer
	}
	return l.maker()
}

// listSingles makes the layers of the data sets that are one layer each, published or not.
func (m *Moment) listSingles() (list []single) {
	for _, d := range m.views.datasets() {
		if layer := d.asLayer(); layer != nil {
			maker := func() *Layer { return layer(m) }
			list = append(list, single{maker(), maker, d.tiled(), d.encloses()})
		}
	}
	return list
}

// layerList has the layers of a moment without collections of points: the types of regions, and
// then the singles.
type layerList struct {
	regions []*Layer
	singles []single
	byName  map[string]int // the types of regions give way to all others
}

func (m *Moment) list() layerList {
	list := layerList{singles: m.singles(), byName: map[string]int{}}
	for _, t := range m.Boundaries.Types() {
		if !strings.HasPrefix(t.Name, PointsPrefix) {
			list.byName[t.Name] = len(list.regions)
			read := func(b *tiles.Reader) (feature.Layer, error) { return b.Layer(t.Name) }
			list.regions = append(list.regions, layerOf(&m.Boundaries.part(t.Name).Pinned, t.Name, read))
		}
	}
	for i := range list.singles {
		list.byName[list.singles[i].LayerInfo.Name] = len(list.regions) + i
	}
	return list
}

// at returns layer i of the list.
func (l *layerList) at(i int) *Layer {
	if i < len(l.regions) {
		return l.regions[i]
	}
	return l.singles[i-len(l.regions)].now()
}

// SingleLayerNames lists the layers that are one data set each, published or not.
func (s *Sets) SingleLayerNames() []string {
	return s.singleNames(func(described) bool { return true })
}

// OpenLayerNames lists the layers of SingleLayerNames whose properties are not known at compile time. Faces
// show these layers by their names, and have their own words for all other layers.
func (s *Sets) OpenLayerNames() []string {
	return s.singleNames(func(d described) bool { return !d.listed() })
}

// IsOpen reports whether the properties of a layer may have any names. A property id of another layer is
// the id of the feature.
func (s *Sets) IsOpen(layer string) bool {
	return strings.HasPrefix(layer, PointsPrefix) || slices.Contains(s.OpenLayerNames(), layer)
}

// IsOpen does the same as Sets.IsOpen.
func (m *Moment) IsOpen(layer string) bool { return m.views.IsOpen(layer) }

// TiledLayerNames lists the layers of SingleLayerNames that have tiles.
func (s *Sets) TiledLayerNames() []string { return s.singleNames(described.tiled) }

func (s *Sets) singleNames(wanted func(described) bool) (names []string) {
	for _, d := range s.datasets() {
		if d.asLayer() != nil && wanted(d) {
			names = append(names, d.about().Name)
		}
	}
	return names
}

// AppendTiledLayers appends the layers of TiledLayerNames, in their order. A private one counts as
// not published.
func (m *Moment) AppendTiledLayers(dst []*Layer) []*Layer {
	list := m.singles()
	for i := range list {
		if !list[i].tiled {
			continue
		}
		l := list[i].now()
		if l.Err == nil && l.LayerInfo.Private {
			l = &Layer{LayerInfo: feature.Info{Name: l.LayerInfo.Name}, Err: ErrMissing}
		}
		dst = append(dst, l)
	}
	return dst
}

// LayerNames lists the published layers that are public.
func (m *Moment) LayerNames() (names []string) {
	list := m.layers()
	for i := range len(list.regions) + len(list.singles) {
		if l := list.at(i); !errors.Is(l.Err, ErrMissing) && !l.LayerInfo.Private {
			names = append(names, l.LayerInfo.Name)
		}
	}
	for _, name := range m.CollectionNames() {
		if l, err := m.pointsLayer(name); err == nil && !l.LayerInfo.Private {
			names = append(names, l.LayerInfo.Name)
		}
	}
	return names
}

// Layer returns the layer with the given name. The error matches ErrNoLayer if no layer has the
// name, ErrMissing if the layer is not published, and ErrFailed if it cannot be read. The caller
// must check access to a private layer, and must not change a layer.
func (m *Moment) Layer(name string) (*Layer, error) {
	if collection, ok := strings.CutPrefix(name, PointsPrefix); ok {
		return m.pointsLayer(collection)
	}
	list := m.layers()
	if i, ok := list.byName[name]; ok {
		l := list.at(i)
		return l, l.Err
	}
	if m.Boundaries.Err != nil { // it may be a type of regions
		return nil, m.Boundaries.Err
	}
	return nil, fmt.Errorf("%w: %.60q", ErrNoLayer, name)
}

// PublicLayer does the same as Layer, for callers with access to public layers only: a private
// layer does not exist for them.
func (m *Moment) PublicLayer(name string) (*Layer, error) {
	l, err := m.Layer(name)
	if err == nil && l.LayerInfo.Private || IsPrivateFailure(err) {
		return nil, fmt.Errorf("%w: %.60q", ErrNoLayer, name)
	}
	return l, err
}

func (m *Moment) pointsLayer(collection string) (*Layer, error) {
	p := m.Collection(collection)
	if c := m.collections[collection]; c != nil && p.Live == nil && p.Handle != nil {
		if l := c.layer(); !l.LayerInfo.Live {
			return l, nil
		}
	}
	l := pointsLayer(&p, collection)
	if l.Err != nil {
		return nil, l.Err
	}
	if l.TakesWrites = p.Live != nil; l.TakesWrites {
		live := m.views.Collections.Live
		l.dropped = func() bool { return live.Collection(collection) != p.Live }
	}
	return l, nil
}

// pointsLayer makes a layer of a collection.
func pointsLayer(p *PinnedCollection, collection string) *Layer {
	of, err := p.Get()
	if err != nil {
		if errors.Is(err, live.ErrNoCollection) {
			err = fmt.Errorf("%w: %w", ErrNoLayer, err)
		}
		return &Layer{Err: err}
	}
	l := &Layer{Layer: of, LayerInfo: *of.Info(), GenerationIDs: p.GenerationIDs(), Manifest: p.Manifest()}
	if l.LayerInfo.Name = PointsPrefix + collection; l.LayerInfo.Live {
		l.GenerationIDs = nil
	}
	l.LayerInfo.Title = cmp.Or(l.LayerInfo.Title, feature.TitleOf(collection))
	l.LayerInfo.Description = cmp.Or(l.LayerInfo.Description, "Points of the collection "+collection+".")
	return l
}

// TiledCollection returns a public collection. The error matches ErrNoLayer if there is none, or it
// is private.
func (m *Moment) TiledCollection(name string) (*Layer, error) {
	l, err := m.pointsLayer(name)
	if err == nil && !l.LayerInfo.Private {
		return l, nil
	}
	if errors.Is(err, ErrFailed) && !IsPrivateFailure(err) {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %.60q", ErrNoLayer, PointsPrefix+name)
}

// IsNoLayer reports whether an error of Moment.Layer means that there is no such layer, and not
// that it cannot be read. For callers without access, a layer that is known to be private is
// absent.
func IsNoLayer(err error) bool {
	return errors.Is(err, ErrNoLayer) || errors.Is(err, ErrMissing) || IsPrivateFailure(err)
}
