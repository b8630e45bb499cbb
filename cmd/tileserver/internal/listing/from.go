package listing

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
	"quadrille/tiles"
)

// fromParam names a feature of any public layer.
var fromParam = endpoint.New("from", "In place of `lat` and `lon`, a feature from whose position distances are measured: its layer, a colon and its id, "+
	"such as `points:shops:zh-1`, `stations:66700099999` or `country:ch`, of which the middle of the box around it counts. "+
	"The feature itself is left out.",
	endpoint.Schema{"type": "string", "minLength": 3, "maxLength": endpoint.MaxListBytes},
	func(q *endpoint.Params, name string) (of From) {
		text, points := strings.CutPrefix(q.Text(name, endpoint.MaxListBytes), ask.PointsPrefix)
		if of.name, of.id, _ = strings.Cut(text, ":"); of.name == "" || of.id == "" {
			q.Refuse(name, "Set from to a layer, a colon and the id of a feature, such as country:ch or points:shops:zh-1.")
		}
		if points {
			of.name = ask.PointsPrefix + of.name
		}
		return of
	}).WithExample("country:ch")

// NearParams are the parameters for where lists of the nearest features begin: lat and lon, or from.
var NearParams = []endpoint.Param{
	endpoint.Lat.WithDoc(endpoint.Lat.Doc + " Required without `from`.").AsOptional(),
	endpoint.Lon.WithDoc(endpoint.Lon.Doc + " Required without `from`.").AsOptional(),
	fromParam, endpoint.Radius,
}

// NearProblems are the problems of the parameter from.
var NearProblems = []string{"unknown-layer", "region-not-found", "place-not-found", "airport-not-found", "station-not-found", "point-not-found"}

// From is the feature from which the nearest features are measured. The zero From is none.
type From struct {
	name, id string
	layer    *ask.Layer
}

// NearOf reads NearParams. The position of near is that of lat and lon until From.Locate sets it.
func NearOf(q *endpoint.Params) (near *feature.Near, from From) {
	near = &feature.Near{MaxM: endpoint.Radius.Of(q)}
	switch positioned := endpoint.Lat.Given(q) || endpoint.Lon.Given(q); {
	case !fromParam.Given(q):
		near.Lat, near.Lon = endpoint.Position(q)
	case positioned:
		q.Refuse(fromParam.Name, "Give either from, or lat and lon.")
	default:
		from = fromParam.Of(q)
	}
	return near, from
}

// Open finds the layer of the feature among own, which the client may read, and the public layers.
// It appends the generations of the layer to those of the answer.
func (f *From) Open(v ask.View, generations []uint64, own ...*ask.Layer) (_ []uint64, err error) {
	if f.name == "" {
		return generations, nil
	}
	for _, l := range own {
		if l.LayerInfo.Name == f.name {
			f.layer = l
		}
	}
	if f.layer == nil {
		if f.layer, err = v.PublicLayer(f.name); ask.IsNoLayer(err) {
			return nil, endpoint.Refuse(tiles.ErrUnknownType, fromParam.Name, "There is no layer "+endpoint.Printable(f.name)+
				" for from: use a collection that /ogc/collections lists.")
		}
	}
	if err != nil {
		return nil, err
	}
	return f.layer.AppendGenerationIDs(generations), nil
}

// Locate sets near to the position of the feature. In a layer with a history that is its position at
// an instant.
func (f *From) Locate(ctx context.Context, at time.Time, near *feature.Near) error {
	if f.name == "" {
		return nil
	}
	if !f.layer.LayerInfo.History {
		at = time.Time{}
	}
	var of feature.Feature
	err := f.layer.Get(ctx, f.id, at, &of)
	if errors.Is(err, feature.ErrNotFound) {
		return endpoint.Refuse(err, fromParam.Name, "There is no feature "+endpoint.Printable(f.id)+" in "+f.name+": check the id in from.")
	}
	near.Position, f.id = of.Position, of.ID
	return err
}

// Others returns a layer without the feature. name is the name of the layer among all layers.
func (f *From) Others(l feature.Layer, name string) feature.Layer {
	if f.name == "" || name != f.name {
		return l
	}
	return without{l, f.id}
}

// without is a layer without one feature.
type without struct {
	feature.Layer
	id string
}

// Features implements feature.Layer.
func (l without) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	return func(yield func(*feature.Feature, error) bool) {
		more, left := *q, q.Limit
		if more.Limit > 0 {
			more.Limit++
		}
		for f, err := range l.Layer.Features(ctx, &more) {
			if err == nil && f.ID == l.id {
				continue
			}
			if left--; !yield(f, err) || left == 0 { // it was not 0 before, which means any number
				return
			}
		}
	}
}
