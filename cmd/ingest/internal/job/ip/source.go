package ip

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/geolite"
	"quadrille/cmd/ingest/internal/source/mmdb"
)

// ipSource is a source of ranges in any format.
type ipSource interface {
	path() string
	// kind returns the format of the source, for people.
	kind() string
	size() int64 // bytes on disk
	done() int64 // bytes read so far; may be called while ranges runs
	modified() time.Time
	// ranges yields the ranges once, with records that the converter made. A *source.BadRecord
	// concerns only one range.
	ranges(c *converter) iter.Seq2[ipRange, error]
	// describe is called after ranges. It returns at least one source.
	describe(ctx context.Context) ([]dataset.Source, error)
	close() error
}

// openSource opens a file or folder by its content:
//
//   - a MaxMind DB, alone, compressed by gzip, or in a zip or tar.gz archive;
//   - a GeoLite2 CSV set, a folder or the zip archive of one;
//   - a workbook or Parquet of such rows;
//   - a list of ranges in columns, or of a provider's networks in JSON, alone,
//     compressed by gzip, or in a zip archive;
//   - a JSON document with a list of objects with networks; FILE#MEMBER names the list.
//
// Files that must be unpacked for reading go into the directory temp. A source that needs more
// bytes than memory, the limit of the whole program, is refused.
func openSource(in Input, files *features.Files, temp string, memory int64, said *geojson.Said) (ipSource, error) {
	if s, err := openRecordSource(in, files); s != nil || err != nil {
		return s, err
	}
	path, layer := source.SplitLayer(in.OnDisk())
	if layer == "" {
		return openWhole(in, "", temp, memory, said)
	}
	in.Copy = path
	s, err := openWhole(in, layer, temp, memory, said)
	if err != nil {
		return nil, err
	}
	if l, ok := s.(*listSource); !ok || l.document == nil {
		return nil, errors.Join(noList(path, layer), s.close())
	}
	return s, nil
}

// openWhole opens a source that is no workbook and no Parquet. layer is the member of a JSON document that has its
// records, or "".
func openWhole(in Input, layer, temp string, memory int64, said *geojson.Said) (ipSource, error) {
	info, err := os.Stat(in.OnDisk())
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openSetSource(in, memory)
	}
	isSet, match, err := lookIntoZip(in.OnDisk())
	if err != nil {
		return nil, err
	}
	if isSet {
		return openSetSource(in, memory)
	}
	f, err := in.Open(match, source.WantAddresses)
	if err != nil {
		return nil, err
	}
	if f.IsTar() || mmdb.IsDatabase(f) {
		if err := f.Close(); err != nil {
			return nil, err
		}
		return openDatabaseSource(in, temp)
	}
	return openListSource(in, f, layer, said)
}

// lookIntoZip finds the member of a zip archive that is the source. match returns true for its
// name. For a file that is not a zip archive match is nil.
func lookIntoZip(name string) (set bool, match func(string) bool, err error) {
	packed, err := source.IsArchive(name)
	if err != nil || !packed {
		return false, nil, err
	}
	a, err := source.OpenArchive(name)
	if err != nil {
		return false, nil, err
	}
	defer func() { _ = a.Close() }() // only read
	if err := a.Refuse(); err != nil {
		return false, nil, err
	}
	has := func(match func(string) bool) bool {
		return slices.ContainsFunc(a.Members, func(m *zip.File) bool { return match(m.Name) })
	}
	switch {
	case has(geolite.IsBlocks):
		return true, nil, nil
	case has(mmdb.IsName):
		return false, mmdb.IsName, nil
	case has(isListName):
		return false, isListName, nil
	}
	return false, nil, fmt.Errorf("%s: holds no .mmdb, .csv, .tsv or .json file; unpack it and name the file inside", name)
}

// isListName reports whether a member of an archive may be a list of ranges; archives also have
// licences and read-me files.
func isListName(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch path.Ext(base) {
	case ".csv", ".tsv", ".json", ".jsonl", ".ndjson":
		return !strings.HasPrefix(base, "._")
	case ".txt":
		return !strings.HasPrefix(base, "._") && !strings.Contains(base, "readme") && !strings.Contains(base, "license") &&
			!strings.Contains(base, "licence") && !strings.Contains(base, "copyright")
	}
	return false
}

// badRecord adds the place to a refusal. It leaves other errors as they are.
func badRecord(err error, label string, line int) error {
	var r *iprecord.Refusal
	if errors.As(err, &r) {
		return &source.BadRecord{Source: label, Line: line, Reason: r.Reason, Detail: r.Detail}
	}
	return err
}

// databaseSource is a MaxMind DB.
type databaseSource struct {
	in     Input
	db     *mmdb.File
	schema *iprecord.Schema
	read   bool // to the end
}

// schemaSample is the number of records from which the schema is detected.
const schemaSample = 50

func openDatabaseSource(in Input, temp string) (_ *databaseSource, err error) {
	s := &databaseSource{in: in}
	if s.db, err = mmdb.Open(in.OnDisk(), temp); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.db.Close())
		}
	}()
	var sample []map[string]any
	for r, err := range s.db.Networks() {
		if err != nil {
			return nil, err
		}
		if m, err := r.Fields(); err == nil {
			sample = append(sample, m)
		} else if errors.Is(err, mmdb.ErrDamaged) {
			return nil, err
		}
		if r.Number >= schemaSample {
			break
		}
	}
	if s.schema, err = iprecord.Detect(s.db.Type, sample); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Path, err)
	}
	return s, nil
}

func (s *databaseSource) path() string { return s.in.Path }
func (s *databaseSource) kind() string {
	return fmt.Sprintf("MaxMind DB of type %s, schema of %s", s.db.Type, s.schema.Name)
}
func (s *databaseSource) size() int64 { return s.db.Size }
func (s *databaseSource) done() int64 {
	if s.read {
		return s.db.Size
	}
	return s.db.Progress()
}
func (s *databaseSource) close() error { return s.db.Close() }

func (s *databaseSource) modified() time.Time {
	if !s.in.Released.IsZero() {
		return s.in.Released
	}
	return s.db.Built
}

func (s *databaseSource) describe(ctx context.Context) ([]dataset.Source, error) {
	src, err := s.in.Source(ctx)
	if err != nil {
		return nil, err
	}
	src.Name = s.db.Type
	if at := s.modified(); !at.IsZero() {
		src.Modified = at
	}
	in := s.in.Input
	in.Credit = in.WithDefaults(productCredit(s.db.Type))
	return []dataset.Source{in.Complete(src)}, nil
}

func (s *databaseSource) ranges(c *converter) iter.Seq2[ipRange, error] {
	return func(yield func(ipRange, error) bool) {
		known := c.keeper()
		for r, err := range s.db.Networks() {
			if err != nil {
				yield(ipRange{}, err)
				return
			}
			key := rawKey{r.Offset, 1}
			v := known.find(key)
			if v == nil {
				made, err := s.record(&r, c)
				if err != nil {
					yield(ipRange{}, err)
					return
				}
				v = known.keep(key, made)
			}
			before := v.record.Size()
			if !yield(v.ipRange(r.First, r.Last, s.in.Path, r.Number)) {
				return
			}
			known.used(v, before)
		}
		s.read = true
	}
}

func (s *databaseSource) record(r *mmdb.Record, c *converter) (conversion, error) {
	fields, err := r.Fields()
	var bad *source.BadRecord
	if errors.As(err, &bad) {
		return conversion{err: &iprecord.Refusal{Reason: bad.Reason, Detail: bad.Detail}}, nil
	}
	if err != nil {
		return conversion{}, err
	}
	rec, err := s.schema.Record(fields)
	return c.convert(&rec, err)
}
