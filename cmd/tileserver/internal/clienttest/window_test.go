package clienttest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"quadrille/quadkey"
	"quadrille/static"
)

// screen is the screen on which a window is shown.
type screen struct {
	width, height int64 // CSS pixels
	density       float64
	dark, touch   bool
	lively        bool // with animations; other windows ask for reduced motion
}

// window is a page in a browser. If the browser logs an unexpected error, the test fails at its
// end.
type window struct {
	t    *testing.T
	ctx  context.Context
	site string
	screen

	mu         sync.Mutex
	complaints []string
	expected   []string
}

// startBrowser returns the context of the browser that the tests of pages share. Each test uses its
// own tabs.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	if _, built := static.FS(); !built {
		t.Skip("the map page is not built: run npm ci and npm run build in static/leaflet")
	}
	return commonBrowser(t)
}

// launchBrowser starts a browser for one test, with the further options, and returns its context.
func launchBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	browser, stop, err := runBrowser(findChromium(t), more...)
	t.Cleanup(stop)
	if err != nil {
		t.Fatal(err)
	}
	return browser
}

// runBrowser starts a browser. stop ends it, also after an error.
func runBrowser(path string, more ...chromedp.ExecAllocatorOption) (browser context.Context, stop func(), err error) {
	var ends []func()
	stop = func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	profile, err := os.MkdirTemp("", "quadrille-browser-")
	if err != nil {
		return nil, stop, err
	}
	ends = append(ends, func() { os.RemoveAll(profile) }) // what a dying browser still writes is no failure of a test
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.UserDataDir(profile),
	}
	for _, flag := range []string{"disable-gpu", "disable-quic", "disable-background-networking", "disable-component-update",
		"disable-sync", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	// The address bar of the invisible window is a page itself, and needs as much processor time as
	// the tested pages.
	options = append(options, chromedp.Flag("disable-features", "WebUIOmniboxPopup,WebUIOmniboxAimPopup,PreloadTopChromeWebUI"))
	allocator, end := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	ends = append(ends, end)
	browser, end = chromedp.NewContext(allocator)
	ends = append(ends, end)
	if err := chromedp.Do(browser); err != nil {
		return nil, stop, fmt.Errorf("%s does not start: %w", path, err)
	}
	return browser, stop, nil
}

// open opens a page in a new tab.
func open(t *testing.T, browser context.Context, url string, s screen) *window {
	t.Helper()
	ctx, stop := chromedp.NewContext(browser)
	t.Cleanup(stop)
	site, _, _ := strings.Cut(url, "/#")
	w := &window{t: t, ctx: ctx, site: site, screen: s}
	if err := chromedp.Listen(ctx, w.hear); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.complaints {
			if !slices.ContainsFunc(w.expected, func(e string) bool { return strings.Contains(c, e) }) {
				t.Errorf("the browser complains: %s", c)
			}
		}
	})

	scheme, motion := "light", "reduce"
	if s.dark {
		scheme = "dark"
	}
	if s.lively {
		motion = "no-preference"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion},
	}})
	if err != nil {
		t.Fatal(err)
	}
	view := []chromedp.EmulateViewportOption{chromedp.EmulateScale(s.density)}
	if s.touch {
		view = append(view, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	w.do(chromedp.EmulateViewport(s.width, s.height, view...), chromedp.Navigate(url))
	return w
}

// hear records an event that reports an error.
func (w *window) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		w.complain("exception: %s", cmp.Or(describe(e.ExceptionDetails), e.ExceptionDetails.Text))
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			for _, arg := range e.Args {
				w.complain("console.%s: %s%s", e.Type, arg.Value, arg.Description)
			}
		}
	case *log.EventEntryAdded: // broken policies among them
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			w.complain("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; u != w.site && !strings.HasPrefix(u, w.site+"/") && !strings.HasPrefix(u, "data:") &&
			!strings.HasPrefix(u, "blob:") {
			w.complain("it asks another server: %s", u)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			w.complain("%d for %s", e.Response.Status, e.Response.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled { // the page gives up tiles that have left the view
			w.complain("request failed: %s %s %s", e.Type, e.ErrorText, e.BlockedReason)
		}
	}
}

func describe(e *runtime.ExceptionDetails) string {
	if e.Exception == nil {
		return ""
	}
	return e.Exception.Description
}

func (w *window) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complaints = append(w.complaints, fmt.Sprintf(format, args...))
}

// expect sets parts of error messages that do not fail the test.
func (w *window) expect(parts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = append(w.expected, parts...)
}

func (w *window) do(steps ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := chromedp.Do(w.ctx, steps...); err != nil {
		w.t.Fatal(err)
	}
}

func evaluate[T any](w *window, script string) T {
	w.t.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		w.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// patience is far longer than any step takes, even on a busy machine.
const patience = 60 * time.Second

func (w *window) waitFor(condition string) {
	w.t.Helper()
	poll := chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(20*time.Millisecond))
	err := chromedp.Do(w.ctx, poll)
	// When a page is closing, the browser drops the evaluation that waits in it, in one of two words.
	dropped := func() bool {
		return err != nil && (strings.Contains(err.Error(), "context with specified id") ||
			strings.Contains(err.Error(), "navigated or closed"))
	}
	for n := 0; n < 10 && dropped(); n++ {
		err = chromedp.Do(w.ctx, poll)
	}
	if err != nil {
		w.t.Fatalf("waiting for %s: %v; the page says %q at %s", condition, err, evaluate[string](w, `document.body.innerText`), w.hash())
	}
}

// listedPlaces is true when the card lists places. The page requests them separately, so they
// arrive before or after the rest of the card.
const listedPlaces = `document.querySelectorAll('#card .places li').length > 0`

// settled waits until the tiles in view are on the screen. Two frames pass first, so that the last
// action has taken effect.
func (w *window) settled() {
	w.t.Helper()
	w.frames()
	w.waitFor(`document.querySelector('#map').ariaBusy === 'false' && document.querySelector('#notice').hidden`)
}

// frames waits until two frames have passed.
func (w *window) frames() {
	w.t.Helper()
	evaluate[chromedp.Void](w, `{ window.frames2 = 0; requestAnimationFrame(() => requestAnimationFrame(() => { window.frames2 = 2 })) }`)
	w.waitFor(`window.frames2 === 2`)
}

// drawn waits until the tiles in view and their names are drawn. At least the given number of
// places must have names.
func (w *window) drawn(names int) {
	w.t.Helper()
	w.waitFor(fmt.Sprintf(`document.querySelectorAll('.regions canvas').length > 0 && document.querySelector('.names canvas') && %s.length >= %d`, placesShown, names))
	w.settled()
}

// These expressions give the names on the map, all or of one kind, from the list of the canvas that
// draws them.
const (
	namesShown   = `([...document.querySelectorAll('.names canvas')].at(-1)?.names ?? [])`
	placesShown  = namesShown + `.filter(({ kind }) => kind === 'place')`
	regionsShown = namesShown + `.filter(({ kind }) => kind === 'region')`
)

// namesOf returns the texts of the names that one of these expressions gives.
func (w *window) namesOf(which string) []string {
	w.t.Helper()
	return evaluate[[]string](w, which+`.map(({ text }) => text)`)
}

func (w *window) texts(selector string) []string {
	w.t.Helper()
	return evaluate[[]string](w, `[...document.querySelectorAll(`+quote(selector)+`)].map(e => e.textContent)`)
}

func (w *window) hash() string { return evaluate[string](w, `location.hash`) }

// view returns the permalink without the open panels: #zoom/latitude/longitude.
func (w *window) view() string {
	w.t.Helper()
	parts := strings.SplitN(w.hash(), "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

func (w *window) press(selector string) {
	w.t.Helper()
	w.do(chromedp.Click(chromedp.CSS(selector)))
}

func (w *window) key(keys string) {
	w.t.Helper()
	w.do(chromedp.KeyEvent(keys))
}

func (w *window) lookUp(address string) {
	w.t.Helper()
	evaluate[chromedp.Void](w, `{ document.querySelector('#search').value = '' }`)
	w.do(chromedp.SendKeys(chromedp.CSS("#search"), address+"\r"))
}

// visit changes the view through the permalink, like a click on a link.
func (w *window) visit(url string) {
	w.t.Helper()
	_, hash, _ := strings.Cut(url, "#")
	evaluate[chromedp.Void](w, `{ location.hash = `+quote(hash)+` }`)
	w.settled()
}

// resize changes the size of the window, like a reader who drags its edge or turns a phone.
func (w *window) resize(width, height int64) {
	w.t.Helper()
	w.width, w.height = width, height
	w.do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(w.density)))
}

// whole checks that finished tiles of regions cover the part of the window inside the world.
func (w *window) whole() {
	w.t.Helper()
	w.waitFor(`(() => {
		const tiles = [...document.querySelectorAll('.regions .leaflet-tile-loaded')].map(e => e.getBoundingClientRect())
		const size = 2 ** Number(location.hash.slice(1).split('/')[0]) * 256
		const points = []
		for (let x = 1; x < innerWidth; x += 32) points.push([x, 1], [x, innerHeight / 2], [x, innerHeight - 2])
		for (let y = 1; y < innerHeight; y += 32) points.push([1, y], [innerWidth - 2, y])
		return size >= innerHeight * 5 / 6 && points.every(([x, y]) => tiles.some(t => t.left <= x && x < t.right && t.top <= y && y < t.bottom) ||
			y < Math.min(...tiles.map(t => t.top)) && size < innerHeight || y >= Math.max(...tiles.map(t => t.bottom)) && size < innerHeight)
	})()`)
	w.settled()
}

// click clicks the map at a point.
func (w *window) click(lat, lon float64) {
	w.t.Helper()
	x, y := w.pixel(lat, lon)
	w.do(chromedp.MouseClickXY(x, y))
}

// pixel returns the position of a point on the screen in CSS pixels, computed from the permalink. A
// longitude beyond ±180 is in a neighbouring copy of the world.
func (w *window) pixel(lat, lon float64) (x, y float64) {
	w.t.Helper()
	var zoom, cLat, cLon float64
	if _, err := fmt.Sscanf(w.hash(), "#%f/%f/%f", &zoom, &cLat, &cLon); err != nil {
		w.t.Fatalf("permalink %q: %v", w.hash(), err)
	}
	size := 256 * math.Exp2(zoom)
	_, cy := quadkey.Project(0, cLat)
	_, py := quadkey.Project(0, lat)
	turns := math.Round((cLon - lon) / 360)
	return float64(w.width)/2 + (lon+360*turns-cLon)/360*size, float64(w.height)/2 + (py-cy)*size
}

// screenshots is the directory for pictures that people examine, or "" for no pictures.
var screenshots = os.Getenv("QUADRILLE_SCREENSHOTS")

// keep takes a screenshot for people to examine. Without a directory for screenshots it takes none,
// because each takes time, especially in a large window.
func (w *window) keep(name string) {
	w.t.Helper()
	if screenshots != "" {
		w.picture(name)
	}
}

// picture takes a screenshot, and keeps it under a name, if it has one.
func (w *window) picture(name string) image.Image {
	w.t.Helper()
	shot, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		w.t.Fatal(err)
	}
	if screenshots != "" && name != "" {
		if err := os.MkdirAll(screenshots, 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(screenshots, name+".png"), shot, 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		w.t.Fatal(err)
	}
	return picture
}

// at returns the colour of a picture at a point of the map.
func (w *window) at(picture image.Image, lat, lon float64) color.RGBA {
	x, y := w.pixel(lat, lon)
	return color.RGBAModel.Convert(picture.At(int(x*w.density), int(y*w.density))).(color.RGBA)
}

// uniform checks that a box inside a region has a single colour, so that no edge of a tile is
// visible.
func (w *window) uniform(picture image.Image, what string, south, west, north, east float64) {
	w.t.Helper()
	x0, y0 := w.pixel(north, west)
	x1, y1 := w.pixel(south, east)
	want := w.at(picture, (south+north)/2, (west+east)/2)
	different, first := 0, image.Point{}
	box := image.Rect(int(x0*w.density), int(y0*w.density), int(x1*w.density), int(y1*w.density)).Intersect(picture.Bounds())
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			if color.RGBAModel.Convert(picture.At(x, y)) != color.Color(want) {
				if different++; different == 1 {
					first = image.Pt(x, y)
				}
			}
		}
	}
	if different > 0 || box.Dx() < 50 || box.Dy() < 50 {
		w.t.Errorf("%s: %d of %v pixels differ from %v, the first at %v: %v", what, different, box.Size(), want, first,
			picture.At(first.X, first.Y))
	}
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

// findChromium returns the path of the browser, or skips the test.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "/usr/bin/chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium: install Debian's package of that name")
	return ""
}
