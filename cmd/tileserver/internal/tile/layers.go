package tile

import (
	"context"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/tiles"
)

// resolveLayers returns the set that a list of layers names, from memory if it was requested
// before.
func (s *Handlers) resolveLayers(ctx context.Context, v *view, list string) (*layerSet, error) {
	key := layerKey{list: list, fields: strings.Join(v.fields, "\x00"), boundaries: v.Boundaries.ID, points: web.HashStart}
	for i := range v.points[:v.singles] {
		key.points = key.points.Number(stateOf(v.points[i].ID()))
	}
	set, pinned := s.layerSets.Get(key), false
	if set == nil {
		key.list = strings.Clone(list) // otherwise it is a part of the request's path
		var err error
		if set, err = s.layerSets.Do(ctx, key, func() (*layerSet, error) {
			// Other requests may wait for the result, so reading continues if this client
			// disconnects.
			read, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
			defer cancel()
			set, err := s.parseLayers(read, v, list)
			if err != nil {
				return nil, err
			}
			pinned = true // lists with missing layers are refused, and not cached
			return set, v.addCollections(set.points)
		}); err != nil {
			return nil, err
		}
	}
	if !pinned {
		if err := v.addCollections(set.points); err != nil {
			return nil, err
		}
	}
	return set, v.join(set)
}

// stateOf reduces a generation to the state that lists of layers depend on: published, absent or
// failed.
func stateOf(id uint64) uint64 {
	if id&1 == 1 {
		return 1
	}
	return id
}

func (s *Handlers) parseLayers(ctx context.Context, v *view, list string) (*layerSet, error) {
	if len(list) > endpoint.MaxListBytes {
		return nil, endpoint.Refuse(endpoint.ErrParameter, "layers", "Ask for fewer layers at once: the list may have 1024 bytes.")
	}
	names := strings.Split(list, ",")
	if len(names) > endpoint.MaxListEntries {
		return nil, endpoint.Refuse(endpoint.ErrParameter, "layers", "Ask for at most 64 layers at once.")
	}
	n := namedLayers{types: map[string]bool{}, regions: map[string][]string{}, singles: map[string]bool{}}
	for _, name := range names {
		if err := n.add(ctx, v, name); err != nil {
			return nil, err
		}
	}
	set := n.set(v)
	if err := set.choose(v, v.fields); err != nil {
		return nil, err
	}
	return set.with(set.points), nil
}

// namedLayers are the layers that a list names.
type namedLayers struct {
	types       map[string]bool     // region types as a whole
	regions     map[string][]string // ids of single regions, by type
	singles     map[string]bool     // layers of points that are one data set
	collections []string
}

// add adds the layer with a name of the list.
func (n *namedLayers) add(ctx context.Context, v *view, name string) error {
	if p := v.single(name); p != nil {
		n.singles[name] = true
		return p.Err
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
	typ, id, one := strings.Cut(name, ":")
	b, err := v.Boundaries.ReaderOf(typ)
	if err != nil {
		return err
	}
	if !b.Has(typ) || v.single(typ) != nil {
		return v.unknownLayer()
	}
	if !one {
		n.types[typ] = true
		return nil
	}
	record, err := b.Region(ctx, typ, id, false)
	n.regions[typ] = append(n.regions[typ], tiles.RecordID(record))
	return err
}

// set returns the layers in the order of layerSet, each once.
func (n *namedLayers) set(v *view) *layerSet {
	set := &layerSet{drawings: map[string]*feature.Drawing{}}
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
		about := &v.points[i].LayerInfo
		if !n.singles[about.Name] {
			continue
		}
		points = append(points, about.Name)
		if about.Drawing != nil {
			set.drawings[about.Name] = about.Drawing
		}
	}
	slices.Sort(n.collections)
	return set.with(append(points, slices.Compact(n.collections)...))
}
