package clienttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/quadkey"
)

// These are the number of points on land, and the greatest number of points at sea, in
// [TestTimezonefinder].
const (
	finderLand = 100_000
	finderSea  = 20_000
)

// zonedPoint is a point, and its local time in the answers of two programs.
type zonedPoint struct {
	lat, lon   float64
	land       bool
	ours       clocks
	nautical   bool
	theirs     clocks
	ourID, how string
	theirID    string
}

// spratly is a box around the Spratly reefs: the release in geo-tz 8.1.9 has no zones there, and
// the release in timezonefinder 9.0 has the zones of China.
var spratly = quadkey.Box{West: 111, South: 6, East: 118, North: 12}

// clocks are UTC offsets at the solstices of June and December 2026.
type clocks [2]int

// TestTimezonefinder compares /at of the demo at random points with PyPI's timezonefinder. That
// package looks points up in the released polygons of timezone-boundary-builder. QUADRILLE_PYTHON
// names a Python that has it:
//
//	python3 -m venv VENV && VENV/bin/pip install timezonefinder==9.*
//	QUADRILLE_PYTHON=VENV/bin/python go test -count 1 -timeout 60m -v -run '^TestTimezonefinder$' ./cmd/tileserver/internal/clienttest
//
// At 99.9 % of the points on land the offsets at both solstices must be the same.
// Every other point must lie at a border of zones, which the demo draws with less
// detail, or where the two releases differ. At sea both must say that it is the sea.
func TestTimezonefinder(t *testing.T) {
	python := os.Getenv("QUADRILLE_PYTHON")
	if python == "" {
		t.Skip("QUADRILLE_PYTHON names no Python with timezonefinder: pip install timezonefinder==9.*")
	}
	site := programs.Serve(t, "--data", demoData(t, programs.Ingester(t))).URL
	points := askZones(t, site)
	finder := func(points []zonedPoint) {
		t.Helper()
		var in bytes.Buffer
		for _, p := range points {
			fmt.Fprintf(&in, "%.6f %.6f\n", p.lat, p.lon)
		}
		check := exec.CommandContext(t.Context(), python, "testdata/timezonefinder_check.py")
		check.Stdin, check.Stderr = &in, os.Stderr
		out, err := check.Output()
		if err != nil {
			t.Fatalf("timezonefinder: %v", err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) != len(points) {
			t.Fatalf("timezonefinder: %d answers to %d points", len(lines), len(points))
		}
		for i, line := range lines {
			p := &points[i]
			if _, err := fmt.Sscan(line, &p.theirID, &p.theirs[0], &p.theirs[1]); err != nil {
				t.Fatalf("timezonefinder: %q: %v", line, err)
			}
		}
	}
	finder(points)

	land, different, sea := 0, 0, 0
	kinds := map[string]int{}
	for _, p := range points {
		if p.land {
			land++
		} else {
			sea++
		}
		atSea := strings.HasPrefix(p.theirID, "Etc/GMT")
		if p.ours == p.theirs && (p.land || p.nautical == atSea) {
			continue
		}
		if p.land {
			different++
		}
		kind := fmt.Sprintf("%s (%s) for %s, land %v", p.ourID, p.how, p.theirID, p.land)
		if kinds[kind]++; kinds[kind] == 1 {
			t.Logf("%s, such as at %.6f, %.6f", kind, p.lat, p.lon)
		}
		around := ring(p, 1)
		finder(around)
		near := spratly.Contains(p.lon, p.lat)
		for _, q := range around {
			near = near || q.theirs == p.ours && (p.land || p.nautical == strings.HasPrefix(q.theirID, "Etc/GMT"))
		}
		if !near {
			t.Errorf("%.6f, %.6f: %s, and there is no border near", p.lat, p.lon, kind)
		}
	}
	t.Logf("%d points on land, %d of them different; %d at sea", land, different, sea)
	if land < finderLand || different*1000 > land {
		t.Errorf("%d of %d points on land have other offsets than timezonefinder's", different, land)
	}
}

// askZones queries a server at random points that are evenly distributed over the earth.
func askZones(t *testing.T, site string) []zonedPoint {
	t.Helper()
	const workers = 4
	var points []zonedPoint
	var mu sync.Mutex
	var wg sync.WaitGroup
	land, sea := 0, 0
	// add stores a point, and reports whether more points are wanted.
	add := func(p zonedPoint) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case land == finderLand:
			return false
		case p.land:
			land++
		case sea < finderSea:
			sea++
		default:
			return true
		}
		points = append(points, p)
		return true
	}
	for worker := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(17, uint64(worker)))
			micro := func(v float64) float64 { return math.Round(v*1e6) / 1e6 }
			for more := true; more; {
				p := zonedPoint{lat: micro(math.Asin(2*rng.Float64()-1) * 180 / math.Pi), lon: micro(360*rng.Float64() - 180)}
				err := p.ask(site, 1)
				if p.ours[0] = p.ours[1]; err == nil && !p.nautical { // ships have no summer time
					err = p.ask(site, 0)
				}
				if err != nil {
					t.Error(err)
					return
				}
				more = add(p)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return points
}

// solstices has the instants of [clocks].
var solstices = [2]string{"2026-06-21T12:00:00Z", "2026-12-21T12:00:00Z"}

// ask queries the server for the UTC offset at a solstice.
func (p *zonedPoint) ask(site string, solstice int) error {
	var answer struct {
		Regions  []struct{ Type string }
		Timezone struct {
			ID, Source string
			OffsetS    int `json:"offset_s"`
			Nautical   bool
		}
	}
	url := fmt.Sprintf("%s/at?types=country&lat=%.6f&lon=%.6f&at=%s", site, p.lat, p.lon, solstices[solstice])
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	err = json.NewDecoder(res.Body).Decode(&answer)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s, %w", url, res.Status, err)
	}
	p.ours[solstice] = answer.Timezone.OffsetS
	if answer.Timezone.ID == "" {
		p.ours[solstice] = math.MinInt // no zone
	}
	p.ourID, p.how, p.nautical = answer.Timezone.ID, answer.Timezone.Source, answer.Timezone.Nautical
	p.land = len(answer.Regions) > 0
	return nil
}

// ring returns points around p at a distance in kilometres.
func ring(p zonedPoint, kilometres float64) []zonedPoint {
	const steps = 16
	points := make([]zonedPoint, steps)
	degrees := kilometres / 111.2
	for i := range points {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / steps)
		lon := p.lon + degrees*cos/math.Cos(p.lat*math.Pi/180)
		points[i] = zonedPoint{lat: p.lat + degrees*sin, lon: math.Mod(lon+540, 360) - 180}
	}
	return points
}
