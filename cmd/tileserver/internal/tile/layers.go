package tile

import (
	"context"
	"errors"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/tiles"
)

// These are the layer names that are not region types.
const (
	allLayers     = "all"
	placesLayer   = "places"
	airportsLayer = "airports"
)

// layerSet is a list of layers that has been checked against the generations
// it is for.
type layerSet struct {
	// canonical is the same for every spelling of the same set: types in
	// their published order, regions of a type by id, places and airports
	// last, then collections of points by name.
	canonical string
	hash      web.Hash // of canonical
	selectors []tiles.Selector
	types     []string // the region types in selectors, each once
	places    bool
	airports  bool
	// others is canonical without the collections of points, which are in collections,
	// sorted.
	others      string
	collections []string
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
	key := layerKey{list: list, boundaries: v.boundaries.ID, places: stateOf(v.places.ID), airports: stateOf(v.airports.ID)}
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
			return set, v.pinCollections(set.collections)
		}); err != nil {
			return nil, err
		}
	}
	if pinned {
		return set, nil
	}
	return set, v.pinCollections(set.collections)
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
	set := &layerSet{}
	whole := map[string]bool{}
	regions := map[string][]string{}
	for _, name := range names {
		switch name {
		case placesLayer:
			if _, err := v.places.Get(); err != nil {
				return nil, err
			}
			set.places = true
		case airportsLayer:
			if _, err := v.airports.Get(); err != nil {
				return nil, err
			}
			set.airports = true
		case allLayers:
			// A data set that is not published is left out; one that cannot
			// be read must not be passed over in silence.
			b, berr := v.boundaries.Get()
			_, perr := v.places.Get()
			_, aerr := v.airports.Get()
			for _, err := range []error{berr, perr, aerr} {
				if err != nil && !errors.Is(err, ask.ErrMissing) {
					return nil, err
				}
			}
			if berr != nil && perr != nil && aerr != nil {
				return nil, berr
			}
			if berr == nil {
				for _, t := range b.Types() {
					whole[t.Name] = true
				}
			}
			set.places = set.places || perr == nil
			set.airports = set.airports || aerr == nil
		default:
			if collection, ok := strings.CutPrefix(name, pointsPrefix); ok {
				set.collections = append(set.collections, strings.Clone(collection))
				continue
			}
			b, err := v.boundaries.Get()
			if err != nil {
				return nil, err
			}
			typ, id, one := strings.Cut(name, ":")
			if !slices.ContainsFunc(b.Types(), func(t tiles.TypeMeta) bool { return t.Name == typ }) {
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
	}

	var canonical []string
	if len(whole)+len(regions) > 0 {
		b, err := v.boundaries.Get()
		if err != nil {
			return nil, err
		}
		for _, t := range b.Types() {
			if whole[t.Name] {
				set.types = append(set.types, t.Name)
				set.selectors = append(set.selectors, tiles.Selector{Type: t.Name})
				canonical = append(canonical, t.Name)
				continue
			}
			ids := regions[t.Name]
			if len(ids) == 0 {
				continue
			}
			set.types = append(set.types, t.Name)
			slices.Sort(ids)
			for _, id := range slices.Compact(ids) {
				set.selectors = append(set.selectors, tiles.Selector{Type: t.Name, ID: strings.Clone(id)})
				canonical = append(canonical, t.Name+":"+id)
			}
		}
	}
	if set.places {
		canonical = append(canonical, placesLayer)
	}
	if set.airports {
		canonical = append(canonical, airportsLayer)
	}
	set.others = strings.Join(canonical, ",")
	slices.Sort(set.collections)
	set.collections = slices.Compact(set.collections)
	for _, name := range set.collections {
		canonical = append(canonical, pointsPrefix+name)
	}
	set.canonical = strings.Join(canonical, ",")
	set.hash = web.HashStart.Bytes(set.canonical)
	return set, nil
}

// unknownLayer says which layers there are.
func (v *view) unknownLayer() error {
	var names []string
	if b, err := v.boundaries.Get(); err == nil {
		for _, t := range b.Types() {
			names = append(names, t.Name)
		}
	}
	names = append(names, placesLayer, airportsLayer, allLayers)
	for _, c := range v.all.pinPublic() {
		names = append(names, pointsPrefix+c.name)
		c.Release()
	}
	return endpoint.Refuse(tiles.ErrUnknownType, "layers", "Use one or more of these, joined by commas: "+strings.Join(names, ", ")+
		"; add :id to a type for a single region.")
}

// layerKey is what the meaning of a list of layers depends on.
type layerKey struct {
	list       string
	boundaries uint64
	// IDMissing, IDFailed or 1, which "all" depends on
	places, airports uint64
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
	return int64(len(set.canonical) + len(set.others) + each*(len(set.selectors)+len(set.types)+len(set.collections)))
}
