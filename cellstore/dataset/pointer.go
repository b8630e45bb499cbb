package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	pointerName    = "CURRENT"
	pointerVersion = 1
)

// pointer is the content of CURRENT, the only file of a data set that ever
// changes.
type pointer struct {
	Version int    `json:"version"`
	Current uint64 `json:"current"`
	// Last is the highest number ever published. Numbers are not used again,
	// so whatever was cached under one stays true.
	Last        uint64  `json:"last"`
	Generations []entry `json:"generations"` // ascending; those that exist
	// Superseded says, in a Depot, since when a generation listed is no more
	// the current one.
	Superseded map[uint64]time.Time `json:"superseded,omitempty"`
}

// entry pins one generation. Two equal entries are the same data.
type entry struct {
	Generation uint64 `json:"generation"`
	Manifest   string `json:"manifest_sha256"`
}

func (p *pointer) find(generation uint64) (entry, bool) {
	i, ok := slices.BinarySearchFunc(p.Generations, generation, func(e entry, g uint64) int {
		return cmp.Compare(e.Generation, g)
	})
	if !ok {
		return entry{}, false
	}
	return p.Generations[i], true
}

func decodePointer(b []byte) (*pointer, error) {
	var v struct{ Version int }
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadPointer, err)
	}
	if v.Version > pointerVersion {
		return nil, fmt.Errorf("%w: CURRENT of version %d, this program reads up to %d: update it", ErrNewer, v.Version, pointerVersion)
	}
	p := new(pointer)
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadPointer, err)
	}
	if p.Version < 1 || p.Last > maxGeneration {
		return nil, fmt.Errorf("%w: version %d, last generation %d", ErrBadPointer, p.Version, p.Last)
	}
	prev := uint64(0)
	for _, e := range p.Generations {
		if e.Generation <= prev || e.Generation > p.Last || !sha256RE.MatchString(e.Manifest) {
			return nil, fmt.Errorf("%w: generation %d, checksum %q", ErrBadPointer, e.Generation, e.Manifest)
		}
		prev = e.Generation
	}
	if _, ok := p.find(p.Current); !ok {
		return nil, fmt.Errorf("%w: it names generation %d, which it does not list", ErrBadPointer, p.Current)
	}
	return p, nil
}

func encodePointer(p *pointer) ([]byte, error) {
	p.Version = pointerVersion
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	_, err = decodePointer(b)
	return b, err
}

// readPointer reads CURRENT of a data set. It is nil, without an error, when
// there is none, that is, when nothing has been published.
func (c *Catalog) readPointer(dataset string) (*pointer, error) {
	b, err := readFile(filepath.Join(c.dir, dataset, pointerName))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := decodePointer(b)
	if err != nil {
		return nil, fmt.Errorf("data set %s: %w: restore the file, or activate a generation by its number", dataset, err)
	}
	return p, nil
}

// requirePointer is readPointer for callers that need something published.
func (c *Catalog) requirePointer(dataset string) (*pointer, error) {
	p, err := c.readPointer(dataset)
	if err == nil && p == nil {
		return nil, fmt.Errorf("%w: nothing is published of data set %s in %s: ingest it first", ErrNoGeneration, dataset, c.dir)
	}
	return p, err
}

// writePointer replaces CURRENT. The caller holds the pointer lock. After an
// error, visible says whether readers may see the new one all the same.
func (c *Catalog) writePointer(dataset string, p *pointer) (visible bool, err error) {
	b, err := encodePointer(p)
	if err != nil {
		return false, err
	}
	return replaceFile(filepath.Join(c.dir, dataset, pointerName), append(b, '\n'), func(at string) error { return c.step("pointer " + at) })
}
