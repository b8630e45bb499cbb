package clienttest

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/tileserver/internal/archive/archivetest"
)

// coloredData is a data directory with countries and three wards along 42.5° N, whose values are 1, 9
// and none. They have more properties than tiles have without being asked.
func coloredData(t *testing.T) string {
	t.Helper()
	var wards []string
	for i, value := range []string{"1", "9", "null"} {
		var others strings.Builder
		for n := range 24 {
			fmt.Fprintf(&others, `,"col%d":%d`, n, n)
		}
		west := 5 * i
		wards = append(wards, fmt.Sprintf(`{"type":"Feature","properties":{"code":"w%d","name":"<b>Ward %d</b>","value":%s,"kind":"<i>%d"%s},`+
			`"geometry":{"type":"Polygon","coordinates":[[[%d,40],[%d,40],[%d,45],[%d,45],[%d,40]]]}}`, i, i, value, i%2, &others, west, west+5, west+5, west, west))
	}
	file := filepath.Join(t.TempDir(), "wards.geojson")
	if err := os.WriteFile(file, []byte(`{"type":"FeatureCollection","features":[`+strings.Join(wards, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "places", "testdata/browser/places.tsv")
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code", "--layer", "ward="+file+":code")
	return dir
}

// The map page draws regions in the colours of its legend, says values on cards, and keeps the choice
// in its address. So does the map in a frame, and a base map shows through.
func TestMapPageColours(t *testing.T) {
	browser := startBrowser(t)
	var tiles []archivetest.Tile
	for x := range uint32(4) {
		for y := range uint32(4) {
			tiles = append(tiles, archivetest.Tile{Z: 2, X: x, Y: y, Data: archivetest.Picture(256, color.RGBA{A: 255})})
		}
	}
	p := archivetest.PMTiles{Internal: archivetest.Gzip, Tiles: archivetest.Uncompressed, Type: 2, Metadata: `{}`}
	black := archivetest.Write(t, filepath.Join(t.TempDir(), "black.pmtiles"), p.Bytes(tiles))
	site := programs.Serve(t, "--data", coloredData(t), "--basemap", black).URL

	w := open(t, browser, site+"/#5/42.5/7/layers=country&color=ward.value&classes=equal:2", screen{width: 1280, height: 800, density: 1})
	legend := func(w *window, want ...string) {
		t.Helper()
		w.waitFor(`document.querySelectorAll('.legend .key').length === ` + fmt.Sprint(len(want)))
		w.settled()
		if got := w.texts(".legend li bdi"); !slices.Equal(got, want) {
			t.Errorf("legend %q, want %q", got, want)
		}
	}
	// The colours of the first two rows are those of the first two wards, the third is hatched.
	painted := func(w *window, name string) {
		t.Helper()
		picture := w.picture(name)
		for i := range 2 {
			of := evaluate[[]int](w, fmt.Sprintf(`getComputedStyle(document.querySelectorAll('.legend .key')[%d]).backgroundColor.match(/\d+/g).map(Number)`, i))
			if got, want := w.at(picture, 41, float64(5*i)+1), (color.RGBA{uint8(of[0]), uint8(of[1]), uint8(of[2]), 255}); got != want {
				t.Errorf("%s: ward %d is %v, the legend says %v", name, i, got, want)
			}
		}
		hatches := map[color.RGBA]bool{}
		for n := range 40 {
			hatches[w.at(picture, 41, 11+float64(n)/20)] = true
		}
		if len(hatches) < 2 {
			t.Errorf("%s: the ward without a value is not hatched", name)
		}
	}
	legend(w, "1", "9", "No value")
	painted(w, "colours")

	w.click(41, 1)
	w.waitFor(`document.querySelector('#card dd')?.textContent === '1'`)
	if got := w.texts("#card dt"); got[0] != "Value" || w.texts("#card h2")[0] != "<b>Ward 0</b>" {
		t.Errorf("the card says %q of %q", got, w.texts("#card h2"))
	}

	choose := func(selector, option string) {
		t.Helper()
		evaluate[bool](w, fmt.Sprintf(`(() => {
			const list = document.querySelector(%s)
			list.value = [...list.options].find(one => one.textContent === %s).value
			return list.dispatchEvent(new Event('change'))
		})()`, quote(selector), quote(option)))
	}
	choose(".colour-by select", "Kind")
	legend(w, "<i>0", "<i>1")
	w.waitFor(`document.querySelector('#card dd')?.textContent === '<i>0'`)
	if !strings.HasSuffix(w.hash(), "&layers=country,ward&color=ward.kind") {
		t.Errorf("the address is %s", w.hash())
	}
	w.press(`.layers input[value="ward"]`)
	w.waitFor(`document.querySelector('.legend').hidden`)

	w.visit(site + "/#5/42.5/7/layers=country,ward,basemap:black&color=ward.value&classes=100")
	legend(w, "1 – 9", "100", "No value")
	if over := w.at(w.picture("colours-basemap"), 41, 1); over.B < 100 || over.B > 225 {
		t.Errorf("over a black map a light colour is %v", over)
	}
	w.expect("400 for "+site+"/style.json", "the server responded with a status of 400")
	w.visit(site + "/#5/42.5/7/color=ward.gone")
	w.waitFor(`document.querySelector('.legend [role=alert]')?.textContent.includes('gone')`)

	frame := open(t, browser, site+"/embed?center=42.5,7&zoom=5&color=ward.value&classes=equal:2&theme=dark&lang=de", screen{width: 600, height: 400, density: 1})
	frame.expect("it asks another server: " + site + "/")
	legend(frame, "1", "9", "Kein Wert")
	if large := evaluate[string](frame, `document.querySelector('#large').hash`); !strings.HasSuffix(large, "/color=ward.value&classes=equal:2&theme=dark") {
		t.Errorf("the large map is at %s", large)
	}
}
