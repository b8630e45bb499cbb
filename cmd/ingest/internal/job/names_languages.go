package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// languageProperty is a property that holds a name in a language: name_de as Natural
// Earth has it, name:de and name:zh-Hant as OpenStreetMap has it.
var languageProperty = regexp.MustCompile(`^name(?:_([a-z]{2}|zht)|:([a-z]{2,3}(?:-[a-z0-9]{2,8})*))$`)

// languageOf is the language of a property's name, in lower case, or "".
func languageOf(property string) string {
	switch m := languageProperty.FindStringSubmatch(strings.ToLower(property)); {
	case m == nil:
		return ""
	case m[1] == "zht":
		return "zh-hant"
	case m[1] != "":
		return m[1]
	default:
		return m[2]
	}
}

// formProperties hold other forms of a name. Of a region's own language they are, or of
// none in particular.
var formProperties = map[string]search.Name{
	"name_long": {}, "formal_name": {}, "formal_en": {}, "name_local": {}, "name_alt": {}, "alt_name": {}, "official_name": {},
	"int_name": {}, "namelsad": {}, "abbrev": {Short: true}, "short_name": {Short: true}, "old_name": {Historic: true},
}

// maxOtherNames bounds the names that are taken of one record.
const maxOtherNames = 500

// otherNames adds the names of a region besides its own: those of its record, and of a
// country the names and codes that places know.
func (n *namer) otherNames(f *names.Feature, record []byte) error {
	var properties map[string]any
	if err := json.Unmarshal(record, &properties); err != nil {
		return fmt.Errorf("the record of %s %s: %w", f.Type, f.ID, err)
	}
	add := func(name search.Name) {
		name.Text = strings.TrimSpace(name.Text)
		// The own name is kept once more where it is said to be that of a language.
		if name.Text == "" || name.Text == f.Name && name.Lang == "" || slices.Contains(f.Names, name) || len(f.Names) == maxOtherNames {
			return
		}
		f.Names = append(f.Names, name)
	}
	if f.Type == countryType {
		addCodes(f, otherCodes[f.Country]...)
	}
	if n.places != nil && f.Type == countryType && f.Country != "" {
		switch c, err := n.places.Country(n.ctx, f.Country); {
		case err == nil:
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
			add(search.Name{Text: a.Name, Lang: strings.ToLower(a.Lang), Preferred: a.Preferred, Short: a.Short, Historic: a.Historic, Colloquial: a.Colloquial})
		}
	}
	for _, property := range slices.Sorted(maps.Keys(properties)) {
		text, ok := properties[property].(string)
		if !ok {
			continue
		}
		if lang := languageOf(property); lang != "" {
			add(search.Name{Text: text, Lang: lang, Preferred: true})
			continue
		}
		if form, ok := formProperties[strings.ToLower(property)]; ok {
			// OpenStreetMap separates several by semicolons, Natural Earth by bars.
			for _, form.Text = range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ';' }) {
				add(form)
			}
		}
	}
	return nil
}
