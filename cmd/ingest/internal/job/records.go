package job

import (
	"context"
	"errors"
	"iter"

	"quadrille/cmd/ingest/internal/source"
)

// progressRows is how many records lie between two reports of progress and
// between two looks at the context.
const progressRows = 4096

// errEnough is take's to end the reading of a file: nobody wants more of it.
var errEnough = errors.New("no more is wanted")

// readRecords hands the good records of a file to take, whose error may be a
// *source.BadRecord too, and counts them all. Its error is that of the file, of
// take, of the context, or of a file that is mostly bad.
func readRecords[T any](ctx context.Context, records iter.Seq2[T, error], tally *Tally, report func(), take func(T) error) error {
	report()
	n := 0
	for rec, err := range records {
		if n++; n%progressRows == 0 {
			report()
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err == nil {
			err = take(rec)
		}
		if err == nil {
			tally.Good()
		} else if err = tally.Bad(err); err != nil {
			return err
		}
	}
	report()
	return nil
}

// sequence yields what read hands over, and then its error.
func sequence[T any](read func(take func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := read(func(v T) error {
			if !yield(v, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			var none T
			yield(none, err)
		}
	}
}

// progressOf reports the stages of a builder, in units.
func progressOf(rep Reporter, unit string) func(stage string, done, total int64) {
	return func(stage string, done, total int64) {
		rep.Progress(Progress{Stage: stage, Done: done, Total: total, Unit: unit})
	}
}

// bytesRead reports how far a file has been read.
func bytesRead(rep Reporter, stage string, f *source.File) func() {
	return func() { rep.Progress(Progress{Stage: stage, Done: f.Progress(), Total: f.Size, Unit: "bytes"}) }
}
