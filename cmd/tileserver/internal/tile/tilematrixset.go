package tile

import (
	"errors"
	"math"
	"strconv"
	"sync"

	"quadrille/quadkey"
)

// These constants describe the only tile matrix set of the server, which is registered by the OGC.
// A tile matrix is a zoom, a tile column is x and a tile row is y, both counted from the top left.
const (
	webMercatorQuad    = "WebMercatorQuad"
	webMercatorQuadURI = "http://www.opengis.net/def/tilematrixset/OGC/1.0/" + webMercatorQuad
	webMercatorCRS     = "http://www.opengis.net/def/crs/EPSG/0/3857"
	crs84              = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
)

// TileMatrixSet is the definition of a tile matrix set by OGC 17-083r4.
type TileMatrixSet struct {
	_                 struct{}     `doc:"The definition of a tile matrix set, of OGC 17-083r4."`
	ID                string       `json:"id" schema:"const=WebMercatorQuad"`
	Title             string       `json:"title"`
	URI               string       `json:"uri" schema:"format=uri"`
	CRS               string       `json:"crs" schema:"format=uri"`
	OrderedAxes       [2]string    `json:"orderedAxes"`
	WellKnownScaleSet string       `json:"wellKnownScaleSet" schema:"format=uri"`
	BoundingBox       boundingBox  `json:"boundingBox"` // older GDALs take no definition without it
	TileMatrices      []tileMatrix `json:"tileMatrices"`
}

type tileMatrix struct {
	ID               string     `json:"id"`
	ScaleDenominator float64    `json:"scaleDenominator"`
	CellSize         float64    `json:"cellSize" doc:"Metres a pixel, at the equator."`
	CornerOfOrigin   string     `json:"cornerOfOrigin" schema:"const=topLeft"`
	PointOfOrigin    [2]float64 `json:"pointOfOrigin"` // east, north
	TileWidth        int        `json:"tileWidth"`
	TileHeight       int        `json:"tileHeight"`
	MatrixWidth      int        `json:"matrixWidth"`
	MatrixHeight     int        `json:"matrixHeight"`
}

// matrixPixels is the number of pixels along an edge of a picture of a tile.
const matrixPixels = 256

// halfEquator is half the length of the equator of EPSG:3857, in metres.
const halfEquator = math.Pi * 6_378_137

// standardPixel is the edge of the pixel to which scale denominators refer, in metres.
const standardPixel = 0.28e-3

// webMercator returns WebMercatorQuad with only the tile matrices that have tiles here.
var webMercator = sync.OnceValue(func() *TileMatrixSet {
	set := &TileMatrixSet{
		ID: webMercatorQuad, Title: "Google Maps Compatible for the World", URI: webMercatorQuadURI, CRS: webMercatorCRS,
		OrderedAxes: [2]string{"X", "Y"}, WellKnownScaleSet: "http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible",
		BoundingBox: boundingBox{
			LowerLeft:  [2]float64{-halfEquator, -halfEquator},
			UpperRight: [2]float64{halfEquator, halfEquator},
			CRS:        webMercatorCRS,
		},
	}
	for z := range quadkey.MaxZoom + 1 {
		size := 2 * halfEquator / matrixPixels / float64(int(1)<<z)
		set.TileMatrices = append(set.TileMatrices, tileMatrix{
			ID: strconv.Itoa(z), ScaleDenominator: size / standardPixel, CellSize: size,
			CornerOfOrigin: "topLeft", PointOfOrigin: [2]float64{-halfEquator, halfEquator},
			TileWidth: matrixPixels, TileHeight: matrixPixels, MatrixWidth: 1 << z, MatrixHeight: 1 << z,
		})
	}
	return set
})

// matrixLimits is the range of rows and columns with tiles in a tile matrix.
type matrixLimits struct {
	TileMatrix string `json:"tileMatrix"`
	MinTileRow int    `json:"minTileRow"`
	MaxTileRow int    `json:"maxTileRow"`
	MinTileCol int    `json:"minTileCol"`
	MaxTileCol int    `json:"maxTileCol"`
}

// limitsTo returns the limits of a tileset that has all tiles down to a zoom.
func limitsTo(zoom int) (all []matrixLimits) {
	for z := range zoom + 1 {
		last := 1<<z - 1
		all = append(all, matrixLimits{TileMatrix: strconv.Itoa(z), MaxTileRow: last, MaxTileCol: last})
	}
	return all
}

type boundingBox struct {
	LowerLeft  [2]float64 `json:"lowerLeft"`
	UpperRight [2]float64 `json:"upperRight"`
	CRS        string     `json:"crs" schema:"format=uri"`
}

// errNoTileMatrixSet is matched if there is no tile matrix set with a name.
var errNoTileMatrixSet = errors.New("no such tile matrix set")
