package job

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/disk"
	"quadrille/cmd/ingest/internal/source"
)

// Need is the estimated need of a job, as far as its input allows before the work begins.
type Need struct {
	Time         time.Duration // on two processors
	MemoryBytes  int64         // bytes
	DiskBytes    int64         // bytes, including temporary files
	MinDiskBytes int64         // bytes of disk that it takes at the very least
}

// Costs are the needs of a job for each unit of its input: bytes of the unpacked files, vertices or
// tiles. They are rough, and measured in runs of cmd/bench/checkbig.
type Costs struct {
	Nanoseconds  float64
	Memory, Disk float64 // bytes
}

// NeedFor returns the need for a number of units.
func (k Costs) NeedFor(units int64) Need {
	n := float64(units)
	return Need{time.Duration(n * k.Nanoseconds), int64(n * k.Memory), int64(n * k.Disk), int64(n * k.Disk / 2)}
}

// shortJob is the duration up to which a job needs no planning.
const shortJob = 10 * time.Second

// Announce reports the needs of a long job. It refuses a job if the disk has less than
// MinDiskBytes: a full disk would end the job much later.
func (o Options) Announce(c *dataset.Catalog, n Need) error {
	if n.Time < shortJob {
		return nil
	}
	text := fmt.Sprintf("this takes about %s on two processors, %s of memory and %s of disk",
		roughly(n.Time), inBytes(min(n.MemoryBytes, o.MemoryLimit())), inBytes(n.DiskBytes))
	free, known := disk.Free(c.Dir())
	if known {
		room := int64(min(free, math.MaxInt64))
		if n.MinDiskBytes > room {
			return fmt.Errorf("%s; %s has %s free: make room there, or name another directory with --data", text, c.Dir(), inBytes(room))
		}
		text += "; " + inBytes(room) + " are free there"
	}
	o.ReporterOrSilent().Note(text)
	return nil
}

// roughly returns a duration as text, rounded to the precision of an estimate.
func roughly(d time.Duration) string {
	if d < 2*time.Minute {
		return d.Round(10 * time.Second).String()
	}
	return fmt.Sprintf("%d minutes", int(d.Round(time.Minute).Minutes()))
}

func inBytes(n int64) string {
	if n < 1e9 {
		return fmt.Sprintf("%d MB", max(n/1e6, 1))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// UnpackedBytes estimates the bytes of files, and of those that folders and patterns name, when they
// are unpacked. Text packs about five to one. Missing files are ignored here, because their readers
// report them.
func UnpackedBytes(paths ...string) (n int64) {
	add := func(path string, info fs.FileInfo, err error) {
		if err != nil || !info.Mode().IsRegular() {
			return
		}
		size := info.Size()
		switch strings.ToLower(filepath.Ext(path)) {
		case ".zip", ".gz", ".tgz", ".parquet":
			size *= 5
		}
		n += size
	}
	for _, path := range paths {
		names, _, _ := source.Files(path) // its reader reports errors
		for _, name := range names {
			info, err := os.Stat(name)
			add(name, info, err)
		}
	}
	return n
}
