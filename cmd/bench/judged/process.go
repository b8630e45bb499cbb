package judged

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

// Programs are ingest and tileserver in a directory.
type Programs struct{ Dir string }

// Build builds both programs.
func (p Programs) Build(ctx context.Context) error {
	if err := programs.Build(ctx, p.Dir, []string{programs.Ingest, programs.TileServer}); err != nil {
		return fmt.Errorf("build the programs, or name their directory with --bin: %w", err)
	}
	return nil
}

// Ingest runs a command of ingest.
func (p Programs) Ingest(ctx context.Context, data string, args ...string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(p.Dir, "ingest"),
		append([]string{"--data", data, "--quiet"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ingest %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// ingestFull publishes the full data from the publishers' files.
func (p Programs) ingestFull(ctx context.Context, data, files string) error {
	borders := filepath.Join(files, "natural-earth", "10m", "ne_10m_admin_")
	places := filepath.Join(files, "geonames")
	for _, args := range [][]string{
		{
			"boundaries", "--layer", "country=" + borders + "0_countries.geojson.gz", "--layer",
			"state=" + borders + "1_states_provinces.geojson.gz",
			"--layer", "county=" + borders + "2_counties.geojson.gz",
		},
		{
			"places", filepath.Join(places, "cities15000.zip"), filepath.Join(places, "cities5000.zip"), filepath.Join(places, "meta",
				"countryInfo.txt"),
			filepath.Join(places, "meta", "admin1CodesASCII.txt"), filepath.Join(places, "meta", "admin2Codes.txt"),
		},
		{"airports", filepath.Join(files, "airports", "ourairports-airports.csv.gz")},
	} {
		if err := p.Ingest(ctx, data, args...); err != nil {
			return err
		}
	}
	return nil
}

// Serve serves a data directory while ask runs.
func (p Programs) Serve(ctx context.Context, data string, ask func(ctx context.Context, site string) error) error {
	cmd := exec.CommandContext(ctx, filepath.Join(p.Dir, "tileserver"), "--data", data, "--listen", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var log strings.Builder
	cmd.Stderr = &log
	site, err := programs.Start(cmd)
	if cmd.Process == nil {
		return err
	}
	if err == nil {
		err = ask(ctx, site)
	}
	cancelled := cmd.Cancel()
	if err = errors.Join(err, cancelled, cmd.Wait()); err != nil {
		return fmt.Errorf("%w\n%s", err, log.String())
	}
	return nil
}
