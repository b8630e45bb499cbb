package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/points"
	"quadrille/static"
)

// pointsSite serves the page over the boundaries and places in a directory with
// collections, of which cars is live. moved tells the page that it has changed.
func pointsSite(t *testing.T, dir string, published map[string]iter.Seq2[points.Point, error]) (site string, cars *points.LiveCollection, moved func()) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := dataset.Open(dir, toyworld.Open)
	must(err)
	sets := datasets.Sets{
		Boundaries:  catalogue.Live[datasets.Boundaries](c.Generations, catalogue.Boundaries),
		Places:      catalogue.Live[datasets.Places](c.Generations, catalogue.Places),
		Collections: &datasets.Collections{},
	}
	must(sets.Boundaries.Poll(t.Context()))
	must(sets.Places.Poll(t.Context()))
	t.Cleanup(func() { must(errors.Join(sets.Boundaries.Close(), sets.Places.Close())) })
	list := []map[string]any{{"name": "cars", "title": "Cars <b>&", "live": true}}
	for name, seq := range published {
		b, err := c.Begin(t.Context(), catalogue.PointsPrefix+name)
		must(err)
		meta, err := points.Build(t.Context(), b.Store(), seq, points.BuildOptions{Name: name, TempDir: t.TempDir(), Timestamp: 1})
		must(err)
		raw, err := json.Marshal(meta)
		must(err)
		_, err = b.Publish(t.Context(), dataset.Manifest{SchemaVersion: points.SchemaVersion, Meta: raw, Built: toyworld.Modified, Bounds: meta.Bounds[:]})
		must(err)
		live := catalogue.Live[datasets.Collection](c.Generations, catalogue.Points(name))
		must(live.Poll(t.Context()))
		t.Cleanup(func() { must(live.Close()) })
		sets.Collections.Follow(name, live)
		list = append(list, map[string]any{"name": name, "points": meta.Points})
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	store, err := pebblestore.Open(t.TempDir(), nil)
	must(err)
	sets.Collections.Live, err = points.OpenLive(t.Context(), store)
	must(err)
	t.Cleanup(func() { must(errors.Join(sets.Collections.Live.Close(), store.Close())) })
	cars, err = sets.Collections.Live.Create(t.Context(), points.Meta{Name: "cars"})
	must(err)

	page, _ := static.FS()
	mux := http.NewServeMux()
	mux.Handle("/", httpapi.New(httpapi.Config{Sets: sets, Page: page, Config: web.Config{Version: "v1"}}))
	mux.HandleFunc("/points", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"collections": list})
	})
	var news atomic.Pointer[chan struct{}]
	renew := func() *chan struct{} {
		next := make(chan struct{})
		return news.Swap(&next)
	}
	renew()
	mux.HandleFunc("/points/cars/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for {
			select {
			case <-*news.Load():
				fmt.Fprint(w, "id: 1\ndata: {}\n\n")
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("/points/{collection}/{id}", func(w http.ResponseWriter, r *http.Request) {
		p := sets.Collections.Pin(r.PathValue("collection"))
		defer p.Release()
		var h points.Hit
		collection, err := p.Get()
		if err == nil {
			err = collection.GetAt(r.Context(), r.PathValue("id"), time.Time{}, &h)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"type":"Feature","geometry":{"type":"Point","coordinates":[%v,%v]},"properties":%s}`, h.Lon, h.Lat, h.Properties)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL, cars, func() { close(*renew()) }
}

// Users' own points on the map page: the switch, dots, clusters, the card, and what
// changes while the page is open.
func TestMapPageOfPoints(t *testing.T) {
	browser := startBrowser(t)
	dir := t.TempDir()
	ingest := buildIngest(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code")
	ingest("--data", dir, "places", "testdata/browser/places.tsv")

	const hostile = `<img src=x onerror=alert(1)> & Sons`
	site, cars, moved := pointsSite(t, dir, map[string]iter.Seq2[points.Point, error]{
		"shops": func(yield func(points.Point, error) bool) {
			properties, _ := json.Marshal(map[string]any{
				"name": hostile, "web": "https://example.org/?a=<b>", "trap": "javascript:alert(1)", "open": true, "stars": 4.5, "text": "<b>bold</b>",
			})
			if !yield(points.Point{ID: "shop/1", Lat: 44, Lon: 8, Properties: properties}, nil) {
				return
			}
			for i := range 2000 {
				if !yield(points.Point{ID: fmt.Sprint("c", i), Lat: 46 + float64(i%50)/1000, Lon: 14 + float64(i/50)/1000, Properties: []byte("{}")}, nil) {
					return
				}
			}
		},
	})
	put := func(id string, lat, lon float64) {
		t.Helper()
		write := []points.Write{{Kind: points.Put, ID: id, Lat: lat, Lon: lon, Properties: []byte(`{"speed":30}`)}}
		if err := cars.Write(context.Background(), write, make([]points.Outcome, 1)); err != nil {
			t.Fatal(err)
		}
	}
	put("taxi 1", 42, 12)

	w := open(t, browser, site+"/#6/44/11", screen{width: 1280, height: 800, density: 1})
	w.settled()
	const title = `document.querySelector('#card h2')?.textContent`
	if got, want := w.texts(".layers label span"), []string{"Countries", "Places", "Cars <b>&", "Shops"}; !slices.Equal(got, want) {
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
		if got := evaluate[[]string](w, `[...document.querySelectorAll('#card a')].map(a => a.getAttribute('href'))`); !slices.Equal(got, []string{"points/shops/shop%2F1", "https://example.org/?a=%3Cb%3E"}) {
			t.Errorf("links %q", got)
		}
		w.picture("points-card")
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
		w.picture("points-cluster")
		w.click(46.0245, 14.0195)
		w.waitFor(`location.hash.startsWith('#8/')`)
		w.waitFor(`document.querySelector('#announce').textContent.includes('points of Shops')`)
	})
	t.Run("switch", func(t *testing.T) {
		w := open(t, browser, site+"/#6/44/11", screen{width: 1280, height: 800, density: 1})
		w.waitFor(asked("tiles/points:shops/"))
		w.settled()
		w.press(`.layers input[value="points:shops"]`)
		w.waitFor(`location.hash.includes('layers=country,places,points:cars')`)
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
		put("taxi 1", 42.5, 13)
		evaluate[any](w, `performance.clearResourceTimings()`)
		moved()
		w.waitFor(asked("tiles/points:cars/5/"))
		w.settled()
		w.click(42.5, 13)
		w.waitFor(title + ` === 'taxi 1'`)
	})
}
