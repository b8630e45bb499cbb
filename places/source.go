package places

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"quadrille/places/internal/near"
)

// Source is what Build reads. Only Places is required. Each other sequence adds
// to the records of the places it names. An entry about a place that is not
// among Places is dropped and counted. The sequences are read one after
// another, each once, from the goroutine that runs Build. An error that a
// sequence yields ends the build.
type Source struct {
	Places  iter.Seq2[Place, error]         // in any order
	Names   iter.Seq2[AlternateName, error] // in any order
	Parents iter.Seq2[Parent, error]        // in any order
	Admin5  iter.Seq2[Admin5, error]        // in any order
	// Gazetteer explains the codes that places carry. Without its countries and divisions, their
	// names are taken from the places of class A that represent them.
	Gazetteer Gazetteer
}

// AlternateName is one more name of a place, or a code of it.
type AlternateName struct {
	PlaceID uint32 `json:"-"`
	// Lang is an ISO 639 code such as "de" or "zh-Hant", or "" when unknown. It may
	// also name a kind of text that is not a name: "iata", "icao", "faac", "unlc"
	// and "tcid" (codes), "post" (postal code), "link", "wkdt" (Wikidata id),
	// "abbr" (abbreviation), "phon" and "piny" (pronunciation).
	Lang string `json:"lang,omitempty"`
	Name string `json:"name"`
	// Preferred: the official or usual name in its language. Short: such as
	// "California" for "State of California". Colloquial: "Big Apple".
	// Historic: no longer used.
	Preferred  bool `json:"preferred,omitempty"`
	Short      bool `json:"short,omitempty"`
	Colloquial bool `json:"colloquial,omitempty"`
	Historic   bool `json:"historic,omitempty"`
}

// Parent is the relation of a place to another one that contains it.
type Parent struct {
	Parent, Child uint32
	Kind          string // "ADM" for an administrative parent; otherwise "" or the source's word
}

// Admin5 is the code of a place's fifth-level division.
type Admin5 struct {
	PlaceID uint32
	Code    string
}

// Gazetteer explains codes. Unknown fields of an entry are empty.
type Gazetteer struct {
	Countries      []Country
	Admin1, Admin2 []Division
	Features       []Feature
}

// Country is the known data of a country.
type Country struct {
	Code          string   `json:"code"` // ISO 3166-1 alpha-2
	ISO3          string   `json:"iso3,omitempty"`
	FIPS          string   `json:"fips,omitempty"`
	Name          string   `json:"name"`
	Capital       string   `json:"capital,omitempty"`
	Continent     string   `json:"continent,omitempty"` // "EU"
	TLD           string   `json:"tld,omitempty"`       // ".ch"
	CurrencyCode  string   `json:"currency_code,omitempty"`
	CurrencyName  string   `json:"currency_name,omitempty"`
	Phone         string   `json:"phone,omitempty"`
	PostalFormat  string   `json:"postal_format,omitempty"`  // "####"
	PostalPattern string   `json:"postal_pattern,omitempty"` // a regular expression
	Numeric       int      `json:"numeric,omitempty"`        // ISO 3166-1
	AreaKM2       float64  `json:"area_km2,omitempty"`
	Population    int64    `json:"population,omitempty"`
	Languages     []string `json:"languages,omitempty"`  // "de-CH", the most used first
	Neighbours    []string `json:"neighbours,omitempty"` // country codes
	ID            uint32   `json:"id,omitempty"`         // of its place
}

// Division is a first-level ("US.CA") or second-level ("US.CA.037") division of
// a country.
type Division struct {
	Code      string `json:"code"`
	Name      string `json:"name"`
	ASCIIName string `json:"ascii_name,omitempty"`
	ID        uint32 `json:"id,omitempty"` // of its place
}

// Feature is the meaning of a feature code.
type Feature struct {
	Code        string `json:"code"` // with its class: "P.PPLC"
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// These are bounds of the texts that are stored with places, in bytes.
const (
	maxLang        = 35
	maxAlternate   = 4096
	maxDescription = 10_000
	maxListed      = 1_000     // elements of a list of a Country
	maxDivisions   = 1_000_000 // of each level
)

// Validate returns an error that matches ErrInvalidPlace and says what is
// wrong, or nil for a name that Build takes.
func (a *AlternateName) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: alternate name of place %d: %s", ErrInvalidPlace, a.PlaceID, fmt.Sprintf(format, args...))
	}
	switch {
	case a.PlaceID == 0:
		return bad("ids start at 1")
	case a.Name == "":
		return bad("it is empty")
	case len(a.Name) > maxAlternate:
		return bad("%d bytes are over the limit of %d", len(a.Name), maxAlternate)
	case !utf8.ValidString(a.Name):
		return bad("it is not UTF-8")
	case !validLang(a.Lang):
		return bad("language %.40q must be up to %d letters, digits, hyphens and underscores", a.Lang, maxLang)
	}
	return nil
}

func validLang(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || isUpper(c) || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return len(s) <= maxLang
}

// Validate returns an error that matches ErrInvalidPlace and says what is
// wrong, or nil for a parent that Build takes.
func (p *Parent) Validate() error {
	if p.Parent == 0 || p.Child == 0 {
		return fmt.Errorf("%w: place %d as parent of place %d: ids start at 1", ErrInvalidPlace, p.Parent, p.Child)
	}
	if p.Parent == p.Child {
		return fmt.Errorf("%w: place %d is called its own parent", ErrInvalidPlace, p.Child)
	}
	return nil
}

// Validate returns an error that matches ErrInvalidPlace and says what is
// wrong, or nil for a code that Build takes.
func (a *Admin5) Validate() error {
	if a.PlaceID == 0 {
		return fmt.Errorf("%w: fifth-level code %.40q of place 0: ids start at 1", ErrInvalidPlace, a.Code)
	}
	if a.Code == "" || !validText(a.Code, maxText) {
		return fmt.Errorf("%w: fifth-level code of place %d: it must be 1 to %d bytes of UTF-8", ErrInvalidPlace, a.PlaceID, maxText)
	}
	return nil
}

func validText(s string, most int) bool { return len(s) <= most && utf8.ValidString(s) }

func validTexts(texts ...string) bool {
	for _, s := range texts {
		if !validText(s, maxText) {
			return false
		}
	}
	return true
}

// Validate returns an error that matches ErrInvalidPlace and says what is
// wrong, or nil for a country that Build takes.
func (c *Country) Validate() error {
	bad := func(what string) error {
		return fmt.Errorf("%w: country %.40q: %s", ErrInvalidPlace, c.Code, what)
	}
	if c.Code == "" || !near.ValidCountry(c.Code) {
		return bad("its code must be two letters A to Z")
	}
	if c.Name == "" {
		return bad("it has no name")
	}
	if !validTexts(c.ISO3, c.FIPS, c.Name, c.Capital, c.Continent, c.TLD, c.CurrencyCode, c.CurrencyName, c.Phone, c.PostalFormat) ||
		!validText(c.PostalPattern, maxDescription) {
		return bad("its texts must be UTF-8 and short")
	}
	if len(c.Languages) > maxListed || len(c.Neighbours) > maxListed || !validTexts(c.Languages...) || !validTexts(c.Neighbours...) {
		return bad("its lists must be short, of UTF-8")
	}
	if !(c.AreaKM2 >= 0 && c.AreaKM2 <= 1e9) || c.Population < 0 || c.Numeric < 0 || c.Numeric > 999 {
		return bad("its numbers are out of range")
	}
	return nil
}

// Validate returns an error that matches ErrInvalidPlace and says what is
// wrong, or nil for a division that Build takes.
func (d *Division) Validate() error {
	bad := func(what string) error {
		return fmt.Errorf("%w: division %.40q: %s", ErrInvalidPlace, d.Code, what)
	}
	country, rest, _ := strings.Cut(d.Code, ".")
	if country == "" || !near.ValidCountry(country) || rest == "" || strings.Count(rest, ".") > 1 || strings.HasPrefix(rest, ".") ||
		strings.HasSuffix(rest, ".") || !validText(d.Code, maxText) {
		return bad("its code must be a country's and one or two of divisions, such as US.CA.037")
	}
	if d.Name == "" || !validTexts(d.Name, d.ASCIIName) {
		return bad(fmt.Sprintf("its name must be 1 to %d bytes of UTF-8", maxText))
	}
	return nil
}

// level returns the level of a valid division: 1 or 2.
func (d *Division) level() int { return strings.Count(d.Code, ".") }

// Validate returns an error that matches ErrInvalidPlace and says what is
// wrong, or nil for a feature that Build takes.
func (f *Feature) Validate() error {
	class, code, _ := strings.Cut(f.Code, ".")
	if class == "" || !validClass(class) || !validCode(code) {
		return fmt.Errorf("%w: feature %.40q: its code must be a class and a code, such as P.PPLC", ErrInvalidPlace, f.Code)
	}
	if !validText(f.Name, maxText) || !validText(f.Description, maxDescription) {
		return fmt.Errorf("%w: feature %s: its texts must be UTF-8 and short", ErrInvalidPlace, f.Code)
	}
	return nil
}
