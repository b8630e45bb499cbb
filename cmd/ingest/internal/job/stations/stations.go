// Package stations publishes weather stations and their observations.
package stations

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/isd"
	"quadrille/places"
	"quadrille/places/stations"
)

// Ingest reads NOAA's list of weather stations and publishes a generation of them. Rows without a
// position are counted as bad and left out, but do not count in the tolerated share of bad records.
// If a station has several records, the one with the latest end counts. The manifest dates the file
// by the last day on which any station reported.
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
	z, err := zonefinder.Open(ctx, c)
	if err != nil {
		return dataset.Manifest{}, err
	}
	defer z.Close()
	r := &stationReader{ctx: ctx, in: in, rep: rep, tally: job.NewTally(o.MaxBad), zones: z}
	r.tally.Excuse = isd.IsUnplaced
	return job.Publish(ctx, c, ask.Stations.Dataset, o, func(b *dataset.Build, m *dataset.Manifest) (any, error) {
		meta, stats, err := stations.Build(ctx, b.Store(), job.Sequence(r.read), stations.BuildOptions{
			TempDir:  filepath.Dir(b.Dir()),
			Progress: job.ProgressOf(rep, "records"),
		})
		if err != nil {
			return nil, err
		}
		if meta.Stations == 0 {
			return nil, errors.New("the file holds no stations with a position; check that it is NOAA's isd-history.csv or ghcnh-station-list.csv")
		}
		if stats.Duplicates > 0 {
			rep.Note(fmt.Sprintf("%d records gave way to one of the same station that ends later", stats.Duplicates))
		}
		if r.foreign > 0 {
			rep.Note(fmt.Sprintf("%d stations have a country code that stands for no country of today; they are kept without one", r.foreign))
		}
		if r.misread > 0 {
			rep.Note(fmt.Sprintf("%d stations have an ISO country code where the list has FIPS codes; the places around them tell", r.misread))
		}
		*m = dataset.Manifest{
			Sources: []dataset.Source{r.src}, Bad: r.tally.Counts(), Bounds: meta.Bounds,
			Records: map[string]int64{"stations": meta.Stations, "positions": meta.Positions, "leaves": meta.Leaves},
		}
		return meta, nil
	})
}

type stationReader struct {
	ctx     context.Context
	in      job.Input
	rep     job.Reporter
	src     dataset.Source
	tally   *job.Tally
	foreign int64 // stations whose country code is unknown
	misread int64 // stations whose country code is not of the standard that the list names
	zones   *zonefinder.Finder
	hits    []places.Hit
}

// read calls take with the stations of the good rows.
func (r *stationReader) read(take func(stations.Station) error) error {
	defer r.tally.Report(r.rep)
	f, err := r.in.Open(nil, source.WantRows)
	if err != nil {
		return err
	}
	defer f.Close()
	report := job.BytesRead(r.rep, "reading stations", f)
	var newest time.Time
	err = job.ReadRecords(r.ctx, isd.ReadStations(f, r.in.Path), r.tally, report, func(rec isd.Station) error {
		s, err := r.stationOf(&rec)
		if err != nil {
			return err
		}
		if rec.End.After(newest) {
			newest = rec.End
		}
		return take(s)
	})
	if err != nil {
		return err
	}
	if r.src, err = r.in.Describe(f); err != nil {
		return err
	}
	if !newest.IsZero() {
		// The time of the download says nothing about the content.
		r.src.Modified = newest
	}
	return r.tally.Err()
}

func (r *stationReader) stationOf(rec *isd.Station) (stations.Station, error) {
	refuse := func(err error) (stations.Station, error) {
		return stations.Station{}, &source.BadRecord{Source: r.in.Path, Line: rec.Line, Reason: "station cannot be stored", Detail: err.Error()}
	}
	id, err := stations.ParseID(rec.ID())
	if err != nil {
		return refuse(err)
	}
	if id.GHCN() {
		r.in.Credit = job.GHCNh
		if rec.Line == 1 {
			r.rep.Note("the list has no line of names; its columns are taken as those of NOAA's ghcnh-station-list.csv, in that order")
		}
	}
	country, err := r.countryOf(r.ctx, rec)
	if err != nil {
		return stations.Station{}, err
	}
	s := stations.Station{
		ID: id, Name: rec.Name, Country: country, State: rec.State, ICAO: rec.ICAO, WMO: rec.WMO,
		Lat: rec.Lat, Lon: rec.Lon, ElevationM: rec.ElevationM, Begin: rec.Begin, End: rec.End,
	}
	if err := s.Validate(); err != nil {
		return refuse(err)
	}
	return s, nil
}
