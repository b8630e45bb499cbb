package places

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// nameTables maps codes to countries and divisions while a data set is built. They come from the
// Gazetteer. For codes that it lacks, they come from places of class A.
type nameTables struct {
	countries map[country]*standIn[Country]
	divisions [2]map[string]*standIn[Division] // first and second level, by code
	seen      map[country]bool                 // countries of the places
	codes     map[uint32]string                // country and first-level division codes, by the ids of their places
	others    map[string][]byte                // their alternate names, in the form that alternates reads
	key       []byte
}

// standIn is an entry with its rank. Of several entries for a code the rank decides, because they
// may come in any order. An entry of the Gazetteer has rank 0.
type standIn[T any] struct {
	entry    T
	rank     int
	modified int64
	id       uint32
}

func (s *standIn[T]) compare(rank int, modified int64, id uint32) int {
	return cmp.Or(cmp.Compare(s.rank, rank), cmp.Compare(modified, s.modified), cmp.Compare(s.id, id))
}

func newNameTables(g *Gazetteer) (*nameTables, error) {
	t := &nameTables{countries: map[country]*standIn[Country]{}, seen: map[country]bool{}}
	for i := range t.divisions {
		t.divisions[i] = map[string]*standIn[Division]{}
	}
	for i := range g.Countries {
		c := &g.Countries[i]
		if err := c.Validate(); err != nil {
			return nil, err
		}
		if code := country([]byte(c.Code)); t.countries[code] == nil {
			t.countries[code] = &standIn[Country]{entry: *c}
		}
	}
	for level, list := range [...][]Division{g.Admin1, g.Admin2} {
		for i := range list {
			d := &list[i]
			if err := d.Validate(); err != nil {
				return nil, err
			}
			if d.level() != level+1 {
				return nil, fmt.Errorf("%w: division %.40q is not of level %d: check which file is which", ErrInvalidPlace, d.Code, level+1)
			}
			if t.divisions[level][d.Code] == nil {
				if len(t.divisions[level]) == maxDivisions {
					return nil, fmt.Errorf("%w: more than %d divisions of level %d: check that they are divisions", ErrInvalidPlace, maxDivisions, level+1)
				}
				t.divisions[level][d.Code] = &standIn[Division]{entry: *d}
			}
		}
	}
	return t, nil
}

// politicalRank rates how well a place represents a country. It is 0 for a place that represents
// none, such as a former country.
func politicalRank(code string) int {
	switch code {
	case "PCLI":
		return 1
	case "PCL":
		return 2
	case "PCLS":
		return 3
	case "PCLD":
		return 4
	case "PCLF":
		return 5
	case "PCLIX":
		return 6
	}
	return 0
}

// note records the data of a place that the tables need.
func (t *nameTables) note(p *Place) {
	if p.Country == "" {
		return
	}
	code := country([]byte(p.Country))
	if !t.seen[code] {
		t.seen[code] = true
	}
	if p.Class != "A" {
		return
	}
	modified := clampSeconds(p.Modified.Unix())
	if rank := politicalRank(p.Code); rank > 0 {
		s := t.countries[code]
		if s == nil || s.rank > 0 && s.compare(rank, modified, p.ID) >= 0 {
			t.countries[code] = &standIn[Country]{
				Country{Code: p.Country, Name: clone(p.Name), ID: p.ID, Population: p.Population}, rank, modified, p.ID}
		}
		return
	}
	level := 0
	switch {
	case p.Code == "ADM1" && p.Admin1 != "":
		t.key = appendDivision(t.key[:0], code, p.Admin1, "")
	case p.Code == "ADM2" && p.Admin1 != "" && p.Admin2 != "":
		t.key = appendDivision(t.key[:0], code, p.Admin1, p.Admin2)
		level = 1
	default:
		return
	}
	s := t.divisions[level][string(t.key)]
	if s != nil && (s.rank == 0 || s.compare(1, modified, p.ID) < 0) || s == nil && len(t.divisions[level]) >= maxDivisions {
		return
	}
	d := Division{Code: string(t.key), Name: clone(p.Name), ASCIIName: clone(p.ASCIIName), ID: p.ID}
	if d.Validate() != nil || d.level() != level+1 {
		return // its code contains dots
	}
	t.divisions[level][d.Code] = &standIn[Division]{d, 1, modified, p.ID}
}

// clone copies a name, so that the name does not keep the whole input line in memory.
func clone(s string) string { return string([]byte(s)) }

// complete gives names to the countries of places that have none so far, and fills in the ids of
// all countries and first-level divisions.
func (t *nameTables) complete() {
	t.codes, t.others = map[uint32]string{}, map[string][]byte{}
	for code, s := range t.divisions[0] {
		t.codes[s.entry.ID] = code
	}
	for code, s := range t.countries {
		t.codes[s.entry.ID] = string(code[:])
	}
	delete(t.codes, 0) // id 0 means no place
	english := display.English.Regions()
	for code := range t.seen {
		if t.countries[code] != nil {
			continue
		}
		text := string(code[:])
		region, err := language.ParseRegion(text)
		if err != nil || !region.IsCountry() || region.String() != text {
			continue
		}
		if name := english.Name(region); name != "" {
			t.countries[code] = &standIn[Country]{entry: Country{Code: text, Name: name}}
		}
	}
}

// country returns the name of a country, or "".
func (t *nameTables) country(code country) string {
	if s := t.countries[code]; s != nil {
		return s.entry.Name
	}
	return ""
}

// division returns the name of a first-level division, or of a second-level one
// if its code is given, or "".
func (t *nameTables) division(code country, admin1, admin2 string) string {
	if code == (country{}) || admin1 == "" {
		return ""
	}
	level := 0
	if admin2 != "" {
		level = 1
	}
	t.key = appendDivision(t.key[:0], code, admin1, admin2)
	if s := t.divisions[level][string(t.key)]; s != nil {
		return s.entry.Name
	}
	return ""
}

func appendDivision(dst []byte, code country, admin1, admin2 string) []byte {
	dst = append(append(append(dst, code[:]...), '.'), admin1...)
	if admin2 != "" {
		dst = append(append(dst, '.'), admin2...)
	}
	return dst
}

// sortedCountries and sortedDivisions return the contents of the tables, by code.
func (t *nameTables) sortedCountries() []Country {
	list := make([]Country, 0, len(t.countries))
	for _, code := range slices.SortedFunc(maps.Keys(t.countries), country.Compare) {
		list = append(list, t.countries[code].entry)
	}
	return list
}

func (t *nameTables) sortedDivisions(level int) []Division {
	m := t.divisions[level]
	list := make([]Division, 0, len(m))
	for _, code := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[code].entry)
	}
	return list
}
