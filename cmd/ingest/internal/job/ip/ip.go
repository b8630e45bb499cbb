// Package ip publishes IP geolocation from databases and lists.
package ip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/ipgeo"
)

// Input is a source of address ranges: a file of any kind that openSource
// knows, or the folder of a GeoLite2 CSV set.
type Input struct {
	job.Input
	// Columns of a list of ranges; nil when they are to be recognised.
	Columns []ipcsv.Column
}

// Options are the options of Ingest.
type Options struct {
	job.Options
	// Derive fills in the subdivision, time zone and country of records that have coordinates, from
	// the published boundaries and places.
	Derive bool
	// KeepPrivate allows lists, and not only databases, to locate private networks.
	KeepPrivate bool
	// Check compares the build with the published generation even without MaxChange. In this job
	// MaxChange is the share of addresses whose answers may change. The error for more is a
	// *ChangeError.
	Check bool
	// OnCompared, if set, receives the result of the comparison.
	OnCompared func(Change)
	// Columns are those of lists by their names, which count more than Input.Columns.
	Columns []NamedColumns
}

// costs are for each byte of the sources. A database and a list of networks
// have about as many bytes for each range.
var costs = job.Costs{Nanoseconds: 250, Memory: 8, Disk: 4}

// maxSources bounds the number of sources of a data set, because ranks have 16 bits.
const maxSources = 1000

// Ingest publishes the data set "ip" from sources of address ranges, IPv4 and IPv6. Each source
// has a rank, in the order given. Each field comes from the first source that has it, and within
// a source from the narrowest range.
//
// A range is empty if it has no field, or only a country that is empty, "-", "--", "None", "ZZ" or
// "XX". An empty range is left out, so that a wider range or a later source may answer. In a
// geofeed it prevents the feed's wider ranges from answering. It is not a fault of the source.
// Codes that are not assigned are bad records. AP and EU, which are not countries, are kept, as
// package iso3166 explains.
func Ingest(ctx context.Context, c *dataset.Catalog, inputs []Input, o Options) (dataset.Manifest, error) {
	if len(inputs) == 0 {
		return dataset.Manifest{}, errors.New("no files; name at least one source of address ranges")
	}
	rep := o.ReporterOrSilent()
	files, err := features.New(ctx, rep, "", o.Stdin)
	if err != nil {
		return dataset.Manifest{}, err
	}
	defer func() { _ = files.Close() }()
	if inputs, err = eachFile(files, inputs, o.Columns, rep); err != nil {
		return dataset.Manifest{}, err
	}
	if len(inputs) > maxSources {
		return dataset.Manifest{}, fmt.Errorf("%d sources are too many; name at most %d at once", len(inputs), maxSources)
	}
	if err := o.Announce(c, costs.NeedFor(unpackedBytes(inputs))); err != nil {
		return dataset.Manifest{}, err
	}
	var fill *filler
	if o.Derive {
		var err error
		if fill, err = openFiller(ctx, c); err != nil {
			return dataset.Manifest{}, err
		}
		defer fill.zones.Close()
	}
	publish := o.Options
	publish.MaxChange = nil // answers are compared below, not rows
	return job.Publish(ctx, c, ask.Addresses.Dataset, publish, func(b *dataset.Build, m *dataset.Manifest) (any, error) {
		in, err := openRanges(ctx, inputs, o, fill, b.Dir())
		if err != nil {
			return nil, err
		}
		defer func() { _ = in.close() }() // only read, and closed below when all went well
		var keep func(uint16) bool
		if o.KeepPrivate {
			keep = func(i uint16) bool { _, list := in.sources[i].(*listSource); return list }
		}
		meta, stats, err := ipgeo.Build(ctx, b.Store(), in.ranges, ipgeo.BuildOptions{
			KeepPrivate: keep,
			Timestamp:   in.timestamp(),
			Memory:      o.MemoryLimit() / 2, // the rest is the readers', the store's and garbage
			TempDir:     filepath.Dir(b.Dir()),
			Progress:    job.ProgressOf(rep, "ranges"),
		})
		in.tally.Report(rep)
		if err != nil {
			return nil, err
		}
		if err := in.tally.Err(); err != nil {
			return nil, err
		}
		if meta.Rows4+meta.Rows6 == 0 {
			return nil, errors.New("the sources say nothing of any public address; check that they are sources of address ranges")
		}
		in.notes(rep, stats, o.KeepPrivate)
		if err := finish(ctx, c, b, meta, o); err != nil {
			return nil, err
		}
		sources, err := in.describe(ctx)
		if err != nil {
			return nil, err
		}
		// Unpacked files must not become part of the generation.
		if err := in.close(); err != nil {
			return nil, err
		}
		*m = dataset.Manifest{
			Records: map[string]int64{"ipv4": meta.Rows4, "ipv6": meta.Rows6},
			Bad:     in.tally.Counts(),
			Sources: sources,
		}
		return meta, nil
	})
}

func unpackedBytes(inputs []Input) (n int64) {
	for _, in := range inputs {
		n += job.UnpackedBytes(in.OnDisk())
	}
	return n
}

// finish compares the new generation with the published one, if the options require it, and writes
// the index file.
func finish(ctx context.Context, c *dataset.Catalog, b *dataset.Build, meta ipgeo.Meta, o Options) error {
	r, err := ipgeo.Open(ctx, b.Store(), meta)
	if err != nil {
		return err
	}
	if o.Check || o.MaxChange != nil {
		if err := check(ctx, c, r, o); err != nil {
			return err
		}
	}
	return index(ctx, r, filepath.Join(b.Dir(), ipgeo.IndexFileName), o)
}

// index writes the index file, and checks that its answers equal those of the table.
func index(ctx context.Context, r *ipgeo.Reader, path string, o Options) (err error) {
	rep := o.ReporterOrSilent()
	options := ipgeo.IndexOptions{
		Memory:   o.MemoryLimit() / 8, // the rest is the store's, the file's and garbage
		Progress: job.StageOf(rep, "writing the index", "ranges"),
	}
	if _, err := ipgeo.BuildIndex(ctx, r, path, options); err != nil {
		return err
	}
	ix, err := ipgeo.OpenIndex(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	if err := ipgeo.CheckIndex(ctx, r, ix, job.StageOf(rep, "checking the index", "ranges")); err != nil {
		return fmt.Errorf("the index just written differs from its table: %w; this is a mistake of the program, please report it", err)
	}
	return nil
}

// rangeInputs are the sources of an IP job. All are opened at once, because the newest date must
// be known before the first row is written.
type rangeInputs struct {
	ctx     context.Context
	sources []ipSource
	fill    *filler
	files   *features.Files
	rep     job.Reporter
	tally   *job.Tally
	temp    string

	size       int64 // of all files on disk
	unassigned int64
	blank      int64
	records    []int64      // good ones, by source
	memory     int64        // of the whole program
	said       geojson.Said // of JSON documents
	closed     bool
}

func openRanges(ctx context.Context, inputs []Input, o Options, fill *filler, dir string) (_ *rangeInputs, err error) {
	in := &rangeInputs{
		ctx:     ctx,
		rep:     o.ReporterOrSilent(),
		tally:   job.NewTally(o.MaxBad),
		fill:    fill,
		records: make([]int64, len(inputs)),
		memory:  o.MemoryLimit(),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.close())
		}
	}()
	in.tally.ToleratedCount = 1 // in a small list one row is more than any share
	in.tally.Excuse = func(b *source.BadRecord) bool {
		return b.Reason == iprecord.ReasonRegion || b.Reason == iprecord.ReasonOrigins || b.Reason == reasonAgain
	}
	if in.temp, err = os.MkdirTemp(dir, "unpacked-"); err != nil {
		return nil, err
	}
	if in.files, err = features.New(ctx, in.rep, in.temp, nil); err != nil {
		return nil, err
	}
	for _, i := range inputs {
		s, err := openSource(i, in.files, in.temp, in.memory, &in.said)
		if err != nil {
			return nil, i.Named(err)
		}
		in.sources = append(in.sources, s)
		in.rep.Note(fmt.Sprintf("%s: %s", i.Path, s.kind()))
		in.size += s.size()
	}
	return in, nil
}

// close closes the sources and removes unpacked files.
func (in *rangeInputs) close() (err error) {
	if in.closed {
		return nil
	}
	in.closed = true
	for _, s := range in.sources {
		err = errors.Join(err, s.close())
	}
	if in.files != nil {
		err = errors.Join(err, in.files.Close())
	}
	if in.temp != "" {
		err = errors.Join(err, os.RemoveAll(in.temp))
	}
	return err
}

// timestamp returns the cell timestamp of the generation.
func (in *rangeInputs) timestamp() int64 {
	sources := make([]dataset.Source, len(in.sources))
	for i, s := range in.sources {
		sources[i].Modified = s.modified()
	}
	return dataset.Timestamp(sources)
}

func (in *rangeInputs) describe(ctx context.Context) ([]dataset.Source, error) {
	var all []dataset.Source
	for i, s := range in.sources {
		list, err := s.describe(ctx)
		if err != nil {
			return nil, err
		}
		list[0].Records = in.records[i]
		all = append(all, list...)
	}
	if in.fill != nil {
		all = append(all, in.fill.credits()...)
	}
	return all, nil
}

func (in *rangeInputs) notes(rep job.Reporter, stats ipgeo.Stats, private bool) {
	if in.unassigned > 0 {
		rep.Note(fmt.Sprintf("%d ranges say nothing of their addresses and were left out", in.unassigned))
	}
	if in.blank > 0 {
		rep.Note(fmt.Sprintf("%d networks of geofeeds are not to be located: no wider network of their feed answers for them", in.blank))
	}
	for _, s := range in.sources {
		if l, ok := s.(*listSource); ok && l.document != nil {
			for _, note := range l.document.Notes() {
				rep.Note(note)
			}
		}
		if l, ok := s.(*listSource); ok && l.table != nil && l.table.SystemLines > 0 {
			rep.Note(fmt.Sprintf("%s: %d lines are of autonomous systems, not addresses, and were left out", s.path(), l.table.SystemLines))
		}
		if l, ok := s.(*listSource); ok && l.table != nil && l.table.Shared > 0 {
			rep.Note(fmt.Sprintf("%s: %d networks are announced by several systems, of which the first is taken", s.path(), l.table.Shared))
		}
	}
	if stats.Overlaps > 0 {
		rep.Note(fmt.Sprintf("%d ranges overlap others: of each field the source named first answers, and in it the narrowest range",
			stats.Overlaps))
	}
	if stats.Disagreements > 0 {
		rep.Note(fmt.Sprintf("%d ranges are elsewhere by a later source than by one before it, such as %s to %s: "+
			"the one named first says where they are, and what the later one says of that was left out", stats.Disagreements,
			stats.DisagreementFirst,
			stats.DisagreementLast))
	}
	if stats.Reserved > 0 {
		hint := ""
		if !private && slices.ContainsFunc(in.sources, func(s ipSource) bool { _, list := s.(*listSource); return list }) {
			hint = " (--keep-private keeps what lists say of private ones)"
		}
		rep.Note(fmt.Sprintf("%d ranges touch addresses that are reserved or carry IPv4 addresses; those were cut out%s", stats.Reserved, hint))
	}
	if in.fill != nil {
		in.fill.note(rep)
	}
}

// ranges yields the good ranges of all sources, and counts the bad ones. Its error comes from a
// source, or is about too many bad records.
func (in *rangeInputs) ranges(yield func(ipgeo.Range, error) bool) { job.Sequence(in.read)(yield) }

func (in *rangeInputs) read(take func(ipgeo.Range) error) error {
	var before int64 // bytes of the sources already read
	for i, s := range in.sources {
		report := func() {
			in.rep.Progress(job.Progress{Stage: "reading ranges", Done: before + s.done(), Total: in.size, Unit: "bytes"})
		}
		c := &converter{memory: in.memory / 8}
		if in.fill != nil {
			c.fill = func(r *ipgeo.Record) error { return in.fill.record(in.ctx, r) }
		}
		err := job.ReadRecords(in.ctx, s.ranges(c), in.tally, report, func(rec ipRange) error {
			if err := in.check(&rec); err != nil {
				return err
			}
			in.records[i]++
			for _, lost := range rec.lost {
				if err := in.tally.Bad(lost); err != nil {
					return err
				}
			}
			if rec.blank {
				in.blank++
			}
			if rec.record == nil {
				in.unassigned++
				return nil
			}
			return take(ipgeo.Range{First: rec.first, Last: rec.last, Source: uint16(i), Prepared: rec.record})
		})
		if err != nil {
			return err
		}
		if in.records[i] == 0 {
			err := fmt.Errorf("%s: no range in it can be read; it was taken for a %s", s.path(), s.kind())
			if bad := in.tally.Err(); bad != nil {
				err = fmt.Errorf("%w: %w", err, bad)
			} else if e := in.tally.Example(); e != nil {
				err = fmt.Errorf("%w; the first that is bad: %w", err, e)
			}
			return err
		}
		before += s.size()
	}
	if err := in.said.Missing("ingest ip PAGE1 PAGE2"); err != nil {
		return err
	}
	return in.tally.Err()
}

// check refuses a range that Build would refuse, and adds its position.
func (in *rangeInputs) check(rec *ipRange) error {
	r := ipgeo.Range{First: rec.first, Last: rec.last}
	err := r.Check()
	var bad *ipgeo.BadRangeError
	if errors.As(err, &bad) {
		return &source.BadRecord{Source: rec.label, Line: rec.line, Reason: bad.Reason, Detail: fmt.Sprintf("%s to %s", rec.first, rec.last)}
	}
	return err
}

// ipRange is one range of a source.
type ipRange struct {
	first, last netip.Addr
	record      *ipgeo.PreparedRecord // shared by ranges of equal raw records; nil if it is empty
	lost        []error               // a *source.BadRecord for each thing of a good range that has no effect
	blank       bool                  // its addresses are not to be located
	label       string
	line        int
}
