package clienttest

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"quadrille/cmd/internal/programs"
	"quadrille/places/points"
)

// TestMapPageOfAreas tests what readers ask about an area that they draw, and filters of their own points: by
// mouse and by keyboard, in the address of the page, and in a frame.
func TestMapPageOfAreas(t *testing.T) {
	browser := startBrowser(t)
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code")
	ingest("--data", dir, "places", "testdata/browser/places.tsv")
	site, _ := pointsSite(t, dir, map[string]iter.Seq2[points.Point, error]{
		"shops": func(yield func(points.Point, error) bool) {
			for i := range 12 {
				kind := []string{"cafe", "<b>, & more"}[i%2]
				p := points.Point{ID: fmt.Sprint("s", i), Lat: 43 + float64(i)/10, Lon: 9, Properties: fmt.Appendf(nil, `{"kind":%q,"price":%d}`, kind, i)}
				if !yield(p, nil) {
					return
				}
			}
		},
	})
	const (
		amount = `document.querySelector('.in-area b')?.textContent`
		groups = `[...document.querySelectorAll('.in-area .groups')][0]?.textContent`
	)
	choose := func(w *window, selector, value string) {
		t.Helper()
		w.waitFor(`document.querySelector(` + quote(selector) + `) !== null`)
		evaluate[any](w, `(() => { const select = document.querySelector(`+quote(selector)+`); select.value = `+quote(value)+
			`; select.dispatchEvent(new Event('change')) })()`)
	}
	view := site + "/#6/43/9/layers=country,places,neutral,points:shops"

	w := open(t, browser, view, screen{width: 1280, height: 800, density: 1})
	w.settled()
	w.press(".tool-area")
	for _, corner := range [][2]float64{{42, 8}, {42, 10}, {43.55, 10}, {43.55, 8}} {
		w.click(corner[0], corner[1])
	}
	w.waitFor(`document.querySelectorAll('.corner').length === 4`)
	// Clicks hit pixels, of which one has more than a kilometre.
	w.waitFor(`/^4 corners · Length: (49|50)\d km · [\d,]+ km²$/.test(document.querySelector('#card .subtitle').textContent)`)
	w.click(42, 8) // the first corner closes
	w.waitFor(`/^4 corners · Perimeter: 6[67]\d km$/.test(document.querySelector('#card .subtitle').textContent)`)
	w.waitFor(amount + ` === '6'`)
	choose(w, ".in-area select", "p.kind")
	choose(w, ".in-area select + select", "price")
	w.waitFor(groups + ` === 'KindNumberSum of Price<b>, & more39cafe36'`)
	w.keep("area")
	choose(w, ".filter-form select", "0")
	w.waitFor(`document.querySelector('.filter-values option[value="1"]') !== null`)
	w.press(".filter-button")
	choose(w, ".filter-values select", "1")
	w.waitFor(`document.querySelector('.filters .chip')?.textContent === 'Shops · Kind: cafe' && ` + amount + ` === '3'`)
	hash := w.hash()
	if !strings.Contains(hash, "points:shops.kind=cafe&polygon=") {
		t.Errorf("the address has no filter and area: %s", hash)
	}

	evaluate[any](w, `navigator.share = async what => { window.shared = what }`)
	w.press(".tool-share")
	w.waitFor(`window.shared.url === location.href && window.shared.title.endsWith('km²')`)

	// The link shows the same, to a reader with a small screen.
	w = open(t, browser, site+"/"+hash, screen{width: 390, height: 844, density: 2, touch: true, dark: true})
	w.settled()
	w.waitFor(amount + ` === '3' && document.querySelectorAll('.area').length === 1`)
	w.key(kb.Escape)
	w.waitFor(`document.querySelectorAll('.area').length === 0 && !location.hash.includes('polygon')`)
	w.press(".filters .chip")
	w.waitFor(`!location.hash.includes('kind') && document.querySelector('#card').hidden`)

	w = open(t, browser, view, screen{width: 1280, height: 800, density: 1})
	w.settled()
	evaluate[any](w, `document.querySelector('#map').focus()`)
	w.key("p")
	for _, move := range []string{"", kb.ArrowRight, kb.ArrowDown} {
		centre := w.hash()
		if move != "" {
			w.key(move)
			w.waitFor(`location.hash !== ` + quote(centre))
			w.settled()
		}
		w.key(" ")
	}
	w.waitFor(`document.querySelectorAll('.corner').length === 3`)
	w.key(kb.Backspace)
	w.waitFor(`document.querySelectorAll('.corner').length === 2`)
	w.key(" ")
	w.key(kb.Enter)
	w.waitFor(`document.querySelector('#card h2').textContent.endsWith('km²') && ` + amount + ` !== ''`)

	w = open(t, browser, site+"/embed?center=43,9&zoom=6&layers=points:shops&points:shops.kind=cafe", screen{width: 600, height: 400, density: 1})
	w.expect("it asks another server: " + site)
	w.waitFor(`performance.getEntriesByType('resource').some(({ name }) => name.includes('.mvt?points:shops.kind=cafe'))`)
	w.waitFor(`document.querySelector('#large').href.includes('points:shops.kind=cafe')`)
}
