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

// namingOf reads the parameter names of a tile.
func namingOf(q *endpoint.Params, f web.Form) (naming, error) {
	return naming{lang: langOf(q, "names", endpoint.Names), instead: f.Picture()}, q.Err
}

// langOf is the one language that a parameter asks for, or "".
func langOf(q *endpoint.Params, name string, of interface {
	Of(q *endpoint.Params) string
}) string {
	lang := of.Of(q)
	if q.Err == nil && lang != "" && !web.IsLanguage(lang) {
		q.Refuse(name, "Set "+name+" to one language code such as de or zh-Hant, or leave it out.")
	}
	return lang
}

// renames reports whether a language changes the tiles of a set in a form. Where it does not,
// the tiles are kept once for all languages.
func (v *view) renames(set *layerSet, f web.Form) bool {
	return slices.Contains(set.points, ask.PlacesLayer) || f != web.FormGeoJSON && len(set.selectors) > 0 && v.names.ID != ask.IDMissing
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
func (v *view) labels(ctx context.Context) ([]tiles.LabelNames, error) {
	if v.naming.lang == "" {
		return nil, nil
	}
	from, published, err := v.names.Have()
	if !published {
		return nil, err
	}
	key := v.naming.key()
	if v.naming.instead {
		key = "name"
	}
	return []tiles.LabelNames{func(typ, id string) (string, string, error) {
		name, _, err := from.NameIn(ctx, typ, id, v.naming.lang)
		return key, shorten(name), err
	}}, nil
}
