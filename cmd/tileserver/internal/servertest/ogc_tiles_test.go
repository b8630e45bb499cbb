//go:build !race

package servertest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

// A tile of OGC API is the same as that below /tiles: its bytes, its ETag and its cached copy.
func TestOGCTilesAreTheTiles(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	for _, tt := range []struct{ ogc, accept, same string }{
		{"/ogc/tiles/WebMercatorQuad/5/11/16", "", "/tiles/all/5/16/11.mvt"},
		{"/ogc/tiles/WebMercatorQuad/5/11/16?f=mvt", "text/html", "/tiles/all/5/16/11.mvt"},
		{"/ogc/tiles/WebMercatorQuad/5/11/16?f=json", "", "/tiles/all/5/16/11.geojson"},
		{"/ogc/tiles/WebMercatorQuad/5/11/16", "application/geo+json", "/tiles/all/5/16/11.geojson"},
		{"/ogc/tiles/WebMercatorQuad/5/11/16", "image/avif,image/png,image/*;q=0.8,*/*;q=0.5", "/tiles/all/5/16/11.png"},
		{"/ogc/tiles/WebMercatorQuad/5/11/16?collections=places,country", "", "/tiles/places,country/5/16/11.mvt"},
		{"/ogc/tiles/WebMercatorQuad/5/11/16?collections=http://example.com/ogc/collections/country", "", "/tiles/country/5/16/11.mvt"},
		{"/ogc/tiles/WebMercatorQuad/5/11/16?f=mlt", "", "/tiles/all/5/16/11.mlt"},
		{"/ogc/tiles/WebMercatorQuad/5/11/16", "application/vnd.maplibre-tile", "/tiles/all/5/16/11.mlt"},
		{"/ogc/collections/points:cars/tiles/WebMercatorQuad/5/15/17?f=mlt", "", "/tiles/points:cars/5/17/15.mlt"},
		{"/tiles/all/5/16/11", "", "/tiles/all/5/16/11.mvt"},
		{"/tiles/all/5/16/11", "*/*", "/tiles/all/5/16/11.mvt"},
		{"/tiles/all/5/16/11", "application/vnd.maplibre-tile, application/vnd.mapbox-vector-tile;q=0.9", "/tiles/all/5/16/11.mlt"},
		{"/tiles/all/5/16/11", "application/vnd.maplibre-vector-tile", "/tiles/all/5/16/11.mlt"},
		{"/tiles/all/5/16/11", "application/geo+json", "/tiles/all/5/16/11.geojson"},
		{"/tiles/all/5/16/11?theme=dark", "image/avif,image/webp,image/png,image/*,*/*;q=0.8", "/tiles/all/5/16/11.png?theme=dark"},
		{"/tiles/all/5/16/11", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "/tiles/all/5/16/11.png"},
		{"/tiles/points:cars/5/17/15", "application/vnd.maplibre-tile", "/tiles/points:cars/5/17/15.mlt"},
		{"/ogc/map/tiles/WebMercatorQuad/5/11/16", "", "/tiles/all/5/16/11.png"},
		{"/ogc/map/tiles/WebMercatorQuad/5/11/16?f=png&theme=dark", "", "/tiles/all/5/16/11.png?theme=dark"},
		{"/ogc/map/tiles/WebMercatorQuad/22/4194303/0", "", "/tiles/all/22/0/4194303.png"},
		{"/ogc/collections/country/tiles/WebMercatorQuad/5/11/16", "*/*", "/tiles/country/5/16/11.mvt"},
		{"/ogc/collections/places/tiles/WebMercatorQuad/0/0/0?f=json", "", "/tiles/places/0/0/0.geojson"},
		{"/ogc/collections/places/map/tiles/WebMercatorQuad/1/0/1", "", "/tiles/places/1/1/0.png"},
		{"/ogc/collections/points:shops/tiles/WebMercatorQuad/5/15/17", "", "/tiles/points:shops/5/17/15.mvt"},
		{"/ogc/collections/points%3Ashops/tiles/WebMercatorQuad/22/2085500/2330200?f=json", "", "/tiles/points:shops/22/2330200/2085500.geojson"},
		{"/ogc/collections/points:cars/tiles/WebMercatorQuad/5/15/17", "", "/tiles/points:cars/5/17/15.mvt"}, // live
	} {
		want := f.Get(tt.same)
		got := f.Get(tt.ogc, "Accept", tt.accept)
		w, g := servertest.Body(t, want), servertest.Body(t, got)
		if got.StatusCode != want.StatusCode || g != w || w == "" || got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, %d bytes; %s: %d, %d bytes", tt.ogc, got.StatusCode, len(g), tt.same, want.StatusCode, len(w))
		}
		for _, name := range []string{"Content-Type", "Etag", "Cache-Control"} {
			if got.Header.Get(name) != want.Header.Get(name) {
				t.Errorf("%s: %s is %q, want %q", tt.ogc, name, got.Header.Get(name), want.Header.Get(name))
			}
		}
		if varies := strings.Contains(got.Header.Get("Vary"), "Accept,") ||
			got.Header.Get("Vary") == "Accept"; varies == strings.Contains(tt.ogc, "f=") {
			t.Errorf("%s: Vary is %q", tt.ogc, got.Header.Get("Vary"))
		}
		again := f.Get(tt.ogc, "Accept", tt.accept, "If-None-Match", got.Header.Get("Etag"))
		if kept := got.Header.Get("Etag") != ""; kept && again.StatusCode != http.StatusNotModified ||
			!strings.HasPrefix(again.Header.Get("Vary"), got.Header.Get("Vary")) {
			t.Errorf("%s again: %d, Vary %q", tt.ogc, again.StatusCode, again.Header.Get("Vary"))
		}
	}
}

func TestOGCTileErrors(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/ogc/tiles/EuropeanETRS89_LAEAQuad/0/0/0":                  {404, "tile-matrix-set-not-found"},
		"/ogc/tiles/EuropeanETRS89_LAEAQuad":                        {404, "tile-matrix-set-not-found"},
		"/ogc/tileMatrixSets/EuropeanETRS89_LAEAQuad":               {404, "tile-matrix-set-not-found"},
		"/ogc/tiles/WorldCRS84Quad/1/2/0":                           {404, "tile-outside"},
		"/ogc/tiles/WorldCRS84Quad/1/0/4":                           {404, "tile-outside"},
		"/ogc/tiles/WorldCRS84Quad/13/0/0":                          {404, "tile-outside"},
		"/ogc/map/tiles/WorldCRS84Quad/22/0/0":                      {404, "tile-outside"},
		"/ogc/tiles/WorldCRS84Quad/-1/0/0":                          {404, "tile-outside"},
		"/ogc/tiles/WorldCRS84Quad/0/0/0?f=json":                    {400, "bad-parameter"},
		"/ogc/tiles/WebMercatorQuad/1/2/0":                          {404, "tile-outside"},
		"/ogc/tiles/WebMercatorQuad/1/0/2147483647":                 {404, "tile-outside"},
		"/ogc/tiles/WebMercatorQuad/14/0/0":                         {404, "tile-outside"}, // of zoom 13, enlarged
		"/ogc/map/tiles/WebMercatorQuad/23/0/0":                     {404, "tile-outside"},
		"/ogc/tiles/WebMercatorQuad/-1/0/0":                         {404, "tile-outside"},
		"/ogc/tiles/WebMercatorQuad/x/0/0":                          {400, "bad-parameter"},
		"/ogc/tiles/WebMercatorQuad/1/0/1.5":                        {400, "bad-parameter"},
		"/ogc/tiles/WebMercatorQuad/1/0/0?collections=country,moon": {404, "collection-not-found"},
		"/ogc/collections/moon/tiles":                               {404, "collection-not-found"},
		"/ogc/collections/all/tiles":                                {404, "collection-not-found"},
		"/ogc/collections/country:el/tiles/WebMercatorQuad":         {404, "collection-not-found"},
		"/ogc/collections/country,state/tiles/WebMercatorQuad":      {404, "collection-not-found"},
		"/ogc/collections/points:moon/tiles/WebMercatorQuad/0/0/0":  {404, "collection-not-found"},
		"/ogc/collections/stations/tiles":                           {404, "collection-not-found"},
		"/ogc/collections/country/tiles?collections=state":          {400, "bad-parameter"},
	} {
		t.Run(path, func(t *testing.T) { servertest.WantProblem(t, f.Get(path), want.status, want.kind) })
	}
}

// An empty tile within the limits has status 204 even if /tiles answers 404.
func TestOGCEmptyTiles(t *testing.T) {
	f := servertest.New(t, func(c *httpapi.Config) { c.EmptyTile = http.StatusNotFound }, servertest.DefaultDatasets...)
	if res := f.Get("/tiles/country/5/1/1.mvt"); res.StatusCode != http.StatusNotFound {
		t.Errorf("/tiles: %d", res.StatusCode)
	}
	res := f.Get("/ogc/collections/country/tiles/WebMercatorQuad/5/1/1")
	if b := servertest.Body(t, res); res.StatusCode != http.StatusNoContent || b != "" {
		t.Errorf("OGC: %d %q", res.StatusCode, b)
	}
}

// ogcTileset is the part of a tileset that these tests read.
type ogcTileset struct {
	DataType, CRS, TileMatrixSetURI, TileMatrixSetID, Attribution string
	BoundingBox                                                   struct{ LowerLeft, UpperRight [2]float64 }
	TileMatrixSetLimits                                           []struct {
		TileMatrix                                     string
		MinTileRow, MaxTileRow, MinTileCol, MaxTileCol int
	}
	Layers []struct {
		ID                string
		GeometryDimension int
		PropertiesSchema  struct {
			Type       string
			Properties map[string]struct{ Type string }
		}
	}
	Links []struct {
		Href, Rel, Type string
		Templated       bool
	}
}

// href returns the link of a tileset with a relation and a type.
func (s *ogcTileset) href(rel, typ string) string {
	for _, l := range s.Links {
		if l.Rel == rel && l.Type == typ {
			return strings.TrimPrefix(l.Href, "http://example.com")
		}
	}
	return ""
}

func TestOGCTilesets(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	for _, tt := range []struct {
		path, dataType, item string
		layers, zooms        int // in Web Mercator; one zoom less in degrees
	}{
		{"/ogc/tiles", "vector", "application/vnd.mapbox-vector-tile", 7, 14},
		{"/ogc/tiles?collections=places", "vector", "application/geo+json", 1, 14},
		{"/ogc/map/tiles", "map", "image/png", 0, 23},
		{"/ogc/collections/country/tiles", "vector", "application/vnd.mapbox-vector-tile", 3, 14},
		{"/ogc/collections/country/map/tiles", "map", "image/png", 0, 23},
	} {
		t.Run(tt.path, func(t *testing.T) {
			var list struct{ Tilesets []ogcTileset }
			if err := json.Unmarshal([]byte(servertest.Body(t, f.Get(tt.path))), &list); err != nil || len(list.Tilesets) != 2 {
				t.Fatal(err, list)
			}
			for i, set := range []struct {
				id, crs      string
				less, factor int
			}{
				{"WebMercatorQuad", "http://www.opengis.net/def/crs/EPSG/0/3857", 0, 1},
				{"WorldCRS84Quad", "http://www.opengis.net/def/crs/OGC/1.3/CRS84", 1, 2},
			} {
				item := &list.Tilesets[i]
				var s ogcTileset
				if err := json.Unmarshal([]byte(servertest.Body(t, f.Get(item.href("self", "application/json")))), &s); err != nil {
					t.Fatal(err)
				}
				for _, s := range []*ogcTileset{item, &s} {
					if s.DataType != tt.dataType || s.CRS != set.crs || s.TileMatrixSetID != set.id ||
						s.TileMatrixSetURI != "http://www.opengis.net/def/tilematrixset/OGC/1.0/"+set.id || s.Attribution == "" {
						t.Errorf("%+v", s)
					}
					if len(s.TileMatrixSetLimits) != tt.zooms-set.less {
						t.Errorf("limits of %d tile matrices, want %d", len(s.TileMatrixSetLimits), tt.zooms-set.less)
					}
					for z, l := range s.TileMatrixSetLimits {
						if last := 1<<z - 1; l.TileMatrix != strconv.Itoa(z) || l.MaxTileRow != last || l.MaxTileCol != set.factor<<z-1 ||
							l.MinTileRow != 0 || l.MinTileCol != 0 {
							t.Errorf("limits %+v", l)
						}
					}
				}
				if len(s.Layers) != tt.layers || len(item.Layers) != 0 {
					t.Errorf("layers %+v, and %d in the list", s.Layers, len(item.Layers))
				}
				for _, l := range s.Layers {
					want := 0
					switch l.ID {
					case "country", "state":
						want = 2
					case "country_line", "state_line":
						want = 1
					}
					if l.GeometryDimension != want || l.PropertiesSchema.Type != "object" ||
						l.PropertiesSchema.Properties["name"].Type == "" && l.ID == "country" {
						t.Errorf("layer %+v, want dimension %d", l, want)
					}
				}
				var linked struct{ ID string }
				if err := json.Unmarshal([]byte(servertest.Body(t,
					f.Get(s.href("http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme", "application/json")))), &linked); err != nil ||
					linked.ID != set.id {
					t.Errorf("tiling scheme: %v, %v", linked, err)
				}
				for _, l := range s.Links {
					address := strings.TrimPrefix(l.Href, "http://example.com")
					if l.Templated != strings.Contains(address, "{tileRow}") {
						t.Errorf("link %+v", l)
					}
					address = strings.NewReplacer("{tileMatrix}", "1", "{tileRow}", "0", "{tileCol}", strconv.Itoa(set.factor)).Replace(address)
					if !strings.HasPrefix(address, "/ogc?") && !strings.HasPrefix(address, "/ogc/collections/country?") {
						res := f.Get(address)
						if ct, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); res.StatusCode != http.StatusOK || ct != l.Type {
							t.Errorf("%s: %d %s, want %s", address, res.StatusCode, ct, l.Type)
						}
					}
				}
				if s.href("item", tt.item) == "" && (set.less == 0 || tt.item != "application/geo+json") {
					t.Errorf("no tiles of %s", tt.item)
				}
			}
		})
	}
}

// The tile matrix set equals the one in the OGC's register, whose numbers have 15 digits.
func TestWebMercatorQuad(t *testing.T) {
	f := servertest.New(t, nil)
	var set struct {
		TileMatrices []struct {
			ID                                               string
			ScaleDenominator, CellSize                       float64
			PointOfOrigin                                    [2]float64
			TileWidth, TileHeight, MatrixWidth, MatrixHeight int
		}
	}
	if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/ogc/tileMatrixSets/WebMercatorQuad?f=json"))), &set); err != nil {
		t.Fatal(err)
	}
	if len(set.TileMatrices) != quadkey.MaxZoom+1 {
		t.Fatalf("%d tile matrices", len(set.TileMatrices))
	}
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 1e-14 }
	for z, m := range set.TileMatrices {
		n := 1 << z
		if m.ID != strconv.Itoa(z) || !near(m.ScaleDenominator, 559082264.028717/float64(n)) || !near(m.CellSize, 156543.033928041/float64(n)) ||
			!near(m.PointOfOrigin[0], -20037508.3427892) || !near(m.PointOfOrigin[1], 20037508.3427892) ||
			m.TileWidth != 256 || m.TileHeight != 256 || m.MatrixWidth != n || m.MatrixHeight != n {
			t.Errorf("tile matrix %+v", m)
		}
	}
}

// WorldCRS84Quad equals the one in the OGC's register.
func TestWorldCRS84Quad(t *testing.T) {
	f := servertest.New(t, nil)
	var set struct {
		OrderedAxes  [2]string
		TileMatrices []struct {
			ScaleDenominator, CellSize float64
			PointOfOrigin              [2]float64
			MatrixWidth, MatrixHeight  int
		}
	}
	if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/ogc/tileMatrixSets/WorldCRS84Quad?f=json"))), &set); err != nil {
		t.Fatal(err)
	}
	if len(set.TileMatrices) != quadkey.MaxZoom || set.OrderedAxes != [2]string{"Lon", "Lat"} {
		t.Fatalf("%d tile matrices, axes %v", len(set.TileMatrices), set.OrderedAxes)
	}
	for z, m := range set.TileMatrices {
		n := 1 << z
		if math.Abs(m.ScaleDenominator/(279541132.014358/float64(n))-1) > 1e-14 || m.CellSize != 0.703125/float64(n) ||
			m.PointOfOrigin != [2]float64{-180, 90} || m.MatrixWidth != 2*n || m.MatrixHeight != n {
			t.Errorf("tile matrix %+v", m)
		}
	}
}

// Tiles in degrees have the features of those in Web Mercator, kept and live ones, with names and filters.
func TestTilesInDegrees(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	of := func(path string) (ids []string) {
		tile := []byte(servertest.Body(t, f.Get(path)))
		if err := mvt.Validate(tile); err != nil {
			t.Fatalf("%s: %v: %.500s", path, err, tile)
		}
		var v mvt.LayerView
		for rest, ok, err := mvt.NextLayer(tile, &v); ok; rest, ok, err = mvt.NextLayer(rest, &v) {
			for i := 0; i < v.Len() && err == nil; i++ {
				one, err := v.Feature(i)
				tags := ""
				if err := errors.Join(err, v.EachTag(one, func(key, value []byte) bool {
					tags += fmt.Sprintf(" %s=%q", key, value)
					return true
				})); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, fmt.Sprint(string(v.Name), one.ID, tags))
			}
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	for _, tt := range []struct{ collections, query string }{
		{"country,state", ""}, {"country,places", "&names=fr"}, {"points:cars", ""}, {"places", "&class=P"},
	} {
		query := "?f=mvt&collections=" + tt.collections + tt.query
		var both [2][]string
		for x := range 2 {
			for y := range 2 {
				both[0] = append(both[0], of(fmt.Sprintf("/ogc/tiles/WebMercatorQuad/1/%d/%d%s", y, x, query))...)
			}
			both[1] = append(both[1], of(fmt.Sprintf("/ogc/tiles/WorldCRS84Quad/0/0/%d%s", x, query))...)
		}
		for i := range both {
			slices.Sort(both[i])
			both[i] = slices.Compact(both[i])
		}
		if !slices.Equal(both[0], both[1]) || len(both[0]) == 0 {
			t.Errorf("%v:\n%q in Web Mercator\n%q in degrees", tt, both[0], both[1])
		}
	}
	mercator, degrees := f.Get("/ogc/tiles/WebMercatorQuad/1/0/1"), f.Get("/ogc/tiles/WorldCRS84Quad/0/0/1")
	if tag := degrees.Header.Get("Etag"); tag == "" || tag == mercator.Header.Get("Etag") {
		t.Errorf("the ETag of both is %q", tag)
	}
	if res := f.Get("/ogc/map/tiles/WorldCRS84Quad/0/0/1?theme=dark"); res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "image/png" {
		t.Errorf("a picture: %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
}

// TestOGCTilesetsOfPointsAlone tests the tilesets of all data if there are only collections of
// points: they have these collections.
func TestOGCTilesetsOfPointsAlone(t *testing.T) {
	w, _ := servertest.NewCollections(t)
	cfg := w.Config
	cfg.Boundaries, cfg.Places, cfg.Airports = nil, nil, nil
	alone := &servertest.Server{T: t, Handler: httpapi.New(cfg)}
	var s ogcTileset
	if err := json.Unmarshal([]byte(servertest.Body(t, alone.Get("/ogc/tiles/WebMercatorQuad"))), &s); err != nil {
		t.Fatal(err)
	}
	var layers []string
	for _, l := range s.Layers {
		layers = append(layers, l.ID)
	}
	if got := strings.Join(layers, " "); got != "points:cars points:shops points:shops_label" ||
		len(s.TileMatrixSetLimits) != quadkey.MaxZoom+1 {
		t.Errorf("layers %s, %d tile matrices", got, len(s.TileMatrixSetLimits))
	}
	if res := alone.Get("/ogc/tiles/WebMercatorQuad/5/15/17"); res.StatusCode != http.StatusOK ||
		res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("a tile with a live collection: %d, %s", res.StatusCode, res.Header.Get("Cache-Control"))
	}
}

// TestDescribedAsAsked tests that the description of a layer lists the kinds of questions that the
// layer can answer.
func TestDescribedAsAsked(t *testing.T) {
	w := servertest.NewWhole(t)
	for name, want := range map[string]string{
		"places": `"can":["near","area","importance"]`, "stations": `"can":["near","area"]`, "points:shops": `"can":["near","area","sort"]`,
	} {
		if text := servertest.Body(t, w.Get("/ogc/collections/"+name+"?f=json")); !strings.Contains(text, want) {
			t.Errorf("%s lacks %s: %s", name, want, text)
		}
	}
}
