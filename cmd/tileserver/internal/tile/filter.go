package tile

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/tiles"
)

var filtersParam = endpoint.FilterParams("Every other parameter is a filter as those of lists, such as `category=cafe,bakery`, `price.lt=20` "+
	"or `-closed=`: tiles have only the points that pass, and clusters are of these. All layers of points must know its "+
	"properties; `points:shops.category=cafe` is for that layer alone. Regions are drawn whole below them. In a list without layers of "+
	"points filters hold for regions and lines, of their own properties and of `COLLECTION.PROPERTY` of a collection whose "+
	"ids are theirs: those layers that know the properties, of which there "+
	"must be one, have only what passes, and the others are drawn whole.", map[string]any{"category": "cafe"})

// filters are the filters of the layers of a request.
type filters struct {
	of     map[string]feature.Filter  // by layer; nil for none
	query  string                     // the parameters, encoded and in order, for addresses
	all    url.Values                 // the parameters
	own    map[string]string          // the layer of each parameter that is for one alone
	joined map[string][]joinedColumns // of regions, by type
}

// joins returns the collections of which regions have filtered properties.
func (f *filters) joins() (all []joinedColumns) {
	if len(f.joined) == 0 {
		return nil
	}
	for _, typ := range slices.Sorted(maps.Keys(f.joined)) {
		all = append(all, f.joined[typ]...)
	}
	return all
}

// queryOf returns the parameters for addresses of some layers of the request.
func (f *filters) queryOf(layers []string) string {
	query := url.Values{}
	for name, values := range f.all {
		own, ok := f.own[name]
		if !ok || slices.ContainsFunc(layers, func(layer string) bool { return layerOf(layer) == own }) {
			query[name] = values
		}
	}
	return query.Encode()
}

// filter reads the filters of a request: its undeclared parameters. They hold for all layers of
// points, each of which must know the properties. Regions are the ground that is drawn below. If there
// are no layers of points, they hold for the layers of regions that know the properties.
func (v *view) filter(q *endpoint.Params, set *layerSet) error {
	others := q.ExtraParams()
	if q.Err != nil || len(others) == 0 {
		return q.Err
	}
	var layers []listing.Filtered
	for _, p := range v.of(set) {
		if p.Err != nil {
			return p.Err
		}
		layers = append(layers, listing.Filtered{Name: p.LayerInfo.Name, Layer: p.LayerInfo.Name, Schema: p.Info().Schema})
	}
	if layers == nil {
		var err error
		if layers, err = v.filteredTypes(set, others); err != nil {
			return err
		}
	}
	filters, err := listing.Filters(q, layers, "")
	if err != nil {
		return err
	}
	v.filters.of = map[string]feature.Filter{}
	for i := range layers {
		v.filters.of[layers[i].Name] = filters[i]
	}
	v.filters.all, v.filters.own = url.Values{}, map[string]string{}
	for _, o := range others {
		v.filters.all.Set(o.Name, o.Value)
		if layer, _ := listing.OwnFilter(o.Name, layers); layer != "" {
			v.filters.own[o.Name] = layer
		}
	}
	v.filters.query = v.filters.all.Encode()
	return nil
}

// filteredTypes returns the types of regions of a set that know all properties of filters; all types if there are
// none, so that the refusal names one.
func (v *view) filteredTypes(set *layerSet, others []endpoint.ExtraParam) (some []listing.Filtered, err error) {
	var all []listing.Filtered
	for _, typ := range set.types {
		l, err := v.PublicLayer(typ)
		if err != nil {
			return nil, err
		}
		all = append(all, listing.Filtered{Name: typ, Layer: typ, Schema: l.Info().Schema})
	}
	joined := map[string][]joinedColumns{}
	v.filters.joined = joined
	for i := range all {
		of, typ, known := &all[i], all[i].Layer, true
		for _, o := range others {
			layer, filter := listing.OwnFilter(o.Name, all)
			if layer != "" && layer != typ {
				continue
			}
			term, err := of.Schema.ParseTerm(filter, o.Value)
			names := []string{term.Name}
			if term.Name == "" {
				names = term.Values
			}
			for _, name := range names {
				if _, own := of.Schema.LookupPath(name); own || err != nil { // what is no filter is refused later
					continue
				}
				collection, property, joins := v.joinOf(name)
				if known = known && joins; joins {
					joined[typ] = addJoin(joined[typ], collection, property)
					at, _ := slices.BinarySearchFunc(of.Schema, name, func(f feature.Field, name string) int { return strings.Compare(f.Name, name) })
					of.Schema = slices.Insert(slices.Clone(of.Schema), at, feature.Field{Name: name, Kind: property.Kind})
				}
			}
		}
		if known {
			some = append(some, *of)
		}
	}
	if some == nil {
		some = all
	}
	return some, nil
}

// key returns the canonical form of the filters of a set.
func (f *filters) key(set *layerSet) string {
	if f.of == nil {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Concat(set.types, set.points) {
		if by := f.of[name]; by != nil {
			text := by.String()
			b.WriteString(name + "=" + strconv.Itoa(len(text)) + ":" + text)
		}
	}
	return b.String()
}

// passing returns the regions of a type that pass the filter of it; nil without one.
func (v *view) passing(ctx context.Context, b *tiles.Reader, typ string) (*tiles.Passing, error) {
	by := v.filters.of[typ]
	if by == nil {
		return nil, nil
	}
	var joined []*tiles.Column
	for _, j := range v.filters.joined[typ] {
		columns, err := v.joinColumns(ctx, b, typ, j)
		if err != nil {
			return nil, err
		}
		joined = append(joined, columns...)
	}
	ids, live := v.joinedFrom(v.filters.joined[typ], nil)
	from := max(stateOfJoins(ids), 1)
	if live {
		from = 0
	}
	return b.Passing(ctx, typ, by, joined, from)
}

// withHeavy returns a context for filtered tiles and for tiles with columns. The first of these may need
// a pass over all points or records, for which it takes a heavy place; a picture has one already.
func (s *Handlers) withHeavy(ctx context.Context, v *view, set *layerSet, f web.Format) context.Context {
	if v.filters.of == nil && !set.hasColumns(v) {
		return ctx
	}
	return feature.Heavy{Step: web.Step, Run: func(ctx context.Context, fn func(ctx context.Context) error) error {
		return s.RunHeavy(ctx, !f.IsPicture(), func() error { return s.InTurn(ctx, fn) })
	}}.With(ctx)
}
