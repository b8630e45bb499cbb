package clienttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quadrille/cellstore/hbasestore/hbasetest"
	"quadrille/cmd/internal/programs"
	"quadrille/quadkey"
)

// TestDemoOnHBase tests the demo on an HBase cluster. It pushes the demo's data and starts two
// servers on the cluster. They must give the same answers as a server on the directory. It opens
// the map page of each in a browser, and kills a region server meanwhile. It tests answers, never
// times; times are only logged.
func TestDemoOnHBase(t *testing.T) {
	browser := startBrowser(t)
	cluster := hbasetest.ForFaults(t)
	ingest := programs.Ingester(t)
	data := demoData(t, ingest)
	const namespace = "demo"
	store := "hbase://" + strings.Join(cluster.GatewayAddrs(), ",") + "/" + namespace + "?compression=off"
	began := time.Now()
	ingest("--data", data, "push", "--store", store)
	t.Logf("pushed in %v", time.Since(began).Round(time.Second))

	local := programs.Serve(t, "--data", data).URL
	questions := demoQuestions(t, local)
	// The first server caches what it reads; the second reads from the cluster each time.
	first := programs.Serve(t, "--data", t.TempDir(), "--store", store).URL
	second := programs.Serve(t, "--data", t.TempDir(), "--store", store, "--cache", "1MiB", "--no-ip-index").URL
	l := startCrowd(t, questions, first, second)
	l.recovered("nothing")

	page := screen{width: 1280, height: 800, density: 1}
	maps := []*window{open(t, browser, first+"/#4/47/9", page), open(t, browser, second+"/#4/39/-98", page)}
	for i, w := range maps {
		// These errors are expected while the region server is down.
		w.expect("503 for ", "the server responded with a status of 503")
		w.drawn(5)
		w.whole()
		w.keep(fmt.Sprintf("hbase-%d", i+1))
	}
	l.recovered("two map pages")

	ctx := t.Context()
	if err := cluster.RestartServers(ctx); err != nil {
		t.Fatal(err)
	}
	regions, err := cluster.Regions(ctx, namespace+":boundaries.g0000000001.tile_bounds")
	if err != nil || len(regions) == 0 {
		t.Fatalf("the regions of the tiles: %v, %v", regions, err)
	}
	victim := cluster.ServerOf(regions[len(regions)/2].Server)
	if victim == nil {
		t.Fatalf("no process is server %s", regions[len(regions)/2].Server)
	}
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, w := range maps { // the page asks for what nobody has seen
		evaluate[chromedp.Void](w, `{ location.hash = `+quote([]string{"#6/52/13", "#6/34/-112"}[i])+` }`)
	}
	l.recovered("a region server killed")
	for i, w := range maps {
		// When the map moves, the page requests refused tiles again.
		w.visit(first + []string{"/#5/48/16", "/#5/36/-110"}[i])
		w.drawn(5)
		w.whole()
		w.keep(fmt.Sprintf("hbase-%d-after", i+1))
	}
	if err := errors.Join(victim.Start(), cluster.Await(ctx, victim)); err != nil {
		t.Fatal(err)
	}
	l.recovered("it has been started again")
}

// demoData returns the directory of the demo's data: the one of QUADRILLE_DEMO_DATA, or a new one
// from the sample packages.
func demoData(t *testing.T, ingest func(...string) string) string {
	t.Helper()
	if dir := os.Getenv("QUADRILLE_DEMO_DATA"); dir != "" {
		return dir
	}
	sample := filepath.Join("..", "..", "..", "..", "sample")
	if _, err := os.Stat(filepath.Join(sample, "node_modules")); err != nil {
		t.Skip("the sample packages are not installed: run make sample, or name the demo's data in QUADRILLE_DEMO_DATA")
	}
	dir := t.TempDir()
	ingest("--data", dir, "demo", "--sample", sample)
	return dir
}

// question is a path and its correct answer.
type question struct {
	path, etag string
	code       int
	body       []byte
}

func (q *question) ask(ctx context.Context, site string) (*question, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, site+q.path, nil)
	if err != nil {
		return nil, nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return &question{q.path, res.Header.Get("ETag"), res.StatusCode, b}, res.Header, err
}

// demoQuestions returns questions like those of the map page, from all over the world, with the
// answers of a server over the directory.
func demoQuestions(t *testing.T, local string) []question {
	t.Helper()
	var questions []question
	add := func(format string, args ...any) {
		q := &question{path: fmt.Sprintf(format, args...)}
		q, _, err := q.ask(t.Context(), local)
		if err != nil || q.code >= 500 {
			t.Fatalf("%v, %v", q, err)
		}
		questions = append(questions, *q)
	}
	for i, p := range []struct{ lon, lat float64 }{
		{8.5, 47.4}, {-98, 39}, {2.35, 48.86}, {139.7, 35.7}, {-58.4, -34.6}, {151.2, -33.9}, {36.8, -1.3}, {77.2, 28.6}, {-149.9,
			61.2}, {28, -26.2},
	} {
		for z := uint8(2); z <= 12; z += 2 {
			tile, err := quadkey.TileAt(p.lon, p.lat, z)
			if err != nil {
				t.Fatal(err)
			}
			add("/tiles/country,state/%v.geojson", tile)
			add("/tiles/county/%v.mvt", tile)
			add("/tiles/places/%v.mvt", tile)
		}
		add("/at?lat=%g&lon=%g&at=2026-07-01T12:00:00Z", p.lat, p.lon)
		add("/regions/at?lat=%g&lon=%g", p.lat, p.lon)
		add("/places/nearby?lat=%g&lon=%g&limit=50", p.lat, p.lon)
		add("/airports/nearby?lat=%g&lon=%g", p.lat, p.lon)
		add("/stations/nearby?lat=%g&lon=%g", p.lat, p.lon)
		add("/places/search?q=%c", 'a'+i)
		add("/places/search?q=san+%c", 'a'+i)
		for n := range 10 {
			add("/ip/%d.%d.0.1", 1+21*i, n*25)
		}
	}
	found := 0
	for _, q := range questions {
		if q.code == http.StatusOK && len(q.body) > 100 {
			found++
		}
	}
	if found < len(questions)/2 {
		t.Fatalf("only %d of %d questions have an answer in the demo's data", found, len(questions))
	}
	return questions
}

// crowd sends questions to two servers without a pause.
type crowd struct {
	t         *testing.T
	questions []question
	sites     []string

	mu             sync.Mutex
	right, refused int
	last           time.Time
	longest        time.Duration // without a right answer
	slowest        time.Duration
}

// answerTime is longer than any answer may take: the servers' --request-timeout, plus a reserve for
// a busy machine.
const answerTime = 20 * time.Second

func startCrowd(t *testing.T, questions []question, sites ...string) *crowd {
	l := &crowd{t: t, questions: questions, sites: sites, last: time.Now()}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for n := range 2 * len(sites) {
		wg.Go(func() {
			for i := n * len(questions) / 4; ctx.Err() == nil; i++ {
				l.one(ctx, sites[n%len(sites)], &questions[i%len(questions)])
			}
		})
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
	return l
}

// one sends a request and reports whether the expected answer came. For a refusal with Retry-After,
// it just returns false. Any other answer fails the test.
func (l *crowd) one(ctx context.Context, site string, q *question) bool {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	got, header, err := q.ask(ctx, site)
	if errors.Is(err, context.Canceled) {
		return false // the end of the test
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, time.Since(began))
	switch {
	case err != nil:
		l.t.Errorf("%s: %v", q.path, err)
	case got.code == http.StatusServiceUnavailable && header.Get("Retry-After") != "":
		l.refused++
	case got.code != q.code || got.code == http.StatusOK && (got.etag != q.etag || !bytes.Equal(got.body, q.body)):
		l.t.Errorf("%s: %d %s %.200s, want %d %s %.200s", q.path, got.code, got.etag, got.body, q.code, q.etag, q.body)
	default:
		l.right++
		l.longest = max(l.longest, time.Since(l.last))
		l.last = time.Now()
		return true
	}
	return false
}

// recovered waits until both servers have answered every question once more.
func (l *crowd) recovered(event string) {
	l.t.Helper()
	began := time.Now()
	var wg sync.WaitGroup
	for _, site := range l.sites {
		wg.Go(func() {
			for i := range l.questions {
				for !l.one(l.t.Context(), site, &l.questions[i]) {
					if l.t.Failed() {
						return
					}
					if time.Since(began) > 3*time.Minute {
						l.t.Errorf("%s: %s has not recovered", event, l.questions[i].path)
						return
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t.Failed() {
		l.t.FailNow()
	}
	l.t.Logf("%s: every question answered by both after %v; %d right answers, %d refused with 503, at most %v without a "+
		"right one, the slowest after %v",
		event, time.Since(began).Round(time.Millisecond), l.right, l.refused, l.longest.Round(time.Millisecond),
		l.slowest.Round(time.Millisecond))
	l.right, l.refused, l.longest, l.slowest, l.last = 0, 0, 0, 0, time.Now()
}
