package job

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
)

// Rehearsal is the result of a dry run.
type Rehearsal struct {
	Planned   dataset.Manifest  // of the build; without a number and files
	Published *dataset.Manifest // nil: nothing is published, or Err says why it cannot be read
	// Tables compares the rows. It is nil if nothing is published, or if the rows cannot be
	// compared. In the latter case Err has the reason.
	Tables []TableChange
	Err    error
}

// TableChange counts the rows of a table that a publication would change. Rows are equal if their
// values are, whatever their timestamps.
type TableChange struct {
	Table   string `json:"table"`
	Added   int64  `json:"added"`
	Removed int64  `json:"removed"`
	Changed int64  `json:"changed"`
	Same    int64  `json:"same"`
}

// errLayout is the reason why rows of two layouts are not compared.
var errLayout = errors.New("it has another layout, in which every row is another")

// rehearsed compares the build with the published generation. It returns an error only for an
// interruption, because a damaged published generation must not prevent a new one.
func rehearsed(ctx context.Context, c *dataset.Catalog, b *dataset.Build, m dataset.Manifest, rep Reporter) (Rehearsal, error) {
	r := Rehearsal{Planned: m}
	g, err := c.OpenCurrent(ctx, m.Dataset)
	if errors.Is(err, dataset.ErrNoGeneration) {
		return r, nil
	}
	if err == nil {
		defer func() { _ = g.Close() }() // only read
		r.Published = &g.Manifest
		if g.Manifest.SchemaVersion != m.SchemaVersion {
			err = errLayout
		} else {
			built := times{dataset.Timestamp(g.Manifest.Sources), dataset.Timestamp(m.Sources)}
			r.Tables, err = compareTables(ctx, g.Store, b.Store(), built, StageOf(rep, "comparing with what is published", "rows"))
		}
	} else if before, _ := c.Current(ctx, m.Dataset); before.Generation > 0 {
		r.Published = &before
	}
	if err != nil {
		r.Tables, r.Err = nil, err
	}
	return r, ctx.Err()
}

// times are the timestamps that two builds gave their cells, for want of any other.
type times struct{ before, after int64 }

// compareTables compares two stores with the same layout.
func compareTables(ctx context.Context, before, after cellstore.Store, built times,
	progress func(done, total int64)) ([]TableChange, error) {
	names, err := after.Tables(ctx)
	if err != nil {
		return nil, err
	}
	var list []TableChange
	var done int64
	for _, name := range names {
		change, err := compareTable(ctx, before, after, name, built, func() {
			if done++; done%10000 == 0 {
				progress(done, 0)
			}
		})
		if err != nil {
			return nil, err
		}
		list = append(list, change)
	}
	return list, nil
}

func compareTable(ctx context.Context, before, after cellstore.Store, name string, built times, step func()) (TableChange, error) {
	change := TableChange{Table: name}
	old, err := before.Table(ctx, name)
	if err != nil {
		return change, err
	}
	now, err := after.Table(ctx, name)
	if err != nil {
		return change, err
	}
	// If a column keeps several versions, their times are data, except those of the builds themselves.
	timed := map[string]bool{}
	for _, f := range now.Schema().Families {
		timed[f.Name] = f.MaxVersions != 1
	}
	all := cellstore.Scan{Selection: cellstore.Selection{Versions: cellstore.Unlimited}}
	nextOld, stopOld := iter.Pull2(old.Scan(ctx, all))
	defer stopOld()
	nextNow, stopNow := iter.Pull2(now.Scan(ctx, all))
	defer stopNow()
	o, errOld, hasOld := nextOld()
	n, errNow, hasNow := nextNow()
	for hasOld || hasNow {
		if err := errors.Join(errOld, errNow); err != nil {
			return change, err
		}
		step()
		var order int
		switch {
		case !hasOld:
			order = 1
		case !hasNow:
			order = -1
		default:
			order = bytes.Compare(o.Key, n.Key)
		}
		switch {
		case order < 0:
			change.Removed++
		case order > 0:
			change.Added++
		case sameRow(o, n, timed, built):
			change.Same++
		default:
			change.Changed++
		}
		if order <= 0 {
			o, errOld, hasOld = nextOld()
		}
		if order >= 0 {
			n, errNow, hasNow = nextNow()
		}
	}
	return change, nil
}

func sameRow(o, n *cellstore.Row, timed map[string]bool, built times) bool {
	return slices.EqualFunc(o.Cells, n.Cells, func(x, y cellstore.Cell) bool {
		return x.Family == y.Family && bytes.Equal(x.Qualifier, y.Qualifier) && bytes.Equal(x.Value, y.Value) &&
			(x.Timestamp == y.Timestamp || !timed[x.Family] || built == times{x.Timestamp, y.Timestamp})
	})
}
