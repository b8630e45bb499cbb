package places

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quadrille/cellstore"
)

// The table gazetteer has rows by code. The family is json, and admin2 for second-level divisions.
// The value is the JSON of a Country, Division or Feature.
const (
	kindCountry  = "c/"
	kindDivision = "d/"
	kindFeature  = "f/"
)

// writeGazetteer writes the table of codes.
func (b *builder) writeGazetteer(store cellstore.Store, features []Feature) error {
	l, err := b.newLoad(store, tableCodes)
	if err != nil {
		return err
	}
	defer l.Abort()
	put := func(family, kind, code string, entry any) error {
		value, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		if err := l.Add([]byte(kind+code), cellstore.Cell{Family: family, Timestamp: b.newest, Value: value}); err != nil {
			return err
		}
		names := b.names.others[code]
		if names == nil {
			return nil
		}
		return l.Add([]byte(kind+code), cellstore.Cell{Family: famJSON, Qualifier: []byte(qualNames), Timestamp: b.newest, Value: names})
	}
	for _, c := range b.names.sortedCountries() {
		if err := put(famJSON, kindCountry, c.Code, &c); err != nil {
			return err
		}
	}
	// Rows are in the order of codes, whatever the level.
	divisions := slices.Concat(b.names.sortedDivisions(0), b.names.sortedDivisions(1))
	slices.SortFunc(divisions, func(a, b Division) int { return strings.Compare(a.Code, b.Code) })
	for _, d := range divisions {
		family := famJSON
		if d.level() == 2 {
			family = famAdmin2
		}
		if err := put(family, kindDivision, d.Code, &d); err != nil {
			return err
		}
	}
	features = slices.Clone(features)
	slices.SortStableFunc(features, func(a, b Feature) int { return strings.Compare(a.Code, b.Code) })
	features = slices.CompactFunc(features, func(a, b Feature) bool { return a.Code == b.Code })
	for _, f := range features {
		if err := put(famJSON, kindFeature, f.Code, &f); err != nil {
			return err
		}
	}
	return l.Commit()
}

// codes is the part of the gazetteer in a Finder's memory: all except the second-level divisions.
type codes struct {
	countries []Country // by code
	divisions map[string]Division
	features  map[string]Feature
}

func readCodes(ctx context.Context, table cellstore.Table) (*codes, error) {
	c := &codes{divisions: map[string]Division{}, features: map[string]Feature{}}
	for row, err := range table.Scan(ctx, cellstore.Scan{Selection: *selectJSON}) {
		if err != nil {
			return nil, err
		}
		kind, code := string(row.Key[:min(2, len(row.Key))]), string(row.Key[min(2, len(row.Key)):])
		var bad error
		value := row.Cells[0].Value
		switch kind {
		case kindCountry:
			var entry Country
			bad = json.Unmarshal(value, &entry)
			c.countries = append(c.countries, entry)
			if entry.Code != code {
				bad = cellstore.ErrCorrupt
			}
		case kindDivision:
			var entry Division
			bad = json.Unmarshal(value, &entry)
			c.divisions[code] = entry
		case kindFeature:
			var entry Feature
			bad = json.Unmarshal(value, &entry)
			c.features[code] = entry
		default:
			bad = cellstore.ErrCorrupt
		}
		if bad != nil {
			return nil, cellstore.CorruptRow(tableCodes, row.Key, "has another layout")
		}
	}
	return c, nil
}

func noCode(what, code string) error { return fmt.Errorf("%w: %s %.40q", ErrNoCode, what, code) }

// Countries returns the countries of the places and of their Gazetteer, by code. The list is shared
// and must not be changed.
func (f *Finder) Countries() []Country { return f.codes.countries }

// Country returns the record of a country by its ISO 3166-1 alpha-2 code, in either case. Its lists
// are shared and must not be changed. A country without places may be unknown; the error is then
// ErrNoCode.
func (f *Finder) Country(_ context.Context, code string) (Country, error) {
	code = strings.ToUpper(code)
	at, found := slices.BinarySearchFunc(f.codes.countries, code, func(c Country, code string) int { return strings.Compare(c.Code, code) })
	if !found {
		return Country{}, noCode("country", code)
	}
	return f.codes.countries[at], nil
}

// CountryNames returns the alternate names of a country by its ISO 3166-1 alpha-2 code, in the
// order given. They are known even if the country is not a place of the data set.
func (f *Finder) CountryNames(ctx context.Context, code string) ([]AlternateName, error) {
	return f.alternates(ctx, kindCountry+strings.ToUpper(code))
}

// DivisionNames does the same as CountryNames, for a first-level division with a code such as
// "US.CA".
func (f *Finder) DivisionNames(ctx context.Context, code string) ([]AlternateName, error) {
	return f.alternates(ctx, kindDivision+code)
}

// alternates reads the alternate names of a row of codes.
func (f *Finder) alternates(ctx context.Context, key string) (list []AlternateName, err error) {
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	column := [1]cellstore.Column{{Family: famJSON, Qualifier: []byte(qualNames)}}
	found, err := f.codeTable.Get(ctx, []byte(key), &cellstore.Selection{Columns: column[:]}, row)
	if err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	if found && json.Unmarshal(row.Cells[0].Value, &list) != nil {
		return nil, cellstore.CorruptRow(tableCodes, row.Key, "has another layout")
	}
	return list, nil
}

// hasCode reports whether a place is a country or a first-level division.
func (t *nameTables) hasCode(id uint32) bool {
	_, ok := t.codes[id]
	return ok
}

// keepNames keeps the alternate names of a place if it is a country or a first-level division.
func (t *nameTables) keepNames(id uint32, a *attributes) {
	code, ok := t.codes[id]
	if !ok || len(a.names) == 0 {
		return
	}
	list := make([]AlternateName, 0, len(a.names))
	for i := range a.names {
		if n := &a.names[i]; n.lang == "" || !notNames[n.lang] {
			list = append(list, AlternateName{
				PlaceID: id, Lang: n.lang, Name: n.name, Preferred: n.flags&isPreferred != 0, Short: n.flags&isShort != 0,
				Colloquial: n.flags&isColloquial != 0, Historic: n.flags&isHistoric != 0,
			})
		}
	}
	t.others[code], _ = json.Marshal(list) // texts and flags never fail
}

// Divisions returns the first-level divisions of all countries, by code.
func (f *Finder) Divisions() []Division {
	return slices.SortedFunc(maps.Values(f.codes.divisions), func(a, b Division) int { return strings.Compare(a.Code, b.Code) })
}

// Division returns a first-level ("US.CA") or second-level ("US.CA.037")
// division by its code, or ErrNoCode.
func (f *Finder) Division(ctx context.Context, code string) (Division, error) {
	if d, ok := f.codes.divisions[code]; ok {
		return d, nil
	}
	if strings.Count(code, ".") != 2 || len(code) > maxText {
		return Division{}, noCode("division", code)
	}
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	found, err := f.codeTable.Get(ctx, []byte(kindDivision+code), selectAdmin2, row)
	if err != nil {
		return Division{}, fmt.Errorf("places: %w", err)
	}
	if !found {
		return Division{}, noCode("division", code)
	}
	var d Division
	if err := json.Unmarshal(row.Cells[0].Value, &d); err != nil {
		return Division{}, cellstore.CorruptRow(tableCodes, row.Key, "has another layout")
	}
	return d, nil
}

// Feature returns the meaning of a feature code with its class, "P.PPLC", or ErrNoCode.
func (f *Finder) Feature(_ context.Context, code string) (Feature, error) {
	entry, ok := f.codes.features[strings.ToUpper(code)]
	if !ok {
		return Feature{}, noCode("feature", code)
	}
	return entry, nil
}
