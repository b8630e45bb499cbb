package names

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// formProperties hold other forms of a name, in the region's own language or in none in
// particular.
var formProperties = map[string]search.Name{
	"name_long": {}, "formal_name": {}, "formal_en": {}, "name_local": {}, "name_alt": {}, "alt_name": {}, "official_name": {},
	"int_name": {}, "namelsad": {}, "abbrev": {Short: true}, "short_name": {Short: true}, "old_name": {Historic: true},
}

// maxOtherNames bounds the names of one record.
const maxOtherNames = 500

// otherNames adds a region's other names: those of its record and, for a country, the names and
// codes in the places.
func (n *namer) otherNames(f *names.Feature, record []byte) error {
	var properties map[string]any
	if err := json.Unmarshal(record, &properties); err != nil {
		return fmt.Errorf("the record of %s %s: %w", f.Type, f.ID, err)
	}
	add := func(name search.Name) {
		name.Text = strings.TrimSpace(name.Text)
		// The region's own name is added once more if the source gives its language.
		if name.Text == "" || name.Text == f.Name && name.Lang == "" || slices.Contains(f.Names, name) || len(f.Names) == maxOtherNames {
			return
		}
		f.Names = append(f.Names, name)
	}
	if f.Type == countryType {
		addCodes(f, otherCodes[f.Country]...)
	}
	var spoken []string
	if n.places != nil && f.Type == countryType && f.Country != "" {
		c, err := n.places.Country(n.ctx, f.Country)
		switch {
		case err == nil:
			spoken = c.Languages
			add(search.Name{Text: c.Name, Preferred: true})
			addCodes(f, c.Code, c.ISO3)
		case !errors.Is(err, places.ErrNoCode):
			return err
		}
		list, err := n.places.CountryNames(n.ctx, f.Country)
		if err != nil {
			return err
		}
		for _, a := range list {
			add(search.Name{
				Text:       a.Name,
				Lang:       strings.ToLower(a.Lang),
				Preferred:  a.Preferred,
				Short:      a.Short,
				Historic:   a.Historic,
				Colloquial: a.Colloquial,
			})
		}
	}
	for _, property := range slices.Sorted(maps.Keys(properties)) {
		if lang := job.LanguageOf(property); lang != "" {
			for _, text := range texts(properties[property]) {
				add(search.Name{Text: text, Lang: lang, Preferred: true})
			}
			continue
		}
		text, ok := properties[property].(string)
		if !ok {
			continue
		}
		if form, ok := formProperties[strings.ToLower(property)]; ok {
			// OpenStreetMap separates several names by semicolons, Natural Earth by bars.
			for _, form.Text = range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ';' }) {
				add(form)
			}
		}
	}
	if f.Type == countryType {
		for code, text := range ownNames(f.Country, spoken) {
			if !slices.ContainsFunc(f.Names, func(n search.Name) bool { return n.Lang == code && n.Text == text }) {
				add(search.Name{Text: text, Lang: code})
			}
		}
		addISONames(f)
	}
	return nil
}

// texts returns a text, or those of a list.
func texts(value any) (all []string) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, v := range list {
		if text, is := v.(string); is {
			all = append(all, text)
		}
	}
	return all
}

// displayed matches the languages in which CLDR's names are available.
var displayed = sync.OnceValue(func() language.Matcher { return language.NewMatcher(display.Supported.Tags()) })

// ownNames yields the names of a country in the languages that are spoken there according to CLDR,
// each with its language. If CLDR knows no such language, it yields the name in the language that
// most people there speak.
func ownNames(country string, spoken []string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		region, err := language.ParseRegion(country)
		if err != nil {
			return
		}
		if len(spoken) == 0 {
			of, _ := language.Compose(region)
			spoken = []string{of.String()}
		}
		for _, code := range spoken {
			tag, err := language.Parse(code)
			if _, _, sure := displayed().Match(tag); err != nil || sure < language.High {
				continue // CLDR has no names in that language
			}
			base, _ := tag.Base()
			if name := display.Regions(tag).Name(region); name != "" && name != country && !yield(base.String(), name) {
				return
			}
		}
	}
}
