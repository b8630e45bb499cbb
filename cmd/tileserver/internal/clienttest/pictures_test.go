package clienttest

import (
	"context"
	"flag"
	"fmt"
	"html/template"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/draw"

	"github.com/chromedp/chromedp"

	"quadrille/cmd/internal/programs"
)

var updatePictures = flag.Bool("update-pictures", false, "rewrite the golden file of the gallery's thumbnails instead of comparing with it")

// goldenPictures is the file with one thumbnail for each view, in the order of views, in rows of
// sheetColumns.
const (
	goldenPictures          = "testdata/pictures.png"
	sheetColumns            = 5
	thumbWidth, thumbHeight = 64, 40
)

// A view may differ from its golden thumbnail in a share of mostDifferent of its pixels. A pixel
// counts as different if it differs by more than mostShade, of 255, in any colour. Fonts of another
// machine change fewer pixels; a missing label, colour or outline changes more.
const (
	mostShade     = 24
	mostDifferent = 0.04
)

// view is one picture of the gallery.
type view struct {
	name   string
	path   string // the map's, or after png: and maplibre: the theme, the latitude, the longitude and the zoom
	screen screen
	do     string // a script that opens something
	until  string // what it waits for after that
}

// views returns the views of the gallery.
func views() []view {
	desk := screen{width: 1280, height: 800, density: 1}
	dark := desk
	dark.dark = true
	phone := screen{width: 390, height: 844, density: 2, touch: true}
	phoneDark := phone
	phoneDark.dark = true
	retina := screen{width: 1280, height: 800, density: 2}
	const card = `document.querySelector('#card h2') && document.querySelector('#card').ariaBusy !== 'true'`
	search := func(text string) string {
		return `{ const s = document.querySelector('#search'); s.focus(); s.value = ` + quote(text) +
			`; s.dispatchEvent(new InputEvent('input', { bubbles: true })) }`
	}
	return []view{
		{name: "first view", path: "/", screen: desk},
		{name: "first view, dark", path: "/", screen: dark},
		{name: "first view, phone", path: "/", screen: phone},
		{name: "first view, 5120 wide", path: "/", screen: screen{width: 5120, height: 1440, density: 1}},
		{name: "zoom 2", path: "/#2/25/10", screen: desk},

		{name: "Africa", path: "/#3/2/20", screen: desk},
		{name: "West Africa, dark", path: "/#5/9/2", screen: dark},
		{name: "Europe", path: "/#4/50/12", screen: desk},
		{name: "Europe, dark", path: "/#4/50/12", screen: dark},
		{name: "Alps", path: "/#6/46.8/9", screen: desk},

		{name: "Oslo", path: "/#7/60/10.5", screen: desk},
		{name: "Paris, dark", path: "/#10/48.85/2.35", screen: dark},
		{name: "Zürich, zoom 14", path: "/#14/47.375/8.54", screen: desk},
		{name: "Zürich, zoom 18", path: "/#18/47.3769/8.5417", screen: desk},
		{name: "Inside Russia", path: "/#6/62/95", screen: desk},

		{name: "Asia", path: "/#3/35/90", screen: desk},
		{name: "India, Arabic", path: "/?lang=ar#4.5/22/80", screen: desk},
		{name: "Japan, Japanese", path: "/?lang=ja#5.5/37/138", screen: desk},
		{name: "South-East Asia, dark", path: "/#5/5/110", screen: dark},
		{name: "Near East", path: "/#5/29/45", screen: desk},

		{name: "North America", path: "/#3.5/45/-98", screen: desk},
		{name: "Great Lakes", path: "/#6/44.5/-84", screen: desk},
		{name: "New York", path: "/#9/40.7/-73.9", screen: desk},
		{name: "Kansas, card", path: "/#6/38.5/-98/at=38.5,-98", screen: desk, until: card},
		{name: "United States, dark, phone", path: "/#4/39/-98", screen: phoneDark},

		{name: "South America", path: "/#3.5/-18/-60", screen: desk},
		{name: "São Paulo", path: "/#7/-23/-47", screen: desk},
		{name: "Australia", path: "/#4/-27/134", screen: desk},
		{name: "Fiji, both sides of 180°", path: "/#6/-17.5/179.8", screen: desk},
		{name: "Bering Strait, dark", path: "/#4/64/-175", screen: dark},

		{name: "Antarctica", path: "/#2/-65/0", screen: desk},
		{
			name:   "search",
			path:   "/#4/50/12",
			screen: desk,
			do:     search("portland"),
			until:  `document.querySelectorAll('#suggestions [role=option]').length > 2`,
		},
		{name: "card, Arabic, phone", path: "/?lang=ar#5/30/31/at=30.05,31.25", screen: phone, until: card},
		{name: "tile grid", path: "/#5/47/9/tiles=1", screen: desk},
		{
			name:   "embedded, dark",
			path:   "/embed?center=-33.9,18.6&zoom=6&marker=-33.92,18.42&theme=dark",
			screen: screen{width: 640, height: 400, density: 2, dark: true},
		},

		{name: "PNG, light", path: "png:light 30 10 2", screen: desk},
		{name: "PNG, dark, @2x", path: "png:dark 47 9 5", screen: retina},
		{name: "PNG, plain", path: "png:plain 40 -95 4", screen: desk},
		{name: "MapLibre, light", path: "maplibre:light 50 12 3.5", screen: desk},
		{name: "MapLibre, dark", path: "maplibre:dark 36 138 4.5", screen: dark},
	}
}

// TestPictures draws the gallery from the demo's data in QUADRILLE_PICTURES, and compares each
// picture with its golden thumbnail. It writes the pictures and a sheet of all to the directory of
// QUADRILLE_SCREENSHOTS. `make pictures` runs it.
func TestPictures(t *testing.T) {
	data, dir := os.Getenv("QUADRILLE_PICTURES"), screenshots
	if data == "" || dir == "" {
		t.Skip("no gallery without data and a directory: run make pictures, or set QUADRILLE_PICTURES and QUADRILLE_SCREENSHOTS")
	}
	startBrowser(t) // skips where the page is not built
	browser := launchBrowser(t, software...)
	site := programs.Serve(t, "--data", data).URL
	libraries := os.Getenv("QUADRILLE_CLIENTS")
	host := clientPages(t, libraries)

	all := views()
	golden := readGolden(t, len(all))
	for i, v := range all {
		t.Run(fmt.Sprintf("%02d %s", i+1, v.name), func(t *testing.T) {
			kind, rest, foreign := strings.Cut(v.path, ":")
			if kind == "maplibre" && libraries == "" {
				t.Skip("QUADRILLE_CLIENTS names no directory with MapLibre: run make check-clients")
			}
			address := site + v.path
			if foreign {
				arguments := strings.Fields(rest) // theme, latitude, longitude, zoom
				address = host + "/" + kind + ".html?" + url.PathEscape(strings.Join([]string{
					site,
					arguments[0],
					arguments[2],
					arguments[1],
					arguments[3],
				}, " "))
			}
			w := open(t, browser, address, v.screen)
			w.expect("it asks another server: ", "GPU stall due to ReadPixels")
			switch {
			case foreign:
				w.waitFor(`window.drawn`)
			case strings.HasPrefix(v.path, "/embed"):
				w.waitFor(`document.querySelectorAll('.regions canvas').length > 0 && document.querySelector('#map').ariaBusy === 'false'`)
			default:
				w.waitFor(`document.querySelectorAll('.regions canvas').length > 0`)
				w.settled()
			}
			if v.do != "" {
				evaluate[chromedp.Void](w, v.do)
			}
			if v.until != "" {
				w.waitFor(v.until)
			}
			// Names appear after the land, and fade in. The time depends on the machine.
			for end := time.Now().Add(patience); ; {
				time.Sleep(1500 * time.Millisecond)
				small := thumbnail(w.picture(pictureName(i)))
				if *updatePictures {
					draw.Draw(golden, slot(i), small, image.Point{}, draw.Src)
					return
				}
				share := different(golden, i, small)
				if share <= mostDifferent {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("%.1f %% of the view differ from %s, more than %.0f %%: look at %s.png, and if it is right run make "+
						"pictures PICTURES_FLAGS=-update-pictures",
						100*share, goldenPictures, 100*mostDifferent, pictureName(i))
				}
			}
		})
	}
	writeSheet(t, browser, dir, all)
	if *updatePictures {
		writeGolden(t, golden)
	}
}

// pictureName returns the name of a view's file, without .png.
func pictureName(i int) string { return fmt.Sprintf("view-%02d", i+1) }

// slot returns the rectangle of a view's thumbnail in the golden file.
func slot(i int) image.Rectangle {
	return image.Rect(0, 0, thumbWidth, thumbHeight).Add(image.Pt(i%sheetColumns*thumbWidth, i/sheetColumns*thumbHeight))
}

func thumbnail(picture image.Image) *image.RGBA {
	small := image.NewRGBA(image.Rect(0, 0, thumbWidth, thumbHeight))
	draw.CatmullRom.Scale(small, small.Bounds(), picture, picture.Bounds(), draw.Src, nil)
	return small
}

// different returns the share of a thumbnail's pixels that differ visibly from the golden one of
// its view.
func different(golden *image.RGBA, i int, small *image.RGBA) float64 {
	at := slot(i)
	n := 0
	for y := range thumbHeight {
		for x := range thumbWidth {
			a, b := small.RGBAAt(x, y), golden.RGBAAt(at.Min.X+x, at.Min.Y+y)
			if apart(a.R, b.R) > mostShade || apart(a.G, b.G) > mostShade || apart(a.B, b.B) > mostShade {
				n++
			}
		}
	}
	return float64(n) / (thumbWidth * thumbHeight)
}

func apart(a, b uint8) uint8 { return max(a, b) - min(a, b) }

// readGolden reads the golden file. If the file is to be rewritten and its size is wrong, it
// returns a new picture.
func readGolden(t *testing.T, count int) *image.RGBA {
	t.Helper()
	size := image.Rectangle{Max: slot((count+sheetColumns-1)/sheetColumns*sheetColumns - 1).Max}
	golden := image.NewRGBA(size)
	file, err := os.Open(goldenPictures)
	if err != nil {
		if !*updatePictures {
			t.Fatal(err)
		}
		return golden
	}
	defer file.Close()
	kept, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Bounds() != size && !*updatePictures {
		t.Fatalf("%s is %v large, and %d views take %v: rewrite it by -update-pictures", goldenPictures, kept.Bounds().Size(), count, size.Size())
	}
	draw.Draw(golden, size, kept, image.Point{}, draw.Src)
	return golden
}

func writeGolden(t *testing.T, golden *image.RGBA) {
	t.Helper()
	file, err := os.Create(goldenPictures)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := png.Encode(file, golden); err != nil {
		t.Fatal(err)
	}
}

var sheet = template.Must(template.New("").Parse(`<!doctype html><meta charset="utf-8"><title>Gallery</title>
<style>
body { margin: 12px; font: 15px sans-serif; display: grid; grid-template-columns: repeat({{.Columns}}, 480px); gap: 12px }
figure { margin: 0 } img { width: 480px; height: 300px; object-fit: contain; background: #888 }
</style>
{{range .Views}}<figure><img src="{{.File}}" alt=""><figcaption>{{.Name}}</figcaption></figure>
{{end}}`))

// writeSheet writes an HTML page with all pictures, and a picture of this page, the contact sheet.
func writeSheet(t *testing.T, browser context.Context, dir string, all []view) {
	t.Helper()
	type entry struct{ File, Name string }
	var entries []entry
	for i, v := range all {
		entries = append(entries, entry{pictureName(i) + ".png", fmt.Sprintf("%d  %s", i+1, v.name)})
	}
	var b strings.Builder
	if err := sheet.Execute(&b, map[string]any{"Columns": sheetColumns, "Views": entries}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	files := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(files.Close)
	rows := int64(len(all)+sheetColumns-1) / sheetColumns
	w := open(t, browser, files.URL+"/#", screen{width: 492*sheetColumns + 12, height: 336*rows + 24, density: 1})
	w.expect("favicon", "404")
	w.waitFor(`[...document.images].every(i => i.complete)`)
	w.keep("contact-sheet")
	t.Logf("the sheet of all views is %s", filepath.Join(dir, "contact-sheet.png"))
}
