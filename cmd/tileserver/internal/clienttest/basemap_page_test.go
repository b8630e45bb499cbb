package clienttest

import (
	"image/color"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/tileserver/internal/archive/archivetest"
)

// The map page draws a base map of pictures below the borders, until it is switched off.
func TestBaseMapOnPage(t *testing.T) {
	browser := commonBrowser(t)
	dir := t.TempDir()
	sand := color.RGBA{R: 222, G: 206, B: 160, A: 255}
	var tiles []archivetest.Tile
	for z := range uint8(4) {
		for x := range uint32(1) << z {
			for y := range uint32(1) << z {
				tiles = append(tiles, archivetest.Tile{Z: z, X: x, Y: y, Data: archivetest.Picture(256, sand)})
			}
		}
	}
	p := archivetest.PMTiles{
		Internal: archivetest.Gzip,
		Tiles:    archivetest.Uncompressed,
		Type:     2,
		Metadata: `{"name":"Sand <i>& stones</i>","attribution":"<a href=\"https://example.org/sand\">Sand</a><img src=x onerror=alert(1)>"}`,
	}
	path := archivetest.Write(t, filepath.Join(dir, "sand.pmtiles"), p.Bytes(tiles))
	site := programs.Serve(t, "--data", smallData(t), "--basemap", path).URL
	w := open(t, browser, site+"/#4.5/45/12", screen{width: 1000, height: 700, density: 1})
	w.waitFor(`document.querySelectorAll('img.leaflet-tile-loaded').length > 3`)
	w.settled()
	w.waitFor(regionsShown + `.length > 0`)
	picture := w.picture("basemap")
	land, sea := w.at(picture, 43, 8), w.at(picture, 47, 24)
	if land != sea || land != sand {
		t.Errorf("land %v and sea %v, want the base map's %v", land, sea, sand)
	}
	if labels := w.texts(".layers label span"); !slices.Contains(labels, "Sand <i>& stones</i>") {
		t.Errorf("layers: %q", labels)
	}
	if credits := w.texts(".credits li"); !slices.ContainsFunc(credits,
		func(c string) bool { return strings.HasPrefix(c, "Sand") && strings.Contains(c, "example.org") }) {
		t.Errorf("credits: %q", credits)
	}
	w.press(`.layers input[value="basemap:sand"]`)
	w.waitFor(`document.querySelectorAll('img.leaflet-tile').length === 0`)
	w.settled()
	if after := w.picture(""); w.at(after, 43, 8) == sand || w.at(after, 43, 8) == w.at(after, 47, 24) {
		t.Error("without the base map, land does not look like land")
	}
	w.visit(site + "/#4.5/45/12/layers=country,basemap:sand")
	w.waitFor(`document.querySelectorAll('img.leaflet-tile-loaded').length > 3 && document.querySelector('.layers input[value="basemap:sand"]').checked`)
	if n := evaluate[int](w, `document.querySelectorAll('.credits img').length`); n != 0 {
		t.Error("the attribution is taken for HTML")
	}
}
