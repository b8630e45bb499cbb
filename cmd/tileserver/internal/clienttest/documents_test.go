package clienttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/toyworld"
)

// shownContents is an expression for the number of visible entries in the table of contents.
const shownContents = `[...document.querySelectorAll('.contents a')].filter(a => a.offsetParent).length`

// TestDocuments tests the pages that the server writes, in a browser, with the script of the built
// page.
func TestDocuments(t *testing.T) {
	browser := startBrowser(t)
	data := t.TempDir()
	if err := toyworld.Publish(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	site := programs.Serve(t, "--data", data).URL

	t.Run("docs", func(t *testing.T) {
		w := open(t, browser, site+"/#", screen{width: 1280, height: 900, density: 1})
		w.do(chromedp.Navigate(site + "/docs"))
		w.waitFor(`document.querySelectorAll('.desk').length > 50`)
		if high := evaluate[int](w, `document.documentElement.scrollHeight`); high > 3000 {
			t.Errorf("the first page is %d pixels long", high)
		}
		if code := evaluate[string](w, `document.querySelector('#start pre').textContent`); !strings.Contains(code, "curl '"+site+"/at?") {
			t.Errorf("commands are not for this server: %s", code)
		}

		// A search for words of an operation's text finds the operation; Enter opens the first
		// result.
		all := evaluate[int](w, shownContents)
		evaluate[chromedp.Void](w, `document.querySelector('.contents input').focus()`)
		w.key("regions at a point")
		w.waitFor(fmt.Sprintf("%s < %d", shownContents, all/2))
		w.key(kb.Enter)
		w.waitFor(`document.querySelector('article.shown') !== null`)
		w.do(chromedp.Navigate(site + "/docs#getRegionsAt"))
		w.waitFor(`document.querySelector('article.shown')?.id === 'getRegionsAt' && document.querySelectorAll('article.shown').length === 1`)
		evaluate[chromedp.Void](w, `for (const [name, value] of [['lat', '46.5'], ['lon', '6.5']]) {
			const input = document.querySelector('article.shown [name=' + name + ']'); input.value = value; input.dispatchEvent(new Event('input', { bubbles: true })) }`)
		w.waitFor(`document.querySelector('article.shown .desk pre').textContent === ` + quote("curl '"+site+"/regions/at?lat=46.5&lon=6.5'"))
		w.press("article.shown form button")
		w.waitFor(`document.querySelector('article.shown .figures')?.textContent.match(/^200[\d.]+ ms\d+ Bapplication\/json$/) && document.querySelector('article.shown .answer').textContent.includes('"regions"')`)

		// Errors are also shown.
		w.expect("400")
		evaluate[chromedp.Void](w, `document.querySelector('article.shown [name=lat]').value = 'x<b>'`)
		w.press("article.shown form button")
		w.waitFor(`document.querySelector('article.shown .figures')?.textContent.startsWith('400') && document.querySelector('article.shown .answer').textContent.includes('bad-parameter')`)
		for language, part := range map[string]string{
			"Python":     "urlopen(",
			"Go":         "http.NewRequest",
			"JavaScript": "await fetch(",
			"curl":       "curl ",
		} {
			evaluate[chromedp.Void](w,
				`[...document.querySelectorAll('article.shown [role=tab]')].find(tab => tab.textContent === `+quote(language)+`).click()`)
			w.waitFor(`document.querySelector('article.shown .desk pre[role=tabpanel]').textContent.includes(` + quote(part) + `)`)
		}

		// The page shows a picture as an image.
		w.do(chromedp.Navigate(site + "/docs#getTile"))
		w.waitFor(`document.querySelector('article.shown')?.dataset.path.startsWith('/tiles/')`)
		evaluate[chromedp.Void](w, `for (const [name, value] of Object.entries({ layers: 'country', z: '0', x: '0', y: '0', format: 'png' })) {
			const field = document.querySelector('article.shown [name=' + name + ']'); if (field) field.value = value }`)
		w.press("article.shown form button")
		w.waitFor(`document.querySelector('article.shown .answer img')?.naturalWidth === 256`)
	})

	// Each form of GET is sent with its example and gets an answer or a refusal that the
	// description lists. Refusals occur because these data lack some objects of the examples.
	t.Run("examples", func(t *testing.T) {
		var doc struct {
			Paths map[string]struct {
				Get struct {
					Responses map[string]json.RawMessage `json:"responses"`
				} `json:"get"`
			} `json:"paths"`
		}
		_, text := fetch(t, site+"/openapi.json")
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		w := open(t, browser, site+"/#", screen{width: 1280, height: 900, density: 1})
		evaluate[chromedp.Void](w, `localStorage.removeItem('quadrille-snippet')`) // in the first language
		w.do(chromedp.Navigate(site + "/docs"))
		w.waitFor(`document.querySelectorAll('.desk').length > 50`)
		asked := evaluate[[][]string](w, `[...document.querySelectorAll('article[data-method=GET]')].map(article => [
			article.dataset.path, article.dataset.request, article.querySelector('[role=tabpanel]').textContent.match(/'([^']+)'$/)[1]])`)
		answered := 0
		for _, one := range asked {
			path, example, address := one[0], one[1], one[2]
			if example != "" && !sameRequest(site+example, address) {
				t.Errorf("the form of %s asks %s, and the example is %s", path, address, example)
			}
			code, b := fetch(t, address)
			switch described := doc.Paths[path].Get.Responses[strconv.Itoa(code)] != nil; {
			case code < 300:
				answered++
			case path == "/usage" || strings.HasSuffix(path, "/hooks") || strings.HasSuffix(path, "/hooks/{hook}"):
				// Some endpoints are off here, because there are no keys and no live collections.
			case !described || code == http.StatusBadRequest || code >= 500:
				t.Errorf("%s: %d %s", address, code, b)
			}
		}
		if answered < 30 || len(asked) < 60 {
			t.Errorf("%d of %d forms are answered", answered, len(asked))
		}
	})

	// On a narrow phone the page scrolls only vertically.
	t.Run("narrow", func(t *testing.T) {
		w := open(t, browser, site+"/#", screen{width: 320, height: 640, density: 1, touch: true})
		w.expect("404")
		for path, ready := range map[string]string{
			"/docs": `document.querySelectorAll('.desk').length > 50`, "/docs#getTile": `document.querySelector('article.shown .desk') !== null`,
			"/docs#postAt":   `document.querySelector('article.shown textarea') !== null`,
			"/docs#schemas":  `document.querySelector('section.shown') !== null`,
			"/docs#problems": `document.querySelector('section.shown') !== null`,
			"/status":        `document.querySelector('.sets') !== null`,
			"/nowhere":       `document.querySelector('h1') !== null`,
		} {
			w.do(chromedp.Navigate("about:blank"), chromedp.Navigate(site+path))
			w.waitFor(ready)
			if n := evaluate[int](w, `document.documentElement.scrollWidth - innerWidth`); n > 0 {
				t.Errorf("%s is %d pixels wider than the phone", path, n)
			}
			w.keep("narrow" + strings.NewReplacer("/", "-", "#", "-").Replace(path))
		}
	})

	t.Run("status", func(t *testing.T) {
		w := open(t, browser, site+"/#", screen{width: 390, height: 844, density: 1, dark: true})
		w.do(chromedp.Navigate(site + "/status"))
		w.waitFor(`document.querySelectorAll('.sets > li').length > 5 && document.querySelector('.badge.ok')?.textContent === 'serving'`)
		if n := evaluate[int](w, `document.documentElement.scrollWidth - innerWidth`); n > 0 {
			t.Errorf("the page is %d pixels wider than the phone", n)
		}
		w.expect("404")
		w.do(chromedp.Navigate(site + "/nowhere/else"))
		w.waitFor(`document.querySelector('h1')?.textContent === 'There is nothing at this address'`)
		w.press("main .button.strong")
		w.waitFor(`document.querySelector('#map') !== null`)
	})

	if code, body := fetch(t, site+"/status"); code != http.StatusOK || !strings.HasPrefix(body, `{"version":`) {
		t.Errorf("programs get %d %s", code, body)
	}
}

// sameRequest reports whether two addresses have the same path and parameters, in any order.
func sameRequest(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && strings.TrimSuffix(x.Path, "/") == strings.TrimSuffix(y.Path, "/") &&
		x.Query().Encode() == y.Query().Encode()
}

// openCard opens the card of the map in a frame, and tells whether it is open.
const openCard = `document.querySelector('#card header') !== null || document.querySelector('#map').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })) && false`

// axe-core finds no error in any page, in either theme.
func TestPagesAreAccessible(t *testing.T) {
	axe, err := os.ReadFile("../../../../static/leaflet/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip("axe-core is not installed: run npm ci in static/leaflet")
	}
	browser := startBrowser(t)
	data := t.TempDir()
	if err := toyworld.Publish(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	site := programs.Serve(t, "--data", data).URL
	for name, page := range map[string]struct{ path, ready string }{
		"map":       {"/#4/46/8", `document.querySelector('#map').ariaBusy === 'false'`},
		"card":      {"/#5/46.5/6.5/at=46.5,6.5", `document.querySelector('#card .nearest') !== null`},
		"inspector": {"/#5/46.5/6.5/tiles=1", `document.querySelector('.tile-figures dl') !== null`},
		"embed":     {"/embed?center=46.5,6.5&zoom=6&title=Map", `document.querySelector('#map').ariaBusy === 'false' && document.querySelector('#large').hash !== '' && (` + openCard + `)`},
		"docs":      {"/docs", `document.querySelectorAll('.desk').length > 50`},
		"guide":     {"/docs/points", `document.querySelector('h1') !== null`},
		"operation": {"/docs#getRegionsAt", `document.querySelector('article.shown .desk') !== null`},
		"schemas":   {"/docs#schemas", `document.querySelector('section.shown') !== null`},
		"status":    {"/status", `document.querySelector('.sets') !== null`},
		"error":     {"/nowhere", `document.querySelector('h1') !== null`},
	} {
		for _, dark := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " dark", false: " light"}[dark], func(t *testing.T) {
				w := open(t, browser, site+"/#", screen{width: 1280, height: 900, density: 1, dark: dark})
				w.expect("404", "/tiles/")
				w.do(chromedp.Navigate(site + page.path))
				w.waitFor(page.ready)
				evaluate[chromedp.Void](w, string(axe))
				evaluate[chromedp.Void](w,
					`axe.run().then(answer => { window.found = answer.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html + ' ' + n.failureSummary).join('; ')) })`)
				w.waitFor(`window.found !== undefined`)
				for _, found := range evaluate[[]string](w, `window.found`) {
					t.Error(found)
				}
			})
		}
	}
}
