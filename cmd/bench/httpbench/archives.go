package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"quadrille/quadkey"
)

// archivesCmd measures the tiles of a base map, cached and uncached. It compares them with a bare
// handler and, if that is named, with go-pmtiles, with the same tiles at the same time.
type archivesCmd struct {
	Archive     string        `required:"" type:"existingfile" placeholder:"FILE" help:"A PMTiles archive of gzipped vector tiles."`
	PMTiles     string        `name:"pmtiles" placeholder:"FILE" help:"The program pmtiles of protomaps/go-pmtiles; without it its column is left out."`
	Tileserver  string        `placeholder:"FILE" help:"The tileserver program; built from this module if not given."`
	Rounds      int           `default:"41" help:"Runs against each server, by turns."`
	Duration    time.Duration `default:"100ms" help:"Length of a run."`
	Connections int           `default:"8" help:"Connections that are kept open and busy."`
}

// archiveTiles is the number of positions whose tiles are requested.
const archiveTiles = 2000

func (a *archivesCmd) Run(ctx context.Context) (err error) {
	b, err := emptyBench()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	program, err := serverProgram(ctx, a.Tileserver, b.tmp)
	if err != nil {
		return err
	}
	flags := func(more ...string) []string {
		return serverFlags(filepath.Join(b.tmp, "data"), append(more, "--basemap", "measured="+a.Archive)...)
	}
	if b.ours, err = startServer(ctx, nil, program, flags()...); err != nil {
		return err
	}
	// The cache has room for directories, and for almost none of the tiles.
	reading, err := startServer(ctx, nil, program, flags("--cache", "16MiB")...)
	if err != nil {
		return err
	}
	defer reading.stop()
	tiles, err := a.tiles(ctx, b.ours.url)
	if err != nil {
		return err
	}
	bodies, err := json.Marshal(tiles)
	if err != nil {
		return err
	}
	if b.bare, err = startServer(ctx, bodies, b.self, "bare"); err != nil {
		return err
	}
	names := []string{"tileserver, kept", "tileserver, read anew", "bare handler"}
	servers, answers := []*running{b.ours, reading, b.bare}, [][]answer{tiles, tiles, tiles}
	if a.PMTiles != "" {
		theirs, list, err := a.startPMTiles(ctx, tiles)
		if err != nil {
			return err
		}
		defer theirs.stop()
		names, servers, answers = append(names, "go-pmtiles"), append(servers, theirs), append(answers, list)
	}
	var got []measured
	args := []string{"--rounds", fmt.Sprint(a.Rounds), "--duration", a.Duration.String(), "--connections", fmt.Sprint(a.Connections)}
	if err := b.load(ctx, "load", servers, answers, args, &got); err != nil {
		return err
	}
	size := 0
	for _, t := range tiles {
		size += len(t.Body)
	}
	bare := median(got[2].Rates)
	fmt.Print("| tiles of a base map | requests/s | of the bare handler | CPU per request |\n|---|---:|---:|---:|\n")
	for i, name := range names {
		rate := median(got[i].Rates)
		fmt.Printf("| %s | %.0f | %.2f | %.1f µs |\n", name, rate, rate/bare, median(got[i].CPU))
	}
	fmt.Printf("\nMedians of %d runs of %v against each by turns, %d connections, %d tiles of %d bytes in the mean, "+
		"servers on one core and load generator on another, by `bin/bench/httpbench archives`.\n",
		a.Rounds, a.Duration, a.Connections, len(tiles), size/len(tiles))
	return nil
}

// tiles returns tiles from all over the archive, and the answers for them.
func (a *archivesCmd) tiles(ctx context.Context, url string) ([]answer, error) {
	doc := answer{Path: "/basemap/measured.json"}
	if err := doc.fetch(ctx, url); err != nil {
		return nil, err
	}
	var told struct {
		Bounds           [4]float64
		MinZoom, MaxZoom uint8
	}
	if err := json.Unmarshal(doc.Body, &told); err != nil {
		return nil, err
	}
	var asked []answer
	seen := map[quadkey.Tile]bool{}
	for i := range archiveTiles {
		// Multiples of the golden ratio and similar numbers are spread evenly.
		along := func(k int, step float64) float64 {
			f := float64(i) * step
			return told.Bounds[k] + (told.Bounds[k+2]-told.Bounds[k])*(f-float64(int(f)))
		}
		for z := told.MinZoom; z <= told.MaxZoom; z++ {
			t, err := quadkey.TileAt(along(0, 0.7548776662), along(1, 0.5698402910), z)
			if err != nil {
				return nil, err
			}
			if !seen[t] {
				seen[t] = true
				asked = append(asked, answer{Path: "/basemap/measured/" + t.String() + ".mvt", Accept: "gzip"})
			}
		}
	}
	all, err := add(ctx, nil, url, a.Archive, asked, 20)
	if err != nil {
		return nil, err
	}
	return all[0].Answers, nil
}

// startPMTiles starts go-pmtiles over the directory of the archive, and requests the same tiles
// from it.
func (a *archivesCmd) startPMTiles(ctx context.Context, tiles []answer) (*running, []answer, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, err
	}
	cmd := pinned(ctx, 0, 1, a.PMTiles, "serve", filepath.Dir(a.Archive), "--quiet", "--interface", "127.0.0.1", "--port", port)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	server := &running{"http://" + address, cmd}
	name := strings.TrimSuffix(filepath.Base(a.Archive), filepath.Ext(a.Archive))
	var list []answer
	for i, t := range tiles {
		theirs := answer{Path: strings.Replace(t.Path, "/basemap/measured/", "/"+name+"/", 1), Accept: "gzip"}
		err := theirs.fetch(ctx, server.url)
		for wait := 0; err != nil && i == 0 && wait < 50; wait++ { // until it listens
			time.Sleep(100 * time.Millisecond)
			err = theirs.fetch(ctx, server.url)
		}
		if err == nil && (cmp.Or(theirs.Status, http.StatusOK) != http.StatusOK || len(theirs.Body) != len(t.Body)) {
			err = fmt.Errorf("%s of go-pmtiles: %d with %d bytes, ours has %d", theirs.Path, theirs.Status, len(theirs.Body), len(t.Body))
		}
		if err != nil {
			server.stop()
			return nil, nil, err
		}
		list = append(list, theirs)
	}
	return server, list, nil
}
