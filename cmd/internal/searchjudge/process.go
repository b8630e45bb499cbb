package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"quadrille/cmd/internal/programs"
)

// binaries are ingest and tileserver in a directory.
type binaries struct{ dir string }

func (p binaries) build(ctx context.Context) error {
	if err := programs.Build(ctx, p.dir, []string{programs.Ingest, programs.TileServer}); err != nil {
		return fmt.Errorf("build the programs, or name their directory with --bin: %w", err)
	}
	return nil
}

// ingest runs a command of ingest.
func (p binaries) ingest(ctx context.Context, data string, args ...string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(p.dir, "ingest"), append([]string{"--data", data, "--quiet"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ingest %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// ingestFull publishes the full data from the publishers' files.
func (p binaries) ingestFull(ctx context.Context, data, files string) error {
	borders := filepath.Join(files, "natural-earth", "10m", "ne_10m_admin_")
	places := filepath.Join(files, "geonames")
	for _, args := range [][]string{
		{
			"boundaries", "--layer", "country=" + borders + "0_countries.geojson.gz", "--layer", "state=" + borders + "1_states_provinces.geojson.gz",
			"--layer", "county=" + borders + "2_counties.geojson.gz",
		},
		{
			"places", filepath.Join(places, "cities15000.zip"), filepath.Join(places, "cities5000.zip"), filepath.Join(places, "meta", "countryInfo.txt"),
			filepath.Join(places, "meta", "admin1CodesASCII.txt"), filepath.Join(places, "meta", "admin2Codes.txt"),
		},
		{"airports", filepath.Join(files, "airports", "ourairports-airports.csv.gz")},
	} {
		if err := p.ingest(ctx, data, args...); err != nil {
			return err
		}
	}
	return nil
}

// judge serves a data directory and asks the queries of a set.
func (p binaries) judge(ctx context.Context, data, set string, queries []query) (j judgement, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, "tileserver"), "--data", data, "--listen", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var log strings.Builder
	cmd.Stderr = &log
	site, err := programs.Start(cmd)
	if cmd.Process == nil {
		return j, err
	}
	if err == nil {
		j, err = ask(ctx, site, set, queries)
	}
	cancelled := cmd.Cancel()
	if err = errors.Join(err, cancelled, cmd.Wait()); err != nil {
		return j, fmt.Errorf("%w\n%s", err, log.String())
	}
	return j, nil
}
