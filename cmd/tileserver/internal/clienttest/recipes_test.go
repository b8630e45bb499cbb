package clienttest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/testfile"
)

// recipeWorld has what the recipes show beside the shops: their state, and the place that is looked for.
var recipeWorld = map[string]string{
	"states.geojson": `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"code":"us-ks","name":"Kansas"},
		"geometry":{"type":"Polygon","coordinates":[[[-102,37],[-94.6,37],[-94.6,40],[-102,40],[-102,37]]]}}]}`,
	"places.tsv": "4278890\tSalina\tSalina\t\t38.84028\t-97.61142\tP\tPPLA2\tUS\t\tKS\t169\t\t\t47813\t\t374\tAmerica/Chicago\t2020-01-01\n",
}

// TestRecipes opens each page of docs/recipes.md in a browser, as a page of another origin with the libraries
// from a third, and uses it. A page whose library is not installed is skipped.
func TestRecipes(t *testing.T) {
	libraries := filepath.Join(clientsDir(t), "node_modules")
	startBrowser(t) // skips where the page is not built
	browser := launchBrowser(t, software...)
	data, dir, ingest := t.TempDir(), t.TempDir(), programs.Ingester(t)
	for name, text := range recipeWorld {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ingest("--data", data, "boundaries", "--layer", "state="+filepath.Join(dir, "states.geojson")+":code", "--attribution", "friends")
	ingest("--data", data, "places", filepath.Join(dir, "places.tsv"))
	ingest("--data", data, "points", "shops", "../../../../sample/shops.csv")
	site := programs.Serve(t, "--data", data).URL
	packages := httptest.NewServer(packageServer(libraries))
	t.Cleanup(packages.Close)

	recipe := regexp.MustCompile("(?m)^## (.+)\n(?s:.*?)\n```html\n((?s:.*?))\n```$")
	page, opened := "", 0
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, strings.Replace(page, "<!doctype html>", `<!doctype html><link rel="icon" href="data:,">`, 1))
	}))
	t.Cleanup(pages.Close)

	asked := func(part string) string {
		return `performance.getEntriesByType('resource').some(({ name }) => name.includes(` + quote(part) + `))`
	}
	clicked := func(w *window, text string) { // the shop in the middle of the map, which may not be drawn yet
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
			w.click(38.5, -98.3)
			if evaluate[bool](w, `document.body.innerText.includes(`+quote(text)+`)`) {
				return
			}
		}
		w.t.Errorf("a click does not show %q: %q", text, evaluate[string](w, `document.body.innerText`))
	}
	use := map[string]func(w *window){
		"A list beside a frame": func(w *window) {
			w.waitFor(`document.querySelectorAll('#list button').length === 5`)
			w.waitFor(`(document.querySelector('#list button').click(), document.querySelector('#chosen').textContent.startsWith('You chose '))`)
		},
		"Popups with MapLibre GL": func(w *window) { clicked(w, "Corner Cafe: 4.5 €") },
		"A filter by checkboxes": func(w *window) {
			w.waitFor(asked("/points:shops.json"))
			evaluate[any](w, `document.querySelector('[value=cafe]').click()`)
			w.waitFor(asked("category=bakery,books"))
		},
		"A store locator": func(w *window) {
			evaluate[any](w, `document.querySelector('button').click()`)
			w.waitFor(`document.querySelectorAll('li').length === 3 && document.querySelector('li').textContent === 'Salina Books, 0.1 km'`)
			w.waitFor(`document.querySelector('.maplibregl-marker') !== null`)
		},
		"Popups with Leaflet": func(w *window) {
			w.waitFor(`document.querySelectorAll('path.leaflet-interactive').length === 8`)
			clicked(w, "Corner Cafe: 4.5 €")
		},
		"Popups with OpenLayers": func(w *window) { clicked(w, "Corner Cafe: 4.5 €") },
		"deck.gl": func(w *window) {
			w.waitFor(asked("/tiles/points:shops/"))
		},
		"A page to print": func(w *window) {
			w.waitFor(`document.querySelectorAll('tr').length === 5 && document.querySelector('img').naturalWidth === 1200`)
			w.waitFor(`document.querySelector('#credit').textContent.includes('friends')`)
		},
	}
	for _, m := range recipe.FindAllStringSubmatch(string(testfile.Read(t, "../../../../docs/recipes.md")), -1) {
		name, text := m[1], m[2]
		if use[name] == nil {
			t.Errorf("nothing uses the recipe %q", name)
			continue
		}
		opened++
		t.Run(name, func(t *testing.T) {
			for _, m := range regexp.MustCompile(`unpkg\.com/([\w.-]+)@([\d.]+)/`).FindAllStringSubmatch(text, -1) {
				var installed struct{ Version string }
				about, err := os.ReadFile(filepath.Join(libraries, m[1], "package.json"))
				if err != nil {
					t.Skipf("%s is not installed", m[1])
				}
				if err := json.Unmarshal(about, &installed); err != nil || installed.Version != m[2] {
					t.Errorf("%s is of version %s, installed is %s (%v)", m[1], m[2], installed.Version, err)
				}
			}
			page = strings.NewReplacer("http://127.0.0.1:8080", site, "https://unpkg.com", packages.URL).Replace(text)
			w := open(t, browser, pages.URL+"/#7/38.5/-98.3", screen{width: 900, height: 600, density: 1})
			w.expect("it asks another server: "+site+"/", "it asks another server: "+packages.URL+"/", "it asks another server: "+pages.URL,
				"luma.gl", "Canvas2D", "GPU stall due to ReadPixels")
			use[name](w)
			w.keep("recipe-" + strings.ReplaceAll(name, " ", "-"))
		})
	}
	if opened != len(use) {
		t.Errorf("%d of %d recipes are there", opened, len(use))
	}
}
