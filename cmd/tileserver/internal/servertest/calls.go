package servertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"quadrille/ask"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/httpapi"
)

// declaredCalls returns the requests for a path, or else the example that its endpoint declares.
func declaredCalls(o *Operation) (calls []string) {
	asks := "" // the method in the names of contractCalls
	if o.Method == http.MethodPost {
		asks = "POST "
	}
	if calls = contractCalls[o.Path]; calls != nil {
		return calls
	}
	for _, e := range DeclaredEndpoints() {
		if e.ID == o.Members["operationId"] && e.Example.Request != "" {
			if e.Example.Body != "" {
				return []string{e.Example.Request + " | Body: " + e.Example.Body}
			}
			return []string{e.Example.Request}
		}
	}
	name := openLayer(o.Path)
	if name == "" {
		return nil
	}
	// The layer has the points of a collection, so its requests are those of the collection.
	const collection = "/points/" + toyworld.ShopsCollection + "/"
	end := strings.NewReplacer("/"+name+"/", "", "{region_type}/{region_id}", "{type}/{id}").Replace(o.Path)
	for _, call := range contractCalls[asks+"/points/{collection}/"+end] {
		if rest, ok := strings.CutPrefix(call, collection); ok {
			calls = append(calls, "/"+name+"/"+rest)
		}
	}
	return calls
}

// openLayer returns the data set of a path, if the path begins with the name of a layer.
func openLayer(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if slices.Contains(new(ask.Sets).OpenLayerNames(), name) {
		return name
	}
	return ""
}

// DeclaredEndpoints returns the endpoints of a server.
var DeclaredEndpoints = sync.OnceValue(func() []endpoint.Endpoint {
	return httpapi.Compose(&httpapi.Config{},
		httpapi.Faces()).Endpoints()
})

// FirstCall returns the address of the first of contractCalls. For a path without a call it returns
// the path itself; TestAnswersAreAsDescribed reports such paths.
func FirstCall(o *Operation) string {
	calls := contractCalls[o.Method+" "+o.Path]
	if calls == nil {
		calls = declaredCalls(o)
	}
	if len(calls) == 0 {
		return o.Path
	}
	path, _, _ := strings.Cut(calls[0], " | ")
	return path
}

// Pin puts the generations a server has into the address of a pinned tile.
func (f *Server) Pin(call string) string {
	if !strings.HasPrefix(call, "{pinned}") {
		return call
	}
	var doc struct{ Tiles []string }
	if err := json.NewDecoder(f.Get("/tiles/all.json?pinned=true").Body).Decode(&doc); err != nil || len(doc.Tiles) == 0 {
		f.T.Fatalf("no pinned address: %v, %v", doc.Tiles, err)
	}
	_, rest, _ := strings.Cut(doc.Tiles[0], "/g/")
	generations, _, _ := strings.Cut(rest, "/")
	return strings.Replace(call, "{pinned}", "/g/"+generations, 1)
}

// HeadersOf returns the headers and the body from the parts of a call.
func HeadersOf(parts []string) (headers []string, sent io.Reader) {
	for _, h := range parts {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Body" {
			sent = strings.NewReader(value)
			continue
		}
		headers = append(headers, name, value)
	}
	return headers, sent
}

// Call sends one of contractCalls, with its headers and body.
func (f *Server) Call(method, call string) *http.Response {
	parts := strings.Split(f.Pin(call), " | ")
	headers, sent := HeadersOf(parts[1:])
	if sent != nil {
		return f.SendTo(method, parts[0], sent, headers...)
	}
	return f.Do(method, parts[0], headers...)
}

// drawnBody is a polygon around the continent of the tests' world.
const drawnBody = `{"type":"Feature","properties":null,"geometry":{"type":"Polygon","coordinates":[[[4,46],[9,46],[9,50],[4,50],[4,46]]]}}`

// contractCalls lists requests by path: first those with a good answer in the tests' worlds, then
// those that fail. Every path has at least one.
var contractCalls = map[string][]string{
	"/tiles/{layers}/{z}/{x}/{y}.{format}": {"/tiles/all/5/16/11.mvt", "/tiles/country/5/16/11.pbf", "/tiles/all/5/16/11.geojson",
		"/tiles/all/5/16/11.png", "/tiles/country/5/0/0.mvt",
		"/tiles/planet/1/0/0.mvt", "/tiles/country:zz/1/0/0.mvt", "/tiles/country/1/9/0.mvt", "/tiles/country/1/0/0.gif",
		"/tiles/country/a/0/0.mvt"},
	"/tiles/{layers}/{z}/{x}/{y}":        {"/tiles/country/5/16/11", "/tiles/country/23/0/0"},
	"/tiles/{layers}/{z}/{x}/{y}@2x.png": {"/tiles/country/5/16/11@2x.png", "/tiles/country/23/0/0@2x.png"},
	"/g/{generations}/tiles/{layers}/{z}/{x}/{y}.{format}": {"{pinned}/tiles/all/5/16/11.mvt",
		"{pinned}/tiles/country/5/16/11.geojson", "{pinned}/tiles/country/5/0/0.mvt",
		"/g/9.9.9-00000000/tiles/all/5/16/11.mvt", "/g/x/tiles/all/5/16/11.mvt", "{pinned}/tiles/planet/1/0/0.mvt"},
	"/tiles/{layers}.json":     {"/tiles/all.json", "/tiles/all.json?pinned=true", "/tiles/places.json", "/tiles/planet.json"},
	"/tiles/{layers}.mlt.json": {"/tiles/all.mlt.json", "/tiles/country,places.mlt.json?pinned=true", "/tiles/planet.mlt.json"},
	"/tiles/{layers}.png.json": {
		"/tiles/all.png.json",
		"/tiles/country,places.png.json?pinned=true&scale=2&theme=dark",
		"/tiles/places.png.json?theme=red",
		"/tiles/planet.png.json",
	},
	"/ogc":                            {"/ogc", "/ogc?f=html", "/ogc?f=xml"},
	"/ogc/":                           {"/ogc/", "/ogc/ | Accept: text/html"},
	"/ogc/conformance":                {"/ogc/conformance", "/ogc/conformance?f=html", "/ogc/conformance?f=xml"},
	"/ogc/api":                        {"/ogc/api", "/ogc/api?f=html", "/ogc/api?f=yaml"},
	"/ogc/collections":                {"/ogc/collections", "/ogc/collections?f=html", "/ogc/collections?f=xml"},
	"/ogc/collections/{collectionId}": {"/ogc/collections/country", "/ogc/collections/places?f=html", "/ogc/collections/moon"},
	"/ogc/collections/{collectionId}/queryables": {
		"/ogc/collections/country/queryables",
		"/ogc/collections/places/queryables?f=html",
		"/ogc/collections/moon/queryables",
	},
	"/ogc/collections/{collectionId}/items": {"/ogc/collections/country/items", "/ogc/collections/places/items?limit=1",
		"/ogc/collections/country/items?f=html", "/ogc/collections/country/items?bbox=0,0,1",
		"/ogc/collections/places/items?filter=population%20%3E%201%20AND%20S_INTERSECTS(geometry,BBOX(0,0,9,9))",
		"/ogc/collections/places/items?country=DE&crs=http://www.opengis.net/def/crs/EPSG/0/3857", "/ogc/collections/moon/items",
		"/ogc/collections/places/items?cursor=x", "/ogc/collections/country/items?size=1"},
	"/ogc/collections/{collectionId}/count": {"/ogc/collections/places/count?by=country", "/ogc/collections/country/count?f=csv&by=name",
		"/ogc/collections/places/count?f=geojson&by=country", "/ogc/collections/country/count?by=tile:3",
		"/ogc/collections/places/count?filter=population%20%3E%201", "/ogc/collections/moon/count"},
	"/ogc/collections/{collectionId}/items/{featureId}": {
		"/ogc/collections/places/items/1",
		"/ogc/collections/places/items/x",
		"/ogc/collections/moon/items/x",
		"/ogc/collections/places/items/1?f=html",
	},
	"/ogc/tileMatrixSets": {"/ogc/tileMatrixSets", "/ogc/tileMatrixSets?f=html", "/ogc/tileMatrixSets?f=xml"},
	"/ogc/tileMatrixSets/{tileMatrixSetId}": {
		"/ogc/tileMatrixSets/WebMercatorQuad",
		"/ogc/tileMatrixSets/WorldCRS84Quad",
		"/ogc/tileMatrixSets/WebMercatorQuad | Accept: text/html",
		"/ogc/tileMatrixSets/x",
	},
	"/ogc/tiles": {"/ogc/tiles", "/ogc/tiles?f=html", "/ogc/tiles?collections=moon"},
	"/ogc/tiles/{tileMatrixSetId}": {
		"/ogc/tiles/WebMercatorQuad?collections=country",
		"/ogc/tiles/WebMercatorQuad?f=html",
		"/ogc/tiles/WorldCRS84Quad?collections=country",
		"/ogc/tiles/x",
	},
	"/ogc/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": {"/ogc/tiles/WebMercatorQuad/5/11/16", "/ogc/tiles/WorldCRS84Quad/4/3/16",
		"/ogc/tiles/WebMercatorQuad/5/11/16?f=json", "/ogc/tiles/WebMercatorQuad/5/11/16?f=png&theme=dark",
		"/ogc/tiles/WebMercatorQuad/5/0/0?collections=country", "/ogc/tiles/WebMercatorQuad/1/2/0",
		"/ogc/tiles/WebMercatorQuad/x/0/0", "/ogc/tiles/x/0/0/0", "/ogc/tiles/WebMercatorQuad/0/0/0?collections=moon",
		"/ogc/tiles/WebMercatorQuad/0/0/0?f=gif"},
	"/ogc/map/tiles":                   {"/ogc/map/tiles", "/ogc/map/tiles?collections=country&f=html", "/ogc/map/tiles?collections=moon"},
	"/ogc/map/tiles/{tileMatrixSetId}": {"/ogc/map/tiles/WebMercatorQuad", "/ogc/map/tiles/WebMercatorQuad?f=html", "/ogc/map/tiles/x"},
	"/ogc/map/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": {"/ogc/map/tiles/WebMercatorQuad/5/11/16", "/ogc/map/tiles/WorldCRS84Quad/4/3/16",
		"/ogc/map/tiles/WebMercatorQuad/5/11/16?f=png&collections=country", "/ogc/map/tiles/WebMercatorQuad/23/0/0",
		"/ogc/map/tiles/WebMercatorQuad/1/0/0?f=mvt",
		"/ogc/map/tiles/x/0/0/0"},
	"/ogc/collections/{collectionId}/tiles": {
		"/ogc/collections/country/tiles",
		"/ogc/collections/places/tiles?f=html",
		"/ogc/collections/moon/tiles",
	},
	"/ogc/collections/{collectionId}/tiles/{tileMatrixSetId}": {
		"/ogc/collections/country/tiles/WebMercatorQuad",
		"/ogc/collections/places/tiles/WebMercatorQuad?f=html",
		"/ogc/collections/places/tiles/x",
	},
	"/ogc/collections/{collectionId}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": {"/ogc/collections/country/tiles/WebMercatorQuad/5/11/16", "/ogc/collections/country/tiles/WebMercatorQuad/5/0/0", "/ogc/collections/places/tiles/WebMercatorQuad/5/11/16?f=json",
		"/ogc/collections/country/tiles/WebMercatorQuad/5/11/16?f=png", "/ogc/collections/moon/tiles/WebMercatorQuad/0/0/0",
		"/ogc/collections/country/tiles/WebMercatorQuad/14/0/0"},
	"/ogc/collections/{collectionId}/map/tiles": {
		"/ogc/collections/country/map/tiles",
		"/ogc/collections/country/map/tiles?f=html",
		"/ogc/collections/moon/map/tiles",
	},
	"/ogc/collections/{collectionId}/map/tiles/{tileMatrixSetId}": {
		"/ogc/collections/country/map/tiles/WebMercatorQuad",
		"/ogc/collections/country/map/tiles/WebMercatorQuad?f=html",
		"/ogc/collections/country/map/tiles/x",
	},
	"/ogc/collections/{collectionId}/map/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": {
		"/ogc/collections/country/map/tiles/WebMercatorQuad/5/11/16",
		"/ogc/collections/country/map/tiles/WebMercatorQuad/5/11/16?f=mvt",
		"/ogc/collections/moon/map/tiles/WebMercatorQuad/0/0/0",
	},
	"/wmts/1.0.0/WMTSCapabilities.xml": {"/wmts/1.0.0/WMTSCapabilities.xml"},
	"/wmts": {
		"/wmts?REQUEST=GetTile&LAYER=places&FORMAT=application/vnd.mapbox-vector-tile&TILEMATRIXSET=WebMercatorQuad&TILEMATRIX=5&TILEROW=11&TILECOL=16&fields=name",
		"/wmts?service=WMTS&version=1.0.0&request=GetTile&layer=country&style=light&format=image/png&tilematrixset=WebMercatorQuad&tilematrix=5&tilerow=11&tilecol=16",
		"/wmts?REQUEST=GetCapabilities",
		"/wmts?REQUEST=GetTile&LAYER=planet&TILEMATRIXSET=WebMercatorQuad&TILEMATRIX=5&TILEROW=11&TILECOL=16",
		"/wmts?REQUEST=GetTile&LAYER=country&TILEMATRIXSET=x&TILEMATRIX=5&TILEROW=11&TILECOL=16",
		"/wmts",
	},
	"/arcgis/rest/services/{layers}/VectorTileServer": {
		"/arcgis/rest/services/country/VectorTileServer?f=json",
		"/arcgis/rest/services/planet/VectorTileServer?f=json",
	},
	"/arcgis/rest/services/{layers}/VectorTileServer/resources/styles/root.json": {
		"/arcgis/rest/services/country/VectorTileServer/resources/styles/root.json",
		"/arcgis/rest/services/planet/VectorTileServer/resources/styles/root.json",
	},
	"/arcgis/rest/services/{layers}/VectorTileServer/resources/styles": {
		"/arcgis/rest/services/country/VectorTileServer/resources/styles?f=json",
	},
	"/arcgis/rest/services/{layers}/VectorTileServer/tile/{z}/{y}/{x}.pbf": {
		"/arcgis/rest/services/country/VectorTileServer/tile/5/11/16.pbf",
		"/arcgis/rest/services/country/VectorTileServer/tile/5/1/1.pbf",
		"/arcgis/rest/services/planet/VectorTileServer/tile/5/11/16.pbf",
	},
	"/sprite.json":    {"/sprite.json"},
	"/sprite.png":     {"/sprite.png"},
	"/sprite@2x.json": {"/sprite@2x.json"},
	"/sprite@2x.png":  {"/sprite@2x.png"},
	"/style.json": {
		"/style.json",
		"/style.json?layers=country,places&theme=dark",
		"/style.json?layers=planet",
		"/style.json?layers=",
		"/style.json?theme=red",
		"/style.json?lang=de",
	},
	"/at": {
		"/at?lat=47.4&lon=8.5&at=2026-01-15T11:30:00Z",
		"/at?lat=47.4&lon=8.5",
		"/at?lat=0&lon=-140&lang=fr",
		"/at?lat=47.4&lon=8.5&types=planet",
	},
	"/geocode": {
		"/geocode?q=zur",
		"/geocode?q=zur&limit=1&lat=1&lon=2&lang=fr&format=geojson",
		"/geocode?q=47.4,8.5",
		"/geocode",
	},
	"/reverse": {"/reverse?lat=47.4&lon=8.5", "/reverse?lat=47.4&lon=8.5&format=geojson&kinds=region", "/reverse?lat=91&lon=0"},
	"POST /at": {
		"/at?at=2026-01-15T11:30:00Z | Body: " +
			"47.4,8.5\n{\"lat\":0,\"lon\":-140,\"lang\":\"fr\"}\nx\n{\"lat\":47.4,\"lon\":8.5,\"types\":[\"planet\"]}",
		"/at | Body: x | Content-Encoding: br",
		"/at?lag=1 | Body: x",
	},
	"POST /join": {
		"/join?regions=country&nearest=airport:iata | Body: " + "name,lat,lon\nhome,47.4,8.5\nlost,91,0\n",
		"/join?timezone=true | Body: " + "{\"lat\":47.4,\"lon\":8.5}\nx\n",
		"/join | Body: x | Content-Encoding: br",
		"/join?regions=planet | Body: x",
	},
	"POST /geocode/reverse": {
		"/geocode/reverse | Body: 47.4,8.5\nx",
		"/geocode/reverse | Body: x | Content-Type: multipart/form-data; boundary=x",
	},
	"POST /reverse": {
		"/reverse | Body: 47.4,8.5\n{\"lat\":0,\"lon\":-140,\"lang\":\"fr\"}\n91,0\nx",
		"/reverse | Body: x | Content-Type: multipart/form-data; boundary=x",
		"/reverse?format=json | Body: x",
	},
	"POST /geocode": {
		"/geocode?limit=2 | Body: {\"q\":\"zur\"}\n{\"q\":\"47.4, 8.5\",\"lang\":\"fr\"}\n{}\nx",
		"/geocode | Body: x | Content-Encoding: br",
	},
	"/regions/at": {"/regions/at?lat=48&lon=6", "/regions/at?lat=48&lon=6&snap=50000", "/regions/at?lat=10&lon=-30&snap=10"},
	"/regions/within": {
		"/regions/within?bbox=4,46,6,50",
		"/regions/within?bbox=4,46,6,50&limit=1",
		"/regions/within?bbox=4,46,9,50&types=country&id=el",
		"/regions/within?region=country:wl",
		"/regions/within?tile=5/16/11&types=state",
		"/regions/within?polygon=4,46,9,46,9,50&shares=true",
		"/regions/within?bbox=4,46,9,50&types=country&id=zz",
	},
	"POST /regions/within": {
		"/regions/within | Body: " + drawnBody,
		"/regions/within?types=country&shares=true&limit=1 | Body: " + drawnBody,
		"/regions/within?shares=true&format=geojson | Body: " + drawnBody,
		"/regions/within?types=planet | Body: " + drawnBody,
		"/regions/within | Body: {}",
	},
	"POST /regions/count":   {"/regions/count | Body: " + drawnBody, "/regions/count?types=country | Body: x"},
	"POST /places/within":   {"/places/within?limit=1 | Body: " + drawnBody, "/places/within?format=geojson&radius=10 | Body: " + drawnBody, "/places/within | Body: x"},
	"POST /places/count":    {"/places/count | Body: " + drawnBody, "/places/count | Body: null"},
	"POST /airports/within": {"/airports/within?limit=1 | Body: " + drawnBody, "/airports/within?format=geojson&radius=10 | Body: " + drawnBody, "/airports/within | Body: x"},
	"POST /airports/count":  {"/airports/count | Body: " + drawnBody, "/airports/count | Body: null"},
	"POST /stations/within": {"/stations/within?limit=1 | Body: " + drawnBody, "/stations/within?format=geojson&radius=10 | Body: " + drawnBody, "/stations/within | Body: x"},
	"POST /stations/count":  {"/stations/count | Body: " + drawnBody, "/stations/count | Body: null"},
	"POST /points/{collection}/within": {
		"/points/shops/within?limit=2 | Body: " + drawnBody,
		"/points/drivers/within?format=ndjson | Body: " + drawnBody,
		"/points/shops/within?radius=1000&sort=-price&category=cafe | Body: {\"type\":\"LineString\",\"coordinates\":[[5,47],[6,48]]}",
		"/points/shops/within | Body: {\"type\":\"LineString\",\"coordinates\":[[5,47],[6,48]]}",
	},
	"POST /points/{collection}/count": {
		"/points/shops/count?category=cafe | Body: " + drawnBody,
		"/points/shops,drivers/count | Body: " + drawnBody,
		"/points/shops/count | Body: [1,2]",
	},
	"/regions/nearby": {
		"/regions/nearby?lat=48&lon=6",
		"/regions/nearby?lat=48&lon=6&types=country&limit=1&format=geojson",
		"/regions/nearby?lat=48&lon=6&cursor=AAAA",
		"/regions/nearby?from=country:el",
		"/regions/nearby?from=country:zz",
		"/regions/nearby?lat=0&lon=-140&radius=5",
	},
	"/regions/count":       {"/regions/count", "/regions/count?bbox=4,46,6,50&types=country", "/regions/count?types=planet"},
	"/regions/{type}/{id}": {"/regions/country/el", "/regions/country/el?geometry=true", "/regions/country/zz", "/regions/planet/zz"},
	"/places/nearby": {
		"/places/nearby?lat=48&lon=6&limit=2",
		"/places/nearby?lat=48&lon=6&format=geojson",
		"/places/nearby?lat=48&lon=6&cursor=AAAA",
		"/places/nearby?from=country:el",
	},
	"/places/within": {
		"/places/within?bbox=5,45,11,48.5&limit=2",
		"/places/within?tile=4/8/5",
		"/places/within?tile=4/8/5&format=geojson",
		"/places/within?polygon=8,47&radius=100000&limit=1",
		"/places/within",
	},
	"/places/search": {
		"/places/search?q=zur",
		"/places/search?q=zur&limit=1&lat=1&lon=2&lang=fr",
		"/places/search?q=pdx",
		"/places/search?q=kpdx&format=geojson",
		"/places/search?q=zur&lat=1",
	},
	"/places/{id}":            {"/places/2657896", "/places/2661552", "/places/1", "/places/x"},
	"/countries/{code}":       {"/countries/CH", "/countries/ch?lang=fr", "/countries/PE", "/countries/ZZ", "/countries/CH/x"},
	"/places/{id}/offset":     {"/places/2657896/offset?at=2026-07-01T12:00:00Z", "/places/2657896/offset", "/places/1/offset"},
	"/airports/{code}":        {"/airports/WLD", "/airports/WLD?local=true", "/airports/ZZZZ", "/airports/a_b"},
	"/airports/{code}/offset": {"/airports/WLD/offset", "/airports/WLD/offset?at=2026-07-01T12:00:00Z", "/airports/ZZZZ/offset"},
	"/airports/nearby": {
		"/airports/nearby?lat=48&lon=6&limit=2",
		"/airports/nearby?lat=48&lon=6&closed=true&format=geojson",
		"/airports/nearby?lat=48&lon=6&cursor=AAAA",
	},
	"/airports/within": {"/airports/within?bbox=4,46,9,50&limit=2", "/airports/within?bbox=4,46,9,50&format=geojson"},
	"/places/within/{region_type}/{region_id}": {
		"/places/within/country/wl?limit=2",
		"/places/within/state/wl-n?format=geojson&class=P",
		"/places/within/country/wl?format=ndjson",
		"/places/within/planet/x",
		"/places/within/country/x",
	},
	"/airports/within/{region_type}/{region_id}": {
		"/airports/within/country/wl?limit=2",
		"/airports/within/country/wl?format=ndjson&closed=true",
		"/airports/within/country/x",
	},
	"/stations/within/{region_type}/{region_id}": {
		"/stations/within/country/wl?limit=2",
		"/stations/within/country/wl?format=geojson",
		"/stations/within/planet/x",
	},
	"/stations/nearest": {"/stations/nearest?lat=47&lon=8", "/stations/nearest?lat=47&lon=8&format=geojson"},
	"/stations/nearby": {
		"/stations/nearby?lat=47&lon=8",
		"/stations/nearby?lat=47&lon=8&format=geojson&at=1980-01-01&country=CH",
	},
	"/stations/within": {
		"/stations/within?bbox=7,46,9,48&limit=1",
		"/stations/within?bbox=7,46,9,48&format=geojson",
		"/stations/within?bbox=7,46,9,48&cursor=x",
	},
	"/stations/{id}": {
		"/stations/066600-99999",
		"/stations/A00001-00001",
		"/stations/000000-00000",
		"/stations/x",
	},
	"/stations/{id}/tiles": {"/stations/066600-99999/tiles", "/stations/000000-00000/tiles"},
	"/stations/{id}/observations": {
		"/stations/066600-99999/observations?limit=2",
		"/stations/000000-00000/observations",
		"/stations/066600-99999/observations?from=2",
	},
	"/weather/{z}/{x}/{y}.json": {
		"/weather/4/8/5.json?at=2024-01-01T06:00:00Z",
		"/weather/0/0/0.json",
		"/weather/9/0/0.json",
		"/weather/1/0/0.xml",
	},
	"/ip/{addr}": {
		"/ip/" + CityIP,
		"/ip/" + InsightIP,
		"/ip/" + CountryIP,
		"/ip/" + CityIP + "?fields=city&lang=de",
		"/ip/10.0.0.1",
		"/ip/" + GapIP,
		"/ip/x",
	},
	"/ip/me": {
		"/ip/me | X-Forwarded-For: " + CityIP,
		"/ip/me | X-Forwarded-For: 10.1.1.1",
		"/ip/me?lang=_",
	},
	"/ip/batch": {
		"/ip/batch | Body: " + CityIP + "\n10.0.0.1\nx\n" + CountryIP,
		"/ip/batch?lang=_ | Body: x",
		"/ip/batch | Body: x | Content-Encoding: br",
		"/ip/batch | Body: x | Content-Type: multipart/form-data; boundary=x",
	},
	"/ip/ranges": {"/ip/ranges?country=de", "/ip/ranges?country=de&format=json",
		"/ip/ranges?asn=AS64500&version=6", "/ip/ranges?country=de | Accept: application/x-ndjson",
		"/ip/ranges?country=ch&format=nft", "/ip/ranges?country=ch&asn=64500&format=ipset&version=4", "/ip/ranges",
		"/ip/ranges?country=germany", "/ip/ranges?asn=0"},
	"/ip/headers":        {"/ip/headers", "/ip/headers | X-Forwarded-For: " + CityIP},
	"/ip/headers/{path}": {"/ip/headers/shop/cart"},
	"/geoip/v2.1/country/{addr}": {
		"/geoip/v2.1/country/" + CityIP,
		"/geoip/v2.1/country/x",
		"/geoip/v2.1/country/" + GapIP,
		"/geoip/v2.1/country/" + CityIP + " | Accept: text/html",
	},
	"/geoip/v2.1/country":  {"/geoip/v2.1/country"},
	"/geoip/v2.1/country/": {"/geoip/v2.1/country/"},
	"/geoip/v2.1/city/{addr}": {
		"/geoip/v2.1/city/" + CityIP,
		"/geoip/v2.1/city/" + InsightIP,
		"/geoip/v2.1/city/10.0.0.1",
		"/geoip/v2.1/city/" + CityIP + " | Accept-Charset: latin1",
	},
	"/geoip/v2.1/city":            {"/geoip/v2.1/city"},
	"/geoip/v2.1/city/":           {"/geoip/v2.1/city/"},
	"/geoip/v2.1/insights/{addr}": {"/geoip/v2.1/insights/" + CityIP},
	"/geoip/v2.1/insights":        {"/geoip/v2.1/insights"},
	"/geoip/v2.1/insights/":       {"/geoip/v2.1/insights/"},
	"/search":                     {"/search?q=zur&type=json", "/search?q=zur&callback=cb"},
	"/searchJSON":                 {"/searchJSON?q=zur&style=FULL", "/searchJSON?country=CH&maxRows=1", "/searchJSON"},
	"/findNearby":                 {"/findNearby?lat=47.45&lng=8.55&type=json"},
	"/findNearbyJSON": {
		"/findNearbyJSON?lat=47.45&lng=8.55&maxRows=3&style=FULL",
		"/findNearbyJSON?lat=0&lng=0&radius=1",
		"/findNearbyJSON",
	},
	"/findNearbyPlaceName": {"/findNearbyPlaceName?lat=47.59&lng=7.9&maxRows=1&callback=cb"},
	"/findNearbyPlaceNameJSON": {
		"/findNearbyPlaceNameJSON?lat=47.59&lng=7.9&localCountry=true&style=FULL",
		"/findNearbyPlaceNameJSON?lat=0&lng=0&radius=301",
	},
	"/get":      {"/get?geonameId=2657896&type=json"},
	"/getJSON":  {"/getJSON?geonameId=2657896", "/getJSON?geonameId=7280291", "/getJSON?geonameId=1"},
	"/timezone": {"/timezone?lat=47.01&lng=10.2&type=json"},
	"/timezoneJSON": {
		"/timezoneJSON?lat=47.01&lng=10.2&date=2026-01-01",
		"/timezoneJSON?lat=-90&lng=0",
		"/timezoneJSON?lat=0&lng=-140",
		"/timezoneJSON?lat=1&lng=1&date=x",
	},
	"/countryCode": {
		"/countryCode?lat=47.03&lng=10.2",
		"/countryCode?lat=0&lng=-140",
		"/countryCode?lat=47.03&lng=10.2&type=json",
	},
	"/countryCodeJSON":    {"/countryCodeJSON?lat=45.7&lng=7&radius=20&lang=de", "/countryCodeJSON?lat=0&lng=-140"},
	"/countrySubdivision": {"/countrySubdivision?lat=47.36&lng=8.55&type=json"},
	"/countrySubdivisionJSON": {
		"/countrySubdivisionJSON?lat=47.36&lng=8.55&level=5",
		"/countrySubdivisionJSON?lat=-12.1&lng=-77",
		"/countrySubdivisionJSON?lat=0&lng=-140",
	},
	"/geocode/reverse": {"/geocode/reverse?lat=47.4&lon=8.5"},
	"/photon/api": {
		"/photon/api?q=zur",
		"/photon/api?q=zur&layer=city&osm_tag=place:city&lang=fr",
		"/photon/api?q=bern | Accept-Language: fr",
		"/photon/api",
		"/photon/api?q=a&bbox=1",
	},
	"/photon/api/": {"/photon/api/?q=zur&lat=47&lon=8&limit=1"},
	"/photon/reverse": {
		"/photon/reverse?lat=47.4&lon=8.5",
		"/photon/reverse?lat=47.4&lon=8.5&limit=50",
		"/photon/reverse?lat=0&lon=-140",
		"/photon/reverse?lat=47.4",
	},
	"/photon/reverse/":     {"/photon/reverse/?lat=47.4&lon=8.5&lang=it"},
	"/points":              {"/points"},
	"/points/{collection}": {"/points/shops", "/points/drivers", "/points/secret", "/points/a,b"},
	"/basemap/{name}/{z}/{x}/{y}.{format}": {
		"/basemap/gzip/1/0/0.mvt",
		"/basemap/red/0/0/0.png",
		"/basemap/gzip/1/0/1.mvt",
		"/basemap/none/0/0/0.mvt",
		"/basemap/gzip/0/0/0.png",
		"/basemap/gzip/1/2/0.mvt",
		"/basemap/bad/1/0/0.mvt",
	},
	"/basemap/{name}.json": {"/basemap/gzip.json", "/basemap/red.json", "/basemap/none.json"},
	"/nominatim/search": {"/nominatim/search?q=zur",
		"/nominatim/search?q=zur&format=json&addressdetails=1&extratags=1&namedetails=1&polygon_geojson=1",
		"/nominatim/search?q=zur&format=geojson&addressdetails=1",
		"/nominatim/search?q=zur&format=geocodejson&addressdetails=1&extratags=1", "/nominatim/search?q=zur&format=xml",
		"/nominatim/search?q=zur&json_callback=f", "/nominatim/search?q=bern | Accept-Language: fr", "/nominatim/search",
		"/nominatim/search?q=a&format=html"},
	"/nominatim/search.php": {"/nominatim/search.php?city=zur&country=ch"},
	"/nominatim/reverse": {
		"/nominatim/reverse?lat=47.4&lon=8.5",
		"/nominatim/reverse?lat=47.4&lon=8.5&format=jsonv2",
		"/nominatim/reverse?lat=47.4&lon=8.5&format=geocodejson&zoom=5",
		"/nominatim/reverse?lat=0&lon=-140&format=json",
		"/nominatim/reverse?lat=47.4",
	},
	"/nominatim/reverse.php": {"/nominatim/reverse.php?lat=47.4&lon=8.5&format=geojson"},
	"/nominatim/lookup":      {"/nominatim/lookup?osm_ids=N2657896", "/nominatim/lookup?osm_ids=N2657896,R12,W1,Nx&format=json"},
	"/nominatim/lookup.php":  {"/nominatim/lookup.php?osm_ids=N2657896&format=jsonv2"},
	"/nominatim/status":      {"/nominatim/status", "/nominatim/status?format=json", "/nominatim/status?format=xml"},
	"/nominatim/status.php":  {"/nominatim/status.php"},
	"/points/{collection}/nearby": {"/points/shops/nearby?lat=48&lon=6",
		"/points/shops/nearby?lat=48&lon=6&category=cafe&price.lt=20&fields=name,price&format=geojson",
		"/points/drivers/nearby?lat=48&lon=6&at=2026-01-31T00:00:00Z",
		"/points/shops,drivers/nearby?lat=48&lon=6&limit=1000", "/points/shops/nearby?lat=48&lon=6&colour=red",
		"/points/shops/nearby?lat=48&lon=6&cursor=AAAA", "/points/none/nearby?lat=48&lon=6"},
	"/points/{collection}/within": {
		"/points/shops/within?bbox=4,46,9,50",
		"/points/shops/within?tile=4/8/5&sort=-price&limit=2",
		"/points/shops/within?polygon=LINESTRING(5%2047,6%2048)&radius=1000",
		"/points/drivers/within?tile=0/0/0&format=ndjson",
		"/points/shops/within?bbox=4,46,6,50&format=ndjson&-open=",
		"/points/shops/within",
	},
	"/points/{collection}/within/{type}/{id}": {
		"/points/shops/within/country/wl",
		"/points/shops/within/country/is?format=ndjson",
		"/points/shops/within/country/el?format=geojson&limit=3",
		"/points/drivers/within/state/wl-n",
		"/points/shops/within/planet/x",
		"/points/shops/within/country/x",
	},
	"/points/{collection}/cluster/{cluster}": {
		"/points/drivers/cluster/0-ay",
		"/points/drivers/cluster/0-ay?format=geojson&limit=1&sort=-price",
		"/points/drivers/cluster/0-ay?format=ndjson&busy=true",
		"/points/shops/cluster/0-",
		"/points/shops/cluster/22-1",
		"/points/none/cluster/0-ay",
	},
	"/points/{collection}/count": {
		"/points/shops/count",
		"/points/shops/count?region=country:wl&category=zoo",
		"/points/shops,drivers/count?bbox=4,46,6,50",
		"/points/drivers/count?tile=0/0/0",
		"/points/shops/count?region=country:x",
	},
	"/points/{collection}/{id}": {
		"/points/shops/s-2",
		"/points/shops/%63ount?fields=name",
		"/points/shops/a%2Fb%20%22%C3%BC%22%20%3Ci%3E",
		"/points/drivers/d-1",
		"/points/shops/x",
	},
	"/points/{collection}/hooks": {
		"/points/drivers/hooks | X-Api-Key: " + TestKey,
		"/points/drivers/hooks",
		"/points/none/hooks | X-Api-Key: " + TestKey,
		"/points/shops/hooks | X-Api-Key: " + TestKey,
	},
	"/points/{collection}/hooks/{hook}": {
		"/points/drivers/hooks/first | X-Api-Key: " + TestKey,
		"/points/drivers/hooks/none | X-Api-Key: " + TestKey,
		"/points/drivers/hooks/first",
	},
	// Good answers are endless streams; package collection tests them.
	"/points/{collection}/{id}/track": {
		"/points/drivers/d-1/track",
		"/points/drivers/d-1/track?from=2026-01-01T00:00:00Z&limit=1",
		"/points/drivers/d-1/track?from=2&to=1",
		"/points/drivers/none/track",
		"/points/shops/s-2/track",
		"/points/none/d-1/track",
	},
	"/points/{collection}/events": {
		"/points/drivers/events?last_event_id=1",
		"/points/drivers/events?enter=planet",
		"/points/drivers/events?within=1",
		"/points/drivers/events?leave=country:x",
		"/points/shops/events",
	},
	"/healthz":         {"/healthz"},
	"/readyz":          {"/readyz"},
	"/status":          {"/status", "/status | Accept: text/html"},
	"/metrics":         {"/metrics"},
	"/usage":           {"/usage | X-Api-Key: " + TestKey, "/usage", "/usage?key=x"},
	"/usage/top":       {"/usage/top", "/usage/top?limit=1", "/usage/top?limit=0"},
	"/":                {"/"},
	"/openapi.json":    {"/openapi.json"},
	"/docs":            {"/docs"},
	"/docs/{document}": {"/docs/points", "/docs/none"},
	"/embed":           {"/embed?center=47,8&zoom=5", "/embed?zoom=x", "/embed?popup=nosuchcolumn"},
}

// writeCalls has the calls of contractCalls with methods that write.
var writeCalls = map[string][]string{
	"PUT /points/{collection}": {"/points/new | Body: {\"title\":\"New\"}" + keyed,
		"/points/new | Body: {\"title\":\"New\"}" + keyed, "/points/new | Body: {}" + keyed, "/points/New | Body: " + keyed,
		"/points/new2 | Body: []" + keyed, "/points/new2 | Body: {\"history\":\"-1h\"}" + keyed, "/points/new2 | Body: {}",
		"/points/new2 | Body: {} | Content-Encoding: br" + keyed},
	"DELETE /points/{collection}": {
		"/points/secret | X-Api-Key: " + TestKey,
		"/points/secret | X-Api-Key: " + TestKey,
		"/points/shops | X-Api-Key: " + TestKey,
		"/points/drivers",
	},
	"POST /points/{collection}": {"/points/drivers | Body: {\"id\":\"d-9\",\"delete\":true}\nx\n" + aPoint + keyed,
		"/points/none | Body: x" + keyed,
		"/points/drivers | Body: x | Content-Encoding: gzip" + keyed},
	"PATCH /points/{collection}": {
		"/points/drivers | Body: {\"title\":\"Drivers\"}" + keyed,
		"/points/drivers | Body: {\"history\":5}" + keyed,
		"/points/drivers | Body: {}",
		"/points/none | Body: {}" + keyed,
	},
	"PUT /points/{collection}/{id}": {"/points/drivers/d-5 | Body: " + aPoint + keyed,
		"/points/drivers/d-5?ttl=5 | Body: " + aPoint + keyed, "/points/drivers/d-5 | Body: x" + keyed,
		"/points/drivers/d-5 | Body: " + aPoint + " | If-None-Match: *" + keyed,
		"/points/drivers/d-5 | Body: " + aPoint + " | If-Match: \"v1\"" + keyed,
		"/points/drivers/d-5?ttl=0 | Body: " + aPoint + keyed, "/points/drivers/d-6 | Body: " + aPoint + keyed,
		"/points/drivers/d-5 | Body: " + aPoint},
	"PUT /points/{collection}/hooks/{hook}": {"/points/drivers/hooks/alarm | Body: " + aHook + keyed,
		"/points/drivers/hooks/alarm | Body: " + aHook + keyed, "/points/drivers/hooks/alarm | Body: {}" + keyed,
		"/points/drivers/hooks/alarm | Body: " + aHook,
		"/points/drivers/hooks/alarm | Body: {\"url\":\"https://example.org\",\"enter\":[\"planet\"]}" + keyed,
		"/points/none/hooks/alarm | Body: " + aHook + keyed, "/points/drivers/hooks/alarm | Body: x | Content-Encoding: br" + keyed},
	"DELETE /points/{collection}/hooks/{hook}": {
		"/points/drivers/hooks/second | X-Api-Key: " + TestKey,
		"/points/drivers/hooks/second | X-Api-Key: " + TestKey,
		"/points/drivers/hooks/second",
	},
	"PATCH /points/{collection}/{id}": {
		"/points/drivers/d-2 | Body: {\"properties\":{\"busy\":null}}" + keyed,
		"/points/drivers/d-2 | Body: {}" + keyed,
		"/points/drivers/none | Body: {\"ttl\":1}" + keyed,
		"/points/shops/s-1 | Body: {\"ttl\":1}" + keyed,
	},
	"DELETE /points/{collection}/{id}": {
		"/points/drivers/d-1 | X-Api-Key: " + TestKey,
		"/points/drivers/d-1 | X-Api-Key: " + TestKey,
		"/points/drivers/d-2 | If-Match: \"v1\" | X-Api-Key: " + TestKey,
	},
}

const (
	aPoint = `{"type":"Feature","id":"d-5","geometry":{"type":"Point","coordinates":[8,47]},"properties":{"name":"Cy"}}`
	aHook  = `{"url":"https://hooks.invalid/","bbox":["8,47,9,48"]}`
	keyed  = " | X-Api-Key: " + TestKey
)

// Send does the same as Do, with an empty body if the endpoint reads one.
func (f *Server) Send(method, path string) *http.Response {
	if method == http.MethodPost {
		return f.PostTo(path, strings.NewReader(""))
	}
	return f.Do(method, path)
}

// SendWith sends headers, and an address where a body is read.
func (f *Server) SendWith(method, path string, headers ...string) *http.Response {
	if method == http.MethodPost {
		return f.PostTo(path, strings.NewReader(CityIP+"\n"), headers...)
	}
	return f.Do(method, path, headers...)
}

func (f *Server) PostTo(path string, sent io.Reader, headers ...string) *http.Response {
	return f.SendTo(http.MethodPost, path, sent, headers...)
}

func (f *Server) SendTo(method, path string, sent io.Reader, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, sent)
	r.RemoteAddr = "1.2.0.7:4000"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r)
	return w.Result()
}

// WithQuery returns a request with another value of a parameter, or without the parameter if value
// is nil.
func WithQuery(request, name string, value *string) string {
	path, query, _ := strings.Cut(request, "?")
	q, _ := url.ParseQuery(query)
	q.Del(name)
	if value != nil {
		q.Set(name, *value)
	}
	return path + "?" + q.Encode()
}

// ValuesAtBounds returns values just inside the limits of a schema, and values just outside.
func ValuesAtBounds(schema map[string]any, list bool) (good, bad []string) {
	number := func(v any) (float64, bool) {
		n, ok := v.(json.Number)
		f, err := n.Float64()
		return f, ok && err == nil
	}
	text := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	if list {
		items := schema["items"].(map[string]any)
		bad = append(bad, "")
		if _, boxed := number(schema["minItems"]); boxed && items["type"] == "number" {
			return good, append(bad, "1,2,3", "1,2,3,4,5", "1,2,3,x", "1,91,2,92")
		}
		_, no := ValuesAtBounds(items, false)
		if most, ok := number(schema["maxItems"]); ok {
			bad = append(bad, strings.Repeat("x,", int(most))+"x")
		}
		return good, append(bad, slices.DeleteFunc(no, func(s string) bool { return s == "" })...)
	}
	for _, word := range SliceOf(schema["enum"]) {
		good = append(good, word.(string))
	}
	if len(good) > 0 {
		bad = append(bad, "nonsense")
	}
	if low, ok := number(schema["minimum"]); ok {
		good, bad = append(good, text(low)), append(bad, text(low-1), "x", "0x1", "")
	}
	if high, ok := number(schema["maximum"]); ok {
		good, bad = append(good, text(high)), append(bad, text(high+max(1, high/1e6)))
	}
	if schema["type"] == "integer" {
		bad = append(bad, "1.5")
	}
	if most, ok := number(schema["maxLength"]); ok {
		bad = append(bad, strings.Repeat("x", int(most)+1))
	}
	if schema["pattern"] != nil {
		bad = append(bad, "_!_", "")
	}
	if least, ok := number(schema["minLength"]); ok && least > 0 {
		bad = append(bad, "")
	}
	return good, bad
}

func SliceOf(v any) []any { list, _ := v.([]any); return list }
