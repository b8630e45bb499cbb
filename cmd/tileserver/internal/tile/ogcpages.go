package tile

import (
	_ "embed"
	"html"
	"html/template"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
)

//go:embed tilesets.html
var tilesetsText string

var tilesetsTemplate = template.Must(template.New("tilesets").Funcs(template.FuncMap{"text": html.UnescapeString}).Parse(tilesetsText))

// ogcDocument is a document about tiles, which people get as a page.
type ogcDocument struct {
	title string
	json  any
	// part of the template tilesets.html
	part string
	data any
}

// sendDocument answers with a document. from is what it depends on, and live says that it
// may not be kept.
func (s *Room) sendDocument(c echo.Context, tag web.Hash, live bool, doc *ogcDocument) error {
	return ogcapi.Send(s.Kit, c, []uint64{uint64(tag)}, live, &ogcapi.Document{
		Title: doc.title, JSON: doc.json, Templates: tilesetsTemplate, Template: doc.part, Data: doc.data,
	})
}

// OGCPart is what tiles add to the documents of OGC API.
func (s *Room) OGCPart() ogcapi.Part {
	const conf = "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/"
	return ogcapi.Part{
		Conformance: []string{
			conf + "core", conf + "tileset", conf + "tilesets-list", conf + "dataset-tilesets", conf + "geodata-tilesets", conf + "collections-selection",
			conf + "mvt", conf + "png", conf + "geojson", conf + "oas30",
			"http://www.opengis.net/spec/tms/2.0/conf/tilematrixset", "http://www.opengis.net/spec/tms/2.0/conf/json-tilematrixset",
		},
		Landing: func(base string) []ogcapi.Link {
			return []ogcapi.Link{
				{Href: base + "/ogc/tiles", Rel: relVectorTiles, Type: ogcapi.TypeJSON, Title: "Vector tiles of all data"},
				{Href: base + "/ogc/map/tiles", Rel: relMapTiles, Type: ogcapi.TypeJSON, Title: "Map tiles of all data"},
				{Href: base + "/ogc/tileMatrixSets", Rel: relTilingSchemes, Type: ogcapi.TypeJSON, Title: "Tile matrix sets"},
			}
		},
		Collection: func(base, id string) []ogcapi.Link {
			v := s.pinTiles()
			defer v.release()
			if v.isTiled(id) != nil {
				return nil
			}
			here := ogcapi.Collection(base, id)
			return []ogcapi.Link{
				{Href: here + "/tiles", Rel: relVectorTiles, Type: ogcapi.TypeJSON, Title: "Vector tiles"},
				{Href: here + "/map/tiles", Rel: relMapTiles, Type: ogcapi.TypeJSON, Title: "Map tiles"},
			}
		},
	}
}
