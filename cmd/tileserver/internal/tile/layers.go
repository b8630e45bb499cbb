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

// allLayers stands for all layers but the collections of points.
const allLayers = "all"

// layerSet is a list of layers that has been checked against the generations
// it is for.
type layerSet struct {
	// canonical is the same for every spelling of the same set: regions, then points.
	canonical string
	hash      web.Hash // of canonical
	// regions are types in their published order, regions of a type by id.
	regions   []string
	selectors []tiles.Selector // of regions
	types     []string         // the region types in selectors, each once
	// points are layers of points in the order of the registry, then collections by name.
	points []string
}

// with is the set with other layers of points.
func (set *layerSet) with(points []string) *layerSet {
	part := *set
	part.points = points
	part.canonical = strings.Join(slices.Concat(part.regions, points), ",")
	part.hash = web.HashStart.Bytes(part.canonical)
	return &part
}

// landOrder are the region types that lie beneath others, from the lowest.
var landOrder = []string{"continent", "country", "timezone", "state", "county"}

// ground is the region type that is the land of a map of the set, if it has one,
// and whether water is all around it: not around a few regions or points, which
// are to be laid over another map.
func (set *layerSet) ground() (land string, sea bool) {
	for _, typ := range landOrder {
		if slices.Contains(set.types, typ) {
			i := slices.IndexFunc(set.selectors, func(l tiles.Selector) bool { return l.Type == typ })
			return typ, set.selectors[i].ID == ""
		}
	}
	return "", false
}

// resolveLayers returns the set that a list of layers names, from memory when
// it has been asked for before.
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
			// Others may wait for it, so that it goes on when this client leaves.
			read, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
			defer cancel()
			set, err := s.parseLayers(read, v, list)
			if err != nil {
				return nil, err
			}
			pinned = true // lists of what is not there are refused, and not kept
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
	whole, regions := map[string]bool{}, map[string][]string{}
	singles, collections := map[string]bool{}, []string(nil)
	for _, name := range names {
		if p := v.single(name); p != nil {
			if _, err := p.Get(); err != nil {
				return nil, err
			}
			singles[name] = true
			continue
		}
		if strings.HasPrefix(name, ask.PointsPrefix) {
			collections = append(collections, strings.Clone(name))
			continue
		}
		if name == allLayers {
			types, points, err := v.all()
			if err != nil {
				return nil, err
			}
			for _, t := range types {
				whole[t] = true
			}
			for _, p := range points {
				singles[p] = true
			}
			continue
		}
		b, err := v.boundaries.Get()
		if err != nil {
			return nil, err
		}
		typ, id, one := strings.Cut(name, ":")
		if !ask.HasType(b, typ) {
			return nil, v.unknownLayer()
		}
		if !one {
			whole[typ] = true
			continue
		}
		if _, err := b.Region(ctx, typ, id, false); err != nil {
			return nil, err
		}
		regions[typ] = append(regions[typ], id)
	}

	set := &layerSet{}
	for _, typ := range v.types() {
		ids := regions[typ]
		switch slices.Sort(ids); {
		case whole[typ]:
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
		if name := v.points[i].Name; singles[name] {
			points = append(points, name)
		}
	}
	slices.Sort(collections)
	return set.with(append(points, slices.Compact(collections)...)), nil
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

// layerKey is what the meaning of a list of layers depends on.
type layerKey struct {
	list       string
	boundaries uint64
	points     web.Hash // of the states of all layers of points, which "all" depends on
}

// Spread chooses no lock: all sets have one.
func (layerKey) Spread() uint64 { return 0 }

// Extra is what the list takes.
func (k layerKey) Extra() int { return len(k.list) }

// layerSetBytes bounds the memory of lists that have been resolved: some thousand ordinary
// ones. A sixteenth of it would be too little for a long one, so that they share one lock.
const layerSetBytes = 1 << 20

// Bytes is about what the set takes.
func (set *layerSet) Bytes() int64 {
	const each = 64 // of a selector, with its text
	return int64(2*len(set.canonical) + each*(len(set.selectors)+len(set.types)+len(set.points)))
}
