package job

import (
	"context"
	"errors"
	"fmt"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/ipgeo"
)

// IPChange is how a new generation differs from the published one.
type IPChange struct {
	Published uint64 // the generation compared with
	ipgeo.DiffStats
}

// IPShares are the shares of the addresses, of one version of IP, that the old
// or the new generation answers.
type IPShares struct{ Added, Removed, Changed float64 }

// Total is the share of the addresses whose answer is another, or none.
func (s IPShares) Total() float64 { return s.Added + s.Removed + s.Changed }

// Shares returns the shares of both versions of IP.
func (c *IPChange) Shares() (v4, v6 IPShares) {
	v4.Added, v6.Added = c.Share(c.Added)
	v4.Removed, v6.Removed = c.Share(c.Removed)
	v4.Changed, v6.Changed = c.Share(c.Changed)
	return v4, v6
}

// check returns an *IPChangeError when more than the share most of the
// addresses of a version changed. A version of IP that was not there before is
// no change of it.
func (c *IPChange) check(most float64) error {
	v4, v6 := c.Shares()
	old4 := c.Removed.IPv4 + c.Changed.IPv4 + c.Same.IPv4
	old6 := c.Removed.IPv6 + c.Changed.IPv6 + c.Same.IPv6
	switch {
	case old4 > 0 && v4.Total() > most:
		return &IPChangeError{"IPv4", v4, most, c.Published}
	case old6 > 0 && v6.Total() > most:
		return &IPChangeError{"IPv6", v6, most, c.Published}
	}
	return nil
}

// IPChangeError refuses a generation that differs too much from the published
// one.
type IPChangeError struct {
	Version   string // "IPv4" or "IPv6"
	Shares    IPShares
	Max       float64
	Published uint64
}

func (e *IPChangeError) Error() string {
	return fmt.Sprintf("%s of the %s addresses would be answered otherwise than by generation %d (%s added, %s removed, %s changed), and --max-change allows %s; "+
		"nothing is published; if the change is meant, run this again with a larger --max-change or without it",
		percent(e.Shares.Total()), e.Version, e.Published, percent(e.Shares.Added), percent(e.Shares.Removed), percent(e.Shares.Changed), percent(e.Max))
}

// checkIP compares a new table with the published one. With nothing published
// there is nothing to compare.
func checkIP(ctx context.Context, c *dataset.Catalog, r *ipgeo.Reader, o IPOptions) error {
	rep := o.reporter()
	old, g, err := openCurrent(ctx, c, catalogue.IPTable)
	if errors.Is(err, ipgeo.ErrLayout) && o.MaxChange >= 1 {
		rep.Note("the published ip has an older layout and cannot be compared with")
		return nil
	}
	if err != nil {
		return fmt.Errorf("the published ip cannot be compared with: %w; publish without --max-change first", err)
	}
	if g == nil {
		rep.Note("no ip is published yet: there is nothing to compare with")
		return nil
	}
	defer func() { _ = g.Close() }() // only read
	stats, err := ipgeo.Diff(ctx, old, r, ipgeo.DiffOptions{Progress: func(done, total int64) {
		rep.Progress(Progress{Stage: "comparing with what is published", Done: done, Total: total, Unit: "rows"})
	}})
	if err != nil {
		return err
	}
	change := IPChange{Published: g.Manifest.Generation, DiffStats: stats}
	if o.Compared != nil {
		o.Compared(change)
	}
	return change.check(o.MaxChange)
}

// percent writes a share for messages: "0.31%".
func percent(share float64) string {
	if p := 100 * share; p == 0 || p >= 0.01 {
		return fmt.Sprintf("%.3g%%", p)
	}
	return "under 0.01%"
}
