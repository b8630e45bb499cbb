package tile

import (
	"context"
	"slices"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/tiles"
)

// naming is how places and regions are named besides their local names. The zero value adds
// nothing.
type naming struct {
	lang string
	// instead says that the name takes the place of the local one, as in pictures.
	instead bool
}

// langOf is the one language that a parameter asks for, or "".
func langOf(q *endpoint.Params, of *endpoint.Value[string]) string {
	lang := of.Of(q)
	if q.Err == nil && lang != "" && !web.IsLanguage(lang) {
		q.Refuse(of.Name, "Set "+of.Name+" to one language code such as de or zh-Hant, or leave it out.")
	}
	return lang
}

// spare forgets what changes nothing of the tiles of a set in a form, so that they are kept once.
func (v *view) spare(set *layerSet, f web.Form) {
	if slices.Contains(set.points, ask.PlacesLayer) {
		return
	}
	v.double = false
	if f == web.FormGeoJSON || len(set.selectors) == 0 || v.names.ID == ask.IDMissing {
		v.naming = naming{}
	}
}

// key is the attribute that has the name.
func (n naming) key() string { return "name:" + n.lang }

// of returns the name of a place, "" if none is asked for or known. A tile has a bounded
// number of places, so that its reads are bounded, too.
func (n naming) of(ctx context.Context, from feature.Tiler, id uint32) (string, error) {
	if n.lang == "" {
		return "", nil
	}
	name, _, err := from.(ask.Places).NameIn(ctx, id, n.lang)
	return name, err
}

// labels names labels of regions, as far as names of regions are asked for and published.
func (v *view) labels(ctx context.Context) []tiles.LabelNames {
	from, published, err := v.names.Have()
	if v.naming.lang == "" || err == nil && !published {
		return nil
	}
	key := v.naming.key()
	if v.naming.instead {
		key = "name"
	}
	return []tiles.LabelNames{func(typ, id string) (_, name string, _ error) {
		if err == nil {
			name, _, err = from.NameIn(ctx, typ, id, v.naming.lang)
		}
		return key, shorten(name), err
	}}
}
