package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/gazgen"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/testrace"
	"quadrille/places"
)

// dearest are the dearest questions of every route, by its pattern. Names in
// braces are filled in with what a world has.
var dearest = map[string][]string{
	"/tiles/:layers/:z/:x/:file": {"/tiles/all/0/0/0.geojson", "/tiles/all/0/0/0.mvt", "/tiles/all/2/2/1.geojson", "/tiles/all/4/8/5.mvt", "/tiles/all/13/4207/2693.mvt",
		"/tiles/all/14/8414/5386.geojson", "/tiles/places/10/526/336.geojson", "/tiles/all/0/0/0@2x.png",
		"/tiles/airports,places/0/0/0.geojson", "/tiles/places,all/0/0/0.geojson", "/tiles/country:{region},airports/0/0/0.geojson", "/tiles/all,points:shops/0/0/0@2x.png", "/tiles/country/3/4/2@2x.png"},
	// Who takes no coding has a large tile unpacked.
	"/basemap/:name/:z/:x/:file": {"/basemap/dear/0/0/0.mvt", "/basemap/dear/1/0/0.mvt"}, "/basemap/:file": {"/basemap/dear.json"},
	"/tiles/:file": {"/tiles/all.json?pinned=true", "/tiles/all.png.json?scale=2&theme=dark"},
	"/g/:generations/tiles/:layers/:z/:x/:file": {"{pinned}/tiles/all/0/0/0.geojson", "{pinned}/tiles/all/0/0/0@2x.png"},
	"/style.json": {"/style.json?layers=all&theme=dark"},
	"/ogc":        {"/ogc?f=html"}, "/ogc/": {"/ogc/"}, "/ogc/conformance": {"/ogc/conformance?f=html"}, "/ogc/api": {"/ogc/api"}, "/ogc/collections": {"/ogc/collections?f=html", "/ogc/collections"},
	"/ogc/collections/:collection": {"/ogc/collections/country", "/ogc/collections/country?f=html"}, "/ogc/collections/:collection/queryables": {"/ogc/collections/country/queryables?f=html"},
	"/ogc/collections/:collection/items": {"/ogc/collections/places/items?limit=1000", "/ogc/collections/country/items?limit=1000&crs=http://www.opengis.net/def/crs/EPSG/0/3857", "/ogc/collections/places/items?limit=1000&filter=name%20LIKE%20%27%25x%25%27",
		"/ogc/collections/timezone/items?limit=1000&crs=http://www.opengis.net/def/crs/EPSG/0/3857", "/ogc/collections/country/items?limit=1000&filter=S_INTERSECTS(geometry,BBOX(-180,-90,170,90))%20OR%20S_INTERSECTS(geometry,BBOX(-180,-90,171,90))"},
	"/ogc/collections/:collection/items/:id": {"/ogc/collections/country/items/fr", "/ogc/collections/country/items/fr?f=html"},
	"/ogc/tileMatrixSets":                    {"/ogc/tileMatrixSets?f=html"}, "/ogc/tileMatrixSets/:tms": {"/ogc/tileMatrixSets/WebMercatorQuad", "/ogc/tileMatrixSets/WebMercatorQuad?f=html"},
	"/ogc/tiles": {"/ogc/tiles", "/ogc/tiles?f=html"}, "/ogc/tiles/:tms": {"/ogc/tiles/WebMercatorQuad", "/ogc/tiles/WebMercatorQuad?f=html"},
	"/ogc/tiles/:tms/:z/:row/:col": {"/ogc/tiles/WebMercatorQuad/0/0/0?f=json", "/ogc/tiles/WebMercatorQuad/4/5/8", "/ogc/tiles/WebMercatorQuad/3/2/4?f=png"},
	"/ogc/map/tiles":               {"/ogc/map/tiles"}, "/ogc/map/tiles/:tms": {"/ogc/map/tiles/WebMercatorQuad?f=html"}, "/ogc/map/tiles/:tms/:z/:row/:col": {"/ogc/map/tiles/WebMercatorQuad/23/0/0", "/ogc/map/tiles/WebMercatorQuad/0/0/0", "/ogc/map/tiles/WebMercatorQuad/3/2/4?collections=country"},
	"/ogc/collections/:collection/tiles": {"/ogc/collections/country/tiles"}, "/ogc/collections/:collection/tiles/:tms": {"/ogc/collections/country/tiles/WebMercatorQuad?f=html"},
	"/ogc/collections/:collection/tiles/:tms/:z/:row/:col": {"/ogc/collections/country/tiles/WebMercatorQuad/0/0/0?f=json", "/ogc/collections/places/tiles/WebMercatorQuad/10/336/526?f=json", "/ogc/collections/country/tiles/WebMercatorQuad/3/2/4?f=png"},
	"/ogc/collections/:collection/map/tiles":               {"/ogc/collections/country/map/tiles"}, "/ogc/collections/:collection/map/tiles/:tms": {"/ogc/collections/country/map/tiles/WebMercatorQuad"},
	"/ogc/collections/:collection/map/tiles/:tms/:z/:row/:col": {"/ogc/collections/country/map/tiles/WebMercatorQuad/23/0/0", "/ogc/collections/country/map/tiles/WebMercatorQuad/3/2/4"},
	"/regions/at": {"/regions/at?lat=52.37&lon=4.89", "/regions/at?lat=60&lon=-43&snap=50000", "/regions/at?lat=-50&lon=-75&snap=50000", "/regions/at?lat=47&lon=6&snap=50000"},
	"/regions/within": {"/regions/within?bbox=-180,-90,180,90&limit=1000", "/regions/within?bbox=4,50,6,52&limit=1000",
		"/regions/within?bbox=-180,-90,180,90&types=country&id={region}"},
	"/regions/:type/:id": {"/regions/country/{region}", "/regions/country/{region}?geometry=true"},
	"/at":                {"/at?lat=60&lon=-43", "/at?lat=0&lon=-140", "/at?lat=52.37&lon=4.89&lang=de&at=2026-01-01T00:00:00Z", "/at?lat=90&lon=0"},
	"/places/nearby": {"/places/nearby?lat=52.37&lon=4.89&limit=1000", "/places/nearby?lat=52.37&lon=4.89&limit=1000&lang=de", "/places/nearby?lat=-60&lon=-140&limit=1000",
		"/places/nearby?lat=-60&lon=-140&limit=100&code=PPLA", "/places/nearby?lat=52&lon=5&limit=100&class=U", "/places/nearby?lat=52&lon=5&limit=1000&class=U", "/places/nearby?lat=-80&lon=170&limit=1000&country=LU",
		"/places/nearby?lat=52.37&lon=4.89&limit=1000&min_population=1000000", "/places/nearby?lat=52&lon=5&limit=1000&country=NL&class=P", "/places/nearby?lat=52.37&lon=4.89&country=FR,DE&class=A,H,S&min_population=100"},
	"/places/within": {"/places/within?bbox=-180,-90,180,90&limit=1000&class=S", "/places/within?tile=0/0/0&limit=1000&format=geojson"},
	"/places/search": {"/places/search?q=a&limit=100&bbox=170,-80,175,-70", "/places/search?q=a&limit=100&country=SG&class=T&lang=fr", "/places/search?q=san%20fransicso%20calfornia"},
	"/geocode":       {"/geocode?q=a&limit=50&bbox=170,-80,175,-70", "/geocode?q=san%20fransicso%20calfornia%20united%20states%20of%20america"},
	"/reverse":       {"/reverse?lat=52.37&lon=4.89&lang=de", "/reverse?lat=-60&lon=-140&radius=20000000"}, "/geocode/reverse": {"/geocode/reverse?lat=52.37&lon=4.89"},
	"/photon/api": {"/photon/api?q=a&limit=50&bbox=170,-80,175,-70", "/photon/api?q=san%20fransicso%20calfornia%20united%20states%20of%20america&layer=city&lang=de"}, "/photon/api/": {"/photon/api/?q=a"},
	"/photon/reverse": {"/photon/reverse?lat=52.37&lon=4.89&lang=de&limit=50", "/photon/reverse?lat=-60&lon=-140&radius=5000&limit=50"}, "/photon/reverse/": {"/photon/reverse/?lat=52.37&lon=4.89"},
	"/nominatim/search": {"/nominatim/search?q=a&limit=40&viewbox=170,-80,175,-70&bounded=1", "/nominatim/search?q=san%20fransicso%20calfornia%20united%20states%20of%20america&polygon_geojson=1&namedetails=1",
		"/nominatim/search?q=a&limit=40&polygon_geojson=1&polygon_threshold=0.001&namedetails=1&extratags=1&addressdetails=1", "/nominatim/search?country={region}&polygon_geojson=1&polygon_threshold=0.0001"}, "/nominatim/search.php": {"/nominatim/search.php?q=a"},
	"/nominatim/reverse": {"/nominatim/reverse?lat=52.37&lon=4.89&polygon_geojson=1&zoom=3", "/nominatim/reverse?lat=60&lon=-100&polygon_geojson=1&polygon_threshold=0.0001&zoom=3", "/nominatim/reverse?lat=52.37&lon=4.89&accept-language=de&format=json"}, "/nominatim/reverse.php": {"/nominatim/reverse.php?lat=52&lon=4"},
	"/nominatim/lookup": {"/nominatim/lookup?osm_ids=N{place}"}, "/nominatim/lookup.php": {"/nominatim/lookup.php?osm_ids=N{place}"},
	"/nominatim/status": {"/nominatim/status"}, "/nominatim/status.php": {"/nominatim/status.php"},
	"/places/:id": {"/places/{place}?lang=de"}, "/places/:id/offset": {"/places/{place}/offset"},
	"/airports/within": {"/airports/within?bbox=-180,-90,180,90&limit=1000"},
	"/airports/nearby": {"/airports/nearby?lat=0&lon=0&limit=1000", "/airports/nearby?lat=-80&lon=0&limit=1000&type=balloonport&closed=true", "/airports/nearby?lat=-80&lon=0&limit=1000&country=SG&closed=true"},
	"/airports/:code":  {"/airports/{airport}?local=true"}, "/airports/:code/offset": {"/airports/{airport}/offset"},
	"/stations/nearest": {"/stations/nearest?lat=52&lon=4"},
	"/stations/nearby":  {"/stations/nearby?lat=-80&lon=0&limit=1000&country=NL", "/stations/nearby?lat=-80&lon=0&limit=1000&at=1905-01-01"},
	"/stations/within":  {"/stations/within?bbox=-180,-90,180,90&limit=1000"},
	"/stations/:id":     {"/stations/{station}"}, "/stations/:id/tiles": {"/stations/{station}/tiles"}, "/stations/:id/observations": {"/stations/{station}/observations?limit=1000"},
	"/weather/:z/:x/:file": {"/weather/0/0/0.json"},
	"/ip/me":               {"/ip/me?lang=de"}, "/ip/:addr": {"/ip/{address}", "/ip/{address}?fields=country.names&lang=de"},
	"/ip/batch":           {"/ip/batch"},
	"/ip/ranges":          {"/ip/ranges?country=nl", "/ip/ranges?asn=64500&format=nft", "/ip/ranges?country=aq", "/ip/ranges?asn=1&version=6"},
	"/ip/headers":         {"/ip/headers"},
	"/ip/headers/*":       {"/ip/headers/a/b?c=d"},
	"/geoip/v2.1/country": {"/geoip/v2.1/country"}, "/geoip/v2.1/country/": {"/geoip/v2.1/country/"}, "/geoip/v2.1/country/:addr": {"/geoip/v2.1/country/{address}"},
	"/geoip/v2.1/city": {"/geoip/v2.1/city"}, "/geoip/v2.1/city/": {"/geoip/v2.1/city/"}, "/geoip/v2.1/city/:addr": {"/geoip/v2.1/city/{address}"},
	"/geoip/v2.1/insights": {"/geoip/v2.1/insights"}, "/geoip/v2.1/insights/": {"/geoip/v2.1/insights/"}, "/geoip/v2.1/insights/:addr": {"/geoip/v2.1/insights/{address}"},
	"/search":                  {"/search?type=json&q=a&maxRows=1000&style=FULL"},
	"/searchJSON":              gnDearest,
	"/findNearby":              {"/findNearby?type=json&lat=52.37&lng=4.89&radius=300&maxRows=1000&style=FULL&lang=de"},
	"/findNearbyJSON":          {"/findNearbyJSON?lat=52.37&lng=4.89&radius=300&maxRows=1000&style=FULL&lang=de", "/findNearbyJSON?lat=52&lng=5&radius=300&featureCode=SCH&cities=cities1&country=NL"},
	"/findNearbyPlaceName":     {"/findNearbyPlaceName?type=json&lat=52.37&lng=4.89&radius=300&maxRows=1000&style=FULL"},
	"/findNearbyPlaceNameJSON": {"/findNearbyPlaceNameJSON?lat=52.37&lng=4.89&radius=300&maxRows=1000&style=FULL&localCountry=true"},
	"/get":                     {"/get?type=json&geonameId={place}"}, "/getJSON": {"/getJSON?geonameId={place}&lang=de"},
	"/timezone": {"/timezone?type=json&lat=60&lng=-43"}, "/timezoneJSON": {"/timezoneJSON?lat=60&lng=-43&radius=300&date=2026-01-01", "/timezoneJSON?lat=52.3&lng=4.9"},
	"/countryCode": {"/countryCode?lat=60&lng=-43&radius=300"}, "/countryCodeJSON": {"/countryCodeJSON?lat=-50&lng=-75&radius=300&lang=de"},
	"/countrySubdivision": {"/countrySubdivision?type=json&lat=-50&lng=-75&radius=300"}, "/countrySubdivisionJSON": {"/countrySubdivisionJSON?lat=60&lng=-43&radius=300&level=5"},
	"/points": {"/points"}, "/points/:collection": {"/points/shops"}, "/points/:collection/:id": {"/points/shops/s-7"},
	"/points/:collection/:id/track": {"/points/shops/s-7/track"}, // live ones read one row
	"/points/:collection/nearby": {"/points/shops/nearby?lat=52&lon=5&limit=100", "/points/shops/nearby?lat=-80&lon=170&limit=100", "/points/shops/nearby?lat=52&lon=5&limit=1000", "/points/shops/nearby?lat=52&lon=5&price=7",
		"/points/shops/nearby?lat=52&lon=5&min_radius=500000", "/points/shops/nearby?lat=-80&lon=170&limit=1000&price=7000"},
	"/points/:collection/within":           {"/points/shops/within?bbox=-180,-90,180,90&limit=1000&sort=price", "/points/shops/within?tile=0/0/0&format=ndjson"},
	"/points/:collection/within/:type/:id": {"/points/shops/within/country/{region}?limit=1000&sort=-price", "/points/shops/within/country/{region}?format=ndjson"},
	"/points/:collection/count":            {"/points/shops/count?price=7", "/points/shops/count?region=country:{region}"},
	"/points/:collection/events":           {"/points/shops/events"}, // live ones answer until the client goes
	"/points/:collection/hooks":            {"/points/shops/hooks"},
	"/points/:collection/hooks/:hook":      {"/points/shops/hooks/first"}, // kept in memory
	"/openapi.json":                        {"/openapi.json"}, "/docs": {"/docs"}, "/docs.css": {"/docs.css"}, "/embed": {"/embed"}, "/*": {"/"},
	"/healthz": {"/healthz"}, "/readyz": {"/readyz"}, "/status": {"/status"}, "/metrics": {"/metrics"}, "/usage": {"/usage?key=" + testKey},
}

// gnDearest are searches in GeoNames' manner under each of its conditions.
var gnDearest = []string{
	"/searchJSON?adminCode5=q1", "/searchJSON?adminCode4=q1", "/searchJSON?adminCode3=q1&featureClass=S", "/searchJSON?adminCode2=q1", "/searchJSON?adminCode1=q1", "/searchJSON?continentCode=AN",
	"/searchJSON?continentCode=EU&adminCode5=q1&maxRows=1000&startRow=5000", "/searchJSON?featureClass=P&orderby=elevation&countryBias=NL&adminCode5=q1",
	"/searchJSON?featureClass=P&orderby=population&countryBias=NL&adminCode1=q1", "/searchJSON?q=a&adminCode2=q1&countryBias=NL", "/searchJSON?q=a&maxRows=1000&startRow=4000&style=FULL",
	"/searchJSON?west=-180&east=180&north=90&south=-90&adminCode5=q1", "/searchJSON?cities=cities1&adminCode5=q1&isNameRequired=true&operator=OR&tag=x", "/searchJSON?cities=cities1&maxRows=1000&startRow=5000&style=FULL&lang=de",
	"/searchJSON?name_equals=a&adminCode5=q1", "/searchJSON?q=amstredan&fuzzy=0.8&continentCode=AN",
}

// work is what a store was asked for.
type work struct{ reads, rows, bytes atomic.Int64 }

func (w *work) reset() { w.reads.Store(0); w.rows.Store(0); w.bytes.Store(0) }

// micros estimates the processor time of the work and of an answer, after what
// BenchmarkDearest shows for real data: 5 µs for a positioning, 3 ns for a byte that
// is read and 30 ns for one that is written. A row that is passed over takes 0.1 µs;
// it counts ten times that, since the sets of these tests are small.
func (w *work) micros(answer int) int64 {
	return 5*w.reads.Load() + w.rows.Load() + (3*w.bytes.Load()+30*int64(answer))/1000
}

// lightMicros is what a light request may take.
const lightMicros = 20_000

type countedStore struct {
	cellstore.Store
	work *work
}

func (s countedStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := s.Store.Table(ctx, name)
	return countedTable{t, s.work}, err
}

type countedTable struct {
	cellstore.Table
	work *work
}

func (t countedTable) row(r *cellstore.Row) {
	t.work.rows.Add(1)
	for i := range r.Cells {
		t.work.bytes.Add(int64(len(r.Cells[i].Value)))
	}
}

func (t countedTable) one(row *cellstore.Row, found bool, err error) (bool, error) {
	t.work.reads.Add(1)
	if found {
		t.row(row)
	}
	return found, err
}

func (t countedTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	found, err := t.Table.Get(ctx, key, sel, row)
	return t.one(row, found, err)
}

func (t countedTable) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	found, err := t.Table.Next(ctx, from, to, sel, row)
	return t.one(row, found, err)
}

func (t countedTable) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	found, err := t.Table.Prev(ctx, from, downTo, sel, row)
	return t.one(row, found, err)
}

func (t countedTable) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	err := t.Table.NextEach(ctx, from, to, families, rows)
	t.work.reads.Add(int64(len(families)))
	for i := range rows {
		t.row(&rows[i])
	}
	return err
}

func (t countedTable) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	t.work.reads.Add(int64(len(keys)))
	return t.each(t.Table.MultiGet(ctx, keys, sel))
}

func (t countedTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	t.work.reads.Add(1)
	return t.each(t.Table.Scan(ctx, scan))
}

func (t countedTable) each(rows iter.Seq2[*cellstore.Row, error]) iter.Seq2[*cellstore.Row, error] {
	return func(yield func(*cellstore.Row, error) bool) {
		for r, err := range rows {
			if err == nil {
				t.row(r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// dearPlaces is how many places the world of these tests has: more than
// GeoNames' conditions may look at.
const dearPlaces = 24_000

// dearWorld is a server over every data set, whose reads are counted.
type dearWorld struct {
	*fixture
	server *server
	router *echo.Echo
	work   work
	fill   *strings.Replacer
}

// newDearWorld serves what is in a directory, or made-up data if that is "".
func newDearWorld(t testing.TB, dir string) *dearWorld {
	t.Helper()
	w := &dearWorld{}
	made := dir == ""
	if made {
		dir = t.TempDir()
	}
	c, err := dataset.Open(dir, func(name, dir string, readOnly bool) (cellstore.Store, error) {
		s, err := toyworld.Open(name, dir, readOnly)
		if err != nil || !readOnly {
			return s, err
		}
		return countedStore{s, &w.work}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.fixture = &fixture{t: t, catalog: c}
	w.cfg = Config{
		Sets: datasets.Sets{
			Boundaries: catalogue.Live[datasets.Boundaries](c.Generations, catalogue.Boundaries), Places: catalogue.Live[datasets.Places](c.Generations, catalogue.Places),
			Addresses: catalogue.Live[datasets.Addresses](c.Generations, catalogue.IP), Airports: catalogue.Live[datasets.Airports](c.Generations, catalogue.Airports),
			TimeZones: catalogue.Live[datasets.TimeZones](c.Generations, catalogue.TimeZones), Stations: catalogue.Live[datasets.Stations](c.Generations, catalogue.Stations),
			Weather:     catalogue.Live[datasets.Weather](c.Generations, catalogue.Weather),
			Collections: &datasets.Collections{},
		},
	}
	guarded(t, false, quota.Limits{})(&w.cfg)
	w.cfg.BaseMaps = dearMaps(t)
	shops := catalogue.Live[datasets.Collection](c.Generations, catalogue.Points(toyworld.Shops))
	w.cfg.Collections.Follow(toyworld.Shops, shops)
	if made {
		if err := toyworld.PublishShops(context.Background(), c, dearPlaces); err != nil {
			t.Fatal(err)
		}
		for _, publish := range []func(context.Context, *dataset.Catalog) error{toyworld.PublishBoundaries, toyworld.PublishAddresses, toyworld.PublishAirports, toyworld.PublishTimeZones, publishMany} {
			if err := publish(context.Background(), c); err != nil {
				t.Fatal(err)
			}
		}
		publishToy(t, w.fixture, catalogue.Stations.Name)
		publishToy(t, w.fixture, catalogue.Weather.Name)
	}
	for _, live := range []interface {
		Poll(context.Context) error
		Close() error
	}{w.cfg.Boundaries, w.cfg.Places, w.cfg.Addresses, w.cfg.Airports, w.cfg.TimeZones, w.cfg.Stations, w.cfg.Weather, shops} {
		t.Cleanup(func() {
			if err := live.Close(); err != nil {
				t.Error(err)
			}
		})
		if err := live.Poll(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	w.server = newServer(&w.cfg)
	w.handler = w.server.handler()
	w.router = w.handler.(*echo.Echo)
	var tiles struct{ Tiles []string }
	var found struct{ Places []struct{ ID int } }
	for path, into := range map[string]any{"/tiles/all.json?pinned=true": &tiles, "/places/nearby?lat=52&lon=5&limit=1": &found} {
		if err := json.Unmarshal([]byte(body(t, w.ask(path))), into); err != nil {
			t.Fatal(path, err)
		}
	}
	_, rest, _ := strings.Cut(tiles.Tiles[0], "/g/")
	generations, _, _ := strings.Cut(rest, "/")
	words := []string{"{pinned}", "/g/" + generations, "{place}", fmt.Sprint(found.Places[0].ID)}
	if made {
		words = append(words, "{region}", "wl", "{airport}", "WLD", "{station}", "066600-99999", "{address}", toyworld.Address(31).String())
	} else {
		words = append(words, "{region}", "ca", "{airport}", "AMS", "{station}", "062400-99999", "{address}", "8.8.8.8")
	}
	w.fill = strings.NewReplacer(words...)
	return w
}

func publishMany(ctx context.Context, c *dataset.Catalog) error {
	b, err := c.Begin(ctx, catalogue.Places.Name)
	if err != nil {
		return err
	}
	meta, _, err := places.Build(ctx, b.Store(), places.Source{Places: gazgen.Seq(dearPlaces, 1)}, places.BuildOptions{})
	if err != nil {
		return err
	}
	m := dataset.Manifest{SchemaVersion: places.SchemaVersion, Built: built}
	if m.Meta, err = json.Marshal(meta); err != nil {
		return err
	}
	_, err = b.Publish(ctx, m)
	return err
}

// ask sends a question with the key that is asked for.
func (w *dearWorld) ask(path string) *http.Response {
	return w.get(path, "X-Api-Key", testKey)
}

func TestCosts(t *testing.T) {
	testrace.Plain(t, "one request at a time, of which the work is counted")
	w := newDearWorld(t, "")
	t.Run("Classes", func(t *testing.T) { testClasses(t, w) })
	t.Run("GeonamesWork", func(t *testing.T) { testGeonamesWork(t, w) })
	t.Run("GeonamesConditions", func(t *testing.T) { testGeonamesConditions(t, w) })
}

// testClasses: every route there is has a class of cost, and while no heavy request
// may begin, whatever is answered is light.
func testClasses(t *testing.T, w *dearWorld) {
	declared := map[string]web.Cost{}
	for _, r := range w.server.routes() {
		declared[r.Path] = max(declared[r.Path], r.Cost) // methods besides GET are no questions
	}
	for _, r := range w.router.Routes() {
		if declared[r.Path] == 0 {
			t.Errorf("%s has no class of cost: declare it in routes", r.Path)
		}
		if len(dearest[r.Path]) == 0 {
			t.Errorf("%s is not asked anything: add its dearest questions to dearest", r.Path)
		}
	}
	for path, questions := range dearest {
		class, ok := declared[path]
		if !ok {
			t.Errorf("%s is asked, but there is no such route", path)
		}
		refusals := 0
		for _, q := range questions {
			q = w.fill.Replace(q)
			w.work.reset()
			free := w.ask(q)
			text := body(t, free)
			made := len(text)
			if strings.HasSuffix(q, "/openapi.json") {
				made = 0 // it is made before the first request
			}
			dear := w.work.micros(made)
			if free.StatusCode >= http.StatusInternalServerError || free.StatusCode == http.StatusBadRequest && free.Header.Get("Content-Type") == "application/problem+json" {
				t.Errorf("%s: %d %.200s", q, free.StatusCode, text)
			}
			unfill := fillHeavy(w.server)
			w.work.reset()
			full := w.ask(q)
			text = body(t, full)
			if made > 0 {
				made = len(text)
			}
			left := w.work.micros(made)
			unfill()
			if full.StatusCode == http.StatusServiceUnavailable {
				refusals++
			}
			if left > lightMicros {
				t.Errorf("%s is answered %d beside heavy requests, at %d µs: %d reads, %d rows, %d bytes of %d read", q, full.StatusCode, left, w.work.reads.Load(), w.work.rows.Load(), len(text), w.work.bytes.Load())
			}
			t.Logf("%7d µs, %7d beside heavy ones (%d)  %s", dear, left, full.StatusCode, q)
		}
		if class == web.Heavy && refusals < len(questions) || (class == web.Light || class == web.Vital) && refusals > 0 || class == web.Mixed && (refusals == 0 || refusals == len(questions)) {
			t.Errorf("%s: %d of %d questions take a heavy place, its class is %d", path, refusals, len(questions), class)
		}
	}
}

// testGeonamesWork: no condition makes a search look at more than a bounded number of
// places.
func testGeonamesWork(t *testing.T, w *dearWorld) {
	for i, q := range gnDearest {
		if testing.Short() && i%3 != 0 {
			continue
		}
		w.work.reset()
		if res := w.ask(q); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", q, res.StatusCode)
		}
		if reads, rows := w.work.reads.Load(), w.work.rows.Load(); reads > 10_000 || rows > 250_000 {
			t.Errorf("%s: %d reads and %d rows", q, reads, rows)
		}
	}
}

// testGeonamesConditions: what meets conditions is found, in the order of all places.
func testGeonamesConditions(t *testing.T, w *dearWorld) {
	type entry struct {
		ID                      int
		Country, Admin1, Admin2 string
	}
	read := func(path string, into any) {
		t.Helper()
		if text := body(t, w.ask(path)); json.Unmarshal([]byte(text), into) != nil {
			t.Fatalf("%s: %.200s", path, text)
		}
	}
	var list []entry
	for cursor := ""; ; {
		var page struct {
			Places []entry
			Next   string
		}
		read("/places/within?bbox=-180,-90,180,90&limit=1000"+cursor, &page)
		if list = append(list, page.Places...); page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Next
	}
	if len(list) != dearPlaces {
		t.Fatalf("%d places", len(list))
	}
	first := list[0]
	for i := range list { // only records tell it
		if e := &list[i]; e.Country == first.Country && e.Admin1 == first.Admin1 {
			read(fmt.Sprint("/places/", e.ID), e)
		}
	}
	i := slices.IndexFunc(list, func(e entry) bool { return e.Admin2 != "" })
	if i < 0 {
		t.Fatal("no place has a code of the second level")
	}
	admin2 := list[i].Admin2
	for query, meets := range map[string]func(e entry) bool{
		"adminCode1=" + first.Admin1:                                                                         func(e entry) bool { return e.Admin1 == first.Admin1 },
		"country=" + first.Country + "&adminCode1=" + first.Admin1:                                           func(e entry) bool { return e.Country == first.Country && e.Admin1 == first.Admin1 },
		"country=" + first.Country + "&adminCode1=" + first.Admin1 + "&adminCode2=" + admin2:                 func(e entry) bool { return e.Country == first.Country && e.Admin2 == admin2 },
		"country=" + first.Country + "&adminCode1=" + first.Admin1 + "&adminCode2=" + admin2 + "&style=FULL": func(e entry) bool { return e.Country == first.Country && e.Admin2 == admin2 },
	} {
		var want []int
		for _, e := range list {
			if meets(e) {
				want = append(want, e.ID)
			}
		}
		starts := []int{0, 2, 150}
		if testing.Short() {
			starts = starts[1:2]
		}
		for _, start := range starts {
			var doc struct {
				TotalResultsCount int
				Geonames          []struct{ GeonameID int }
			}
			read(fmt.Sprintf("/searchJSON?%s&startRow=%d&maxRows=100", query, start), &doc)
			rows := want[min(start, len(want)):]
			rows = rows[:min(len(rows), 100)]
			var got []int
			for _, g := range doc.Geonames {
				got = append(got, g.GeonameID)
			}
			if !slices.Equal(got, rows) || doc.TotalResultsCount < len(got) || len(want) <= 1000 && doc.TotalResultsCount != len(want) {
				t.Errorf("%s from %d: %d rows of %d, want %d of %d", query, start, len(got), doc.TotalResultsCount, len(rows), len(want))
			}
		}
	}
}

// BenchmarkDearest reports the processor time of the dearest questions of every
// route, over the data that ingest has published in the directory QUADRILLE_DATA,
// without kept answers.
func BenchmarkDearest(b *testing.B) {
	dir := os.Getenv("QUADRILLE_DATA")
	if _, err := fs.Stat(os.DirFS(filepath.Clean(dir)), "."); dir == "" || err != nil {
		b.Skip("set QUADRILLE_DATA to a directory that ingest has published data in")
	}
	w := newDearWorld(b, dir)
	for _, path := range slices.Sorted(func(yield func(string) bool) {
		for path := range dearest {
			if !yield(path) {
				return
			}
		}
	}) {
		for _, q := range dearest[path] {
			for _, coding := range []string{"identity", "br"} {
				b.Run(coding+strings.ReplaceAll(q, "/", "|"), func(b *testing.B) {
					r := httptest.NewRequest(http.MethodGet, w.fill.Replace(q), nil)
					r.Header["X-Api-Key"], r.Header["Accept-Encoding"] = []string{testKey}, []string{coding}
					out := &discard{header: http.Header{}}
					w.work.reset()
					start := processorTime(b)
					for b.Loop() {
						clear(out.header)
						w.handler.ServeHTTP(out, r)
					}
					n := float64(b.N)
					b.ReportMetric(float64(processorTime(b)-start)/1e6/n, "cpu-ms/op")
					b.ReportMetric(float64(w.work.reads.Load())/n, "reads/op")
					b.ReportMetric(float64(w.work.rows.Load())/n, "rows/op")
					b.ReportMetric(float64(out.bytes)/n, "B/answer")
				})
			}
		}
	}
}

// processorTime is what the process has used.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
