package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/iso3166"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/ipgeo"
)

// IPDataset is the name of the data set IP publishes.
const IPDataset = "ip"

// IP publishes the data set "ip" from lists of address ranges with countries,
// IPv4 and IPv6. Where two files cover one address the first named answers;
// within a file, the narrowest range.
//
// A range whose country is empty, "-", "--", "ZZ" or "XX" says that nothing is
// known of it; it is left out, so that a wider range or a later file may
// answer. That is no fault of the file. Every other code of two letters is
// kept, and so are the codes AP and EU, which are not countries, as package
// iso3166 explains.
func IP(ctx context.Context, c *dataset.Catalog, inputs []Input, o Options) (dataset.Manifest, error) {
	if len(inputs) == 0 {
		return dataset.Manifest{}, errors.New("no files; name at least one list of address ranges")
	}
	rep := o.reporter()
	return publish(ctx, c, IPDataset, rep, func(b *dataset.Build) (dataset.Manifest, error) {
		in, err := openRanges(inputs, o)
		if err != nil {
			return dataset.Manifest{}, err
		}
		defer in.close()
		meta, stats, err := ipgeo.Build(ctx, b.Store(), in.ranges, ipgeo.BuildOptions{
			Timestamp: in.timestamp(),
			Progress: func(done, total int64, what string) {
				if what == "write" {
					rep.Progress(Progress{Stage: "writing ranges", Done: done, Total: total, Unit: "ranges"})
				}
			},
		})
		in.tally.Report(rep)
		if err != nil {
			return dataset.Manifest{}, err
		}
		if meta.Rows4+meta.Rows6 == 0 {
			return dataset.Manifest{}, errors.New("the files give no public address a country; check that they are lists of address ranges")
		}
		if in.unassigned > 0 {
			rep.Note(fmt.Sprintf("%d ranges have no country and were left out", in.unassigned))
		}
		if stats.Overlaps > 0 {
			rep.Note(fmt.Sprintf("%d ranges overlap others: the file named first answers, and in it the narrowest range", stats.Overlaps))
		}
		if stats.Reserved > 0 {
			rep.Note(fmt.Sprintf("%d ranges touch addresses that are reserved or carry IPv4 addresses; those were cut out", stats.Reserved))
		}
		sources, err := in.describe()
		if err != nil {
			return dataset.Manifest{}, err
		}
		m, err := json.Marshal(meta)
		if err != nil {
			return dataset.Manifest{}, err
		}
		return dataset.Manifest{
			SchemaVersion: ipgeo.Layout,
			Records:       map[string]int64{"ipv4": meta.Rows4, "ipv6": meta.Rows6},
			Bad:           in.tally.Counts(),
			Sources:       sources,
			Meta:          m,
		}, nil
	})
}

// rangeInputs are the files of an IP job, opened at once: the age of the
// newest must be known before the first row is written.
type rangeInputs struct {
	inputs []Input
	files  []*source.File
	rep    Reporter
	tally  *Tally

	size       int64 // of all files on disk
	unassigned int64
	records    map[string]ipgeo.Record // by code as the files write it
}

func openRanges(inputs []Input, o Options) (*rangeInputs, error) {
	in := &rangeInputs{inputs: inputs, rep: o.reporter(), tally: NewTally(o.MaxBad), records: map[string]ipgeo.Record{}}
	for _, i := range inputs {
		f, err := i.open()
		if err != nil {
			in.close()
			return nil, err
		}
		in.files = append(in.files, f)
		in.size += f.Size
	}
	return in, nil
}

func (in *rangeInputs) close() {
	for _, f := range in.files {
		_ = f.Close() // only read
	}
}

// timestamp is the cell timestamp of the generation.
func (in *rangeInputs) timestamp() int64 {
	sources := make([]dataset.Source, len(in.files))
	for i, f := range in.files {
		sources[i].Modified = f.Modified
	}
	return dataset.Timestamp(sources)
}

func (in *rangeInputs) describe() ([]dataset.Source, error) {
	sources := make([]dataset.Source, len(in.files))
	for i, f := range in.files {
		s, err := in.inputs[i].describe(f)
		if err != nil {
			return nil, err
		}
		sources[i] = s
	}
	return sources, nil
}

// ranges yields the good ranges of all files, and counts the others. Its error
// is that of a file, or of too many bad records.
func (in *rangeInputs) ranges(yield func(ipgeo.Range, error) bool) {
	var before int64 // bytes of the files already read
	for i, f := range in.files {
		good := in.tally.good
		for rec, err := range ipcsv.Read(f, in.inputs[i].Path) {
			if rec.Line%(1<<14) == 1 {
				in.rep.Progress(Progress{Stage: "reading ranges", Done: before + f.Progress(), Total: in.size, Unit: "bytes"})
			}
			var r ipgeo.Range
			if err == nil {
				r, err = in.assign(rec, in.inputs[i].Path, uint16(min(i, 1<<16-1)))
			}
			if err != nil {
				if err := in.tally.Bad(err); err != nil {
					yield(ipgeo.Range{}, err)
					return
				}
				continue
			}
			in.tally.Good()
			if r.Record.Country.ISOCode == "" {
				in.unassigned++
			} else if !yield(r, nil) {
				return
			}
		}
		if in.tally.good == good {
			err := fmt.Errorf("%s: no range in it can be read; it should hold lines such as 1.0.0.0,1.0.0.255,AU", f.Path)
			if bad := in.tally.Err(); bad != nil {
				err = fmt.Errorf("%w: %w", err, bad)
			}
			yield(ipgeo.Range{}, err)
			return
		}
		before += f.Size
	}
	in.rep.Progress(Progress{Stage: "reading ranges", Done: in.size, Total: in.size, Unit: "bytes"})
	if err := in.tally.Err(); err != nil {
		yield(ipgeo.Range{}, err)
	}
}

// assign makes a range of a record. One without a country has the zero Record.
func (in *rangeInputs) assign(rec ipcsv.Record, path string, rank uint16) (ipgeo.Range, error) {
	r := ipgeo.Range{First: rec.First, Last: rec.Last, Source: rank}
	refuse := func(reason, detail string) (ipgeo.Range, error) {
		return ipgeo.Range{}, &source.BadRecord{Source: path, Line: rec.Line, Reason: reason, Detail: detail}
	}
	if err := r.Check(); err != nil {
		var bad *ipgeo.BadRangeError
		if !errors.As(err, &bad) {
			return ipgeo.Range{}, err
		}
		return refuse(bad.Reason, fmt.Sprintf("%s to %s", rec.First, rec.Last))
	}
	switch rec.Country {
	case "", "-", "--", "ZZ", "XX":
		return r, nil
	}
	record, ok := in.records[rec.Country]
	if !ok {
		c, is := iso3166.Lookup(rec.Country)
		if !is {
			return refuse("not a country code", source.Excerpt(rec.Country))
		}
		record.Country = ipgeo.Country{ISOCode: c.Code, IsInEuropeanUnion: c.EU}
		if c.Name != "" {
			record.Country.Names = ipgeo.Names{"en": c.Name}
		}
		if c.Continent != "" {
			record.Continent = ipgeo.Continent{Code: c.Continent, Names: ipgeo.Names{"en": iso3166.ContinentName(c.Continent)}}
		}
		in.records[rec.Country] = record // at most 52 × 52 spellings
	}
	r.Record = record
	return r, nil
}
