package clienttest

import (
	"image"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"quadrille/cmd/internal/programs"
)

// Third-party map libraries draw maps from a running server, on pages of another origin. `make
// check-clients` installs them and runs this.

// clientsDir returns the directory in which the libraries are installed.
func clientsDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("QUADRILLE_CLIENTS")
	if dir == "" {
		t.Skip("QUADRILLE_CLIENTS names no directory with node_modules of testdata/clients: run make check-clients")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Fatalf("QUADRILLE_CLIENTS: %v", err)
	}
	return dir
}

// clientsData returns a data directory: the one of QUADRILLE_CLIENTS_DATA, or a new one from small
// files. view is the view of the map as longitude, latitude and zoom.
func clientsData(t *testing.T) (dir, view string) {
	t.Helper()
	if dir := os.Getenv("QUADRILLE_CLIENTS_DATA"); dir != "" {
		return dir, "9 47 4"
	}
	return smallData(t), "12 45 4"
}

// smallData returns a data directory with data from small files.
func smallData(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code",
		"--layer", "state=testdata/browser/states.geojson:code", "--attribution", `Us & <a href="https://example.org/credits">"friends"</a>`)
	ingest("--data", dir, "places", "testdata/browser/places.tsv")
	return dir
}

// clientPages serves the pages of browser clients and their libraries.
func clientPages(t *testing.T, libraries string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/node_modules/", http.FileServer(http.Dir(libraries)))
	mux.Handle("/", http.FileServer(http.Dir("testdata/clients")))
	pages := httptest.NewServer(mux)
	t.Cleanup(pages.Close)
	return pages.URL
}

// nodeWith returns a function that runs a script of testdata/clients with node, the libraries, and
// the named npm package, if any. If the script fails, the test fails.
func nodeWith(t *testing.T, name string) func(t *testing.T, script string, args ...string) {
	t.Helper()
	libraries := clientsDir(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	if _, err := os.Stat(filepath.Join(libraries, "node_modules", filepath.FromSlash(name))); err != nil {
		t.Skipf("%s is not installed: run make check-clients", name)
	}
	return func(t *testing.T, script string, args ...string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("testdata", "clients", script))
		if err != nil {
			t.Fatal(err)
		}
		beside := filepath.Join(libraries, script) // where modules are looked for
		if err := os.WriteFile(beside, text, 0o644); err != nil {
			t.Fatal(err)
		}
		runScript(t, exec.CommandContext(t.Context(), node, append([]string{beside}, args...)...))
	}
}

// pythonWith returns a function that runs a script of testdata/clients with a Python that has the
// named package. If the script fails, the test fails. QUADRILLE_GEOPY may name a directory with
// packages.
func pythonWith(t *testing.T, name string) func(t *testing.T, script string, args ...string) {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} { // packages of the system are those of its own Python
		cmd := exec.CommandContext(t.Context(), python, "-c", "import "+name)
		cmd.Env = append(os.Environ(), "QT_QPA_PLATFORM=offscreen")
		if dir := os.Getenv("QUADRILLE_GEOPY"); dir != "" && python == "python3" {
			cmd.Env = append(cmd.Env, "PYTHONPATH="+dir)
		}
		if cmd.Run() == nil {
			return func(t *testing.T, script string, args ...string) {
				t.Helper()
				again := exec.CommandContext(t.Context(), cmd.Path, append([]string{filepath.Join("testdata", "clients", script)}, args...)...)
				again.Env = cmd.Env
				runScript(t, again)
			}
		}
	}
	t.Skipf("no python3 finds %s: run make check-clients", name)
	return nil
}

func runScript(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// software has options that let a browser use WebGL without a graphics card.
var software = []chromedp.ExecAllocatorOption{
	chromedp.Flag("disable-gpu", false), chromedp.Flag("use-gl", "angle"), chromedp.Flag("use-angle", "swiftshader"),
	chromedp.Flag("enable-unsafe-swiftshader", true), chromedp.Flag("ignore-gpu-blocklist", true),
}

func TestMapLibraries(t *testing.T) {
	libraries := clientsDir(t)
	browser := launchBrowser(t, software...)
	data, view := clientsData(t)
	site := programs.Serve(t, "--data", data).URL

	pages := clientPages(t, libraries)

	for _, tt := range []struct {
		name, page, theme string
		api               string // by which the page finds the tiles
		screen            screen
	}{
		{"maplibre-light", "maplibre.html", "light", "", screen{width: 1200, height: 800, density: 1}},
		{"maplibre-dark", "maplibre.html", "dark", "", screen{width: 390, height: 780, density: 2, dark: true}},
		{"openlayers", "openlayers.html", "", "", screen{width: 1200, height: 800, density: 1}},
		{"openlayers-ogc", "openlayers.html", "", " ogc", screen{width: 1200, height: 800, density: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := open(t, browser, pages+"/"+tt.page+"?"+url.PathEscape(site+" "+tt.theme+" "+view+tt.api), tt.screen)
			w.expect("it asks another server: "+site+"/", "it asks another server: "+pages+"/node_modules/",
				"GPU stall due to ReadPixels") // the driver's remark on taking pictures
			w.waitFor(`window.drawn`)
			layers := []string{"country", "country_line", "places"}
			if tt.theme != "" { // the style of this server: names of countries, capitals and their names
				layers = []string{"country", "country_line", "country_label", "places_major"}
			}
			for _, layer := range layers {
				if n := evaluate[int](w, `window.drawn[`+quote(layer)+`] ?? 0`); n == 0 {
					t.Errorf("nothing of the layer %s is drawn; of others: %s", layer, evaluate[string](w, `JSON.stringify(window.drawn)`))
				}
			}
			if evaluate[string](w, `window.credits`) == "" {
				t.Error("the sources are not credited")
			}
			w.keep(tt.name)
		})
	}
}

// MapLibre GL draws the same map from MapLibre Tiles as from Mapbox Vector Tiles.
func TestMapLibreTiles(t *testing.T) {
	libraries := clientsDir(t)
	browser := launchBrowser(t, software...)
	data, view := clientsData(t)
	site := programs.Serve(t, "--data", data).URL

	pages := clientPages(t, libraries)

	var drawn [2]string
	var pictures [2]image.Image
	for i, encoding := range []string{"mvt", "mlt"} {
		w := open(t, browser, pages+"/maplibre.html?"+url.PathEscape(site+" light "+view+" "+encoding),
			screen{width: 1200, height: 800, density: 1})
		w.expect("it asks another server: "+site+"/", "it asks another server: "+pages+"/node_modules/", "GPU stall due to ReadPixels")
		w.waitFor(`window.drawn`)
		drawn[i] = evaluate[string](w, `JSON.stringify(Object.entries(window.drawn).sort())`)
		if tiles := evaluate[string](w, `window.tiles`); !strings.HasSuffix(strings.TrimSuffix(tiles, "?pixels=512"), "{y}."+encoding) {
			t.Errorf("the map draws %s, and not %s", tiles, encoding)
		}
		pictures[i] = w.picture("maplibre-tiles-" + encoding)
	}
	if drawn[0] != drawn[1] || !strings.Contains(drawn[1], "country_label") {
		t.Errorf("drawn from MVT:\n%s\nfrom MLT:\n%s", drawn[0], drawn[1])
	}
	differ := 0
	for y := range pictures[0].Bounds().Dy() {
		for x := range pictures[0].Bounds().Dx() {
			if pictures[0].At(x, y) != pictures[1].At(x, y) {
				differ++
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d pixels differ", differ)
	}
}

// The validators by the authors of the formats report no errors.
func TestForeignValidators(t *testing.T) {
	node := nodeWith(t, "")
	data, _ := clientsData(t)
	for _, glyphs := range []string{"", "--glyphs=https://fonts.example.org/{fontstack}/{range}.pbf"} {
		args := []string{"--data", data}
		if glyphs != "" {
			args = append(args, glyphs)
		}
		node(t, "validate.mjs", programs.Serve(t, args...).URL)
	}
}

// GDAL reads the tiles over HTTP as layers.
func TestGDAL(t *testing.T) {
	ogrinfo, err := exec.LookPath("ogrinfo")
	if err != nil {
		t.Skip("ogrinfo is not installed (gdal-bin)")
	}
	data, _ := clientsData(t)
	site := programs.Serve(t, "--data", data).URL
	info := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), ogrinfo, append([]string{"-ro", "-so", "-al", "--config", "GDAL_HTTP_TIMEOUT", "30"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("ogrinfo %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	// The driver reads one tile, with the layers from the tile itself, and a whole zoom, with the
	// layers from TileJSON.
	for _, args := range [][]string{
		{"MVT:" + site + "/tiles/all/4/8/5.mvt"},
		{"-oo", "METADATA_FILE=" + site + "/tiles/all.json", "-oo", "TILE_EXTENSION=mvt", "MVT:" + site + "/tiles/all/4"},
	} {
		out := info(args...)
		for _, want := range []string{"Layer name: country\n", "Layer name: country_line", "Layer name: places", "name: String"} {
			if !strings.Contains(out, want) {
				t.Errorf("ogrinfo %v has no %q:\n%s", args, want, out)
			}
		}
		if strings.Contains(out, "Feature Count: 0") || strings.Contains(out, "ERROR") || strings.Contains(out, "Warning") {
			t.Errorf("ogrinfo %v:\n%s", args, out)
		}
	}
}

// TestDocsInBrowser tests the page /docs in a browser: in both colour schemes, on a desktop and on
// a phone.
func TestDocsInBrowser(t *testing.T) {
	browser := commonBrowser(t)
	site := programs.Serve(t, "--data", t.TempDir()).URL
	for name, s := range map[string]screen{
		"docs-desktop":       {width: 1280, height: 900, density: 1},
		"docs-desktop-dark":  {width: 1280, height: 900, density: 1, dark: true},
		"docs-phone-dark":    {width: 360, height: 740, density: 2, dark: true, touch: true},
		"docs-phone-example": {width: 360, height: 740, density: 2, touch: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, browser, site+"/#", s)
			w.expected = append(w.expected, "/tiles/all.json") // the map page has none to show
			at := site + "/docs"
			if strings.Contains(name, "example") {
				at += "#getPlacesNearby"
			}
			w.do(chromedp.Navigate(at))
			w.waitFor(`document.querySelectorAll('article').length > 40`)
			if n := evaluate[int](w, `document.documentElement.scrollWidth - innerWidth`); n > 0 {
				t.Errorf("the page is %d pixels wider than the window", n)
			}
			// Every link within the page has a target.
			broken := `[...document.querySelectorAll('a[href^="#"]')].map(a => a.hash.slice(1)).filter(id => !document.getElementById(id)).join(' ')`
			if ids := evaluate[string](w, broken); ids != "" {
				t.Errorf("links to %s lead nowhere", ids)
			}
			w.keep(name)
		})
	}
}
