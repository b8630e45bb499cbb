// Package airports publishes airports, with their time zones.
package airports

import (
	"context"
	"fmt"
	"hash/fnv"
	"path/filepath"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/ourairports"
	"quadrille/places/airports"
)

// Ingest reads a file of OurAirports, or one of its layout, and publishes a
// generation of its airports.
//
// The file of OurAirports has no time zones. They come from the published places, time zones and
// boundaries of type timezone, so ingest those first; [zonefinder.Finder] gives their order of
// precedence. A column tz in the file wins.
func Ingest(ctx context.Context, c *dataset.Catalog, in job.Input, o job.Options) (dataset.Manifest, error) {
	rep := o.ReporterOrSilent()
	files, err := features.New(ctx, rep, "", o.Stdin)
	if err != nil {
		return dataset.Manifest{}, err
	}
	defer func() { _ = files.Close() }() // what it removes is temporary
	if in, err = files.One(in); err != nil {
		return dataset.Manifest{}, err
	}
	f, err := in.Open(ourairports.IsTableMember, source.WantRows)
	if err != nil {
		return dataset.Manifest{}, err
	}
	defer f.Close()
	zones, err := zonefinder.Open(ctx, c)
	if err != nil {
		return dataset.Manifest{}, err
	}
	defer zones.Close()
	r := &airportReader{
		ctx:   ctx,
		in:    in,
		file:  f,
		rep:   rep,
		tally: job.NewTally(o.MaxBad),
		zones: zones,
		ids:   map[uint32]string{},
		zero:  job.NullIsland{Drop: o.DropZero},
	}
	return job.Publish(ctx, c, ask.Airports.Dataset, o, func(b *dataset.Build, m *dataset.Manifest) (any, error) {
		meta, stats, err := airports.Build(ctx, b.Store(), job.Sequence(r.read), airports.BuildOptions{
			TempDir: filepath.Dir(b.Dir()), Modified: f.Modified,
			Progress: job.ProgressOf(rep, "airports"),
		})
		if err != nil {
			return nil, err
		}
		src, err := in.Describe(f)
		if err != nil {
			return nil, err
		}
		r.note(&stats)
		*m = dataset.Manifest{
			Sources: append([]dataset.Source{src}, zones.Credits()...), Bad: r.tally.Counts(),
			Records: map[string]int64{"airports": meta.Airports, "codes": meta.Codes}, Bounds: meta.Places.Bounds,
		}
		return meta, nil
	})
}

// airportReader reads the file of a job.
type airportReader struct {
	ctx   context.Context
	in    job.Input
	file  *source.File
	rep   job.Reporter
	tally *job.Tally
	zones *zonefinder.Finder
	ids   map[uint32]string // ident by id, of files without ids

	zero     job.NullIsland // airports at exactly 0, 0
	ignored  int64          // fields
	zoneless int64          // airports
}

// read calls take with the airports of the good records.
func (r *airportReader) read(take func(airports.Airport) error) error {
	defer r.tally.Report(r.rep)
	report := job.BytesRead(r.rep, "reading airports", r.file)
	err := job.ReadRecords(r.ctx, job.ReadAhead(ourairports.Read(r.file, r.in.Path)), r.tally, report, func(rec ourairports.Record) error {
		a, err := r.airport(&rec)
		if err != nil {
			return err
		}
		return take(a)
	})
	if err != nil {
		return err
	}
	return r.tally.Err()
}

const metresPerFoot = 0.3048

// airport makes an airport of a record. The error is a *source.BadRecord with the reason.
func (r *airportReader) airport(rec *ourairports.Record) (airports.Airport, error) {
	bad := func(reason, detail string) error {
		return &source.BadRecord{Source: r.in.Path, Line: rec.Line, Reason: reason, Detail: detail}
	}
	a := airports.Airport{
		ID: rec.ID, Ident: rec.Ident, IATA: rec.IATA, ICAO: rec.ICAO, GPS: rec.GPS, Local: rec.Local, Type: rec.Type, Name: rec.Name,
		Municipality: rec.City, Country: rec.Country, Region: rec.Region, Lat: rec.Lat, Lon: rec.Lon, Scheduled: rec.Scheduled,
		Keywords: rec.Keywords, Home: rec.Home, Wikipedia: rec.Wikipedia, TimeZone: rec.TimeZone,
	}
	if a.ID == 0 {
		a.ID = identID(a.Ident)
		if other, used := r.ids[a.ID]; used {
			return a, bad("ident needs an id", fmt.Sprintf("%s; the one made for it is that of %s", a.Ident, other))
		}
		r.ids[a.ID] = a.Ident
	}
	if rec.ElevationFt != nil {
		m := *rec.ElevationFt * metresPerFoot
		a.ElevationM = &m
	}
	if a.TimeZone != "" && !zonefinder.IsZone(a.TimeZone) {
		return a, bad("tz is no time zone of the IANA database", source.Excerpt(a.TimeZone))
	}
	if err := a.Validate(); err != nil {
		return a, bad("airport cannot be stored", err.Error())
	}
	if err := r.zero.Check(a.Lat, a.Lon, r.in.Path, rec.Line); err != nil {
		return a, err
	}
	if a.TimeZone == "" {
		var err error
		if a.TimeZone, a.TimeZoneSource, err = r.zones.Find(r.ctx, a.Lat, a.Lon, a.Country); err != nil {
			return a, err
		}
		if a.TimeZone == "" {
			r.zoneless++
		}
	}
	r.ignored += int64(rec.Ignored)
	return a, nil
}

// identID derives an id from an ident. It is the same in every run.
func identID(ident string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(ident)) // never fails
	return max(h.Sum32(), 1)
}

// note reports facts that the user may want to know, and advice.
func (r *airportReader) note(stats *airports.Stats) {
	r.zero.Note(r.rep)
	if stats.Conflicts > 0 {
		r.rep.Note(fmt.Sprintf("%d codes belong to several airports: each finds the most important of them", stats.Conflicts))
	}
	if r.ignored > 0 {
		r.rep.Note(fmt.Sprintf("%d codes and links are none and were left out", r.ignored))
	}
	z := r.zones
	if z.FoundNearest+z.FoundInside > 0 {
		r.rep.Note(fmt.Sprintf("%d airports have the time zone of the nearest place, %d that of their region",
			z.FoundNearest, z.FoundInside))
	}
	if z.FoundOnly > 0 {
		r.rep.Note(fmt.Sprintf("%d airports have the only time zone of their country", z.FoundOnly))
	}
	switch {
	case r.zoneless == 0:
	case z.Places == nil && !z.HasZones():
		r.rep.Note(fmt.Sprintf("%d airports have no time zone: ingest places, or boundaries of type timezone, and then the "+
			"airports again", r.zoneless))
	case z.Places == nil:
		r.rep.Note(fmt.Sprintf("%d airports have no time zone: ingest places, and then the airports again", r.zoneless))
	default:
		r.rep.Note(fmt.Sprintf("%d airports have no time zone: no place within %d km has one", r.zoneless, zonefinder.ReachM/1000))
	}
}
