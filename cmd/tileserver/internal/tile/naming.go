package tile

import (
	"context"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/tiles"
	"quadrille/tiles/layertile"
)

// mostNames bounds the names that are looked up for a tile, or for a picture and the tiles around
// it. The most important names of each layer come first.
const mostNames = 1000

// langOf returns the language that a parameter selects, or "".
func langOf(q *endpoint.Params, of *endpoint.Value[string]) string {
	lang := of.Of(q)
	if q.Err == nil && lang != "" && !web.IsLanguage(lang) {
		q.Refuse(of.Name, "Set "+of.Name+" to one language code such as de or zh-Hant, or leave it out.")
	}
	return lang
}

// spare resets options that do not change the tiles of a set in a form, so that such tiles are
// cached once.
func (v *view) spare(set *layerSet, f web.Format) {
	v.double = v.double && set.doubles
	if set.named {
		return
	}
	if f == web.FormatGeoJSON || len(set.selectors) == 0 || v.Names.ID == ask.IDMissing {
		v.naming = layertile.Names{}
	}
}

// named reports whether regions of a set have names in the language.
func (v *view) named(set *layerSet) bool {
	return v.naming.Lang != "" && len(set.selectors) > 0 && v.Names.ID != ask.IDMissing
}

// labels returns functions that name the labels of regions in tiles of a zoom. It returns nil if no
// language is requested, or if no names of regions are published. In a picture only the labels that
// the picture draws at the zoom get names.
func (v *view) labels(ctx context.Context, zoom uint8) []tiles.LabelNames {
	from, published, err := v.Names.GetIfPublished()
	if v.naming.Lang == "" || err == nil && !published {
		return nil
	}
	key := v.naming.Key()
	if v.naming.Instead {
		key = "name"
	}
	return []tiles.LabelNames{func(typ, id string) (_, name string, _ error) {
		if at := theme.GetNames().Region(typ); v.naming.Instead && (int(zoom) < at.From || int(zoom) > at.To) {
			return key, "", nil
		}
		if err == nil && v.naming.Take() {
			name, _, err = from.NameIn(ctx, typ, id, v.naming.Lang)
		}
		return key, tiles.Shorten(name), err
	}}
}
