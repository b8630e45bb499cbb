package tile

import (
	"context"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/tiles"
)

// allLayers stands for all layers except the collections of points.
const allLayers = "all"

// layerSet is a list of layers that has been checked against certain
// generations.
type layerSet struct {
	// canonical is the same for every spelling of the same set: regions, then points.
	canonical string
	hash      web.Hash // of canonical
	// regions are types in their published order, and the regions of a type by id.
	regions   []string
	selectors []tiles.Selector // of regions
	types     []string         // the region types in selectors, each once
	// points are layers of points in the order of the registry, then collections by name.
	points []string
}

// with returns the set with other layers of points.
func (set *layerSet) with(points []string) *layerSet {
	part := *set
	part.points = points
	part.canonical = strings.Join(slices.Concat(part.regions, points), ",")
	part.hash = web.HashStart.Bytes(part.canonical)
	return &part
}

// landOrder are the region types that lie beneath others, from the lowest.
var landOrder = []string{"continent", "country", "timezone", "state", "county"}

// ground returns the region type that is the land of a map of the set, if there
// is one. sea reports whether water is all around it. That is not so around a
// few regions or points, which are meant to be laid over another map.
func (set *layerSet) ground() (land string, sea bool) {
	for _, typ := range landOrder {
		if slices.Contains(set.types, typ) {
			i := slices.IndexFunc(set.selectors, func(l tiles.Selector) bool { return l.Type == typ })
			return typ, set.selectors[i].ID == ""
		}
	}
	return "", false
}

// resolveLayers returns the set that a list of layers names, from memory if it
// has been asked for before.
func (s *Room) resolveLayers(ctx context.Context, v *view, list string) (*layerSet, error) {
	key := layerKey{list: list, boundaries: v.boundaries.ID, points: web.HashStart}
	for i := range v.points[:v.singles] {
		key.points = key.points.Number(stateOf(v.points[i].ID))
	}
	set, pinned := s.layerSets.Get(key), false
	if set == nil {
		key.list = strings.Clone(list) // a part of the request's path otherwise
		var err error
		if set, err = s.layerSets.Do(ctx, key, func() (*layerSet, error) {
			// Others may wait for it, so it goes on when this client leaves.
			read, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
			defer cancel()
			set, err := s.parseLayers(read, v, list)
			if err != nil {
				return nil, err
			}
			pinned = true // a list with missing layers is refused, and not kept
			return set, v.pinCollections(set.points)
		}); err != nil {
			return nil, err
		}
	}
	if pinned {
		return set, nil
	}
	return set, v.pinCollections(set.points)
}

// stateOf is all that layers of points depend on: published, absent or failed.
func stateOf(id uint64) uint64 {
	if id&1 == 1 {
		return 1
	}
	return id
}

func (s *Room) parseLayers(ctx context.Context, v *view, list string) (*layerSet, error) {
	if len(list) > endpoint.MaxListText {
		return nil, endpoint.Refuse(endpoint.ErrParameter, "layers", "Ask for fewer layers at once: the list may have 1024 bytes.")
	}
	names := strings.Split(list, ",")
	if len(names) > endpoint.MaxList {
		return nil, endpoint.Refuse(endpoint.ErrParameter, "layers", "Ask for at most 64 layers at once.")
	}
	n := namedLayers{types: map[string]bool{}, regions: map[string][]string{}, singles: map[string]bool{}}
	for _, name := range names {
		if err := n.add(ctx, v, name); err != nil {
			return nil, err
		}
	}
	return n.set(v), nil
}

// namedLayers are the layers that a list names.
type namedLayers struct {
	types       map[string]bool     // region types as a whole
	regions     map[string][]string // ids of single regions, by type
	singles     map[string]bool     // layers of points that are one data set
	collections []string
}

// add looks up a name of the list.
func (n *namedLayers) add(ctx context.Context, v *view, name string) error {
	if p := v.single(name); p != nil {
		n.singles[name] = true
		_, err := p.Get()
		return err
	}
	if strings.HasPrefix(name, ask.PointsPrefix) {
		n.collections = append(n.collections, strings.Clone(name))
		return nil
	}
	if name == allLayers {
		types, points, err := v.all()
		for _, t := range types {
			n.types[t] = true
		}
		for _, p := range points {
			n.singles[p] = true
		}
		return err
	}
	b, err := v.boundaries.Get()
	if err != nil {
		return err
	}
	typ, id, one := strings.Cut(name, ":")
	if !ask.HasType(b, typ) {
		return v.unknownLayer()
	}
	if !one {
		n.types[typ] = true
		return nil
	}
	n.regions[typ] = append(n.regions[typ], id)
	_, err = b.Region(ctx, typ, id, false)
	return err
}

// set is the layers in the order of layerSet, each once.
func (n *namedLayers) set(v *view) *layerSet {
	set := &layerSet{}
	for _, typ := range v.types() {
		ids := n.regions[typ]
		switch slices.Sort(ids); {
		case n.types[typ]:
			ids = []string{""}
		case len(ids) == 0:
			continue
		}
		set.types = append(set.types, typ)
		for _, id := range slices.Compact(ids) {
			set.selectors = append(set.selectors, tiles.Selector{Type: typ, ID: strings.Clone(id)})
			if id != "" {
				id = ":" + id
			}
			set.regions = append(set.regions, typ+id)
		}
	}
	var points []string
	for i := range v.points[:v.singles] {
		if name := v.points[i].Name; n.singles[name] {
			points = append(points, name)
		}
	}
	slices.Sort(n.collections)
	return set.with(append(points, slices.Compact(n.collections)...))
}

// unknownLayer says which layers there are.
func (v *view) unknownLayer() error {
	names := v.types()
	for i := range v.points[:v.singles] {
		names = append(names, v.points[i].Name)
	}
	names = append(append(names, allLayers), v.pinPublic()...)
	return endpoint.Refuse(tiles.ErrUnknownType, "layers", "Use one or more of these, joined by commas: "+strings.Join(names, ", ")+
		"; add :id to a type for a single region.")
}

// layerKey is all that the meaning of a list of layers depends on.
type layerKey struct {
	list       string
	boundaries uint64
	points     web.Hash // of the states of all layers of points: the meaning of "all" depends on them
}

// Spread has nothing to choose: one lock guards all sets.
func (layerKey) Spread() uint64 { return 0 }

// Extra is what the list takes.
func (k layerKey) Extra() int { return len(k.list) }

// layerSetBytes bounds the memory of resolved lists: some thousand ordinary ones. All
// share one lock, since a sixteenth of the memory would be too little for a long list.
const layerSetBytes = 1 << 20

// Bytes is about what the set takes.
func (set *layerSet) Bytes() int64 {
	const each = 64 // of a selector, with its text
	return int64(2*len(set.canonical) + each*(len(set.selectors)+len(set.types)+len(set.points)))
}
