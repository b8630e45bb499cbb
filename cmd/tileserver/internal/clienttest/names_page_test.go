package clienttest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"quadrille/cmd/internal/programs"
	"quadrille/internal/must"
)

// No name overlaps another name, a panel over the map, or the pin, whatever the names are.
// QUADRILLE_NAMES names a data directory whose map is tested in 200 views of each size. Without it,
// some views of hostile data are tested.
func TestMapPageNamesKeepApart(t *testing.T) {
	browser := startBrowser(t)
	dir, views := os.Getenv("QUADRILLE_NAMES"), 200
	if dir == "" {
		dir, views = hostileLabels(t), 5
	}
	site := programs.Serve(t, "--data", dir).URL
	for _, s := range []screen{
		{width: 1280, height: 800, density: 1},
		{width: 820, height: 1100, density: 1},
		{width: 390, height: 844, density: 2, touch: true},
	} {
		t.Run(fmt.Sprint(s.width), func(t *testing.T) {
			chance := rand.New(rand.NewPCG(1, uint64(s.width)))
			w := open(t, browser, site+"/#8/0.7/0.7", s)
			overlaps, hidden, names, most := 0, 0, 0, 0
			for i := range views {
				at := randomView(chance)
				if i < 2 && views < 200 {
					at = fmt.Sprintf("#%d/0.7/0.7", 8+i) // where the many labels are
				}
				if i%2 == 0 {
					var zoom, lat, lon float64
					must.Get(fmt.Sscanf(at, "#%f/%f/%f", &zoom, &lat, &lon)).In(t)
					at += fmt.Sprintf("/at=%.4f,%.4f", lat, lon)
				}
				w.visitNames(site + "/" + at)
				got := evaluate[struct {
					Names            int
					Overlaps, Hidden []string
				}](w, countOverlaps)
				if len(got.Overlaps)+len(got.Hidden) > 0 {
					t.Errorf("at %s names overlap: %q; are under panels or over the pin: %q", at, got.Overlaps, got.Hidden)
				}
				overlaps, hidden, names, most = overlaps+len(got.Overlaps), hidden+len(got.Hidden), names+got.Names, max(most, got.Names)
			}
			t.Logf("%d views: %d overlaps, %d names covered, %d names a view, at most %d", views, overlaps, hidden, names/views, most)
			if names == 0 {
				t.Error("there are no names at all")
			}
		})
	}
}

// randomView returns a view of much of the world, or of a piece of land.
func randomView(chance *rand.Rand) string {
	between := func(least, most float64) float64 { return least + (most-least)*chance.Float64() }
	if chance.IntN(2) == 0 {
		return fmt.Sprintf("#%.2f/%.2f/%.2f", between(2, 6), between(-40, 62), between(-120, 145))
	}
	about := [][2]float64{
		{48.2, 16.4},
		{51.5, -0.1},
		{40.7, -74},
		{28.6, 77.2},
		{35.7, 139.7},
		{-23.5, -46.6},
		{30, 31.2},
		{52.5, 13.4},
		{41, 29},
		{-26.2, 28},
	}[chance.IntN(10)]
	return fmt.Sprintf("#%.2f/%.2f/%.2f", between(5, 13), about[0]+between(-1, 1), about[1]+between(-1, 1))
}

// visitNames changes the view. It waits until the names of the new view are on the map, and until
// they and the card have not changed for a while.
func (w *window) visitNames(url string) {
	w.t.Helper()
	evaluate[chromedp.Void](w, `{ [window.lastNames, window.lastAt] = [`+lastNames+`, Infinity] }`)
	w.visit(url)
	w.waitFor(`(() => {
		const canvas = ` + lastNames + `
		const high = document.querySelector('#card').offsetHeight
		if (canvas !== window.lastNames) window.lastAt = performance.now()
		else if (high !== window.lastHigh) window.lastAt = Math.max(window.lastAt, performance.now())
		;[window.lastNames, window.lastHigh] = [canvas, high]
		return Boolean(canvas) && performance.now() - window.lastAt > 500 && document.querySelector('#map').ariaBusy === 'false'
	})()`)
}

const lastNames = `[...document.querySelectorAll('.names canvas')].at(-1)`

// A canvas of the page measures each text again in a font smaller than any on the map. The box of
// the text must be large enough for this.
const countOverlaps = `(() => {
	const canvas = [...document.querySelectorAll('.names canvas')].at(-1)
	const o = canvas.getBoundingClientRect()
	const ruler = document.createElement('canvas').getContext('2d')
	ruler.font = '400 10px "Noto Sans", "Segoe UI", "Helvetica Neue", sans-serif' // smaller than any look
	const narrow = canvas.names.filter(({ text, box, look }) => box.bottom - box.top < 18 && ruler.measureText(text).width > box.right - box.left)
	const names = canvas.names.filter(({ text }) => text).map(({ text, box }) => ({ text, left: o.left + box.left, right: o.left + box.right, top: o.top + box.top, bottom: o.top + box.bottom }))
		.filter(({ left, right, top, bottom }) => right > 0 && left < innerWidth && bottom > 0 && top < innerHeight)
	const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5
	const over = [...document.querySelectorAll('.bar, #card:not([hidden]), #layers, .leaflet-control, .pin span')].map(one => one.getBoundingClientRect())
	return {
		names: names.length,
		overlaps: narrow.map(({ text }) => text + ' is wider than its box').concat(names.flatMap((a, i) => names.slice(i + 1).filter(b => meet(a, b)).map(b => a.text + ' / ' + b.text))),
		hidden: names.filter(name => over.some(one => meet(name, one))).map(({ text }) => text),
	}
})()`

// hostileLabels makes a data directory with extreme data: names that are very long, mix scripts, or
// consist of emoji or of stacked marks; 50,000 regions in one tile; and a region without an
// interior.
func hostileLabels(t *testing.T) string {
	t.Helper()
	dir, files := t.TempDir(), t.TempDir()
	odd := []string{
		strings.Repeat("Taumatawhakatangihangakoauauotamatea ",
			14), "مدينة Ville 城市 שלום", "👩‍👩‍👧‍👦🏳️‍🌈🇨🇭 Town", "Z̴̢̛a̷͇͝l̵͚̐g̶̻̈́o̵" + strings.Repeat("\u0301", 40),
		"<b onclick=alert(1)>x</b>", "ﷺ", "a", strings.Repeat("W", 500), "नई दिल्ली", "\u202egnorw",
	}
	type feature struct {
		Type       string         `json:"type"`
		Properties map[string]any `json:"properties"`
		Geometry   map[string]any `json:"geometry"`
	}
	var all []feature
	add := func(id int, name string, ring ...[2]float64) {
		all = append(all, feature{"Feature", map[string]any{"id": fmt.Sprint(id), "name": name},
			map[string]any{"type": "Polygon", "coordinates": [][][2]float64{ring}}})
	}
	const side, step = 224, 1.3 / 224
	for i := range side * side {
		x, y := 0.05+step*float64(i%side), 0.05+step*float64(i/side)
		add(i, fmt.Sprintf("%s %d", odd[i%len(odd)], i), [2]float64{x, y}, [2]float64{x + step, y}, [2]float64{x + step, y + step},
			[2]float64{x, y + step}, [2]float64{x, y})
	}
	add(-1, "Without an inside", [2]float64{3, 3}, [2]float64{5, 5}, [2]float64{3, 3}, [2]float64{3, 3})
	add(-2, odd[0], [2]float64{2, -10}, [2]float64{30, -10}, [2]float64{30, -2}, [2]float64{2, -2}, [2]float64{2, -10})
	regions := filepath.Join(files, "county.geojson")
	must.Do(t, os.WriteFile(regions, must.Get(json.Marshal(map[string]any{"type": "FeatureCollection", "features": all})).In(t), 0o644))

	chance := rand.New(rand.NewPCG(3, 3))
	var places strings.Builder
	for i := range 4000 {
		code := "PPL"
		if i%40 == 0 {
			code = "PPLC"
		}
		people := int(1000 * (1 << chance.IntN(14)))
		lat, lon := chance.Float64()*100-40, chance.Float64()*260-120
		if i%4 == 0 {
			lat, lon = chance.Float64()*2, chance.Float64()*2
		}
		fmt.Fprintf(&places, "%d\t%s %d\t\t\t%.4f\t%.4f\tP\t%s\tXX\t\t\t\t\t\t%d\t\t0\t\t2020-01-01\n", i+1,
			strings.TrimSpace(odd[i%len(odd)]), i, lat, lon, code, people)
	}
	towns := filepath.Join(files, "places.txt")
	must.Do(t, os.WriteFile(towns, []byte(places.String()), 0o644))
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "county="+regions+":id")
	ingest("--data", dir, "places", towns)
	return dir
}
