package clienttest

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"quadrille/cmd/internal/programs"
)

// TestMapPageZooms tests the map between whole zooms, while it zooms, and when no worker can paint
// tiles.
func TestMapPageZooms(t *testing.T) {
	browser := startBrowser(t)
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code",
		"--layer", "state=testdata/browser/states.geojson:code")
	ingest("--data", dir, "places", "testdata/browser/places.tsv")
	site := programs.Serve(t, "--data", dir).URL
	desktop := screen{width: 1000, height: 700, density: 1}
	const zoom = `Number(location.hash.slice(1).split('/')[0])`

	// The point under the pointer stays there, and names stay at their places.
	t.Run("wheel", func(t *testing.T) {
		for _, lively := range []bool{false, true} {
			w := open(t, browser, site+"/#5/45.00/15.00", screen{width: 1000, height: 700, density: 1, lively: lively})
			w.drawn(1)
			x, y := w.pixel(46.5, 11)
			for _, step := range []struct{ down, want float64 }{{-120, 5.5}, {-120, 6}, {60, 5.75}} {
				w.wheel(x, y, step.down)
				w.waitFor(fmt.Sprintf(`%s === %v`, zoom, step.want))
				w.settled()
				if toX, toY := w.pixel(46.5, 11); math.Hypot(toX-x, toY-y) > 4 {
					t.Errorf("lively %v, zoom %v: the point under the pointer moved from %.0f, %.0f to %.0f, %.0f", lively, step.want, x, y, toX, toY)
				}
			}
			w.named()
			if w.at(w.picture("zoom-between"), 47, 17) == w.at(w.picture(""), 47, 24) {
				t.Error("land looks like the sea")
			}
			// Browsers report a pinch on a trackpad as a wheel event with the Ctrl key.
			evaluate[chromedp.Void](w, `{ for (let i = 0; i < 10; i++) document.querySelector('#map').dispatchEvent(
				new WheelEvent('wheel', { deltaY: -100 * Math.LN2 / 10, ctrlKey: true, clientX: 500, clientY: 350, bubbles: true, cancelable: true })) }`)
			w.waitFor(zoom + ` === 6.75`)
			w.settled()
			w.named()
		}
	})

	t.Run("steps", func(t *testing.T) {
		w := open(t, browser, site+"/#4.30/45.0/15.0", desktop)
		w.drawn(1)
		w.press(".leaflet-control-zoom-in")
		w.waitFor(zoom + ` === 5.3`)
		evaluate[chromedp.Void](w, `document.querySelector('#map').focus()`)
		w.key("-")
		w.waitFor(zoom + ` === 4.3`)
		// Counties appear at zoom 6 and states at zoom 3. Between whole zooms a type appears once
		// its zoom is reached.
		w.visit(site + "/#2.90/45.0/15.0")
		if got := w.texts(".layers .too-far span"); len(got) != 1 || got[0] != "States" {
			t.Errorf("too far for: %q", got)
		}
	})

	// Until a tile is loaded, the previous picture stays, enlarged.
	t.Run("slow tiles", func(t *testing.T) {
		gate := newGate(t, site, regexp.MustCompile(`^/tiles/[a-z,]+/[4-9]/`))
		for _, lively := range []bool{false, true} {
			w := open(t, browser, gate.url+"/#5/45/15", screen{width: 1000, height: 700, density: 1, lively: lively})
			w.drawn(1)
			before := w.at(w.picture(""), 47, 17)
			gate.shut()
			for _, press := range []string{"in", "in", "out"} {
				from := w.view()
				w.press(".leaflet-control-zoom-" + press)
				w.waitFor(`!location.hash.startsWith(` + quote(from) + `) && !document.querySelector('.leaflet-zoom-anim')`)
				if now := w.at(w.picture("zoom-slow"), 47, 17); now != before {
					t.Errorf("lively %v: without its tiles the map at %s shows %v, want %v as before", lively, w.hash(), now, before)
				}
			}
			gate.open()
			w.settled()
			if now := w.at(w.picture(""), 47, 17); now != before {
				t.Errorf("with its tiles the map shows %v, want %v", now, before)
			}
		}
	})

	// The pictures are the same without a worker, whether the browser has none or its file is
	// missing.
	t.Run("no worker", func(t *testing.T) {
		w := open(t, browser, site+"/#5.5/45/15", desktop)
		w.drawn(1)
		want := w.picture("zoom-worker")
		for name, prepare := range map[string]func(w *window) string{
			"no canvas": func(w *window) string {
				_, err := chromedp.Call(w.ctx, page.AddScriptToEvaluateOnNewDocument,
					page.AddScriptToEvaluateOnNewDocumentParams{Source: `delete window.OffscreenCanvas`})
				if err != nil {
					t.Fatal(err)
				}
				return site
			},
			"no file": func(w *window) string {
				w.expect("404", "tileworker", "ERR_")
				return newGate(t, site, regexp.MustCompile(`^/assets/tileworker-`)).url
			},
		} {
			w := open(t, browser, "about:blank", desktop)
			w.site = prepare(w)
			w.do(chromedp.Navigate(w.site + "/#5.5/45/15"))
			w.drawn(1)
			picture := w.picture("zoom-" + strings.ReplaceAll(name, " ", "-"))
			for _, at := range [][2]float64{{47, 17}, {44, 8}, {47, 24}, {49.2, 12}} {
				if got, want := w.at(picture, at[0], at[1]), w.at(want, at[0], at[1]); got != want {
					t.Errorf("%s: at %v is %v, want %v", name, at, got, want)
				}
			}
			w.named()
		}
	})
}

// named checks that the dot of a place is at the position of the place.
func (w *window) named() {
	w.t.Helper()
	w.waitFor(placesShown + `.some(({ text }) => text.endsWith('Sons'))`)
	w.settled()
	at := evaluate[[]float64](w, `(() => {
		const canvas = [...document.querySelectorAll('.names canvas')].at(-1)
		const { left, top, width } = canvas.getBoundingClientRect()
		const grown = width / canvas.offsetWidth // until names of this zoom are written
		const { dot: { x, y } } = `+placesShown+`.findLast(({ text }) => text.endsWith('Sons'))
		return [left + grown * x, top + grown * y]
	})()`)
	if x, y := w.pixel(44, 15); math.Hypot(at[0]-x, at[1]-y) > 6 {
		w.t.Errorf("at %s a name stands at %.0f, want %.0f, %.0f", w.hash(), at, x, y)
	}
}

// gate is a reverse proxy that delays requests to some paths while it is shut. If these paths
// include the worker's file, it answers 404 for this file.
type gate struct {
	url string
	mu  sync.Mutex
	way chan struct{} // closed while the gate is open
}

func newGate(t *testing.T, site string, paths *regexp.Regexp) *gate {
	t.Helper()
	target, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{way: make(chan struct{})}
	close(g.way)
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if paths.MatchString(r.URL.Path) {
			if strings.HasPrefix(r.URL.Path, "/assets/") {
				http.NotFound(w, r)
				return
			}
			g.mu.Lock()
			way := g.way
			g.mu.Unlock()
			select {
			case <-way:
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(g.open)
	g.url = server.URL
	return g
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.way = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.way:
	default:
		close(g.way)
	}
}
