package tile

import (
	"math"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
)

// This file serves vector tiles at the addresses of an ArcGIS VectorTileServer, whose tiles have 512 pixels and
// the row before the column.

const arcgisPath = "/arcgis/rest/services/{layers}/VectorTileServer"

const (
	arcgisPixels = 2 * matrixPixels // along an edge of a tile
	arcgisDPI    = 96               // scales refer to it
	arcgisInches = 39.37            // of a metre, as ArcGIS counts
	arcgisSource = "esri"           // the name that clients expect in the style
)

// VectorTileServer is the description of a vector tile service.
type VectorTileServer struct {
	_                  struct{}     `doc:"A vector tile service, as the ArcGIS REST API documents it."`
	CurrentVersion     float64      `json:"currentVersion"`
	Name               string       `json:"name"`
	CopyrightText      string       `json:"copyrightText" doc:"HTML."`
	Capabilities       string       `json:"capabilities"`
	Type               string       `json:"type"`
	DefaultStyles      string       `json:"defaultStyles"`
	Tiles              []string     `json:"tiles"`
	ExportTilesAllowed bool         `json:"exportTilesAllowed"`
	InitialExtent      arcgisObject `json:"initialExtent"`
	FullExtent         arcgisObject `json:"fullExtent"`
	MinScale           float64      `json:"minScale"`
	MaxScale           float64      `json:"maxScale"`
	MinLOD             int          `json:"minLOD"`
	MaxLOD             int          `json:"maxLOD"`
	TileInfo           arcgisObject `json:"tileInfo"`
	ResourceInfo       arcgisObject `json:"resourceInfo"`
}

// arcgisObject is a JSON object of the ArcGIS REST API, which documents it.
type arcgisObject = map[string]any

var arcgisMercator = arcgisObject{"wkid": 102100, "latestWkid": 3857}

const arcgisDocs = "https://developers.arcgis.com/rest/services-reference/enterprise/vector-tile-service/"

var _ = added.Add(func(s *Handlers) endpoint.Endpoint {
	return endpoint.Endpoint{
		Path: arcgisPath,
		ID:   "getArcGISService", Tag: "tiles", Rank: 9,
		Summary:       "A vector tile service for ArcGIS",
		Doc:           "Give its address to ArcGIS, or to QGIS as an ArcGIS vector tile service. It leads to the tiles and to a style.",
		Params:        []endpoint.Param{s.layersParam()},
		IgnoresOthers: true, // clients add f=json and their own
		Handle:        s.getArcGIS, Cost: endpoint.Light, DocsURL: arcgisDocs,
		Answers: endpoint.Content{"application/json": VectorTileServer{}}, CachePolicy: endpoint.CacheTagged,
		Problems: []string{"bad-host", "unknown-layer", "region-not-found", "dataset-missing"},
		Example:  endpoint.Example{Request: "/arcgis/rest/services/country/VectorTileServer"},
	}
})

var _ = added.Add(func(s *Handlers) endpoint.Endpoint {
	return endpoint.Endpoint{
		Path: arcgisPath + "/resources/styles/root.json", OtherPaths: []string{arcgisPath + "/resources/styles"},
		ID: "getArcGISStyle", Tag: "tiles", Rank: 10,
		Summary:       "The style of a vector tile service for ArcGIS",
		Doc:           "As `/style.json` draws these layers. It has names if the server has a source of glyphs.",
		Params:        []endpoint.Param{s.layersParam()},
		IgnoresOthers: true,
		Handle:        s.getArcGISStyle, Cost: endpoint.Light,
		Answers: endpoint.Content{"application/json": MapStyle{}}, CachePolicy: endpoint.CacheTagged,
		Problems: []string{"bad-host", "unknown-layer", "region-not-found", "dataset-missing"},
	}
})

var _ = added.Add(func(s *Handlers) endpoint.Endpoint {
	return endpoint.Endpoint{
		Path: arcgisPath + "/tile/{z}/{y}/{x}.pbf", Route: "/arcgis/rest/services/:layers/VectorTileServer/tile/:z/:y/:file",
		ID: "getArcGISTile", Tag: "tiles", Rank: 11,
		Summary:       "A tile of a vector tile service for ArcGIS",
		Doc:           "The row comes before the column. It is the tile `/tiles/{layers}/{z}/{x}/{y}.pbf?pixels=512`.",
		Params:        []endpoint.Param{s.layersParam(), endpoint.Zoom, endpoint.Row, endpoint.Column},
		IgnoresOthers: true,
		Handle:        s.getArcGISTile, Cost: endpoint.Light,
		Answers: endpoint.Content{"application/vnd.mapbox-vector-tile": nil}, CachePolicy: endpoint.CacheTagged,
		Empty: "The tile is empty.",
		OtherAnswers: endpoint.RefusedAnswers(endpoint.Content{"application/problem+json": nil},
			map[int]string{http.StatusBadRequest: "The zoom, the row or the column is no whole number."}),
		Problems: []string{"tile-outside", "unknown-format", "unknown-layer", "region-not-found", "dataset-missing"},
		Example:  endpoint.Example{Request: "/arcgis/rest/services/country/VectorTileServer/tile/4/5/8.pbf"},
	}
})

// arcgisSet opens the layers that a request names. The caller must release the view.
func (s *Handlers) arcgisSet(c echo.Context, q *endpoint.Params) (v *view, set *layerSet, base string, err error) {
	v = viewOf(q.View())
	var values []string
	if base, err = s.BaseURL(c.Request()); err == nil {
		values, err = endpoint.PathParams(c)
	}
	if err == nil {
		set, err = s.resolveLayers(c.Request().Context(), v, values[0])
	}
	return v, set, base, err
}

// getArcGIS answers GET /arcgis/rest/services/{layers}/VectorTileServer.
func (s *Handlers) getArcGIS(c echo.Context, q *endpoint.Params) error {
	v, set, base, err := s.arcgisSet(c, q)
	defer v.release()
	if err != nil {
		return err
	}
	h, _, live := s.describedBy(v, set, base)
	a := web.Answer{Format: web.FormatJSON, CacheControl: s.CacheControl, Coding: web.AcceptedCoding(c.Request())}
	if a.Tag = h.Bytes("arcgis").Number(uint64(a.Coding)).Tag(); live {
		a.Tag, a.CacheControl = web.Tag{}, web.NoStore
	}
	return s.SendJSON(c, a, func() (any, error) {
		doc, err := describe(c.Request().Context(), v, set, base)
		if err != nil {
			return nil, err
		}
		return newVectorTileServer(doc, set.deepest(false)), nil
	})
}

func newVectorTileServer(doc *TileJSON, deepest int) *VectorTileServer {
	west, south := toMercator(doc.Bounds[0], doc.Bounds[1])
	east, north := toMercator(doc.Bounds[2], doc.Bounds[3])
	extent := arcgisObject{"xmin": west, "ymin": south, "xmax": east, "ymax": north, "spatialReference": arcgisMercator}
	const coarsest = 2 * halfEquator / arcgisPixels // metres a pixel
	scale := func(z int) float64 { return math.Ldexp(coarsest, -z) * arcgisDPI * arcgisInches }
	var levels []arcgisObject
	for z := range deepest + 1 {
		levels = append(levels, arcgisObject{"level": z, "resolution": math.Ldexp(coarsest, -z), "scale": scale(z)})
	}
	return &VectorTileServer{
		CurrentVersion: 10.81, Name: doc.Name, CopyrightText: doc.Attribution, Capabilities: "TilesOnly", Type: "indexedVector",
		DefaultStyles: "resources/styles", Tiles: []string{"tile/{z}/{y}/{x}.pbf"}, InitialExtent: extent, FullExtent: extent,
		MinScale: scale(0), MaxScale: scale(deepest), MaxLOD: deepest,
		TileInfo: arcgisObject{
			"rows": arcgisPixels, "cols": arcgisPixels, "dpi": arcgisDPI, "format": "pbf", "lods": levels,
			"origin": arcgisObject{"x": -halfEquator, "y": halfEquator}, "spatialReference": arcgisMercator,
		},
		ResourceInfo: arcgisObject{"styleVersion": 8, "tileCompression": "gzip"},
	}
}

// toMercator returns a position of EPSG:3857 in metres.
func toMercator(lon, lat float64) (x, y float64) {
	y = math.Log(math.Tan((90+lat)*math.Pi/360)) / math.Pi * halfEquator
	return lon / 180 * halfEquator, min(max(y, -halfEquator), halfEquator)
}

// getArcGISStyle answers GET /arcgis/rest/services/{layers}/VectorTileServer/resources/styles/root.json.
func (s *Handlers) getArcGISStyle(c echo.Context, q *endpoint.Params) error {
	v, set, base, err := s.arcgisSet(c, q)
	defer v.release()
	if err != nil {
		return err
	}
	r := c.Request()
	how := styling{theme: theme.Themes[0], names: s.Glyphs != ""}
	a := web.Answer{Format: web.FormatJSON, CacheControl: s.CacheControl, Coding: web.AcceptedCoding(r), Base: base}
	a.Tag = s.styleTag(r, a, v, base, how, set, nil)
	return s.SendJSON(c, a, func() (any, error) {
		style, err := s.makeStyle(s.WithClientOf(r.Context(), c), v, set, nil, base, how)
		if err != nil {
			return nil, err
		}
		// One service is one source, whose tiles have all layers at every zoom.
		service := base + strings.Replace(arcgisPath, "{layers}", escapeLayers(set.canonical), 1)
		style.Sources = map[string]styleSource{arcgisSource: {Type: "vector", URL: service}}
		for i := range style.Layers {
			if l := &style.Layers[i]; l.Source != "" {
				l.Source = arcgisSource
			}
		}
		return style, nil
	})
}

// getArcGISTile answers GET /arcgis/rest/services/{layers}/VectorTileServer/tile/{z}/{y}/{x}.pbf.
func (s *Handlers) getArcGISTile(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	x, ok := strings.CutSuffix(values[3], ".pbf")
	if !ok {
		return web.ErrFormat
	}
	t, err := endpoint.ParseGridTile(values[1], x, values[2])
	if err != nil {
		return err
	}
	v := viewOf(q.View())
	defer v.release()
	v.double = t.Z < quadkey.MaxZoom
	plain := q.Line(nil) // without what clients add
	return s.sendTile(c, &plain, v, values[0], t, web.FormatMVT, manner{cache: s.CacheControl})
}
