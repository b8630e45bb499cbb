package ipgeo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"quadrille/cellstore"
)

var (
	// ErrNotFound answers an address that no range covers.
	ErrNotFound = errors.New("no range covers the address")
	// ErrLayout is matched by the error for a table this version cannot read.
	ErrLayout = errors.New("table ip has a layout this version does not know")
)

// Meta describes a built table. It travels in the manifest of its generation,
// and Open needs it back.
type Meta struct {
	Layout  int   `json:"layout"`  // of the rows
	Rows4   int64 `json:"rows4"`   // IPv4 rows
	Rows6   int64 `json:"rows6"`   // IPv6 rows
	Records int64 `json:"records"` // distinct records of the sources
}

// Reader looks addresses up. It borrows its store: close the store when no
// lookup runs any more.
type Reader struct {
	table cellstore.Table
	meta  Meta
}

// Open returns a reader of the table Build wrote, given the Meta it returned.
// ErrLayout, or the store's error.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Reader, error) {
	if meta.Layout != Layout {
		return nil, fmt.Errorf("ipgeo: %w: it is version %d, this program reads %d; use a program as new as the data, or ingest the data again",
			ErrLayout, meta.Layout, Layout)
	}
	table, err := store.Table(ctx, tableName)
	if err != nil {
		return nil, fmt.Errorf("ipgeo: %w", err)
	}
	return &Reader{table: table, meta: meta}, nil
}

// OpenPublished opens published ranges, such as a generation of package dataset.
func OpenPublished(ctx context.Context, p cellstore.Published) (*Reader, error) {
	return cellstore.OpenPublished(ctx, p, Layout, Open)
}

// Lookuper answers lookups: a Reader with one seek of the store, an Index from
// mapped memory, both alike.
type Lookuper interface {
	Lookup(ctx context.Context, addr netip.Addr, res *Result) error
}

var (
	_ Lookuper = (*Reader)(nil)
	_ Lookuper = (*Index)(nil)
)

// Lookup finds the range that covers addr and puts it into res, with one seek
// of the store. An address nothing is known about answers ErrNotFound, one
// that belongs to nobody a *ReservedError, and the zero Addr ErrBadAddress;
// any other error is a failure of the store and no statement about the address.
func (r *Reader) Lookup(ctx context.Context, addr netip.Addr, res *Result) error {
	addr, err := res.begin(addr)
	if err != nil {
		return err
	}
	v4, a := addr.Is4(), numberOf(addr)
	end := end6
	if v4 {
		end = end4
	}
	// The key is kept in the result, for what is passed through an interface
	// would otherwise be allocated on every call.
	found, err := r.table.Next(ctx, appendKey(res.key[:0], v4, a), end, nil, &res.row)
	if err != nil {
		return fmt.Errorf("ipgeo: look up %s: %w", addr, err)
	}
	if !found {
		return ErrNotFound
	}
	var row row
	if err := row.decode(res.row.Key, res.row.Cells[0].Value, v4); err != nil {
		return fmt.Errorf("ipgeo: look up %s: %w", addr, err)
	}
	if a.less(row.first) { // addr is in the gap before the row
		return ErrNotFound
	}
	res.fill(v4, a, row.first, row.last, &row.sections)
	return nil
}
