package tile

import (
	"errors"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/ogcapi"
)

// OGCPart returns the addition of tiles to the documents of the OGC APIs.
func (s *Handlers) OGCPart() ogcapi.Part {
	const tiles, matrices = "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/", "http://www.opengis.net/spec/tms/2.0/conf/"
	return ogcapi.Part{
		Conformance: []string{
			tiles + "core", tiles + "tileset", tiles + "tilesets-list", tiles + "dataset-tilesets", tiles + "geodata-tilesets", tiles + "oas30",
			tiles + "mvt", tiles + "geojson", tiles + "png", matrices + "tilematrixset", matrices + "tilematrixsetlimits",
			matrices + "tilesetmetadata",
			matrices + "json-tilematrixset", matrices + "json-tilematrixsetlimits", matrices + "json-tilesetmetadata",
		},
		LandingLinks: func(base string) []ogcapi.Link {
			return append(tilesetLinks(base+"/ogc"),
				ogcapi.Link{Href: base + "/ogc/tileMatrixSets?f=json", Rel: ogcapi.RelSchemes, Type: ogcapi.TypeJSON, Title: "The tile matrix sets"})
		},
		CollectionLinks: func(of ask.View, base, id string) []ogcapi.Link {
			v := viewOf(of)
			defer v.release()
			if err := v.isTiled(id); err != nil && !errors.Is(err, ask.ErrFailed) {
				return nil
			}
			return tilesetLinks(ogcapi.CollectionURL(base, id))
		},
	}
}

// tilesetLinks returns the links from the whole data, or from a collection, to the tilesets.
func tilesetLinks(of string) (all []ogcapi.Link) {
	for _, k := range []*tilesetKind{vectorTiles, mapTiles} {
		// Clients expect JSON from every link with this relation.
		all = append(all, ogcapi.Link{Href: of + "/" + k.path + "?f=json", Rel: k.rel, Type: ogcapi.TypeJSON, Title: "The " + k.title})
	}
	return all
}
