package clienttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"

	"quadrille/cmd/internal/programs"
)

// This is the page's budget until a reader sees the map.
const (
	mostRequests = 40
	mostWeight   = 400_000 // bytes as sent, with brotli
)

// The page stays within its budget of requests and bytes. TestMapPageSmoothness measures times,
// because they depend on the machine.
func TestMapPageBudget(t *testing.T) {
	browser := startBrowser(t)
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code",
		"--layer", "state=testdata/browser/states.geojson:code")
	ingest("--data", dir, "places", "testdata/browser/places.tsv")
	site := programs.Serve(t, "--data", dir).URL
	w := open(t, browser, site+"/#", screen{width: 1280, height: 800, density: 1})
	w.waitFor(regionsShown + `.length > 0`)
	w.drawn(0) // names of countries may leave no room for a city
	if requests, weight := w.cost(); requests > mostRequests || weight > mostWeight {
		t.Errorf("the page costs %d requests and %d bytes, want at most %d and %d", requests, weight, mostRequests, mostWeight)
	}
}

// TestMapPageSmoothness prints a table of how smooth the page is on a machine a quarter as fast:
//
//	QUADRILLE_SMOOTH=data go test -v -run TestMapPageSmoothness ./cmd/tileserver/internal/clienttest
//
// The variable names the data directory to serve. Tasks are measured by the clock of the page's
// main thread, so that other work on the machine matters less.
func TestMapPageSmoothness(t *testing.T) {
	dir := os.Getenv("QUADRILLE_SMOOTH")
	if dir == "" {
		t.Skip("no data to be smooth with: set QUADRILLE_SMOOTH to a data directory")
	}
	browser := startBrowser(t)
	site := programs.Serve(t, "--data", dir).URL
	const slower, rounds = 4, 5
	var first, named, pans, zooms, wheels []motion
	var requests, weight int
	for range rounds {
		w := open(t, browser, "about:blank", screen{width: 1280, height: 800, density: 1, lively: true})
		w.site = site
		_, err := chromedp.Call(w.ctx, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: slower})
		if err == nil {
			_, err = chromedp.Call(w.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchStart})
		}
		if err != nil {
			t.Fatal(err)
		}
		opening := w.trace(func() {
			w.do(chromedp.Navigate(site + "/"))
			w.waitFor(`window.firstMap > 0 && window.firstNames > 0`)
		})
		requests, weight = w.cost()
		opening.took = evaluate[float64](w, `window.firstMap`)
		first = append(first, opening)
		named = append(named, motion{took: evaluate[float64](w, `window.firstNames`)})
		w.visit(site + "/#5/47/9")
		w.drawn(1)
		pans = append(pans, w.paced(func() { w.drag(900, 500, 900-480, 500) }))
		zooms = append(zooms, w.trace(func() { w.press(".leaflet-control-zoom-in"); w.quiet() }))
		w.visit(site + "/#5/47/9")
		w.drawn(1)
		wheels = append(wheels, w.paced(func() { w.wheel(640, 400, -120); time.Sleep(400 * time.Millisecond) }))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| at %d × slowdown, median of %d | tasks > 50 ms | longest task | busy | frames/s | time | aim "+
		"|\n|---|---|---|---|---|---|---|\n", slower, rounds)
	row := func(what, aim string, of []motion) {
		long, longest, busy, frames, took := medianOf(of, func(m motion) float64 { return float64(m.long) }), medianOf(of,
			func(m motion) float64 { return m.longest }), medianOf(of, func(m motion) float64 { return m.busy }), medianOf(of,
			func(m motion) float64 { return m.frames }), medianOf(of, func(m motion) float64 { return m.took })
		fmt.Fprintf(&b, "| %s | %.0f | %.0f ms | %.0f ms | %.0f | %.0f ms | %s |\n", what, long, longest, busy, frames, took, aim)
	}
	row("first map", "≤ 1500 ms", first)
	row("first names", "≤ 2000 ms", named)
	row("pan of 480 px", "no task > 50 ms, 45 frames/s", pans)
	row("zoom step by button", "no task > 100 ms", zooms)
	row("zoom by a notch of the wheel", "no task > 100 ms", wheels)
	fmt.Fprintf(&b, "\n%d requests (≤ %d), %d bytes with brotli (≤ %d) to the first map with its names.\n", requests,
		mostRequests, weight, mostWeight)
	fmt.Println(b.String())
}

func medianOf(of []motion, figure func(motion) float64) float64 {
	var all []float64
	for _, m := range of {
		all = append(all, figure(m))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// watchStart records when the map was first complete and when it first had names, in milliseconds
// since the start of the navigation.
const watchStart = `(() => {
	window.firstMap = window.firstNames = 0
	const look = () => {
		const map = document.querySelector('#map')
		if (!firstMap && map?.ariaBusy === 'false' && document.querySelector('.regions .leaflet-tile-loaded')) window.firstMap = performance.now()
		if (!firstNames && [...document.querySelectorAll('.names canvas')].some(({ names }) => names?.length > 0)) window.firstNames = performance.now()
		if (!firstMap || !firstNames) requestAnimationFrame(look)
	}
	requestAnimationFrame(look)
})()`

// motion has measurements of the page's main thread during a movement.
type motion struct {
	long          int     // tasks over 50 ms
	longest, busy float64 // milliseconds of the thread's own clock
	frames        float64 // a second, while it moved
	took          float64 // milliseconds
}

// paced traces the page during move, including the frames per second. The trace ends when the map
// is at rest.
func (w *window) paced(move func()) motion {
	w.t.Helper()
	var frames float64
	m := w.trace(func() {
		evaluate[chromedp.Void](w, `{
			const paced = window.paced = { frames: 0, from: performance.now(), on: true }
			const count = () => { if (paced.on) { paced.frames++; requestAnimationFrame(count) } }
			requestAnimationFrame(count)
		}`)
		move()
		frames = evaluate[float64](w, `(paced.on = false, 1000 * paced.frames / (performance.now() - paced.from))`)
		w.quiet()
	})
	m.frames = frames
	return m
}

// showTasks says whether to print the parts of the longest tasks.
var showTasks = os.Getenv("QUADRILLE_SMOOTH_TASKS") != ""

// trace calls do and returns its cost, by the browser's own trace.
func (w *window) trace(do func()) motion {
	w.t.Helper()
	type traced struct {
		Name     string  `json:"name"`
		Phase    string  `json:"ph"`
		Duration float64 `json:"dur"`  // microseconds
		Busy     float64 `json:"tdur"` // of the thread's own clock, which others on the machine do not slow
		Start    float64 `json:"ts"`
		Process  int     `json:"pid"`
		Thread   int     `json:"tid"`
		Args     struct {
			Name string          `json:"name"`
			Data json.RawMessage `json:"data"`
		} `json:"args"`
	}
	var mu sync.Mutex
	var events []traced
	done := make(chan struct{})
	var once sync.Once
	err := chromedp.Listen(w.ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *tracing.EventDataCollected:
			for _, v := range e.Value {
				var one traced
				if json.Unmarshal(v, &one) == nil {
					events = append(events, one)
				}
			}
		case *tracing.EventTracingComplete:
			once.Do(func() { close(done) })
		}
	})
	if err == nil {
		categories := []string{"disabled-by-default-devtools.timeline"} // no more: each event takes time of its own
		if showTasks {
			categories = append(categories, "devtools.timeline", "v8")
		}
		_, err = chromedp.Call(w.ctx, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{IncludedCategories: categories}})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	began := time.Now()
	do()
	took := time.Since(began)
	if _, err := chromedp.Call(w.ctx, tracing.End, cdp.Empty{}); err != nil {
		w.t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(patience):
		w.t.Fatal("the browser does not end its trace")
	}
	mu.Lock()
	defer mu.Unlock()
	type thread struct{ process, thread int }
	main := map[thread]bool{}
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			main[thread{e.Process, e.Thread}] = true
		}
	}
	m := motion{took: float64(took.Milliseconds())}
	var tasks []traced
	for _, e := range events {
		if main[thread{e.Process, e.Thread}] && e.Phase == "X" && e.Name == "RunTask" {
			tasks = append(tasks, e)
			m.busy += e.Busy / 1000
			m.longest = max(m.longest, e.Busy/1000)
			if e.Busy > 50_000 {
				m.long++
			}
		}
	}
	if showTasks {
		slices.SortFunc(tasks, func(a, b traced) int { return cmp.Compare(b.Busy, a.Busy) })
		for _, task := range tasks[:min(4, len(tasks))] {
			fmt.Printf("task of %.0f ms:", task.Busy/1000)
			for _, e := range events {
				if e.Thread == task.Thread && e.Process == task.Process && e.Start >= task.Start && e.Start < task.Start+task.Duration &&
					e.Busy > 3000 && e.Name != "RunTask" {
					fmt.Printf(" %s %.0f;", e.Name, e.Busy/1000)
				}
			}
			fmt.Println()
		}
	}
	return m
}

// cost returns the number of requests that the page has made, and their bytes as sent.
func (w *window) cost() (requests, weight int) {
	w.t.Helper()
	all := evaluate[[]int](w, `performance.getEntries().filter(e => e.encodedBodySize >= 0).map(e => e.encodedBodySize)`)
	for _, n := range all {
		weight += n
	}
	return len(all), weight
}

// quiet waits until the map has come to rest and nothing has changed on it
// for some frames.
func (w *window) quiet() {
	w.t.Helper()
	time.Sleep(1200 * time.Millisecond)
	w.settled()
}

// mouse sends an event of the mouse.
func (w *window) mouse(p input.DispatchMouseEventParams) {
	w.t.Helper()
	if _, err := chromedp.Call(w.ctx, input.DispatchMouseEvent, p); err != nil {
		w.t.Fatal(err)
	}
}

// drag pulls the map with the mouse, in steps of some 20 pixels and a frame.
func (w *window) drag(fromX, fromY, toX, toY float64) {
	w.t.Helper()
	const steps = 24
	w.mouse(input.DispatchMouseEventParams{Type: "mousePressed", X: fromX, Y: fromY, Button: "left", Buttons: 1, ClickCount: 1})
	for i := range steps {
		part := float64(i+1) / steps
		w.mouse(input.DispatchMouseEventParams{
			Type:    "mouseMoved",
			X:       fromX + part*(toX-fromX),
			Y:       fromY + part*(toY-fromY),
			Button:  "left",
			Buttons: 1,
		})
		time.Sleep(16 * time.Millisecond)
	}
	w.mouse(input.DispatchMouseEventParams{Type: "mouseReleased", X: toX, Y: toY, Button: "left", ClickCount: 1})
}

// wheel turns the mouse's wheel at a point.
func (w *window) wheel(x, y, down float64) {
	w.t.Helper()
	const nearlyNone = 1e-6 // the library leaves out a 0, and the browser wants a value
	w.mouse(input.DispatchMouseEventParams{Type: "mouseWheel", X: x, Y: y, DeltaX: nearlyNone, DeltaY: down})
}

// swipe moves a finger along a column of the page.
func (w *window) swipe(x, from, to float64) {
	w.t.Helper()
	const steps = 8
	touch := func(what input.DispatchTouchEventType, points ...*input.TouchPoint) {
		w.t.Helper()
		p := input.DispatchTouchEventParams{Type: what, TouchPoints: append([]*input.TouchPoint{}, points...)}
		if _, err := chromedp.Call(w.ctx, input.DispatchTouchEvent, p); err != nil {
			w.t.Fatal(err)
		}
	}
	touch(input.DispatchTouchEventTypeTouchStart, &input.TouchPoint{X: x, Y: from})
	for i := 1.0; i <= steps; i++ {
		touch(input.DispatchTouchEventTypeTouchMove, &input.TouchPoint{X: x, Y: from + (to-from)*i/steps})
	}
	touch(input.DispatchTouchEventTypeTouchEnd)
}
