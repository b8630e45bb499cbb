package stations

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/isd"
	"quadrille/places/stations"
)

// IngestWeather reads files of observations in NOAA's isd-lite format, one for each station and
// year, and publishes a generation of them. The positions come from the published stations; the
// file of an unknown station is left out and counted. If several files have an observation of the
// same station and hour, the first of these files counts.
func IngestWeather(ctx context.Context, c *dataset.Catalog, inputs []job.Input, o job.Options) (_ dataset.Manifest, err error) {
	if len(inputs) == 0 {
		return dataset.Manifest{}, errors.New("no files; name at least one, such as 066600-99999-2024.gz")
	}
	files, err := features.New(ctx, o.ReporterOrSilent(), "", o.Stdin)
	if err != nil {
		return dataset.Manifest{}, err
	}
	defer func() { _ = files.Close() }() // what it removes is temporary
	var all []job.Input
	for _, in := range inputs {
		each, err := files.Each(in)
		if err != nil {
			return dataset.Manifest{}, err
		}
		all = append(all, each...)
	}
	finder, g, err := job.OpenCurrent(ctx, c, ask.Stations)
	if err != nil {
		return dataset.Manifest{}, err
	}
	if g == nil {
		return dataset.Manifest{},
			fmt.Errorf("observations need to know where their stations are; run ingest stations isd-history.csv first: %w", dataset.ErrNoGeneration)
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	rep := o.ReporterOrSilent()
	r := &weatherReader{ctx: ctx, inputs: all, stations: finder, rep: rep, tally: job.NewTally(o.MaxBad)}
	return job.Publish(ctx, c, ask.Weather.Dataset, o, func(b *dataset.Build, m *dataset.Manifest) (any, error) {
		meta, stats, err := stations.BuildWeather(ctx, b.Store(), finder, job.Sequence(r.readAll), stations.BuildOptions{
			TempDir:  filepath.Dir(b.Dir()),
			Progress: job.ProgressOf(rep, "records"),
		})
		if err != nil {
			return nil, err
		}
		if meta.Observations == 0 {
			return nil, errors.New("the files hold no observations of stations that are published; check that they are of the " +
				"isd-lite format, and that ingest stations has read a list that names them; ghcnh-station-list.csv does not, isd-history.csv does")
		}
		if stats.Duplicates > 0 {
			rep.Note(fmt.Sprintf("%d observations were given before, for the same station and hour", stats.Duplicates))
		}
		if r.empty > 0 {
			rep.Note(fmt.Sprintf("%d observations said nothing but their time and were left out", r.empty))
		}
		*m = dataset.Manifest{
			Sources: r.sources.list(), Bad: r.tally.Counts(),
			Records: map[string]int64{"observations": meta.Observations, "stations": meta.Stations, "tiles": meta.Tiles},
		}
		return meta, nil
	})
}

// weatherReader reads the files of a job one after another.
type weatherReader struct {
	ctx      context.Context
	inputs   []job.Input
	stations *stations.Finder
	rep      job.Reporter
	tally    *job.Tally
	empty    int64
	sources  sourceList
}

// These are the reasons of records that only this job refuses.
const (
	reasonUnknownStation = "station of the file is not among those published"
	reasonImpossible     = "value is not possible on Earth"
)

// readAll calls take with the observation of each valid line of all files.
func (r *weatherReader) readAll(take func(stations.Observation) error) error {
	defer r.tally.Report(r.rep)
	report := func(i int) {
		r.rep.Progress(job.Progress{Stage: "reading weather", Done: int64(i), Total: int64(len(r.inputs)), Unit: "files"})
	}
	for i, in := range r.inputs {
		report(i)
		if err := r.read(in, take); err != nil {
			return err
		}
	}
	report(len(r.inputs))
	return r.tally.Err()
}

func (r *weatherReader) read(in job.Input, take func(stations.Observation) error) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	name, ok := isd.ParseName(filepath.ToSlash(in.Path))
	if !ok {
		return fmt.Errorf("%s: a file of observations is known by its name, which is that of its station and year, such as "+
			"066600-99999-2024.gz; give it back the name it came with", in.Path)
	}
	id, err := stations.MakeID(name.USAF, name.WBAN)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Path, err)
	}
	f, err := in.Open(nil, source.WantRows)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := r.stations.Record(r.ctx, id, nil); errors.Is(err, stations.ErrNotFound) {
		return r.tally.Bad(&source.BadRecord{Source: in.Path, Line: 1, Reason: reasonUnknownStation, Detail: name.USAF + "-" + name.WBAN})
	} else if err != nil {
		return err
	}
	var newest time.Time
	err = job.ReadRecords(r.ctx, isd.ReadLite(f, in.Path, name.Year), r.tally, func() {}, func(rec isd.Observation) error {
		o := stations.Observation{Station: id, Time: rec.Time}
		if err := fill(&o, &rec, in.Path); err != nil {
			return err
		}
		if o.Empty() {
			r.empty++
			return nil
		}
		if rec.Time.After(newest) {
			newest = rec.Time
		}
		return take(o)
	})
	if err != nil {
		return err
	}
	src, err := in.Describe(f)
	if err != nil {
		return err
	}
	if !newest.IsZero() {
		src.Modified = newest
	}
	r.sources.add(src)
	return nil
}

// quantityOf maps the fields of a file to quantities.
var quantityOf = [isd.NumFields]stations.Quantity{
	isd.AirTemperature: stations.Temperature, isd.DewPoint: stations.DewPoint, isd.Pressure: stations.Pressure,
	isd.WindDirection: stations.WindDirection, isd.WindSpeed: stations.WindSpeed, isd.SkyCode: stations.SkyCover,
	isd.Precipitation1h: stations.Precipitation1h, isd.Precipitation6h: stations.Precipitation6h,
}

// fill sets the observed values. Both sides have the same units.
func fill(o *stations.Observation, rec *isd.Observation, path string) error {
	for field, v := range rec.Values {
		if v == isd.Missing {
			continue
		}
		if err := o.Set(quantityOf[field], v); err != nil {
			return &source.BadRecord{Source: path, Line: rec.Line, Reason: reasonImpossible, Detail: fmt.Sprintf("%v of %d", quantityOf[field], v)}
		}
	}
	return nil
}

// sourceList describes the files of a job. A few are listed one by one. Thousands are listed as a
// single source, and its checksum is computed from their checksums and names.
type sourceList struct {
	few   []dataset.Source
	all   dataset.Source
	count int
	sum   [sha256.Size]byte
}

const maxSources = 100

func (l *sourceList) add(src dataset.Source) {
	if l.count == 0 {
		l.all = src
		l.all.Bytes = 0
	}
	if l.count++; l.count <= maxSources {
		l.few = append(l.few, src)
	}
	l.sum = sha256.Sum256(fmt.Appendf(l.sum[:], "%s  %s\n", src.SHA256, src.File))
	l.all.Bytes += src.Bytes
	if src.Modified.After(l.all.Modified) {
		l.all.Modified = src.Modified
	}
}

func (l *sourceList) list() []dataset.Source {
	if l.count <= maxSources {
		return l.few
	}
	l.all.File = fmt.Sprintf("%d files", l.count)
	l.all.SHA256 = hex.EncodeToString(l.sum[:])
	return []dataset.Source{l.all}
}
