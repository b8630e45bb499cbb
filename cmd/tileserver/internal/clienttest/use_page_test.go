package clienttest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"quadrille/cmd/internal/programs"
)

// TestEmbed tests the map in a frame of another page, below a base path, with complete, incomplete
// and nonsensical addresses.
func TestEmbed(t *testing.T) {
	browser := startBrowser(t)
	site := programs.Serve(t, "--data", smallData(t), "--base-path=/maps").URL
	holder := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		sandbox := ""
		if r.URL.Path == "/sandboxed" {
			sandbox = `sandbox="allow-scripts" ` // the frame is of no origin
		}
		fmt.Fprintf(w, `<!doctype html><link rel="icon" href="data:,"><body style="margin: 0"><iframe %ssrc="%s/embed?%s" width="600" height="400" style="border: 0"></iframe>`,
			sandbox, site, strings.ReplaceAll(r.URL.RawQuery, "&", "&amp;"))
	}))
	t.Cleanup(holder.Close)
	small := screen{width: 600, height: 400, density: 1}

	for name, path := range map[string]string{"framed": "/", "sandboxed": "/sandboxed"} {
		t.Run(name, func(t *testing.T) {
			w := open(t, browser, holder.URL+path+"?center=46,0&zoom=4&theme=dark#4/46/0", small)
			w.expect("it asks another server: "+site+"/", "it asks another server: "+holder.URL)
			w.drawsLand("embed-" + name + "-dark")
		})
	}

	for _, tt := range []struct {
		name, query, large string // where the link to the large map leads
		pins               int
		s                  screen
	}{
		{"light", "center=45,10&zoom=4&marker=45.5,5", `#4/(45|44)\.\d+/(10|9)\.\d+/at=45\.5,5`, 1, small},
		{
			"dark",
			"center=45,10&zoom=5&theme=dark&layers=country,places",
			`#5/(45|44)\.\d+/(10|9)\.\d+/layers=country,places&theme=dark`,
			0,
			screen{width: 390, height: 600, density: 2, touch: true},
		},
		{"arabic", "marker=45.5,5&zoom=6&lang=ar", `#6/45\.\d+/[45]\.\d+/at=45\.5,5`, 1, screen{width: 320, height: 240, density: 1}},
		{"nonsense", "center=x&zoom=five&marker=91,0&layers=nothing&theme=pink&lang=tlh", `#[\d.]+/[\d.]+/[\d.]+`, 0, small},
		{"too far", "center=45,370&zoom=99", `#18/(45|44)\.\d+/(10|9)\.\d+`, 0, small},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := open(t, browser, site+"/embed?"+tt.query, tt.s)
			w.expect("it asks another server: " + site + "/")
			w.waitFor(`document.querySelector('.leaflet-control-zoom') !== null && document.querySelector('#map').ariaBusy === 'false' && document.querySelector('#large').hash !== ''`)
			large := evaluate[string](w, `document.querySelector('#large').href`)
			if !regexp.MustCompile(`^` + regexp.QuoteMeta(site) + `/` + tt.large + `$`).MatchString(large) {
				t.Errorf("the large map is at %s, want %s", large, tt.large)
			}
			if n := evaluate[int](w, `document.querySelectorAll('.pin').length`); n != tt.pins {
				t.Errorf("%d pins", n)
			}
			if n := evaluate[int](w, `document.querySelectorAll('input, .bar, .tools').length`); n != 0 {
				t.Errorf("%d parts of the large page", n)
			}
			overlap := `(() => {
				const [a, b] = ['#large', '.credits'].map(one => document.querySelector(one).getBoundingClientRect())
				return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
			})()`
			if evaluate[bool](w, overlap) {
				t.Error("the link lies over the credits")
			}
			if lang := evaluate[string](w, `document.documentElement.lang`); (lang == "ar") != strings.Contains(tt.query, "lang=ar") {
				t.Errorf("the language is %s", lang)
			}
			w.keep("embed-" + strings.ReplaceAll(tt.name, " ", "-"))
		})
	}
}

// TestUsePanel tests the dialog "Use this map" and its tabs with mouse and keyboard.
func TestUsePanel(t *testing.T) {
	browser := startBrowser(t)
	site := programs.Serve(t, "--data", smallData(t)).URL
	const (
		tab   = `document.activeElement.matches('#use [role=tab][aria-selected=true]') && document.activeElement.textContent`
		shown = `[...document.querySelectorAll('#use [role=tabpanel]')].filter(p => !p.hidden)`
	)
	for name, s := range map[string]screen{
		"use-light": {width: 1280, height: 800, density: 1},
		"use-dark":  {width: 1280, height: 800, density: 1, dark: true},
		"use-phone": {width: 390, height: 844, density: 2, touch: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, browser, site+"/#5/45/5/layers=country,places", s)
			w.drawn(1)
			if s.touch {
				w.press(".tool-use")
			} else {
				w.key("u")
			}
			w.waitFor(`document.querySelector('#use').open && ` + tab + ` === 'MapLibre GL'`)
			if n := evaluate[int](w, `document.querySelector('#use').scrollWidth - document.querySelector('#use').clientWidth`); n > 0 {
				t.Errorf("the dialog is %d pixels too wide", n)
			}
			w.keep(name)
			for _, step := range []struct{ key, tab string }{
				{kb.ArrowRight, "Leaflet vector"}, {kb.ArrowLeft, "MapLibre GL"}, {kb.ArrowLeft, "iframe"}, {kb.ArrowLeft,
					"QGIS"}, {kb.Home, "MapLibre GL"}, {kb.End, "iframe"},
			} {
				w.key(step.key)
				w.waitFor(tab + ` === ` + quote(step.tab) + ` && ` + shown + `.length === 1`)
			}
			want := regexp.MustCompile(`^<iframe src="` + regexp.QuoteMeta(site) +
				`/embed\?center=(45|44\.99\d*)%2C5(\.\d+)?&amp;zoom=5&amp;layers=country%2Cplaces&amp;theme=`)
			if text := w.texts("#use-iframe-panel code"); len(text) != 1 || !want.MatchString(text[0]) {
				t.Errorf("the frame is %q", text)
			}
			w.press("#use-iframe-panel > p button.chip")
			w.waitFor(`document.querySelector('#use-iframe-panel > p button.chip').textContent === 'Copied'`)
			w.press("#use-qgis")
			w.keep(name + "-qgis")
			w.key(kb.Escape)
			w.waitFor(`!document.querySelector('#use').open`)
			// The panel opens again in its last state, for the current view of the map.
			w.visit(site + "/#6/42/15")
			w.key("u")
			w.waitFor(tab + ` === 'QGIS'`)
			if text := w.texts("#use-maplibre-panel code"); len(text) != 1 ||
				!strings.Contains(text[0], "center: [15") && !strings.Contains(text[0], "center: [14.9") {
				t.Errorf("the page is %q", text)
			}
		})
	}
	t.Run("linked", func(t *testing.T) {
		w := open(t, browser, site+"/#use", screen{width: 1280, height: 800, density: 1})
		w.waitFor(`document.querySelector('#use').open`)
		if links := w.texts(`#use [role=tab]`); !slices.Equal(links,
			[]string{"MapLibre GL", "Leaflet vector", "Leaflet PNG", "OpenLayers", "QGIS", "iframe"}) {
			t.Errorf("tabs %q", links)
		}
	})
}
