package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"quadrille/cellstore"
)

const (
	manifestName = "manifest.json"
	storeDir     = "store"
)

// Opener opens the cell store of a data set's generation in a directory: an
// empty one for a build, or, with readOnly, one that has been built. Read-only
// opening must change nothing in the directory and take no exclusive lock, since
// several programs read one generation at a time.
type Opener func(dataset, dir string, readOnly bool) (cellstore.Store, error)

// Catalog is the directory that holds the data sets. It keeps nothing open and
// nothing in memory: every call reads the files, so that programs see each
// other's changes. It may be used by any number of goroutines.
type Catalog struct {
	dir  string
	open Opener

	// onStep, in tests, sees every step that a crash may come after, and may
	// make it fail.
	onStep func(step string) error
}

// Open returns the catalogue of a directory, which need not exist yet: it is
// created by the first build, and data sets may appear in it at any time.
func Open(dir string, open Opener) (*Catalog, error) {
	if dir == "" || open == nil {
		return nil, errors.New("a catalogue needs a directory and an opener of stores: name both")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: name the directory of the data sets", dir)
	} else if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return &Catalog{dir: dir, open: open}, nil
}

// Dir is the absolute path of the catalogue.
func (c *Catalog) Dir() string { return c.dir }

func (c *Catalog) step(name string) error {
	if c.onStep == nil {
		return nil
	}
	return c.onStep(name)
}

// Datasets lists the data sets that have a published generation, by name. It
// does not open them.
func (c *Catalog) Datasets() ([]string, error) {
	dirs, err := os.ReadDir(c.dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range dirs { // sorted by ReadDir
		if checkName(d.Name()) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(c.dir, d.Name(), pointerName)); err == nil {
			names = append(names, d.Name())
		} else if !os.IsNotExist(err) && d.IsDir() {
			return nil, err
		}
	}
	return names, nil
}

// Current returns the manifest of the published generation. ErrNoGeneration
// when there is none.
func (c *Catalog) Current(dataset string) (Manifest, error) {
	if err := checkName(dataset); err != nil {
		return Manifest{}, err
	}
	p, err := c.requirePointer(dataset)
	if err != nil {
		return Manifest{}, err
	}
	e, _ := p.find(p.Current)
	return c.manifest(dataset, e)
}

// Info is one generation in a listing.
type Info struct {
	Dataset    string
	Generation uint64
	Current    bool // published
	Manifest   Manifest
	// Err says why there is no Manifest. Generation is 0 when CURRENT itself
	// could not be read.
	Err error
}

// List lists the generations of every data set, by name and number. Damage to
// one is reported in its Info and does not hide the others.
func (c *Catalog) List() ([]Info, error) {
	names, err := c.Datasets()
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, name := range names {
		p, err := c.requirePointer(name)
		if errors.Is(err, ErrNoGeneration) {
			continue // removed meanwhile
		}
		if err != nil {
			list = append(list, Info{Dataset: name, Err: err})
			continue
		}
		for _, e := range p.Generations {
			in := Info{Dataset: name, Generation: e.Generation, Current: e.Generation == p.Current}
			in.Manifest, in.Err = c.manifest(name, e)
			list = append(list, in)
		}
	}
	return list, nil
}

func (c *Catalog) manifest(dataset string, e entry) (Manifest, error) {
	b, err := readFile(filepath.Join(c.generationDir(dataset, e.Generation), manifestName))
	if err != nil {
		return Manifest{}, missing(dataset, e.Generation, err)
	}
	m, err := decodePinned(dataset, e, b)
	if err != nil {
		return Manifest{}, err
	}
	m.Disk = diskBytes(c.generationDir(dataset, e.Generation))
	return *m, nil
}

// decodePinned decodes the manifest that CURRENT lists as e.
func decodePinned(dataset string, e entry, b []byte) (*Manifest, error) {
	m, err := decodeManifest(b)
	switch {
	case err != nil:
		return nil, fmt.Errorf("generation %d of %s: %w", e.Generation, dataset, err)
	case digestBytes(b) != e.Manifest:
		return nil, fmt.Errorf("generation %d of %s: %w: its manifest is not the one published: restore it or ingest again",
			e.Generation, dataset, cellstore.ErrCorrupt)
	case m.Dataset != dataset || m.Generation != e.Generation:
		return nil, fmt.Errorf("generation %d of %s: %w: it describes generation %d of %s", e.Generation, dataset, ErrBadManifest, m.Generation, m.Dataset)
	}
	return m, nil
}

// missing explains the absence of a generation that CURRENT lists.
func missing(dataset string, generation uint64, err error) error {
	if os.IsNotExist(err) {
		return fmt.Errorf("%w: generation %d of %s is listed but its files are gone: restore them, or roll back or ingest again (%w)",
			ErrNoGeneration, generation, dataset, err)
	}
	return err
}

// maxGeneration is the last number that fits the name of a directory; one a
// minute lasts for 19,000 years.
const maxGeneration = 9_999_999_999

var generationRE = regexp.MustCompile(`^g[0-9]{10}$`)

func generationName(generation uint64) string { return fmt.Sprintf("g%010d", generation) }

func (c *Catalog) generationDir(dataset string, generation uint64) string {
	return filepath.Join(c.dir, dataset, generationName(generation))
}

// generationsOnDisk lists the numbers of the directories of a data set that
// are named as generations, complete or not, ascending.
func (c *Catalog) generationsOnDisk(dataset string) ([]uint64, error) {
	dirs, err := os.ReadDir(filepath.Join(c.dir, dataset))
	if err != nil {
		return nil, err
	}
	var list []uint64
	for _, d := range dirs {
		if !d.IsDir() || !generationRE.MatchString(d.Name()) {
			continue
		}
		if n, err := strconv.ParseUint(d.Name()[1:], 10, 64); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	return list, nil
}
