package dataset

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Predecessor describes the generation that another one has replaced.
type Predecessor struct {
	Generation uint64           `json:"generation"`
	Built      time.Time        `json:"built,omitzero"`    // older programs do not write it
	Records    map[string]int64 `json:"records,omitempty"` // what it had stored, by kind
	// OlderSource names a source that is of an earlier edition than in the replaced generation. It is
	// empty if there is none.
	OlderSource string `json:"older,omitempty"`
}

// SetPredecessor records in m, which is to be published next, that it replaces the generation of old.
func (m *Manifest) SetPredecessor(old *Manifest) {
	m.Predecessor = &Predecessor{Generation: old.Generation, Built: old.Built, Records: old.Records,
		OlderSource: earlierEdition(m.Sources, old)}
}

// RecordLoss is a kind of record whose number is less than in the replaced generation.
type RecordLoss struct {
	Kind   string `json:"kind"`
	Before int64  `json:"before"`
	Now    int64  `json:"now"`
}

// Losses lists, by name, the kinds that have lost too large a share of their records since the
// generation that was replaced. The bound is most, 0 to 1. The list is empty if nothing was
// replaced.
func (m *Manifest) Losses(most float64) (list []RecordLoss) {
	if m.Predecessor == nil {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Predecessor.Records)) {
		before, now := m.Predecessor.Records[kind], m.Records[kind]
		if float64(before-now) > most*float64(before) {
			list = append(list, RecordLoss{kind, before, now})
		}
	}
	return list
}

// sameDay is the time by which a source may be earlier without being an older edition, because the
// clocks and time zones of publishers differ.
const sameDay = 24 * time.Hour

// earlierEdition names a source that is of an earlier edition than in old. It compares sources with
// equal names. If no name is in both lists, it compares the newest dates of the lists.
func earlierEdition(sources []Source, old *Manifest) string {
	say := func(name string, now, before time.Time) string {
		if now.IsZero() || before.IsZero() || before.Sub(now) < sameDay {
			return ""
		}
		return fmt.Sprintf("%s is of %s, older than that of generation %d, which is of %s", name, now.Format(time.DateOnly),
			old.Generation, before.Format(time.DateOnly))
	}
	known := false
	for _, now := range sources {
		for _, before := range old.Sources {
			if now.Name != before.Name {
				continue
			}
			known = true
			if text := say(now.Name, now.Modified, before.Modified); text != "" && now.SHA256 != before.SHA256 {
				return text
			}
		}
	}
	if known || len(sources) == 0 {
		return ""
	}
	return say(sources[0].Name, newest(sources), newest(old.Sources))
}

func newest(sources []Source) (at time.Time) {
	for _, s := range sources {
		if s.Modified.After(at) {
			at = s.Modified
		}
	}
	return at
}
