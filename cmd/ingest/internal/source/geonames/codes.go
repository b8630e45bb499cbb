package geonames

import (
	"io"
	"iter"
	"strings"

	"quadrille/cmd/ingest/internal/source"
)

// Division is a row of admin1CodesASCII.txt or admin2Codes.txt: the code, the
// name, the name in ASCII, the geonameid.
type Division struct {
	Code      string // "US.CA" or "US.CA.037"
	Name      string // not empty
	ASCIIName string
	ID        uint32 // of the place; 0: unknown
	Line      int    // 1-based
}

// Admin5 is a row of adminCode5.txt: a place and the code of its fifth-level
// division.
type Admin5 struct {
	ID   uint32 // of the place, not 0
	Code string // not empty
	Line int    // 1-based
}

// Feature is a row of featureCodes_en.txt, or of its translations.
type Feature struct {
	Code        string // "P.PPLC"
	Name        string // not empty
	Description string
	Line        int // 1-based
}

// These are the greatest lengths of accepted texts, in bytes.
const (
	maxCode        = 100
	maxDescription = 4000
)

const (
	reasonDivision      = "code is not that of a division"
	reasonDuplicateCode = "code occurred before in this file"
	reasonNoCode        = "code is empty or over 100 bytes"
	reasonDescription   = "description is over 4000 bytes"
)

// codes has the codes that were read so far.
type codes map[string]bool

// once adds a code, or returns a reason if the code has occurred before.
func (c codes) once(code string) (reason, detail string) {
	if c[code] {
		return reasonDuplicateCode, source.Excerpt(code)
	}
	c[code] = true
	return "", ""
}

// ReadDivisions yields the divisions of r, which are of the first level or the second; see Read. If
// a code is repeated in a file, only the first row is good.
func ReadDivisions(r io.Reader, name string, level int) iter.Seq2[Division, error] {
	seen := codes{}
	return rows(r, name, format(4), func(r row, rec *Division) (reason, detail string) {
		rec.Line = r.line
		if reason, detail = rec.parse(r, level); reason == "" {
			reason, detail = seen.once(rec.Code)
		}
		return reason, detail
	})
}

func (rec *Division) parse(r row, level int) (reason, detail string) {
	if rec.Code = r.text(); levelOf(rec.Code) != level {
		return reasonDivision, source.Excerpt(rec.Code)
	}
	rec.Name, rec.ASCIIName = r.text(), r.text()
	if rec.Name == "" {
		rec.Name = rec.ASCIIName
	}
	if reason, detail := checkName(rec.Name, rec.Code); reason != "" {
		return reason, detail
	}
	if len(rec.ASCIIName) > maxName {
		return reasonLongName, source.Excerpt(rec.ASCIIName)
	}
	c := r.text()
	var ok bool
	if rec.ID, ok = parseAnyID(c); !ok {
		return reasonID, source.Excerpt(c)
	}
	return "", ""
}

// checkName returns a reason if the name for a code is wrong.
func checkName(name, code string) (reason, detail string) {
	switch {
	case name == "":
		return reasonName, "code " + source.Excerpt(code)
	case len(name) > maxName:
		return reasonLongName, source.Excerpt(name)
	}
	return "", ""
}

// levelOf returns the level of a division's code: 1 for "US.CA", 2 for
// "US.CA.037", and 0 for anything else.
func levelOf(code string) int {
	country, rest, ok := strings.Cut(code, ".")
	if !ok || !isCountry(country) || len(code) > maxCode {
		return 0
	}
	level := 0
	for part := range strings.SplitSeq(rest, ".") {
		if level++; part == "" || level > 2 {
			return 0
		}
	}
	return level
}

// ReadAdmin5 yields the fifth-level codes of r; see Read. If an id is repeated in a file, only the
// first row is good.
func ReadAdmin5(r io.Reader, name string) iter.Seq2[Admin5, error] {
	var seen IDSet
	return rows(r, name, format(2), func(r row, rec *Admin5) (reason, detail string) {
		c := r.text()
		var ok bool
		if rec.ID, ok = parseID(c); !ok {
			return reasonID, source.Excerpt(c)
		}
		if rec.Code = r.text(); rec.Code == "" || len(rec.Code) > maxCode {
			return reasonNoCode, source.Excerpt(rec.Code)
		}
		rec.Line = r.line
		return seen.once(rec.ID)
	})
}

// noFeature is the code that GeoNames explains as "not available".
const noFeature = "null"

// ReadFeatures yields the features of r; see Read. If a code is repeated in a file, only the first
// row is good.
func ReadFeatures(r io.Reader, name string) iter.Seq2[Feature, error] {
	seen := codes{}
	return rows(r, name, format(3), func(r row, rec *Feature) (reason, detail string) {
		rec.Line = r.line
		if reason, detail = rec.parse(r); reason == "" {
			reason, detail = seen.once(rec.Code)
		}
		return reason, detail
	})
}

func (rec *Feature) parse(r row) (reason, detail string) {
	switch rec.Code = r.text(); {
	case rec.Code == noFeature:
		return skip, ""
	case !isFeature(rec.Code):
		return reasonCode, source.Excerpt(rec.Code)
	}
	rec.Name, rec.Description = r.text(), r.text()
	if len(rec.Description) > maxDescription {
		return reasonDescription, source.Excerpt(rec.Description)
	}
	return checkName(rec.Name, rec.Code)
}

// isFeature reports whether s is a class and a code, such as "P.PPLC".
func isFeature(s string) bool {
	return len(s) >= 3 && len(s) <= 12 && source.IsCode(s[:1], 1) && s[1] == '.' && isFeatureCode(s[2:])
}
