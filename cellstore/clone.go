package cellstore

import (
	"bytes"
	"slices"
)

// These are copies for drivers. The arguments of a read belong to the caller, who may change them
// before the loop over the answer runs.

// Clone returns a copy that shares no memory with s, or nil for nil.
func (s *Selection) Clone() *Selection {
	if s == nil {
		return nil
	}
	own := *s
	own.detach()
	return &own
}

// detach copies the memory of s, so that s shares none with the caller.
func (s *Selection) detach() {
	s.Families = slices.Clone(s.Families)
	s.detachColumns()
}

// detachColumns copies the memory of s, except for its families.
func (s *Selection) detachColumns() {
	s.Columns = slices.Clone(s.Columns)
	for i := range s.Columns {
		s.Columns[i].Qualifier = bytes.Clone(s.Columns[i].Qualifier)
	}
	f := &s.Filter
	f.Prefix, f.From, f.To = bytes.Clone(f.Prefix), bytes.Clone(f.From), bytes.Clone(f.To)
}

// smallScan has memory for the copy of a usual scan, with a few short ranges and families.
type smallScan struct {
	ranges   [2]Range
	families [4]string
	keys     [160]byte
}

// Clone returns a copy that shares no memory with s. It allocates once for a usual scan.
func (s Scan) Clone() Scan {
	var own smallScan
	s.Ranges = append(own.ranges[:0], s.Ranges...)
	s.Families = append(own.families[:0], s.Families...)
	keys := own.keys[:0]
	size := 0
	for i := range s.Ranges {
		size += len(s.Ranges[i].From) + len(s.Ranges[i].To)
	}
	if size > len(own.keys) {
		keys = make([]byte, 0, size)
	}
	take := func(key []byte) []byte {
		if key == nil {
			return nil
		}
		at := len(keys)
		keys = append(keys, key...)
		return keys[at:len(keys):len(keys)]
	}
	for i := range s.Ranges {
		r := &s.Ranges[i]
		r.From, r.To = take(r.From), take(r.To)
	}
	s.Selection.detachColumns()
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
