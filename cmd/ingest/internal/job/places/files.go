package places

import (
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/places"
)

// kindWords describes the contents of each kind of file for messages.
var kindWords = map[geonames.Kind]string{
	geonames.KindPlaces: "places", geonames.KindAlternates: "alternate names",
	geonames.KindAdmin1: "first-level divisions", geonames.KindAdmin2: "second-level divisions",
	geonames.KindAdmin5: "fifth-level codes", geonames.KindCountries: "countries", geonames.KindFeatures: "feature codes",
	geonames.KindHierarchy: "parents", geonames.KindTimeZones: "time zones", geonames.KindLanguages: "languages",
	geonames.KindDeletions: "deletions", geonames.KindRanks: "ranks",
}

// tableReader is a reader of package geonames.
type tableReader[T any] func(r io.Reader, name string) iter.Seq2[T, error]

// readTable calls take with the good records of a file, and describes the file. The error of take
// may be a *source.BadRecord too. The error of readTable comes from the file or from take, or is
// about too many bad records.
func readTable[T any](j *placesJob, f *placesFile, read tableReader[T], take func(T) error) error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	file, err := f.Open(geonames.IsTableMember, source.WantRows)
	if err != nil {
		return err
	}
	defer file.Close()
	tally := job.NewTally(j.maxBad)
	tally.Excuse = geonames.IsRepeated
	defer func() { j.tally.Merge(tally) }()
	report := job.BytesRead(j.rep, "reading "+kindWords[f.Kind], file)
	if err := job.ReadRecords(j.ctx, job.ReadAhead(read(file, f.Path)), tally, report, take); err != nil {
		return err
	}
	if err := tally.Err(); err != nil {
		return err
	}
	if e := tally.Example(); e != nil && tally.TakenCount() == 0 && !geonames.IsRepeated(e) {
		return fmt.Errorf("%s: none of its rows is one of %s, such as %w; check that it is the file you mean",
			f.Path, kindWords[f.Kind], e)
	}
	return j.describe(f, file, tally)
}

// describe closes the account of a file that has been read.
func (j *placesJob) describe(f *placesFile, file *source.File, tally *job.Tally) (err error) {
	newest := f.src.Modified
	if f.src, err = f.Input.Describe(file); err != nil {
		return err
	}
	f.read = true
	f.src.Records = tally.TakenCount()
	switch {
	case !newest.IsZero():
		f.src.Modified = newest
	case f.Released.IsZero():
		// The time of the download says nothing about the content.
		f.src.Modified = file.MemberModified
	}
	text := fmt.Sprintf("%s: %d %s", filepath.Base(f.Path), tally.TakenCount(), kindWords[f.Kind])
	if bad := tally.LeftOutCount(); bad > 0 {
		text += fmt.Sprintf(", and %d bad records", bad)
	}
	if !newest.IsZero() {
		text += ", the newest of " + newest.Format(time.DateOnly)
	}
	j.rep.Note(text)
	return nil
}

// newer records the date of a row, if it is the newest.
func (f *placesFile) newer(t time.Time) {
	if t.After(f.src.Modified) {
		f.src.Modified = t
	}
}

// cannotStore returns the error for a record that package places refuses.
func (f *placesFile) cannotStore(line int, err error) error {
	return &source.BadRecord{Source: f.Path, Line: line, Reason: "cannot be stored", Detail: err.Error()}
}

// source returns the input of the build. Its sequences read the files as they are ranged over,
// each once.
func (j *placesJob) source() places.Source {
	rows, alternates := j.of(geonames.KindPlaces), j.of(geonames.KindAlternates)
	slices.Reverse(rows) // among equal dates the last row wins, so the file named first comes last
	j.several = len(alternates) > 1
	return places.Source{
		Places:    converted(j, rows, geonames.Read, j.place),
		Names:     converted(j, alternates, geonames.ReadAlternateNames, j.alternateName),
		Parents:   converted(j, j.of(geonames.KindHierarchy), geonames.ReadParents, parentOf),
		Admin5:    converted(j, j.of(geonames.KindAdmin5), geonames.ReadAdmin5, admin5Of),
		Gazetteer: j.gazetteer,
	}
}

// converted converts the records of all files of a kind and yields the records that convert keeps.
// convert may also return a *source.BadRecord. The sequence is nil if there are no such files.
func converted[T, U any](j *placesJob, files []*placesFile, read tableReader[T],
	convert func(*placesFile, T) (U, bool, error)) iter.Seq2[U, error] {
	if len(files) == 0 {
		return nil
	}
	return job.Sequence(func(take func(U) error) error {
		for _, f := range files {
			err := readTable(j, f, read, func(rec T) error {
				u, keep, bad := convert(f, rec)
				if keep {
					if err := take(u); err != nil {
						return err
					}
				}
				return bad
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// of returns the files of a kind.
func (j *placesJob) of(kind geonames.Kind) (files []*placesFile) {
	for _, f := range j.files {
		if f.Kind == kind {
			files = append(files, f)
		}
	}
	return files
}

func (j *placesJob) place(f *placesFile, r geonames.Record) (places.Place, bool, error) {
	p := places.Place{
		ID: r.ID, Name: r.Name, ASCIIName: r.ASCIIName, AlternateNames: r.AlternateNames, Lat: r.Lat, Lon: r.Lon,
		Class: r.Class, Code: r.Code, Country: r.Country, CC2: r.CC2,
		Admin1: r.Admin1, Admin2: r.Admin2, Admin3: r.Admin3, Admin4: r.Admin4,
		Population: r.Population, Elevation: r.Elevation, DEM: r.DEM, TimeZone: r.TimeZone, Modified: r.Modified,
	}
	if err := p.Validate(); err != nil {
		return p, false, f.cannotStore(r.Line, err)
	}
	j.ranks.weigh(&p)
	f.newer(r.Modified)
	if day, ok := j.deleted[r.ID]; ok && daysOf(r.Modified) <= day {
		j.gone++
		return p, false, nil
	}
	if err := j.zero.Check(r.Lat, r.Lon, f.Path, r.Line); err != nil {
		return p, false, err
	}
	if j.zones != nil && r.TimeZone != "" && !j.zones[r.TimeZone] {
		if j.unknownZones++; j.unknownZones == 1 {
			j.unknownZone = r.TimeZone
		}
	}
	return p, true, r.Repeated(f.Path)
}

// daysOf returns the number of days of UTC from 1970 to t.
func daysOf(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

func (j *placesJob) alternateName(f *placesFile, a geonames.AlternateName) (places.AlternateName, bool, error) {
	n := places.AlternateName{
		PlaceID: a.PlaceID, Lang: j.language(a.Language), Name: a.Name,
		Preferred: a.Preferred, Short: a.Short, Colloquial: a.Colloquial, Historic: a.Historic,
	}
	if err := n.Validate(); err != nil {
		return n, false, f.cannotStore(a.Line, err)
	}
	if j.several && !j.names.Add(a.ID) {
		j.repeated++
		return n, false, nil
	}
	return n, true, nil
}

func parentOf(f *placesFile, r geonames.Parent) (places.Parent, bool, error) {
	p := places.Parent{Parent: r.Parent, Child: r.Child, Kind: r.Type}
	if err := p.Validate(); err != nil {
		return p, false, f.cannotStore(r.Line, err)
	}
	return p, true, nil
}

func admin5Of(f *placesFile, r geonames.Admin5) (places.Admin5, bool, error) {
	a := places.Admin5{PlaceID: r.ID, Code: r.Code}
	if err := a.Validate(); err != nil {
		return a, false, f.cannotStore(r.Line, err)
	}
	return a, true, nil
}
