//go:build !race

package httpapi_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/feature/layertest"
)

// A new form of lists is one file of package listing. This one is complete. Such a file would
// register toyForm in an init function.
//
//	func init() { Register(&toyForm) }
//
// Then every list of the server has the form, including lists of added layers and of OGC API: as a
// value of format and f, for the header Accept, in links, and in the description.
var toyForm = listing.Format{
	Name: "toy", Format: web.NewFormat(web.Media{Name: "toy", Type: "text/toy"}), Unpaged: true, Doc: "a line each",
	Head: func(dst []byte, _ *listing.List) []byte { return append(dst, "id,lat,lon,name\n"...) },
	Item: func(dst []byte, _ *listing.List, f *feature.Feature, _ string) ([]byte, error) {
		return fmt.Appendf(dst, "%s,%v,%v,%q\n", f.ID, f.Lat, f.Lon, f.Name()), nil
	},
}

// TestFormOfTheCallers tests that a form that was added by listing.Register is available in the
// lists of every layer.
func TestFormOfTheCallers(t *testing.T) {
	forms := listing.Formats
	t.Cleanup(func() { listing.Formats = forms })
	listing.Formats = slices.Clone(forms)
	listing.Register(&toyForm)
	w := servertest.NewWhole(t)
	woods := &layertest.Memory{
		LayerInfo: feature.Info{Name: "woods", AllPoints: true, Schema: feature.Schema{{Name: "name", Kind: feature.Text}}},
		List: []feature.Feature{{ID: "oak", Properties: feature.PropertiesOf(feature.Property{Name: "name",
			Value: feature.TextValue([]byte("Oak"))})}},
	}
	live := dataset.NewFixedLive[feature.Tiler](woods, dataset.Manifest{Dataset: "woods", Generation: 7})
	w.Config.ExtraLayers = []ask.LayerKind{ask.SingleLayer("woods", func(*ask.Sets) *dataset.Live[feature.Tiler] { return live })}
	w.Serve()
	for path, want := range map[string]string{
		"/places/nearby?lat=47&lon=8":                      "id,lat,lon,name\n",
		"/places/within?bbox=-180,-90,180,90":              "id,lat,lon,name\n",
		"/places/search?q=place&limit=3":                   "id,lat,lon,name\n",
		"/geocode?q=place&limit=3":                         "id,lat,lon,name\n",
		"/reverse?lat=47&lon=4.5":                          "id,lat,lon,name\n",
		"/airports/within/country/wl":                      `,"Westland \"Main\" <intl>"`,
		"/stations/within?bbox=-180,-90,180,90":            `06670099999,47.48,8.536,"KLOTEN"`,
		"/stations/nearby?lat=47&lon=8":                    `06670099999,47.48,8.536,"KLOTEN"`,
		"/stations/nearest?lat=47.48&lon=8.5":              `06670099999,47.48,8.536,"KLOTEN"`,
		"/points/shops/within?tile=0/0/0&price.lt=20":      "id,lat,lon,name\n",
		"/points/shops/nearby?lat=47&lon=8":                "id,lat,lon,name\n",
		"/regions/within?bbox=-180,-90,180,90":             `"Westland"`,
		"/woods/nearby?lat=0&lon=0":                        `oak,0,0,"Oak"`,
		"/woods/within?tile=0/0/0&name=Oak":                `oak,0,0,"Oak"`,
		"/ogc/collections/woods/items":                     `oak,0,0,"Oak"`,
		"/ogc/collections/woods/items/oak":                 `oak,0,0,"Oak"`,
		"/ogc/collections/places/items":                    "id,lat,lon,name\n",
		"/ogc/collections/country/items":                   `"Westland"`,
		"/ogc/collections/points:shops/items?price=7":      "id,lat,lon,name\n",
		"/ogc/collections/stations/items?country=CH":       `"KLOTEN"`,
		"/ogc/collections/stations/items/06670099999":      `"KLOTEN"`,
		"/ogc/collections/airports/items?filter=name<>'x'": `"Strip 18"`,
	} {
		path = strings.ReplaceAll(path, "<>'x'", "%3C%3E%27x%27")
		parameter := "format"
		if strings.HasPrefix(path, "/ogc") {
			parameter = "f"
		}
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		res := w.Get(path + join + parameter + "=toy")
		text := servertest.Body(t, res)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/toy" || !strings.Contains(text, want) ||
			strings.Count(text, "\n") < 2 {
			t.Errorf("%s: %d %v %s", path, res.StatusCode, res.Header, text)
		}
		accepted := w.Do(http.MethodGet, path, "Accept", "text/toy, application/json;q=0.5")
		if got := servertest.Body(t, accepted); got != text || !strings.Contains(accepted.Header.Get("Vary"), "Accept") {
			t.Errorf("%s by Accept: %v %.200s", path, accepted.Header, got)
		}
		if !strings.HasPrefix(path, "/ogc") {
			continue
		}
		if got := servertest.Body(t, w.Get(path+join+"f=json")); !strings.Contains(got, `f=toy`) ||
			!strings.Contains(got, `"rel":"alternate","type":"text/toy"`) {
			t.Errorf("%s has no link to the form: %.500s", path, got)
		}
	}
	if text := servertest.Body(t, w.Get("/openapi.json")); strings.Count(text, `"text/toy"`) < 20 ||
		!strings.Contains(text, "`toy` is a line each") {
		t.Error("the form is not described")
	}
	if text := servertest.Body(t, w.Get("/ogc/collections/places?f=json")); !strings.Contains(text,
		`/items?f=toy","rel":"items","type":"text/toy"`) {
		t.Errorf("a collection does not tell the form: %s", text)
	}
}

// Tables have the same features as JSON lists on every page, and the same columns on all pages.
func TestTablesOfEveryList(t *testing.T) {
	w := servertest.NewWhole(t)
	for _, c := range []struct{ path, json, columns string }{
		{"/places/nearby?lat=47&lon=8", "format=geojson", "id,name,admin1,admin1_name,class,code,country,population,timezone,lat,lon,distance_m"},
		{"/places/within?bbox=-180,-90,180,90", "format=geojson", "id,name,admin1,admin1_name,class,code,country,population,timezone,lat,lon"},
		{
			"/airports/within?bbox=-180,-90,180,90&closed=true",
			"format=geojson",
			"id,name,country,elevation_m,iata,icao,ident,local,municipality,region,scheduled,timezone,type,lat,lon",
		},
		{"/stations/within?bbox=-180,-90,180,90", "format=geojson", "id,name,begin,country,elevation_m,end,icao,state,usaf,wban,wmo,lat,lon"},
		{
			"/points/shops/nearby?lat=47&lon=8&price.lt=9",
			"format=geojson",
			"id,name,category,limit,open,price,since,lat,lon,distance_m,version,expires",
		},
		{"/points/shops/within?tile=0/0/0&sort=price&fields=price", "format=geojson", "id,price,lat,lon,version,expires"},
		{"/points/shops/within?tile=0/0/0&properties=price&skipGeometry=true", "format=geojson", "id,price,version,expires"},
		{"/ogc/collections/places/items?", "f=json", "id,name,admin1,admin1_name,class,code,country,population,timezone,lon,lat"},
		{"/ogc/collections/country/items?properties=name,type", "f=json", "id,name,type,lat,lon,wkt"},
		{"/ogc/collections/country/items?properties=name&skipGeometry=true", "f=json", "id,name"},
		{"/ogc/collections/country/items?properties=name&crs=http://www.opengis.net/def/crs/EPSG/0/3857", "f=json", "id,name,x,y,wkt"},
	} {
		if strings.Contains(c.path, "places/items") {
			c.columns = strings.Replace(c.columns, "lon,lat", "lat,lon", 1)
		}
		var want []string
		for next := c.path + "&limit=1000&" + c.json; next != ""; {
			var page struct {
				Features []struct{ ID any }
				Next     string
				Links    []struct{ Rel, Href string }
			}
			if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(next))), &page); err != nil {
				t.Fatalf("%s: %v", next, err)
			}
			for _, f := range page.Features {
				id, _ := f.ID.(string)
				if number, ok := f.ID.(float64); ok {
					id = strconv.FormatFloat(number, 'f', -1, 64)
				}
				want = append(want, id)
			}
			if next = ""; page.Next != "" {
				next = c.path + "&limit=1000&" + c.json + "&cursor=" + url.QueryEscape(page.Next)
			}
			for _, l := range page.Links {
				if l.Rel == "next" {
					next = strings.TrimPrefix(l.Href, "http://example.com")
				}
			}
		}
		name, _, _ := strings.Cut(c.json, "=")
		var got []string
		pages := 0
		for next := c.path + "&limit=170&" + name + "=csv"; next != ""; pages++ {
			res := w.Get(next)
			text := servertest.Body(t, res)
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if err != nil || len(rows) == 0 || strings.Join(rows[0], ",") != c.columns ||
				res.Header.Get("Content-Type") != "text/csv; charset=utf-8; header=present" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Fatalf("%s: %v %v %.300s", next, err, res.Header, text)
			}
			for _, row := range rows[1:] {
				got = append(got, row[0])
			}
			if again := w.Get(next); again.Header.Get("Link") != res.Header.Get("Link") { // from the cache
				t.Errorf("%s links to %q, and then to %q", next, res.Header.Get("Link"), again.Header.Get("Link"))
			}
			link := res.Header.Get("Link")
			if next = strings.TrimSuffix(strings.TrimPrefix(link, "<http://example.com"), `>; rel="next"`); next == link && link != "" {
				t.Fatalf("Link: %s", link)
			}
		}
		if len(want) < 2 || !slices.Equal(got, want) {
			t.Errorf("%s: %d rows on %d pages, want %d: %.200q %.200q", c.path, len(got), pages, len(want), got, want)
		}
	}
	// A link gives the same form, whichever client follows it.
	link := w.Do(http.MethodGet, "/points/shops/within?tile=0/0/0&limit=70", "Accept", "text/csv").Header.Get("Link")
	next, _, _ := strings.Cut(strings.TrimPrefix(link, "<http://example.com"), ">")
	if text := servertest.Body(t, w.Get(next)); !strings.HasPrefix(text, "id,name,category,") {
		t.Errorf("%s leads to %.200s", link, text)
	}
	// A feature without an id has an empty cell for it.
	if text := servertest.Body(t, w.Get("/places/search?q=WLD&format=csv")); !strings.Contains(text, "\r\n,") ||
		strings.Contains(text, "\n\"\",") {
		t.Errorf("an airport among places: %s", text)
	}
	// Without a limit the answer has all features of an area, in the order of the rows.
	for _, form := range []string{"csv", "ndjson"} {
		all := servertest.Body(t, w.Get("/points/shops/within?tile=0/0/0&format="+form))
		lines := strings.Split(strings.TrimSpace(all), "\n")
		if form == "csv" {
			lines = lines[1:]
		}
		if len(lines) != 300 {
			t.Errorf("%s: %d points", form, len(lines))
		}
		var paged []string
		for next := "/points/shops/within?tile=0/0/0&limit=70&format=" + form; next != ""; {
			res := w.Get(next)
			page := strings.Split(strings.TrimSpace(servertest.Body(t, res)), "\n")
			if form == "csv" {
				page = page[1:]
			}
			paged = append(paged, page...)
			next, _, _ = strings.Cut(strings.TrimPrefix(res.Header.Get("Link"), "<http://example.com"), ">")
		}
		for i := range lines {
			lines[i], paged[i] = strings.TrimSpace(lines[i]), strings.TrimSpace(paged[i])
		}
		if !slices.Equal(paged, lines) {
			t.Errorf("%s: the pages differ from the whole", form)
		}
	}
}

// The schema of a live collection may change while it is listed. Therefore its tables have an
// additional column for all properties without their own column.
func TestTablesOfLiveCollections(t *testing.T) {
	w, _ := servertest.NewCollections(t)
	for path, columns := range map[string]string{
		"/points/cars/within?tile=0/0/0&format=csv":          "id,speed,lat,lon,version,expires,more",
		"/points/cars/nearby?lat=1&lon=20&format=csv":        "id,speed,lat,lon,distance_m,version,expires,more",
		"/points/cars,shops/nearby?lat=1&lon=20&format=csv":  "lat,lon,distance_m,version,expires,more",
		"/points/shops/within?tile=0/0/0&limit=1&format=csv": "lat,lon,version,expires",
		"/ogc/collections/points:cars/items?f=csv":           "id,speed,lat,lon,more",
	} {
		text := servertest.Body(t, w.Get(path))
		if names, _, _ := strings.Cut(text, "\r\n"); !strings.HasSuffix(names, columns) {
			t.Errorf("%s: %.300s, want %s", path, text, columns)
		}
	}
}

// Every list checks the names of properties, and shows the requested properties.
func TestPropertiesOfEveryList(t *testing.T) {
	w := servertest.NewWhole(t)
	for _, c := range []struct{ path, detail string }{
		{"/places/nearby?lat=47&lon=8&properties=nme", "There is no property nme: use one of"},
		{"/stations/within?tile=0/0/0&properties=x&format=csv", "There is no property x"},
		{"/points/shops/within?tile=0/0/0&properties=x", "use one of category"},
		{"/points/shops/within?tile=0/0/0&properties=name&fields=name", "either fields or properties"},
		{"/points/shops/within?tile=0/0/0&skipGeometry=yes", "true, false"},
		{"/ogc/collections/country/items?properties=name,nme", "There is no property nme: use those that country/queryables lists: id, name,"},
		{"/ogc/collections/country/items/wl?properties=nme", "There is no property nme"},
		{"/ogc/collections/country/items?skipGeometry=1", "true, false"},
		{"/ogc/collections/country/items?properties=", "at least one entry"},
	} {
		if text := servertest.Body(t, w.Get(c.path)); !strings.Contains(text, `"status":400`) || !strings.Contains(text, c.detail) {
			t.Errorf("%s: %s, want %s", c.path, text, c.detail)
		}
	}
	for path, want := range map[string]string{
		"/stations/within?tile=0/0/0&properties=name,country":                                           `{"stations":[{"name":"KLOTEN","country":"CH"}`,
		"/stations/nearby?lat=47.48&lon=8.536&limit=1&properties=name&format=geojson":                   `"properties":{"name":"KLOTEN","distance_m":0.0}`,
		"/stations/nearby?lat=47.48&lon=8.536&limit=1&properties=name&format=geojson&skipGeometry=true": `"geometry":null,"properties":{"name":"KLOTEN","distance_m":0.0}`,
		"/points/shops/nearby?lat=47&lon=8&limit=1&skipGeometry=true&properties=price":                  `,"properties":{"price":`,
		"/ogc/collections/country/items/wl?properties=name&skipGeometry=true":                           `"geometry":null,"properties":{"name":"Westland"}`,
		"/ogc/collections/places/items?properties=name&skipGeometry=true&limit=1":                       `"geometry":null,"properties":{"name":"`,
		"/stations/nearby?lat=47.48&lon=8.536&limit=1&properties=lat,name&skipGeometry=true":            `{"stations":[{"name":"KLOTEN","distance_m":0.0}`,
		"/places/within?tile=0/0/0&limit=1&skipGeometry=true":                                           `"country":`,
		"/ogc/collections/country/items/wl?properties=name&f=html":                                      "Westland",
	} {
		if text := servertest.Body(t, w.Get(path)); !strings.Contains(text, want) ||
			strings.Contains(path, "skipGeometry") && (strings.Contains(text, "coordinates") || strings.Contains(text, `"lat":`)) {
			t.Errorf("%s: %.500s, want %s", path, text, want)
		}
	}
}
