package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Ground tells what holds a position: the regions of all data sets, by their types, and the features of every
// other layer that is a feature.Encloser, by the name of the layer. Types of regions come first. A layer that not
// all may see is left out, and so is one that is called as a type of regions.
//
// Positions are degrees. Errors match tiles.ErrUnknownType or quadkey.ErrCoordinate, or come from the data sets.
// It may be used concurrently until its view is released.
type Ground struct {
	of      *Regions
	regions *tiles.Reader // what can be read, nil for nothing
	areas   []encloser
}

// encloser is a layer that is not one of regions.
type encloser struct {
	*Layer
	feature.Encloser
}

func (e *encloser) name() string { return e.About.Name }

// Info implements feature.Layer, with the name that the layer has among all.
func (e *encloser) Info() *feature.Info { return &e.About }

// Ground returns what tells which areas of types hold a position. No types are all. Types are not checked, see
// Ground.Check. The error matches ErrMissing if nobody has published an area, and ErrFailed if a data set that may
// have some cannot be read.
func (m *Moment) Ground(types ...string) (*Ground, error) {
	g := m.ground()
	regions, _, some := g.parted(types)
	if some {
		if _, err := g.of.Having(regions...); err != nil && (len(g.areas) == 0 || !errors.Is(err, ErrMissing)) {
			return nil, err
		}
	}
	return g, nil
}

// newGround makes the one of a moment.
func (m *Moment) newGround() *Ground {
	return &Ground{of: &m.Boundaries, regions: m.Boundaries.some, areas: m.layers().enclosers}
}

// parted parts types into those of regions and the other layers. some says that regions are asked too: with
// none of the types left, all of them.
func (g *Ground) parted(types []string) (regions []string, areas []encloser, some bool) {
	switch {
	case len(g.areas) == 0:
		return types, nil, true
	case len(types) == 0:
		return nil, g.areas, true
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

// area returns a layer that is not one of regions, nil if there is none of the name.
func (g *Ground) area(name string) *encloser {
	i := slices.IndexFunc(g.areas, func(e encloser) bool { return e.name() == name })
	if i < 0 {
		return nil
	}
	return &g.areas[i]
}

// Has reports whether there is a type of a name.
func (g *Ground) Has(typ string) bool {
	return g.regions != nil && g.regions.Has(typ) || g.area(typ) != nil
}

// Check is nil if there are types of these names, and matches tiles.ErrUnknownType otherwise.
func (g *Ground) Check(types ...string) error {
	for _, t := range types {
		if !g.Has(t) {
			return fmt.Errorf("%w: %.40q, there is %q", tiles.ErrUnknownType, t, g.Types())
		}
	}
	return nil
}

// Types are the names of the types that there are.
func (g *Ground) Types() (names []string) {
	if g.regions != nil {
		for _, t := range g.regions.Types() {
			names = append(names, t.Name)
		}
	}
	for i := range g.areas {
		names = append(names, g.areas[i].name())
	}
	return names
}

// Regions reads the regions alone, nil if none can be read.
func (g *Ground) Regions() *tiles.Reader { return g.regions }

// IDs are the generations on which answers about types depend. They are nil if answers hold for this moment only
// and may not be kept.
func (g *Ground) IDs(types ...string) (ids []uint64) {
	regions, areas, some := g.parted(types)
	if some {
		ids = append(ids, g.of.IDOf(regions))
	}
	return withIDs(ids, areas)
}

func withIDs(ids []uint64, areas []encloser) []uint64 {
	for i := range areas {
		if areas[i].IDs == nil {
			return nil
		}
		ids = append(ids, areas[i].IDs...)
	}
	return ids
}

// WithAreas adds the generations of all that AreasAt tells to those on which an answer depends. It returns nil if
// the answer may not be kept.
func (m *Moment) WithAreas(ids []uint64) []uint64 { return withIDs(ids, m.ground().areas) }

// At returns what holds a position, of types or of all if none is given: the order is that of tiles.Reader.At, and
// then the layers that are not of regions, of each the smallest first.
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

// AreasAt is Ground.At without the types of regions. It asks no data set of regions.
func (m *Moment) AreasAt(ctx context.Context, lat, lon float64, types ...string) (found []tiles.Region, err error) {
	_, areas, _ := m.ground().parted(types)
	for i := range areas {
		if found, err = areas[i].appendAt(ctx, found, quadkey.Position{Lat: lat, Lon: lon}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (e *encloser) appendAt(ctx context.Context, found []tiles.Region, at quadkey.Position) ([]tiles.Region, error) {
	if err := at.Check(); err != nil {
		return found, err
	}
	for f, err := range e.Enclosing(ctx, at) {
		if err != nil {
			return found, err
		}
		found = append(found, tiles.Region{Type: e.name(), ID: f.ID, Name: strings.Clone(f.Name())})
	}
	return found, nil
}

// Nearest is At with a search around the position, as tiles.Reader.Nearest has it. A layer that is not one of regions
// and cannot be asked for its nearest has no match but those that hold the position.
func (g *Ground) Nearest(ctx context.Context, lat, lon, radius float64, types ...string) (found []tiles.Match, err error) {
	regions, areas, some := g.parted(types)
	switch {
	case !some:
	case g.regions != nil:
		found, err = g.regions.Nearest(ctx, lat, lon, radius, regions...)
	default:
		err = g.Check(regions...)
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
	m := tiles.Match{Region: tiles.Region{Type: e.name()}}
	if radius > 0 && e.About.Can.Near {
		q := feature.Query{Near: feature.NearTo(at.Lat, at.Lon, radius), Limit: 1, Detail: feature.WithoutGeometry}
		for f, err := range e.Layer.Features(ctx, &q) {
			if err != nil {
				return found, err
			}
			m.ID, m.Name = f.ID, strings.Clone(f.Name())
			m.Kind, m.Distance = tiles.MatchSnapped, f.Distance
		}
	}
	return append(found, m), nil
}

// Area returns the ground of a region or another area. The type must be there, see Check.
func (g *Ground) Area(typ, id string) feature.Area {
	if e := g.area(typ); e != nil {
		return e.Encloser.Ground(id)
	}
	return g.regions.Area(typ, id)
}

// Layers returns the layers of types, or of all if none is given, in the order of Types. Each is called as its type.
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

// Record returns what is known of a region or another area as a JSON object, with its geometry if asked: of a region
// as tiles.Reader.Region has it. The error matches feature.ErrNotFound if there is none of the id.
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
		return nil, err
	}
	dst := jsontext.AppendString([]byte(`{"type":`), typ)
	dst = jsontext.AppendString(append(dst, `,"id":`...), f.ID)
	if name := f.Name(); name != "" {
		dst = jsontext.AppendString(append(dst, `,"name":`...), name)
	}
	dst = append(feature.AppendBounds(append(dst, ','), [4]float64{f.Bounds.West, f.Bounds.South, f.Bounds.East, f.Bounds.North}), `,"version":`...)
	dst = strconv.AppendInt(dst, f.Version, 10)
	dst = append(f.Properties.AppendMembers(append(dst, `,"properties":{`...)), '}')
	var err error
	if geometry {
		dst, err = f.AppendGeometry(append(dst, `,"geometry":`...), nil)
	}
	return append(dst, '}'), err
}
