//go:build !race

package httpapi_test

import (
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// dearestOf returns the most expensive requests to an endpoint that the world of TestCosts can
// answer. Names in braces are placeholders for ids of this world. A layer without special requests
// gets the same requests as shops.
func dearestOf(e *endpoint.Endpoint) (questions []string) {
	if listed, ok := dearest[e.Method()+" "+e.Path]; ok || e.Tag != "collections" {
		return listed
	}
	name, end, _ := strings.Cut(strings.TrimPrefix(e.Path, "/"), "/")
	end = strings.Replace(end, "{region_type}/{region_id}", "{type}/{id}", 1)
	for _, q := range dearest[e.Method()+" /points/{collection}/"+end] {
		questions = append(questions, strings.Replace(q, "/points/shops", "/"+name, 1))
	}
	return questions
}

// theWorld is a polygon around the world.
const theWorld = `{"type":"Polygon","coordinates":[[[-180,-90],[180,-90],[180,90],[-180,90],[-180,-90]]]}`

// dearest has the most expensive requests by the method and path of their endpoint.
var dearest = map[string][]string{
	"GET /wmts/1.0.0/WMTSCapabilities.xml": {"/wmts/1.0.0/WMTSCapabilities.xml"},
	"GET /wmts": {
		"/wmts?REQUEST=GetTile&LAYER=all&TILEMATRIXSET=WebMercatorQuad&TILEMATRIX=0&TILEROW=0&TILECOL=0",
		"/wmts?REQUEST=GetTile&LAYER=all&TILEMATRIXSET=WebMercatorQuad&TILEMATRIX=0&TILEROW=0&TILECOL=0&FORMAT=application/vnd.mapbox-vector-tile",
	},
	"GET /arcgis/rest/services/{layers}/VectorTileServer": {"/arcgis/rest/services/all/VectorTileServer"},
	"GET /arcgis/rest/services/{layers}/VectorTileServer/resources/styles/root.json": {
		"/arcgis/rest/services/all/VectorTileServer/resources/styles/root.json",
	},
	"GET /arcgis/rest/services/{layers}/VectorTileServer/tile/{z}/{y}/{x}.pbf": {"/arcgis/rest/services/all/VectorTileServer/tile/0/0/0.pbf"},
	"GET /ogc/tileMatrixSets": {
		"/ogc/tileMatrixSets?f=html",
	},
	"GET /ogc/tileMatrixSets/{tileMatrixSetId}": {
		"/ogc/tileMatrixSets/WebMercatorQuad",
		"/ogc/tileMatrixSets/WebMercatorQuad?f=html",
	},
	"GET /ogc/tiles": {
		"/ogc/tiles",
		"/ogc/tiles?f=html",
	},
	"GET /ogc/tiles/{tileMatrixSetId}": {
		"/ogc/tiles/WebMercatorQuad",
		"/ogc/tiles/WebMercatorQuad?f=html",
	},
	"GET /ogc/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": {
		"/ogc/tiles/WebMercatorQuad/0/0/0?f=json",
		"/ogc/tiles/WebMercatorQuad/10/336/526?f=json",
		"/ogc/tiles/WebMercatorQuad/3/2/4?f=png",
	},
	"GET /ogc/collections/{collectionId}/tiles": {
		"/ogc/collections/country/tiles",
		"/ogc/collections/country/tiles?f=html",
	},
	"GET /ogc/collections/{collectionId}/tiles/{tileMatrixSetId}": {
		"/ogc/collections/country/tiles/WebMercatorQuad",
		"/ogc/collections/country/tiles/WebMercatorQuad?f=html",
	},
	"GET /ogc/collections/{collectionId}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": {
		"/ogc/collections/country/tiles/WebMercatorQuad/0/0/0?f=json",
		"/ogc/collections/country/tiles/WebMercatorQuad/10/336/526?f=json",
		"/ogc/collections/country/tiles/WebMercatorQuad/3/2/4?f=png",
	},
	"GET /ogc/map/tiles": {
		"/ogc/map/tiles",
		"/ogc/map/tiles?f=html",
	},
	"GET /ogc/map/tiles/{tileMatrixSetId}": {
		"/ogc/map/tiles/WebMercatorQuad",
		"/ogc/map/tiles/WebMercatorQuad?f=html",
	},
	"GET /ogc/map/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": {
		"/ogc/map/tiles/WebMercatorQuad/23/0/0",
		"/ogc/map/tiles/WebMercatorQuad/0/0/0",
		"/ogc/map/tiles/WebMercatorQuad/3/2/4",
	},
	"GET /ogc/collections/{collectionId}/map/tiles": {
		"/ogc/collections/country/map/tiles",
		"/ogc/collections/country/map/tiles?f=html",
	},
	"GET /ogc/collections/{collectionId}/map/tiles/{tileMatrixSetId}": {
		"/ogc/collections/country/map/tiles/WebMercatorQuad",
		"/ogc/collections/country/map/tiles/WebMercatorQuad?f=html",
	},
	"GET /ogc/collections/{collectionId}/map/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": {
		"/ogc/collections/country/map/tiles/WebMercatorQuad/23/0/0",
		"/ogc/collections/country/map/tiles/WebMercatorQuad/0/0/0",
		"/ogc/collections/country/map/tiles/WebMercatorQuad/3/2/4",
	},
	"GET /tiles/{layers}/{z}/{x}/{y}.{format}": {
		"/tiles/all/0/0/0.geojson",
		"/tiles/all/0/0/0.mvt",
		"/tiles/all/2/2/1.geojson",
		"/tiles/all/4/8/5.mvt",
		"/tiles/all/13/4207/2693.mvt",
		"/tiles/all/14/8414/5386.geojson",
		"/tiles/places/10/526/336.geojson",
		"/tiles/places/9/263/168.geojson?pixels=512",
		"/tiles/all/0/0/0@2x.png",
		"/tiles/airports,places/0/0/0.geojson",
		"/tiles/places,all/0/0/0.geojson",
		"/tiles/country:{region},airports/0/0/0.geojson",
		"/tiles/all,points:shops/0/0/0@2x.png",
		"/tiles/country/3/4/2@2x.png",
	},
	"GET /g/{generations}/tiles/{layers}/{z}/{x}/{y}.{format}": {
		"{pinned}/tiles/all/0/0/0.geojson",
		"{pinned}/tiles/all/0/0/0@2x.png",
	},
	"GET /tiles/{layers}.json": {
		"/tiles/all.json?pinned=true",
		"/tiles/all.png.json?scale=2&theme=dark",
	},
	"GET /style.json": {
		"/style.json?layers=all&theme=dark",
	},
	"GET /sprite.json": {
		"/sprite.png",
	},
	"GET /basemap/{name}/{z}/{x}/{y}.{format}": {
		"/basemap/dear/0/0/0.mvt",
		"/basemap/dear/1/0/0.mvt",
	},
	"GET /basemap/{name}.json": {
		"/basemap/dear.json",
	},
	"GET /regions/at": {
		"/regions/at?lat=52.37&lon=4.89",
		"/regions/at?lat=60&lon=-43&snap=50000",
		"/regions/at?lat=-50&lon=-75&snap=50000",
		"/regions/at?lat=47&lon=6&snap=50000",
	},
	"GET /regions/within": {
		"/regions/within?bbox=-180,-90,180,90&limit=1000",
		"/regions/within?bbox=4,50,6,52&limit=1000",
		"/regions/within?bbox=-180,-90,180,90&types=country&id={region}",
		"/regions/within?bbox=-180,-90,180,90&format=geojson&limit=1000",
		"/regions/within?region=country:{region}&limit=1000",
	},
	"POST /regions/within":             {"/regions/within?shares=true&limit=1000 | Body: " + theWorld},
	"POST /regions/count":              {"/regions/count | Body: " + theWorld},
	"POST /places/within":              {"/places/within?limit=1000 | Body: " + theWorld},
	"POST /places/count":               {"/places/count?radius=1000 | Body: " + theWorld},
	"POST /airports/within":            {"/airports/within?limit=1000 | Body: " + theWorld},
	"POST /airports/count":             {"/airports/count?radius=1000 | Body: " + theWorld},
	"POST /stations/within":            {"/stations/within?limit=1000 | Body: " + theWorld},
	"POST /stations/count":             {"/stations/count?radius=1000 | Body: " + theWorld},
	"POST /points/{collection}/within": {"/points/shops/within?limit=1000&sort=price | Body: " + theWorld},
	"POST /points/{collection}/count":  {"/points/shops/count?price=7&radius=1000 | Body: " + theWorld},
	"GET /regions/nearby": {
		"/regions/nearby?lat=0&lon=-160&limit=1000",
		"/regions/nearby?lat=62&lon=95&limit=100",
		"/regions/nearby?lat=52.37&lon=4.89&limit=1000&format=geojson",
	},
	"GET /regions/count": {
		"/regions/count?bbox=-180,-90,180,90",
		"/regions/count?bbox=4,50,6,52",
		"/regions/count?region=country:{region}",
	},
	"GET /regions/{type}/{id}": {
		"/regions/country/{region}",
		"/regions/country/{region}?geometry=true",
	},
	"GET /at": {
		"/at?lat=60&lon=-43",
		"/at?lat=0&lon=-140",
		"/at?lat=52.37&lon=4.89&lang=de&at=2026-01-01T00:00:00Z",
		"/at?lat=90&lon=0",
	},
	"GET /places/nearby": {
		"/places/nearby?lat=52.37&lon=4.89&limit=1000",
		"/places/nearby?lat=52.37&lon=4.89&limit=1000&lang=de",
		"/places/nearby?lat=-60&lon=-140&limit=1000",
		"/places/nearby?lat=-60&lon=-140&limit=100&code=PPLA",
		"/places/nearby?lat=52&lon=5&limit=100&class=U",
		"/places/nearby?lat=52&lon=5&limit=1000&class=U",
		"/places/nearby?lat=-80&lon=170&limit=1000&country=LU",
		"/places/nearby?lat=52.37&lon=4.89&limit=1000&min_population=1000000",
		"/places/nearby?lat=52&lon=5&limit=1000&country=NL&class=P",
		"/places/nearby?lat=52.37&lon=4.89&country=FR,DE&class=A,H,S&min_population=100",
	},
	"GET /places/within": {
		"/places/within?bbox=-180,-90,180,90&limit=1000&class=S",
		"/places/within?tile=0/0/0&limit=1000&format=geojson",
		"/places/within?tile=0/0/0&format=ndjson",
	},
	"GET /places/within/{region_type}/{region_id}": {
		"/places/within/country/{region}?limit=1000",
		"/places/within/country/{region}?format=ndjson",
	},
	"GET /places/count": {
		"/places/count?class=P&min_population=7",
		"/places/count?region=country:{region}",
	},
	"GET /airports/nearby": {
		"/airports/nearby?lat=0&lon=0&limit=1000",
		"/airports/nearby?lat=-80&lon=0&limit=1000&type=balloonport&closed=true",
		"/airports/nearby?lat=-80&lon=0&limit=1000&country=SG&closed=true",
	},
	"GET /airports/within": {
		"/airports/within?bbox=-180,-90,180,90&limit=1000",
		"/airports/within?tile=0/0/0&format=ndjson",
	},
	"GET /airports/within/{region_type}/{region_id}": {
		"/airports/within/country/{region}?limit=1000",
	},
	"GET /airports/count": {
		"/airports/count?bbox=-180,-90,180,90&closed=true",
		"/airports/count?region=country:{region}",
	},
	"GET /points/{collection}/nearby": {
		"/points/shops/nearby?lat=52&lon=5&limit=100",
		"/points/shops/nearby?lat=-80&lon=170&limit=100",
		"/points/shops/nearby?lat=52&lon=5&limit=1000",
		"/points/shops/nearby?lat=52&lon=5&price=7",
		"/points/shops/nearby?lat=52&lon=5&min_radius=500000",
		"/points/shops/nearby?lat=-80&lon=170&limit=1000&price=7000",
	},
	"GET /points/{collection}/within": {
		"/points/shops/within?bbox=-180,-90,180,90&limit=1000&sort=price",
		"/points/shops/within?tile=0/0/0&format=ndjson",
	},
	"GET /points/{collection}/within/{type}/{id}": {
		"/points/shops/within/country/{region}?limit=1000&sort=-price",
		"/points/shops/within/country/{region}?format=ndjson",
	},
	"GET /points/{collection}/count": {
		"/points/shops/count?price=7",
		"/points/shops/count?region=country:{region}",
	},
	"GET /points/{collection}/{id}": {
		"/points/shops/s-7",
	},
	"GET /points/{collection}/cluster/{cluster}": {
		"/points/shops/cluster/{cluster}?limit=1000&sort=-price",
		"/points/shops/cluster/{cluster}?format=ndjson",
	},
	"GET /points/{collection}/{id}/track": {
		"/points/shops/s-7/track",
	},
	"GET /stations/nearby": {
		"/stations/nearby?lat=-80&lon=0&limit=1000&country=NL",
		"/stations/nearby?lat=-80&lon=0&limit=1000&at=1905-01-01",
	},
	"GET /stations/within": {
		"/stations/within?bbox=-180,-90,180,90&limit=1000",
		"/stations/within?tile=0/0/0&format=ndjson",
	},
	"GET /stations/within/{region_type}/{region_id}": {
		"/stations/within/country/{region}?limit=1000",
	},
	"GET /stations/count": {
		"/stations/count?at=1905-01-01",
		"/stations/count?region=country:{region}",
	},
	"GET /places/search": {
		"/places/search?q=a&limit=100&bbox=170,-80,175,-70",
		"/places/search?q=a&limit=100&country=SG&class=T&lang=fr",
		"/places/search?q=san%20fransicso%20calfornia",
	},
	"GET /places/{id}": {
		"/places/{place}?lang=de",
	},
	"GET /places/{id}/offset": {
		"/places/{place}/offset",
	},
	"GET /geocode": {
		"/geocode?q=a&limit=50&bbox=170,-80,175,-70",
		"/geocode?q=san%20fransicso%20calfornia%20united%20states%20of%20america",
	},
	"GET /reverse": {
		"/reverse?lat=52.37&lon=4.89&lang=de",
		"/reverse?lat=-60&lon=-140&radius=20000000",
		"/geocode/reverse?lat=52.37&lon=4.89",
	},
	"GET /airports/{code}": {
		"/airports/{airport}?local=true",
	},
	"GET /airports/{code}/offset": {
		"/airports/{airport}/offset",
	},
	"GET /points": {
		"/points",
	},
	"GET /points/{collection}": {
		"/points/shops",
	},
	"GET /points/{collection}/events": {
		"/points/shops/events",
	},
	"GET /points/{collection}/hooks": {
		"/points/shops/hooks",
	},
	"GET /points/{collection}/hooks/{hook}": {
		"/points/shops/hooks/first",
	},
	"GET /stations/nearest": {
		"/stations/nearest?lat=52&lon=4",
	},
	"GET /stations/{id}": {
		"/stations/{station}",
	},
	"GET /stations/{id}/observations": {
		"/stations/{station}/observations?limit=1000",
	},
	"GET /stations/{id}/tiles": {
		"/stations/{station}/tiles",
	},
	"GET /weather/{z}/{x}/{y}.json": {
		"/weather/0/0/0.json",
	},
	"GET /ip/{addr}": {
		"/ip/{address}",
		"/ip/{address}?fields=country.names&lang=de",
	},
	"GET /ip/me": {
		"/ip/me?lang=de",
	},
	"POST /ip/batch": {
		"/ip/batch",
	},
	"GET /ip/headers/{path}": {
		"/ip/headers/a/b?c=d",
		"/ip/headers",
		"/ip/headers?deny=US",
	},
	"GET /ip/ranges": {
		"/ip/ranges?country=nl",
		"/ip/ranges?asn=64500&format=nft",
		"/ip/ranges?country=aq",
		"/ip/ranges?asn=1&version=6",
	},
	"GET /searchJSON": {
		"/searchJSON?adminCode5=q1",
		"/searchJSON?adminCode4=q1",
		"/searchJSON?adminCode3=q1&featureClass=S",
		"/searchJSON?adminCode2=q1",
		"/searchJSON?adminCode1=q1",
		"/searchJSON?continentCode=AN",
		"/searchJSON?continentCode=EU&adminCode5=q1&maxRows=1000&startRow=5000",
		"/searchJSON?featureClass=P&orderby=elevation&countryBias=NL&adminCode5=q1",
		"/searchJSON?featureClass=P&orderby=population&countryBias=NL&adminCode1=q1",
		"/searchJSON?q=a&adminCode2=q1&countryBias=NL",
		"/searchJSON?q=a&maxRows=1000&startRow=4000&style=FULL",
		"/searchJSON?west=-180&east=180&north=90&south=-90&adminCode5=q1",
		"/searchJSON?cities=cities1&adminCode5=q1&isNameRequired=true&operator=OR&tag=x",
		"/searchJSON?cities=cities1&maxRows=1000&startRow=5000&style=FULL&lang=de",
		"/searchJSON?name_equals=a&adminCode5=q1",
		"/searchJSON?q=amstredan&fuzzy=0.8&continentCode=AN",
		"/search?type=json&q=a&maxRows=1000&style=FULL",
	},
	"GET /getJSON": {
		"/getJSON?geonameId={place}&lang=de",
		"/get?type=json&geonameId={place}",
	},
	"GET /findNearbyJSON": {
		"/findNearbyJSON?lat=52.37&lng=4.89&radius=300&maxRows=1000&style=FULL&lang=de",
		"/findNearbyJSON?lat=52&lng=5&radius=300&featureCode=SCH&cities=cities1&country=NL",
		"/findNearby?type=json&lat=52.37&lng=4.89&radius=300&maxRows=1000&style=FULL&lang=de",
	},
	"GET /findNearbyPlaceNameJSON": {
		"/findNearbyPlaceNameJSON?lat=52.37&lng=4.89&radius=300&maxRows=1000&style=FULL&localCountry=true",
		"/findNearbyPlaceName?type=json&lat=52.37&lng=4.89&radius=300&maxRows=1000&style=FULL",
	},
	"GET /timezoneJSON": {
		"/timezoneJSON?lat=60&lng=-43&radius=300&date=2026-01-01",
		"/timezoneJSON?lat=52.3&lng=4.9",
		"/timezone?type=json&lat=60&lng=-43",
	},
	"GET /countryCodeJSON": {
		"/countryCodeJSON?lat=-50&lng=-75&radius=300&lang=de",
		"/countryCode?lat=60&lng=-43&radius=300",
	},
	"GET /countrySubdivisionJSON": {
		"/countrySubdivisionJSON?lat=60&lng=-43&radius=300&level=5",
		"/countrySubdivision?type=json&lat=-50&lng=-75&radius=300",
	},
	"GET /geoip/v2.1/country/{addr}": {
		"/geoip/v2.1/country/{address}",
		"/geoip/v2.1/country",
		"/geoip/v2.1/country/",
	},
	"GET /geoip/v2.1/city/{addr}": {
		"/geoip/v2.1/city/{address}",
		"/geoip/v2.1/city",
		"/geoip/v2.1/city/",
	},
	"GET /geoip/v2.1/insights/{addr}": {
		"/geoip/v2.1/insights/{address}",
		"/geoip/v2.1/insights",
		"/geoip/v2.1/insights/",
	},
	"GET /photon/api": {
		"/photon/api?q=a&limit=50&bbox=170,-80,175,-70",
		"/photon/api?q=san%20fransicso%20calfornia%20united%20states%20of%20america&layer=city&lang=de",
		"/photon/api/?q=a",
	},
	"GET /photon/reverse": {
		"/photon/reverse?lat=52.37&lon=4.89&lang=de&limit=50",
		"/photon/reverse?lat=-60&lon=-140&radius=5000&limit=50",
		"/photon/reverse/?lat=52.37&lon=4.89",
	},
	"GET /nominatim/search": {
		"/nominatim/search?q=a&limit=40&viewbox=170,-80,175,-70&bounded=1",
		"/nominatim/search?q=san%20fransicso%20calfornia%20united%20states%20of%20america&polygon_geojson=1&namedetails=1",
		"/nominatim/search?q=a&limit=40&polygon_geojson=1&polygon_threshold=0.001&namedetails=1&extratags=1&addressdetails=1",
		"/nominatim/search?country={region}&polygon_geojson=1&polygon_threshold=0.0001",
		"/nominatim/search.php?q=a",
	},
	"GET /nominatim/reverse": {
		"/nominatim/reverse?lat=52.37&lon=4.89&polygon_geojson=1&zoom=3",
		"/nominatim/reverse?lat=60&lon=-100&polygon_geojson=1&polygon_threshold=0.0001&zoom=3",
		"/nominatim/reverse?lat=52.37&lon=4.89&accept-language=de&format=json",
		"/nominatim/reverse.php?lat=52&lon=4",
	},
	"GET /nominatim/lookup": {
		"/nominatim/lookup?osm_ids=N{place}",
		"/nominatim/lookup.php?osm_ids=N{place}",
	},
	"GET /nominatim/status": {
		"/nominatim/status",
		"/nominatim/status.php",
	},
	"GET /ogc": {
		"/ogc?f=html",
		"/ogc/",
	},
	"GET /ogc/conformance": {
		"/ogc/conformance?f=html",
	},
	"GET /ogc/api": {
		"/ogc/api",
	},
	"GET /ogc/collections": {
		"/ogc/collections?f=html",
		"/ogc/collections",
	},
	"GET /ogc/collections/{collectionId}": {
		"/ogc/collections/country",
		"/ogc/collections/country?f=html",
	},
	"GET /ogc/collections/{collectionId}/queryables": {
		"/ogc/collections/country/queryables?f=html",
	},
	"GET /ogc/collections/{collectionId}/items": {
		"/ogc/collections/places/items?limit=1000",
		"/ogc/collections/country/items?limit=1000&crs=http://www.opengis.net/def/crs/EPSG/0/3857",
		"/ogc/collections/places/items?limit=1000&filter=name%20LIKE%20%27%25x%25%27",
		"/ogc/collections/places/items?limit=1000&f=csv",
		"/ogc/collections/timezone/items?limit=1000&crs=http://www.opengis.net/def/crs/EPSG/0/3857",
		"/ogc/collections/country/items?limit=1000&filter=S_INTERSECTS(geometry,BBOX(-180,-90,170,90))%20OR%20S_INTERSECTS(geometry,BBOX(-180,-90,171,90))",
	},
	"GET /ogc/collections/{collectionId}/count": {
		"/ogc/collections/places/count?by=tile:12,name&distinct=name&limit=50000",
		"/ogc/collections/places/count?by=country&f=geojson&filter=name%20LIKE%20%27%25a%25b%25%27",
		"/ogc/collections/country/count?filter=S_DWITHIN(geometry,LINESTRING(-180%20-80,180%2080),1000000)",
	},
	"GET /ogc/collections/{collectionId}/items/{featureId}": {
		"/ogc/collections/country/items/fr",
		"/ogc/collections/country/items/fr?f=html",
	},
	"GET /healthz": {
		"/healthz",
	},
	"GET /readyz": {
		"/readyz",
	},
	"GET /status": {
		"/status",
	},
	"GET /metrics": {
		"/metrics",
	},
	"GET /usage": {
		"/usage?key={key}",
	},
	"GET /openapi.json": {
		"/openapi.json",
	},
	"GET /docs": {
		"/docs",
	},
	"GET /docs/{document}": {
		"/docs/points",
	},
	"GET /docs.css": {
		"/docs.css",
	},
	"GET /": {
		"/",
	},
	"GET /embed": {
		"/embed",
	},
}
