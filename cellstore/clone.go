package cellstore

import (
	"bytes"
	"slices"
)

// Copies for drivers: the arguments of a read stay the caller's, who may change
// them before the loop over the answer runs.

// Clone returns a copy that shares no memory with s, nil for nil.
func (s *Selection) Clone() *Selection {
	if s == nil {
		return nil
	}
	own := *s
	own.Families, own.Columns = slices.Clone(s.Families), slices.Clone(s.Columns)
	for i := range own.Columns {
		own.Columns[i].Qualifier = bytes.Clone(own.Columns[i].Qualifier)
	}
	f := &own.Filter
	f.Prefix, f.From, f.To = bytes.Clone(f.Prefix), bytes.Clone(f.From), bytes.Clone(f.To)
	return &own
}

// Clone returns a copy that shares no memory with s.
func (s Scan) Clone() Scan {
	s.Ranges = slices.Clone(s.Ranges)
	for i := range s.Ranges {
		r := &s.Ranges[i]
		r.From, r.To = bytes.Clone(r.From), bytes.Clone(r.To)
	}
	s.Selection = *s.Selection.Clone()
	return s
}

// CloneKeys returns a copy that shares no memory with keys.
func CloneKeys(keys [][]byte) [][]byte {
	own := make([][]byte, len(keys))
	for i := range keys {
		own[i] = bytes.Clone(keys[i])
	}
	return own
}
