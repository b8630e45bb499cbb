package job

import (
	"errors"
	"iter"
	"testing"
)

func TestAhead(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{0, 1, aheadBatch - 1, aheadBatch, aheadBatch + 1, 20 * aheadBatch} {
		ended := false
		seq := iter.Seq2[int, error](func(yield func(int, error) bool) {
			defer func() { ended = true }()
			for i := range n {
				var err error
				if i%5 == 3 {
					err = broken
				}
				if !yield(i, err) {
					return
				}
			}
		})
		for _, stop := range []int{n, 0, 1, aheadBatch, 3 * aheadBatch} {
			if stop > n {
				continue
			}
			ended = false
			next := 0
			for i, err := range ReadAhead(seq) {
				if next == stop {
					break
				}
				if i != next || (err == broken) != (i%5 == 3) {
					t.Fatalf("record %d is %d, %v", next, i, err)
				}
				next++
			}
			if next != stop || !ended {
				t.Fatalf("%d of %d records, stopping at %d; ended: %v", next, n, stop, ended)
			}
		}
	}
}
