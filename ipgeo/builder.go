package ipgeo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"

	"quadrille/cellstore"
	"quadrille/internal/extsort"
)

// Range is a closed range of addresses with its record.
type Range struct {
	// First and Last are both included and of one IP version. A range of
	// IPv4-mapped IPv6 addresses is a range of IPv4 addresses.
	First, Last netip.Addr
	// Source is the rank of the range's source. Within one source the narrowest range wins, and of
	// equally wide ones the first given. If several sources have a winner, the answer takes each
	// field from the lowest rank that supplies it; see Build.
	Source uint16
	Record Record
	// Prepared, if set, is the record, and Record is ignored.
	Prepared *PreparedRecord
}

// BadRangeError is the error of Build for a refused range.
type BadRangeError struct {
	First, Last netip.Addr
	// Reason is one of the Reason constants.
	Reason string
	Err    error // for ReasonRecord, the fault of the record; else nil
}

// These are the reasons of a BadRangeError.
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

// Check returns the *BadRangeError with which Build would refuse the range's addresses, or nil. It
// lets callers that know the place of a range in its source report both together.
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

// BuildOptions are the options of Build. The zero value is valid.
type BuildOptions struct {
	// Timestamp is written to all cells, in milliseconds since 1970. It should
	// be the release or modification date of the source, so that equal input
	// gives equal bytes.
	Timestamp int64
	// Memory is the approximate limit of the build's memory, in bytes. 0 means 512 MiB, and the
	// least is 16 MiB. More memory makes a build of many ranges faster. The store's own memory and
	// a few MiB of rows on their way to it are extra.
	Memory int64
	// TempDir is the directory for sorting ranges that do not fit in memory. It needs about 50
	// bytes for each range, and room for each record that does not fit. Empty means the system's.
	TempDir string
	// KeepPrivate reports whether a source may locate private networks: those of RFC 1918,
	// 100.64.0.0/10 (RFC 6598) and fc00::/7 (RFC 4193). Their addresses are cut out of the ranges
	// of other sources. Nil: no source may.
	KeepPrivate func(source uint16) bool
	// OnBadRange is called with each refused range, which Build then skips. An error from it ends the
	// build. Nil makes the first bad range fatal.
	OnBadRange func(*BadRangeError) error
	// Progress, if set, is called at intervals, and at the end of each stage, with the ranges done.
	// Reading the ranges is not reported: the sequence knows its own progress better.
	Progress func(stage string, done, total int64)
}

// Stats counts what a build read and wrote.
type Stats struct {
	Ranges   int64 // accepted
	Bad      int64 // refused
	Overlaps int64 // accepted ranges that begin inside an earlier range or equal it
	Reserved int64 // accepted ranges that lost addresses, because these are never looked up or are private
	Joined   int64 // pieces joined with the previous one, which is adjacent and has the same answer
	// Disagreements counts the runs of addresses that a source places elsewhere than a source of lower
	// rank. DisagreementFirst and DisagreementLast are the first such run.
	Disagreements                       int64
	DisagreementFirst, DisagreementLast netip.Addr
}

// Build reads ranges in any order and writes the table "ip" into the store. Its
// rows are disjoint, and adjacent rows with equal answers are joined. An error
// of seq ends the build with that error. After any error the table has no rows.
//
// The answer takes each field as a whole from one source. Each member of Record is a field, except
// that members of Location, Traits and Extra are fields of their own; latitude, longitude and
// accuracy radius are one field. The first source that names a country decides. From a source that
// names another country, nothing is taken about the place of an address: continent, city, location,
// postal and subdivisions. Its traits, its extra fields, and the countries the address is
// registered in or represents still count. City, subdivisions, postal code, coordinates, radius and
// metro code come from the first source that has any of the first four. They also come from the
// sources that name the same city, or the same subdivision if the first source names no city. The
// organization of an autonomous system comes from a source with its number. Values that a source
// states take precedence over values that another derived (Record.DerivedFields) and values that follow
// from the code of its country (Record.ImpliedFields), in any order of the sources.
//
// Addresses that are never looked up, because they are reserved or resolve to an IPv4 address, are
// cut out of the ranges. So are private ones, depending on BuildOptions.KeepPrivate. A row and its
// networks therefore cover exactly the addresses that it answers.
//
// Data that exceeds the memory is sorted on disk, so any number of ranges and records can be built.
// The rows do not depend on the memory.
func Build(ctx context.Context, store cellstore.Store, seq iter.Seq2[Range, error], opts BuildOptions) (Meta, Stats, error) {
	return build(ctx, store, seq, opts, shares(opts.Memory))
}

// budget divides the memory of a build, in bytes.
type budget struct{ sort, records, answers, nested int64 }

const (
	defaultMemory = 512 << 20
	minMemory     = 16 << 20
	// maxAnswers bounds the cache of merged answers. A larger cache is no faster.
	maxAnswers = 64 << 20
)

func shares(memory int64) budget {
	if memory == 0 {
		memory = defaultMemory
	}
	memory = max(memory, minMemory)
	return budget{sort: memory / 4, records: memory / 2, answers: min(memory/8, maxAnswers), nested: memory / 16}
}

func build(ctx context.Context, store cellstore.Store, seq iter.Seq2[Range, error], opts BuildOptions,
	memory budget) (meta Meta, _ Stats, err error) {
	b := builder{
		ctx: ctx, opts: opts, memory: memory,
		records: newRecordSet(memory.records), sorter: extsort.NewBytes(opts.TempDir, memory.sort),
	}
	defer func() {
		if err = errors.Join(err, b.sorter.Close()); err != nil {
			meta, err = Meta{}, fmt.Errorf("ipgeo: build: %w", err)
		}
	}()
	if err := b.read(seq); err != nil {
		return Meta{}, b.stats, err
	}
	if err := store.CreateTable(ctx, schema()); err != nil {
		return Meta{}, b.stats, err
	}
	table, err := store.Table(ctx, tableName)
	if err != nil {
		return Meta{}, b.stats, err
	}
	meta, err = b.write(table)
	return meta, b.stats, err
}

// every is the number of ranges between checks of the context, and between reports of progress.
const every = 1 << 14

type builder struct {
	ctx    context.Context
	opts   BuildOptions
	memory budget
	stats  Stats

	enc     encoder
	records *recordSet
	sorter  *extsort.ByteSorter

	key, value []byte
}

func (b *builder) read(seq iter.Seq2[Range, error]) error {
	for r, err := range seq {
		if err != nil {
			return err
		}
		if (b.stats.Ranges+b.stats.Bad)%every == 0 {
			if err := b.ctx.Err(); err != nil {
				return err
			}
		}
		if bad, err := b.add(&r); bad != nil {
			b.stats.Bad++
			if b.opts.OnBadRange == nil {
				return bad
			}
			if err := b.opts.OnBadRange(bad); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return b.ctx.Err()
}

func (b *builder) add(r *Range) (*BadRangeError, error) {
	v4, first, last, bad := r.bounds()
	if bad != nil {
		return bad, nil
	}
	s := span{first: first, last: last, order: uint64(b.stats.Ranges), rank: uint32(r.Source) + 1}
	switch p := r.Prepared; {
	case p != nil && p.empty():
		return &BadRangeError{First: r.First, Last: r.Last, Reason: ReasonRecord, Err: errEmptyRecord}, nil
	case p != nil:
		s.record = p.ref(b.records)
	default:
		encoded, err := b.enc.encode(&r.Record)
		if err != nil {
			return &BadRangeError{First: r.First, Last: r.Last, Reason: ReasonRecord, Err: err}, nil
		}
		s.record = refOf(b.records, encoded)
	}
	b.stats.Ranges++
	b.key, b.value = appendKey(b.key[:0], v4, first), s.appendValue(b.value[:0], v4)
	return nil, b.sorter.Add(b.key, b.value)
}

func (b *builder) write(table cellstore.Table) (_ Meta, err error) {
	load, err := table.Bulk(b.ctx)
	if err != nil {
		return Meta{}, err
	}
	rows := startLoader(load, b.opts.Timestamp)
	defer func() {
		if err != nil {
			_ = rows.stop() // err is that failure already, or has caused it
			err = errors.Join(err, load.Abort())
		}
	}()
	b.progress("sorting ranges", 0)
	meta := Meta{Layout: Layout, Private: b.opts.KeepPrivate != nil}
	m := merger{records: b.records, limit: b.memory.answers}
	var f *familyWriter // of the current IP version
	end := func() error {
		if f == nil {
			return nil
		}
		ended := f
		f = nil
		return errors.Join(b.finish(ended, &meta), ended.sweep.close())
	}
	defer func() {
		if f != nil {
			err = errors.Join(err, f.sweep.close())
		}
	}()
	var done int64
	var s span
	err = b.sorter.Each(func(key, value []byte) error {
		v4, err := s.decode(key, value)
		if err != nil {
			return err
		}
		if f == nil || f.v4 != v4 {
			if err := end(); err != nil {
				return err
			}
			f = newFamilyWriter(b, v4, rows, &m)
		}
		if done++; done%every == 0 {
			b.progress("writing ranges", done)
			if err := b.ctx.Err(); err != nil {
				return err
			}
		}
		return f.sweep.add(&s)
	})
	if err == nil {
		err = end()
	}
	if err != nil {
		return Meta{}, err
	}
	if err := rows.finish(); err != nil {
		return Meta{}, err
	}
	b.progress("writing ranges", done)
	// Once the rows are written, no error may occur.
	if err := b.sorter.Close(); err != nil {
		return Meta{}, err
	}
	return meta, load.Commit(b.ctx)
}

func (b *builder) progress(stage string, done int64) {
	if b.opts.Progress != nil {
		b.opts.Progress(stage, done, b.stats.Ranges)
	}
}

// finish writes the last rows of an IP version and adds up its counts.
func (b *builder) finish(f *familyWriter, meta *Meta) error {
	if err := f.sweep.finish(); err != nil {
		return err
	}
	if err := f.flush(); err != nil {
		return err
	}
	if f.v4 {
		meta.Rows4 = f.rows
	} else {
		meta.Rows6 = f.rows
	}
	b.stats.Overlaps += f.sweep.overlaps
	b.stats.Reserved += f.sweep.reserved
	b.stats.Joined += f.joined
	return nil
}

// familyWriter makes the rows of one IP version.
type familyWriter struct {
	rowWriter
	sweep *sweep
}

func newFamilyWriter(b *builder, v4 bool, rows *loader, m *merger) *familyWriter {
	f := &familyWriter{rowWriter: rowWriter{load: rows, v4: v4}}
	pieces := 0
	f.sweep = newSweep(v4, b.opts.TempDir, b.memory.nested, b.opts.KeepPrivate, func(p *piece) error {
		if pieces++; pieces%every == 0 {
			if err := b.ctx.Err(); err != nil {
				return err
			}
		}
		answer := "" // no source has an answer
		if len(p.records) > 0 {
			if answer = m.answer(p.records); m.apart {
				if b.stats.Disagreements++; b.stats.Disagreements == 1 {
					b.stats.DisagreementFirst, b.stats.DisagreementLast = addrOf(v4, p.first), addrOf(v4, p.last)
				}
			}
		}
		if answer == "" {
			return f.flush()
		}
		return f.add(p.first, p.last, answer)
	})
	return f
}

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
