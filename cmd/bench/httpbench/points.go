package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quadrille/internal/manypoints"
)

// pointsCmd measures collections of points, and compares them with Tile38 and Redis, if these are
// installed, with the same points at the same time.
type pointsCmd struct {
	Bin        string        `default:"bin" type:"path" placeholder:"DIR" help:"Where the programs ingest and tileserver are."`
	Tile38     string        `name:"tile38" placeholder:"FILE" help:"The program tile38-server; without it its rows are left out."`
	Redis      string        `placeholder:"FILE" help:"The program redis-server, 6.2 or later; without it its rows are left out."`
	Boundaries string        `type:"path" placeholder:"DIR" help:"Data sets with boundaries of countries, for the points inside France; left out if not given."`
	Regions    string        `type:"path" placeholder:"DIR" help:"Data sets with boundaries of very many regions, for the join; left out if not given."`
	RegionType string        `default:"municipality" placeholder:"TYPE" help:"Which of them."`
	Scratch    string        `type:"path" placeholder:"DIR" help:"Directory for data, some 10 GB at full size; a temporary one is made in it and removed."`
	Points     int           `default:"1000000" help:"Points of most measurements."`
	Many       int           `default:"10000000" help:"Points of those at large size: memory, and those inside France. 0 leaves them out."`
	Rounds     int           `default:"11" help:"Runs against each server, by turns."`
	Duration   time.Duration `default:"1s" help:"Length of a run."`
	Writers    int           `default:"64" help:"Connections that write single points."`
	Batches    int           `default:"4" help:"Connections that write batches."`
}

// pointsBench is a running measurement.
type pointsBench struct {
	*pointsCmd
	ctx       context.Context
	tmp, data string
	key       string // to write
	at        []manypoints.Point
	rows      [][]string
}

// These are the names of its collections.
const (
	fleet     = "fleet"
	manyFleet = "many-fleet"
	asked     = 20_000 // positions
)

func (p *pointsCmd) Run(ctx context.Context) (err error) {
	if p.Points < asked || p.Rounds < 1 || p.Duration <= 0 || p.Writers < 1 || p.Batches < 1 {
		return fmt.Errorf("--points must be at least %d, --rounds, --duration, --writers and --batches positive", asked)
	}
	b := &pointsBench{pointsCmd: p, ctx: ctx}
	if b.tmp, err = os.MkdirTemp(p.Scratch, "httpbench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.tmp)) }()
	b.data = filepath.Join(b.tmp, "data")
	if p.Boundaries != "" {
		const dir = "boundaries"
		if err := os.CopyFS(filepath.Join(b.data, dir), os.DirFS(filepath.Join(p.Boundaries, dir))); err != nil {
			return err
		}
	}
	for point := range manypoints.Each(asked) {
		point.Properties = slices.Clone(point.Properties)
		b.at = append(b.at, point)
	}
	// Steps that use both cores come first, because later this process uses only one.
	if err := b.load(); err != nil {
		return err
	}
	pinSelf(ctx, 1)
	for _, measure := range []func() error{b.near, b.live, b.large, b.join} {
		if err := measure(); err != nil {
			return err
		}
	}
	fmt.Print("| points | reached | aim | compared with | it reached | ratio |\n|---|---:|---:|---|---:|---:|\n")
	for _, row := range b.rows {
		fmt.Printf("| %s |\n", strings.Join(row, " | "))
	}
	fmt.Printf("\n%d points with ten properties each, around cities; medians of %d runs of %v by turns, at %d positions. "+
		"Servers are on one core, with two processors of Go's, and the load generator on another. "+
		"By `bin/bench/httpbench points`.\n", p.Points, p.Rounds, p.Duration, asked)
	return nil
}

// add adds a row to the table, and prints it.
func (b *pointsBench) add(what, reached, aim string, more ...string) {
	row := append([]string{what, reached, aim}, more...)
	for len(row) < 6 {
		row = append(row, "")
	}
	fmt.Fprintln(os.Stderr, strings.Join(row, " | "))
	b.rows = append(b.rows, row)
}

func (b *pointsBench) program(name string) string { return filepath.Join(b.Bin, name) }

// load ingests the points, as a table and as GeoJSON features.
func (b *pointsBench) load() error {
	for _, f := range []struct {
		name  string
		write func(io.Writer, int) error
	}{{"table", manypoints.WriteTable}, {"GeoJSON, a feature a line", manypoints.WriteLines}} {
		file := filepath.Join(b.tmp, "input")
		out, err := os.Create(file)
		if err != nil {
			return err
		}
		if err := errors.Join(f.write(out, b.Points), out.Close()); err != nil {
			return err
		}
		if err := b.ingest("`ingest points`, "+f.name, fleet, b.Points, file, nil); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	if b.Many == 0 {
		return nil
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(manypoints.WriteTable(w, b.Many)) }()
	return b.ingest("`ingest points`, a table that is made meanwhile", manyFleet, b.Many, "-", r)
}

func (b *pointsBench) ingest(what, name string, n int, file string, in io.Reader) error {
	cmd := exec.CommandContext(b.ctx, b.program("ingest"), "--data", b.data, "--quiet", "points", name, file)
	cmd.Stdin, cmd.Stderr = in, os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	b.add(fmt.Sprintf("%s, %d points", what, n), perSecond(n, time.Since(begin)), "≥ 150000/s")
	return nil
}

func perSecond(n int, d time.Duration) string { return fmt.Sprintf("%.0f/s", float64(n)/d.Seconds()) }

// server starts a tile server and returns it with its address.
func (b *pointsBench) server(more ...string) (*running, string, error) {
	live, keys := filepath.Join(b.tmp, "live"), filepath.Join(b.tmp, "keys")
	if b.key == "" {
		out, err := exec.CommandContext(b.ctx, b.program("tileserver"), "keys", "new", "bench", "--keys", keys, "--scope", "write:*").Output()
		if err != nil {
			return nil, "", err
		}
		b.key = strings.TrimSpace(string(out))
	}
	s, err := startOn(b.ctx, writerProcessors, nil, b.program("tileserver"),
		serverFlags(b.data, append(more, "--live", live, "--keys", keys, "--anonymous")...)...)
	if err != nil {
		return nil, "", err
	}
	if err := ready(b.ctx, s.url); err != nil {
		s.stop()
		return nil, "", err
	}
	return s, strings.TrimPrefix(s.url, "http://"), nil
}

// get returns the target that requests a path, which is made from the position with a number.
func (b *pointsBench) get(name, address string, path func(at *manypoints.Point) string) target {
	paths := make([]string, len(b.at))
	for i := range b.at {
		paths[i] = path(&b.at[i])
	}
	return target{name: name, address: address, answer: found, request: func(dst []byte, i int) []byte {
		return fmt.Appendf(dst, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", paths[i%len(paths)], address)
	}}
}

func (b *pointsBench) nearby(address, collection string) target {
	return b.get("nearby", address, func(p *manypoints.Point) string { return nearbyPath(collection, p) })
}

func nearbyPath(collection string, p *manypoints.Point) string {
	return "/points/" + collection + "/nearby?limit=10&lat=" + decimal(p.Lat) + "&lon=" + decimal(p.Lon)
}

// near compares the nearest points of the published collection.
func (b *pointsBench) near() error {
	s, address, err := b.server()
	if err != nil {
		return err
	}
	defer s.stop()
	peers, err := b.startPeers()
	if err != nil {
		return err
	}
	defer peers.stop()
	if err := b.fillPeers(peers); err != nil {
		return err
	}
	ours := b.nearby(address, fleet)
	closing := ours
	ours.name, closing.name, closing.fresh = ", kept alive", ", closed after each request", true
	targets := []target{ours, closing}
	for _, p := range peers {
		targets = append(targets, p.near...)
	}
	for _, p := range peers {
		if p.tile38 {
			if err := b.agree(address, p); err != nil {
				return err
			}
		}
	}
	for _, connections := range []int{1, 8} {
		got, err := b.turns(targets, connections)
		if err != nil {
			return err
		}
		for j, mine := range targets[:2] {
			what, alone := fmt.Sprintf("nearest 10 over HTTP, %d connections%s", connections, mine.name), true
			for i, t := range targets[2:] {
				if mine.fresh && !t.fresh {
					continue
				}
				theirs := got[i+2]
				b.add(what, got[j].String(), "≤ 1 × of Tile38's HTTP", t.name, theirs.String(),
					fmt.Sprintf("p50 %.2f, p99 %.2f", got[j].P50/theirs.P50, got[j].P99/theirs.P99))
				alone = false
			}
			if alone {
				b.add(what, got[j].String(), "")
			}
		}
	}
	return nil
}

// String writes the percentiles.
func (l latencies) String() string { return fmt.Sprintf("p50 %.0f µs, p99 %.0f µs", l.P50, l.P99) }

// turns drives every target in each round, and returns the medians of the percentiles.
// The first round does not count.
func (b *pointsBench) turns(targets []target, connections int) ([]latencies, error) {
	p50, p99 := make([][]float64, len(targets)), make([][]float64, len(targets))
	all := make([][]*caller, len(targets))
	for i, t := range targets {
		all[i] = t.callers(connections)
		defer closeAll(all[i])
	}
	for round := range b.Rounds + 1 {
		for i := range targets {
			took, err := drive(all[i], b.Duration, 0)
			if err != nil {
				return nil, err
			}
			if l := summarize(took, 0); round > 0 {
				p50[i], p99[i] = append(p50[i], l.P50), append(p99[i], l.P99)
			}
		}
	}
	got := make([]latencies, len(targets))
	for i := range got {
		got[i] = latencies{P50: median(p50[i]), P99: median(p99[i])}
	}
	return got, nil
}

// agree fails unless Tile38 finds the same points. It uses another sphere, so the last point may
// differ.
func (b *pointsBench) agree(address string, peer *peer) error {
	different := 0
	for i := range 200 {
		var ours, theirs struct {
			Points, Objects []struct{ ID string }
		}
		mine := answer{Path: nearbyPath(fleet, &b.at[i])}
		other := answer{Path: tile38Path(&b.at[i])}
		if err := errors.Join(mine.fetch(b.ctx, "http://"+address), other.fetch(b.ctx, "http://"+peer.address)); err != nil {
			return err
		}
		if err := errors.Join(json.Unmarshal(mine.Body, &ours), json.Unmarshal(other.Body, &theirs)); err != nil {
			return err
		}
		same := 0
		for _, p := range ours.Points {
			if slices.Contains(theirs.Objects, p) {
				same++
			}
		}
		if same < 9 || len(ours.Points) != 10 {
			different++
		}
	}
	if different > 0 {
		return fmt.Errorf("at %d of 200 positions Tile38 finds other points", different)
	}
	return nil
}
