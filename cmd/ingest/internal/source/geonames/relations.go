package geonames

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source"
)

// Parent is a row of hierarchy.txt: parent, child and, often, the type.
type Parent struct {
	Parent, Child uint32 // ids of places, not 0
	Type          string // "ADM" for administrative divisions, or another word, or none
	Line          int    // 1-based
}

// Deletion is a row of a deletes-YYYY-MM-DD.txt: a place that was deleted on that day, and the
// reason.
type Deletion struct {
	ID            uint32 // not 0
	Name, Comment string
	Line          int // 1-based
}

// TimeZone is a row of timeZones.txt, which has a header.
type TimeZone struct {
	Country string // two letters; empty: none
	Name    string // "Europe/Zurich"
	// January and July are the offsets of the zone from UTC, in hours, on the first day of these
	// months in the file's year. Raw is the same without daylight saving.
	January, July, Raw float64
	Line               int // 1-based
}

// Language is a row of iso-languagecodes.txt, which has a header. Codes that
// a language does not have are empty.
type Language struct {
	ISO3 string   // of ISO 639-3, three letters
	ISO2 []string // of ISO 639-2: some languages have two, for terms and for libraries
	ISO1 string   // of ISO 639-1, two letters
	Name string
	Line int // 1-based
}

const (
	reasonSelf   = "place is its own parent"
	reasonType   = "type is over 32 bytes"
	reasonZone   = "no time zone"
	reasonOffset = "offset is not a number of hours within ±24"
)

const maxType = 32

// ReadParents yields the parents of places in r; see Read.
func ReadParents(r io.Reader, name string) iter.Seq2[Parent, error] {
	return rows(r, name, format(2, 3), func(r row, rec *Parent) (reason, detail string) {
		for _, id := range [...]*uint32{&rec.Parent, &rec.Child} {
			c := r.text()
			var ok bool
			if *id, ok = parseID(c); !ok {
				return reasonPlaceID, source.Excerpt(c)
			}
		}
		if rec.Parent == rec.Child {
			return reasonSelf, strconv.FormatUint(uint64(rec.Child), 10)
		}
		if rec.Type = r.text(); len(rec.Type) > maxType {
			return reasonType, source.Excerpt(rec.Type)
		}
		rec.Line = r.line
		return "", ""
	})
}

// ReadDeletions yields the deleted places of r; see Read.
func ReadDeletions(r io.Reader, name string) iter.Seq2[Deletion, error] {
	return rows(r, name, format(3), func(r row, rec *Deletion) (reason, detail string) {
		c := r.text()
		var ok bool
		if rec.ID, ok = parseID(c); !ok {
			return reasonID, source.Excerpt(c)
		}
		rec.Name, rec.Comment, rec.Line = r.text(), r.text(), r.line
		return "", ""
	})
}

// These are the first columns of files with a header.
const (
	zonesHeader     = "CountryCode\t"
	languagesHeader = "ISO 639-3\t"
)

// ReadTimeZones yields the time zones of r; see Read.
func ReadTimeZones(r io.Reader, name string) iter.Seq2[TimeZone, error] {
	return rows(r, name, format(5), func(r row, rec *TimeZone) (reason, detail string) {
		if strings.HasPrefix(r.rest, zonesHeader) {
			return skip, ""
		}
		rec.Line = r.line
		return rec.parse(r)
	})
}

func (rec *TimeZone) parse(r row) (reason, detail string) {
	if rec.Country = r.text(); rec.Country != "" && !isCountry(rec.Country) {
		return reasonCountry, source.Excerpt(rec.Country)
	}
	if rec.Name = r.text(); rec.Name == "" || len(rec.Name) > maxName {
		return reasonZone, source.Excerpt(rec.Name)
	}
	for _, hours := range [...]*float64{&rec.January, &rec.July, &rec.Raw} {
		c := r.text()
		var ok bool
		if *hours, ok = source.ParseDecimal(c, 24); !ok {
			return reasonOffset, source.Excerpt(c)
		}
	}
	return "", ""
}

// ReadLanguages yields the languages of r; see Read.
func ReadLanguages(r io.Reader, name string) iter.Seq2[Language, error] {
	return rows(r, name, format(4), func(r row, rec *Language) (reason, detail string) {
		if strings.HasPrefix(r.rest, languagesHeader) {
			return skip, ""
		}
		rec.ISO3 = r.text()
		// The value has the form "zho / chi*".
		rec.ISO2 = strings.FieldsFunc(r.next(), func(c rune) bool { return c == ' ' || c == '/' || c == '*' })
		rec.ISO1 = r.text()
		for _, code := range append([]string{rec.ISO3, rec.ISO1}, rec.ISO2...) {
			if !isLanguage(code) {
				return reasonLanguage, source.Excerpt(code)
			}
		}
		rec.Name, rec.Line = r.text(), r.line
		return checkName(rec.Name, rec.ISO3)
	})
}
