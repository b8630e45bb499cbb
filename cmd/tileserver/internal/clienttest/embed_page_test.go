package clienttest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"quadrille/cmd/internal/programs"
)

const hostilePoints = `id,name,category,price,url,lat,lon
a,<img src=x onerror=alert(1)>,cafe,3.5,https://example.org/a?b=1&c=2,46,5
b,Plain,books,,javascript:alert(1),45,9
`

// TestEmbedSpeaks tests the cards of the map in a frame, and the messages between it and the page around
// it, with hostile values, in a frame of no origin, and where answers are for other origins.
func TestEmbedSpeaks(t *testing.T) {
	browser := startBrowser(t)
	data := smallData(t)
	file := filepath.Join(t.TempDir(), "shops.csv")
	if err := os.WriteFile(file, []byte(hostilePoints), 0o600); err != nil {
		t.Fatal(err)
	}
	programs.Ingester(t)("--data", data, "points", "shops", file)
	site := programs.Serve(t, "--data", data).URL
	closed := programs.Serve(t, "--data", data, "--cors-origin=https://a.example,https://b.example").URL
	holder := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		sandbox, base := "", site
		switch r.URL.Path {
		case "/sandboxed":
			sandbox = `sandbox="allow-scripts" `
		case "/closed":
			base = closed
		}
		fmt.Fprintf(w, `<!doctype html><link rel="icon" href="data:,"><script>
			const got = []
			addEventListener('message', event => got.push(event.data))
			const last = type => got.findLast(one => one.type === 'quadrille:' + type)
			const send = message => document.querySelector('iframe').contentWindow.postMessage(message, '*')
			</script><body style="margin: 0"><iframe %ssrc="%s/embed?%s" width="600" height="400" style="border: 0"></iframe>`,
			sandbox, base, strings.ReplaceAll(r.URL.RawQuery, "&", "&amp;"))
	}))
	t.Cleanup(holder.Close)
	small := screen{width: 600, height: 400, density: 1}
	const query = "layers=country,points:shops&center=46,5&zoom=6&popup=%7Bname%7D%0A%7Bprice%7D%20%E2%82%AC%0A%7Burl%7D%3Cb%3E"

	for _, path := range []string{"/framed", "/sandboxed"} {
		t.Run(path, func(t *testing.T) {
			w := open(t, browser, holder.URL+path+"?"+query+"#6/46/5", small)
			w.expect("it asks another server: "+site+"/", "it asks another server: "+holder.URL, "404")
			w.waitFor(`last('ready')?.zoom === 6 && last('ready').center.map(Math.round).join() === '46,5' && last('ready').bounds.length === 4`)
			w.waitFor(`(send({ type: 'quadrille:select', layer: 'points:shops', id: 'b' }), last('select')?.name === 'Plain')`)
			w.click(46, 5)
			w.waitFor(`last('select')?.id === 'a' || last('view') !== undefined`)
			for _, nonsense := range []string{
				`null`, `5`, `{ type: {} }`, `{ type: 'quadrille:constructor' }`, `{ type: 'quadrille:view', center: {}, zoom: [], fit: 7 }`,
				`{ type: 'quadrille:filter', filters: 5 }`, `{ type: 'quadrille:select', layer: {}, id: {} }`,
			} {
				evaluate[any](w, `(send(`+nonsense+`), true)`)
			}
			evaluate[any](w, `(send({ type: 'quadrille:view', fit: [8, 44, 10, 46] }), true)`) // once: each begins a flight
			w.waitFor(`(([w, s, e, n]) => w <= 8 && s <= 44 && e >= 10 && n >= 46)(last('view')?.bounds ?? [9, 45, 9, 45]) && last('view').zoom > 6`)
			w.waitFor(`(send({ type: 'quadrille:select', layer: 'country', id: 'none' }), last('select').id === null)`)
		})
	}

	t.Run("closed", func(t *testing.T) {
		w := open(t, browser, holder.URL+"/closed?"+query+"#6/46/5", small)
		w.expect("it asks another server: "+closed+"/", "it asks another server: "+holder.URL)
		w.drawsLand("embed-closed")
		evaluate[any](w, `(send({ type: 'quadrille:view', center: [40, 10] }), true)`)
		w.click(46, 5)
		w.frames()
		if n := evaluate[int](w, `got.length`); n != 0 {
			t.Errorf("a page of another origin is told %s", evaluate[string](w, `JSON.stringify(got)`))
		}
	})

	t.Run("card", func(t *testing.T) {
		w := open(t, browser, site+"/embed?"+query+"&title=%3Cb%3ECaf%C3%A9s", small)
		w.expect("it asks another server: " + site + "/")
		w.waitFor(`document.querySelector('.leaflet-control-zoom') && document.querySelector('#map').ariaBusy === 'false' && document.querySelector('#large').hash !== ''`)
		w.waitFor(`document.title === '<b>Cafés' && document.querySelector('h1').textContent === '<b>Cafés'`)
		w.waitFor(`(document.querySelector('#map').focus(), document.activeElement.id === 'map')`)
		w.key(kb.Enter)
		w.waitFor(`document.querySelector('#card h2')?.textContent === '<img src=x onerror=alert(1)>'`)
		if rest := w.texts("#card .content p"); strings.Join(rest, "|") != "3.5 €|https://example.org/a?b=1&c=2<b>" {
			t.Errorf("the card says %q", rest)
		}
		if n := evaluate[int](w, `document.querySelectorAll('#card img, #card b, h1 b').length`); n > 0 {
			t.Errorf("%d elements of values", n)
		}
		if links := evaluate[string](w, `[...document.querySelectorAll('#card a')].map(a => a.href + ' ' + a.rel).join()`); links != "https://example.org/a?b=1&c=2 noopener noreferrer" {
			t.Errorf("links %s", links)
		}
		w.keep("embed-card")
		for range 8 {
			if w.key(kb.Tab); evaluate[bool](w, `document.querySelector('#card').contains(document.activeElement)`) {
				break
			}
		}
		w.waitFor(`document.activeElement.matches('#card .close')`)
		w.key(kb.Escape)
		w.waitFor(`document.querySelector('#card').hidden && document.activeElement.id === 'map'`)
	})

	t.Run("nowhere", func(t *testing.T) {
		w := open(t, browser, site+"/embed?fit=country:nowhere&layers=country", small)
		w.expect("it asks another server: "+site+"/", "404")
		w.waitFor(`document.querySelector('#notice p')?.textContent === 'The map does not know where country:nowhere is.'`)
	})
}
