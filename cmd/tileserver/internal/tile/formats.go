package tile

import (
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
)

// The formats of tiles, as OGC API – Tiles names them.
var (
	mvtFormat     = ogcapi.Format{Name: "mvt", Type: web.FormMVT.Type(), Form: web.FormMVT}
	mltFormat     = ogcapi.Format{Name: "mlt", Type: web.FormMLT.Type(), Form: web.FormMLT}
	geojsonFormat = ogcapi.Format{Name: "json", Type: ogcapi.TypeGeoJSON, Form: web.FormGeoJSON}
	pngFormat     = ogcapi.Format{Name: "png", Type: web.FormPNG.Type(), Form: web.FormPNG}
)

// formPNG2x is a picture of double density.
var formPNG2x = web.NewForm(web.Media{Name: "png@2x", Type: "image/png", Picture: true})

// mltFile is the extension of MapLibre Tiles in addresses, and mltEncoding is MapLibre's name for
// their encoding.
const mltFile, mltEncoding = ".mlt", "mlt"
