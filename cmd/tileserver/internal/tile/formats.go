package tile

import (
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
)

// The formats of tiles, as OGC API – Tiles names them.
var (
	mvtFormat     = ogcapi.Format{Name: "mvt", Type: web.FormatMVT.Type(), Format: web.FormatMVT}
	mltFormat     = ogcapi.Format{Name: "mlt", Type: web.FormatMLT.Type(), Format: web.FormatMLT}
	geojsonFormat = ogcapi.Format{Name: "json", Type: ogcapi.TypeGeoJSON, Format: web.FormatGeoJSON}
	pngFormat     = ogcapi.Format{Name: "png", Type: web.FormatPNG.Type(), Format: web.FormatPNG}
)

// formPNG2x is a picture of double density.
var formPNG2x = web.NewFormat(web.Media{Name: "png@2x", Type: "image/png", Picture: true})

// mltFile is the end of addresses of MapLibre Tiles, and mltEncoding MapLibre's name for
// them.
const mltFile, mltEncoding = ".mlt", "mlt"
