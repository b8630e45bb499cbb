package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Ground finds the areas that hold a position. These are the regions of all data sets, by their
// types, and the features of every other public layer whose data set is a feature.Encloser, by the
// name of the layer. Types of regions come first. A layer replaces a type of the same name, as in
// Moment.Layer.
//
// Positions are degrees. Errors match tiles.ErrUnknownType or quadkey.ErrCoordinate, or come from
// the data sets. Queries may name only types that were given to Moment.Ground. It may be used
// concurrently until its view is released.
type Ground struct {
	of      *Regions
	regions *tiles.Reader // the regions that can be read, nil for none
	own     []string      // the types of regions that do not give way, nil for all
	areas   []encloser
	live    bool // the Info of some layer may change
}

// encloser is a layer other than regions. Its Encloser is nil if it cannot be read.
type encloser struct {
	*Layer
	feature.Encloser
}

func (e *encloser) name() string { return e.LayerInfo.Name }

// Info implements feature.Layer, with the layer's name among all layers.
func (e *encloser) Info() *feature.Info { return &e.LayerInfo }

// Ground returns the ground of the given types, or of all if none is given. It does not check that
// the types exist, see Ground.Check. The error matches ErrMissing if none of the data sets is
// published, and ErrFailed if a data set that may have such areas cannot be read.
func (m *Moment) Ground(types ...string) (*Ground, error) {
	g := m.groundNow()
	regions, areas, some := g.parted(types)
	for i := range areas {
		if err := areas[i].Err; err != nil {
			return nil, err
		}
	}
	if some {
		_, err := g.of.ReaderOf(regions...)
		enough := len(types) == 0 && len(areas) > 0 && !g.of.unsure && errors.Is(err, ErrMissing)
		if err != nil && !enough {
			return nil, err
		}
	}
	return g, nil
}

func (m *Moment) groundNow() *Ground {
	if g := m.ground(); !g.live {
		return g
	}
	return m.newGround()
}

// newGround makes the ground of a moment, with live layers in their present state.
func (m *Moment) newGround() *Ground {
	g := &Ground{of: &m.Boundaries, regions: m.Boundaries.some}
	singles := m.singles()
	hidden := false
	for i := range singles {
		if !singles[i].encloses {
			continue
		}
		l := singles[i].now()
		g.live = g.live || l.LayerInfo.Live
		if errors.Is(l.Err, ErrMissing) || l.LayerInfo.Private {
			continue
		}
		e := encloser{Layer: l}
		if l.Err == nil {
			e.Encloser = l.Layer.(feature.Encloser)
		}
		g.areas = append(g.areas, e)
		hidden = hidden || m.Boundaries.part(e.name()) != nil
	}
	if hidden {
		g.own = []string{}
		for _, t := range g.regions.Types() {
			if g.area(t.Name) == nil {
				g.own = append(g.own, t.Name)
			}
		}
	}
	return g
}

// parted separates types into types of regions and other layers. The result some reports whether
// any regions are queried. If it is set and regions is empty, all types of regions are queried.
func (g *Ground) parted(types []string) (regions []string, areas []encloser, some bool) {
	switch {
	case len(types) == 0:
		return g.own, g.areas, g.own == nil || len(g.own) > 0
	case !slices.ContainsFunc(types, func(t string) bool { return g.area(t) != nil }):
		return types, nil, true
	}
	for i := range g.areas {
		if slices.Contains(types, g.areas[i].name()) {
			areas = append(areas, g.areas[i])
		}
	}
	for _, t := range types {
		if g.area(t) == nil {
			regions = append(regions, t)
		}
	}
	return regions, areas, len(regions) > 0
}

// area returns the layer other than regions with the given name, or nil if there is none.
func (g *Ground) area(name string) *encloser {
	i := slices.IndexFunc(g.areas, func(e encloser) bool { return e.name() == name })
	if i < 0 {
		return nil
	}
	return &g.areas[i]
}

// Has reports whether there is a type with the given name.
func (g *Ground) Has(typ string) bool {
	return g.regions != nil && g.regions.Has(typ) || g.area(typ) != nil
}

// Check returns nil if all the types exist. Otherwise its error matches tiles.ErrUnknownType.
func (g *Ground) Check(types ...string) error {
	for _, t := range types {
		switch {
		case g.Has(t):
		case g.regions != nil && len(g.areas) == 0:
			return g.regions.Check(t)
		default:
			return fmt.Errorf("%w: %q, this server has %q", tiles.ErrUnknownType, t, g.Types())
		}
	}
	return nil
}

// Types returns the names of all types.
func (g *Ground) Types() (names []string) {
	for _, l := range g.Layers() {
		names = append(names, l.Info().Name)
	}
	return names
}

// Regions returns the reader of a type of regions, or nil for any other type.
func (g *Ground) Regions(typ string) *tiles.Reader {
	if g.regions == nil || !g.regions.Has(typ) || g.area(typ) != nil {
		return nil
	}
	return g.regions
}

// GenerationIDs returns the generations on which answers about types depend. They are nil if
// answers hold for this moment only and must not be cached.
func (g *Ground) GenerationIDs(types ...string) (ids []uint64) {
	regions, areas, some := g.parted(types)
	if some {
		ids = append(ids, g.of.IDOf(regions))
	}
	return withIDs(ids, areas)
}

func withIDs(ids []uint64, areas []encloser) []uint64 {
	for i := range areas {
		if areas[i].GenerationIDs == nil {
			return nil
		}
		ids = append(ids, areas[i].GenerationIDs...)
	}
	return ids
}

// WithAreas adds the generations on which AreasAt depends to the generations of an answer. It
// returns nil if the answer must not be cached.
func (m *Moment) WithAreas(ids []uint64, types ...string) []uint64 {
	_, areas, _ := m.groundNow().parted(types)
	return withIDs(ids, areas)
}

// SplitTypes separates types into the types of areas, which are layers other than regions, and all
// other types.
func (m *Moment) SplitTypes(types []string) (areas, regions []string) {
	regions, of, _ := m.groundNow().parted(types)
	for i := range of {
		areas = append(areas, of[i].name())
	}
	return areas, regions
}

// At returns what holds a position, of the given types or of all if none is given. Regions come in
// the order of tiles.Reader.At. Then come the other layers, the smallest feature of each first.
func (g *Ground) At(ctx context.Context, lat, lon float64, types ...string) (found []tiles.Region, err error) {
	regions, areas, some := g.parted(types)
	switch {
	case !some:
	case g.regions != nil:
		found, err = g.regions.At(ctx, lat, lon, regions...)
	default:
		err = g.Check(regions...)
	}
	for i := range areas {
		if err == nil {
			found, err = areas[i].appendAt(ctx, found, quadkey.Position{Lat: lat, Lon: lon})
		}
	}
	return found, err
}

// AreasAt does the same as Ground.At, without the types of regions. It reads no data set of
// regions.
func (m *Moment) AreasAt(ctx context.Context, lat, lon float64, types ...string) (found []tiles.Region, err error) {
	_, areas, _ := m.groundNow().parted(types)
	for i := range areas {
		if found, err = areas[i].appendAt(ctx, found, quadkey.Position{Lat: lat, Lon: lon}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (e *encloser) appendAt(ctx context.Context, found []tiles.Region, at quadkey.Position) ([]tiles.Region, error) {
	if err := cmp.Or(e.Err, at.Check()); err != nil {
		return found, err
	}
	for f, err := range e.Enclosing(ctx, at) {
		if err != nil {
			return found, err
		}
		found = append(found, tiles.Region{Type: e.name(), ID: f.ID, Name: f.Name()})
	}
	return found, nil
}

// Nearest does the same as At, with a search around the position, like tiles.Reader.Nearest. If
// another layer cannot search for its nearest, or the search is too much work, its match has
// Truncated set.
func (g *Ground) Nearest(ctx context.Context, lat, lon, radius float64, types ...string) (found []tiles.Match, err error) {
	regions, areas, some := g.parted(types)
	switch {
	case !some:
		err = tiles.CheckSnap(radius)
	case g.regions != nil:
		found, err = g.regions.Nearest(ctx, lat, lon, radius, regions...)
	default:
		err = cmp.Or(g.Check(regions...), tiles.CheckSnap(radius))
	}
	for i := range areas {
		if err == nil {
			found, err = areas[i].appendNearest(ctx, found, quadkey.Position{Lat: lat, Lon: lon}, radius)
		}
	}
	return found, err
}

func (e *encloser) appendNearest(ctx context.Context, found []tiles.Match, at quadkey.Position, radius float64) ([]tiles.Match, error) {
	inside, err := e.appendAt(ctx, nil, at)
	for i := range inside {
		found = append(found, tiles.Match{Region: inside[i], Kind: tiles.MatchInside})
	}
	if err != nil || len(inside) > 0 {
		return found, err
	}
	m := tiles.Match{Region: tiles.Region{Type: e.name()}, Truncated: radius > 0 && !e.LayerInfo.Can.Near}
	if radius > 0 && e.LayerInfo.Can.Near {
		q := feature.Query{Near: feature.NearTo(at.Lat, at.Lon, radius), Limit: 1, Detail: feature.WithoutGeometry}
		for f, err := range e.Encloser.Features(ctx, &q) {
			switch {
			case errors.Is(err, feature.ErrTooMuchWork):
				m.Truncated = true
			case err != nil:
				return found, err
			default:
				m.ID, m.Name = f.ID, f.Name()
				m.Kind, m.DistanceM = tiles.MatchSnapped, f.DistanceM
			}
		}
	}
	return append(found, m), nil
}

// Area returns the ground of a region or another area. The type must exist, see Check. The error of
// its Cover matches tiles.ErrNotFound if no area has the id.
func (g *Ground) Area(typ, id string) feature.Area {
	if e := g.area(typ); e != nil {
		return namedArea{e.Encloser.Ground(id), typ, id}
	}
	return g.regions.QueryArea(typ, id)
}

// namedArea is the ground of a feature, named by its layer.
type namedArea struct {
	feature.Area
	typ, id string
}

// String implements feature.Area.
func (a namedArea) String() string { return a.typ + "/" + a.id }

// Cover implements feature.Area.
func (a namedArea) Cover(ctx context.Context, from quadkey.Cell, fn func(p *feature.AreaPart) error) error {
	var own error
	err := a.Area.Cover(ctx, from, func(p *feature.AreaPart) error {
		own = fn(p)
		return own
	})
	if own != nil {
		return err
	}
	return missing(err, a.typ, a.id)
}

// missing turns the error of a missing feature into that of a missing region.
func missing(err error, typ, id string) error {
	if errors.Is(err, feature.ErrNotFound) && !errors.Is(err, tiles.ErrNotFound) {
		return fmt.Errorf("%w: there is no %s %q: look its id up with the regions at a point", tiles.ErrNotFound, typ, id)
	}
	return err
}

// Layers returns the layers of the given types, or of all if none is given, in the order of Types.
// Each has the name of its type.
func (g *Ground) Layers(types ...string) (list []feature.Layer) {
	regions, areas, some := g.parted(types)
	if some && g.regions != nil {
		list = g.regions.Layers(regions...)
	}
	for i := range areas {
		list = append(list, &areas[i])
	}
	return list
}

// Record returns the record of a region or another area as a JSON object, with its geometry if that
// is set, like tiles.Reader.Region. The error matches tiles.ErrNotFound if no area has the id.
func (g *Ground) Record(ctx context.Context, typ, id string, geometry bool) ([]byte, error) {
	e := g.area(typ)
	switch {
	case e == nil && g.regions == nil:
		return nil, g.Check(typ)
	case e == nil:
		return g.regions.Region(ctx, typ, id, geometry)
	}
	var f feature.Feature
	if err := e.Get(ctx, id, time.Time{}, &f); err != nil {
		return nil, missing(err, typ, id)
	}
	dst := jsontext.AppendString([]byte(`{"type":`), typ)
	dst = jsontext.AppendString(append(dst, `,"id":`...), f.ID)
	if name := f.Name(); name != "" {
		dst = jsontext.AppendString(append(dst, `,"name":`...), name)
	}
	b := f.Bounds
	dst = feature.AppendBounds(append(dst, ','), [4]float64{b.West, b.South, b.East, b.North})
	if f.Version != 0 {
		dst = strconv.AppendInt(append(dst, `,"version":`...), f.Version, 10)
	}
	for name, v := range f.Properties.All() {
		switch name {
		case "type", "id", "name", "bbox", "version", "geometry":
			continue // the record has its own member of this name
		}
		dst = v.AppendJSON(append(jsontext.AppendString(append(dst, ','), name), ':'))
	}
	if !geometry {
		return append(dst, '}'), nil
	}
	shape, err := f.AppendGeometry(nil, nil)
	if err == nil && string(shape) != "null" {
		dst = append(append(dst, `,"geometry":`...), shape...)
	}
	return append(dst, '}'), err
}
