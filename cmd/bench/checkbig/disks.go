package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"quadrille/cellstore/published"
)

// diskJob is a job that is tried on disks that are too small for it.
type diskJob struct {
	name, dataset string
	// write makes the input below dir and returns the arguments of ingest.
	write func(ctx context.Context, dir string) ([]string, error)
}

func diskJobs() []diskJob {
	return []diskJob{
		{"a million ranges", "ip", func(_ context.Context, dir string) ([]string, error) {
			return ranges(dir, func(w io.Writer) {
				for i := range 1_000_000 {
					a := ipv4(20<<24 + 2*i)
					fmt.Fprintf(w, "%s,%s,C%d\n", a, a, i)
				}
			})
		}},
		{"500 municipalities", "boundaries", func(ctx context.Context, dir string) ([]string, error) {
			err := generate(ctx, os.DevNull, "manyregions", "-n", "500", "-dir", dir)
			return []string{"boundaries", "--layer", "municipality=" + filepath.Join(dir, "municipality.geojson") + ":code"}, err
		}},
		{"50,000 places", "places", func(ctx context.Context, dir string) ([]string, error) {
			files, err := writePlaces(ctx, dir, 50_000)
			return append([]string{"places"}, files...), err
		}},
	}
}

// filled is a row of the third table of the report.
type filled struct {
	name    string
	disks   int      // the number of disks that were too small
	largest int64    // the size of the largest of them, in bytes
	stages  []string // the stages in which they were full
	failed  error
}

const (
	smallestDisk = 16 << 20
	largestDisk  = 2 << 30
)

// noSpace is in the message of every job on a full disk.
const noSpace = "no space left on device"

// errNoRoom is matched if not even the previous generation fits on the disk.
var errNoRoom = errors.New("too small for anything")

// fill runs a job on larger and larger disks until one has room for it. On each smaller disk the
// job must end with the reason, and the generation that was published before must stay undamaged.
func (c *cli) fill(ctx context.Context, j diskJob, dir string) (f filled) {
	f.name = j.name
	defer func() { f.failed = errors.Join(f.failed, os.RemoveAll(dir)) }()
	fmt.Fprintf(os.Stderr, "== %s on disks that fill\n", j.name)
	input, small := filepath.Join(dir, "input"), filepath.Join(dir, "before")
	if f.failed = errors.Join(os.MkdirAll(input, 0o755), os.MkdirAll(small, 0o755)); f.failed != nil {
		return f
	}
	args, err := j.write(ctx, input)
	before, err2 := writeSmall(ctx, j.dataset, small)
	if f.failed = errors.Join(err, err2); f.failed != nil {
		return f
	}
	for size := int64(smallestDisk); ; size += size / 5 {
		if size > largestDisk {
			f.failed = fmt.Errorf("a disk of %d bytes is too small for it", int64(largestDisk))
			return f
		}
		stage, full, err := c.onDisk(ctx, size, dir, j.dataset, before, args)
		if errors.Is(err, errNoRoom) {
			continue
		}
		if err != nil {
			f.failed = fmt.Errorf("on a disk of %d bytes: %w", size, err)
			return f
		}
		if !full {
			return f
		}
		f.disks, f.largest = f.disks+1, size
		if !slices.Contains(f.stages, stage) {
			f.stages = append(f.stages, stage)
		}
	}
}

// onDisk runs a job on a disk of a size. It returns whether the disk was full,
// and in which stage.
func (c *cli) onDisk(ctx context.Context, size int64, dir, dataset string, before, args []string) (stage string, full bool, err error) {
	disk := filepath.Join(dir, "disk")
	if err := os.MkdirAll(disk, 0o755); err != nil {
		return "", false, err
	}
	if out, err := exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", fmt.Sprint("size=", size), "tmpfs",
		disk).CombinedOutput(); err != nil {
		return "", false, fmt.Errorf("%w: a disk in memory cannot be mounted here: %s", errAbsent, out)
	}
	defer func() {
		if out, uerr := exec.Command("umount", disk).CombinedOutput(); uerr != nil {
			err = errors.Join(err, fmt.Errorf("umount: %w: %s", uerr, out))
		}
	}()
	data := filepath.Join(disk, "data")
	s := &scenario{memory: gib}
	if m, err := c.ingest(ctx, s, data, before); err != nil {
		if strings.Contains(m.message, noSpace) {
			return "", false, errNoRoom
		}
		return "", false, err
	}
	m, failed := c.ingest(ctx, s, data, args)
	if ctx.Err() != nil {
		return "", false, ctx.Err()
	}
	if failed == nil {
		return "", false, c.verify(ctx, data, dataset)
	}
	switch {
	case strings.Contains(m.message, "make room there"):
		m.stage = "refused before"
	case !strings.Contains(m.message, noSpace):
		return "", false, fmt.Errorf("it ended with another reason: %w", failed)
	}
	if err := c.verify(ctx, data, dataset); err != nil {
		return "", false, fmt.Errorf("what is published afterwards is not whole: %w", err)
	}
	g, err := published.Open(ctx, data, dataset)
	if err != nil {
		return "", false, err
	}
	if n := g.Manifest.Generation; n != 1 {
		err = fmt.Errorf("generation %d is published afterwards", n)
	}
	return m.stage, true, errors.Join(err, g.Close())
}

// writeSmall writes the input of a small data set, which is published before the job.
func writeSmall(ctx context.Context, dataset, dir string) ([]string, error) {
	switch dataset {
	case "boundaries":
		return geoJSON(dir, func(w io.Writer) {
			fmt.Fprintf(w, `{"type":"Feature","properties":{"name":"a"},"geometry":{"type":"Polygon","coordinates":[%s]}}`, square(1, 1, 1))
		})
	case "places":
		files, err := writePlaces(ctx, dir, 10)
		return append([]string{"places"}, files...), err
	}
	return ranges(dir, func(w io.Writer) { fmt.Fprintln(w, "20.0.0.0,20.0.0.255,City") })
}

func printFilled(list []filled) {
	fmt.Println("\n| job | disks that were full | largest of them | full while | outcome |\n|---|---:|---:|---|---|")
	for _, f := range list {
		outcome := "told each time; what was published is whole"
		if f.failed != nil {
			outcome = "FAILED: " + strings.ReplaceAll(f.failed.Error(), "\n", "; ")
		}
		fmt.Printf("| %s | %d | %d MB | %s | %s |\n", f.name, f.disks, f.largest/1e6, strings.Join(f.stages, ", "), outcome)
	}
}
