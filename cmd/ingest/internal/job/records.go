package job

import (
	"context"
	"errors"
	"iter"

	"quadrille/cmd/ingest/internal/source"
)

// ProgressRows is the number of records between two reports of progress, and between two checks of
// the context.
const ProgressRows = 4096

// ErrEnough is returned by take to end the reading of a file early, without a failure.
var ErrEnough = errors.New("no more is wanted")

// ReadRecords calls take with the good records of a file, and counts all records. The error of take
// may be a *source.BadRecord too. The error of ReadRecords comes from the file, from take or from
// the context, or is about a file that is mostly bad.
func ReadRecords[T any](ctx context.Context, records iter.Seq2[T, error], tally *Tally, report func(), take func(T) error) error {
	report()
	n := 0
	for rec, err := range records {
		if n++; n%ProgressRows == 0 {
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

// Sequence turns the callback-style read into a sequence. It yields the values passed to take,
// and then read's error.
func Sequence[T any](read func(take func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := read(func(v T) error {
			if !yield(v, nil) {
				return ErrEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrEnough) {
			var none T
			yield(none, err)
		}
	}
}

// ProgressOf reports the stages of a builder, in units.
func ProgressOf(rep Reporter, unit string) func(stage string, done, total int64) {
	return func(stage string, done, total int64) {
		rep.Progress(Progress{Stage: stage, Done: done, Total: total, Unit: unit})
	}
}

// StageOf begins a stage and returns a function that reports its progress, in units.
func StageOf(rep Reporter, stage, unit string) func(done, total int64) {
	report := func(done, total int64) { rep.Progress(Progress{Stage: stage, Done: done, Total: total, Unit: unit}) }
	report(0, 0)
	return report
}

// BytesRead reports how many bytes of a file have been read.
func BytesRead(rep Reporter, stage string, f *source.File) func() {
	return func() { rep.Progress(Progress{Stage: stage, Done: f.Progress(), Total: f.Size, Unit: "bytes"}) }
}
