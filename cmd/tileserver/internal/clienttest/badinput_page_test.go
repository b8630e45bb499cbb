package clienttest

import (
	"fmt"
	"image"
	"image/color"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"quadrille/cmd/internal/programs"
)

const (
	longName   = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogoch"
	arabicName = "مدينة طويلة الاسم جدا"
	scriptName = `<script>alert(1)</script><img src=x onerror=alert(1)> & "Sons"`
)

// hostileNames are names that break careless pages: 200 letters in one word, right-to-left text,
// characters that reverse the text after them, and markup.
var hostileNames = []string{strings.Repeat(longName, 4)[:200], arabicName + " (St. Mary) 12", "\u202eEvil\u2066 Town", scriptName}

// hostileData publishes a country for each hostile name, side by side from 40° to 50° N, and some
// places of the same name inside the country.
func hostileData(t *testing.T) string {
	t.Helper()
	dir, files := t.TempDir(), t.TempDir()
	var countries []string
	var places strings.Builder
	for i, name := range hostileNames {
		west := 10 * i
		countries = append(countries,
			fmt.Sprintf(`{"type":"Feature","properties":{"code":"q%c","name":%q},"geometry":{"type":"Polygon","coordinates":[[[%d,40],[%d,40],[%d,50],[%d,50],[%d,40]]]}}`,
				'e'+i, name, west, west+10, west+10, west, west))
		for j := range 6 {
			fmt.Fprintf(&places, "%d\t%s\t%s\t\t%.4f\t%.4f\tP\tPPLA\tQ%c\t\t\t\t\t\t%d\t\t100\t\t2026-01-02\n", 100*(i+1)+j, name, name,
				42+1.2*float64(j), float64(west)+3+0.7*float64(j), 'E'+i, 900_000-1000*j)
		}
	}
	write := func(name, text string) string {
		file := filepath.Join(files, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer",
		"country="+write("countries.geojson", `{"type":"FeatureCollection","features":[`+strings.Join(countries, ",")+`]}`)+":code",
		"--attribution", strings.Repeat(longName, 4)+", https://example.org/"+strings.Repeat("long/", 30))
	ingest("--data", dir, "places", write("places.tsv", places.String()))
	return dir
}

// The map page handles bad states of the data, the server, the network, the browser and the window.
func TestMapPageBadInput(t *testing.T) {
	browser := startBrowser(t)
	data := hostileData(t)
	site := programs.Serve(t, "--data", data).URL
	desktop := screen{width: 1280, height: 800, density: 1}
	const title = `document.querySelector('#card h2')?.textContent`

	for _, on := range []struct {
		name  string
		langs []string
		names []string
		screen
	}{
		{"names", []string{"en", "ar"}, hostileNames, desktop},
		{"names 320", []string{"en", "ar"}, hostileNames, screen{width: 320, height: 640, density: 2, touch: true}},
		{"names 5120", []string{"en"}, hostileNames[:1], screen{width: 5120, height: 1440, density: 1}}, // few, for each picture takes long
	} {
		name, s := on.name, on.screen
		for _, lang := range on.langs {
			t.Run(name+" "+lang, func(t *testing.T) {
				w := open(t, browser, "about:blank", s)
				w.site = site
				w.do(chromedp.Navigate(site + "/?lang=" + lang + "#5/45/15"))
				w.drawn(1)
				w.fits("map")
				w.keep("bad-" + name + "-" + lang)
				for i, want := range on.names {
					w.visit(fmt.Sprintf("%s/#6/45/%d/at=45,%d", site, 10*i+5, 10*i+5))
					w.waitFor(`document.querySelector('#card').ariaBusy === 'false' && ` + listedPlaces)
					// Characters that reverse text are removed, and so are blanks at the ends.
					plain := strings.TrimSpace(strings.NewReplacer("\u202e", "", "\u2066", "").Replace(want))
					w.waitFor(title + ` === ` + quote(plain))
					w.fits(fmt.Sprintf("card %d", i))
					w.keep(fmt.Sprintf("bad-%s-%s-card%d", name, lang, i))
				}
				// A word in the search field gives suggestions with few lines each.
				w.press("#card .close")
				evaluate[chromedp.Void](w, `document.querySelector('#search').focus()`)
				for _, word := range []string{"llanfair", "alert", "مدينة"} {
					evaluate[chromedp.Void](w, `{ document.querySelector('#search').value = '' }`)
					w.do(chromedp.SendKeys(chromedp.CSS("#search"), word))
					w.waitFor(`document.querySelector('#search').ariaExpanded === 'true' && document.querySelectorAll('.suggestions li').length > 1 && document.querySelector('.suggestion-name').textContent.toLowerCase().includes(` + quote(word) + `)`)
					w.fits("suggestions of " + word)
					if high := evaluate[float64](w,
						`Math.max(...[...document.querySelectorAll('.suggestions li')].map(one => one.offsetHeight))`); high > 100 {
						t.Errorf("a suggestion of %s is %v pixels high", word, high)
					}
				}
				w.keep("bad-" + name + "-" + lang + "-suggestions")
				if n := evaluate[int](w, `document.querySelectorAll('img[src=x], body script').length`); n > 0 {
					t.Errorf("%d pieces of markup came from names", n)
				}
			})
		}
	}

	t.Run("only places", func(t *testing.T) {
		dir := t.TempDir()
		programs.Ingester(t)("--data", dir, "places", "testdata/browser/places.tsv")
		bare := programs.Serve(t, "--data", dir).URL
		w := open(t, browser, bare+"/#5/45/10", desktop)
		w.waitFor(placesShown + `.length > 1 && document.querySelector('#map').ariaBusy === 'false' && document.querySelector('#notice').hidden`)
		if got, want := w.texts(".layers label span"), []string{"Places"}; !slices.Equal(got, want) {
			t.Errorf("layers: %q", got)
		}
		w.click(45.5, 5)
		w.waitFor(`document.querySelector('#card').ariaBusy === 'false' && ` + listedPlaces)
		w.fits("only places")
		w.keep("bad-only-places")
	})

	t.Run("no places", func(t *testing.T) {
		dir := t.TempDir()
		programs.Ingester(t)("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code")
		bare := programs.Serve(t, "--data", dir).URL
		w := open(t, browser, bare+"/#5/45/10", desktop)
		w.waitFor(regionsShown + `.length > 0`)
		w.settled()
		w.click(45.5, 5)
		w.waitFor(title + ` === 'Westland' && document.querySelector('#card .content').textContent.includes('Places are not published')`)
		w.expect("404")
		w.lookUp("westland")
		w.waitFor(`document.querySelector('#card').ariaBusy === 'false' && (document.querySelector('#card .note') !== null || ` +
			title + ` === 'Westland')`)
		w.fits("no places")
		w.keep("bad-no-places")
	})

	// Half of the tiles are refused: the page draws the others, shows one notice, and does not
	// repeat the requests endlessly.
	t.Run("half of the tiles", func(t *testing.T) {
		front := newHalf(t, site)
		w := open(t, browser, front.url+"/#5/45/15", desktop)
		w.expect("503")
		w.waitFor(`!document.querySelector('#notice').hidden && document.querySelector('#map').ariaBusy === 'false'`)
		w.waitFor(`document.querySelectorAll('.regions .leaflet-tile-loaded canvas').length > 0 && ` + namesShown + `.length > 0`)
		w.keep("bad-half")
		w.fits("half of the tiles")
		asked := front.most()
		time.Sleep(500 * time.Millisecond) // nothing happens in it, which no condition can wait for
		if again := front.most(); again > asked || again > 4 {
			t.Errorf("a tile that was refused was asked for %d times, and then %d", asked, again)
		}
		w.click(45, 5)
		w.waitFor(title + ` === ` + quote(hostileNames[0]))
		w.press("#card .close")
		w.press(".leaflet-control-zoom-in")
		w.waitFor(`location.hash.startsWith('#6/') && document.querySelector('#map').ariaBusy === 'false'`)
		if again := front.most(); again > 6 {
			t.Errorf("a tile that was refused was asked for %d times", again)
		}
		evaluate[chromedp.Void](w, `{ location.hash = '#5/45/15' }`)
		w.waitFor(`location.hash.startsWith('#5/') && document.querySelector('#map').ariaBusy === 'false' && !document.querySelector('#notice').hidden`)
		missing := w.at(w.picture(""), 47, 7)
		front.heal()
		w.press("#notice button")
		w.settled() // without a notice
		if w.at(w.picture("bad-half-healed"), 47, 7) == missing {
			t.Error("a tile that was refused is still missing")
		}
	})

	// This simulates a phone in a tunnel. Loaded data stay visible, and the rest is loaded once the
	// network is back.
	t.Run("offline", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/15", screen{width: 390, height: 844, density: 2, touch: true})
		w.drawn(1)
		w.expect("ERR_INTERNET_DISCONNECTED", "request failed")
		w.offline(true)
		w.waitFor(`document.querySelector('#notice').textContent.startsWith('You are offline')`)
		w.fits("offline")
		evaluate[chromedp.Void](w, `{ location.hash = '#9/46/25' }`)
		w.waitFor(`document.querySelector('#map').ariaBusy === 'false' && !document.querySelector('#notice').hidden`)
		w.lookUp("10.1.2.3")
		w.waitFor(`document.querySelector('#card .problem')?.textContent.includes('cannot be reached')`)
		w.fits("a question while offline")
		w.keep("bad-offline")
		w.press("#card .close")
		w.offline(false)
		w.settled()
		w.drawn(1)
	})

	t.Run("storage denied", func(t *testing.T) {
		w := open(t, browser, "about:blank", desktop)
		w.site = site
		w.first(`for (const name of ['localStorage', 'sessionStorage', 'indexedDB']) {
			Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError') } }) }`)
		w.do(chromedp.Navigate(site + "/#5/45/15"))
		w.drawn(1)
		w.key("t")
		w.waitFor(`getComputedStyle(document.documentElement).colorScheme === 'dark'`)
		w.click(45, 5)
		w.waitFor(title + ` === ` + quote(hostileNames[0]))
		w.do(chromedp.Navigate(site + "/docs#getAt"))
		w.waitFor(`document.querySelector('article.shown .desk') !== null`)
		w.press("article.shown [role=tab][id$=Python]")
		w.waitFor(`document.querySelector('article.shown [role=tabpanel]').textContent.includes('urlopen(')`)
	})

	t.Run("no JavaScript", func(t *testing.T) {
		w := open(t, browser, "about:blank", screen{width: 390, height: 844, density: 1})
		w.site = site
		if _, err := chromedp.Call(w.ctx, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			"/":       "The map needs JavaScript",
			"/embed":  "The map needs JavaScript",
			"/docs":   "/regions/at",
			"/status": "boundaries",
		} {
			w.do(chromedp.Navigate(site + path))
			if text := evaluate[string](w, `document.body.innerText`); !strings.Contains(text, want) {
				t.Errorf("%s says %q", path, text)
			}
			if n := evaluate[int](w, `document.documentElement.scrollWidth - innerWidth`); n > 0 {
				t.Errorf("%s is %d pixels wider than the phone", path, n)
			}
			w.keep("bad-no-javascript" + strings.ReplaceAll(path, "/", "-"))
		}
	})

	// With forced colours, chosen elements still look different.
	t.Run("forced colours", func(t *testing.T) {
		w := open(t, browser, "about:blank", desktop)
		w.site = site
		w.media("forced-colors", "active", "prefers-color-scheme", "dark", "prefers-reduced-motion", "reduce")
		w.do(chromedp.Navigate(site + "/#5/45/15/at=45,5&tiles=1"))
		w.waitFor(title + ` === ` + quote(hostileNames[0]) + ` && document.querySelector('.tool-grid').ariaPressed === 'true'`)
		w.settled()
		if shot := w.picture("bad-forced"); w.corner(shot, ".tool-grid") == w.corner(shot, ".tool-theme") {
			t.Error("a button that is pressed looks like one that is not")
		}
		w.fits("forced colours")
		w.do(chromedp.Navigate(site + "/docs#getRegionsAt"))
		w.waitFor(`document.querySelector('article.shown .desk') !== null`)
		shot := w.picture("bad-forced-docs")
		if w.corner(shot, "article.shown [role=tab][aria-selected=true]") == w.corner(shot, "article.shown [role=tab][aria-selected=false]") {
			t.Error("the chosen language looks like the others")
		}
	})

	// With reduced motion nothing moves, and only colours change. Without it elements move, which
	// proves that this test can detect motion.
	t.Run("reduced motion", func(t *testing.T) {
		for _, lively := range []bool{false, true} {
			s := desktop
			s.lively = lively
			w := open(t, browser, site+"/#5/45/15", s)
			w.drawn(1)
			evaluate[chromedp.Void](w, `{
				window.moved = 0
				const look = () => { window.moved += document.getAnimations().filter(one => one.transitionProperty !== 'background-color').length + document.querySelectorAll('.leaflet-zoom-anim, .leaflet-pan-anim').length; requestAnimationFrame(look) }
				look()
			}`)
			w.press(".leaflet-control-zoom-in")
			w.waitFor(`location.hash.startsWith('#6/')`)
			w.settled()
			w.click(45, 15)
			w.waitFor(listedPlaces)
			if moved := evaluate[int](w, `window.moved`); (moved > 0) != lively {
				t.Errorf("lively %v: %d things moved", lively, moved)
			}
		}
	})
}

// corner returns the colour of a picture just inside the upper left corner of an element.
func (w *window) corner(shot image.Image, selector string) color.Color {
	w.t.Helper()
	box := evaluate[[]float64](w, `(box => [box.left, box.top])(document.querySelector(`+quote(selector)+`).getBoundingClientRect())`)
	const inside = 8 // pixels, past the border and its curve
	return shot.At(int((box[0]+inside)*w.density), int((box[1]+inside)*w.density))
}

// fits checks that the page does not scroll sideways, that its parts are in the window, and that
// they do not overlap. When a card grows, the controls make room in the same frame or in the next
// one.
func (w *window) fits(what string) {
	w.t.Helper()
	w.frames()
	for _, fault := range evaluate[[]string](w, `(() => {
		const faults = []
		const wide = document.documentElement.scrollWidth - innerWidth
		if (wide > 0) faults.push('the page is ' + wide + ' pixels too wide')
		const parts = ['.bar', '.layers', '#card', '#tile', '#notice', '.tools', '.leaflet-control-zoom', '.leaflet-control-scale', '.credits', '#suggestions']
			.map(name => ({ name, node: document.querySelector(name) })).filter(({ node }) => node && !node.hidden && node.getClientRects().length > 0)
			.map(part => ({ ...part, box: part.node.getBoundingClientRect() }))
		for (const { name, node, box } of parts) {
			if (box.left < -1 || box.top < -1 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1) faults.push(name + ' is out of view: ' + JSON.stringify(box))
			if (node.scrollWidth > node.clientWidth + 1 && name !== '.layers') faults.push(name + ' scrolls sideways by ' + (node.scrollWidth - node.clientWidth))
		}
		for (const [i, a] of parts.entries()) for (const b of parts.slice(0, i)) {
			if (a.name === '#suggestions' || a.node.contains(b.node) || b.node.contains(a.node)) continue // lie over others while one types
			const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top)
			if (x > 1 && y > 1) faults.push(a.name + ' lies over ' + b.name + ' by ' + x + ' × ' + y)
		}
		return faults
	})()`) {
		w.t.Errorf("%s: %s", what, fault)
	}
}

// first runs a script before the scripts of every page that is opened later.
func (w *window) first(script string) {
	w.t.Helper()
	if _, err := chromedp.Call(w.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		w.t.Fatal(err)
	}
}

// media sets features that style sheets query. The arguments are pairs of name and value.
func (w *window) media(features ...string) {
	w.t.Helper()
	var params emulation.SetEmulatedMediaParams
	for pair := range slices.Chunk(features, 2) {
		params.Features = append(params.Features, &emulation.MediaFeature{Name: pair[0], Value: pair[1]})
	}
	if _, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, params); err != nil {
		w.t.Fatal(err)
	}
}

// offline disconnects the window from the network, or connects it again.
func (w *window) offline(off bool) {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: off, DownloadThroughput: -1, UploadThroughput: -1}},
	})
	if err == nil {
		_, err = chromedp.Call(w.ctx, network.OverrideNetworkState,
			network.OverrideNetworkStateParams{Offline: off, DownloadThroughput: -1, UploadThroughput: -1})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// half is a proxy that refuses every second tile until healed is set, and counts the refusals.
type half struct {
	url    string
	mu     sync.Mutex
	well   bool
	number map[string]int // of refusals by address
}

func newHalf(t *testing.T, site string) *half {
	t.Helper()
	target, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	h := &half{number: map[string]int{}}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.refuses(r.URL.Path) {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Retry-After", "1")
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *half) refuses(path string) bool {
	var layers, ending string
	var z, x, y int
	n, _ := fmt.Sscanf(strings.NewReplacer("/", " ", ".", " ").Replace(strings.TrimPrefix(path, "/tiles/")), "%s %d %d %d %s",
		&layers, &z, &x, &y, &ending)
	h.mu.Lock()
	defer h.mu.Unlock()
	if n < 4 || (x+y)%2 == 0 || h.well {
		return false
	}
	h.number[path]++
	return true
}

// most returns the refusals of the tile that was refused most often.
func (h *half) most() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.number {
		n = max(n, k)
	}
	return n
}

func (h *half) heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.well = true
}
