package clienttest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quadrille/cmd/internal/programs"
)

// TestMapPagePanels tests the controls of the map page: the panels, the permalink, the tile
// inspector, the keyboard, and the messages when data, the server or the connection fail.
func TestMapPagePanels(t *testing.T) {
	browser := startBrowser(t)
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code",
		"--layer", "state=testdata/browser/states.geojson:code")
	ingest("--data", dir, "places", manyPlaces(t))
	ingest("--data", dir, "ip", "testdata/browser/ip.csv")
	ingest("--data", dir, "timezones")
	ingest("--data", dir, "airports", "../../../../sample/airports.csv")
	ingest("--data", dir, "stations", "../../../../sample/stations.csv")
	site := programs.Serve(t, "--data", dir).URL

	desktop := screen{width: 1280, height: 800, density: 1}
	phone := screen{width: 390, height: 844, density: 2, touch: true}
	const (
		title  = `document.querySelector('#card h2')?.textContent`
		listed = `document.querySelectorAll('#card .places li').length`
	)

	// Without a known time zone, the page shows no clock. At sea, it shows nautical time.
	t.Run("no clock", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/15/at=45.2,15.1", desktop)
		w.waitFor(`document.querySelector('#card .content')?.textContent.includes('The time zone is not known here.')`)
		if got := w.texts("#card .clock"); len(got) != 0 {
			t.Errorf("a clock: %q", got)
		}
	})
	t.Run("at sea", func(t *testing.T) {
		w := open(t, browser, site+"/#5/0/-140/at=0,-140", desktop)
		w.waitFor(`document.querySelector('#card .clock') !== null`)
		if got := w.texts("#card h3"); !slices.Contains(got, "Nautical time") || slices.Contains(got, "Local time") {
			t.Errorf("headings %q", got)
		}
	})

	// The list of layers covers no button, however many layers there are.
	t.Run("many layers", func(t *testing.T) {
		for _, s := range []screen{desktop, {width: 1000, height: 620, density: 1}, {width: 1000, height: 580, density: 1}} {
			w := open(t, browser, site+"/#5/45/5", s)
			w.drawn(0)
			covered := evaluate[[]string](w, `(() => {
				const list = document.querySelector('#layers fieldset')
				for (let i = 0; i < 20; i++) list.append(list.lastElementChild.cloneNode(true))
				document.querySelector('#layers').open = true
				return [...document.querySelectorAll('.tools button, .leaflet-control-zoom a')].filter(button => {
					const { left, right, top, bottom } = button.getBoundingClientRect()
					return !button.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2))
				}).map(button => button.title)
			})()`)
			if len(covered) > 0 {
				t.Errorf("at %d × %d the list of layers covers %q", s.width, s.height, covered)
			}
		}
	})

	t.Run("here", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/5/at=45.2,5.1", desktop)
		w.drawn(0)
		w.waitFor(title + ` === 'South Westland' || ` + title + ` === 'North Westland'`)
		if got := w.texts("#card .content > dl:first-child dt"); !slices.Equal(got, []string{"Country", "State"}) {
			t.Errorf("regions of the point: %q", got)
		}
		if got := w.texts("#card .nearest dt"); !slices.Equal(got, []string{"Place", "Airport", "Weather"}) {
			t.Errorf("nearest of each: %q", got)
		}
		for _, d := range w.texts("#card .nearest .place-distance") {
			if !regexp.MustCompile(`^(here|[\d,.]+ k?m( [NS]?[EW]?)?)$`).MatchString(d) {
				t.Errorf("distance %q", d)
			}
		}
		w.waitFor(listed + ` === 5`)
		w.keep("panel-here-light")
		// The clock has minutes, which screen readers do not announce.
		if got := w.texts("#card .clock")[0]; !regexp.MustCompile(`^\d\d:\d\d$`).MatchString(got) {
			t.Errorf("the clock shows %q", got)
		}
		if got := evaluate[string](w, `document.querySelector('#card .clock').getAttribute('aria-live')`); got != "off" {
			t.Errorf("the clock's aria-live is %q", got)
		}
		if got := w.texts("#card .clock-face + p"); len(got) != 1 || !strings.HasPrefix(got[0], "Europe/Paris · UTC+") ||
			!strings.HasSuffix(got[0], " · as at the nearest place, 34 km away") {
			t.Errorf("the time zone: %q", got)
		}
		w.waitFor(`document.querySelector('#announce').textContent.includes('Westland')`)
		if got := evaluate[string](w, `document.querySelector('#card a.chip').getAttribute('href')`); got != "at?lat=45.2&lon=5.1&lang=en" {
			t.Errorf("the link to JSON goes to %q", got)
		}
		w.press("#card .copies summary")
		w.press("#card .copies button.chip")
		w.waitFor(`document.querySelector('#card .copies button.chip').textContent === 'Copied'`)

		// After a change of level, the title and the outline are those of the new region, and the
		// keyboard focus does not move.
		evaluate[chromedp.Void](w, `document.querySelector('#card .level[aria-pressed=false]').click()`)
		w.waitFor(title + ` === 'Westland' && document.activeElement.matches('#card .level[aria-pressed=true]')`)
		w.key(kb.Escape)
		w.waitFor(`document.querySelector('#card').hidden`)
	})

	t.Run("nearby", func(t *testing.T) {
		w := open(t, browser, site+"/#6/45/5/at=45.2,5.1", desktop)
		w.drawn(0)
		w.waitFor(listed + ` === 5`)
		// Pointing at a row marks the place with a ring; the arrow keys move through the rows.
		evaluate[chromedp.Void](w, `document.querySelector('#card .places button').focus()`)
		w.waitFor(`document.querySelectorAll('#map .ring').length === 1`)
		w.key(kb.ArrowDown)
		w.waitFor(`document.activeElement === document.querySelectorAll('#card .places button')[1]`)
		w.key(kb.End)
		w.waitFor(`document.activeElement === document.querySelectorAll('#card .places button')[4]`)
		w.keep("panel-nearby-light")
		w.press("#card .more")
		w.waitFor(listed + ` === 20`)
		distances := evaluate[[]float64](w, `[...document.querySelectorAll('#card .places .place-distance')].map(e => parseFloat(e.textContent))`)
		if !slices.IsSorted(distances) {
			t.Errorf("distances are not in order: %v", distances)
		}
		// A right-to-left name and a very long name stay within their rows.
		w.waitFor(`[...document.querySelectorAll('#card .places bdi')].some(e => e.textContent.includes('مدينة'))`)
		if wide := evaluate[int](w, `document.querySelector('#card').scrollWidth - document.querySelector('#card').clientWidth`); wide > 0 {
			t.Errorf("a name makes the card scroll sideways by %d pixels", wide)
		}
		evaluate[chromedp.Void](w, `{ const s = document.querySelector('#card select'); s.value = 'H'; s.dispatchEvent(new Event('change')) }`)
		w.waitFor(listed + ` === 1 && document.querySelector('#card .place-kind').textContent.startsWith('lake')`)
		evaluate[chromedp.Void](w, `document.querySelector('#card .places button').click()`)
		w.waitFor(title + ` === 'Still Water' && location.hash.includes('/place=900')`)
	})

	t.Run("permalink", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/12/at=45.2,5.1&layers=country&tiles=1&theme=dark", desktop)
		w.settled()
		w.waitFor(title + ` === 'Westland'`) // the one that is drawn and outlined
		w.waitFor(`!document.querySelector('#tile').hidden && document.querySelector('.tool-grid').ariaPressed === 'true'`)
		checked := `[...document.querySelectorAll('.layers input')].filter(e => e.checked).map(e => e.value).join()`
		if got := evaluate[string](w, checked); got != "country" {
			t.Errorf("layers on: %q", got)
		}
		if got := evaluate[string](w, `getComputedStyle(document.documentElement).colorScheme`); got != "dark" {
			t.Errorf("the link to a dark page opened one that is %q", got)
		}
		w.keep("panel-permalink-dark")
		w.click(46.5, 16)
		w.waitFor(title + `?.startsWith('Eastland')`)
		second := w.hash()
		w.press("#card .close")
		w.waitFor(`document.querySelector('#card').hidden && !location.hash.includes('at=')`)
		evaluate[chromedp.Void](w, `history.back()`)
		w.waitFor(title + `?.startsWith('Eastland') && location.hash === ` + quote(second))
		evaluate[chromedp.Void](w, `history.back()`)
		w.waitFor(title + `?.endsWith('Westland') && location.hash.includes('at=45.2,5.1')`)
		evaluate[chromedp.Void](w, `history.forward()`)
		w.waitFor(title + `?.startsWith('Eastland')`)

		// A link names a place by its id and an airport by its code.
		w.visit(site + "/#6/45/5/place=900")
		w.waitFor(title + ` === 'Still Water'`)
		w.visit(site + "/#6/45/5/airport=ZRH")
		w.waitFor(title + ` === 'Zurich Airport'`)
		w.expect("404")
		w.visit(site + "/#6/45/5/place=4242")
		w.waitFor(`document.querySelector('#card .note')?.textContent.includes('does not have')`)
	})

	t.Run("inspector", func(t *testing.T) {
		w := open(t, browser, site+"/#6/45/5", desktop)
		w.drawn(0)
		w.key("g")
		w.waitFor(`/B|kB/.test(document.querySelector('.inspector .tile-cost')?.textContent) && location.hash.endsWith('/tiles=1')`)
		// 45° N 5° E at zoom 6 is in tile 32/23, and in the middle of the map.
		if got := w.texts("#tile .tile-name, #tile header code"); !slices.Equal(got, []string{"6/32/23", "120222"}) {
			t.Errorf("the tile in the middle: %q", got)
		}
		w.waitFor(`/ ms · (gzip|identity) · (fetched|cached)/.test(document.querySelector('#tile dd')?.textContent)`)
		w.keep("panel-inspector-light")
		w.key("r")
		w.waitFor(`[...document.querySelectorAll('#tile dd')].every(e => e.textContent.endsWith('304'))`)
		w.press("#tile .chip")
		w.waitFor(`document.querySelector('#tile .chip').textContent === 'Copied'`)
		// Pointing at another tile shows the information about it.
		x, y := w.pixel(47, 8)
		w.do(chromedp.MouseEvent("mouseMoved", x, y))
		w.waitFor(`document.querySelector('#tile .tile-name').textContent === '6/33/22'`)

		// A click pins a tile: the pointer may then cross other tiles on its way to the button,
		// which still copies the addresses of the pinned tile.
		evaluate[chromedp.Void](w, `{ navigator.clipboard.writeText = async text => { window.copied = text } }`)
		const name = `document.querySelector('#tile .tile-name').textContent`
		w.do(chromedp.MouseClickXY(x, y))
		w.waitFor(`document.querySelectorAll('.inspector .pinned').length > 0`)
		w.waitFor(title + ` !== undefined`) // the click asks what is there, too
		cross, down := w.pixel(45, 5)
		w.do(chromedp.MouseEvent("mouseMoved", cross, down))
		w.press("#tile .chip")
		w.waitFor(`window.copied !== undefined`)
		if got := evaluate[string](w, `window.copied`); !strings.Contains(got, "/5/16/11.mvt?names=en\n") ||
			!strings.HasSuffix(got, "/tiles/places/6/33/22.geojson?names=en") {
			t.Errorf("copied %q, want the addresses of the tile that was pinned", got)
		}
		if got := evaluate[string](w, name); got != "6/33/22" {
			t.Errorf("pinned was 6/33/22, told about is %s", got)
		}
		w.keep("panel-inspector-pinned-light")
		evaluate[chromedp.Void](w, `{ [...document.querySelectorAll('#tile .chip')].find(e => e.textContent === 'Unpin').click() }`)
		w.waitFor(`document.querySelectorAll('.inspector .pinned').length === 0 && document.activeElement.matches('#tile .chip')`)
		// Enter pins the tile in the middle; a second Enter releases it.
		evaluate[chromedp.Void](w, `document.querySelector('#map').focus()`)
		w.key(kb.Enter)
		w.waitFor(`document.querySelectorAll('.inspector .pinned').length > 0 && ` + name +
			` === '6/32/23' && document.querySelector('#announce').textContent !== ''`)
		w.key(kb.Enter)
		w.waitFor(`document.querySelectorAll('.inspector .pinned').length === 0`)
		w.key("g")
		w.waitFor(`document.querySelector('#tile').hidden && !document.querySelector('.inspector') && !location.hash.includes('tiles')`)
	})

	// The region under the mouse is outlined in each copy of the world. The outline disappears when
	// the mouse leaves the region or the map.
	t.Run("hover", func(t *testing.T) {
		for view, s := range map[string]screen{"/#5/45/5": desktop, "/#3/20/-178": {width: 2560, height: 800, density: 1}} {
			w := open(t, browser, site+view, s)
			w.drawn(0)
			x, y := w.pixel(50, 3) // on its northern border
			colour := fmt.Sprintf(`(() => {
				const tile = [...document.querySelectorAll('.regions canvas')].map(canvas => ({ canvas, box: canvas.getBoundingClientRect() }))
					.find(({ box }) => box.left <= %[1]v && box.right > %[1]v && box.top <= %[2]v && box.bottom > %[2]v)
				const context = new OffscreenCanvas(3, 3).getContext('2d')
				const { canvas, box } = tile, part = canvas.width / box.width
				context.drawImage(canvas, Math.floor((%[1]v - box.left) * part) - 1, Math.floor((%[2]v - box.top) * part) - 1, 3, 3, 0, 0, 3, 3)
				return String(context.getImageData(0, 0, 3, 3).data)
			})()`, x, y)
			before := evaluate[string](w, colour)
			inX, inY := w.pixel(47, 3)
			outX, outY := w.pixel(47, -4)
			for _, out := range [][2]float64{{outX, outY}, {60, 30}} { // the sea, and the box for searching
				w.do(chromedp.MouseEvent("mouseMoved", inX, inY))
				w.waitFor(colour + ` !== ` + quote(before))
				w.do(chromedp.MouseEvent("mouseMoved", out[0], out[1]))
				w.waitFor(colour + ` === ` + quote(before))
			}
		}
	})

	t.Run("me", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45.00/12.00", desktop)
		w.drawn(0)
		w.expect("404")
		at := w.view()
		w.press(".tool-locate")
		w.waitFor(title + ` === '127.0.0.1' && document.querySelector('#card .subtitle').textContent === 'Loopback: nowhere'`)
		if w.view() != at || !strings.HasSuffix(w.hash(), "/ip=me") {
			t.Errorf("being nowhere moved the map: %s", w.hash())
		}
		w.keep("panel-me-light")
	})

	t.Run("keyboard", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/12", desktop)
		w.drawn(0)
		// Tab reaches every control, and the control shows that it has the focus.
		seen := map[string]bool{}
		for range 40 {
			w.key(kb.Tab)
			focus := evaluate[string](w, `(() => {
				const e = document.activeElement, s = getComputedStyle(e)
				const name = e.ariaLabel ?? (e.textContent.trim() || e.id || e.value)
				return e === document.body ? '' : (parseFloat(s.outlineWidth) >= 2 && s.outlineStyle !== 'none' ? '' : 'UNSEEN ') + (e.id || e.value || name)
			})()`)
			if strings.HasPrefix(focus, "UNSEEN") {
				t.Errorf("focus does not show on %q", focus)
			}
			seen[focus] = true
		}
		for _, want := range []string{"search", "map", "country", "state", "places", "Where am I", "Tile grid", "Colours",
			"Help and data", "Zoom in", "Zoom out"} {
			if !seen[want] {
				t.Errorf("Tab does not reach %q; it reaches %v", want, seen)
			}
		}
		if unnamed := evaluate[int](w, `[...document.querySelectorAll('button, a[href], input, select')]
			.filter(e => !e.ariaLabel && !e.labels?.length && !e.textContent.trim()).length`); unnamed > 0 {
			t.Errorf("%d controls have no name", unnamed)
		}

		evaluate[chromedp.Void](w, `document.activeElement.blur()`)
		w.key("?")
		w.waitFor(`document.querySelector('#help').open`)
		w.keep("panel-help-light")
		for _, want := range []string{"docs", "openapi.json", "status", "licenses.txt"} {
			if n := evaluate[int](w, `document.querySelectorAll('#help a[href="`+want+`"]').length`); n != 1 {
				t.Errorf("the help has %d links to %s", n, want)
			}
		}
		w.key(kb.Escape)
		w.waitFor(`!document.querySelector('#help').open`)
		w.key("/")
		w.waitFor(`document.activeElement.id === 'search'`)
		w.key("g") // is a letter there
		if !strings.HasSuffix(evaluate[string](w, `document.querySelector('#search').value`), "g") ||
			!evaluate[bool](w, `document.querySelector('#tile').hidden`) {
			t.Errorf("a shortcut works while somebody types: %q", evaluate[string](w, `document.querySelector('#search').value`))
		}
		evaluate[chromedp.Void](w, `document.activeElement.blur()`)
		w.key("t")
		w.waitFor(`getComputedStyle(document.documentElement).colorScheme === 'dark' && location.hash.includes('theme=dark')`)
		w.key("t")
		w.waitFor(`getComputedStyle(document.documentElement).colorScheme === 'light' && !location.hash.includes('theme')`)

		// The colours beneath their button.
		w.press(".tool-theme")
		w.waitFor(`document.querySelector('.tool-theme').ariaExpanded === 'true' && document.activeElement.closest('label').textContent === 'Political colours'`)
		w.keep("panel-colours-light")
		w.key(kb.ArrowDown)
		w.waitFor(`location.hash.includes('neutral')`)
		w.key("\t")
		w.waitFor(`document.activeElement.closest('label').textContent === 'As the system'`)
		w.key(kb.ArrowUp)
		w.waitFor(`getComputedStyle(document.documentElement).colorScheme === 'dark' && location.hash.includes('theme=dark')`)
		w.key(kb.Escape)
		w.waitFor(`document.querySelector('#themes').hidden && document.activeElement.matches('.tool-theme')`)
		evaluate[any](w, `localStorage.clear()`)
	})

	t.Run("phone", func(t *testing.T) {
		w := open(t, browser, site+"/#6/45/5/at=45.2,5.1", phone)
		w.drawn(0)
		w.waitFor(listed + ` === 5`)
		w.keep("panel-phone-light")
		low := evaluate[float64](w, `document.querySelector('#card').getBoundingClientRect().top`)
		w.press("#card .handle")
		w.waitFor(fmt.Sprintf(`document.querySelector('#card').getBoundingClientRect().top < %f`, low))
		// By finger from there to its lowest stop, which shows its head, then to its highest, where its content scrolls.
		stop := func(name, expanded string) {
			t.Helper()
			w.waitFor(`document.querySelector('#card').matches('.` + name + `:not(.dragged)') && document.querySelector('.handle').ariaExpanded === '` + expanded + `'`)
		}
		stop("full", "true")
		w.swipe(195, 400, 840)
		stop("peek", "false")
		w.keep("panel-phone-peek")
		w.swipe(195, 800, 20)
		stop("full", "true")
		w.swipe(195, 700, 500)
		w.waitFor(`document.querySelector('#card').scrollTop > 0`)
		stop("full", "true")
		w.do(chromedp.EmulateViewport(844, 390, chromedp.EmulateMobile, chromedp.EmulateTouch))
		w.waitFor(`document.querySelector('#card').scrollTop === 0`)
		w.do(chromedp.EmulateViewport(phone.width, phone.height, chromedp.EmulateMobile, chromedp.EmulateTouch))
		w.press("#card .handle")
		stop("half", "false")
		if n := evaluate[int](w, `document.documentElement.scrollWidth - innerWidth`); n > 0 {
			t.Errorf("the page is %d pixels wider than the phone", n)
		}
		w.press("#card .close")
		w.press(".tool-grid")
		w.settled()
		w.keep("panel-phone-inspector")
		small := evaluate[[]string](w, `[...document.querySelectorAll('.tools button, .leaflet-bar a, .bar button, .layers summary')]
			.filter(e => { const r = e.getBoundingClientRect(); return r.width < 44 || r.height < 44 }).map(e => e.ariaLabel ?? e.textContent)`)
		if len(small) > 0 {
			t.Errorf("too small for a finger: %q", small)
		}
	})

	// Paper has its own size and shows what the screen does, beneath a title.
	t.Run("print", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/5/at=45.2,5.1", desktop)
		w.drawn(0)
		w.waitFor(title + ` === 'North Westland'`)
		evaluate[any](w, `dispatchEvent(new Event('beforeprint'))`)
		if _, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
			t.Fatal(err)
		}
		w.do(chromedp.EmulateViewport(700, 990))
		const seen = `(map => [map.clientWidth, map.clientHeight, Math.round(map.getBoundingClientRect().width), Math.round(map.getBoundingClientRect().left)])(document.querySelector('#map'))`
		want := fmt.Sprintf("[%d,%d,700,0]", desktop.width, desktop.height)
		w.waitFor(`JSON.stringify(` + seen + `) === '` + want + `'`)
		const shown = `[...document.querySelectorAll('h1, h2, button, #card .content, .credits ul')].filter(e => e.checkVisibility()).map(e => e.tagName).join()`
		if got := evaluate[string](w, shown); got != "H1,H2,UL" {
			t.Errorf("on paper there are %s", got)
		}
		if got := evaluate[string](w, `document.elementFromPoint(5, 15).closest('.card h2').textContent`); got != "North Westland" {
			t.Errorf("the title is %q", got)
		}
	})

	// The page is served below a path of another server, which sometimes fails.
	t.Run("below", func(t *testing.T) {
		front := newFront(t, site)
		w := open(t, browser, front.url+"/maps/#5/45/12", desktop)
		w.drawn(0)
		w.lookUp("9.9.9.9")
		w.waitFor(`document.querySelector('#card .subtitle')?.textContent === 'Westburg, Westland'`)
		w.waitFor(`document.querySelectorAll('#map path.accuracy').length === 1`)
		w.settled()
		w.keep("panel-accuracy-light")
		if got := strings.Join(w.texts("#card dl div, #card p"), "|"); !strings.Contains(got, "within 50 km") ||
			!strings.Contains(got, "9.9.9.0/24") || !strings.Contains(got, "hand-made") {
			t.Errorf("the card says %q", got)
		}

		w.expect("503", "502", "ERR_")
		front.answer("/maps/at", &fault{status: 503, kind: "text/html", body: `{"title":"The server is out of order","detail":"<b>Wait</b>."}`})
		w.click(45.4, 5.6)
		w.waitFor(`document.querySelector('#card .problem')?.textContent.includes('The server is busy. Try again in a moment.')`)
		front.answer("/maps/at", nil)
		w.press("#card .content > .problem button")
		w.waitFor(title + ` === 'North Westland'`)

		evaluate[chromedp.Void](w, `{ dispatchEvent(new Event('offline')) }`)
		w.waitFor(`document.querySelector('#notice').textContent.startsWith('You are offline')`)
		evaluate[chromedp.Void](w, `{ dispatchEvent(new Event('online')) }`)
		w.waitFor(`document.querySelector('#notice').hidden`)
	})

	// Whatever broken answer the page gets, it shows a sentence with advice. A search that finds
	// nothing is not shown as an error.
	t.Run("failures", func(t *testing.T) {
		front := newFront(t, site)
		problem := func(status int, typ string) *fault {
			return &fault{
				status: status,
				kind:   "application/problem+json",
				body:   fmt.Sprintf(`{"type":%q,"title":"A parameter is not valid","status":%d,"detail":"Set q to {text}.","parameter":"q"}`, typ, status),
			}
		}
		busy := problem(503, "too-busy")
		busy.retryAfter = "1"
		limited := problem(429, "rate-limited")
		limited.retryAfter = "42"
		states := []struct {
			name  string
			fault *fault
			want  string
			calm  bool
		}{
			{"cut", &fault{cut: true}, "cannot be reached. Check the connection", false},
			{"400", problem(400, "bad-parameter"), "", true},
			{"404", &fault{status: 404, kind: "text/html", body: "<h1>404 Not Found</h1>"}, "Reload the page; if that does not help", false},
			{"429", limited, "Ask again in 42 seconds.", false},
			{"500", problem(500, "internal"), "Something failed on the server. Try again", false},
			{"502", &fault{status: 502, kind: "text/html", body: "<h1>Bad Gateway</h1>"}, "does not answer its proxy. Try again", false},
			{"503", busy, "The server is busy. Try again in 1 second.", false},
			{"empty", &fault{status: 200, kind: "application/json"}, "cannot read. Reload the page.", false},
			{"malformed", &fault{status: 200, kind: "application/json", body: `{"places":[{"name":`}, "cannot read. Reload the page.", false},
			{"html", &fault{status: 200, kind: "text/html", body: "<!doctype html><title>Sign in</title>"}, "cannot read. Reload the page.", false},
			{"null", &fault{status: 200, kind: "application/json", body: "null"}, "cannot read. Reload the page.", false},
			{"missing", problem(404, "dataset-missing"), "not published on this server.", true},
		}
		questions := []struct{ name, path, text, calm string }{
			{"search", "/maps/geocode", "nonsense", "nothing to search for"},
			{"address", "/maps/ip/11.0.0.1", "11.0.0.1", "not a whole IP address"},
		}
		for _, on := range []struct {
			name, place string // all differ, because the browser keeps answers
			screen
		}{
			{"phone", "Still Water", screen{width: 360, height: 740, density: 2, touch: true}},
			{"phone-dark", "Village 20", screen{width: 360, height: 740, density: 2, touch: true, dark: true}},
			{"desktop", "Village 21", desktop},
			{"desktop-dark", "Village 22", screen{width: 1280, height: 800, density: 1, dark: true}},
		} {
			name, s := on.name, on.screen
			w := open(t, browser, front.url+"/maps/#5/45/12", s)
			w.drawn(0)
			w.expect("400", "404", "429", "500", "502", "503", "ERR_")
			say := func(question, text, want string, calm bool, picture string) {
				t.Helper()
				w.lookUp(text)
				class := ".problem"
				if calm {
					class = ".note"
				}
				w.waitFor(`document.querySelector('#card').ariaBusy === 'false' && document.querySelector('#card .content > ` + class +
					`')?.textContent.includes(` + quote(want) + `)`)
				if got := evaluate[string](w,
					`document.querySelector('#card').innerText`); regexp.MustCompile(`\b(false|true|undefined|null|NaN)\b|[{}<>]|parameter`).MatchString(got) {
					t.Errorf("%s, %s: the card says %q", name, question, got)
				}
				if n := evaluate[int](w, `document.documentElement.scrollWidth - innerWidth`); n > 0 {
					t.Errorf("%s, %s: the page is %d pixels wider than the screen", name, question, n)
				}
				if calm && evaluate[int](w, `document.querySelectorAll('#card .problem, #card [role=alert]').length`) > 0 {
					t.Errorf("%s, %s: what is no failure looks like one", name, question)
				}
				if picture != "" {
					w.keep("failure-" + picture + "-" + name)
				}
				w.press("#card .close")
			}
			for _, q := range questions {
				for _, st := range states {
					front.answer(q.path, st.fault)
					want, picture := st.want, ""
					if want == "" {
						want = q.calm
					}
					if st.name == "429" || st.name == "400" {
						picture = q.name + "-" + st.name
					}
					say(q.name+" "+st.name, q.text, want, st.calm, picture)
				}
				front.answer(q.path, nil)
			}
			front.answer("/maps/geocode", &fault{status: 200, kind: "application/json", body: `{"results":[]}`})
			say("search for nothing there", "nonsense", "Nothing has this name", true, "search-nothing")
			front.answer("/maps/geocode", nil)
			say("an empty box", "", "Type the name of a place", true, "search-empty")
			// The button repeats the request.
			front.answer("/maps/geocode", busy)
			w.lookUp(on.place)
			w.waitFor(`document.querySelector('#card .problem button') !== null`)
			front.answer("/maps/geocode", nil)
			w.press("#card .problem button")
			w.waitFor(title + ` === ` + quote(on.place) + ` && document.querySelectorAll('#card .problem').length === 0`)
		}
	})

	t.Run("missing", func(t *testing.T) {
		empty := programs.Serve(t, "--data", t.TempDir()).URL
		w := open(t, browser, empty+"/#3/20/0/at=45.2,5.1", desktop)
		w.expect("404")
		w.waitFor(`document.querySelector('#notice').textContent.includes('no map published')`)
		w.waitFor(`[...document.querySelectorAll('#card .note')].map(e => e.textContent).join().match(/Regions.*not published.*Places are not published/)`)
		w.keep("panel-missing-light")
		w.lookUp("8.8.8.8")
		w.waitFor(`document.querySelector('#card .note')?.textContent.startsWith('IP addresses are not published')`)
		w.press(".tool-help")
		w.waitFor(`document.querySelector('#help .datasets').textContent.includes('Boundariesnot published')`)
	})
}

// manyPlaces writes a file of places around 45° N 5° E: some two dozen
// villages, a lake, a name that runs right to left and one of 200 letters.
func manyPlaces(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	line := func(id int, name string, lat, lon float64, class, code string) {
		zone := ""
		if code == "PPLC" {
			zone = "Europe/Paris"
		}
		fmt.Fprintf(&b, "%d\t%s\t%s\t\t%.4f\t%.4f\t%s\t%s\tQW\t\t\t\t\t\t%d\t\t100\t%s\t2026-01-02\n", id, name, name, lat, lon,
			class, code, 1000+id, zone)
	}
	for i := range 24 {
		line(100+i, fmt.Sprintf("Village %d", i), 45.2+float64(i)*0.05, 5.1, "P", "PPL")
	}
	line(900, "Still Water", 45.6, 5.4, "H", "LK")
	line(901, "مدينة طويلة الاسم", 45.21, 5.12, "P", "PPLA")
	line(902, strings.Repeat("Llanfair", 25), 45.19, 5.08, "P", "PPL")
	line(903, "Westburg", 44.9, 5.0, "P", "PPLC")
	name := filepath.Join(t.TempDir(), "places.tsv")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// front is a reverse proxy that serves a site below /maps/, has one address that the site lacks,
// and answers some paths with broken answers.
type front struct {
	url    string
	faults sync.Map // of *fault by path
}

// fault is a broken answer in place of the site's.
type fault struct {
	status     int
	kind, body string
	retryAfter string
	cut        bool // no answer at all
}

// answer makes front answer a path with a fault; nil restores the site's answer.
func (f *front) answer(path string, with *fault) { f.faults.Store(path, with) }

func (f *fault) send(w http.ResponseWriter) {
	if f.cut {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "no-store")
	if f.retryAfter != "" {
		w.Header().Set("Retry-After", f.retryAfter)
	}
	w.WriteHeader(f.status)
	fmt.Fprint(w, f.body)
}

func newFront(t *testing.T, site string) *front {
	t.Helper()
	target, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{}
	proxy := http.StripPrefix("/maps", httputil.NewSingleHostReverseProxy(target))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v, ok := f.faults.Load(r.URL.Path); ok && v.(*fault) != nil {
			v.(*fault).send(w)
			return
		}
		switch {
		case !strings.HasPrefix(r.URL.Path, "/maps/"):
			http.Error(w, "the page asks beside its own path", http.StatusTeapot)
		case r.URL.Path == "/maps/ip/9.9.9.9":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"ip":"9.9.9.9","source":["hand-made"],"city":{"names":{"en":"Westburg"}},"country":{"iso_code":"QW","names":{"en":"Westland"}},`+
				`"location":{"latitude":45.5,"longitude":5,"accuracy_radius":50},"traits":{"network":"9.9.9.0/24"}}`)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}
