package clienttest

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"quadrille/cmd/internal/programs"
)

// Third-party clients of the geocoder Nominatim search a running server. `make check-clients`
// installs them and runs this.

// In a browser, the test types a query, chooses one of several results, and sees the marker. Then
// it looks up a point.
func TestNominatimLeaflet(t *testing.T) {
	pages := clientPages(t, clientsDir(t))
	browser := launchBrowser(t, software...)
	site := programs.Serve(t, "--data", smallData(t)).URL
	w := open(t, browser, pages+"/nominatim_leaflet.html?"+url.PathEscape(site), screen{width: 1000, height: 700, density: 1})
	w.expect("it asks another server: "+site+"/", "it asks another server: "+pages+"/node_modules/")
	w.waitFor(`window.ready`)
	w.do(chromedp.SendKeys(chromedp.CSS(".leaflet-control-geocoder-form input"), "eastport"))
	w.key("\r")
	w.waitFor(`window.marked || document.querySelector('.leaflet-control-geocoder-alternatives li')`)
	if evaluate[bool](w, `!window.marked`) {
		w.press(".leaflet-control-geocoder-alternatives li")
	}
	w.waitFor(`window.marked && document.querySelector('.leaflet-marker-icon')`)
	if marked := evaluate[string](w,
		`window.marked.lat + ',' + window.marked.lng + ' ' + window.marked.name.split(',')[0]`); marked != "42,18.5 Eastport" {
		t.Errorf("marked %s", marked)
	}
	w.waitFor(`window.back`)
	if city := evaluate[string](w, `window.back[0].properties.address.city`); city != "Eastport" {
		t.Errorf("reverse: %s", city)
	}
	w.keep("leaflet-control-geocoder-nominatim")
}

// TestNominatimGeopy needs python3 with geopy; see pythonWith.
func TestNominatimGeopy(t *testing.T) {
	geopy := pythonWith(t, "geopy")
	site := programs.Serve(t, "--data", smallData(t), "--root-geocoder", "nominatim").URL
	geopy(t, "nominatim_geopy.py", strings.TrimPrefix(site, "http://"))
}

func TestNominatimNode(t *testing.T) {
	node := nodeWith(t, "")
	node(t, "nominatim_node.mjs", programs.Serve(t, "--data", smallData(t)).URL)
}
