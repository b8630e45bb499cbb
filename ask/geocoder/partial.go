package geocoder

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"quadrille/internal/lang"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// PartMatch is the kind of a match in which only a part of the text names the result: the city in
// an address, or the rest of a text with an unknown word.
const PartMatch search.Kind = "part"

const (
	// mostParted bounds the words of a text that may be read in part.
	mostParted = 16
	// certainPeople is the least population of a place that may be the result of a text with
	// unknown words.
	certainPeople = 15_000
	// certainLetters is the least number of letters in the name of such a place.
	certainLetters = 4
	// namedSeeks bounds the seeks to find out whether anything has the whole text as its name.
	namedSeeks = 60
	// postcodeDigits is the least number of digits in a postcode. Shorter numbers are house
	// numbers.
	postcodeDigits = 4
)

// genericWords lists words that name the kind of a feature. They are not names themselves, so that
// "Republic of Austria" is not another republic. Each has the types that it applies to: c
// countries, d their divisions, p places. A word without types only joins other words.
var genericWords = map[string]string{
	"republic": "c", "republik": "c", "republique": "c", "republica": "c", "repubblica": "c", "republiek": "c",
	"bundesrepublik": "c", "respublika": "c", "республика": "cd", "kingdom": "c", "konigreich": "c", "royaume": "c", "reino": "c",
	"regno": "c", "koninkrijk": "c", "confederation": "c", "federation": "c", "федерация": "c", "principality": "c", "grand": "c",
	"duchy": "c", "sultanate": "c", "emirate": "cd", "hashemite": "c", "bolivarian": "c", "plurinational": "c", "islamic": "c",
	"federal":      "cd",
	"federative":   "c",
	"united":       "c",
	"democratic":   "c",
	"peoples":      "c",
	"socialist":    "c",
	"cooperative":  "c",
	"independent":  "c",
	"commonwealth": "cd",
	"country":      "c",
	"state":        "cd",
	"states":       "c",
	"staat":        "cd",
	"free":         "cd",
	"freistaat":    "d",
	"land":         "d",
	"bundesland":   "d",
	"estado":       "cd",
	"etat":         "cd",
	"stato":        "c",
	"territory":    "cd",
	"territoire":   "cd", "province": "d", "provinz": "d", "provincia": "d", "canton": "d", "kanton": "d", "cantone": "d",
	"provincie":   "d", //nolint:misspell // Dutch
	"prefecture":  "d",
	"region":      "d",
	"oblast":      "d",
	"область":     "d",
	"край":        "d",
	"county":      "d",
	"parish":      "d",
	"borough":     "dp",
	"governorate": "d",
	"department":  "d",
	"departement": "d", "departamento": "d", "district": "dp", "comunidad": "d", "voivodeship": "d",
	"city": "p", "town": "p", "village": "p", "municipality": "dp", "stadt": "p", "ville": "p", "ciudad": "p", "cidade": "p", "citta": "p",
	"stad": "p", "gemeente": "dp", "город": "p", "commune": "p", "gemeinde": "dp",
	"of":    "",
	"the":   "",
	"de":    "",
	"del":   "",
	"della": "",
	"di":    "",
	"du":    "",
	"des":   "",
	"la":    "",
	"le":    "",
	"el":    "",
	"der":   "",
	"van":   "",
	"von":   "",
	"do":    "",
	"da":    "",
	"and":   "",
}

// withoutGeneric drops the generic words at the beginning and the end of a text. It returns the
// possible rests, the longest first, and the types that the words apply to: "City of La Paz" gives
// "of La Paz", "La Paz" and "Paz".
func withoutGeneric(text string) (left []string, types string) {
	words := strings.Fields(text)
	generic := func(i int) (of string, ok bool) {
		of, ok = genericWords[string(search.Fold(nil, words[i]))]
		return of, ok
	}
	n := 0
	for n < len(words) {
		of, _ := generic(n)
		if of == "" {
			break
		}
		types, n = types+of, n+1
	}
	if n > 0 {
		for ; n < len(words); n++ {
			left = append(left, strings.Join(words[n:], " "))
			if _, joins := generic(n); !joins {
				break
			}
		}
		return left, types
	}
	for n = len(words); n > 1; n-- {
		of, _ := generic(n - 1)
		if of == "" {
			break
		}
		types += of
	}
	if n == len(words) {
		return nil, ""
	}
	return []string{strings.Join(words[:n], " ")}, types
}

// ruled are nouns for countries, and howRuled words that precede them in official names, besides
// those of genericWords.
var (
	ruled    = []string{"republic", "kingdom", "state", "union", "commonwealth", "federation", "confederation", "principality", "sultanate"}
	howRuled = []string{"the", "eastern", "arab", "co operative", "cooperative"}
)

// official returns the words after a noun of ruled and "of" in the official name of a country:
// "Democratic Socialist Republic of Sri Lanka" gives "Sri Lanka". For other texts it returns "".
func official(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		fold := string(search.Fold(nil, w))
		if slices.Contains(ruled, fold) && i+2 < len(words) && strings.EqualFold(words[i+1], "of") {
			rest := words[i+2:]
			if strings.EqualFold(rest[0], "the") {
				rest = rest[1:]
			}
			return strings.Join(rest, " ")
		}
		if !slices.Contains(howRuled, fold) && !strings.Contains(genericWords[fold], "c") {
			break
		}
	}
	return ""
}

// otherNames are official names of countries that no rule derives from the usual ones, with the
// countries' codes.
var otherNames = map[string]string{
	"saint helena ascension and tristan da cunha": "SH",
	"st helena ascension and tristan da cunha":    "SH",
	"virgin islands of the united states":         "VI",
}

// isOf reports whether a result is of one of the types that generic words apply to.
func isOf(r *Result, types string) bool {
	of := "p"
	switch {
	case r.Kind == names.Region && r.Level == 0, r.Kind == Place && strings.HasPrefix(r.Place.Code, "PCL"):
		of = "c"
	case r.Kind == names.Region, r.Kind == Place && r.Place.Class == "A":
		of = "d"
	case r.Kind != Place:
		return false
	}
	return strings.Contains(types, of)
}

// generic finds the features that a text names without its generic words, if these words apply to
// their type. done reports whether there are any. If so, no other reading is tried.
func (f *finding) generic() (done bool, err error) {
	if f.exact() {
		return false, nil
	}
	// "Venezuela, Bolivarian Republic of" is one name, "Johnson City, Washington County" are two,
	// and so are "Georgia, United States".
	text, front := "", ""
	for part := range strings.FieldsFuncSeq(f.q.Text, isSeparator) {
		switch {
		case strings.TrimSpace(part) == "":
		case allGeneric(part) && rules(part):
			front = strings.TrimSpace(part) + " "
		case text != "":
			return false, nil
		default:
			text = part
		}
	}
	left, types := withoutGeneric(front + text)
	left = left[:min(len(left), contextWords)]
	if front != "" { // "Congo, Democratic Republic of the" is not the other Congo
		before := front
		if first, rest, _ := strings.Cut(front, " "); strings.EqualFold(first, "the") {
			before = rest
		}
		left, types = slices.Insert(left, 0, before+text, before+"the "+text), types+"c"
	}
	if rest := official(front + text); rest != "" {
		left, types = append(left, rest), types+"c"
	}
	for _, rest := range left {
		found, err := f.named(rest)
		if err != nil {
			return false, err
		}
		for _, r := range found {
			if isOf(&r, types) && !f.begins(rest, &r) {
				r.Score -= contextPenalty
				f.found, done = append(f.found, r), true
			}
		}
		if done {
			break
		}
	}
	return done, nil
}

// allGeneric reports whether all words of a text are generic.
func allGeneric(text string) bool {
	return !slices.ContainsFunc(strings.Fields(text), func(w string) bool {
		_, generic := genericWords[string(search.Fold(nil, w))]
		return !generic
	})
}

// rules reports whether generic words after a comma belong to the name before it, as in "Bolivia,
// Plurinational State of". "United States" is a name itself.
func rules(text string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool {
		fold := string(search.Fold(nil, w))
		of, ok := genericWords[fold]
		return ok && of == "" || slices.Contains(ruled, fold)
	})
}

// begins reports whether the rest of a text is more likely the beginning of another name than the
// code of the result r. In small letters "united ar" may be an unfinished name, and so may
// "republic of mo", which is not Macao.
func (f *finding) begins(rest string, r *Result) bool {
	if !r.Match.IsCode || rest == strings.ToUpper(rest) {
		return false
	}
	of := strings.Fields(strings.TrimSuffix(f.q.Text, rest))
	joined := len(of) > 0 && genericWords[string(search.Fold(nil, of[len(of)-1]))] == ""
	return !joined || !strings.HasPrefix(string(search.Fold(nil, r.Name)), string(search.Fold(nil, rest)))
}

// part finds the certain part of a text without results as a whole. Such a part follows a street,
// is next to a postcode, or is a country before the name of another country that does not contain
// it: "Hong Kong, China". The results are marked as PartMatch.
func (f *finding) part() error {
	var parts []string
	for part := range strings.FieldsFuncSeq(f.q.Text, isSeparator) {
		parts = append(parts, strings.TrimSpace(part))
	}
	if len(strings.Fields(f.q.Text)) > mostParted || len(parts) == 0 {
		return nil
	}
	bare := make([]string, len(parts))
	for i, p := range parts {
		bare[i] = withoutNumbers(p)
	}
	var tries [][]string
	keep := func(*Result) bool { return true }
	switch {
	case len(parts) > 1 || hasPostcode(f.q.Text):
		tries = append(tries, bare)
	case bare[0] != parts[0]:
		tries, keep = append(tries, bare), f.numbered
	}
	for i := 1; i < len(parts) && i < contextWords; i++ {
		// Words are omitted only if they have a number, as streets have, or are not the name of anything.
		if bare[i-1] == parts[i-1] {
			known, err := f.certain(parts[i-1])
			if err != nil {
				return err
			}
			if len(known) > 0 {
				break
			}
		}
		tries = append(tries, bare[i:])
	}
	for _, t := range tries {
		text := strings.Join(slices.DeleteFunc(slices.Clone(t), func(p string) bool { return p == "" }), ", ")
		if text == "" || text == f.q.Text {
			continue
		}
		if done, err := f.take(text, keep); done || err != nil {
			return err
		}
	}
	if f.names == nil {
		return nil
	}
	for i, r := range readings(f.q.Text) {
		if i == maxContexts {
			break
		}
		if r.behind {
			continue
		}
		// "Hong Kong, China" is not in any region with that name.
		around, err := f.regionsNamed(r.context[0], false)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(around, isCountry) {
			continue
		}
		if done, err := f.take(r.name, func(c *Result) bool { return c.Kind == names.Region && isCountry(c.Feature) }); done || err != nil {
			return err
		}
	}
	return nil
}

func isCountry(f names.Feature) bool { return f.Level == 0 }

// take adds the results of a part of the text, and reports whether there are any.
func (f *finding) take(text string, keep func(*Result) bool) (bool, error) {
	found, err := f.certain(text)
	if err != nil {
		return false, err
	}
	f.keepPart(found, keep)
	return len(f.found) > 0, nil
}

// keepPart adds results that a part of the text names.
func (f *finding) keepPart(found []Result, keep func(*Result) bool) {
	for _, r := range found {
		if keep(&r) {
			m := *r.Match
			m.Kind = PartMatch
			r.Match, r.Score = &m, r.Score-2*contextPenalty
			f.found = append(f.found, r)
		}
	}
}

// known is the last attempt for a text without results. It searches without the one word that no
// name contains.
func (f *finding) known() error {
	words := strings.Fields(f.q.Text)
	if len(words) < 2 || len(words) > maxWords {
		return nil
	}
	var left []string
	unknown := 0
	for _, w := range words {
		if countDigits(w) > 0 {
			return nil // a number does not count as an unknown name
		}
		some, err := f.begun(w)
		switch {
		case err != nil:
			return err
		case some:
			left = append(left, w)
		case len(search.Fold(nil, w)) > 0:
			unknown++
		}
	}
	if len(strings.Join(left, "")) < certainLetters || unknown > 1 || len(left) == len(words) || !slices.ContainsFunc(left, tells) {
		return nil
	}
	if done, err := f.take(strings.Join(left, " "), large); done || err != nil || len(left) == 1 {
		return err
	}
	// An example is "Godthaab / Nuuk Airport", if no name has both words.
	inner, err := f.alone(strings.Join(left, " "), readingSeeks)
	f.keepPart(inner, large)
	return err
}

// large reports whether a result is so large that it may be the meaning of the rest of a text.
func large(r *Result) bool {
	return r.Kind == names.Region && r.Weight() >= certainPeople || r.Kind == Place && r.Place.Population >= certainPeople ||
		r.Kind == names.Airport && r.Type == largeAirport
}

// numbered does the same as large, for a search for the text without its number. In addition, the
// name must be in the local language of the result, or in a language of the query: "Praha 2", but
// not "Room 12" or "Apollo 11".
func (f *finding) numbered(r *Result) bool {
	l := r.Match.Lang
	return large(r) && (l == "" || lang.IsLocal(l, r.Country) || slices.Contains(f.q.Langs, l))
}

// commonWords occur in thousands of names, so one alone identifies nothing.
var commonWords = []string{
	"north", "south", "east", "west", "northern", "southern", "eastern", "western", "central", "upper", "lower", "new", "old",
	"great", "little",
	"lake", "island", "islands", "isle", "river", "bay", "port", "fort", "mount", "mountain", "hill", "hills", "valley", "park",
	"capital", "beach",
	"saint", "st", "sankt", "san", "santa", "santo", "sao", "bad", "rio", "los", "las", "les", "al", "el", "en", "in", "on", "am",
}

// tells reports whether a word distinguishes a name: it is neither generic nor common.
func tells(word string) bool {
	fold := string(search.Fold(nil, word))
	return !allGeneric(word) && !slices.Contains(airportWords, fold) && !slices.Contains(commonWords, fold)
}

// begun reports whether a name, or a word of a name, begins with the given word.
func (f *finding) begun(word string) (some bool, err error) {
	if len(search.Fold(nil, word)) == 0 {
		return false, nil
	}
	found, err := f.alone(word, readingSeeks/4)
	return len(found) > 0, err
}

// alone finds names that begin with a text or have its words.
func (f *finding) alone(text string, seeks int) ([]Result, error) {
	return f.ask(f.inner(text), seeks)
}

// certain finds the features with the text as their whole name, alone or with surrounding regions.
func (f *finding) certain(text string) ([]Result, error) {
	found, err := f.named(text)
	if err != nil || len(found) > 0 {
		return found, err
	}
	inner := f.inner(text)
	inner.whole = true
	err = f.share(readingSeeks, func() error {
		inner.budget = f.budget
		err := inner.inContext()
		f.budget = inner.budget
		return err
	})
	return inner.found, err
}

// named finds features with the text as their whole name.
func (f *finding) named(text string) ([]Result, error) {
	inner := f.inner(text)
	inner.whole = true
	return f.ask(inner, namedSeeks)
}

// ask runs another finding's match with some of the remaining seeks.
func (f *finding) ask(inner *finding, seeks int) ([]Result, error) {
	err := f.share(seeks, func() error {
		inner.budget = f.budget
		err := inner.match(inner.q.Text, inner.q.Limit, nil, 0)
		f.budget = inner.budget
		return err
	})
	if errors.Is(err, places.ErrQuery) {
		return nil, nil // no letter or digit
	}
	return inner.found, err
}

// inner returns a finding for another text, without misspellings.
func (f *finding) inner(text string) *finding {
	inner, q := *f, *f.q
	q.Text, q.NoTypos = text, true
	inner.q, inner.found, inner.forgiving = &q, nil, false
	return &inner
}

// hasPostcode reports whether a text has a postcode and not just a house number: four digits, or a
// word of letters and digits.
func hasPostcode(text string) bool {
	all := 0
	for _, w := range strings.Fields(text) {
		n := countDigits(w)
		if all += n; n > 0 && strings.ContainsFunc(w, unicode.IsLetter) {
			return true
		}
	}
	return all >= postcodeDigits
}

// countDigits counts the digits of a word.
func countDigits(word string) (n int) {
	for _, r := range word {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// withoutNumbers drops postcodes and house numbers from a part of an address. These are words with
// a digit, and up to two capital letters next to them, which are the rest of a postcode.
func withoutNumbers(part string) string {
	words := strings.Fields(part)
	left := make([]string, 0, len(words))
	for i, w := range words {
		postcode := countDigits(w) > 0 && (countDigits(w) >= postcodeDigits || countDigits(w) < len(w) || len(words) > 1)
		if !postcode && len(w) <= 2 && w == strings.ToUpper(w) && i > 0 && countDigits(words[i-1]) >= postcodeDigits {
			postcode = true
		}
		if !postcode {
			left = append(left, w)
		}
	}
	if len(left) < len(words) { // "2100 København Ø"
		left = slices.DeleteFunc(left, func(w string) bool { return utf8.RuneCountInString(w) == 1 })
	}
	return strings.Join(left, " ")
}
