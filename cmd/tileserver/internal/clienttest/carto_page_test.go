package clienttest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"quadrille/cmd/internal/programs"
)

// TestMapPageCartography tests the map in views with few features, and where the world repeats.
func TestMapPageCartography(t *testing.T) {
	browser := startBrowser(t)
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code",
		"--layer", "state=testdata/browser/states.geojson:code")
	site := programs.Serve(t, "--data", dir).URL
	desktop := screen{width: 1000, height: 700, density: 1}
	phone := screen{width: 390, height: 700, density: 2, touch: true}

	// If a country fills the view, its name is in the view, however far away its label point is.
	t.Run("names in view", func(t *testing.T) {
		const inView = `[...document.querySelectorAll('.names canvas')].slice(-1).flatMap(canvas => {
			const { left, top } = canvas.getBoundingClientRect()
			return canvas.names.filter(({ box }) => left + box.left >= 0 && left + box.right <= innerWidth && top + box.top >= 0 && top + box.bottom <= innerHeight)
		}).map(({ text }) => text.toLowerCase())`
		for _, s := range []screen{desktop, phone} {
			for _, at := range []string{"#5/48.50/1.50", "#6/41.00/9.00", "#6.50/47.00/3.00", "#6.90/40.10/0.10"} {
				w := open(t, browser, site+"/"+at, s)
				w.drawn(0)
				w.waitFor(inView + `.includes('westland')`)
				if got := evaluate[[]string](w, inView+`.filter(name => name === 'westland')`); len(got) != 1 {
					t.Errorf("%s at %d pixels: %d names of one country", at, s.width, len(got))
				}
			}
		}
		w := open(t, browser, site+"/#6/45.00/10.00", desktop)
		w.drawn(0)
		w.waitFor(inView + `.includes('westland') && ` + inView + `.some(name => name.startsWith('eastland'))`)
		// At closer zooms the name would dominate every town.
		w.visit(site + "/#9/45.00/10.00")
		w.drawn(0)
		w.waitFor(inView + `.every(name => name !== 'westland')`)
	})

	t.Run("edge of the data", func(t *testing.T) {
		w := open(t, browser, site+"/#11/45/5", desktop)
		w.drawn(0)
		const hint = `document.querySelector('.finest:not([hidden])')?.textContent ?? ''`
		for _, step := range []struct{ at, want string }{
			{"#11/45/5", ""}, {"#12/45/5", "No finer data here"}, {"#15/45/5", "No finer data here: tiles end at zoom 13"}, {"#6/45/5", ""},
		} {
			w.visit(site + "/" + step.at)
			w.waitFor(`(` + hint + `) === ` + quote(step.want))
		}
		w.visit(site + "/?lang=de#15/45/5")
		w.waitFor(hint + ` === 'Hier gibt es keine feineren Daten: Die Kacheln enden bei Zoom 13'`)
	})

	// Farland lies on both sides of ±180°. It must be drawn in one piece, with one name, surrounded
	// by the sea.
	t.Run("antimeridian", func(t *testing.T) {
		for _, at := range []string{"#6/0/179.50", "#6/0/-179.50", "#5/2/180"} {
			w := open(t, browser, site+"/"+at, desktop)
			w.drawn(0)
			w.waitFor(regionsShown + `.length > 0`)
			// The browser knows the English name of the code that Farland has.
			if got := w.namesOf(regionsShown); len(got) != 1 || !strings.EqualFold(got[0], "Fiji") {
				t.Errorf("%s names %q", at, got)
			}
			evaluate[chromedp.Void](w, `{ document.querySelector('.leaflet-names-pane').style.display = 'none' }`)
			picture := w.picture("antimeridian")
			w.uniform(picture, at, -3, 176, 3, 184)
			if w.at(picture, 0, 178) == w.at(picture, 8, 178) || w.at(picture, 8, 178) != w.at(picture, 8, -178) {
				t.Errorf("%s: land and sea are not the same on both sides", at)
			}
		}
	})

	t.Run("graticule and scale", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/10", desktop)
		w.drawn(0)
		const lines = `document.querySelectorAll('path.graticule').length`
		if n := evaluate[int](w, lines); n != 0 {
			t.Errorf("%d lines before they are asked for", n)
		}
		w.press(`.layers input[value="graticule"]`)
		w.waitFor(lines + ` > 5 && location.hash.includes('graticule')`)
		w.keep("graticule")
		w.press(`.layers input[value="graticule"]`)
		w.waitFor(lines + ` === 0`)
		const scale = `[...document.querySelectorAll('.scale > :not([hidden])')].map(line => line.textContent).join()`
		first := evaluate[string](w, scale)
		w.press(".scale")
		second := evaluate[string](w, scale)
		if strings.HasSuffix(first, " km") == strings.HasSuffix(second, " km") ||
			strings.HasSuffix(first, " mi") == strings.HasSuffix(second, " mi") {
			t.Errorf("the scale says %q, then %q", first, second)
		}
	})
}
