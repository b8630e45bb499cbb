package web

import (
	"net/http"
	"sync/atomic"
)

// dates has the values of Last-Modified by the identities of the generations in service.
type dates struct {
	known atomic.Pointer[map[uint64][]string]
}

// mostDates bounds the identities that are remembered.
const mostDates = 1000

// dated returns Last-Modified of an answer that is made from the generations from; an unpublished
// one is 0. It is the build time of the generation in its manifest, which is the same on all
// servers of the data, and different for every generation.
//
// It is nil for an answer that depends on more than one object, such as another generation or the
// address of the server. With only one date, a change of the others could go unnoticed, after a
// rollback or a late start of service. It is also nil for answers that never change at their
// address. Unlike ETags, the date does not depend on the version of the program. If the date of the
// program counted too, a rollback between two generations that are older than the program would go
// unnoticed.
func (s *Kit) dated(a *Answer, from []uint64) []string {
	var one uint64
	for _, id := range from {
		switch {
		case id == 0:
		case one != 0 && id != one:
			return nil
		default:
			one = id
		}
	}
	if one%2 == 0 || a.Base != "" || &a.CacheControl[0] == &s.PinnedCacheControl[0] || s.generations == nil {
		return nil
	}
	if known := s.dates.known.Load(); known != nil {
		if date, ok := (*known)[one]; ok {
			return date
		}
	}
	// Other generations are in service now. A generation that has just been replaced has no date.
	all, serving := map[uint64][]string{}, false
	for _, g := range s.generations() {
		serving = serving || g.ID == one
		switch {
		case g.Built.IsZero():
			all[g.ID] = nil
		case !g.Built.After(s.Now()): // RFC 9110, 8.8.2.1: no date is later than the answer
			all[g.ID] = []string{g.Built.UTC().Format(http.TimeFormat)}
		}
	}
	if !serving {
		all[one] = nil // of no generation in service: it is not looked for again
		if known := s.dates.known.Load(); known != nil && len(*known) < mostDates {
			for id, date := range *known { // and keep the others that were not in service
				if _, is := all[id]; !is && date == nil {
					all[id] = nil
				}
			}
		}
	}
	s.dates.known.Store(&all)
	return all[one]
}
