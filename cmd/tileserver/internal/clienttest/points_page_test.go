package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/static"
)

// pointsSite serves the map page with boundaries, places and collections from a directory; cars is
// a live collection.
func pointsSite(t *testing.T, dir string, published map[string]iter.Seq2[points.Point, error]) (site string, cars *live.Collection) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := dataset.Open(dir, toyworld.Open)
	must(err)
	sets := ask.Sets{
		Boundaries:  ask.Boundaries.Live(c.Generations),
		Places:      ask.Places.Live(c.Generations),
		Collections: &ask.Collections{},
	}
	must(sets.Boundaries.Poll(t.Context()))
	must(sets.Places.Poll(t.Context()))
	t.Cleanup(func() { must(errors.Join(sets.Boundaries.Close(), sets.Places.Close())) })
	for name, seq := range published {
		b, err := c.Begin(t.Context(), ask.CollectionPrefix+name)
		must(err)
		meta, err := points.Build(t.Context(), b.Store(), seq, points.BuildOptions{Name: name, TempDir: t.TempDir(), Timestamp: 1})
		must(err)
		raw, err := json.Marshal(meta)
		must(err)
		_, err = b.Publish(t.Context(), dataset.Manifest{
			SchemaVersion: points.SchemaVersion,
			Meta:          raw,
			Built:         toyworld.Modified,
			Bounds:        meta.Bounds[:],
		})
		must(err)
		live := ask.CollectionOf(name).Live(c.Generations)
		must(live.Poll(t.Context()))
		t.Cleanup(func() { must(live.Close()) })
		sets.Collections.Add(name, live)
	}
	store, err := pebblestore.Open(t.TempDir(), nil)
	must(err)
	sets.Collections.Live, err = live.Open(t.Context(), store, points.LiveKind)
	must(err)
	t.Cleanup(func() { must(errors.Join(sets.Collections.Live.Close(), store.Close())) })
	cars, err = sets.Collections.Live.Create(t.Context(), live.Meta{Name: "cars", Title: "Cars <b>&"})
	must(err)

	page, _ := static.FS()
	server := httptest.NewServer(httpapi.New(httpapi.Config{Sets: sets, PageFiles: page, Config: web.Config{Version: "v1"}}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL, cars
}

// TestMapPageOfPoints tests users' own points on the map page: the switch, dots, clusters, the
// card, and changes while the page is open.
func TestMapPageOfPoints(t *testing.T) {
	browser := startBrowser(t)
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code")
	ingest("--data", dir, "places", "testdata/browser/places.tsv")

	const hostile = `<img src=x onerror=alert(1)> & Sons`
	site, cars := pointsSite(t, dir, map[string]iter.Seq2[points.Point, error]{
		"shops": func(yield func(points.Point, error) bool) {
			properties, _ := json.Marshal(map[string]any{
				"name": hostile, "web": "https://example.org/?a=<b>", "trap": "javascript:alert(1)", "open": true, "stars": 4.5, "text": "<b>bold</b>",
			})
			if !yield(points.Point{ID: "shop/1", Lat: 44, Lon: 8, Properties: properties}, nil) {
				return
			}
			for i := range 2000 {
				if !yield(points.Point{
					ID:         fmt.Sprint("c", i),
					Lat:        46 + float64(i%50)/1000,
					Lon:        14 + float64(i/50)/1000,
					Properties: []byte("{}"),
				}, nil) {
					return
				}
			}
		},
	})
	put := func(id string, lat, lon float64) {
		t.Helper()
		write := []live.Write{{Kind: live.Put, ID: id, Lat: lat, Lon: lon, Properties: []byte(`{"speed":30}`)}}
		if err := cars.Write(context.Background(), write, make([]live.Outcome, 1)); err != nil {
			t.Fatal(err)
		}
	}
	put("taxi 1", 42, 12)

	w := open(t, browser, site+"/#6/44/11", screen{width: 1280, height: 800, density: 1})
	w.settled()
	const title = `document.querySelector('#card h2')?.textContent`
	if got, want := w.texts(".layers label span"), []string{"Countries", "Places", "Graticule", "Cars <b>&",
		"Shops", "Colour by"}; !slices.Equal(got, want) {
		t.Errorf("layers: %q, want %q", got, want)
	}
	asked := func(text string) string {
		return `performance.getEntriesByType('resource').some(({ name, responseEnd }) => responseEnd > 0 && name.includes(` + quote(text) + `))`
	}
	w.waitFor(asked("tiles/points:shops/") + " && " + asked("tiles/points:cars/"))
	w.settled()

	t.Run("card", func(t *testing.T) {
		w.t = t
		w.click(44, 8)
		w.waitFor(title + ` === ` + quote(hostile) + ` && document.querySelector('#card .subtitle').textContent === '44.00000° N, 8.00000° E'`)
		want := []string{"Idshop/1", "Openyes", "Stars4.5", "Text<b>bold</b>", "Trapjavascript:alert(1)", "Webhttps://example.org/?a=<b>"}
		if got := slices.Sorted(slices.Values(w.texts("#card .content > dl div"))); !slices.Equal(got, want) {
			t.Errorf("the card has %q, want %q", got, want)
		}
		if got := evaluate[[]string](w,
			`[...document.querySelectorAll('#card a')].map(a => a.getAttribute('href'))`); !slices.Equal(got,
			[]string{"points/shops/shop%2F1", "https://example.org/?a=%3Cb%3E"}) {
			t.Errorf("links %q", got)
		}
		w.keep("points-card")
	})
	t.Run("keyboard", func(t *testing.T) {
		w := open(t, browser, site+"/#7/42/12", screen{width: 1280, height: 800, density: 1})
		w.waitFor(asked("tiles/points:cars/5/"))
		w.settled()
		evaluate[any](w, `document.querySelector('#map').focus()`)
		w.key(kb.Enter)
		w.waitFor(title + ` === 'taxi 1' && document.querySelector('#announce').textContent.includes('taxi 1')`)
	})
	t.Run("cluster", func(t *testing.T) {
		w := open(t, browser, site+"/#6/46.02/14.02", screen{width: 1280, height: 800, density: 1})
		w.waitFor(asked("tiles/points:shops/4/"))
		w.settled()
		w.keep("points-cluster")
		w.click(46.0245, 14.0195)
		w.waitFor(`location.hash.startsWith('#8/')`)
		w.waitFor(`document.querySelector('#announce').textContent.includes('points of Shops')`)
	})
	t.Run("switch", func(t *testing.T) {
		w := open(t, browser, site+"/#6/44/11", screen{width: 1280, height: 800, density: 1})
		w.waitFor(asked("tiles/points:shops/"))
		w.settled()
		w.press(`.layers input[value="points:shops"]`)
		w.waitFor(`location.hash.includes('layers=country,places,neutral,points:cars')`)
		w.settled()
		w.click(44, 8)
		w.waitFor(title + ` === 'Westland'`)
		again := open(t, browser, site+"/"+w.hash(), screen{width: 1280, height: 800, density: 1})
		again.settled()
		if got := evaluate[bool](again, `document.querySelector('.layers input[value="points:shops"]').checked`); got {
			t.Error("the link switches shops on")
		}
	})
	t.Run("live", func(t *testing.T) {
		w := open(t, browser, site+"/#7/42/12", screen{width: 1280, height: 800, density: 1})
		w.waitFor(asked("tiles/points:cars/5/"))
		w.settled()
		evaluate[any](w, `performance.clearResourceTimings()`)
		put("taxi 1", 42.5, 13)
		w.waitFor(asked("tiles/points:cars/5/"))
		w.settled()
		w.click(42.5, 13)
		w.waitFor(title + ` === 'taxi 1'`)
	})
	t.Run("one position", func(t *testing.T) {
		put("taxi 1", 41, 12)
		put("taxi 2", 41, 12)
		w := open(t, browser, site+"/#18/41/12", screen{width: 1280, height: 800, density: 1})
		w.waitFor(asked("tiles/points:cars/17/"))
		w.settled()
		w.click(41, 12)
		w.waitFor(`document.querySelectorAll('#card .places button').length === 2`)
		w.press("#card .places button")
		w.waitFor(title + ` === 'taxi 1'`)
	})
	t.Run("phone", func(t *testing.T) {
		for _, size := range []screen{{width: 390, height: 844, density: 1}, {width: 320, height: 568, density: 1}} {
			w := open(t, browser, site+"/#7/42/12", size)
			w.settled()
			w.press("#map")
			w.waitFor(`document.querySelector('.pin span') !== null && !document.querySelector('#card').hidden`)
			w.settled()
			over := evaluate[[]string](w, `(() => {
				const pin = document.querySelector('.pin span').getBoundingClientRect()
				return [...document.querySelectorAll('.bar, #card, .layers, .leaflet-control')].filter(one => {
					const box = one.getBoundingClientRect()
					return box.width > 0 && box.left < pin.right && box.right > pin.left && box.top < pin.bottom && box.bottom > pin.top
				}).map(one => one.className)
			})()`)
			if len(over) != 0 {
				t.Errorf("%d x %d: %q lie over the pin, want nothing there", size.width, size.height, over)
			}
		}
	})
}

// Fences work on the map page: a reader who watches a region sees each point that enters or leaves
// it, even after a restart of the server.
func TestMapPageOfFences(t *testing.T) {
	browser := startBrowser(t)
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code",
		"--layer", "state=testdata/browser/states.geojson:code")
	ingest("--data", dir, "places", "testdata/browser/places.tsv")
	keys := filepath.Join(t.TempDir(), "keys")
	key := newKey(t, "fleet", keys, "write:*")
	args := []string{"--data", dir, "--live", filepath.Join(t.TempDir(), "live"), "--keys", keys, "--anonymous"}
	server := programs.Serve(t, args...)
	site := server.URL
	send := func(method, path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, site+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode >= 300 {
			t.Fatalf("%s %s: %s", method, path, res.Status)
		}
	}
	put := func(escaped string, lat, lon float64) {
		t.Helper()
		send(http.MethodPut, "/points/taxis/"+escaped,
			fmt.Sprintf(`{"type":"Feature","geometry":{"type":"Point","coordinates":[%v,%v]},"properties":{"seats":4}}`, lon, lat))
	}
	restart := func() {
		t.Helper()
		server.Stop(t)
		server = programs.Serve(t, append(args, "--listen", strings.TrimPrefix(site, "http://"))...)
	}
	send(http.MethodPut, "/points/taxis", `{"title":"Taxis"}`)
	put("t-7", 44, 11) // at sea

	const (
		title     = `document.querySelector('#card h2')?.textContent`
		notes     = `[...document.querySelectorAll('#crossings ol .place-name')].map(e => e.textContent.replace(/[\u2066-\u2069]/g, '')).join('|')`
		offered   = `[...document.querySelectorAll('#card .watch .chip')].map(e => e.textContent.replace(/[\u2066-\u2069]/g, '')).join('|')`
		connected = `[...document.querySelectorAll('#crossings .watches small')].every(e => e.hidden)`
		tell      = "Tell me when Taxis enter or leave"
	)
	for _, s := range []struct {
		name string
		screen
	}{
		{"desktop", screen{width: 1280, height: 800, density: 1}},
		{"phone", screen{width: 320, height: 640, density: 2, touch: true, dark: true}},
	} {
		t.Run(s.name, func(t *testing.T) {
			w := open(t, browser, site+"/#5/45/9/at=44.2,5.1", s.screen)
			w.expect("ERR_") // while the server restarts
			w.settled()
			w.waitFor(title + ` === 'South Westland' && ` + offered + ` === ` + quote(tell))
			// This part uses only the keyboard.
			evaluate[chromedp.Void](w, `document.querySelector('#card .watch .chip').focus()`)
			w.key(kb.Enter)
			w.waitFor(`!document.querySelector('#crossings').hidden && document.activeElement.textContent === 'Stop telling me about Taxis'`)
			w.waitFor(`document.querySelector('#announce').textContent === 'Watching Taxis at South Westland'`)
			w.waitFor(connected)
			put("t-7", 44, 8)
			w.waitFor(notes + ` === 't-7 entered South Westland'`)
			if role := evaluate[string](w,
				`document.querySelector('#crossings ol').parentElement.role + ' ' + document.querySelector('#crossings ol').parentElement.ariaLive`); role != "status polite" {
				t.Errorf("the notes are read out as %q", role)
			}
			w.keep("fence-" + s.name)

			// A watch of another region uses the same stream.
			evaluate[chromedp.Void](w,
				`{ const s = document.querySelector('#card .watch select'); s.value = '0'; s.dispatchEvent(new Event('change')) }`)
			w.waitFor(offered + ` === ` + quote(tell))
			evaluate[chromedp.Void](w, `document.querySelector('#card .watch .chip').click()`)
			w.waitFor(`document.querySelectorAll('#crossings .watches li').length === 2 && ` + connected)
			put("t-7", 44, 11)
			w.waitFor(notes + `.split('|').toSorted().join() === 't-7 entered South Westland,t-7 left South Westland,t-7 left Westland'`)

			// A click on a notification shows its point.
			evaluate[chromedp.Void](w, `document.querySelector('#crossings ol button').click()`)
			w.waitFor(title + ` === 't-7' && document.querySelector('#card .subtitle').textContent === '44.00000° N, 11.00000° E' && document.querySelectorAll('#map .pin').length === 1`)

			// This part restarts the server.
			restart()
			put("%3Cb%3E%2F%26", 44, 8)
			w.waitFor(notes + `.startsWith('<b>/& entered ')`)
			w.waitFor(`document.querySelectorAll('#crossings ol li').length === 5`)
			for i := range 20 {
				put("many", 44, 8+3*float64(i%2))
			}
			w.waitFor(`document.querySelectorAll('#crossings ol li').length === 20 && ` + notes + `.startsWith('many left ')`)
			if n := evaluate[int](w, `document.documentElement.scrollWidth - innerWidth`); n > 0 {
				t.Errorf("the page is %d pixels wider than the screen", n)
			}
			w.keep("fence-many-" + s.name)

			// Stopped watches report nothing more, and the focus stays in the page.
			for range 2 {
				evaluate[chromedp.Void](w, `{ const b = document.querySelector('#crossings .watches button'); b.focus(); b.click() }`)
			}
			w.waitFor(`document.activeElement.textContent === 'Clear'`)
			evaluate[chromedp.Void](w, `document.activeElement.click()`)
			w.waitFor(`document.querySelector('#crossings').hidden && document.activeElement.id === 'map'`)
			send(http.MethodDelete, "/points/taxis/%3Cb%3E%2F%26", "")
			send(http.MethodDelete, "/points/taxis/many", "")
		})
	}

	// These ids are words of the service's own paths, or look like folders.
	t.Run("ids", func(t *testing.T) {
		for i, id := range []string{"%63ount", "%65vents", "a%2Fb", "%25"} {
			lat := 42 + float64(i)
			put(id, lat, 14)
			w := open(t, browser, fmt.Sprintf("%s/#9/%v/14", site, lat), screen{width: 1000, height: 700, density: 1})
			w.waitFor(`performance.getEntriesByType('resource').some(({ name, responseEnd }) => responseEnd > 0 && name.includes('tiles/points:taxis/'))`)
			w.settled()
			w.click(lat, 14)
			w.waitFor(`document.querySelector('#card .subtitle')?.textContent.endsWith('.00000° N, 14.00000° E') && document.querySelector('#card a.chip').getAttribute('href') === ` + quote("points/taxis/"+id))
		}
	})
}
