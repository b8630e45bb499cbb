// Package places publishes the places of GeoNames.
package places

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/places"
)

// costs are per byte of the unpacked tables. Disk includes temporary files for sorting.
var costs = job.Costs{Nanoseconds: 60, Memory: 2, Disk: 5}

// Input is a file of GeoNames.
type Input struct {
	job.Input
	// Kind is the kind of content. If it is empty, the name of the file or its rows show the
	// kind.
	Kind geonames.Kind
}

// Ingest reads files of GeoNames and publishes a generation of their places, with the details from
// the other files. A place may have several rows, in one file or in several. The row with the
// latest modification date is taken, and among equal dates the last row of the file named first. A
// place that a file of deletions names is left out, unless its row is from a later day. For all
// other duplicates the first one is taken.
//
// The tolerated share of bad records applies to each file, so that a large file does not hide the
// errors of a small one. The manifest dates each file by its newest row. A file whose rows have no
// dates is dated by its name or its archive, if possible.
func Ingest(ctx context.Context, c *dataset.Catalog, inputs []Input, o job.Options) (dataset.Manifest, error) {
	j := &placesJob{
		ctx:    ctx,
		rep:    o.ReporterOrSilent(),
		maxBad: o.MaxBad,
		tally:  job.NewTally(o.MaxBad),
		zero:   job.NullIsland{Drop: o.DropZero},
	}
	files, err := features.New(ctx, j.rep, "", o.Stdin)
	if err != nil {
		return dataset.Manifest{}, err
	}
	defer func() { _ = files.Close() }() // what it removes is temporary
	var all []Input
	for _, in := range inputs {
		each, err := files.Each(in.Input)
		if err != nil {
			return dataset.Manifest{}, err
		}
		for _, in.Input = range each {
			all = append(all, in)
		}
	}
	if err := j.recognise(all); err != nil {
		return dataset.Manifest{}, err
	}
	var bytes int64
	for _, in := range all {
		bytes += job.UnpackedBytes(in.OnDisk())
	}
	if err := o.Announce(c, costs.NeedFor(bytes)); err != nil {
		return dataset.Manifest{}, err
	}
	defer func() { j.tally.Report(j.rep) }()
	return job.Publish(ctx, c, ask.Places.Dataset, o, func(b *dataset.Build, m *dataset.Manifest) (any, error) {
		if err := j.readSmall(); err != nil {
			return nil, err
		}
		if err := j.readRanks(files); err != nil {
			return nil, err
		}
		meta, stats, err := places.Build(ctx, b.Store(), j.source(), places.BuildOptions{
			TempDir: filepath.Dir(b.Dir()), // beside the generations: room is needed there anyway
			Memory:  o.MemoryLimit() / 4,   // the rest is the store's, the readers' and garbage
			Progress: func(stage string, done, total int64) {
				j.rep.Progress(job.Progress{Stage: stage, Done: done, Total: total, Unit: cmp.Or(placeUnits[stage], "places")})
			},
		})
		if err != nil {
			return nil, err
		}
		if stats.Stored == 0 {
			return nil, errors.New("the files hold no places; check that they are tables of GeoNames")
		}
		j.note(&stats)
		*m, err = j.manifest(meta, &stats)
		return meta, err
	})
}

// placeUnits are the units of the stages of places.Build that do not count
// places.
var placeUnits = map[string]string{"writing names": "names", "writing answers": "answers"}

// placesJob is the work of Ingest.
type placesJob struct {
	ctx    context.Context
	rep    job.Reporter
	maxBad float64
	tally  *job.Tally // of all files read so far
	files  []*placesFile

	small     smallRows
	gazetteer places.Gazetteer
	ranks     rankTable
	given     map[string]bool   // kinds and codes that the gazetteer has
	deleted   map[uint32]int64  // day of deletion, in days since 1970
	languages map[string]string // two-letter codes by three-letter codes
	zones     map[string]bool   // nil: not given

	zero         job.NullIsland // places at exactly 0, 0
	several      bool           // files of alternate names
	names        geonames.IDSet // ids of alternate names, if there are several files
	repeated     int64          // alternate names in more than one file
	gone         int64          // rows of places that were deleted
	unknownZones int64          // places whose time zone is not among zones
	unknownZone  string         // the first of them
}

// placesFile is one of the files.
type placesFile struct {
	Input
	info os.FileInfo
	src  dataset.Source // once it has been read
	read bool
}

// recognise sets the kinds of the files.
func (j *placesJob) recognise(inputs []Input) error {
	var found, whole bool
	for _, in := range inputs {
		info, err := os.Stat(in.OnDisk())
		if err != nil {
			return err
		}
		for _, other := range j.files {
			if os.SameFile(info, other.info) {
				return fmt.Errorf("%s: is named twice (%s); name it once", in.Path, other.Path)
			}
		}
		if in.Kind == "" {
			if in.Kind, err = geonames.Recognise(in.Path, in.OnDisk()); err != nil {
				return err
			}
		}
		if in.Kind == geonames.KindDeletions {
			if _, err := geonames.DeletionDate(in.Path); err != nil {
				return err
			}
		}
		if in.Kind == geonames.KindPlaces {
			found, whole = true, whole || !geonames.IsChanges(in.Path)
		}
		j.files = append(j.files, &placesFile{Input: in, info: info})
	}
	if !found {
		return errors.New("no file of places; name at least one, such as cities15000.zip")
	}
	if !whole {
		return fmt.Errorf("%s holds one day's changes, and would take the place of everything that is published; name the "+
			"whole file beside it, such as allCountries.zip", j.of(geonames.KindPlaces)[0].Path)
	}
	return nil
}

// note reports notes about all files together.
func (j *placesJob) note(stats *places.Stats) {
	j.zero.Note(j.rep)
	for _, n := range []struct {
		count int64
		text  string
	}{
		{stats.Duplicates, "rows that gave way to a newer one of the same place: %d"},
		{j.gone, "rows of places that were deleted since, left out: %d"},
		{j.repeated, "alternate names in several files, taken once: %d"},
		{stats.NamesDropped, "alternate names of places that are not in the files, left out: %d"},
		{stats.ParentsDropped, "parents of places that are not in the files, left out: %d"},
		{stats.Admin5Dropped, "fifth-level codes of places that are not in the files, left out: %d"},
	} {
		if n.count > 0 {
			j.rep.Note(fmt.Sprintf(n.text, n.count))
		}
	}
	if j.unknownZones > 0 {
		j.rep.Note(fmt.Sprintf("places with a time zone that the file of time zones does not have, such as %q: %d", j.unknownZone,
			j.unknownZones))
	}
}

func (j *placesJob) manifest(meta places.Meta, stats *places.Stats) (dataset.Manifest, error) {
	m := dataset.Manifest{
		Bad: j.tally.Counts(), Records: map[string]int64{"places": meta.Places}, Bounds: meta.Bounds,
	}
	if stats.Names > 0 {
		m.Records["names"] = stats.Names
	}
	if stats.Parents > 0 {
		m.Records["parents"] = stats.Parents
	}
	for _, f := range j.files {
		if !f.read {
			return dataset.Manifest{}, fmt.Errorf("%s was not read to its end; run the command again", f.Path)
		}
		m.Sources = append(m.Sources, f.src)
	}
	return m, nil
}
