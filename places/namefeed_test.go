package places

import (
	"errors"
	"fmt"
	"testing"

	"quadrille/places/search"
)

// fullSink accepts a limited number of entries.
type fullSink struct {
	recorder
	most int
}

var errSinkFull = errors.New("full")

func (s *fullSink) Add(e *search.Entry) error {
	if len(s.entries) == s.most {
		return errSinkFull
	}
	return s.recorder.Add(e)
}

// All entries arrive, in order and unchanged, although the memory of an entry and its names is
// reused. The first error ends the feed.
func TestNameFeed(t *testing.T) {
	for _, n := range []int{0, 1, feedBatch, 3*feedBatches*feedBatch + 7} {
		for _, most := range []int{n + 1, n / 2} {
			s := &fullSink{most: most}
			s.progress = func(string, int64, int64) {}
			s.members = func(uint32) (bool, error) { return true, nil }
			f := newNameFeed(s)
			var e search.Entry
			var err error
			for i := 0; i < n && err == nil; i++ {
				e.ID, e.Names = uint32(i+1), append(e.Names[:0], search.Name{Text: fmt.Sprint(i)}, search.Name{})
				err = f.Add(&e)
			}
			if err == nil {
				_, err = f.Finish()
			}
			if want := n > most; errors.Is(err, errSinkFull) != want || !want && err != nil {
				t.Errorf("%d entries, %d taken: %v", n, most, err)
			}
			if err := f.Close(); err != nil || !s.closed || s.finished == (n > most) {
				t.Errorf("%d entries, %d taken: %v, closed %v, finished %v", n, most, err, s.closed, s.finished)
			}
			for i, e := range s.entries {
				if e.ID != uint32(i+1) || len(e.Names) != 2 || e.Names[0].Text != fmt.Sprint(i) {
					t.Fatalf("entry %d is %+v", i, e)
				}
			}
		}
	}
}
