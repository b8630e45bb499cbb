package tile

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

var filtersParam = endpoint.FilterParams("Every other parameter is a filter as those of lists, such as `category=cafe,bakery`, `price.lt=20` "+
	"or `-closed=`: tiles have only the points that pass, and clusters are of these. All layers of points must know its "+
	"properties; `points:shops.category=cafe` is for that layer alone. Regions are drawn whole below them, and cannot be filtered.", map[string]any{"category": "cafe"})

// filters are the filters of the layers of points of a request.
type filters struct {
	of    map[string]feature.Filter // by layer; nil for none
	query string                    // the parameters, encoded and in order, for addresses
	all   url.Values                // the parameters
	own   map[string]string         // the layer of each parameter that is for one alone
}

// queryOf returns the parameters for addresses of some layers of the request.
func (f *filters) queryOf(layers []string) string {
	query := url.Values{}
	for name, values := range f.all {
		if own, ok := f.own[name]; !ok || slices.Contains(layers, own) {
			query[name] = values
		}
	}
	return query.Encode()
}

// filter reads the filters of a request: its undeclared parameters. They hold for all layers of
// points, each of which must know the properties. Regions are the ground that is drawn below, so
// layers of regions alone cannot be filtered.
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
		shown := endpoint.Printable(others[0].Name)
		unknown := endpoint.DetailOf(q.Endpoint().ParamNames().Unknown(others[0].Name))
		return endpoint.Refuse(endpoint.ErrParameter, shown, unknown+" Filters are for layers of points, such as points:NAME; regions have none.")
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

// key returns the canonical form of the filters of a set.
func (f *filters) key(set *layerSet) string {
	if f.of == nil {
		return ""
	}
	var b strings.Builder
	for _, name := range set.points {
		if by := f.of[name]; by != nil {
			text := by.String()
			b.WriteString(name + "=" + strconv.Itoa(len(text)) + ":" + text)
		}
	}
	return b.String()
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
