package ipgeo

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Record is what is known about a range of addresses. The fields and their
// JSON names are those of GeoIP2. What is unknown is left at its zero value
// and is then absent from every answer, never null or empty.
type Record struct {
	Continent Continent `json:"continent,omitzero"`
	Country   Country   `json:"country,omitzero"`
}

// Names holds the names of one thing by language, "en" or "pt-BR".
type Names map[string]string

// Continent is the continent of an address.
type Continent struct {
	Code      string `json:"code,omitempty"` // AF AN AS EU NA OC SA
	GeoNameID uint32 `json:"geoname_id,omitempty"`
	Names     Names  `json:"names,omitempty"`
}

// Country is the country of an address.
type Country struct {
	GeoNameID         uint32 `json:"geoname_id,omitempty"`
	IsInEuropeanUnion bool   `json:"is_in_european_union,omitempty"`
	ISOCode           string `json:"iso_code,omitempty"` // ISO 3166-1 alpha-2, upper case
	Names             Names  `json:"names,omitempty"`
}

// maxRecord bounds an encoded record. The fullest ones known have about 3 KiB.
const maxRecord = 64 << 10

var (
	errEmptyRecord = errors.New("the record says nothing")
	errCode        = errors.New("a country or continent code is not two capital letters")
	errRecordSize  = fmt.Errorf("the encoded record is over %d bytes", maxRecord)
)

// encoder turns records into the sections of rowkey.go. It reuses its memory:
// what it returns is valid until the next call.
type encoder struct{ sections, members []byte }

func (e *encoder) encode(r *Record) ([]byte, error) {
	if (r.Country.ISOCode != "" && !isCode(r.Country.ISOCode)) || (r.Continent.Code != "" && !isCode(r.Continent.Code)) {
		return nil, errCode
	}
	w := objectWriter{e.members[:0]}
	at := w.open("continent")
	w.string("code", r.Continent.Code)
	w.number("geoname_id", r.Continent.GeoNameID)
	w.names(r.Continent.Names)
	w.close(at)
	at = w.open("country")
	w.number("geoname_id", r.Country.GeoNameID)
	w.flag("is_in_european_union", r.Country.IsInEuropeanUnion)
	w.string("iso_code", r.Country.ISOCode)
	w.names(r.Country.Names)
	w.close(at)
	e.members = w.b
	if len(w.b) == 0 {
		return nil, errEmptyRecord
	}
	e.sections = appendSection(e.sections[:0], sectionCode, r.Country.ISOCode)
	e.sections = appendSection(e.sections, sectionCountry, e.members)
	if len(e.sections) > maxRecord {
		return nil, errRecordSize
	}
	return e.sections, nil
}

// objectWriter appends the members of JSON objects, leaving out zero values.
type objectWriter struct{ b []byte }

func (w *objectWriter) key(name string) {
	if n := len(w.b); n > 0 && w.b[n-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...) // our own names, nothing to escape
	w.b = append(w.b, '"', ':')
}

// open begins an object and returns where, for close.
func (w *objectWriter) open(name string) (at int) {
	at = len(w.b)
	w.key(name)
	w.b = append(w.b, '{')
	return at
}

// close ends the object begun at at, and takes it back if it has no members.
func (w *objectWriter) close(at int) {
	if w.b[len(w.b)-1] == '{' {
		w.b = w.b[:at]
		return
	}
	w.b = append(w.b, '}')
}

func (w *objectWriter) string(name, v string) {
	if v != "" {
		w.key(name)
		w.b = appendString(w.b, v)
	}
}

func (w *objectWriter) number(name string, v uint32) {
	if v != 0 {
		w.key(name)
		w.b = strconv.AppendUint(w.b, uint64(v), 10)
	}
}

func (w *objectWriter) flag(name string, v bool) {
	if v {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

// names writes the languages sorted, so that equal records have equal bytes.
func (w *objectWriter) names(names Names) {
	var array [16]string
	langs := array[:0]
	for lang, name := range names {
		if lang != "" && name != "" {
			langs = append(langs, lang)
		}
	}
	slices.Sort(langs)
	at := w.open("names")
	for i, lang := range langs {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(appendString(w.b, lang), ':')
		w.b = appendString(w.b, names[lang])
	}
	w.close(at)
}

const hex = "0123456789abcdef"

// appendString appends s as a JSON string (RFC 8259). Bytes that are not UTF-8
// become U+FFFD. The two line separators that JavaScript long refused inside
// strings are escaped, so that an answer may be put into a script.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c < 0x20 || c == 0x7f:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			default:
				dst = append(dst, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, '\\', 'u', '2', '0', '2', hex[r&15])
		case r == utf8.RuneError && n == 1:
			dst = append(dst, "\ufffd"...)
		default:
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return append(dst, '"')
}
