package dataset

import (
	"context"
	"path/filepath"
)

// Generations is where the generations of data sets are kept and found: a
// Catalog or a Depot.
type Generations interface {
	// pointer returns what is published of a data set, nil when nothing is.
	pointer(ctx context.Context, dataset string) (*pointer, error)
	// unpublished is the error that says so: nothing is published.
	unpublished(dataset string) error
	// openListed opens a generation that the pointer lists.
	openListed(ctx context.Context, dataset string, e entry) (*Generation, error)
	// watched are directories in which something happens when the pointer
	// changes, the first that exists being the best; none where there are no
	// such.
	watched(dataset string) []string
}

var (
	_ Generations = (*Catalog)(nil)
	_ Generations = (*Depot)(nil)
)

func (c *Catalog) pointer(_ context.Context, dataset string) (*pointer, error) {
	return c.readPointer(dataset)
}

func (c *Catalog) unpublished(dataset string) error {
	_, err := c.requirePointer(dataset)
	return err
}

func (c *Catalog) openListed(_ context.Context, dataset string, e entry) (*Generation, error) {
	return c.openEntry(dataset, e)
}

func (c *Catalog) watched(dataset string) []string {
	return []string{filepath.Join(c.dir, dataset), c.dir}
}
