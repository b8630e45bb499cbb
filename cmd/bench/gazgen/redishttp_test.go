package gazgen_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/bench/gazgen"
	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/toyworld"
	"quadrille/places"
)

// server is a tile server over n generated places, and a connection to it.
type server struct {
	conn net.Conn
	r    *bufio.Reader
}

// startServer publishes n places and starts the program that serves them, as a
// user would.
func startServer(b *testing.B, n int) *server {
	b.Helper()
	dir := b.TempDir()
	catalog, err := dataset.Open(dir, toyworld.Open)
	if err != nil {
		b.Fatal(err)
	}
	build, err := catalog.Begin(b.Context(), "places")
	if err != nil {
		b.Fatal(err)
	}
	meta, _, err := places.Build(b.Context(), build.Store(), places.Source{Places: gazgen.Seq(n, 1)},
		places.BuildOptions{TempDir: dir, NoNames: true})
	if err != nil {
		b.Fatal(err)
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := build.Publish(b.Context(), dataset.Manifest{Dataset: "places", SchemaVersion: meta.SchemaVersion, Meta: raw}); err != nil {
		b.Fatal(err)
	}

	address := strings.TrimPrefix(programs.Serve(b, "--data", dir).URL, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &server{conn, bufio.NewReaderSize(conn, 64<<10)}
}

// nearby queries for the k nearest points and returns the answer.
func (s *server) nearby(lon, lat float64, k int) ([]byte, error) {
	_, err := fmt.Fprintf(s.conn, "GET /places/nearby?lat=%s&lon=%s&radius=25000&limit=%d HTTP/1.1\r\nHost: localhost\r\n\r\n",
		coordinate(lat), coordinate(lon), k)
	if err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(s.r, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, body)
	}
	return body, err
}

// BenchmarkNearbyOverHTTPAgainstRedis alternates between a tile server over HTTP and Redis with its
// own protocol, at the same points. Both are separate processes. The tile server answers with whole
// records, and Redis with numbers and distances.
func BenchmarkNearbyOverHTTPAgainstRedis(b *testing.B) {
	n := size(b, 1_000_000)
	theirs := startRedis(b)
	theirs.load(b, n)
	ours := startServer(b, n)
	points := gazgen.Points(4000, 1)
	points = slices.DeleteFunc(points, func(p [2]float64) bool { return math.Abs(p[1]) > 85 })
	for _, p := range points {
		if _, err := ours.nearby(p[0], p[1], 100); err != nil {
			b.Fatal(err)
		}
	}
	for _, k := range []int{1, 10, 100} {
		b.Run(fmt.Sprint("k=", k), func(b *testing.B) {
			var here, there []time.Duration
			var names []string
			for i := 0; b.Loop(); i++ {
				p := points[i%len(points)]
				began := time.Now()
				body, err := ours.nearby(p[0], p[1], k)
				if err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				if names, err = theirs.search(p[0], p[1], k, names[:0]); err != nil {
					b.Fatal(err)
				}
				here, there = append(here, between.Sub(began)), append(there, time.Since(between))
				// Redis uses another radius of the Earth and rounds points.
				if d := strings.Count(string(body), `"distance_m":`) - len(names)/2; d < -2 || d > 2 {
					b.Fatalf("%d more hits at %v than there", d, p)
				}
			}
			report(b, here, there)
		})
	}
}

func TestMain(m *testing.M) { programs.Main(m) }
