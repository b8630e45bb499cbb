package ipgeo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"

	"quadrille/cellstore"
)

// Range is a closed range of addresses with the record known about it.
type Range struct {
	// First and Last are both included and of one IP version. A range of
	// IPv4-mapped IPv6 addresses is a range of IPv4 addresses.
	First, Last netip.Addr
	// Source is the rank of the range's source. Within one source the narrowest
	// range wins, and of equally wide ones the first given. Where several
	// sources have a winner, the answer takes each field from the lowest rank
	// that supplies it; see Build.
	Source uint16
	Record Record
	// Key, if not 0, identifies the record. Of the ranges with one key, Build
	// reads only the Record of the first it accepts; the others may leave
	// Record empty. Keys make a build several times as fast if many ranges of a
	// source have the same record.
	Key uint64
}

// BadRangeError says why Build refuses a range.
type BadRangeError struct {
	First, Last netip.Addr
	// Reason is one of the Reason constants.
	Reason string
	Err    error // for ReasonRecord, what is wrong with it; else nil
}

// The reasons of a BadRangeError.
const (
	ReasonAddress  = "invalid address"
	ReasonZone     = "address with a zone"
	ReasonFamily   = "mixed IPv4 and IPv6"
	ReasonReversed = "last address before first"
	ReasonRecord   = "invalid record"
)

func (e *BadRangeError) Error() string {
	s := fmt.Sprintf("range %s to %s: %s", e.First, e.Last, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s + "; correct it at its source or leave it out"
}

func (e *BadRangeError) Unwrap() error { return e.Err }

// Check returns the *BadRangeError with which Build would refuse the range's
// addresses, or nil. Callers that know the place of a range in its source can
// report both together.
func (r *Range) Check() error {
	if _, _, _, bad := r.bounds(); bad != nil {
		return bad
	}
	return nil
}

func (r *Range) bounds() (v4 bool, first, last u128, bad *BadRangeError) {
	refuse := func(reason string) (bool, u128, u128, *BadRangeError) {
		return false, u128{}, u128{}, &BadRangeError{First: r.First, Last: r.Last, Reason: reason}
	}
	f, l := r.First, r.Last
	if !f.IsValid() || !l.IsValid() {
		return refuse(ReasonAddress)
	}
	if f.Zone() != "" || l.Zone() != "" {
		return refuse(ReasonZone)
	}
	if f.Is4In6() && l.Is4In6() {
		f, l = f.Unmap(), l.Unmap()
	}
	if f.Is4() != l.Is4() {
		return refuse(ReasonFamily)
	}
	if l.Less(f) {
		return refuse(ReasonReversed)
	}
	return f.Is4(), numberOf(f), numberOf(l), nil
}

// ErrMemory is matched by the error of a build that would exceed MaxBytes.
var ErrMemory = errors.New("ranges exceed the memory allowed")

// BuildOptions are the options of Build. The zero value works.
type BuildOptions struct {
	// Timestamp is written to all cells, in milliseconds since 1970. It should
	// be the release or modification date of the source, so that equal input
	// gives equal bytes.
	Timestamp int64
	// MaxBytes bounds the memory for ranges, records and merged answers. 0
	// means 1 GiB, enough for about 15 million ranges. The store's own memory
	// and a few MiB of rows on their way to it are extra.
	MaxBytes int64
	// Bad is called with each refused range, which is left out. An error from
	// it ends the build. Nil makes the first bad range fatal.
	Bad func(*BadRangeError) error
	// Progress, if set, is called now and then with the ranges done so far and
	// their total, which is 0 while unknown. what is "read" or "write".
	Progress func(done, total int64, what string)
}

// Stats counts what a build read and wrote.
type Stats struct {
	Ranges   int64 // accepted
	Bad      int64 // refused
	Overlaps int64 // accepted ranges that begin inside an earlier range or equal it
	Reserved int64 // accepted ranges with addresses that are never looked up, which were cut off
	Joined   int64 // pieces joined with the adjacent one before, which has the same answer
}

// Build reads ranges in any order and writes the table "ip" into the store. Its
// rows are disjoint, and adjacent rows with equal answers are joined. An error
// of seq ends the build with that error. After any error the table has no rows.
//
// The answer takes each field as a whole from one source. Each member of Record
// is a field, except that members of Location, Traits and Extra are fields of
// their own; latitude, longitude and accuracy radius are one field. The first
// source that names a country decides. From a source that names another
// country, nothing is taken that says where an address is: continent, city,
// location, postal and subdivisions. Its traits, its extra fields, and the
// countries the address is registered in or represents still count. What a
// source states takes precedence over what another derived (Record.Derived),
// whatever their order.
//
// Addresses that are never looked up, because they are reserved or resolve to
// an IPv4 address, are cut out of the ranges. A row and its networks therefore
// cover exactly the addresses that it answers.
func Build(ctx context.Context, store cellstore.Store, seq iter.Seq2[Range, error], opts BuildOptions) (Meta, Stats, error) {
	b := builder{opts: opts, ids: make(map[string]uint32), keys: make(map[uint64]uint32), left: opts.MaxBytes}
	if b.left == 0 {
		b.left = 1 << 30
	}
	if err := b.read(ctx, seq); err != nil {
		return Meta{}, b.stats, fmt.Errorf("ipgeo: build: %w", err)
	}
	if err := store.CreateTable(ctx, schema()); err != nil {
		return Meta{}, b.stats, fmt.Errorf("ipgeo: build: %w", err)
	}
	table, err := store.Table(ctx, tableName)
	if err != nil {
		return Meta{}, b.stats, fmt.Errorf("ipgeo: build: %w", err)
	}
	meta, err := b.write(ctx, table)
	if err != nil {
		return Meta{}, b.stats, fmt.Errorf("ipgeo: build: %w", err)
	}
	return meta, b.stats, nil
}

// every is how many ranges pass between context checks and progress reports.
const every = 1 << 14

type builder struct {
	opts  BuildOptions
	stats Stats
	left  int64 // bytes of memory not yet used

	spans4, spans6 spans
	enc            encoder
	ids            map[string]uint32 // encoded record to its index in records
	keys           map[uint64]uint32 // Range.Key to it
	records        []string
}

func (b *builder) read(ctx context.Context, seq iter.Seq2[Range, error]) error {
	for r, err := range seq {
		if err != nil {
			return err
		}
		if done := b.stats.Ranges + b.stats.Bad; done%every == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if b.opts.Progress != nil {
				b.opts.Progress(done, 0, "read")
			}
		}
		if bad, err := b.add(&r); bad != nil {
			b.stats.Bad++
			if b.opts.Bad == nil {
				return bad
			}
			if err := b.opts.Bad(bad); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (b *builder) add(r *Range) (*BadRangeError, error) {
	v4, first, last, bad := r.bounds()
	if bad != nil {
		return bad, nil
	}
	id, err := b.record(r)
	if err != nil {
		return &BadRangeError{First: r.First, Last: r.Last, Reason: ReasonRecord, Err: err}, nil
	}
	of := &b.spans6
	if v4 {
		of = &b.spans4
	}
	if of.add(span{first: first, last: last, record: id, order: uint32(b.stats.Ranges), rank: uint32(r.Source) + 1}) {
		b.left -= chunkBytes
	}
	if b.left < 0 || b.stats.Ranges == 1<<32-1 {
		return nil, fmt.Errorf("%w after %d ranges and %d records; allow more, or build from fewer sources", ErrMemory, b.stats.Ranges, len(b.records))
	}
	b.stats.Ranges++
	return nil, nil
}

// record returns the index of a range's record. Its error is about the record.
func (b *builder) record(r *Range) (uint32, error) {
	if r.Key != 0 {
		if id, ok := b.keys[r.Key]; ok {
			return id, nil
		}
	}
	encoded, err := b.enc.encode(&r.Record)
	if err != nil {
		return 0, err
	}
	id, ok := b.ids[string(encoded)]
	if !ok {
		const overhead = 64 // of a map entry, a string and its header
		b.left -= int64(len(encoded)) + overhead
		id = uint32(len(b.records))
		s := string(encoded)
		b.ids[s] = id
		b.records = append(b.records, s)
	}
	if r.Key != 0 {
		const entry = 32 // of the map, spare room included
		b.left -= entry
		b.keys[r.Key] = id
	}
	return id, nil
}

func (b *builder) write(ctx context.Context, table cellstore.Table) (_ Meta, err error) {
	load, err := table.Bulk(ctx)
	if err != nil {
		return Meta{}, err
	}
	rows := startLoader(load, b.opts.Timestamp)
	defer func() {
		if err != nil {
			_ = rows.stop() // err is already its error, or caused it
			err = errors.Join(err, load.Abort())
		}
	}()
	meta := Meta{Layout: Layout, Records: int64(len(b.records))}
	b.ids, b.keys = nil, nil // free the memory for answers
	m := merger{records: b.records, limit: min(b.left, maxAnswers)}
	var done, before int64 // ranges done at the last report, and in earlier IP versions
	for _, f := range []struct {
		v4    bool
		spans *spans
		rows  *int64
	}{{true, &b.spans4, &meta.Rows4}, {false, &b.spans6, &meta.Rows6}} {
		w := rowWriter{load: rows, v4: f.v4}
		s := newSweep(f.spans, unreachable(f.v4))
		for s.next() {
			if len(s.piece.records) == 0 {
				err = w.flush()
			} else {
				err = w.add(s.piece.first, s.piece.last, m.answer(s.piece.records))
			}
			if err != nil {
				return Meta{}, err
			}
			if before+s.begun-done >= every {
				done = before + s.begun
				if err := ctx.Err(); err != nil {
					return Meta{}, err
				}
				if b.opts.Progress != nil {
					b.opts.Progress(done, b.stats.Ranges, "write")
				}
			}
		}
		if err := w.flush(); err != nil {
			return Meta{}, err
		}
		before += s.begun
		*f.rows = w.rows
		b.stats.Overlaps += s.overlaps
		b.stats.Reserved += s.reserved
		b.stats.Joined += w.joined
	}
	if err := rows.finish(); err != nil {
		return Meta{}, err
	}
	return meta, load.Commit(ctx)
}

// maxAnswers bounds the merged answers cached for the next time their records
// meet.
const maxAnswers = 64 << 20

// rowWriter joins adjacent pieces with equal answers and sends the rows to the
// loader. Compressing rows takes as long as merging, so two processors share
// the work.
type rowWriter struct {
	load *loader
	v4   bool

	first, last  u128   // of the pending row
	answer       string // its sections; "" if no row is pending
	rows, joined int64
}

func (w *rowWriter) add(first, last u128, answer string) error {
	if w.answer == answer && w.last.inc() == first {
		w.last = last
		w.joined++
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.first, w.last, w.answer = first, last, answer
	return nil
}

func (w *rowWriter) flush() error {
	if w.answer == "" {
		return nil
	}
	w.rows++
	err := w.load.add(loadRow{w.v4, w.first, w.last, w.answer})
	w.answer = ""
	return err
}
