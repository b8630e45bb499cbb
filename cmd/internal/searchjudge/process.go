package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// programs are ingest and tileserver in a directory.
type programs struct{ dir string }

func (p programs) build(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", p.dir+string(filepath.Separator), "quadrille/cmd/ingest", "quadrille/cmd/tileserver")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the programs, or name their directory with --bin: %w", err)
	}
	return nil
}

// ingest runs a command of ingest.
func (p programs) ingest(ctx context.Context, data string, args ...string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(p.dir, "ingest"), append([]string{"--data", data, "--quiet"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ingest %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// ingestFull publishes the full data from the publishers' files.
func (p programs) ingestFull(ctx context.Context, data, files string) error {
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
func (p programs) judge(ctx context.Context, data, set string, queries []query) (j judgement, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, "tileserver"), "--data", data, "--listen", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return j, err
	}
	if err := cmd.Start(); err != nil {
		return j, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, site, ok := strings.Cut(strings.TrimSpace(line), " serves ")
	if err == nil && !ok {
		err = fmt.Errorf("tileserver did not say where it serves, but %q", line)
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
