package tile

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/tiles"
	"quadrille/tiles/layertile"
)

// view has the generations from which the tiles of a request are made.
type view struct {
	ask.View
	// points are layers of points: first all singles (layers that are one data set each) in the
	// order of the registry, then the requested collections.
	points  []*ask.Layer
	singles int
	naming  layertile.Names // of its features and regions
	double  bool            // maps draw its tiles twice as large
	// pictured is set if its tiles are drawn on 256 pixels here.
	pictured bool
	// inDegrees is set if its tiles are those of WorldCRS84Quad, named as package platecarree names them.
	inDegrees bool
	fields    []string // of its features, see chosenFields
	// joined are properties of collections that regions of the set get by their ids.
	joined []joinedColumns
	color  coloring // of its pictures
	// pinned is set if no collection can have values, since the address does not name its state.
	pinned  bool
	filters filters
}

// views has memory that is reused, so that sending a cached tile allocates no view.
var views = sync.Pool{New: func() any { return new(view) }}

// viewOf returns a view without collections, because it is not yet known which collections a list
// of layers names. The caller must release it before the ask.View from which it is made.
func viewOf(of ask.View) *view {
	v := views.Get().(*view)
	v.View = of
	v.points = of.AppendTiledLayers(v.points)
	v.singles = len(v.points)
	return v
}

func (v *view) release() {
	clear(v.points)
	*v = view{points: v.points[:0]}
	views.Put(v)
}

// single returns the layer with a name that is one data set, or nil if there is none.
func (v *view) single(name string) *ask.Layer {
	for _, p := range v.points[:v.singles] {
		if p.LayerInfo.Name == name {
			return p
		}
	}
	return nil
}

// types returns the names of the region types that can be read. A type gives way to a single of its
// name, as in ask.View.
func (v *view) types() (names []string) {
	for _, t := range v.Boundaries.Types() {
		if v.single(t.Name) == nil {
			names = append(names, t.Name)
		}
	}
	return names
}

// all returns the published region types and singles. If one of them cannot be read, all returns an
// error and does not skip it silently.
func (v *view) all() (types, points []string, err error) {
	_, published, err := v.Boundaries.GetIfPublished()
	for _, p := range v.points[:v.singles] {
		switch {
		case p.Err == nil:
			points = append(points, p.LayerInfo.Name)
		case !errors.Is(p.Err, ask.ErrMissing) && err == nil:
			err = p.Err
		}
	}
	if err == nil && !published && points == nil {
		err = v.Boundaries.Err
	}
	return v.types(), points, err
}

// addCollections adds the collections among the layers of points of a set. If a collection does not
// exist, or is private, the error lists the existing layers.
func (v *view) addCollections(points []string) error {
	for _, name := range points {
		name, ok := strings.CutPrefix(name, ask.PointsPrefix)
		if !ok {
			continue
		}
		c, err := v.TiledCollection(name)
		switch {
		case errors.Is(err, ask.ErrNoLayer):
			return v.unknownLayer()
		case err != nil:
			return err
		}
		v.points = append(v.points, c)
	}
	return nil
}

// addPublic adds the public collections, at most as many as a list may contain. A collection that
// cannot be read, or has been removed, must not hide the others.
func (v *view) addPublic() (names []string) {
	for _, name := range v.CollectionNames() {
		if c, err := v.TiledCollection(name); err == nil {
			v.points = append(v.points, c)
			names = append(names, c.LayerInfo.Name)
		}
		if len(names) == endpoint.MaxListEntries {
			break
		}
	}
	return names
}

// of returns the layers of points of a set, in the order of the view.
func (v *view) of(set *layerSet) (list []*ask.Layer) {
	for _, p := range v.points {
		if len(list) < len(set.points) && p.LayerInfo.Name == set.points[len(list)] {
			list = append(list, p)
		}
	}
	return list
}

// tiler returns a layer of the view.
func (v *view) tiler(p *ask.Layer) (feature.Tiler, error) {
	l, err := p.Tiler()
	switch d := p.LayerInfo.Drawing; {
	case err != nil:
	case d == nil && v.pictured:
		l = apart{l, 256}
	case d == nil && v.double:
		l = apart{l, 512}
	case v.double && d != nil && d.Importance != nil:
		l = doubled{l}
	}
	return l, err
}

// from appends the identities of the generations that the tiles of a set depend on: those of
// boundaries, of each single, and of the collection. Data sets without influence have 0. Several
// collections together have one even number. Tiles of live collections may not be cached.
func (v *view) from(set *layerSet, ids []uint64) (_ []uint64, live bool) {
	first := len(ids)
	ids = append(ids, 0)
	if len(set.selectors) > 0 {
		ids[first] = v.Boundaries.IDOf(set.types)
	}
	left, collections, only := set.points, web.HashStart, uint64(0)
	for i, p := range v.points {
		has := len(left) > 0 && p.LayerInfo.Name == left[0]
		if has {
			left, live = left[1:], live || p.LayerInfo.Live
		}
		switch {
		case i < v.singles && has:
			ids = append(ids, p.ID())
		case i < v.singles:
			ids = append(ids, 0)
		case has:
			if only = p.ID(); collections != web.HashStart {
				only = 0
			}
			collections = collections.Number(p.ID())
		}
	}
	if collections == web.HashStart {
		return append(ids, 0), live
	}
	return append(ids, cmp.Or(only, uint64(collections)&^1|1<<63)), live
}

// divide returns the set without its live layers, and a set of only the live layers.
func (v *view) divide(set *layerSet) (kept, live *layerSet) {
	var now []string
	for _, p := range v.of(set) {
		if p.LayerInfo.Live {
			now = append(now, p.LayerInfo.Name)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(set.points), func(name string) bool { return slices.Contains(now, name) })
	return set.with(rest), &layerSet{points: now, fields: set.fields}
}

// unknownLayer returns the error for an unknown layer. The error lists the existing layers.
func (v *view) unknownLayer() error {
	names := v.types()
	for _, p := range v.points[:v.singles] {
		names = append(names, p.LayerInfo.Name)
	}
	names = append(append(names, allLayers), v.addPublic()...)
	return endpoint.Refuse(tiles.ErrUnknownType, "layers", "Use one or more of these, joined by commas: "+strings.Join(names, ", ")+
		"; add :id to a type for a single region.")
}

// allLayers is the name for all layers except the collections of points.
const allLayers = "all"
