// Package geonames reads the tables of the GeoNames gazetteer: UTF-8 text with one record per line
// and columns separated by tabs, mostly without a header. There are no quotes or escapes: a " is
// part of a name. Lines end in LF or CRLF; empty lines are skipped.
//
// The places have 19 columns:
//
//	1 geonameid     6 longitude       11 admin1 code   16 elevation (m)
//	2 name          7 feature class   12 admin2 code   17 dem (m)
//	3 asciiname     8 feature code    13 admin3 code   18 timezone
//	4 alternates    9 country code    14 admin4 code   19 modification date
//	5 latitude     10 cc2             15 population
//
// The other tables are described with their records. Recognise detects the table of a file.
//
// Every reader has one line in memory at a time. The readers of places and alternate names also
// store the ids that have occurred, with a bit for each.
package geonames

import (
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/instant"
)

// Record is one place as it is in the file. Unknown values are empty, zero or nil.
type Record struct {
	ID             uint32 // not 0
	Name           string // not empty: see Read
	ASCIIName      string
	AlternateNames string  // comma-separated
	Lat, Lon       float64 // degrees, within ±90 and ±180
	Class          string  // a letter A to Z
	Code           string  // up to 10 of A to Z and 0 to 9
	Country        string  // two letters A to Z
	CC2            string  // comma-separated
	Admin1         string
	Admin2         string
	Admin3         string
	Admin4         string
	Population     int64 // not negative
	Elevation      *int  // metres; shared between records: not to be changed
	DEM            *int  // metres, likewise
	TimeZone       string
	Modified       time.Time // a date, UTC
	IsRepeat       bool      // the id occurred before in the file: see Repeated
	Line           int       // 1-based
}

// Repeated returns a *source.BadRecord for a row whose id occurred before in the file, and nil for
// others. Ids repeat in files with the modifications of several days. The row itself is good: which
// of the rows counts is known only after the last row.
func (rec *Record) Repeated(name string) error {
	if !rec.IsRepeat {
		return nil
	}
	return &source.BadRecord{Source: name, Line: rec.Line, Reason: reasonRepeated, Detail: strconv.FormatUint(uint64(rec.ID), 10)}
}

// IsRepeated reports whether a bad record comes from Repeated, and so is not a fault of the file.
func IsRepeated(b *source.BadRecord) bool { return b.Reason == reasonRepeated }

const columns = 19

// These are the reasons of bad records in all tables.
const (
	reasonID         = "id is not a number from 1 to 4294967295"
	reasonDuplicate  = "id occurred before in this file"
	reasonRepeated   = "id occurred before in this file: its latest row counts"
	reasonName       = "no name"
	reasonLat        = "latitude is not within ±90 degrees"
	reasonLon        = "longitude is not within ±180 degrees"
	reasonClass      = "feature class is not a letter A to Z"
	reasonCode       = "feature code is not one"
	reasonCountry    = "country is not two letters A to Z"
	reasonPopulation = "population is not a number from 0"
	reasonElevation  = "elevation is not a whole number"
	reasonModified   = "modification date is not year-month-day"
)

// Read yields the records of r in order. name is the source in bad records. The second value is
// nil, a *source.BadRecord, after which reading continues, or the error of r, which ends the
// sequence. source.OpenMember does the unpacking.
//
// A record without a name gets its ASCII name, or else the first of its alternate names.
func Read(r io.Reader, name string) iter.Seq2[Record, error] {
	var seen IDSet
	return rows(r, name, format(columns), func(r row, rec *Record) (reason, detail string) {
		rec.Line = r.line
		if reason, detail = rec.parse(r); reason == "" {
			rec.IsRepeat = !seen.Add(rec.ID)
		}
		return reason, detail
	})
}

// parse fills the record from a line without its end, or returns the reason why that is impossible.
func (rec *Record) parse(r row) (reason, detail string) {
	c := r.next()
	var ok bool
	if rec.ID, ok = parseID(c); !ok {
		return reasonID, source.Excerpt(c)
	}
	rec.Name, rec.ASCIIName, rec.AlternateNames = r.next(), r.next(), r.next()
	if blank(rec.Name) {
		rec.Name = rec.ASCIIName
		for rest := rec.AlternateNames; blank(rec.Name) && rest != ""; {
			rec.Name, rest, _ = strings.Cut(rest, ",")
		}
		if blank(rec.Name) {
			return reasonName, "id " + c
		}
	}
	c = r.next()
	if rec.Lat, ok = source.ParseDecimal(c, 90); !ok {
		return reasonLat, source.Excerpt(c)
	}
	c = r.next()
	if rec.Lon, ok = source.ParseDecimal(c, 180); !ok {
		return reasonLon, source.Excerpt(c)
	}
	if rec.Class = r.next(); rec.Class != "" && !source.IsCode(rec.Class, 1) {
		return reasonClass, source.Excerpt(rec.Class)
	}
	if rec.Code = r.next(); len(rec.Code) > 10 || !isFeatureCode(rec.Code) {
		return reasonCode, source.Excerpt(rec.Code)
	}
	if rec.Country = r.next(); rec.Country != "" && !isCountry(rec.Country) {
		return reasonCountry, source.Excerpt(rec.Country)
	}
	rec.CC2 = r.next()
	rec.Admin1, rec.Admin2, rec.Admin3, rec.Admin4 = r.next(), r.next(), r.next(), r.next()
	c = r.next()
	if rec.Population, ok = count(c); !ok {
		return reasonPopulation, source.Excerpt(c)
	}
	c = r.next()
	if rec.Elevation, ok = metres(c); !ok {
		return reasonElevation, source.Excerpt(c)
	}
	c = r.next()
	if rec.DEM, ok = metres(c); !ok {
		return reasonElevation, source.Excerpt(c)
	}
	rec.TimeZone = r.next()
	if c = r.next(); c != "" {
		if rec.Modified, ok = date(c); !ok {
			return reasonModified, source.Excerpt(c)
		}
	}
	return "", ""
}

// count parses a number of people. An empty text is 0.
func count(s string) (int64, bool) {
	if s == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}

// date parses year-month-day.
func date(s string) (time.Time, bool) {
	t, ok := instant.Parse(s)
	return t, ok && instant.IsDate(s)
}

// isCountry reports whether s can be a country code.
func isCountry(s string) bool { return source.IsCode(s, 2) }

// isFeatureCode reports whether s is made of A to Z and 0 to 9.
func isFeatureCode(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// unknownHeight is GeoNames' value where its elevation model has no data.
const unknownHeight = "-9999"

// heights has the values of usual heights, so that records can share pointers to them.
var heights = func() (h [10000]int) {
	for i := range h {
		h[i] = i + leastHeight
	}
	return h
}()

const leastHeight = -500

func metres(s string) (*int, bool) {
	if s == "" || s == unknownHeight {
		return nil, true
	}
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return nil, false
	}
	if i := v - leastHeight; i >= 0 && i < int64(len(heights)) {
		return &heights[i], true
	}
	n := int(v)
	return &n, true
}
