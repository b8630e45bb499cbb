package columns

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/language"

	"quadrille/cmd/internal/columnname"
)

// words returns the words of a column's name in lower case: LAD23NM has lad, 23 and nm, and shapeName shape and name.
func words(name string) (all []string) {
	const (
		none = iota
		lower
		letter
		digit
	)
	from, was := 0, none
	end := func(i int) {
		if was != none {
			all = append(all, strings.ToLower(name[from:i]))
		}
		from = i
	}
	for i, r := range name {
		is := none
		switch {
		case unicode.IsDigit(r):
			is = digit
		case unicode.IsLower(r):
			is = lower
		case unicode.IsLetter(r), unicode.IsMark(r):
			is = letter
		}
		if is == none || was == none || (is == digit) != (was == digit) || was == lower && is == letter {
			end(i)
		}
		was = is
	}
	end(len(name))
	return all
}

// trimmed returns words without the numbers at their end, such as years.
func trimmed(words []string) []string {
	for len(words) > 1 && isNumber(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return words
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func set(text string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		all[word] = true
	}
	return all
}

var (
	// nameWords mean a name, in the languages of publishers and in their short forms.
	nameWords = set("name names nm nom nombre nome namn navn naam nazwa nazev naziv ime nimi nev isim den denominazione denominacion " + //nolint:misspell // Spanish
		"denumire gen bezeichnung benennung namelsad nameunit designacao toponyme toponimo название наименование имя назва име όνομα ονομασία " +
		"名称 名稱 名 地名 이름 명칭 اسم")
	// titleWords mean a name if most of their values differ.
	titleWords = set("title titel titre titulo titolo label libelle")
	// nameEnds end a word that means a name, such as gemeentenaam.
	nameEnds = []string{"name", "naam", "namn", "navn", "nazwa", "namelsad"}
	// otherWords mean the name of something else.
	otherWords = set("surname varname filename username lastname firstname forename nickname hostname file user first last owner " +
		"street type layer source color colour")
	// kindWords mean kinds of regions, for which a column of names is often called.
	kindWords = set("district distrito distretto distrikt region regiao regione comune comunes comuna commune municipio municipality " +
		"municipalidad freguesia parish concelho county counties provincia province provincie gemeente gemeinde kommune kommun county lan fylke " + //nolint:misspell // Dutch
		"landkreis kreis bezirk kanton canton departement department departamento state estado stato land borough ward constituency " +
		"neighborhood neighbourhood barrio bairro quartier stadtteil ortsteil zone area oblast rayon powiat wojewodztwo gmina okres kraj " +
		"country pays pais paese")
	// postWords mean postal codes, which are the names of their areas.
	postWords = set("zcta zip zipcode postcode postalcode plz cap postleitzahl postnummer codigopostal codepostal")
)

// These are ranks of columns as names, by their own names. The lowest comes first.
const (
	certain = iota // is called name, in some language
	titled         // is called title or so
	likely         // has such a word before or behind others
	level          // of OCHA, such as ADM2_EN
	kind           // is called for a kind of region, or like the layer
	post           // has postal codes
	unknown
	never // means something else
)

// nameRank returns the rank of a column as the name of a layer called word. depth is the number of its level, 0 if it has none.
func nameRank(column, word string) (rank, depth int) {
	all := words(column)
	for _, w := range all {
		if n, err := strconv.Atoi(w); err == nil && n < 10 && depth == 0 {
			depth = n
		}
		if otherWords[w] {
			return never, 0
		}
	}
	all = trimmed(all)
	if len(all) == 0 {
		return never, 0
	}
	first, last := all[0], all[len(all)-1]
	key := columnname.Key(column)
	switch {
	case len(all) == 1 && nameWords[last]:
		return certain, depth
	case len(all) == 1 && titleWords[last]:
		return titled, depth
	case nameWords[last], nameWords[first], slices.ContainsFunc(nameEnds, func(end string) bool { return strings.HasSuffix(last, end) }):
		return likely, depth
	case len(all) == 3 && (first == "adm" || first == "admin") && isNumber(all[1]) && languageOf(last) != "":
		return level, depth
	case word != "" && (key == columnname.Key(word) || last == word), kindWords[last] && len(all) == 1:
		return kind, depth
	case postWords[first], postWords[key]:
		return post, depth
	case rankOfID(column) >= 0, first == "wof", languageOf(last) != "" && len(all) > 1 && nameWords[first]:
		return never, 0
	}
	return unknown, depth
}

// languageOf returns the two letters of a language, or "".
func languageOf(word string) string {
	if len(word) != 2 {
		return ""
	}
	base, err := language.ParseBase(word)
	if err != nil {
		return ""
	}
	return base.String()
}

// serialColumns are folded names of columns in which databases and other tools number rows.
var serialColumns = []string{"objectid", "objectid_1", "fid", "ogc_fid", "gid", "oid", "cartodb_id"}

// IsSerial reports whether tools number rows in a column of that name.
func IsSerial(column string) bool { return slices.Contains(serialColumns, strings.ToLower(column)) }

// idNames match names of columns that have ids, in snake case, by rank: codes that offices publish; id itself; other codes, such as
// WARD_CODE, LAD23CD, ADM2_PCODE, CD_MUN and GID_2; and other ids.
var idNames = []*regexp.Regexp{
	regexp.MustCompile(`^(?:geoid(?:_?[0-9]{2})?|fips|insee(?:_[a-z]+)?|ags|ars|pcode|nuts_id|statcode|dtmnfr|pro_com_t|(?:pr|cd|csd|cma|ct|da)uid|iso[_-]?3166[_-]2|ref:.*)$`),
	regexp.MustCompile(`^id$`),
	regexp.MustCompile(`(?:code|kode|codigo|codice|nummer|(?:^|[_ .:0-9])(?:cd|cod|kod|nr|no|ref))(?:_?[0-9]{1,4})?$`),
	regexp.MustCompile(`^(?:cd|cod|code|gid|pro_com)(?:_[a-z0-9]+)?$|_kod_`),
	regexp.MustCompile(`(?:[_ .:-]id|shapeid|uid)(?:_?[0-9]{1,4})?$`),
}

// plainID is the rank of a column that is called id.
const plainID = 1

// rankOfID returns the rank of a column by its name, or -1 if it cannot have ids.
func rankOfID(column string) int {
	if IsSerial(column) {
		return -1
	}
	folded := strings.ToLower(column)
	return slices.IndexFunc(idNames, func(re *regexp.Regexp) bool {
		return re.MatchString(folded) || re.MatchString(snake(column))
	})
}

var humps = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

// snake returns a name in lower case with an underscore before each hump.
func snake(name string) string { return strings.ToLower(humps.ReplaceAllString(name, "${1}_${2}")) }

// These are keys of names of columns that are the ids, or the names, of points, the most certain first.
var (
	pointIDs      = []string{"id", "identifier", "uuid", "guid", "osmid", "stopid"}
	maybePointIDs = []string{"key", "code", "ident", "recordid"} // possible names of ids
	pointNames    = []string{"stopname"}                         // of known files: GTFS
)

// IDOfPoints returns the column that has the name of an id of points, or "". If certain is set, names that only
// possibly mean one do not count.
func IDOfPoints(columns []string, certain bool) string {
	column := columnname.First(columns, pointIDs)
	if column == "" && !certain {
		column = columnname.First(columns, maybePointIDs)
	}
	return column
}

// MayBeID reports whether a column of that name is possibly, but not certainly, an id of points.
func MayBeID(column string) bool { return slices.Contains(maybePointIDs, columnname.Key(column)) }
