package places

import (
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/internal/lang"
	"quadrille/places/search"
)

// nameSink receives the entries for name search: a search.Builder, or a recorder in a test.
type nameSink interface {
	Add(*search.Entry) error
	Finish() (search.Meta, error)
	Close() error
}

// newNameSink begins the tables of name search. It reads the content of answers from place_info,
// which is complete by the time when answers are made.
var newNameSink = func(b *builder, store cellstore.Store, info cellstore.Table, memory int64) (nameSink, error) {
	var row cellstore.Row
	var key [4]byte
	return search.NewBuilder(b.ctx, store, search.Options{
		TempDir: b.opts.TempDir,
		Memory:  memory,
		Lookup: func(id uint32, dst []byte) ([]byte, error) {
			found, err := info.Get(b.ctx, appendInfoKey(key[:0], id), selectMembers, &row)
			if err != nil {
				return dst, err
			}
			if !found || len(row.Cells[0].Qualifier) > 0 {
				return dst, cellstore.CorruptRow(tableInfo, key[:], "lacks its members")
			}
			return append(dst, row.Cells[0].Value...), nil
		},
		ContextNames: b.names.searchContexts(),
		Progress:     b.searchProgress,
		Timestamp:    func() int64 { return b.newest },
	})
}

// notSearched lists the kinds of alternate names that are useless for searches.
var notSearched = map[string]bool{"post": true, "link": true, "wkdt": true, "tcid": true, "phon": true, "piny": true}

// fillEntry makes the entry of a place, in the memory of the previous one. The names in the row's
// own column count only if there are no other searchable names. A link, for example, is not
// searchable.
func fillEntry(e *search.Entry, c *columns, a *attributes, importance uint64) {
	*e = search.Entry{
		ID: c.id, Importance: importance, Name: c.name, ASCIIName: c.asciiName, Names: e.Names[:0],
		Code: c.code, Country: c.countryCode(), Admin1: c.admin1, Population: c.population, Lat: c.lat, Lon: c.lon,
	}
	if c.class != "" {
		e.Class = c.class[0]
	}
	for i := range a.names {
		n := &a.names[i]
		if !notSearched[n.lang] {
			e.Names = append(e.Names, search.Name{
				Text: n.name, Lang: n.lang, Main: lang.IsLocal(n.lang, e.Country), Preferred: n.flags&isPreferred != 0, Short: n.flags&isShort != 0,
				Historic: n.flags&isHistoric != 0, Colloquial: n.flags&isColloquial != 0,
			})
		}
	}
	if len(e.Names) > 0 {
		return
	}
	for list := c.alternates; list != ""; {
		var name string
		name, list, _ = strings.Cut(list, ",")
		if name = strings.TrimSpace(name); name != "" {
			e.Names = append(e.Names, search.Name{Text: name})
		}
	}
}

// searchContexts returns the names that distinguish namesakes: "Illinois" in "springfield
// illinois".
func (t *nameTables) searchContexts() []search.ContextName {
	var list []search.ContextName
	for _, c := range t.sortedCountries() {
		list = append(list, search.ContextName{Text: c.Name, Country: c.Code})
	}
	for _, d := range t.sortedDivisions(0) {
		code, admin1, _ := strings.Cut(d.Code, ".")
		list = append(list, search.ContextName{Text: d.Name, Country: code, Admin1: admin1})
		iso, names := ISONames(code, d.Name)
		if slices.Contains(lettered, code) {
			_, letters, _ := strings.Cut(iso, "-")
			names = append(slices.Clip(names), letters)
		}
		for _, name := range append(slices.Clip(names), d.ASCIIName) {
			if name != "" && name != d.Name {
				list = append(list, search.ContextName{Text: name, Country: code, Admin1: admin1})
			}
		}
	}
	for _, country := range countriesOfBritain {
		if !slices.ContainsFunc(list, func(c search.ContextName) bool {
			return c.Country == country.Country &&
				c.Admin1 == country.Admin1
		}) {
			list = append(list, country)
		}
	}
	return list
}

// countriesOfBritain are the names of the first-level divisions of the United Kingdom by
// their codes in gazetteers. People use them like names of countries, and sources may lack them.
var countriesOfBritain = []search.ContextName{
	{Text: "England", Country: "GB", Admin1: "ENG"}, {Text: "Scotland", Country: "GB", Admin1: "SCT"},
	{Text: "Wales", Country: "GB", Admin1: "WLS"}, {Text: "Northern Ireland", Country: "GB", Admin1: "NIR"},
}
