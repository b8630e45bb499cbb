package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"

	unidecode "github.com/mozillazg/go-unidecode"
	"pgregory.net/rapid"
)

// The reference looks at every name of every place for every text. It shares
// with the package the fold of a text and the weight of a place, nothing else.

type refName struct {
	fold  string
	base  int32
	whole bool
	code  string // the text of a code
	level int
	main  bool
}

// beginning returns the points for the beginning of a name, and whether a text finds it at all.
func (n *refName) beginning(text string, others bool) (points int32, found bool) {
	points = n.base
	if !n.whole {
		points -= insidePenalty
	}
	if n.main || strings.ContainsFunc(text, func(r rune) bool { return r > 127 }) {
		return points, true
	}
	return points - otherPenalty, others || len(text) >= 4
}

// inFull returns the points for a whole name.
func (n *refName) inFull() int32 {
	if n.code != "" || n.main && n.base >= notable {
		return n.base + exactBonus + mainBonus
	}
	if n.base >= notable {
		return n.base + exactBonus + otherBonus
	}
	return n.base + exactBonus
}

// refNames lists the searchable names of a place.
func refNames(e *Entry) (names []refName) {
	w := int32(weight(e))
	latin := strings.ContainsAny(string(Fold(nil, e.Name))+string(Fold(nil, e.ASCIIName)), refLatin)
	for _, n := range e.Names {
		latin = latin || !refCode(&n) && strings.ContainsAny(string(Fold(nil, n.Text)), refLatin)
	}
	add := func(text string, level int, code, main bool) {
		text = normalize(text)
		base := w - int32(levelPenalty[level])
		typed := ""
		if code {
			typed = text
			base++
		}
		texts := refFolds(text, 0)
		if code {
			texts = texts[:1]
		} else if level != levelOwn || text != normalize(e.Name) || latin {
			texts = texts[:3]
		}
		for variant, fold := range texts {
			base := base
			if variant > 0 {
				if fold == texts[0] {
					continue
				}
				base -= refPenalty[variant]
			}
			if fold == "" {
				continue
			}
			names = append(names, refName{fold, base, true, typed, level, main})
			for rest := fold; !code; {
				_, after, ok := strings.Cut(rest, " ")
				if !ok {
					break
				}
				rest = after
				names = append(names, refName{rest, base - wordPenalty, false, "", level, main})
			}
			for i := range text {
				if !code && text[i] == '\'' && refElided(text[:i], text[i+1:]) {
					names = append(names, refName{refFolds(text[i+1:], 1)[variant], base - wordPenalty, false, "", level, main})
				}
			}
		}
	}
	add(e.Name, levelOwn, false, true)
	if e.ASCIIName != "" {
		add(e.ASCIIName, levelOwn, false, true)
	}
	for _, n := range e.Names {
		level := levelAlternate
		switch {
		case n.Historic:
			level = levelHistoric
		case n.Short, n.Colloquial:
			level = levelShort
		case n.Preferred:
			level = levelPreferred
		}
		code := refCode(&n)
		main := n.Main || code || strings.ContainsFunc(string(Fold(nil, n.Text)), func(r rune) bool { return r > 127 })
		if !code && level != levelHistoric && len(Fold(nil, n.Text)) > 0 && strings.HasPrefix(string(Fold(nil, e.Name)),
			string(Fold(nil, n.Text))+" ") {
			main, level = true, levelOther
		}
		add(n.Text, level, code, main && level != levelHistoric && level != levelShort)
	}
	// Of names with the same spelling, a whole one is preferred, and then a main one.
	return slices.DeleteFunc(slices.Clone(names), func(n refName) bool {
		return slices.ContainsFunc(names, func(o refName) bool {
			return o.fold == n.fold && (o.code == "") == (n.code == "") && (o.whole && !n.whole || o.whole == n.whole && o.main && !n.main)
		})
	})
}

var threeCapitals = regexp.MustCompile(`^[A-Z]{3}$`)

func refCode(n *Name) bool {
	return n.Lang == "iata" && !strings.ContainsFunc(n.Text, func(r rune) bool { return r > 127 }) ||
		n.Lang == "" && threeCapitals.MatchString(n.Text)
}

// refFolds folds a text in each way. The first `but` words are not expanded.
func refFolds(text string, but int) []string {
	umlauts := strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "å", "aa", "ø", "oe", "Ä", "ae", "Ö", "oe", "Ü", "ue", "Å",
		"aa", "Ø", "oe")
	fold := string(Fold(nil, text))
	words := strings.Split(fold, " ")
	for i := but; i < len(words); i++ {
		words[i] = cmp.Or(abbreviations[words[i]], words[i])
	}
	var latin []byte
	for _, r := range text {
		switch f := Fold(nil, string(r)); {
		case separates(r):
			latin = append(latin, ' ')
		case strings.ContainsFunc(string(f), func(r rune) bool { return r > 127 }):
			latin = append(latin, bytes.ReplaceAll(Fold(nil, unidecode.Unidecode(string(r))), []byte(" "), nil)...)
		default:
			latin = append(latin, f...)
		}
	}
	return []string{fold, string(Fold(nil, umlauts.Replace(text))), strings.Join(words, " "), string(Fold(nil, string(latin)))}
}

const refLatin = "abcdefghijklmnopqrstuvwxyz"

var refPenalty = []int32{0, variantPenalty, variantPenalty, latinPenalty}

var refDigraphs = regexp.MustCompile("ae|oe|ue|aa")

// refContracted replaces ae, oe, ue and aa by ä, ö, ü and å.
func refContracted(text string) string {
	out, from := "", 0
	for _, at := range refDigraphs.FindAllStringIndex(text, -1) {
		if text[at[0]] == 'u' && at[0] > 0 && strings.Contains("aeq", text[at[0]-1:at[0]]) {
			continue
		}
		out += text[from : at[0]+1]
		from = at[1]
	}
	return out + text[from:]
}

// refElided reports whether a word begins after an apostrophe.
func refElided(before, after string) bool {
	word := before[strings.LastIndexFunc(before, separates)+1:]
	if !utf8.ValidString(word) {
		_, size := utf8.DecodeRuneInString(before[strings.LastIndexFunc(before, separates):])
		word = before[strings.LastIndexFunc(before, separates)+size:]
	}
	first, _ := utf8.DecodeRuneInString(after)
	rest := strings.FieldsFunc(after, separates)
	return len(Fold(nil, word)) > 0 && len(rest) > 0 && strings.HasPrefix(after, rest[0]) &&
		len(Fold(nil, string(first))) > 0 && utf8.RuneCountInString(rest[0]) >= elidedLetters
}

type refHit struct {
	id     uint32
	points int32
	kind   Kind
	known  bool // the match is a whole name, or the beginning of a main one
}

type reference struct {
	entries  []Entry
	names    [][]refName
	contexts []ContextName
	q        Query

	best  map[uint32]refHit
	exact bool
}

func (r *reference) passes(e *Entry) bool {
	q := &r.q
	return e.Population >= uint64(q.MinPopulation) &&
		(len(q.Countries) == 0 || slices.Contains(q.Countries, e.Country)) &&
		(len(q.Classes) == 0 || slices.Contains(q.Classes, string(rune(e.Class)))) &&
		(len(q.Codes) == 0 || slices.Contains(q.Codes, e.Code)) &&
		(q.Box == nil || q.Box.Contains(degrees(e.Lon), degrees(e.Lat)))
}

func (r *reference) keep(e *Entry, points int32, kind Kind, known bool) {
	if !r.passes(e) {
		return
	}
	if r.q.Bias {
		points -= distancePenalty(quadkey.Distance(r.q.Lon, r.q.Lat, degrees(e.Lon), degrees(e.Lat)))
	}
	old, ok := r.best[e.ID]
	if ok && (points < old.points || points == old.points && (old.known || !known) || kind == Typo && old.kind != Typo) {
		return
	}
	r.best[e.ID] = refHit{e.ID, points, kind, known}
}

// typed reports whether the typed text begins with a code, in either case.
func (r *reference) typed(code string) bool {
	text := strings.TrimSpace(r.q.Text)
	if fold := string(Fold(nil, text)); refInitials.MatchString(fold) {
		text = strings.ReplaceAll(fold, " ", "")
	}
	return len(text) >= len(code) && strings.EqualFold(text[:len(code)], code)
}

// match compares a text with every name, and with codes if it is unchanged. coded reports whether
// a code matched.
func (r *reference) match(text string, in func(*Entry) bool, ended bool, penalty int32, typed bool) (coded bool) {
	return r.matchAll(text, in, ended, penalty, typed, false)
}

// matchAll does the same as match. With others it also finds the beginnings of names that are not
// main names, even where match hides them.
func (r *reference) matchAll(text string, in func(*Entry) bool, ended bool, penalty int32, typed, others bool) (coded bool) {
	for i := range r.entries {
		e := &r.entries[i]
		if !in(e) {
			continue
		}
		for _, n := range r.names[i] {
			whole := n.whole && n.fold == text
			switch {
			case !strings.HasPrefix(n.fold, text), r.q.WholeNames && !whole, n.code != "" && (!whole || !typed || !r.typed(n.code)),
				ended && n.fold != text && n.fold[len(text)] != ' ':
				continue
			}
			points, found := n.beginning(text, others)
			kind := Prefix
			if whole {
				points, found, kind = n.inFull(), true, Exact
			} else if !n.whole {
				kind = Word
			}
			if points -= penalty; !found {
				continue
			}
			coded = coded || n.code != "" && r.passes(e)
			r.exact = r.exact || kind == Exact && (!ended || r.passes(e)) // a typing error is not assumed if a filter drops the exact name
			r.keep(e, points, kind, n.main || whole)
		}
	}
	return coded
}

func anywhere(*Entry) bool { return true }

// matchWhole searches for a text as a whole name.
func (r *reference) matchWhole(text string, penalty int32) {
	whole := r.q.WholeNames
	r.q.WholeNames = true
	r.match(text, anywhere, false, penalty, false)
	r.q.WholeNames = whole
}

// context reads the last words of a text as a country or division.
func (r *reference) context(text string, penalty int32) {
	words := strings.Split(text, " ")
	for k := len(words) - 1; k > 0; k-- {
		divisions := r.divisions(strings.Join(words[k:], " "))
		r.match(strings.Join(words[:k], " "), func(e *Entry) bool {
			return slices.ContainsFunc(divisions, func(c ContextName) bool {
				return c.Country == e.Country && (c.Admin1 == "" || c.Admin1 == e.Admin1)
			})
		}, true, penalty, true)
	}
}

var (
	refInitials = regexp.MustCompile(`^\pL( \pL)+$`)
	refLetter   = regexp.MustCompile(`^\pL$`)
	refSplit    = regexp.MustCompile(`\pL{2}\|([^\PL\x{2e80}-\x{10ffff}]){2}`)
	refSign     = regexp.MustCompile(`^(.*\S)(?:` + strings.ReplaceAll(string(Fold(nil, "市 县 省 都 府 区 郡 町 村 鎮 시 군 구 도")), " ", "|") + `)$`)
)

// refJoined joins single letters to the word that follows. It joins a last single letter, and a
// single s, to the word before.
func refJoined(words []string) string {
	var out []string
	open := false
	for i, w := range words {
		single := refLetter.MatchString(w)
		back := i > 0 && !open && single && (w == "s" || i == len(words)-1)
		if open || back {
			out[len(out)-1] += w
		} else {
			out = append(out, w)
		}
		open = single && !back
	}
	return strings.Join(out, " ")
}

// search returns all hits in order. shuffled reports whether the words were also tried in any
// order.
func (r *reference) search() (hits []refHit, shuffled bool) {
	r.best, r.exact = map[uint32]refHit{}, false
	text := string(Fold(nil, r.q.Text))
	if refInitials.MatchString(text) {
		r.match(text, anywhere, true, 0, false)
		text = strings.ReplaceAll(text, " ", "")
	}
	words := strings.Split(text, " ")
	if r.match(text, anywhere, false, 0, true) {
		return r.sorted(), false // a code is not spelled in another way
	}
	if len(r.best) == 0 && !r.q.WholeNames {
		r.matchAll(text, anywhere, false, 0, false, true)
	}
	// The reference skips texts of two letters, because too many names begin with them.
	if other := refContracted(text); other != text && utf8.RuneCountInString(other) >= 3 && len(r.best) <= answerPlaces {
		r.match(other, anywhere, false, variantPenalty, false)
	}
	if len(r.best) <= answerPlaces {
		r.context(text, contextPenalty)
	}
	respaced := false
	if other := refJoined(words); other != text && len(r.best) <= answerPlaces {
		before := len(r.best)
		r.match(other, anywhere, false, variantPenalty, false)
		r.context(other, contextPenalty+variantPenalty)
		respaced = len(r.best) > before
	}
	if len(r.best) == 0 && !r.q.NoTypos && utf8.RuneCountInString(text) <= 24 {
		for i := range text {
			if text[i] == ' ' {
				r.matchWhole(text[:i]+text[i+1:], variantPenalty)
			} else if refSplit.MatchString(text[:i] + "|" + text[i:]) {
				r.matchWhole(text[:i]+" "+text[i:], variantPenalty)
			}
		}
		respaced = len(r.best) > 0
	}
	if m := refSign.FindStringSubmatch(text); m != nil && len(r.best) == 0 {
		if utf8.RuneCountInString(m[1]) < 2 {
			r.matchWhole(m[1], variantPenalty)
		} else {
			r.match(m[1], anywhere, false, variantPenalty, false)
		}
	}
	if len(r.best) <= answerPlaces && len(words) > 1 && !r.q.WholeNames && !respaced {
		shuffled = true
		for i := range r.entries {
			for _, n := range r.names[i] {
				if n.whole && n.code == "" && hasEach(strings.Split(n.fold, " "), words) {
					r.keep(&r.entries[i], n.base-wordPenalty-insidePenalty, Word, n.main)
				}
			}
		}
	}
	latin := ""
	if len(r.best) == 0 && !isASCII([]byte(text)) {
		latin = refFolds(normalize(r.q.Text), 0)[3]
	}
	if latin != "" {
		r.match(latin, anywhere, false, latinPenalty, false)
	}
	if len(r.best) <= answerPlaces {
		r.forgive(text, 0)
	}
	if latin != "" && len(r.best) == 0 {
		r.forgive(latin, latinPenalty)
	}
	return r.sorted(), shuffled
}

func (r *reference) sorted() (hits []refHit) {
	for _, h := range r.best {
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b refHit) int { return cmp.Or(cmp.Compare(b.points, a.points), cmp.Compare(a.id, b.id)) })
	return hits
}

// hasEach reports whether the words begin different words of a name. It tries every assignment.
func hasEach(name, words []string) bool {
	if len(words) == 0 {
		return true
	}
	for i, n := range name {
		if strings.HasPrefix(n, words[0]) && hasEach(slices.Concat(name[:i], name[i+1:]), words[1:]) {
			return true
		}
	}
	return false
}

// forgive matches with wrong letters: the least number that finds anything.
func (r *reference) forgive(text string, penalty int32) {
	if strings.ContainsFunc(text, func(r rune) bool { return r >= ideograms }) || r.exact || r.q.NoTypos {
		return
	}
	a := refAligner{text: []rune(text)}
	most := 0
	for w, word := range strings.Split(text, " ") {
		letters := strings.Count(regexp.MustCompile("[0-9]").ReplaceAllString(word, ""), "") - 1
		allowed := 0
		if letters >= 8 {
			allowed = 2
		} else if letters >= 4 {
			allowed = 1
		}
		a.allowed[w] = allowed
		most += allowed
	}
	for typos := 1; typos <= min(most, 4); typos++ {
		for i := range r.entries {
			for _, n := range r.names[i] {
				for s, points := range a.beginnings(n.fold, typos) {
					whole := n.whole && n.fold == s
					if n.code != "" || r.q.WholeNames && !whole {
						continue
					}
					worth, found := n.beginning(s, false)
					if whole {
						worth, found = n.inFull(), true
						r.exact = r.exact || r.passes(&r.entries[i])
					}
					if points = worth - penalty - points*typoPenalty; !found {
						continue
					}
					r.keep(&r.entries[i], points, Typo, n.main || whole)
				}
			}
		}
		if len(r.best) > 0 {
			return
		}
	}
}

// refAligner writes a text as the beginnings of a name, with wrong letters.
type refAligner struct {
	text    []rune
	allowed [64]int // wrong letters, by word
}

// beginnings returns the beginnings of a name that equal a text except for wrong letters, with the
// number of these. typos bounds the number.
func (a *refAligner) beginnings(name string, typos int) map[string]int32 {
	type state struct {
		i, j, left int
		allowed    [64]int
	}
	letters, found, seen := []rune(name), map[string]int32{}, map[state]bool{}
	var walk func(s state)
	walk = func(s state) {
		if seen[s] {
			return
		}
		seen[s] = true
		if s.i == len(a.text) {
			text, used := string(letters[:s.j]), int32(typos-s.left)
			if old, ok := found[text]; text != "" && strings.TrimSpace(text) == text && used > 0 && (!ok || used < old) {
				found[text] = used
			}
			return
		}
		step := func(i, j, wrong int) {
			next := s
			next.i, next.j, next.left = s.i+i, s.j+j, s.left-wrong
			if wrong > 0 {
				next.allowed[strings.Count(string(a.text[:s.i]), " ")]--
			}
			walk(next)
		}
		r, more := a.text[s.i], s.j < len(letters)
		if more && letters[s.j] == r {
			step(1, 1, 0)
		}
		if s.left == 0 || s.allowed[strings.Count(string(a.text[:s.i]), " ")] == 0 {
			return
		}
		step(1, 0, 1)
		if s.i+1 < len(a.text) && s.j+1 < len(letters) && a.text[s.i+1] == letters[s.j] && r == letters[s.j+1] {
			step(2, 2, 1)
		}
		if more && (letters[s.j] == ' ' || slices.ContainsFunc(a.text, func(t rune) bool { return t>>blockBits == letters[s.j]>>blockBits })) {
			step(1, 1, 1)
			step(0, 1, 1)
		}
	}
	walk(state{left: typos, allowed: a.allowed})
	return found
}

func (r *reference) divisions(text string) (out []ContextName) {
	named := func(text string, exactly bool) (out []ContextName) {
		for _, c := range r.contexts {
			for _, name := range []ContextName{
				c,
				{c.Country, c.Country, ""},
				{c.Admin1, c.Country, c.Admin1},
				{abbreviatedCountries[c.Country], c.Country, ""},
			} {
				fold := string(Fold(nil, name.Text))
				if fold == text && fold != "" || !exactly && strings.HasPrefix(fold, text) {
					out = append(out, name)
				}
			}
		}
		return out
	}
	if out = named(text, true); len(out) > 0 {
		return out
	}
	words := strings.Split(text, " ")
	for k := 1; k < len(words); k++ {
		outer := named(strings.Join(words[k:], " "), true)
		for _, d := range named(strings.Join(words[:k], " "), true) {
			if slices.ContainsFunc(outer, func(o ContextName) bool { return o.Country == d.Country && o.Admin1 == "" }) {
				out = append(out, d)
			}
		}
	}
	if len(out) > 0 || utf8.RuneCountInString(text) < contextBegun {
		return out
	}
	return named(text, false)
}

// The alphabet has few letters, so that names share beginnings, and letters that folding changes.
var (
	pieces = []string{"a", "b", "ab", "ba", "aa", " ", "-", ".", " ", "b'a", "á", "A", "c", "cab"}
	nasty  = append([]string{"ä", "ß", "ø", "st", "Saint", " st ", "й", "и", "北", "京", "ǆ", "\u0301", "か\u3099", "カ", "東", "东",
		"서", "ㅅ", "市", "s", "ae", "ue", "\x00", "<", "😀", "ﷺ"}, pieces...)
)

func drawName(t *rapid.T, label string, from []string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(from), 1, 8).Draw(t, label), "")
}

func TestAgainstReference(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	dir := t.TempDir()
	contexts := []ContextName{{"Caab", "AA", ""}, {"Ab a", "AA", "B"}, {"a", "BB", ""}, {"cab", "BB", "05"}}
	rapid.Check(t, func(rt *rapid.T) {
		from := pieces
		simple := rapid.Bool().Draw(rt, "simple")
		if !simple {
			from = nasty
		}
		var entries []Entry
		for id, n := 1, rapid.IntRange(0, 60).Draw(rt, "places"); id <= n; id++ {
			e := Entry{ID: uint32(id * 3), Name: drawName(rt, "name", from), Class: rapid.SampledFrom([]byte("PPPAS\x00")).Draw(rt, "class"),
				Code:       rapid.SampledFrom([]string{"PPL", "PPLC", "ADM1"}).Draw(rt, "code"),
				Country:    rapid.SampledFrom([]string{"AA", "BB", ""}).Draw(rt, "country"),
				Admin1:     rapid.SampledFrom([]string{"", "B", "05"}).Draw(rt, "admin1"),
				Population: rapid.SampledFrom([]uint64{0, 10, 1e4, 1e6}).Draw(rt, "people"),
				Importance: rapid.SampledFrom([]uint64{0, 1 << 63, 1<<63 | 100_000}).Draw(rt, "importance"),
				Lat:        rapid.Int32Range(-90, 90).Draw(rt, "lat") * unitsPerDegree,
				Lon:        rapid.Int32Range(-180, 180).Draw(rt, "lon") * unitsPerDegree}
			if !simple {
				for range rapid.IntRange(0, 3).Draw(rt, "alternates") {
					n := Name{Text: drawName(rt, "alternate", nasty), Lang: rapid.SampledFrom([]string{"", "de", "iata"}).Draw(rt, "lang")}
					n.Main = rapid.Bool().Draw(rt, "main")
					*rapid.SampledFrom([]*bool{&n.Historic, &n.Preferred, &n.Short, new(bool)}).Draw(rt, "flag") = true
					e.Names = append(e.Names, n)
				}
			}
			entries = append(entries, e)
		}
		small := sizes{
			list:  12,
			rows:  rapid.SampledFrom([]int{11, 30}).Draw(rt, "rows"),
			scan:  rapid.SampledFrom([]int{3, 40}).Draw(rt, "scan"),
			reads: 1e9,
			typos: 1e9,
			folds: rapid.SampledFrom([]int{0, maxFoldBytes}).Draw(rt, "folds"),
		}
		store := memoryStore(t)
		defer store.Close()
		r := must.Get(Open(context.Background(), store, buildSized(rt, dir, store, entries, contexts, small))).In(rt)
		r.sizes = small
		ref := &reference{entries: entries, contexts: contexts}
		for i := range entries {
			ref.names = append(ref.names, refNames(&entries[i]))
		}
		for range 20 {
			q := drawQuery(rt, from)
			if len(Fold(nil, q.Text)) == 0 || accented(normalize(q.Text)) {
				continue // see TestAccentsPreferTheirForm
			}
			checkQuery(rt, r, ref, q, simple)
		}
	})
}

func drawQuery(t *rapid.T, from []string) Query {
	q := Query{Text: drawName(t, "text", from), Limit: rapid.SampledFrom([]int{0, 1, 3, 15, 100}).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "plain") {
		return q
	}
	q.Offset = rapid.SampledFrom([]int{0, 2}).Draw(t, "offset")
	q.Countries = rapid.SampledFrom([][]string{nil, {"AA"}, {"AA", "BB"}}).Draw(t, "countries")
	q.Classes = rapid.SampledFrom([][]string{nil, {"A"}, {"S", "P"}}).Draw(t, "classes")
	q.Codes = rapid.SampledFrom([][]string{nil, {"PPLC"}}).Draw(t, "codes")
	q.MinPopulation = rapid.SampledFrom([]int64{0, 10, 1e6}).Draw(t, "min")
	q.Box = rapid.SampledFrom([]*quadkey.Box{nil, {West: 90, South: -50, East: -90, North: 90}}).Draw(t, "box")
	q.Bias = rapid.Bool().Draw(t, "bias")
	q.Lat, q.Lon = rapid.Float64Range(-90, 90).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lon")
	q.NoTypos = rapid.Bool().Draw(t, "exact")
	q.WholeNames = rapid.IntRange(0, 3).Draw(t, "whole") == 0
	return q
}

func checkQuery(t *rapid.T, r *Reader, ref *reference, q Query, simple bool) {
	hits, total := must.Two(r.Search(context.Background(), q, nil)).In(t)
	ref.q = q
	want, shuffled := ref.search()
	if shuffled && !simple {
		// The tables have only the best of a place's names with the same ending. Only the other
		// words of that name are compared, so the answers differ.
		return
	}
	if total > len(want) {
		t.Fatalf("%+v found %d, want %d", q, total, len(want))
	}
	all := len(want)
	want = want[min(q.Offset, len(want)):]
	want = want[:min(cmp.Or(q.Limit, DefaultLimit), len(want))]
	if len(hits) != len(want) {
		t.Fatalf("%+v gives %d hits, want %d of %d: %+v", q, len(hits), len(want), all, hits)
	}
	for i, h := range hits {
		if h.ID != want[i].id || h.Score != want[i].points || h.Match.Kind != want[i].kind {
			t.Fatalf("%+v: hit %d is %+v, want %+v", q, i, h, want[i])
		}
		checkHighlight(t, ref, q, h)
	}
	out, found := must.Two(r.Complete(context.Background(), q.Text, nil)).In(t)
	if plain := (Query{Text: q.Text}); found {
		hits, _, err := r.Search(context.Background(), plain, nil)
		if err != nil || string(out) != answerOf(hits) {
			t.Fatalf("%q is answered %s, searched %s, %v", q.Text, out, answerOf(hits), err)
		}
	} else {
		ref.q = plain
		ref.best = map[uint32]refHit{}
		text := string(Fold(nil, q.Text))
		if refInitials.MatchString(text) {
			return
		}
		own := strings.EqualFold(strings.TrimSpace(q.Text), text) || !isASCII([]byte(text))
		if ref.match(text, anywhere, false, 0, true); len(ref.best) == 0 {
			ref.matchAll(text, anywhere, false, 0, false, true)
		}
		if own && len(ref.best) > answerPlaces && utf8.RuneCountInString(text) <= prefixCharacters {
			t.Fatalf("%q has %d matches and no finished answer", q.Text, len(ref.best))
		}
	}
}

// checkHighlight checks that the highlighted part of a name folds, in one way or another, to the
// typed text.
func checkHighlight(t *rapid.T, ref *reference, q Query, h Hit) {
	if h.Match.Historic || h.Match.Kind == Typo || h.Match.Kind == Word {
		return
	}
	name := h.Match.Name
	if name == "" {
		i := slices.IndexFunc(ref.entries, func(e Entry) bool { return e.ID == h.ID })
		name = ref.entries[i].Name
	}
	units := utf16.Encode([]rune(name))
	if h.Match.Start < 0 || h.Match.Start > h.Match.End || h.Match.End > len(units) {
		t.Fatalf("%+v marks %d to %d of %q", q, h.Match.Start, h.Match.End, name)
	}
	marked := string(utf16.Decode(units[h.Match.Start:h.Match.End]))
	text := string(Fold(nil, q.Text))
	for variant := range folds {
		fold, _ := foldWords(nil, nil, normalize(marked), variant)
		// If a country follows, the name is only a part of the text.
		if strings.HasPrefix(string(fold), text) || strings.HasPrefix(text, string(fold)) {
			return
		}
		// Otherwise the text may be an alternative spelling, or has other blanks, or both, and perhaps a
		// sign or a country after the name.
		blankless := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		spellings := []string{text, refContracted(text), refFolds(normalize(q.Text), 0)[3], refContracted(blankless(text))}
		for i, text := range spellings {
			if i > 0 && strings.HasPrefix(string(fold), text) {
				return
			}
			f, bare := blankless(string(fold)), blankless(text)
			if strings.HasPrefix(f, bare) || strings.HasPrefix(bare, f) {
				return
			}
		}
	}
	t.Fatalf("%+v marks %q of %q: %s", q, marked, name, fmt.Sprintf("%+v", h))
}
