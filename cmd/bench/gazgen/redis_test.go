package gazgen_test

import (
	"bufio"
	"fmt"
	"math"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"quadrille/cmd/bench/gazgen"
	"quadrille/cmd/bench/resp"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/quadkey"
)

// redis is a connection to a Redis server that the benchmark has started.
type redis struct {
	conn net.Conn
	r    *bufio.Reader
	w    *bufio.Writer
}

// startRedis starts a server without persistence on a free port.
func startRedis(tb testing.TB) *redis {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Skip("redis-server is not installed")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", tb.TempDir())
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			tb.Cleanup(func() { conn.Close() })
			return &redis{conn, bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)}
		}
		time.Sleep(50 * time.Millisecond)
	}
	tb.Fatal("redis-server does not listen")
	return nil
}

func (c *redis) send(args ...string) {
	_, _ = c.w.Write(resp.AppendCommand(nil, args...)) // Flush returns the error
}

// reply reads an answer and returns the strings in it.
func (c *redis) reply(into []string) ([]string, error) { return resp.Read(c.r, into) }

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// load gives the server the same points.
func (c *redis) load(tb testing.TB, n int) {
	tb.Helper()
	sent := 0
	flush := func() {
		if err := c.w.Flush(); err != nil {
			tb.Fatal(err)
		}
		for ; sent > 0; sent-- {
			if _, err := c.reply(nil); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for p := range gazgen.Seq(n, 1) {
		if math.Abs(p.Lat) > 85.05 {
			continue // it takes none beyond
		}
		c.send("GEOADD", "places", coordinate(p.Lon), coordinate(p.Lat), strconv.Itoa(int(p.ID)))
		if sent++; sent == 1000 {
			flush()
		}
	}
	flush()
}

func (c *redis) search(lon, lat float64, k int, into []string) ([]string, error) {
	c.send("GEOSEARCH", "places", "FROMLONLAT", coordinate(lon), coordinate(lat), "BYRADIUS", "25", "km", "ASC", "COUNT",
		strconv.Itoa(k), "WITHDIST")
	if err := c.w.Flush(); err != nil {
		return into, err
	}
	return c.reply(into)
}

func percentile(sorted []time.Duration, p float64) float64 {
	return float64(sorted[int(p*float64(len(sorted)-1))].Nanoseconds()) / 1e3
}

// report logs the times of both.
func report(b *testing.B, ours, theirs []time.Duration) {
	slices.Sort(ours)
	slices.Sort(theirs)
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		b.ReportMetric(percentile(ours, q), name+"-µs")
		b.ReportMetric(percentile(theirs, q), name+"-redis-µs")
		b.ReportMetric(percentile(ours, q)/percentile(theirs, q), name+"-ratio")
	}
}

// warm sends one query at every point, so that no run pays for filling the cache.
func warm(b *testing.B, f *places.Finder, points [][2]float64) {
	b.Helper()
	for _, p := range points {
		if _, err := ask(b, f, feature.Query{Near: feature.NearTo(p[1], p[0], 0), Limit: 100}, places.Filter{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNearbyAgainstRedis alternates between a Finder in this process and Redis over loopback.
// It queries each for the k nearest places within 25 km of the same points.
func BenchmarkNearbyAgainstRedis(b *testing.B) {
	n := size(b, 1_000_000)
	server := startRedis(b)
	server.load(b, n)
	f, _ := generated(b, n)
	points := gazgen.Points(4000, 1)
	points = slices.DeleteFunc(points, func(p [2]float64) bool { return math.Abs(p[1]) > 85 })
	warm(b, f, points)
	for _, k := range []int{1, 10, 100} {
		b.Run(fmt.Sprint("k=", k), func(b *testing.B) {
			var ours, theirs []time.Duration
			var hits []places.Hit
			var names []string
			for i := 0; b.Loop(); i++ {
				p := points[i%len(points)]
				began := time.Now()
				var err error
				if hits, err = ask(b, f, feature.Query{Near: feature.NearTo(p[1], p[0], 25_000), Limit: k}, places.Filter{}, hits); err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				if names, err = server.search(p[0], p[1], k, names[:0]); err != nil {
					b.Fatal(err)
				}
				ours, theirs = append(ours, between.Sub(began)), append(theirs, time.Since(between))
				// Redis uses another radius of the Earth and rounds points.
				if d := len(hits) - len(names)/2; d < -2 || d > 2 {
					b.Fatalf("%d hits at %v, %d there", len(hits), p, len(names)/2)
				}
			}
			report(b, ours, theirs)
		})
	}
}

// BenchmarkNearbyBySize shows the cost of ten times as many places.
func BenchmarkNearbyBySize(b *testing.B) {
	points := gazgen.Points(1000, 1)
	for n := 100_000; n <= size(b, 1_000_000); n *= 10 {
		f, _ := generated(b, n)
		warm(b, f, points)
		for _, k := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("n=%d/k=%d", n, k), func(b *testing.B) {
				var hits []places.Hit
				for i := 0; b.Loop(); i++ {
					p := points[i%len(points)]
					var err error
					if hits, err = ask(b, f, feature.Query{Near: feature.NearTo(p[1], p[0], 0), Limit: k}, places.Filter{}, hits); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("n=%d/within=10", n), func(b *testing.B) {
			var hits []places.Hit
			for i := 0; b.Loop(); i++ {
				p := points[i%len(points)]
				box := quadkey.Box{West: max(-180, p[0]-2), South: max(-90, p[1]-2), East: min(180, p[0]+2), North: min(90, p[1]+2)}
				var err error
				if hits, err = ask(b, f, feature.Query{
					In:    feature.Box(box),
					Order: feature.Order{Importance: true},
					Limit: 10,
				}, places.Filter{}, hits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
