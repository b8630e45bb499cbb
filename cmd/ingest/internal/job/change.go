package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrChanged is matched by errors that refuse a generation because it differs from the published
// one by more than Options.MaxChange.
var ErrChanged = errors.New("more has changed than --max-change allows")

// TooMuchChange returns an error that matches ErrChanged. what is a clause that describes the difference
// from the published generation. most is the allowed share, 0 to 1.
func TooMuchChange(what string, most float64) error { return &changeError{what, most} }

type changeError struct {
	what string
	most float64
}

func (e *changeError) Error() string {
	return fmt.Sprintf("%s, and --max-change allows %s; nothing is published or written; if the change is meant, run this again "+
		"with a larger --max-change or without it", e.what, Percent(e.most))
}

func (e *changeError) Is(target error) bool { return target == ErrChanged }

// Percent writes a share for messages: "0.31%".
func Percent(share float64) string {
	if p := 100 * share; p == 0 || p >= 0.01 {
		return fmt.Sprintf("%.3g%%", p)
	}
	return "under 0.01%"
}

// check returns an error that matches ErrChanged if too large a share of the records of a kind, or
// of all rows, has changed. The bound is most, 0 to 1. A kind without earlier records is not a
// change, and rows that cannot be compared count as equal. If not even the numbers of records can
// be read, the change is unknown, and check returns an error too.
func (r *Rehearsal) check(most float64) error {
	if r.Published == nil && r.Err != nil {
		return fmt.Errorf("what is published cannot be compared with (%w); to publish all the same, run this again without --max-change", r.Err)
	}
	if r.Published == nil {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Published.Records)) {
		before, now := r.Published.Records[kind], r.Planned.Records[kind]
		if before == 0 {
			continue
		}
		how, share := "more", float64(now-before)/float64(max(now, before))
		if share < 0 {
			how, share = "fewer", -share
		}
		if share > most {
			return TooMuchChange(fmt.Sprintf("of %s there would be %d, which is %s %s than the %d of generation %d", kind, now,
				Percent(share), how, before, r.Published.Generation), most)
		}
	}
	var sum TableChange
	for _, t := range r.Tables {
		sum.Added, sum.Removed, sum.Changed, sum.Same = sum.Added+t.Added, sum.Removed+t.Removed, sum.Changed+t.Changed, sum.Same+t.Same
	}
	other := sum.Added + sum.Removed + sum.Changed
	if share := float64(other) / float64(max(1, other+sum.Same)); share > most {
		return TooMuchChange(fmt.Sprintf("%s of the rows would differ from generation %d (%d added, %d removed, %d changed)",
			Percent(share), r.Published.Generation, sum.Added, sum.Removed, sum.Changed), most)
	}
	return nil
}
