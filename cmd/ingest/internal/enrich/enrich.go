// Package enrich adds the columns of a plan to a table of points: it reads a file of any format of package
// format, fills chunks of rows on several processors, and writes them in the order of the file.
package enrich

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"quadrille/ask/enrich"
	"quadrille/cmd/ingest/internal/disk"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/cmd/internal/columnname"
)

// Options say what is read and written.
type Options struct {
	In, Out  string // paths; - is Stdin of the job or Stdout
	Stdout   io.Writer
	Format   Format // of Out
	Layer    string
	Encoding string
	Columns  pointtable.Columns // given by the user
	Prefix   string             // of the added columns
	// NeedsPosition is set if some added column depends on positions. With Locates, the plan gives positions to rows
	// that have none.
	NeedsPosition, Locates bool
	// Close, if set, is called when all rows have been answered, before the file gets its name. Its error is one of
	// the run.
	Close func() error
}

// Stats are what was done.
type Stats struct {
	Rows       int64 // written
	LeftOut    int64 // rows that could not be read
	NoPosition int64 // rows written without a usable position, if NeedsPosition is set
}

const (
	// A chunk ends with this number of rows, or of bytes.
	chunkRows  = 1 << 16
	chunkBytes = 4 << 20
	// outBytes is the size of the output of a chunk that is ready before its turn.
	outBytes = 8 << 20
	// chunkMemory is about what a chunk takes in all, and maxWorkers bounds what fills them: reading is the
	// limit beyond.
	chunkMemory = 32 << 20
	maxWorkers  = 8
	// maxColumns and maxNameBytes bound the columns of a CSV file that is made of features, and their names.
	maxColumns   = 10_000
	maxNameBytes = 1 << 20
)

// Plan makes the added columns of a table.
type Plan struct {
	Columns []enrich.Column
	Inputs  []string // columns of the table that it needs
	// Filler returns a function for one goroutine.
	Filler func() Fill
}

// Fill fills a chunk as enrich.Filler.FillParts does.
type Fill func(ctx context.Context, c *enrich.Chunk, take func(from, to int, cells []enrich.Cells) error) error

// LocalPlan returns the plan that makes columns from data sets that are open.
func LocalPlan(p *enrich.Plan) *Plan {
	return &Plan{p.Columns(), p.Inputs(), func() Fill { return p.Filler().FillParts }}
}

// run is one run. Its fields are set before any goroutine starts, or belong to the reader.
type run struct {
	Options
	plan  *Plan
	added []string // names of the added columns
	job   job.Options
	files *features.Files
	file  *features.File
	tally *job.Tally
	// layout is set before the first chunk is sent.
	layout layout
	flaws  flaws  // belongs to the writer
	filled []bool // the added columns that have something; belongs to the writer
	free   chan *chunk
	work   chan *chunk
	order  chan *chunk
	stats  Stats
}

// Run reads a file and writes it with the columns of a plan added. Rows without a usable position are written
// with empty cells, and notes tell their number. Rows that cannot be read are left out, and too many of them
// are an error, as in all jobs. Unless there is an error, the file is complete; otherwise what was under its
// name before is unchanged. Standard output has what was written until the error.
func Run(ctx context.Context, plan *Plan, o Options, jo job.Options) (stats Stats, err error) {
	r := &run{Options: o, plan: plan, job: jo, tally: job.NewTally(jo.MaxBad)}
	for _, c := range plan.Columns {
		r.added = append(r.added, o.Prefix+c.Name)
	}
	r.filled = make([]bool, len(r.added))
	if r.Out != "-" {
		if err := checkOut(r.In, r.Out); err != nil {
			return stats, err
		}
	}
	if r.files, err = features.New(ctx, jo.ReporterOrSilent(), "", jo.Stdin); err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, r.files.Close()) }()
	columns := o.Columns
	columns.Optional = !o.NeedsPosition || o.Locates
	inputs, err := r.files.Expand(job.Input{Path: o.In}, source.WantPoints)
	if err == nil && len(inputs) != 1 {
		err = fmt.Errorf("%s: is %d files, and one is read: name it", o.In, len(inputs))
	}
	if err != nil {
		return stats, err
	}
	r.file, err = r.files.Open(inputs[0], format.Options{
		Want: source.WantPoints, Layer: o.Layer, Encoding: o.Encoding, Columns: columns, Said: &geojson.Said{}, Unhashed: true,
	})
	if err != nil {
		return stats, err
	}
	if r.Out == "-" {
		err = r.closed(r.write(ctx, r.Stdout))
	} else {
		err = r.publish(ctx)
	}
	r.tally.Report(jo.ReporterOrSilent())
	if err == nil {
		r.flaws.note(jo.ReporterOrSilent())
		r.noteEmpty()
		r.stats.LeftOut = r.tally.LeftOutCount()
	}
	return r.stats, err
}

// checkOut refuses an output that is the input, or no file that can be replaced, such as a device.
func checkOut(in, out string) error {
	is, err := os.Stat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if !is.Mode().IsRegular() {
		return fmt.Errorf("--out %s is not a regular file: name one, or - for standard output", out)
	}
	path, _ := source.SplitLayer(in)
	return checkPart(path, out)
}

// checkPart refuses an output that is a file that is read.
func checkPart(part, out string) error {
	read, failed := os.Stat(part)
	is, missing := os.Stat(out)
	if failed == nil && missing == nil && os.SameFile(read, is) {
		return fmt.Errorf("--out %s is a file that is read: name another one", out)
	}
	return nil
}

// checkParts refuses an output that is one of several files of the input, such as those of a shapefile.
func (r *run) checkParts(l *format.Layer) error {
	if r.Out == "-" {
		return nil
	}
	for _, part := range l.Paths {
		if err := checkPart(part, r.Out); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) publish(ctx context.Context) error {
	out, err := disk.CreatePending(r.Out)
	if err != nil {
		return err
	}
	return out.Finish(r.closed(r.write(ctx, out)))
}

// closed closes all that has been read, so that nothing can fail once the file has its name.
func (r *run) closed(err error) error {
	err = errors.Join(err, r.files.Close())
	if r.Close != nil {
		err = errors.Join(err, r.Close())
	}
	return err
}

// write reads the file, and writes it with the added columns.
func (r *run) write(ctx context.Context, out io.Writer) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, max(1, int(r.job.MemoryLimit()/4/chunkMemory)))
	chunks := workers + 2
	r.free, r.work, r.order = make(chan *chunk, chunks), make(chan *chunk, chunks), make(chan *chunk, chunks)
	for range chunks {
		r.free <- r.newChunk()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(r.work)
		defer close(r.order)
		return r.read(ctx)
	})
	for range workers {
		g.Go(func() error { return r.fill(ctx) })
	}
	g.Go(func() error { return r.writeChunks(ctx, out) })
	return g.Wait()
}

// fill fills chunks.
func (r *run) fill(ctx context.Context) error {
	fill := r.plan.Filler()
	var c *chunk
	bad := func(row int, reason, detail string) {
		if detail != "" {
			detail = source.Excerpt(detail)
		}
		c.flaws.add(emptyColumns, c.lines[row], reason, detail)
	}
	for c = range r.work {
		c.Bad = bad
		b := c.spare()
		if c.first {
			b = r.layout.appendHeader(b)
		}
		clear(c.some)
		err := fill(ctx, &c.Chunk, func(from, to int, cells []enrich.Cells) error {
			for k := range cells {
				for i := 0; i < to-from && !c.some[k]; i++ {
					c.some[k] = len(cells[k].At(i)) > 0
				}
			}
			for i := from; i < to; i++ {
				if b = r.layout.appendRow(b, c, i, i-from, cells); len(b) < outBytes {
					continue
				}
				if err := c.send(ctx, piece{b, false}); err != nil {
					return err
				}
				b = c.spare()
			}
			return nil
		})
		if err != nil {
			return err
		}
		if r.NeedsPosition && r.Locates {
			for i := range c.Points {
				if !c.Points[i].Valid() {
					c.noPosition++
				}
			}
		}
		if err := c.send(ctx, piece{b, true}); err != nil {
			return err
		}
	}
	return nil
}

// writeChunks writes chunks in the order in which they were read.
func (r *run) writeChunks(ctx context.Context, out io.Writer) error {
	for c := range r.order {
		for last := false; !last; {
			var p piece
			select {
			case p = <-c.filled:
			case <-ctx.Done():
				return ctx.Err()
			}
			if _, err := out.Write(p.text); err != nil {
				return err
			}
			c.written <- p.text // has room for all there are
			last = p.last
		}
		r.stats.Rows += int64(len(c.lines))
		r.stats.NoPosition += c.noPosition
		r.flaws.merge(&c.flaws)
		for k, some := range c.some {
			r.filled[k] = r.filled[k] || some
		}
		r.free <- c
	}
	return nil
}

// noteEmpty says which added columns have nothing, such as those that the data set does not know.
func (r *run) noteEmpty() {
	var empty []string
	for k, filled := range r.filled {
		if !filled && r.stats.Rows > 0 {
			empty = append(empty, r.added[k])
		}
	}
	if len(empty) > 0 {
		r.job.ReporterOrSilent().Note("these added columns are empty in all rows: " + columnname.List(empty))
	}
}

// flaws count rows that lack something, by what that is and the reason.
type flaws struct {
	reasons map[string]*flaw
}

type flaw struct {
	count    int64
	examples []string
}

const maxExamples = 3

// These are what rows have.
const (
	emptyColumns  = "empty added columns"
	lostGeometry  = "no geometry in the output"
	repeatedNames = "several properties of one name"
)

func (f *flaws) add(what string, line int, reason, detail string) {
	if f.reasons == nil {
		f.reasons = map[string]*flaw{}
	}
	what += ": " + reason
	of := f.reasons[what]
	if of == nil {
		of = &flaw{}
		f.reasons[what] = of
	}
	if of.count++; len(of.examples) < maxExamples {
		text := strconv.Itoa(line)
		if detail != "" {
			text += " (" + detail + ")"
		}
		of.examples = append(of.examples, text)
	}
}

func (f *flaws) merge(other *flaws) {
	if f.reasons == nil {
		f.reasons = map[string]*flaw{}
	}
	for reason, o := range other.reasons {
		of := f.reasons[reason]
		if of == nil {
			of = &flaw{}
			f.reasons[reason] = of
		}
		of.count += o.count
		of.examples = append(of.examples, o.examples[:min(len(o.examples), maxExamples-len(of.examples))]...)
	}
	other.reasons = nil
}

func (f *flaws) note(rep job.Reporter) {
	for _, what := range slices.Sorted(maps.Keys(f.reasons)) {
		of := f.reasons[what]
		rows := "1 row has"
		if of.count > 1 {
			rows = fmt.Sprintf("%d rows have", of.count)
		}
		rep.Note(fmt.Sprintf("%s %s, in line %s", rows, what, strings.Join(of.examples, ", ")))
	}
}
