// Joinbench measures how fast points are joined with published regions, beside programs that read
// the regions' source: geopandas, SedonaDB and DuckDB.
//
//	joinbench -data data -layers country,state
//	joinbench -data data -layers country,state -python venv/bin/python -source country=countries.geojson.gz -source state=states.geojson.gz
//
// Points are uniform on the sphere, or around places: a file with a latitude and a longitude a
// line. Every answer of the first -check points is compared with At. Figures are processor time of
// all threads.
package main

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"quadrille/cellstore/published"
	"quadrille/quadkey"
	"quadrille/tiles"
)

//go:embed peers.py
var peers string

type bench struct {
	data, layers, places, python string
	sources                      []string
	points, check                int
	cache                        int64
}

func main() {
	var b bench
	flag.StringVar(&b.data, "data", "data", "directory with published boundaries")
	flag.StringVar(&b.layers, "layers", "country,state", "region types")
	flag.StringVar(&b.places, "places", "", "file of latitudes and longitudes around which points lie, beside uniform ones")
	flag.StringVar(&b.python, "python", "", "a Python with geopandas, sedonadb and duckdb, to measure these too")
	flag.IntVar(&b.points, "points", 1_000_000, "number of points")
	flag.IntVar(&b.check, "check", 100_000, "number of points that are compared with At")
	flag.Int64Var(&b.cache, "cache", 1<<30, "bytes for decoded answers")
	flag.Func("source", "TYPE=FILE for -python, once for each layer", func(s string) error {
		b.sources = append(b.sources, s)
		return nil
	})
	flag.Parse()
	if err := b.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "joinbench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) error {
	tiles.SetCacheBytes(b.cache)
	kinds := []string{"uniform"}
	if b.places != "" {
		kinds = append(kinds, "around places")
	}
	for _, kind := range kinds {
		points, err := b.draw(kind)
		if err == nil {
			err = b.join(ctx, kind, points)
		}
		if err == nil && b.python != "" {
			err = b.askPeers(ctx, points)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// draw draws points, some of them at corners of tiles, at the poles and at ±180°.
func (b *bench) draw(kind string) ([]quadkey.Position, error) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var around []quadkey.Position
	if kind != "uniform" {
		text, err := os.ReadFile(b.places)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			var p quadkey.Position
			if _, err := fmt.Sscan(line, &p.Lat, &p.Lon); err != nil {
				return nil, fmt.Errorf("%s: %q: give a latitude and a longitude a line: %w", b.places, line, err)
			}
			around = append(around, p)
		}
	}
	points := make([]quadkey.Position, b.points)
	for i := range points {
		p := &points[i]
		if around != nil {
			c := around[rnd.IntN(len(around))]
			*p = quadkey.Position{
				Lat: max(-90, min(90, c.Lat+0.2*rnd.NormFloat64())),
				Lon: math.Remainder(c.Lon+0.2*rnd.NormFloat64(), 360),
			}
			continue
		}
		p.Lat, p.Lon = math.Asin(2*rnd.Float64()-1)*180/math.Pi, rnd.Float64()*360-180
		switch i % 10_000 {
		case 1:
			p.Lon = 180 - 360*float64(i/10_000%2)
		case 2:
			p.Lat = 90 - 180*float64(i/10_000%2)
		case 3:
			p.Lat = quadkey.MaxLatitude
		}
		if i%100 == 0 {
			t, err := quadkey.TileAt(p.Lon, p.Lat, 13)
			if err != nil {
				return nil, err
			}
			p.Lat, p.Lon = t.Bound().North, t.Bound().West
		}
	}
	return points, nil
}

// join joins the points three times, and checks answers. The first time nothing is in memory.
func (b *bench) join(ctx context.Context, kind string, points []quadkey.Position) (err error) {
	g, err := published.Open(ctx, b.data, "boundaries")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r, err := tiles.OpenPublished(ctx, g)
	if err != nil {
		return err
	}
	j, err := r.PointJoin(strings.Split(b.layers, ",")...)
	if err != nil {
		return err
	}
	out := make([][]int32, len(j.Types()))
	for k := range out {
		out[k] = make([]int32, len(points))
	}
	for _, pass := range []string{"cold", "warm", "warm"} {
		wall, before := time.Now(), processorTime()
		if err := j.Find(ctx, points, out); err != nil {
			return err
		}
		took := processorTime() - before
		fmt.Printf("%d points, %s, %s: %v of processor, %v by the clock, %.2f million/s a core, %d MB of answers\n",
			len(points), kind, pass, took.Round(time.Millisecond), time.Since(wall).Round(time.Millisecond),
			float64(len(points))/took.Seconds()/1e6, tiles.Cache().Bytes>>20)
	}
	for k, typ := range j.Types() {
		n := 0
		for _, answer := range out[k] {
			if answer > 0 {
				n++
			}
		}
		fmt.Printf("  %s: %d points in %d different answers\n", typ, n, j.Answers(k)-1)
	}
	n := min(b.check, len(points))
	if n == 0 {
		return nil
	}
	wrong, before := 0, processorTime()
	for i, p := range points[:n] {
		want, err := r.At(ctx, p.Lat, p.Lon, j.Types()...)
		if err != nil {
			return err
		}
		var got []tiles.Region
		for k := range out {
			got = append(got, j.Regions(k, out[k][i])...)
		}
		if !slices.Equal(got, want) {
			wrong++
		}
	}
	fmt.Printf("  At: %v a point; %d of %d answers differ\n", (processorTime()-before)/time.Duration(n), wrong, n)
	return nil
}

// askPeers lets other programs join the same points with the source of the regions.
func (b *bench) askPeers(ctx context.Context, points []quadkey.Position) error {
	dir, err := os.MkdirTemp("", "joinbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var raw []byte
	for _, p := range points {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(p.Lat))
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(p.Lon))
	}
	at := filepath.Join(dir, "points")
	if err := os.WriteFile(at, raw, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.python, append([]string{"-c", peers, at}, b.sources...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// processorTime returns the processor time of this process so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
