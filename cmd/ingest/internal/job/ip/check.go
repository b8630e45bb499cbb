package ip

import (
	"context"
	"errors"
	"fmt"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/ipgeo"
)

// Change is the difference between a new generation and the published one.
type Change struct {
	Published uint64 // the generation compared with
	ipgeo.DiffStats
}

// Shares are the shares of the addresses, of one version of IP, that the old
// or the new generation answers.
type Shares struct{ Added, Removed, Changed float64 }

// Total returns the share of the addresses whose answer was added, removed or changed.
func (s Shares) Total() float64 { return s.Added + s.Removed + s.Changed }

// Shares returns the shares of both versions of IP.
func (c *Change) Shares() (v4, v6 Shares) {
	v4.Added, v6.Added = c.Share(c.Added)
	v4.Removed, v6.Removed = c.Share(c.Removed)
	v4.Changed, v6.Changed = c.Share(c.Changed)
	return v4, v6
}

// check returns a *ChangeError if too large a share of the addresses of a version of IP has
// changed. The bound is most, 0 to 1. A version that had no addresses before counts as unchanged.
func (c *Change) check(most float64) error {
	v4, v6 := c.Shares()
	old4 := c.Removed.IPv4 + c.Changed.IPv4 + c.Same.IPv4
	old6 := c.Removed.IPv6 + c.Changed.IPv6 + c.Same.IPv6
	switch {
	case old4 > 0 && v4.Total() > most:
		return &ChangeError{"IPv4", v4, most, c.Published}
	case old6 > 0 && v6.Total() > most:
		return &ChangeError{"IPv6", v6, most, c.Published}
	}
	return nil
}

// ChangeError refuses a generation that differs too much from the published
// one.
type ChangeError struct {
	Version   string // "IPv4" or "IPv6"
	Shares    Shares
	MaxShare  float64
	Published uint64
}

func (e *ChangeError) Error() string {
	return job.TooMuchChange(fmt.Sprintf("%s of the %s addresses would be answered otherwise than by generation %d (%s added, "+
		"%s removed, %s changed)",
		job.Percent(e.Shares.Total()), e.Version, e.Published, job.Percent(e.Shares.Added), job.Percent(e.Shares.Removed),
		job.Percent(e.Shares.Changed)), e.MaxShare).Error()
}

// Is reports that the error matches job.ErrChanged.
func (e *ChangeError) Is(target error) bool { return target == job.ErrChanged }

// check compares a new table with the published one, if there is one.
func check(ctx context.Context, c *dataset.Catalog, r *ipgeo.Reader, o Options) error {
	rep := o.ReporterOrSilent()
	old, g, err := job.OpenCurrent(ctx, c, ask.AddressTable)
	if errors.Is(err, cellstore.ErrLayout) && o.MaxChange == nil {
		rep.Note("the published ip has another layout and cannot be compared with")
		return nil
	}
	if err != nil {
		return fmt.Errorf("the published ip cannot be compared with (%w); to publish all the same, run this again without "+
			"--check and --max-change", err)
	}
	if g == nil {
		rep.Note("no ip is published yet: there is nothing to compare with")
		return nil
	}
	defer func() { _ = g.Close() }() // only read
	stats, err := ipgeo.Diff(ctx, old, r, ipgeo.DiffOptions{Progress: job.StageOf(rep, "comparing with what is published", "rows")})
	if err != nil {
		return err
	}
	change := Change{Published: g.Manifest.Generation, DiffStats: stats}
	if o.OnCompared != nil {
		o.OnCompared(change)
	}
	if o.MaxChange == nil {
		return nil
	}
	return change.check(*o.MaxChange)
}
