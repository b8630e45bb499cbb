package tile

import (
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
)

// These are the formats of tiles, with their names in OGC API – Tiles.
var (
	mvtFormat     = ogcapi.Format{Name: "mvt", Type: web.FormMVT.Type(), Form: web.FormMVT}
	mltFormat     = ogcapi.Format{Name: "mlt", Type: web.FormMLT.Type(), Form: web.FormMLT}
	geojsonFormat = ogcapi.Format{Name: "json", Type: ogcapi.TypeGeoJSON, Form: web.FormGeoJSON}
	pngFormat     = ogcapi.Format{Name: "png", Type: web.FormPNG.Type(), Form: web.FormPNG}
)

// formPNG2x is a picture with double pixel density.
var formPNG2x = web.NewForm(web.Media{Name: "png@2x", Type: "image/png", Picture: true})

// mltFile is the extension of MapLibre Tiles in addresses, and mltEncoding is MapLibre's name for
// their encoding.
const mltFile, mltEncoding = ".mlt", "mlt"
