package ipgeo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"quadrille/cellstore"
)

// ErrNotFound is returned when no range covers the address.
var ErrNotFound = errors.New("no range covers the address")

// renew is the command that replaces a table or an index of another layout.
const renew = "run ingest ip"

// Meta describes a built table. It is stored in the manifest of its generation
// and given to Open.
type Meta struct {
	Layout int   `json:"layout"` // of the rows
	Rows4  int64 `json:"rows4"`  // IPv4 ranges
	Rows6  int64 `json:"rows6"`  // IPv6 ranges
	// Private is set if private addresses are looked up, because a source may locate them.
	Private bool `json:"private,omitempty"`
}

// Reader looks up addresses. It borrows its store: close the store after the last lookup.
type Reader struct {
	table cellstore.Table
	meta  Meta
}

// Open returns a reader of the table that Build wrote, given the Meta it
// returned. Errors match cellstore.ErrLayout or come from the store.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Reader, error) {
	if err := cellstore.CheckLayout("the table ip", meta.Layout, Layout, Layout, renew); err != nil {
		return nil, fmt.Errorf("ipgeo: %w", err)
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

// Lookuper answers lookups. A Reader takes one seek of the store, an Index
// reads mapped memory, and their answers are equal.
type Lookuper interface {
	Lookup(ctx context.Context, addr netip.Addr, res *Result) error
}

var (
	_ Lookuper = (*Reader)(nil)
	_ Lookuper = (*Index)(nil)
)

// Lookup finds the range that covers addr and puts it into res, with one seek of the store. It
// returns ErrNotFound for an address that no range covers, a *ReservedError for one that belongs to
// no particular owner (a private one only if no range covers it), and ErrBadAddress for the zero
// Addr. Any other error is a failure of the store, independent of the address.
func (r *Reader) Lookup(ctx context.Context, addr netip.Addr, res *Result) error {
	addr, err := res.begin(addr, r.meta.Private)
	if err != nil {
		return err
	}
	v4, a := addr.Is4(), numberOf(addr)
	end := end6
	if v4 {
		end = end4
	}
	// The key buffer is in the result, because an argument of an interface call would be allocated
	// on every call.
	some, err := r.table.Next(ctx, appendKey(res.key[:0], v4, a), end, nil, &res.row)
	if err != nil {
		return fmt.Errorf("ipgeo: look up %s: %w", addr, err)
	}
	if !some {
		return res.nothing()
	}
	var row tableRow
	if err := row.decode(res.row.Key, res.row.Cells[0].Value); err != nil {
		return fmt.Errorf("ipgeo: look up %s: %w", addr, err)
	}
	i, first, last, ok, wrong := row.find(a)
	if wrong != "" {
		return fmt.Errorf("ipgeo: look up %s: %w", addr, corruptRow(row.key, wrong))
	}
	if !ok { // addr is in a gap
		return res.nothing()
	}
	var found answer
	if err := row.answer(i, &found); err != nil {
		return fmt.Errorf("ipgeo: look up %s: %w", addr, err)
	}
	res.fill(v4, a, first, last, &found)
	return nil
}
