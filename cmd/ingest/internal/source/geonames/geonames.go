// Package geonames reads the GeoNames gazetteer: UTF-8 text of one place per
// line in 19 tab-separated columns, without a header.
//
//	1 geonameid     6 longitude       11 admin1 code   16 elevation (m)
//	2 name          7 feature class   12 admin2 code   17 dem (m)
//	3 asciiname     8 feature code    13 admin3 code   18 timezone
//	4 alternates    9 country code    14 admin4 code   19 modification date
//	5 latitude     10 cc2             15 population
//
// Nothing is quoted and nothing escaped: a " is part of a name. Lines end in LF
// or CRLF; empty lines are skipped.
package geonames

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quadrille/cmd/ingest/internal/source"
)

// Record is one place as the file gives it; what is unknown is empty, zero or
// nil.
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
	Elevation      *int  // metres
	DEM            *int  // metres
	TimeZone       string
	Modified       time.Time // a date, UTC
	Line           int       // 1-based
}

// MaxLine is the longest line taken, in bytes with its end. GeoNames' longest
// column, the alternate names, has up to 10,000 characters.
const MaxLine = 256 << 10

const columns = 19

// The reasons of bad records.
const (
	reasonLine       = "line is too long"
	reasonColumns    = "not 19 columns"
	reasonUTF8       = "not UTF-8"
	reasonID         = "id is not a number from 1 to 4294967295"
	reasonDuplicate  = "id occurred before in this file"
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

// Member reports whether a file of a zip archive is a table of places by its
// name. Archives of GeoNames may hold readme.txt beside it.
func Member(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, ".txt") && base != "readme.txt" && !strings.HasPrefix(base, ".")
}

// Read yields the records of r in order, and name is what bad ones are
// reported under. The second value is nil, a *source.BadRecord, after which
// reading goes on, or the error of r, which is the last thing yielded.
// Unpacking is left to source.OpenMember.
//
// A record without a name is given its ASCII name, else the first of its
// alternate names. An id is taken once per file; later rows with it are bad.
func Read(r io.Reader, name string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := bufio.NewReaderSize(r, MaxLine)
		if bom, _ := lines.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
			if _, err := lines.Discard(3); err != nil {
				yield(Record{}, fmt.Errorf("%s: %w", name, err))
				return
			}
		}
		var seen idSet
		for n := 1; ; n++ {
			line, last, err := readLine(lines)
			var reason, detail string
			var rec Record
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				reason, detail = reasonLine, fmt.Sprintf("over %d bytes", MaxLine)
			case err != nil:
				yield(Record{}, fmt.Errorf("%s: line %d: %w", name, n, err))
				return
			case len(line) == 0:
				if last {
					return
				}
				continue
			default:
				if reason, detail = rec.parse(line); reason == "" && !seen.add(rec.ID) {
					reason, detail = reasonDuplicate, strconv.FormatUint(uint64(rec.ID), 10)
				}
			}
			var bad error
			if rec.Line = n; reason != "" {
				rec, bad = Record{}, &source.BadRecord{Source: name, Line: n, Reason: reason, Detail: detail}
			}
			if !yield(rec, bad) || last {
				return
			}
		}
	}
}

// readLine returns the next line without its end, valid until the next call,
// and whether it is the last. A line longer than the buffer is skipped and
// answers bufio.ErrBufferFull.
func readLine(r *bufio.Reader) (line []byte, last bool, err error) {
	line, err = r.ReadSlice('\n')
	if err == io.EOF {
		last, err = true, nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), last, err
	}
	for {
		switch _, err := r.ReadSlice('\n'); {
		case err == io.EOF:
			return nil, true, bufio.ErrBufferFull
		case !errors.Is(err, bufio.ErrBufferFull):
			if err == nil {
				err = bufio.ErrBufferFull
			}
			return nil, false, err
		}
	}
}

// parse fills the record from a line without its end, or says why not.
func (rec *Record) parse(line []byte) (reason, detail string) {
	if n := bytes.Count(line, []byte{'\t'}) + 1; n != columns {
		return reasonColumns, strconv.Itoa(n)
	}
	if !utf8.Valid(line) {
		return reasonUTF8, source.Excerpt(line)
	}
	text := string(line) // the one copy: every column is a part of it
	column := func() (c string) {
		c, text, _ = strings.Cut(text, "\t")
		return c
	}

	idText := column()
	id, err := strconv.ParseUint(idText, 10, 32)
	if err != nil || id == 0 {
		return reasonID, source.Excerpt(idText)
	}
	rec.ID = uint32(id)
	rec.Name, rec.ASCIIName, rec.AlternateNames = column(), column(), column()
	if blank(rec.Name) {
		rec.Name = rec.ASCIIName
		for rest := rec.AlternateNames; blank(rec.Name) && rest != ""; {
			rec.Name, rest, _ = strings.Cut(rest, ",")
		}
		if blank(rec.Name) {
			return reasonName, "id " + idText
		}
	}
	var ok bool
	c := column()
	if rec.Lat, ok = degrees(c, 90); !ok {
		return reasonLat, source.Excerpt(c)
	}
	c = column()
	if rec.Lon, ok = degrees(c, 180); !ok {
		return reasonLon, source.Excerpt(c)
	}
	if rec.Class = column(); len(rec.Class) > 1 || !codeLetters(rec.Class, 'A') {
		return reasonClass, source.Excerpt(rec.Class)
	}
	if rec.Code = column(); len(rec.Code) > 10 || !codeLetters(rec.Code, '0') {
		return reasonCode, source.Excerpt(rec.Code)
	}
	if rec.Country = column(); len(rec.Country) != 0 && len(rec.Country) != 2 || !codeLetters(rec.Country, 'A') {
		return reasonCountry, source.Excerpt(rec.Country)
	}
	rec.CC2 = column()
	rec.Admin1, rec.Admin2, rec.Admin3, rec.Admin4 = column(), column(), column(), column()
	if c = column(); c != "" {
		if rec.Population, err = strconv.ParseInt(c, 10, 64); err != nil || rec.Population < 0 {
			return reasonPopulation, source.Excerpt(c)
		}
	}
	c = column()
	if rec.Elevation, ok = metres(c); !ok {
		return reasonElevation, source.Excerpt(c)
	}
	c = column()
	if rec.DEM, ok = metres(c); !ok {
		return reasonElevation, source.Excerpt(c)
	}
	rec.TimeZone = column()
	if c = column(); c != "" {
		if rec.Modified, err = time.Parse(time.DateOnly, c); err != nil {
			return reasonModified, source.Excerpt(c)
		}
	}
	return "", ""
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// degrees parses a coordinate of at most ±most degrees; NaN is none.
func degrees(s string, most float64) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && math.Abs(v) <= most
}

// codeLetters reports whether s is made of A to Z, and of 0 to 9 too when
// least is '0'.
func codeLetters(s string, least byte) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < least || c > '9') {
			return false
		}
	}
	return true
}

// unknownHeight is what GeoNames writes where its elevation model has no data.
const unknownHeight = "-9999"

func metres(s string) (*int, bool) {
	if s == "" || s == unknownHeight {
		return nil, true
	}
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return nil, false
	}
	n := int(v)
	return &n, true
}

// idSet is a set of ids. GeoNames' are dense, so it keeps bits in pages; ids
// chosen to waste pages cost at most about 600 MB.
type idSet struct {
	pages  map[uint32]*[pageBits / 64]uint64
	number uint32
	page   *[pageBits / 64]uint64 // pages[number], the last used
}

const pageBits = 4096

// add adds an id and reports whether it was new.
func (s *idSet) add(id uint32) bool {
	if number := id / pageBits; s.page == nil || number != s.number {
		if s.pages == nil {
			s.pages = map[uint32]*[pageBits / 64]uint64{}
		}
		s.page, s.number = s.pages[number], number
		if s.page == nil {
			s.page = new([pageBits / 64]uint64)
			s.pages[number] = s.page
		}
	}
	word, bit := id%pageBits/64, uint64(1)<<(id%64)
	if s.page[word]&bit != 0 {
		return false
	}
	s.page[word] |= bit
	return true
}
