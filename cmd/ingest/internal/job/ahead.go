package job

import "iter"

const (
	aheadBatch   = 256 // records handed over at once
	aheadBatches = 4
)

// ReadAhead runs a sequence in a goroutine of its own, some records ahead of the loop over the
// result. So parsing a file overlaps with the work on its records. The goroutine ends with the
// loop, even if the loop ends early.
func ReadAhead[T any](seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	type item struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		full := make(chan []item, aheadBatches)
		free := make(chan []item, aheadBatches)
		for range aheadBatches {
			free <- make([]item, 0, aheadBatch)
		}
		stop := make(chan struct{})
		go func() {
			defer close(full)
			batch := <-free
			for value, err := range seq {
				if batch = append(batch, item{value, err}); len(batch) < aheadBatch {
					continue
				}
				full <- batch // has room for all there are
				select {
				case batch = <-free:
				case <-stop:
					return
				}
			}
			full <- batch
		}()
		defer func() {
			close(stop)
			for range full {
			}
		}()
		for batch := range full {
			for i := range batch {
				if !yield(batch[i].value, batch[i].err) {
					return
				}
			}
			clear(batch) // releases the memory that the records refer to
			free <- batch[:0]
		}
	}
}
