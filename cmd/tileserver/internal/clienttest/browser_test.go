package clienttest

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quadrille/cmd/internal/programs"
)

// TestMapPage tests the map page in a real browser. The real ingest command makes the data from
// files, and the real program serves them.
func TestMapPage(t *testing.T) {
	browser := startBrowser(t)
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code",
		"--layer", "state=testdata/browser/states.geojson:code", "--attribution", `Us & <a href="https://example.org/credits">"friends"</a>`)
	ingest("--data", dir, "places", "testdata/browser/places.tsv")
	ingest("--data", dir, "ip", "testdata/browser/ip.csv")
	site := programs.Serve(t, "--data", dir).URL

	// These are the fixtures' hostile names as the page must show them.
	const eastland, sons = `Eastland <b>& "Co"</b>`, "<img src=x onerror=alert(1)> & Sons"

	t.Run("here", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/12", screen{width: 1280, height: 800, density: 1})
		w.drawn(3)
		picture := w.picture("desktop-light")
		sea := w.at(picture, 47, 24)
		for what, point := range map[string][2]float64{"Westland": {44, 8}, "Eastland": {47, 17}} {
			if c := w.at(picture, point[0], point[1]); c == sea {
				t.Errorf("%s has the sea's colour %v", what, c)
			}
		}
		if names := w.namesOf(placesShown); !slices.Contains(names, sons) {
			t.Errorf("names on the map: %q, want one of them to be %q", names, sons)
		}
		if names := w.namesOf(regionsShown); !slices.Contains(names, "Westland") || !slices.Contains(names, eastland) {
			t.Errorf("names of regions on the map: %q, want Westland and %q among them", names, eastland)
		}
		if credits := w.texts(".credits li"); !slices.Contains(credits, `Us & "friends", example.org`) {
			t.Errorf("credits: %q", credits)
		}
		if got, want := w.texts(".layers label span"), []string{"Countries", "States", "Places", "Graticule"}; !slices.Equal(got, want) {
			t.Errorf("layers: %q, want %q", got, want)
		}

		w.click(46.5, 16)
		w.waitFor(`document.querySelector('#card h2')?.textContent === ` + quote(eastland))
		if got := w.texts("#card .content > dl div"); !slices.Equal(got, []string{"Country" + eastland + "qe"}) {
			t.Errorf("regions on the card: %q", got)
		}
		w.waitFor(listedPlaces)
		if got := w.texts("#card .places li"); len(got) != 5 || !strings.HasPrefix(got[0], sons) || !strings.Contains(got[0], " km") {
			t.Errorf("places on the card: %q", got)
		}
		w.waitFor(`document.querySelectorAll('#map .pin').length === 1`)
		if after := w.at(w.picture("desktop-light-here"), 47, 17); after == w.at(picture, 47, 17) {
			t.Error("the country that was clicked is not highlighted")
		}

		before := w.hash()
		evaluate[chromedp.Void](w, `document.querySelector('#card .places button').click()`)
		w.waitFor(`location.hash !== ` + quote(before) + ` && document.querySelector('#map').ariaBusy === 'false'`)

		w.press("#card .close")
		w.waitFor(`document.querySelector('#card').hidden && document.querySelectorAll('#map .pin').length === 0`)
	})

	t.Run("address", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/12", screen{width: 390, height: 844, density: 2, dark: true, touch: true})
		w.drawn(1)
		w.keep("phone-dark")
		w.lookUp("12.0.7.9")
		w.waitFor(`document.querySelector('#card dl')?.textContent.includes('12.0.0.0/16')`)
		// Farland lies across ±180°. The map must show it there, and not the whole world to include
		// both halves.
		w.waitFor(`Math.abs(Math.abs(Number(location.hash.split('/')[2])) - 180) < 3 && Number(location.hash.slice(1).split('/')[0]) >= 4`)
		w.drawn(1)
		w.keep("phone-dark-address")

		// The same page shows a message about the error, and the map does not move. The browser
		// itself logs the status.
		w.expect("404", "400")
		at := w.view()
		for address, want := range map[string]string{
			"10.1.2.3": "10.0.0.0/8",
			"1.2.3":    "IP address, such as",
			"nonsense": "Nothing has this name",
		} {
			w.lookUp(address)
			w.waitFor(`document.querySelector('#card :is(.problem, .note)')?.textContent.includes(` + quote(want) + `)`)
		}
		if w.view() != at {
			t.Errorf("an address that is nowhere moved the map from %s to %s", at, w.view())
		}
		if n := evaluate[int](w, `document.documentElement.scrollWidth - innerWidth`); n > 0 {
			t.Errorf("the page is %d pixels wider than the phone", n)
		}
	})

	// The layers of one picture come from different tiles. No seam may be visible between them, at
	// any pixel density.
	for _, density := range []float64{1, 1.25, 1.5} {
		t.Run(fmt.Sprintf("seams@%v", density), func(t *testing.T) {
			w := open(t, browser, site+"/#6/45/15", screen{width: 1000, height: 800, density: density})
			w.drawn(1)
			w.press(".layers input[value=places]")
			w.waitFor(placesShown + `.length === 0`)
			evaluate[chromedp.Void](w, `{ document.querySelector('.leaflet-names-pane').hidden = true }`) // names of regions
			w.uniform(w.picture(""), "Eastland", 40.7, 11.5, 49.3, 18)

			w.visit(site + "/#6/0/180") // Farland, whose two halves meet at ±180°
			w.drawn(0)
			w.uniform(w.picture(""), "Farland", -4.5, 175.5, 4.5, 184.5)
		})
	}

	t.Run("layers", func(t *testing.T) {
		w := open(t, browser, site+"/#6/45/6", screen{width: 1000, height: 700, density: 1})
		w.drawn(1)
		both := w.picture("")
		if w.at(both, 48, 8) == w.at(both, 42, 8) {
			t.Error("two states have one colour")
		}
		w.press(".layers input[value=state]")
		w.press(".layers input[value=country]")
		w.settled()
		w.waitFor(regionsShown + `.length === 0`)
		if none := w.picture(""); w.at(none, 48, 8) != w.at(none, 45, 11.5) || w.at(none, 48, 8) == w.at(both, 48, 8) {
			t.Error("layers that are switched off are still drawn")
		}
	})

	t.Run("search", func(t *testing.T) {
		w := open(t, browser, site+"/#3/20/0", screen{width: 1000, height: 700, density: 1})
		w.drawn(1)
		evaluate[chromedp.Void](w, `document.querySelector('#search').focus()`)
		w.do(chromedp.SendKeys(chromedp.CSS("#search"), "img s"))
		w.waitFor(`document.querySelector('#search').ariaExpanded === 'true'`)
		if got := w.texts(".suggestions .suggestion-name"); len(got) == 0 || !strings.Contains(got[0], sons) {
			t.Errorf("suggestions: %q, want %q first", got, sons)
		}
		w.keep("desktop-search")
		// The arrow keys move the selection. After the last result they return to the field.
		active := `document.querySelector('#search').getAttribute('aria-activedescendant')`
		w.key(kb.ArrowDown)
		w.waitFor(active + ` === 'suggestion-0'`)
		w.key(kb.ArrowUp)
		w.waitFor(active + ` === null`)
		w.key(kb.Escape)
		w.waitFor(`document.querySelector('#suggestions').hidden`)
		w.key(kb.ArrowDown)
		w.waitFor(active + ` === 'suggestion-0'`)
		w.key(kb.Enter)
		w.waitFor(`document.querySelector('#card h2')?.textContent === ` + quote(sons))
		w.waitFor(`document.querySelectorAll('#map .pin').length === 1 && Number(location.hash.slice(1).split('/')[0]) >= 8`)
		w.keep("desktop-search-found")
	})

	// A region gets an outline, coordinates get a pin, and a link opens the same view again.
	t.Run("search of more than places", func(t *testing.T) {
		const (
			title  = `document.querySelector('#card h2')?.textContent`
			pins   = `document.querySelectorAll('#map .pin').length`
			closer = `Number(location.hash.slice(1).split('/')[0]) >= 5` // beside the panels
		)
		w := open(t, browser, site+"/#3/20/0/layers=country,places", screen{width: 1000, height: 700, density: 1})
		w.drawn(1)
		suggested := func(text, name, detail string) {
			t.Helper()
			w.do(chromedp.SendKeys(chromedp.CSS("#search"), text))
			w.waitFor(`document.querySelector('#search').ariaExpanded === 'true'`)
			names, details := w.texts(".suggestions .suggestion-name"), w.texts(".suggestions .suggestion-detail")
			if len(names) == 0 || names[0] != name || details[0] != detail {
				t.Errorf("%q suggests %q with %q, want %q with %q first", text, names, details, name, detail)
			}
			if icons := evaluate[int](w, `document.querySelectorAll('.suggestions li > svg').length`); icons != len(names) {
				t.Errorf("%d icons for %d suggestions", icons, len(names))
			}
			w.keep("desktop-search-" + strings.Fields(text)[0])
			w.key(kb.Enter)
		}
		suggested("north west", "North Westland", "Westland · state")
		w.waitFor(title + ` === 'North Westland' && location.hash.includes('/region=state/qw-n') && ` + closer)
		w.waitFor(`document.querySelector('.layers input[value=state]').checked`) // what was chosen is drawn
		w.settled()
		picture := w.picture("desktop-search-region")
		if w.at(picture, 48.5, 2) == w.at(picture, 43, 2) {
			t.Error("the region that was chosen is not highlighted")
		}
		link := w.hash()

		evaluate[chromedp.Void](w, `{ document.querySelector('#search').value = '' }`)
		suggested("eastland", eastland, "country")
		w.waitFor(title + ` === ` + quote(eastland))
		evaluate[chromedp.Void](w, `{ document.querySelector('#search').value = '' }`)
		suggested("44.25, 8.5", "44.2500° N, 8.5000° E", "South Westland, Westland · position")
		w.waitFor(title + ` === 'South Westland' && location.hash.includes('/at=44.25,8.5') && ` + closer + ` && ` + pins + ` === 1`)
		if got := evaluate[string](w, `document.querySelector('#search').value`); got != "44.25, 8.5" {
			t.Errorf("the coordinates in the box became %q", got)
		}

		// Of a misspelled name the list asks what is meant, and Enter moves nothing until one is chosen.
		evaluate[chromedp.Void](w, `{ document.querySelector('#search').value = '' }`)
		before := w.hash()
		suggested("eastlnad", eastland, "country")
		w.settled()
		w.waitFor(`!document.querySelector('#suggestions').hidden && document.querySelector('#suggestions').ariaLabel === 'Did you mean'`)
		if w.hash() != before {
			t.Errorf("a guess moved the map from %s to %s", before, w.hash())
		}
		w.key(kb.ArrowDown)
		w.key(kb.Enter)
		w.waitFor(title + ` === ` + quote(eastland))

		w.visit(site + "/" + link)
		w.waitFor(title + ` === 'North Westland' && ` + pins + ` === 0`)
		w.expect("404")
		w.visit(site + "/#6/45/5/region=state/nowhere")
		w.waitFor(`document.querySelector('#card .note')?.textContent.includes('does not have')`)
	})

	// After any change of size the map fills the window and has the same centre.
	t.Run("resize", func(t *testing.T) {
		w := open(t, browser, site+"/#6/45.00/15.00", screen{width: 1280, height: 713, density: 1})
		w.drawn(1)
		for _, size := range [][2]int64{{1280, 800}, {1280, 1400}, {844, 390}, {390, 844}, {1600, 900}} {
			w.resize(size[0], size[1])
			w.whole()
			if x, y := w.pixel(45, 15); math.Abs(x-float64(size[0])/2) > 3 || math.Abs(y-float64(size[1])/2) > 3 {
				t.Errorf("at %v the map has moved to %s", size, w.view())
			}
		}
		// Larger text and panels over the map do not change the map. A map in a smaller frame is
		// complete, too.
		w.press(".tool-grid")
		w.settled()
		w.whole()
		evaluate[chromedp.Void](w, `{ document.querySelector('#map').style.right = '500px' }`)
		w.settled()
		evaluate[chromedp.Void](w, `{ document.querySelector('#map').style.right = '' }`)
		w.whole()
		// The world fits a window that has grown.
		w.visit(site + "/#2/0/0")
		w.resize(1280, 2000)
		w.waitFor(`location.hash.startsWith('#3/')`)
		w.whole()
	})

	t.Run("keyboard", func(t *testing.T) {
		w := open(t, browser, site+"/#5/45/15", screen{width: 1000, height: 700, density: 1})
		w.drawn(1)
		evaluate[chromedp.Void](w, `document.querySelector('#map').focus()`)
		w.key("\r")
		w.waitFor(`document.querySelector('#card h2')?.textContent === ` + quote(eastland))
		w.key("\x1b")
		w.waitFor(`document.querySelector('#card').hidden`)

		// The keyboard moves the focus to a name, which is announced, and opens it.
		w.waitFor(placesShown + `.length > 0`)
		ringed := `document.querySelector('.aimed:not([hidden])') !== null`
		for range 9 {
			w.key("n")
			w.waitFor(ringed + ` && document.querySelector('#announce').textContent !== ''`)
			if announced := evaluate[string](w, `document.querySelector('#announce').textContent`); announced == sons {
				break
			}
		}
		w.key("\r")
		w.waitFor(`document.querySelector('#card h2')?.textContent === ` + quote(sons))

		// A name that an open card covers keeps the focus, although the names are arranged around
		// the card after the key press.
		w.key("\x1b")
		w.waitFor(namesShown + `.length > 6`)
		evaluate[chromedp.Void](w, `{
			const post = Worker.prototype.postMessage
			Worker.prototype.postMessage = function (...args) {
				if (args[0].method === 'arrange' && !document.querySelector('#card').hidden) window.late = () => post.apply(this, args)
				else post.apply(this, args)
			}
		}`)
		w.key("\r")
		w.waitFor(`window.late && ` + listedPlaces)
		w.settled()
		evaluate[chromedp.Void](w, `{
			const press = key => document.querySelector('#map').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
			const covered = document.querySelector('#card').getBoundingClientRect().right
			press('Escape')
			do press('n'); while (document.querySelector('.aimed:not([hidden])').getBoundingClientRect().left > covered)
			window.late()
			window.before = `+lastNames+`
		}`)
		w.waitFor(lastNames + ` !== window.before && document.querySelectorAll('.names canvas').length === 1`)
		w.waitFor(ringed + ` && ` + namesShown + `.length > 6`)
	})
}

// TestMapPageOfRealData tests the page with real countries, places and addresses.
func TestMapPageOfRealData(t *testing.T) {
	browser := startBrowser(t)
	const shared = "../../../../../shared/data"
	if _, err := os.Stat(shared); err != nil {
		t.Skipf("no real data: %v", err)
	}
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	countries := someCountries(t, shared+"/natural-earth/110m/ne_110m_admin_0_countries.geojson.gz", "CH", "DE", "FR", "IT", "AT")
	ingest("--data", dir, "boundaries", "--layer", "country="+countries)
	ingest("--data", dir, "places", shared+"/geonames/cities15000.zip")
	ingest("--data", dir, "ip", shared+"/ip/geo-asn-country-ipv4-20231223.csv.gz")
	site := programs.Serve(t, "--data", dir).URL

	w := open(t, browser, site+"/#5/47/9", screen{width: 1280, height: 800, density: 1, dark: true})
	w.drawn(20)
	w.keep("real-desktop-dark")
	w.lookUp("193.5.216.1")
	w.waitFor(`document.querySelector('#card .subtitle')?.textContent === 'Switzerland' && Number(location.hash.slice(1).split('/')[0]) >= 6`)
	w.drawn(5)
	w.keep("real-desktop-dark-address")
	w.click(47.05, 8.3)
	w.waitFor(`document.querySelector('#card h2')?.textContent === 'Switzerland'`)
	w.waitFor(listedPlaces)
	if near := w.texts("#card .places .place-name"); len(near) != 5 || !slices.Contains(near, "Luzern") {
		t.Errorf("near Lucerne: %q", near)
	}
}

// someCountries writes a file with some of the countries of another file. That file has one feature
// per line.
func someCountries(t *testing.T, file string, codes ...string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(unpacked)
	var features []string
	for err == nil {
		var line string
		line, err = lines.ReadString('\n')
		for _, code := range codes {
			if strings.Contains(strings.ReplaceAll(line, `": "`, `":"`), `"ISO_A2_EH":"`+code+`"`) {
				features = append(features, strings.TrimRight(line, ",\r\n"))
			}
		}
	}
	if err != io.EOF || len(features) != len(codes) {
		t.Fatalf("%s: found %d of %d countries: %v", file, len(features), len(codes), err)
	}
	out := filepath.Join(t.TempDir(), "ne_110m_admin_0_countries.geojson")
	if err := os.WriteFile(out, []byte(`{"type":"FeatureCollection","features":[`+strings.Join(features, ",")+"]}"), 0o644); err != nil {
		t.Fatal(err)
	}
	return out
}
