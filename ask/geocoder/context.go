package geocoder

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"quadrille/ask/hierarchy"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

const (
	// maxWords bounds the words of a text that are tried as the name of a surrounding region.
	maxWords = 12
	// contextWords bounds the words of such a name.
	contextWords = 4
	// contextRegions bounds the regions that a context may name: 31 counties have the name
	// Washington.
	contextRegions = 32
	// begunLetters is the least number of letters that is tried as the beginning of a name. A last
	// word that is not longer may be a code, which typing handles.
	begunLetters = 2
	// maxContexts bounds the readings of a text that are tried.
	maxContexts = 12
	// maxBegun bounds the namesakes whose surrounding regions are compared with the beginning of a
	// name. The most important come first.
	maxBegun = 20
)

// reading is a way to read a text: a name, and its surrounding regions.
type reading struct {
	name    string
	context []string // each names a region around
	// behind is set if the name comes after the regions. Then the text must not match a word inside
	// a longer name: in "Mississippi River", "River" is not Pearl River County.
	behind bool
}

// inContext finds names with surrounding regions, such as "portland oregon" and "oregon, portland".
func (f *finding) inContext() error {
	if f.names == nil {
		return nil
	}
	var codes []reading
	for i, r := range readings(f.q.Text) {
		if i == maxContexts {
			break
		}
		if r.behind && len(search.Fold(nil, r.name)) <= begunLetters {
			codes = append(codes, r)
			continue
		}
		if err := f.share(readingSeeks, func() error { return f.read(&r) }); err != nil {
			return err
		}
	}
	if f.forgiving {
		return nil // "Satna Ana, CA" does not mean a name in Santa Ana that begins with CA
	}
	if err := f.typing(); err != nil {
		return err
	}
	// If there is a Rice in Oregon, "Rice, OR" does not mean a name in Rice County that begins with
	// OR.
	if slices.ContainsFunc(f.found, func(r Result) bool { return r.Kind != names.Region && wholeName(&r) }) {
		return nil
	}
	for _, r := range codes {
		if err := f.share(readingSeeks, func() error { return f.read(&r) }); err != nil {
			return err
		}
	}
	return nil
}

// typing handles texts whose last part is so short that more letters may follow. In "Berlin, G" the
// last part begins the name of a region around the named feature. It may also begin the name of a
// country or division in the languages of the query or, with letters beyond ASCII, in any language:
// "Wien, Ö". A code in capitals is complete, and so is a code for which inContext has found a
// match. For a complete code typing adds nothing. Any other code begins the names of countries and
// first-level divisions only: "Newton, ca" is not the one in Catawba County.
func (f *finding) typing() error {
	at := strings.LastIndexFunc(f.q.Text, isSeparator)
	if at < 0 || slices.ContainsFunc(f.found, func(r Result) bool { return wholeName(&r) }) {
		return nil
	}
	last := strings.TrimSpace(f.q.Text[at+1:])
	begun := string(search.Fold(nil, last))
	letters := utf8.RuneCountInString(begun)
	if letters == 0 || letters > begunLetters {
		return nil
	}
	codes, err := f.regionsNamed(last, false)
	if err != nil || len(codes) > 0 && letters == begunLetters && last == strings.ToUpper(last) {
		return err
	}
	// Misspelled names cost next to nothing here, which leaves budget for the forgiving search that
	// follows.
	inner := f.inner(f.q.Text[:at])
	inner.whole, inner.q.Limit = true, candidates
	found, err := f.ask(inner, readingSeeks)
	if err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b Result) int { return cmp.Compare(b.Score, a.Score) })
	for i := range found[:min(len(found), maxBegun)] {
		r := &found[i]
		is, err := f.begunAround(r, last, len(codes) > 0)
		if err != nil {
			return err
		}
		if is {
			r.Score -= contextPenalty
			f.found = append(f.found, *r)
		}
	}
	return nil
}

// begunAround reports whether the name of a region around a result begins with the letters of
// begun. If they are also a code, only countries and first-level divisions count.
func (f *finding) begunAround(r *Result, begun string, code bool) (bool, error) {
	fold := string(search.Fold(nil, begun))
	begins := func(name string) bool { return strings.HasPrefix(string(search.Fold(nil, name)), fold) }
	switch {
	case !wholeName(r):
		return false, nil
	case r.Kind == Place && begins(r.Place.Admin1Name):
		return true, nil
	case !f.budget.Take(f.labelSeeks()):
		return false, nil
	}
	of := Result{Feature: r.Feature, Place: r.Place}
	if r.Kind == Place {
		around, err := f.view.ParentsOf(f.ctx, &r.Place)
		if err != nil {
			return false, err
		}
		of.Parents = around
	}
	of.Parents = slices.Clip(of.Parents)
	if err := f.complete(&of); err != nil {
		return false, err
	}
	anyLanguage := strings.ContainsFunc(begun, func(r rune) bool { return r >= utf8.RuneSelf })
	for _, p := range of.Parents {
		is := begins(p.Name) && (!code || divides(p.Type))
		if !is && !code && divides(p.Type) && (anyLanguage || len(f.q.Langs) > 0) && f.budget.Take(1) {
			err := f.names.NamesOf(f.ctx, p.Type, p.ID, func(lang, name string) {
				is = is || (anyLanguage || slices.Contains(f.q.Langs, lang)) && begins(name)
			})
			if err != nil {
				return false, err
			}
		}
		if is {
			return true, nil
		}
	}
	return false, nil
}

// divides reports whether a layer has countries or first-level divisions.
func divides(layer string) bool {
	kind := hierarchy.KindOf(layer)
	return kind >= hierarchy.Countries && kind <= hierarchy.States || layer == names.Admin1Type
}

// read finds the results of one reading.
func (f *finding) read(r *reading) error {
	within, err := f.around(r)
	if err != nil || len(within) == 0 {
		return err
	}
	if f.forgiving {
		// If something has the name, the name is no misspelling of something within the regions.
		known, err := f.named(r.name)
		if err != nil {
			return err
		}
		exact := f.q.NoTypos
		f.q.NoTypos = len(known) > 0
		defer func() { f.q.NoTypos = exact }()
	}
	before := len(f.found)
	err = f.match(r.name, f.q.Limit, within, contextPenalty)
	if errors.Is(err, places.ErrQuery) {
		return nil // no letter or digit
	}
	if r.behind {
		f.found = append(f.found[:before], slices.DeleteFunc(f.found[before:], func(r Result) bool { return r.Match.Kind == search.Word })...)
	}
	return err
}

// countryWords are the words for "country" in scripts without spaces between words. They precede
// the name of a country, which stands behind the place or alone.
var countryWords = []string{"ประเทศ", "ປະເທດ", "ប្រទេស"}

// inCountry splits off a country behind one of countryWords: "กรุงเทพประเทศไทย" becomes "กรุงเทพ,
// ไทย", and "ประเทศไทย" becomes "ไทย".
func inCountry(text string) (rest string, ok bool) {
	for _, word := range countryWords {
		if before, country, found := strings.Cut(text, word); found && strings.TrimSpace(country) != "" {
			if before = strings.Trim(before, " ,"); before != "" {
				before += ", "
			}
			return before + strings.TrimSpace(country), true
		}
	}
	return "", false
}

// readings returns the ways to read a text, the likeliest first. Commas end a name. Without commas
// the region is the last words, or the first.
func readings(text string) (list []reading) {
	var parts []string
	for part := range strings.FieldsFuncSeq(text, isSeparator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) > 1 {
		return append(list, reading{name: parts[0], context: parts[1:min(len(parts), contextWords)]},
			reading{name: parts[len(parts)-1], context: parts[:len(parts)-1][:min(len(parts)-1, contextWords)], behind: true})
	}
	words := strings.Fields(text)
	if len(words) > maxWords {
		return nil
	}
	join := func(w []string) string { return strings.Join(w, " ") }
	for n := 1; n < len(words) && n <= contextWords; n++ {
		list = append(list, reading{name: join(words[:len(words)-n]), context: []string{join(words[len(words)-n:])}})
	}
	for n := 1; n < len(words) && n <= contextWords; n++ {
		list = append(list, reading{name: join(words[n:]), context: []string{join(words[:n])}, behind: true})
	}
	// For example, in "lincoln nebraska usa" the last word is the country.
	for n := 1; n < len(words)-1 && n < contextWords; n++ {
		last := len(words) - 1
		list = append(list, reading{name: join(words[:last-n]), context: []string{join(words[last-n : last]), words[last]}})
	}
	return list
}

// around returns the regions that the context of an interpretation names. They have the name in the
// first part of the context, and lie in regions with the names in the other parts.
func (f *finding) around(r *reading) ([]names.Feature, error) {
	var found []names.Feature
	for i := len(r.context) - 1; i >= 0; i-- {
		last := strings.HasSuffix(f.q.Text, r.context[i])
		list, err := f.regionsNamed(r.context[i], last)
		if err == nil && len(list) == 0 && strings.ContainsFunc(f.q.Text, isSeparator) {
			list, err = f.regionsOf(r.context[i])
		}
		if err != nil || len(list) == 0 {
			return nil, err
		}
		if i < len(r.context)-1 {
			list = insideAny(list, found)
		}
		if found = list; len(found) == 0 {
			return nil, nil
		}
	}
	return found, nil
}

// insideAny keeps the regions of list that lie inside at least one region of the slice others. It
// modifies list.
func insideAny(list, others []names.Feature) []names.Feature {
	return slices.DeleteFunc(list, func(inner names.Feature) bool {
		return !slices.ContainsFunc(others, func(outer names.Feature) bool { return inside(&inner, &outer) })
	})
}

// regionsOf returns the regions that a text names with generic words: "Republic of Austria".
func (f *finding) regionsOf(text string) (list []names.Feature, err error) {
	left, types := withoutGeneric(text)
	for _, rest := range left[:min(len(left), contextWords)] {
		if list, err = f.regionsNamed(rest, false); err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(r names.Feature) bool { return !isOf(&Result{Feature: r}, types) })
		if len(list) > 0 {
			break
		}
	}
	return list, nil
}

// regionsNamed returns the regions with a name or code. With typing, the text may be the beginning
// of a name.
func (f *finding) regionsNamed(text string, typing bool) ([]names.Feature, error) {
	q := search.Query{
		Text:       text,
		Limit:      contextRegions,
		NoTypos:    !f.forgiving,
		WholeNames: true,
		Lang:       f.searchLang(),
		Countries:  f.countries,
		Budget:     &f.budget,
	}
	for {
		hits, err := f.names.Search(f.ctx, q, nil)
		if errors.Is(err, places.ErrQuery) {
			return nil, nil // no letter or digit
		}
		if err != nil {
			return nil, err
		}
		var list []names.Feature
		for i := range hits {
			// Only a whole name counts as a region: "county" is a word of thousands of names.
			if hits[i].Kind == names.Region && hits[i].Match.Kind != search.Word {
				list = append(list, hits[i].Feature)
			}
		}
		if len(list) > 0 || !typing || !q.WholeNames || len([]rune(text)) < begunLetters {
			return list, nil
		}
		q.WholeNames = false
	}
}
