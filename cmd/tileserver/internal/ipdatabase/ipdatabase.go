// Package ipdatabase has code that packages ip and geoip share: memory that is reused for lookups,
// and the description of the source in all answers from one generation.
package ipdatabase

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/ipgeo"
)

// Lookup is the memory of one address lookup, reused from request to request.
type Lookup struct {
	Res ipgeo.Result
	Out web.Scratch
}

// LookupPool lends a *Lookup for one answer. The content of a Lookup is valid until it is put back.
var LookupPool = sync.Pool{New: func() any { return new(Lookup) }}

// Database has the parts that all answers from one generation of addresses share.
type Database struct {
	id           uint64
	SourceMember []byte   // `,"source":"…"`, or nothing when no source is named
	Header       []string // of DatabaseHeader
}

// NewestDatabase caches the Database of the newest generation. Its zero value is ready.
type NewestDatabase struct{ atomic.Pointer[Database] }

// Of returns the Database of a generation. It is made once for each.
func (d *NewestDatabase) Of(p *ask.Pinned[ask.AddressReader]) *Database {
	now := d.Load()
	if now == nil || now.id != p.ID {
		m := p.Handle.Manifest()
		now = &Database{id: p.ID, SourceMember: encodeSources(m), Header: []string{describeDatabase(m)}}
		d.Store(now)
	}
	return now
}

// distinct returns the distinct values of a property of the sources.
func distinct(sources []dataset.Source, of func(*dataset.Source) string) []string {
	var values []string
	for i := range sources {
		if v := of(&sources[i]); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

func encodeSources(m *dataset.Manifest) []byte {
	names := distinct(m.Sources, func(s *dataset.Source) string { return s.Name })
	if len(names) == 0 {
		return nil
	}
	return jsontext.AppendString([]byte(`,"source":`), strings.Join(names, ", "))
}

// describeDatabase makes the value of DatabaseHeader:
//
//	ip/12; built=2026-11-20T04:00:00Z; source="DB-IP Lite"; license="CC-BY-4.0"
//
// built is the time at which the data was ingested. data is the time at which the newest source was
// made, if known.
func describeDatabase(m *dataset.Manifest) string {
	b := append([]byte(m.Dataset), '/')
	b = strconv.AppendUint(b, m.Generation, 10)
	b = append(b, "; built="...)
	b = m.Built.UTC().AppendFormat(b, time.RFC3339)
	var newest time.Time
	for i := range m.Sources {
		if t := m.Sources[i].Modified; t.After(newest) {
			newest = t
		}
	}
	if !newest.IsZero() {
		b = append(b, "; data="...)
		b = newest.UTC().AppendFormat(b, time.RFC3339)
	}
	for _, p := range []struct {
		name string
		of   func(*dataset.Source) string
	}{
		{"source", func(s *dataset.Source) string { return s.Name }},
		{"license", func(s *dataset.Source) string { return s.License }},
	} {
		if values := distinct(m.Sources, p.of); len(values) > 0 {
			b = append(append(append(b, "; "...), p.name...), `="`...)
			b = append(appendHeaderText(b, strings.Join(values, ", "), maxDescribed), '"')
		}
	}
	return string(b)
}

// maxDescribed bounds the names of sources in a header, in bytes.
const maxDescribed = 120

// appendHeaderText appends the characters of a text that are allowed in a quoted header value,
// truncated to max bytes.
func appendHeaderText(b []byte, text string, max int) []byte {
	for i := range min(len(text), max) {
		if c := text[i]; c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			b = append(b, c)
		} else {
			b = append(b, '?')
		}
	}
	return b
}

// Header is the name of the header that describes the data of an answer: their generation, age,
// source and license.
const Header = "X-Geo-Database"

// ErrNoPeer is matched if a request's sender is unknown.
var ErrNoPeer = errors.New("the connection has no peer address")
