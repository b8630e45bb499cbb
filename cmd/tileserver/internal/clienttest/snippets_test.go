package clienttest

import (
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/programs"
)

// The snippets of "Use this map" work unchanged. Each is opened in a browser as a page of another
// origin, with the libraries from a third origin, and draws land. `make check-clients` installs the
// libraries and runs this.
func TestSnippets(t *testing.T) {
	libraries := clientsDir(t)
	startBrowser(t) // skips where the page is not built
	browser := launchBrowser(t, software...)
	data, _ := clientsData(t)
	site := programs.Serve(t, "--data", data, "--base-path=/maps").URL

	packages := httptest.NewServer(packageServer(filepath.Join(libraries, "node_modules")))
	t.Cleanup(packages.Close)
	texts := map[string]string{} // by path
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, texts[r.URL.Path])
	}))
	t.Cleanup(pages.Close)

	const view = "#4/46/0" // 900 × 600 pixels, from Spain to beyond the Atlantic's shore
	for _, theme := range []string{"light", "dark"} {
		w := open(t, browser, site+"/"+view, screen{width: 900, height: 600, density: 1, dark: theme == "dark"})
		w.expect("favicon")
		w.settled()
		w.key("u")
		var snippets [][2]string
		list := evaluate[string](w,
			`JSON.stringify([...document.querySelectorAll('#use [role=tabpanel]')].map(p => [p.id.replace(/^use-|-panel$/g, ''), p.querySelector('code').textContent]))`)
		if err := json.Unmarshal([]byte(list), &snippets); err != nil || len(snippets) != 6 {
			t.Fatalf("%v: %s", err, list)
		}
		for _, snippet := range snippets {
			id, text := snippet[0], snippet[1]
			t.Run(id+"-"+theme, func(t *testing.T) {
				if id == "qgis" {
					checkQGIS(t, text, site, theme)
					return
				}
				path := "/" + id + "-" + theme
				texts[path] = strings.ReplaceAll(text, "https://unpkg.com", packages.URL)
				s := screen{width: 900, height: 600, density: 1, dark: theme == "dark"}
				if id == "iframe" {
					s.width, s.height = 600+2*8, 400+2*8 // the frame between the margins of a page
				}
				// The pages ignore the fragment; it gives this test the view that they show.
				w := open(t, browser, pages.URL+path+view, s)
				w.expect("it asks another server: "+site+"/", "it asks another server: "+packages.URL+"/",
					"it asks another server: "+pages.URL, "GPU stall due to ReadPixels")
				w.drawsLand(id + "-" + theme)
				if id == "leaflet-png" || id == "leaflet-vector" || id == "openlayers" || id == "maplibre" {
					credits := `document.querySelector('.leaflet-control-attribution, .ol-attribution, .maplibregl-ctrl-attrib')?.textContent ?? ''`
					if got := evaluate[string](w, credits); !strings.Contains(got, "friends") && !strings.Contains(got, "Natural Earth") {
						t.Errorf("the sources are not credited: %q", got)
					}
				}
			})
		}
	}
}

// drawsLand waits until a page shows land and water in different colours, as in the view of
// TestSnippets.
func (w *window) drawsLand(name string) {
	w.t.Helper()
	var land, sea color.RGBA
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		shot := w.picture(name)
		land, sea = w.at(shot, 47.2, 3.2), w.at(shot, 46.5, -9)
		if white := (color.RGBA{255, 255, 255, 255}); land != sea && land != white && sea != white {
			return
		}
	}
	w.t.Errorf("land is %v and the sea %v; the page says %q", land, sea, evaluate[string](w, `document.body.innerText`))
}

// checkQGIS requests the addresses in the lines for QGIS. If QGIS's driver for tiles is installed,
// it also reads tiles with it.
func checkQGIS(t *testing.T, text, site, theme string) {
	t.Helper()
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `: (.+)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no line %s in\n%s", name, text)
		}
		return m[1]
	}
	vector, pictures, style := value("Source URL"), value("URL"), value("Style URL")
	at := strings.NewReplacer("{z}", "4", "{x}", "8", "{y}", "5")
	for url, contentType := range map[string]string{
		at.Replace(vector):   "application/vnd.mapbox-vector-tile",
		at.Replace(pictures): "image/png",
		style:                "application/json",
	} {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != contentType || !strings.HasPrefix(url, site+"/") {
			t.Errorf("%s: %d %s", url, res.StatusCode, res.Header.Get("Content-Type"))
		}
	}
	look := map[string]string{"light": "political", "dark": "political-dark"}[theme] // as the page draws it
	if !strings.HasSuffix(style, "theme="+look) || !strings.HasSuffix(pictures, "theme="+look) {
		t.Errorf("not in %s:\n%s", theme, text)
	}
	if ogrinfo, err := exec.LookPath("ogrinfo"); err == nil {
		out, err := exec.CommandContext(t.Context(), ogrinfo, "-ro", "-so", "-al", "MVT:"+at.Replace(vector)).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Layer name: country\n") {
			t.Errorf("ogrinfo: %v\n%s", err, out)
		}
	}
	if gdalinfo, err := exec.LookPath("gdalinfo"); err == nil {
		url := strings.NewReplacer("{z}", "${z}", "{x}", "${x}", "{y}", "${y}", "&", "&amp;").Replace(pictures)
		tms := fmt.Sprintf(`<GDAL_WMS><Service name="TMS"><ServerUrl>%s</ServerUrl></Service><DataWindow><UpperLeftX>-20037508.34</UpperLeftX>`+
			`<UpperLeftY>20037508.34</UpperLeftY><LowerRightX>20037508.34</LowerRightX><LowerRightY>-20037508.34</LowerRightY><TileLevel>3</TileLevel>`+
			`<TileCountX>1</TileCountX><TileCountY>1</TileCountY><YOrigin>top</YOrigin></DataWindow><Projection>EPSG:3857</Projection>`+
			`<BlockSizeX>512</BlockSizeX><BlockSizeY>512</BlockSizeY><BandsCount>4</BandsCount></GDAL_WMS>`, url)
		out, err := exec.CommandContext(t.Context(), gdalinfo, "-checksum", tms).CombinedOutput()
		if err != nil || strings.Contains(string(out), "ERROR") || strings.Contains(string(out), "Checksum=0\n") {
			t.Errorf("gdalinfo: %v\n%s", err, out)
		}
	}
}

// packageServer answers like unpkg.com, from installed packages. If the version in an address is
// not the installed one, it answers 404.
func packageServer(dir string) http.Handler {
	address := regexp.MustCompile(`^/((?:@[\w.-]+/)?[\w.-]+)@([\w.-]+)(/.+)$`)
	files := http.FileServer(http.Dir(dir))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		m := address.FindStringSubmatch(r.URL.Path)
		if m == nil {
			http.NotFound(w, r)
			return
		}
		r.URL.Path = "/" + m[1] + m[3]
		files.ServeHTTP(w, r)
	})
}
