package clienttest

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"quadrille/cmd/internal/programs"
)

// Clients of the geocoder Nominatim, which nobody here wrote, search a running server.
// `make check-clients` installs them and runs this.

// In a browser: type, pick from several, see the marker; and what is at a point.
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
	if marked := evaluate[string](w, `window.marked.lat + ',' + window.marked.lng + ' ' + window.marked.name.split(',')[0]`); marked != "42,18.5 Eastport" {
		t.Errorf("marked %s", marked)
	}
	w.waitFor(`window.back`)
	if city := evaluate[string](w, `window.back[0].properties.address.city`); city != "Eastport" {
		t.Errorf("reverse: %s", city)
	}
	w.keep("leaflet-control-geocoder-nominatim")
}

// TestNominatimGeopy needs python3 with geopy; QUADRILLE_GEOPY may name a directory that
// holds it.
func TestNominatimGeopy(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Env = os.Environ()
		if dir := os.Getenv("QUADRILLE_GEOPY"); dir != "" {
			cmd.Env = append(cmd.Env, "PYTHONPATH="+dir)
		}
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if _, err := run("-c", "import geopy"); err != nil {
		t.Skip("python3 finds no geopy; QUADRILLE_GEOPY may say where it is")
	}
	site := programs.Serve(t, "--data", smallData(t), "--root-geocoder", "nominatim").URL
	out, err := run("testdata/clients/nominatim_geopy.py", strings.TrimPrefix(site, "http://"))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Log(out)
}

func TestNominatimNode(t *testing.T) {
	libraries := clientsDir(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	site := programs.Serve(t, "--data", smallData(t)).URL
	// Modules are looked for beside the script.
	script, err := os.ReadFile("testdata/clients/nominatim_node.mjs")
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(libraries, "nominatim_node.mjs")
	if err := os.WriteFile(beside, script, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), node, beside, site).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Log(string(out))
}
