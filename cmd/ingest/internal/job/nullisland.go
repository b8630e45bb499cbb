package job

import (
	"fmt"

	"quadrille/cmd/ingest/internal/source"
)

// NullIsland counts records at exactly 0, 0, which many programs write for an unknown position. One
// goroutine at a time uses it.
type NullIsland struct {
	Drop bool // leaves them out

	count int64
	first string
}

// Check counts a record at that position. With Drop the error is a *source.BadRecord, which does
// not count as a fault of the file.
func (z *NullIsland) Check(lat, lon float64, path string, line int) error {
	if lat != 0 || lon != 0 {
		return nil
	}
	if z.Drop {
		return &source.BadRecord{Source: path, Line: line, Reason: source.ReasonAtZero}
	}
	if z.count++; z.count == 1 {
		z.first = fmt.Sprintf("%s:%d", path, line)
	}
	return nil
}

// Note reports the records that were kept, if there are any.
func (z *NullIsland) Note(rep Reporter) {
	if z.count > 0 {
		rep.Note(fmt.Sprintf("warning: positions that are exactly 0, 0, as many programs write unknown ones: %d, the first "+
			"in %s; --drop-zero leaves them out", z.count, z.first))
	}
}
