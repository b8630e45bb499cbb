// Package job has the common parts of jobs. A job turns sources into a published generation. It
// opens the files, parses them with a reader of package source, feeds the records to a builder of a
// domain package and publishes the result. It publishes nothing unless it has read every file to
// its end and few enough records were bad. Each kind of data set has a folder below this one, with
// its job.
package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/source"
)

// Progress is the progress of a stage of a job.
type Progress struct {
	Stage       string // "reading country", "tiles"
	Done, Total int64  // Total 0: not known
	Unit        string // "bytes", "records", "tiles"
}

// Reporter receives the reports of a job. Its methods may be called from several goroutines. A
// stage begins with its first Progress and ends when another begins or the job ends.
type Reporter interface {
	Progress(Progress)
	// BadRecords reports how many records of a job were left out for one reason, with the first few of
	// them.
	BadRecords(reason string, count int64, examples []*source.BadRecord)
	// Note reports a sentence for the user that is neither progress nor a failure.
	Note(text string)
	// Published reports the end of a successful job, and Rehearsed the end of a successful dry run.
	Published(dataset.Manifest)
	Rehearsed(Rehearsal)
}

// SilentReporter is a Reporter that discards all reports.
type SilentReporter struct{}

func (SilentReporter) Progress(Progress)                             {}
func (SilentReporter) BadRecords(string, int64, []*source.BadRecord) {}
func (SilentReporter) Note(string)                                   {}
func (SilentReporter) Published(dataset.Manifest)                    {}
func (SilentReporter) Rehearsed(Rehearsal)                           {}

// Options are common to all jobs.
type Options struct {
	Reporter Reporter // nil: SilentReporter
	// MaxBad is the share of records, 0 to 1, that may be bad before the job
	// fails. 0 tolerates none.
	MaxBad float64
	// Memory is the approximate total of bytes of memory that the program may take; 0 means 2 GiB.
	// Data that does not fit is sorted on disk, or is refused before anything is written.
	Memory int64
	// TileBudget is the greatest size in bytes of a tile of boundaries after gzip:
	// build.Options.TileBudget. If it is nil and layers of the published generation are kept, the
	// budget of that generation applies, and otherwise build.DefaultTileBudget.
	TileBudget *int64
	// DropZero leaves out points at exactly 0, 0. Without it they are only reported.
	DropZero bool
	// DryRun does everything but publish: it builds, compares with the published generation,
	// reports to Rehearsed, and leaves nothing on the disk.
	DryRun bool
	// MaxChange is the share, 0 to 1, by which the records of a kind and the rows of all tables may
	// differ from the published ones. Above it nothing is published, and the error matches
	// ErrChanged. Nil allows any change. The job ip compares answers instead of rows.
	MaxChange *float64
	// Stdin is the content of the input with the path "-"; nil if there is none.
	Stdin io.Reader
}

// ReporterOrSilent returns Reporter, or SilentReporter if Reporter is nil.
func (o Options) ReporterOrSilent() Reporter { return cmp.Or[Reporter](o.Reporter, SilentReporter{}) }

// defaultMemory bounds the memory of a build that is given no bound.
const defaultMemory = 2 << 30

// MemoryLimit returns Memory or its default.
func (o Options) MemoryLimit() int64 { return cmp.Or(o.Memory, defaultMemory) }

// Credit is the credit of a file's data, for the manifest and for all programs that show it.
type Credit struct {
	Name        string // "Natural Earth"; empty: the file's name
	License     string // "public domain", "CC BY 4.0"
	Attribution string // text that a map must show; may be empty
	Version     string
	// Released is the release date of the data, if it is better known than by the file's
	// modification time: a package manager dates files by their installation.
	Released time.Time
}

// Input is a file with its credit.
type Input struct {
	Path string // its name in messages and, unless there is a Copy, where it is
	Copy string // where it is on the disk; features.Files makes copies
	Credit
}

// OnDisk returns the path that opens the file.
func (in Input) OnDisk() string { return cmp.Or(in.Copy, in.Path) }

// Named returns an error about the copy of an input as one about the input.
func (in Input) Named(err error) error {
	path, _ := source.SplitLayer(in.Copy)
	if err == nil || path == "" || !strings.Contains(err.Error(), path) {
		return err
	}
	return &namedError{strings.ReplaceAll(err.Error(), path, in.Path), err}
}

type namedError struct {
	text string
	err  error
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.err }

// Open opens the file, or the member of an archive that matches, and finds its date. A file that
// cannot hold the wanted content is refused.
func (in Input) Open(match func(name string) bool, want source.Want) (*source.File, error) {
	f, err := source.OpenMember(in.OnDisk(), match)
	if err != nil {
		return nil, in.Named(err)
	}
	f.Path = in.Path
	if err := f.Refuse(want); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !in.Released.IsZero() {
		f.Modified = in.Released
	}
	return f, nil
}

// Describe returns the manifest's description of a file that has been read to its end.
func (in Input) Describe(f *source.File) (dataset.Source, error) {
	sum, err := f.SHA256()
	if err != nil {
		return dataset.Source{}, err
	}
	base := filepath.Base(in.Path)
	return in.Complete(dataset.Source{Name: base, File: base, SHA256: sum, Bytes: f.Size, Modified: f.Modified}), nil
}

// Source describes the file, which has been read, by its name and all its bytes.
func (in Input) Source(ctx context.Context) (dataset.Source, error) {
	src, err := dataset.FileSource(ctx, in.OnDisk())
	if in.Copy != "" {
		src.File = filepath.Base(in.Path)
		src.Name = src.File
	}
	return src, err
}

// Complete adds the input's credit to the description of a file.
func (in Input) Complete(src dataset.Source) dataset.Source {
	if in.Name != "" {
		src.Name = in.Name
	}
	if !in.Released.IsZero() {
		src.Modified = in.Released
	}
	src.License, src.Attribution, src.Version = in.License, in.Attribution, in.Version
	return src
}

// Publish builds a generation of a data set and makes it the current one. If build fails or the
// context ends, the published generation stays as it was. build fills in the manifest's fields
// about the sources and returns the record for the generation's reader. It should put temporary
// files next to the directory of the build. In a dry run nothing is published, and the manifest has
// no number.
func Publish(ctx context.Context, c *dataset.Catalog, d ask.Dataset, o Options,
	build func(*dataset.Build, *dataset.Manifest) (meta any, err error)) (m dataset.Manifest, err error) {
	rep, begin := o.ReporterOrSilent(), c.Begin
	if o.DryRun {
		begin = c.Rehearse
	}
	b, err := begin(ctx, d.Name)
	if err != nil {
		return m, fmt.Errorf("%s: %w", d.Name, err)
	}
	defer func() {
		if err != nil || o.DryRun {
			err = errors.Join(err, b.Abort()) // it names the package, which is the data set
		}
	}()
	meta, err := build(b, &m)
	if err != nil {
		return dataset.Manifest{}, err
	}
	if err := ctx.Err(); err != nil {
		return dataset.Manifest{}, err
	}
	b.Progress = StageOf(rep, "publishing "+d.Name, "bytes")
	m.Dataset, m.SchemaVersion = d.Name, d.Schema
	if m.Meta, err = json.Marshal(meta); err != nil {
		return dataset.Manifest{}, err
	}
	if o.DryRun || o.MaxChange != nil {
		r, err := rehearsed(ctx, c, b, m, rep)
		if err != nil {
			return m, err
		}
		if o.DryRun {
			rep.Rehearsed(r)
		} else if r.Err != nil && r.Published != nil {
			rep.Note(fmt.Sprintf("warning: the rows of %s cannot be compared with those published, so --max-change goes by the "+
				"numbers of records: %v", d.Name, r.Err))
		}
		if o.MaxChange != nil {
			err = r.check(*o.MaxChange)
		}
		if o.DryRun || err != nil {
			return m, err
		}
	}
	if old, err := c.Current(ctx, d.Name); err == nil { // damage of it keeps nothing from being published
		m.SetPredecessor(&old)
	}
	if m, err = b.Publish(ctx, m); err != nil {
		return dataset.Manifest{}, err
	}
	rep.Published(m)
	return m, nil
}

// OpenCurrent opens the published generation of a data set for a job that uses it. It returns
// nil if none is published.
func OpenCurrent[R any](ctx context.Context, c *dataset.Catalog, d *ask.DatasetOf[R]) (r R, g *dataset.Generation, err error) {
	if g, err = c.OpenCurrent(ctx, d.Name); errors.Is(err, dataset.ErrNoGeneration) {
		return r, nil, nil
	}
	if err == nil {
		if r, err = d.Open(g); err == nil {
			return r, g, nil
		}
		err = errors.Join(err, g.Close())
	}
	if !errors.Is(err, cellstore.ErrLayout) { // that error already gives advice
		err = fmt.Errorf("the published %s cannot be read: %w; ingest them again first", d.Name, err)
	}
	return r, nil, err
}

const (
	maxReasons  = 50 // distinct reasons counted by name
	maxExamples = 3  // records kept per reason
	// A job stops if most of its first earlyCheck records are bad: it is reading the
	// wrong file.
	earlyCheck = 10000
)

// Tally counts the records of a job, good and bad. It belongs to one goroutine.
type Tally struct {
	good, bad, excused int64
	apart              int64 // see isApart
	reasons            map[string]*badReason

	MaxShare       float64 // the share, 0 to 1, above which the job fails
	ToleratedCount int64   // this number of bad records is always tolerated, if four in five records are good
	// Excuse reports whether a bad record is not a fault of the file. Such records are reported
	// like others, but do not count in the share. If Excuse is nil, all bad records count.
	Excuse func(*source.BadRecord) bool
}

type badReason struct {
	count    int64
	examples []*source.BadRecord
}

// NewTally begins a count that fails above maxBad, a share from 0 to 1.
func NewTally(maxBad float64) *Tally {
	return &Tally{MaxShare: maxBad, reasons: map[string]*badReason{}}
}

// Good counts an accepted record.
func (t *Tally) Good() { t.good++ }

// Retract takes back a call of Good for a record that turned out to be bad.
func (t *Tally) Retract() { t.good-- }

// TakenCount returns the number of good records.
func (t *Tally) TakenCount() int64 { return t.good }

// LeftOutCount returns the number of omitted records, for whatever reason.
func (t *Tally) LeftOutCount() int64 { return t.bad + t.excused + t.apart }

// Bad handles the error of a reader. It counts a *source.BadRecord and returns nil, so that the job
// continues, unless most of the file is bad. It returns any other error.
func (t *Tally) Bad(err error) error {
	var r *source.BadRecord
	if !errors.As(err, &r) {
		return err
	}
	switch {
	case isApart(r.Reason):
		t.apart++
	case t.excuses(r):
		t.excused++
	default:
		t.bad++
	}
	b := t.reasons[r.Reason]
	if b == nil {
		reason := r.Reason
		if len(t.reasons) >= maxReasons {
			reason = "other"
		}
		if b = t.reasons[reason]; b == nil {
			b = &badReason{}
			t.reasons[reason] = b
		}
	}
	if b.count++; len(b.examples) < maxExamples {
		b.examples = append(b.examples, r)
	}
	if t.good+t.bad >= earlyCheck && t.bad > t.good {
		return t.Err()
	}
	return nil
}

// isApart reports whether a bad record has no position, which RFC 7946 and tables allow, or is a
// label or a line among polygons. Such records are counted separately, as neither good nor bad.
func isApart(reason string) bool {
	return reason == source.ReasonNoGeometry || reason == source.ReasonNotAPolygon
}

// IsOther reports whether there are more records that are counted separately than good ones. In
// that case the file is the wrong one, and these records are bad.
func (t *Tally) IsOther() bool { return t.apart > t.good }

// excuses reports whether a bad record does not count: Excuse accepts it, or the user wants to
// leave it out.
func (t *Tally) excuses(r *source.BadRecord) bool {
	return r.Reason == source.ReasonAtZero || t.Excuse != nil && t.Excuse(r)
}

// Merge adds the counts of another tally.
func (t *Tally) Merge(other *Tally) {
	t.good += other.good
	t.bad += other.bad
	t.excused += other.excused
	t.apart += other.apart
	for reason, b := range other.reasons {
		sum := t.reasons[reason]
		if sum == nil {
			sum = &badReason{}
			t.reasons[reason] = sum
		}
		sum.count += b.count
		sum.examples = append(sum.examples, b.examples[:min(len(b.examples), maxExamples-len(sum.examples))]...)
	}
}

// Counts returns the number of bad records by reason, or nil if there are none.
func (t *Tally) Counts() map[string]int64 {
	if len(t.reasons) == 0 {
		return nil
	}
	counts := make(map[string]int64, len(t.reasons))
	for reason, b := range t.reasons {
		counts[reason] = b.count
	}
	return counts
}

// Report reports every reason to rep, the most frequent first.
func (t *Tally) Report(rep Reporter) {
	for _, reason := range t.byCount() {
		b := t.reasons[reason]
		if isApart(reason) && !t.IsOther() || reason == source.ReasonAtZero {
			rep.Note(fmt.Sprintf("%d of %d records are left out and not counted as bad, such as %v", b.count, t.good+t.LeftOutCount(),
				b.examples[0]))
			continue
		}
		rep.BadRecords(reason, b.count, b.examples)
	}
}

func (t *Tally) byCount() []string {
	return slices.SortedFunc(maps.Keys(t.reasons), func(a, b string) int {
		if d := t.reasons[b].count - t.reasons[a].count; d != 0 {
			return int(min(max(d, -1), 1))
		}
		return strings.Compare(a, b)
	})
}

// Err returns nil while the share of bad records is within the limit, and otherwise a
// *TooManyBadError.
func (t *Tally) Err() error {
	bad := t.bad
	if t.IsOther() {
		bad += t.apart
	}
	if bad == 0 || float64(bad) <= t.MaxShare*float64(t.good+bad) || t.MaxShare > 0 && bad <= t.ToleratedCount && 4*bad <= t.good {
		return nil
	}
	return &TooManyBadError{Bad: bad, Records: t.good + bad, MaxShare: t.MaxShare, Example: t.Example()}
}

// Example returns a bad record with the most frequent reason, or nil if there is none.
func (t *Tally) Example() (e *source.BadRecord) {
	for _, reason := range t.byCount() {
		if e = t.reasons[reason].examples[0]; !t.excuses(e) && (!isApart(reason) || t.IsOther()) {
			break
		}
	}
	return e
}

// TooManyBadError is the error of a job that stopped because more of its records were bad than
// MaxShare allows.
type TooManyBadError struct {
	Bad, Records int64
	MaxShare     float64           // share tolerated
	Example      *source.BadRecord // of the most frequent reason
}

func (e *TooManyBadError) Error() string {
	return fmt.Sprintf("%d of %d records are bad (%.3g%%; --max-bad tolerates %.3g%%), such as %v; correct the file, or "+
		"raise --max-bad to leave them out",
		e.Bad, e.Records, 100*float64(e.Bad)/float64(e.Records), 100*e.MaxShare, e.Example)
}
