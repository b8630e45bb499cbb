package clienttest

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quadrille/cmd/internal/programs"
)

// Third-party clients of the geocoder Photon search a running server. `make check-clients` installs
// them and runs this.

// eastport is the name of a place in the clients' data; its position follows.
const eastport = "Eastport"

// openPhoton opens a page of a client, and starts a server with data for it.
func openPhoton(t *testing.T, page string) *window {
	t.Helper()
	pages := clientPages(t, clientsDir(t))
	browser := launchBrowser(t, software...)
	site := programs.Serve(t, "--data", smallData(t)).URL
	w := open(t, browser, pages+"/"+page+"?"+url.PathEscape(site), screen{width: 1000, height: 700, density: 1})
	w.expect("it asks another server: "+site+"/", "it asks another server: "+pages+"/node_modules/", "GPU stall due to ReadPixels")
	w.waitFor(`window.ready`)
	return w
}

// In a browser, the test types a query, sees suggestions, chooses one, and sees the marker.
func TestPhotonLeaflet(t *testing.T) {
	w := openPhoton(t, "photon_leaflet.html")
	w.do(chromedp.SendKeys(chromedp.CSS(".photon-input"), "eastp"))
	// The answer to "east" also contains it, after a country.
	w.waitFor(`document.querySelector('.photon-autocomplete li strong')?.textContent === ` + quote(eastport))
	w.key("\r")
	w.waitFor(`window.chosen && document.querySelector('.leaflet-marker-icon')`)
	if at := evaluate[string](w, `window.chosen.geometry.coordinates.join() + ' ' + window.chosen.properties.type`); at != "18.5,42 city" {
		t.Errorf("leaflet.photon chose %s", at)
	}
	w.waitFor(`window.reversed`)
	if city := evaluate[string](w, `window.reversed.features[0].properties.city`); city != eastport {
		t.Errorf("leaflet.photon's reverse: %s", city)
	}
	w.keep("leaflet-photon")

	w.do(chromedp.SendKeys(chromedp.CSS(".leaflet-control-geocoder-form input"), "eastp"))
	w.waitFor(`document.querySelector('.leaflet-control-geocoder-alternatives li')?.textContent.startsWith(` + quote(eastport) + `)`)
	w.press(".leaflet-control-geocoder-alternatives li")
	w.waitFor(`window.marked`)
	if marked := evaluate[string](w,
		`window.marked.lat + ',' + window.marked.lng + ' ' + window.marked.name.split(',')[0]`); marked != "42,18.5 "+eastport {
		t.Errorf("leaflet-control-geocoder marked %s", marked)
	}
	w.waitFor(`window.back`)
	if city := evaluate[string](w, `window.back[0].properties.city`); city != eastport {
		t.Errorf("leaflet-control-geocoder's reverse: %s", city)
	}
	w.keep("leaflet-control-geocoder")
}

func TestPhotonMapLibre(t *testing.T) {
	w := openPhoton(t, "photon_maplibre.html")
	pick := func(typed string) {
		t.Helper()
		evaluate[chromedp.Void](w, `window.clear()`)
		w.do(chromedp.SendKeys(chromedp.CSS(".maplibregl-ctrl-geocoder--input"), typed))
		w.waitFor(`document.querySelector('.suggestions li')?.textContent.includes(` + quote(eastport) + `)`)
		// The keyboard chooses the entry. The list is rebuilt with the answer for each letter, so a
		// click could hit an entry that disappears, and would choose nothing.
		w.key(kb.ArrowDown + kb.Enter)
		w.waitFor(`window.chosen && document.querySelector('.maplibregl-marker')`)
	}
	pick("eastp")
	if at := evaluate[string](w, `window.chosen.center.join()`); at != "18.5,42" {
		t.Errorf("chosen: %s", at)
	}
	w.keep("maplibre-gl-geocoder")
	pick("42.1, 18.4")
	if city := evaluate[string](w, `window.chosen.properties.city`); city != eastport {
		t.Errorf("reverse: %s", city)
	}
}

// TestPhotonGeopy needs python3 with geopy; see pythonWith.
func TestPhotonGeopy(t *testing.T) {
	geopy := pythonWith(t, "geopy")
	site := programs.Serve(t, "--data", smallData(t), "--root-geocoder", "photon").URL
	geopy(t, "photon_geopy.py", strings.TrimPrefix(site, "http://"))
}
