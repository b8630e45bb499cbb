package geonames

import (
	"io"
	"iter"
	"strconv"

	"quadrille/cmd/ingest/internal/source"
)

// AlternateName is a row of alternateNamesV2.txt, of the older alternateNames.txt, which has no
// columns from and to, or of the alternate names of one country:
//
//	1 alternateNameId   4 alternate name    7 isColloquial
//	2 geonameid         5 isPreferredName   8 isHistoric
//	3 isolanguage       6 isShortName       9 from, 10 to
type AlternateName struct {
	ID      uint32 // of the name, not 0
	PlaceID uint32 // not 0
	// Language is an ISO 639 code such as "de" or "zh-Hant". For a text that is not a name it is
	// the kind of the text: "post", "link", "iata", "wkdt" and so on. It is empty if unknown.
	Language string
	Name     string // not empty, up to 1000 bytes

	Preferred, Short, Colloquial, Historic bool

	From, To string // when it was in use, in the words of the source
	Line     int    // 1-based
}

// These are the greatest lengths of accepted texts, in bytes. GeoNames' names have up to 400
// characters.
const (
	maxName     = 1000
	maxLanguage = 32
)

const (
	reasonPlaceID  = "place id is not a number from 1 to 4294967295"
	reasonLanguage = "language is not a code of letters, digits and hyphens"
	reasonFlag     = "flag is neither 1 nor empty"
	reasonLongName = "name is over 1000 bytes"
)

// ReadAlternateNames yields the alternate names of r; see Read. If the id of a name is repeated in
// a file, only the first row is good.
func ReadAlternateNames(r io.Reader, name string) iter.Seq2[AlternateName, error] {
	var seen IDSet
	return rows(r, name, format(8, 10), func(r row, rec *AlternateName) (reason, detail string) {
		rec.Line = r.line
		if reason, detail = rec.parse(r); reason == "" {
			reason, detail = seen.once(rec.ID)
		}
		return reason, detail
	})
}

func (rec *AlternateName) parse(r row) (reason, detail string) {
	c := r.next()
	var ok bool
	if rec.ID, ok = parseID(c); !ok {
		return reasonID, source.Excerpt(c)
	}
	c = r.next()
	if rec.PlaceID, ok = parseID(c); !ok {
		return reasonPlaceID, source.Excerpt(c)
	}
	if rec.Language = r.text(); !isLanguage(rec.Language) {
		return reasonLanguage, source.Excerpt(rec.Language)
	}
	switch rec.Name = r.text(); {
	case rec.Name == "":
		return reasonName, "id " + strconv.FormatUint(uint64(rec.ID), 10)
	case len(rec.Name) > maxName:
		return reasonLongName, source.Excerpt(rec.Name)
	}
	for _, flag := range [...]*bool{&rec.Preferred, &rec.Short, &rec.Colloquial, &rec.Historic} {
		switch c = r.next(); c {
		case "", "0":
		case "1":
			*flag = true
		default:
			return reasonFlag, source.Excerpt(c)
		}
	}
	rec.From, rec.To = r.text(), r.text()
	return "", ""
}

// isLanguage accepts ISO codes and GeoNames' extensions, such as "fr_1793".
func isLanguage(s string) bool {
	for i := range len(s) {
		c := s[i]
		if lower := c | 0x20; (lower < 'a' || lower > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(s) <= maxLanguage
}
