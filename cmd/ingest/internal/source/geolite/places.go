package geolite

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
)

// Place is a city, or a subdivision, country or continent if nothing smaller is known.
type Place struct {
	ID           uint32 // GeoNames id of its smallest part
	Continent    Part   // its code
	Country      Part
	Subdivisions [2]Part // largest first
	City         Part
	EU           bool // the country is in the European Union
	Metro        uint16
	TimeZone     string
}

// Part is a place, or a larger area that contains it.
type Part struct {
	Code  string
	ID    uint32 // GeoNames id; 0 where the set has none
	Names map[string]string
}

func (p *Part) known() bool { return p.Code != "" || len(p.Names) > 0 }

// Places has the places of a set, by GeoNames id.
type Places struct {
	byID map[uint32]*Place
	rows int
	text map[string]string // each text once
	// names are the names of parts that many places share, by the part's own key, so that they are
	// stored only once.
	names map[string]map[string]string
	ids   map[string]uint32
}

const (
	maxLine = 16 << 10
	// maxRows bounds the memory. A real set has 130,000 cities in eight languages.
	maxRows = 8 << 20
)

// These are the reasons of bad rows.
const (
	ReasonID       = "not a geoname_id"
	ReasonLanguage = "no language"
)

// NewPlaces returns an empty table of places.
func NewPlaces() *Places {
	return &Places{byID: map[uint32]*Place{}, text: map[string]string{}, names: map[string]map[string]string{}, ids: map[string]uint32{}}
}

// Find returns a place, or nil.
func (p *Places) Find(id uint32) *Place { return p.byID[id] }

// Len returns the number of places.
func (p *Places) Len() int { return len(p.byID) }

// columns are the columns of a file of places.
type columns struct {
	id, lang, continent, continentName, country, countryName, city, metro, zone, eu int
	sub, subName                                                                    [2]int
}

func columnsOf(header [][]byte) (c columns, ok bool) {
	at := func(name string) int { return delimited.ColumnIndex(header, name) }
	c = columns{at("geoname_id"), at("locale_code"), at("continent_code"), at("continent_name"), at("country_iso_code"), at("country_name"),
		at("city_name"), at("metro_code"), at("time_zone"), at("is_in_european_union"),
		[2]int{at("subdivision_1_iso_code"), at("subdivision_2_iso_code")}, [2]int{at("subdivision_1_name"), at("subdivision_2_name")}}
	return c, c.id >= 0 && c.lang >= 0
}

// Read adds the places of a file in one language. bad is called with each row
// that is left out; an error from it, or of r, ends the reading.
func (p *Places) Read(r io.Reader, name string, bad func(*source.BadRecord) error) error {
	const check = "check that it is a Locations file of a GeoLite2 CSV set"
	in := delimited.New(r, name, delimited.Format{Separator: ',', MaxBytes: maxLine, AllowBlanks: true})
	var cols columns
	begun := false
	for _, err := range delimited.Records(in, func(*struct{}) error {
		fields, err := in.Fields()
		if err != nil {
			return err
		}
		if !begun {
			if cols, begun = columnsOf(fields); !begun {
				return fmt.Errorf("%s: %w; "+check, name, errNoPlaces)
			}
			return nil
		}
		if p.rows > maxRows {
			return fmt.Errorf("%s: more than %d places and names; "+check, name, maxRows)
		}
		reason, detail := p.add(cols, fields)
		return in.Bad(reason, source.Excerpt(detail))
	}) {
		if refused := (*source.BadRecord)(nil); errors.As(err, &refused) {
			err = bad(refused)
		}
		if err != nil {
			return err
		}
	}
	if !begun {
		return fmt.Errorf("%s: %w; "+check, name, errNoPlaces)
	}
	return nil
}

func (p *Places) add(c columns, fields [][]byte) (reason string, detail []byte) {
	field := func(i int) string {
		if i < 0 || i >= len(fields) || len(fields[i]) == 0 {
			return ""
		}
		return p.intern(fields[i])
	}
	id, err := strconv.ParseUint(field(c.id), 10, 32)
	if err != nil || id == 0 {
		return ReasonID, fields[0]
	}
	lang := field(c.lang)
	if lang == "" || len(lang) > 16 {
		return ReasonLanguage, fields[0]
	}
	p.rows++
	place := p.byID[uint32(id)]
	if place == nil {
		place = &Place{ID: uint32(id), EU: field(c.eu) == "1", TimeZone: field(c.zone)}
		if metro, err := strconv.ParseUint(field(c.metro), 10, 16); err == nil {
			place.Metro = uint16(metro)
		}
		p.byID[uint32(id)] = place
	}
	// The names of a part are kept under its own key: the country CH, the
	// subdivision CH/ZH, or a city's id.
	continent, country := field(c.continent), field(c.country)
	p.part(&place.Continent, "continent "+continent, continent, lang, field(c.continentName))
	p.part(&place.Country, "country "+country, country, lang, field(c.countryName))
	key := "country " + country
	for i := range place.Subdivisions {
		code := field(c.sub[i])
		// Some subdivisions have no code. Their English name, which is read first, distinguishes
		// them only within their place.
		if code != "" {
			key += "/" + code
		} else {
			key += fmt.Sprint("/", id)
		}
		p.part(&place.Subdivisions[i], key, code, lang, field(c.subName[i]))
	}
	p.part(&place.City, fmt.Sprint("city ", id), "", lang, field(c.city))
	p.own(place, continent, country, key)
	return "", nil
}

// own stores the id of the smallest part, which is the place itself.
func (p *Places) own(place *Place, continent, country, key string) {
	switch {
	case place.City.known():
		place.City.ID = place.ID
	case place.Subdivisions[1].known():
		p.ids[key] = place.ID
	case place.Subdivisions[0].known():
		p.ids[key[:strings.LastIndexByte(key, '/')]] = place.ID
	case country != "":
		p.ids["country "+country] = place.ID
	case continent != "":
		p.ids["continent "+continent] = place.ID
	}
}

func (p *Places) part(part *Part, key, code, lang, name string) {
	if code == "" && name == "" {
		return
	}
	part.Code = code
	names := p.names[key]
	if names == nil {
		names = map[string]string{}
		p.names[key] = names
	}
	if name != "" {
		names[lang] = name
	}
	part.Names = names
}

func (p *Places) intern(b []byte) string {
	if s, ok := p.text[string(b)]; ok {
		return s
	}
	s := string(b)
	p.text[s] = s
	return s
}

// Resolve sets the ids of parts of places, which are in other rows. It is called once, after all
// files have been read.
func (p *Places) Resolve() {
	for _, place := range p.byID {
		set := func(part *Part, key string) {
			if part.ID == 0 && part.known() {
				part.ID = p.ids[key]
			}
		}
		set(&place.Continent, "continent "+place.Continent.Code)
		key := "country " + place.Country.Code
		set(&place.Country, key)
		for i := range place.Subdivisions {
			if place.Subdivisions[i].Code == "" {
				key += fmt.Sprint("/", place.ID)
			} else {
				key += "/" + place.Subdivisions[i].Code
			}
			set(&place.Subdivisions[i], key)
		}
	}
	p.text, p.ids = nil, nil
}
