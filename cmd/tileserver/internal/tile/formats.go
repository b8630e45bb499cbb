package tile

import (
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
)

// These are the formats of tiles, with their names in OGC API – Tiles.
var (
	mvtFormat     = ogcapi.Format{Name: "mvt", Type: web.FormatMVT.Type(), Format: web.FormatMVT}
	mltFormat     = ogcapi.Format{Name: "mlt", Type: web.FormatMLT.Type(), Format: web.FormatMLT}
	geojsonFormat = ogcapi.Format{Name: "json", Type: ogcapi.TypeGeoJSON, Format: web.FormatGeoJSON}
	pngFormat     = ogcapi.Format{Name: "png", Type: web.FormatPNG.Type(), Format: web.FormatPNG}
)

// formPNG2x is a picture with double pixel density.
var formPNG2x = web.NewFormat(web.Media{Name: "png@2x", Type: "image/png", Picture: true})

// mltFile is the extension of MapLibre Tiles in addresses, and mltEncoding is MapLibre's name for
// their encoding.
const mltFile, mltEncoding = ".mlt", "mlt"
