package place

import (
	"context"
	"strconv"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/quadkey"
)

// filterParams are the filters of places.
var filterParams = []endpoint.Param{listing.Class, listing.Code, endpoint.Countries, listing.MinPopulation}

// List describes the lists of places.
var List = listing.Spec{
	Layer: ask.PlacesLayer, Path: "/places", Name: "places", NumericIDs: true,
	Words:  listing.Words{Tag: "places", Rank: 1, IDSuffix: "Places", Things: "places", OrderText: ", the most important first"},
	Params: filterParams,
	Filter: func(q *endpoint.Params) (feature.Filter, error) { return readFilter(q).FeatureFilter() },
	// The index contains the locations of classes, codes and countries, so up to 100 results with
	// such filters are cheap. It does not contain populations.
	IsDear: func(q *endpoint.Params, limit int) bool {
		f := readFilter(q)
		return f.MinPopulation > 0 || limit > 100 && len(f.Classes)+len(f.Codes)+len(f.Countries) > 0
	},
	Order:      feature.Order{Importance: true},
	ShowParams: []endpoint.Param{endpoint.Lang}, Show: rename,
	AppendToFirstPage: appendCounts,
	List:              PlaceList{}, Features: PlaceFeatures{}, Item: PlaceFeature{},
	NoLayer: "dataset-missing",
	Examples: map[string]string{
		"/nearby":                           "/places/nearby?lat=48.8566&lon=2.3522&limit=2",
		"/within":                           "/places/within?tile=4/8/5&limit=2",
		"/within/{region_type}/{region_id}": "/places/within/country/ch?class=P&limit=2",
		"/count":                            "/places/count?class=P",
	},
}

// readFilter reads the filters that endpoints of places have in common.
func readFilter(p *endpoint.Params) (f places.Filter) {
	f.Classes = listing.Class.Of(p)
	f.Codes = listing.Code.Of(p)
	f.Countries = endpoint.Countries.Of(p)
	f.MinPopulation = listing.MinPopulation.Of(p)
	return f
}

// rename gives places their names in the language of lang. If no language is requested, or a place
// has no such name, the place keeps its local name.
func rename(q *endpoint.Params) func(ctx context.Context, l feature.Layer, f *feature.Feature) error {
	lang := endpoint.Lang.Of(q)
	if lang == "" {
		return nil
	}
	var memory []byte
	return func(ctx context.Context, l feature.Layer, f *feature.Feature) error {
		name, found, err := l.(*places.Finder).NameIn(ctx, uint32(f.Number), lang)
		if err != nil {
			return ask.NotFoundAsDamage(err)
		}
		if found {
			memory = f.Properties.AppendWith(memory[:0], "name", feature.TextValue([]byte(name)))
			f.Properties = feature.CompactProperties(memory)
		}
		return nil
	}
}

// appendCounts adds the number of places of each class in a tile, up to zoom 10. It ignores
// filters. The class "" counts places without a class.
func appendCounts(ctx context.Context, l feature.Layer, in feature.Area, dst []byte) ([]byte, error) {
	t, ok := in.(feature.Tile)
	if !ok || t.Z > places.MaxCountedZoom {
		return dst, nil
	}
	dst = append(dst[:len(dst)-1], `,"counts":{`...)
	err := l.(*places.Finder).Counts(ctx, quadkey.Tile(t), func(class string, count int64) {
		dst = append(jsontext.AppendString(jsontext.Next(dst), class), ':')
		dst = strconv.AppendInt(dst, count, 10)
	})
	return append(dst, "}}"...), err
}
