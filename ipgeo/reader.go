package ipgeo

import (
	"context"
	"encoding/json"
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
	Records int64 `json:"records"` // distinct records
}

// Reader looks addresses up. It borrows its store: close the store when no
// lookup runs any more.
type Reader struct{ table cellstore.Table }

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
	return &Reader{table: table}, nil
}

// Result is the answer to one lookup. The zero Result is ready for use; used
// again it allocates nothing.
type Result struct {
	// Addr is the address looked up: the IPv4 address where the one asked
	// about carries one, and without a zone. Set on ErrNotFound and
	// ErrReserved too.
	Addr netip.Addr
	// Network is the largest CIDR network that holds Addr and has the same
	// answer throughout. It is of the same version as Addr.
	Network netip.Prefix
	// First and Last bound the range the answer is from, both included.
	First, Last netip.Addr
	// Country is the ISO 3166-1 code of the country, or "".
	Country string
	// JSON holds the members of the answer's JSON object, without the braces
	// around them, so that a caller can put members of its own before or
	// after:
	//
	//	"continent":{…},"country":{…},"traits":{"network":"1.0.0.0/24"}
	//
	// It is valid until the next lookup into this Result.
	JSON []byte

	country []byte // the members from country-level sources, in row
	row     cellstore.Row
	key     [maxKey]byte
	json    []byte
}

// CountryJSON returns the members known from country-level sources,
// "continent" and "country": JSON without its "traits", to join with traits of
// the caller's. It is valid until the next lookup into this Result.
func (r *Result) CountryJSON() []byte { return r.country }

// Record decodes the answer. Unlike a lookup, it allocates.
func (r *Result) Record() (Record, error) {
	var rec Record
	b := make([]byte, 0, len(r.JSON)+2)
	b = append(append(append(b, '{'), r.JSON...), '}')
	if err := json.Unmarshal(b, &rec); err != nil {
		return Record{}, fmt.Errorf("ipgeo: record of %s: %w: %w", r.Addr, cellstore.ErrCorrupt, err)
	}
	return rec, nil
}

// Lookup finds the range that covers addr and puts it into res, with one seek
// of the store. An address nothing is known about answers ErrNotFound, one
// that belongs to nobody a *ReservedError, and the zero Addr ErrBadAddress;
// any other error is a failure of the store and no statement about the address.
func (r *Reader) Lookup(ctx context.Context, addr netip.Addr, res *Result) error {
	res.Network, res.First, res.Last, res.Country = netip.Prefix{}, netip.Addr{}, netip.Addr{}, ""
	res.JSON, res.country = nil, nil
	if !addr.IsValid() {
		res.Addr = netip.Addr{}
		return fmt.Errorf("ipgeo: %w: the zero Addr; parse one first", ErrBadAddress)
	}
	addr = resolve(addr)
	res.Addr = addr
	if s := special(addr); s != nil && !s.Block.Global {
		return s
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
	row, err := decodeRow(res.row.Key, res.row.Cells[0].Value, v4)
	if err != nil {
		return err
	}
	if a.less(row.first) { // addr is in the gap before the row
		return ErrNotFound
	}

	res.Network = network(v4, a, row.first, row.last)
	res.First, res.Last = addrOf(v4, row.first), addrOf(v4, row.last)
	res.Country = codeString(row.code)
	res.country = row.country
	j := res.json[:0]
	if len(row.country) > 0 {
		j = append(append(j, row.country...), ',')
	}
	j = append(j, `"traits":{"network":"`...)
	j = res.Network.AppendTo(j)
	j = append(j, `"}`...)
	res.json, res.JSON = j, j
	return nil
}
