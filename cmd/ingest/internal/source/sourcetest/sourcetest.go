// Package sourcetest collects the output of readers, for the tests of all formats.
package sourcetest

import (
	"errors"
	"iter"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// All reads a sequence to its end. It returns the records, the bad records, and the error that
// ended the sequence.
func All[T any](seq iter.Seq2[T, error]) (records []T, bad []*source.BadRecord, failure error) {
	for record, err := range seq {
		var b *source.BadRecord
		switch {
		case failure != nil: // nothing may follow the error
			return records, bad, errors.Join(failure, errors.New("the reader goes on after this error"))
		case errors.As(err, &b):
			bad = append(bad, b)
		case err != nil:
			failure = err
		default:
			records = append(records, record)
		}
	}
	return records, bad, failure
}

// Decoded yields features with their Properties in place of their Members.
func Decoded(seq iter.Seq2[source.Feature, error]) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		values := jsonscan.New(nil)
		for f, err := range seq {
			if f.Members != nil {
				f.Properties, f.Members = values.Decode(f.Members, &f.Lost), nil
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// Reasons counts bad records by reason.
func Reasons(bad []*source.BadRecord) map[string]int {
	counts := map[string]int{}
	for _, b := range bad {
		counts[b.Reason]++
	}
	return counts
}
