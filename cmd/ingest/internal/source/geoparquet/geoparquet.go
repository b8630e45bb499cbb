// Package geoparquet reads the features of Parquet files: of GeoParquet 1.0 and 1.1, with geometries
// in well-known binary or in native lists of positions, of Parquet's own types GEOMETRY and
// GEOGRAPHY, and of files without geometries, whose rows are features with properties only. Several
// files are read as one, in the order given.
//
// Columns are properties: columns of groups have names with dots, as in address.city, and lists
// and maps are JSON. Columns with the boxes of features are no properties. The folders key=value
// that hold a file are. Files of Overture Maps need no options: the column id is the feature's id,
// names.primary is the property name, and the members of names.common are name:de, name:fr and so on.
//
// One page of each column is in memory at a time. The library that decodes pages trusts them, so
// pageStream checks what they claim before, and a panic of the library becomes an error.
package geoparquet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// Options set what is read.
type Options struct {
	Want source.Want
	// Bounds leaves out row groups whose statistics show that none of their features is in it, in
	// degrees. Other features outside may be read. See source.InBounds.
	Bounds *orb.Bound
	// MayPass reports whether a feature may be wanted whose properties are in the ranges that within returns, as JSON, for
	// their names. A range is null twice for a property that is never present, and nil if it is not known. Row groups
	// without such features are not read. It may be nil.
	MayPass func(within func(name string) (low, high []byte)) bool
	// Root is the folder above the files. The names of the folders between it and a file may be
	// properties.
	Root string
}

// File is a number of open files with rows. It belongs to one goroutine, but for Progress.
type File struct {
	// Size is the number of rows, the measure of Progress.
	Size int64
	// Records is set if the rows of all files have no geometry.
	Records bool
	// Times are the properties that the files declare to be times, and whose values name no zone.
	Times []string

	o       Options
	paths   []string
	columns []string
	renamed []column // those with other names in the files
	notes   []string
	groups  int   // row groups
	skipped int   // of them, by Bounds
	failing int   // of them, by MayPass
	leftOut int64 // rows in those
	count   atomic.Int64
	reading *part
}

// partition is a property of all rows of a file, by the name of a folder.
type partition struct {
	name  string
	value []byte // JSON
}

// Open opens files that have the same layout. All footers are read, so that no file is refused once
// features have been read.
func Open(paths []string, o Options) (*File, error) {
	f := &File{o: o, paths: paths, Records: true}
	numbers := f.numericFolders()
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			f.columns = append(f.columns, name)
		}
	}
	for i, path := range paths {
		p, err := f.open(path, numbers)
		if err != nil {
			return nil, err
		}
		f.Size += p.rows
		f.groups += len(p.meta.RowGroups)
		for _, v := range p.values {
			add(v.name)
		}
		for _, c := range p.columns {
			if !c.spread {
				add(c.name)
			}
			if c.hidden != "" && !slices.ContainsFunc(f.renamed, func(known column) bool { return known.hidden == c.hidden }) {
				f.renamed = append(f.renamed, column{name: c.name, spread: c.spread, hidden: c.hidden})
			}
			if c.node.isZoneless() && !slices.Contains(f.Times, c.name) {
				f.Times = append(f.Times, c.name)
			}
		}
		if none := p.geom == nil; i > 0 && none != f.Records {
			err = fmt.Errorf("%s: only some of the files have geometries, and %s is different from %s", path, path, paths[0])
		} else {
			f.Records = none
		}
		if err := errors.Join(err, p.close()); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// note adds a note once.
func (f *File) note(text string) {
	if text != "" && !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// open opens a file.
func (f *File) open(path string, numbers map[string]bool) (*part, error) {
	p, err := openPart(path)
	if err != nil {
		return nil, err
	}
	note, err := p.readGeometry()
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	f.note(note)
	if g := p.geom; g != nil {
		if g.spherical && f.o.Want == source.WantPolygons {
			f.note(path + ": its edges are arcs of great circles, and are read as straight lines between longitudes and latitudes")
		}
		if len(g.others) > 0 {
			f.note(fmt.Sprintf("%s: has more than one column of geometries; not read: %s", path, listed(g.others)))
		}
	}
	f.folders(path, func(key, value string) {
		if slices.ContainsFunc(p.columns, func(c column) bool { return c.name == key }) || value == noValue {
			return
		}
		text := appendText(nil, value)
		if numbers[key] {
			text = []byte(value)
		}
		p.values = append(p.values, partition{key, text})
	})
	return p, nil
}

// noValue is the name of a folder for rows without the value, as Hive names it.
const noValue = "__HIVE_DEFAULT_PARTITION__"

// folders calls each for the folders key=value above a file.
func (f *File) folders(path string, each func(key, value string)) {
	within, err := filepath.Rel(f.o.Root, filepath.Dir(path))
	if f.o.Root == "" || err != nil {
		return
	}
	for _, folder := range strings.Split(filepath.ToSlash(within), "/") {
		if key, value, is := strings.Cut(folder, "="); is && key != "" {
			if plain, err := url.PathUnescape(value); err == nil {
				value = plain
			}
			each(key, value)
		}
	}
}

// numericFolders returns the keys of folders whose values are all whole numbers, as written by
// programs: 07 is a code.
func (f *File) numericFolders() map[string]bool {
	numbers := map[string]bool{}
	for _, path := range f.paths {
		f.folders(path, func(key, value string) {
			n, err := strconv.ParseInt(value, 10, 64)
			is := value == noValue || err == nil && strconv.FormatInt(n, 10) == value
			if before, known := numbers[key]; known {
				is = is && before
			}
			numbers[key] = is
		})
	}
	return numbers
}

// Columns returns the names of the properties, in the order of the files.
func (f *File) Columns() []string { return f.columns }

// Property returns the property of a column, or of a member of a map, that has the name in the files.
func (f *File) Property(name string) string { return property(f.renamed, name) }

// Progress returns how many rows of Size have been read or skipped. It may be called while rows are
// read.
func (f *File) Progress() int64 { return min(f.count.Load(), f.Size) }

// Paths returns the names of the files.
func (f *File) Paths() []string { return f.paths }

// LeftOut returns how many rows MayPass left out so far.
func (f *File) LeftOut() int64 { return f.leftOut }

// Notes returns sentences for the user about assumptions, and about what Bounds and MayPass left out so far.
func (f *File) Notes() []string {
	notes := slices.Clip(f.notes)
	if f.skipped > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d of %d row groups are outside the bounds and were not read", f.name(), f.skipped, f.groups))
	}
	if f.failing > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d of %d row groups have no record for --where by their statistics, and were not read",
			f.name(), f.failing, f.groups))
	}
	return notes
}

// name returns the name of the files in messages about all.
func (f *File) name() string {
	if len(f.paths) == 1 {
		return f.paths[0]
	}
	return f.o.Root
}

// Close closes the file that is being read.
func (f *File) Close() error {
	if f.reading == nil {
		return nil
	}
	p := f.reading
	f.reading = nil
	return p.close()
}

func (p *part) close() error {
	for _, l := range p.leaves {
		l.end(p)
	}
	if p.zstd != nil {
		p.zstd.Close()
	}
	return p.file.Close()
}

// memory is what the pages of a part take.
type memory struct {
	held     int64 // bytes of the pages of all columns
	packed   []byte
	unpacked []byte
	zstd     *zstd.Decoder
	zstdMax  int
}

// Features yields the rows as features, once; Line is the number of the row among all files, from 1.
// The id of a feature is the column id, and that is among its properties too. An unusable geometry
// gives a *source.BadRecord beside the feature, and reading continues. Any other error ends the
// sequence and names the file. The members of a feature are valid until the next.
func (f *File) Features(ctx context.Context) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		numbers := f.numericFolders()
		line := int64(0)
		for _, path := range f.paths {
			p, err := f.open(path, numbers)
			if err == nil {
				f.reading = p
				r := rows{f: f, p: p, line: line}
				err = r.read(ctx, yield)
				line = r.line
				err = errors.Join(err, f.Close())
			}
			if errors.Is(err, errStop) {
				return
			} else if err != nil {
				yield(source.Feature{}, err)
				return
			}
		}
	}
}

// errStop ends the reading when the caller leaves the loop.
var errStop = errors.New("stop")

// rows reads the rows of a file.
type rows struct {
	f    *File
	p    *part
	line int64

	used    []*leaf
	members []source.Member
	text    []byte
	values  [][]parquet.Value
}

// read yields the rows of all row groups.
func (r *rows) read(ctx context.Context, yield func(source.Feature, error) bool) error {
	p := r.p
	for _, l := range p.leaves {
		if l.used {
			r.used = append(r.used, l)
		}
	}
	for g := range p.meta.RowGroups {
		group := &p.meta.RowGroups[g]
		bound, known := p.groupBound(group)
		outside := known && r.f.o.Bounds != nil && !source.InBounds(*r.f.o.Bounds, bound)
		if outside {
			r.f.skipped++
		} else if r.f.o.MayPass != nil && !r.f.o.MayPass(func(name string) (low, high []byte) { return p.within(group, name) }) {
			r.f.failing++
			r.f.leftOut += group.NumRows
			outside = true
		}
		if outside {
			r.line += group.NumRows
			r.f.count.Add(group.NumRows)
			continue
		}
		for _, l := range r.used {
			l.begin(p, group)
		}
		for row := range group.NumRows {
			if err := ctx.Err(); err != nil {
				return err
			}
			feature, bad, err := r.row(g, row)
			if err != nil {
				return err
			}
			r.f.count.Add(1)
			if !yield(feature, bad) {
				return errStop
			}
		}
	}
	return nil
}

// row reads a row. bad is the reason why its geometry cannot be used.
func (r *rows) row(group int, row int64) (out source.Feature, bad, err error) {
	p := r.p
	where := func() string { return fmt.Sprintf("row group %d, row %d", group+1, row+1) }
	defer p.recovered(&err, where)
	for _, l := range r.used {
		if err := l.next(); err != nil {
			at := fmt.Sprintf("%s, column %s", where(), source.Excerpt(l.path))
			if codec := (errCodec{}); errors.Is(err, errTooLarge) || errors.As(err, &codec) {
				return out, nil, fmt.Errorf("%s: %s: %w", p.name, at, err)
			}
			return out, nil, p.damaged("%s: %v", at, err)
		}
	}
	r.line++
	out.Line = int(r.line)
	if err := r.properties(&out); err != nil {
		return out, nil, p.damaged("%s: %v", where(), err)
	}
	if p.geom == nil {
		return out, nil, nil
	}
	var reason, detail string
	if out.Geometry, reason, detail = p.geom.read(); reason != "" {
		out.Geometry, bad = nil, &source.BadRecord{Source: p.name, Line: out.Line, Reason: reason, Detail: detail}
	}
	return out, bad, nil
}

// properties sets the members and the id of a feature.
func (r *rows) properties(out *source.Feature) error {
	r.members, r.text = r.members[:0], r.text[:0]
	add := func(name string, from int) {
		r.members = append(r.members, source.Member{Name: name, Value: r.text[from:len(r.text):len(r.text)]})
	}
	for _, v := range r.p.values {
		r.members = append(r.members, source.Member{Name: v.name, Value: v.value})
	}
	for i := range r.p.columns {
		c := &r.p.columns[i]
		from := len(r.text)
		if c.node.isFlat() {
			v := c.node.leaf.row[0]
			if v.IsNull() {
				continue
			}
			var why string
			if r.text, why = c.node.leaf.append(r.text, v); why != "" {
				out.Lost.Add(c.name, why)
			} else if len(r.text) > from {
				if add(c.name, from); c.name == idColumn {
					out.ID = string(r.text[from:])
					if r.text[from] == '"' {
						_ = json.Unmarshal(r.text[from:], &out.ID) // it has just been written
					}
				}
			}
			continue
		}
		r.values = r.values[:0]
		for _, l := range r.p.leaves[c.node.first : c.node.first+c.node.leaves()] {
			r.values = append(r.values, l.row)
		}
		if err := r.nested(c, &out.Lost, add); err != nil {
			return err
		}
	}
	out.Members = r.members
	return nil
}

// nested adds the value of a list or a map, or the members of a map that is spread.
func (r *rows) nested(c *column, lost *source.Lost, add func(name string, from int)) (err error) {
	p, from := r.p, len(r.text)
	end := func(name string) {
		switch n := len(r.text) - from; {
		case n > maxText:
			lost.Add(name, tooLong)
			r.text = r.text[:from]
		case n > 0:
			add(name, from)
		}
		from = len(r.text)
	}
	if !c.spread {
		r.text, err = p.appendJSON(r.text, c.node, r.values, lost)
		end(c.name)
		return err
	}
	return p.eachPair(c.node, r.values, func(key []byte, value *node, values [][]parquet.Value) (err error) {
		var name string
		if err := json.Unmarshal(key, &name); err != nil {
			return err
		}
		r.text, err = p.appendJSON(r.text, value, values, lost)
		end(c.name + name)
		return err
	})
}
