package tile

import (
	"errors"
	"math"
	"strconv"
	"sync"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/quadkey"
)

// These constants describe the tile matrix sets of the server, which are registered by the OGC.
// A tile matrix is a zoom, a tile column is x and a tile row is y, both counted from the top left.
const (
	webMercatorQuad  = "WebMercatorQuad"
	worldCRS84Quad   = "WorldCRS84Quad"
	tileMatrixSetURI = "http://www.opengis.net/def/tilematrixset/OGC/1.0/"
	webMercatorCRS   = "http://www.opengis.net/def/crs/EPSG/0/3857"
	crs84            = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
)

// TileMatrixSet is the definition of a tile matrix set by OGC 17-083r4.
type TileMatrixSet struct {
	_                 struct{}     `doc:"The definition of a tile matrix set, of OGC 17-083r4."`
	ID                string       `json:"id" schema:"enum=WebMercatorQuad|WorldCRS84Quad"`
	Title             string       `json:"title"`
	URI               string       `json:"uri" schema:"format=uri"`
	CRS               string       `json:"crs" schema:"format=uri"`
	OrderedAxes       [2]string    `json:"orderedAxes"`
	WellKnownScaleSet string       `json:"wellKnownScaleSet" schema:"format=uri"`
	BoundingBox       boundingBox  `json:"boundingBox"` // older GDALs take no definition without it
	TileMatrices      []tileMatrix `json:"tileMatrices"`
	// deeper is how many zooms deeper the tiles of Web Mercator are that are as wide.
	deeper int
}

type tileMatrix struct {
	ID               string     `json:"id"`
	ScaleDenominator float64    `json:"scaleDenominator"`
	CellSize         float64    `json:"cellSize" doc:"Metres a pixel at the equator, or degrees."`
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
		ID: webMercatorQuad, Title: "Google Maps Compatible for the World", URI: tileMatrixSetURI + webMercatorQuad, CRS: webMercatorCRS,
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

// worldCRS84 returns WorldCRS84Quad with the tile matrices that are as deep. Package platecarree cuts
// its tiles, and names them by those of Web Mercator that are as wide.
var worldCRS84 = sync.OnceValue(func() *TileMatrixSet {
	set := &TileMatrixSet{
		ID: worldCRS84Quad, Title: "CRS84 for the World", URI: tileMatrixSetURI + worldCRS84Quad, CRS: crs84,
		OrderedAxes: [2]string{"Lon", "Lat"}, WellKnownScaleSet: "http://www.opengis.net/def/wkss/OGC/1.0/GoogleCRS84Quad",
		BoundingBox: boundingBox{LowerLeft: [2]float64{-180, -90}, UpperRight: [2]float64{180, 90}, CRS: crs84},
		deeper:      1,
	}
	for z := range quadkey.MaxZoom {
		size := 180. / matrixPixels / float64(int(1)<<z)
		set.TileMatrices = append(set.TileMatrices, tileMatrix{
			ID: strconv.Itoa(z), ScaleDenominator: size / 180 * halfEquator / standardPixel, CellSize: size,
			CornerOfOrigin: "topLeft", PointOfOrigin: [2]float64{-180, 90},
			TileWidth: matrixPixels, TileHeight: matrixPixels, MatrixWidth: 2 << z, MatrixHeight: 1 << z,
		})
	}
	return set
})

// matrixSets returns all tile matrix sets, the usual one first.
func matrixSets() []*TileMatrixSet { return []*TileMatrixSet{webMercator(), worldCRS84()} }

// matrixSetOf returns the tile matrix set with an id, or errNoTileMatrixSet.
func matrixSetOf(id string) (*TileMatrixSet, error) {
	switch id {
	case webMercatorQuad:
		return webMercator(), nil
	case worldCRS84Quad:
		return worldCRS84(), nil
	}
	return nil, errNoTileMatrixSet
}

// at returns the number of the tile matrix whose tiles are as wide as those of a zoom of Web Mercator.
func (set *TileMatrixSet) at(zoom int) int { return max(0, zoom-set.deeper) }

// matrixLimits is the range of rows and columns with tiles in a tile matrix.
type matrixLimits struct {
	TileMatrix string `json:"tileMatrix"`
	MinTileRow int    `json:"minTileRow"`
	MaxTileRow int    `json:"maxTileRow"`
	MinTileCol int    `json:"minTileCol"`
	MaxTileCol int    `json:"maxTileCol"`
}

// limitsTo returns the limits of a tileset that has all tiles down to a zoom of Web Mercator.
func (set *TileMatrixSet) limitsTo(zoom int) (all []matrixLimits) {
	for _, m := range set.TileMatrices[:set.at(zoom)+1] {
		all = append(all, matrixLimits{TileMatrix: m.ID, MaxTileRow: m.MatrixHeight - 1, MaxTileCol: m.MatrixWidth - 1})
	}
	return all
}

type boundingBox struct {
	LowerLeft  [2]float64 `json:"lowerLeft"`
	UpperRight [2]float64 `json:"upperRight"`
	CRS        string     `json:"crs" schema:"format=uri"`
}

// errBeyondLimits refuses a tile that its tileset does not have.
var errBeyondLimits = endpoint.Refuse(endpoint.ErrTileOutside, "",
	"Ask for a row and a column of the tile matrix, within the limits of the tileset.")

// errNoTileMatrixSet is matched if there is no tile matrix set with a name.
var errNoTileMatrixSet = errors.New("no such tile matrix set")
