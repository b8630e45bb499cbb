package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/places"
)

// PlacesDataset is the name of the data set Places publishes.
const PlacesDataset = "places"

// Places reads GeoNames files and publishes a generation of their places. Of a
// place in several files the row with the latest modification date is taken,
// and that of the file named first where dates are equal. The manifest dates
// each file by its newest row.
func Places(ctx context.Context, c *dataset.Catalog, inputs []Input, o Options) (dataset.Manifest, error) {
	if len(inputs) == 0 {
		return dataset.Manifest{}, errors.New("no files; name at least one, such as cities15000.zip")
	}
	rep := o.reporter()
	r := &placeReader{ctx: ctx, inputs: inputs, tally: NewTally(o.MaxBad), rep: rep}
	return publish(ctx, c, PlacesDataset, rep, func(b *dataset.Build) (dataset.Manifest, error) {
		meta, stats, err := places.Build(ctx, b.Store(), r.places(), places.BuildOptions{
			TempDir: filepath.Join(c.Dir(), PlacesDataset), // beside the generations: room is needed there anyway
			Progress: func(stage string, done, total int64) {
				rep.Progress(Progress{Stage: stage, Done: done, Total: total, Unit: "places"})
			},
		})
		if err != nil {
			return dataset.Manifest{}, err
		}
		if stats.Stored == 0 {
			return dataset.Manifest{}, errors.New("the files hold no places; check that they are tables of GeoNames")
		}
		if stats.Duplicates > 0 {
			rep.Note(fmt.Sprintf("%d rows gave way to a newer one of the same place in another file", stats.Duplicates))
		}
		m := dataset.Manifest{
			SchemaVersion: meta.SchemaVersion, Sources: r.sources, Bad: r.tally.Counts(),
			Records: map[string]int64{"places": meta.Places}, Bounds: meta.Bounds,
		}
		m.Meta, err = json.Marshal(meta)
		return m, err
	})
}

// placeReader reads the files of a job one after another.
type placeReader struct {
	ctx     context.Context
	inputs  []Input
	tally   *Tally
	rep     Reporter
	sources []dataset.Source // of the files read so far
}

// places yields the good rows of all files, then an error if too many were
// bad.
func (r *placeReader) places() iter.Seq2[places.Place, error] {
	return func(yield func(places.Place, error) bool) {
		defer r.tally.Report(r.rep)
		for _, in := range r.inputs {
			src, more, err := r.read(in, yield)
			if !more {
				return
			}
			if err != nil {
				yield(places.Place{}, err)
				return
			}
			r.sources = append(r.sources, src)
		}
		if err := r.tally.Err(); err != nil {
			yield(places.Place{}, err)
		}
	}
}

// progressRows is how many rows lie between two reports of progress.
const progressRows = 4096

func (r *placeReader) read(in Input, yield func(places.Place, error) bool) (src dataset.Source, more bool, err error) {
	f, err := source.OpenMember(in.Path, geonames.Member)
	if err != nil {
		return src, true, err
	}
	defer f.Close()
	report := func() {
		r.rep.Progress(Progress{Stage: "reading places", Done: f.Progress(), Total: f.Size, Unit: "bytes"})
	}
	report()
	var newest time.Time
	rows := 0
	for rec, err := range ahead(geonames.Read(f, in.Path)) {
		if rows++; rows%progressRows == 0 {
			report()
			if err := r.ctx.Err(); err != nil {
				return src, true, err
			}
		}
		p := placeOf(&rec)
		if err == nil {
			if invalid := p.Validate(); invalid != nil {
				err = &source.BadRecord{Source: in.Path, Line: rec.Line, Reason: "place cannot be stored", Detail: invalid.Error()}
			}
		}
		if err != nil {
			if err = r.tally.Bad(err); err != nil {
				return src, true, err
			}
			continue
		}
		r.tally.Good()
		if rec.Modified.After(newest) {
			newest = rec.Modified
		}
		if !yield(p, nil) {
			return src, false, nil
		}
	}
	report()
	if src, err = in.describe(f); err != nil {
		return src, true, err
	}
	if !newest.IsZero() {
		// When the file was fetched says nothing of what is in it.
		src.Modified = newest
	}
	return src, true, nil
}

func placeOf(r *geonames.Record) places.Place {
	return places.Place{
		ID: r.ID, Name: r.Name, ASCIIName: r.ASCIIName, AlternateNames: r.AlternateNames, Lat: r.Lat, Lon: r.Lon,
		Class: r.Class, Code: r.Code, Country: r.Country, CC2: r.CC2,
		Admin1: r.Admin1, Admin2: r.Admin2, Admin3: r.Admin3, Admin4: r.Admin4,
		Population: r.Population, Elevation: r.Elevation, DEM: r.DEM, TimeZone: r.TimeZone, Modified: r.Modified,
	}
}
