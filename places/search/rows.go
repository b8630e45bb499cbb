package search

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"
)

// rowMaker converts a place to rows of place_names.
type rowMaker struct {
	folds  []byte // of all rows, end to end
	starts []wordStart
	rows   []nameRow
	common []byte // of the values
	key    []byte
	value  []byte

	latin   bool  // the place has a name in Latin letters
	skipped int64 // names that were left out
}

// nameRow is one future row: a fold and its origin.
type nameRow struct {
	from, to int // of the fold in folds
	base     uint16
	flags    byte
	head     int // bytes of the fold before from, when plain
	start    int // of the word in name
	name     string
	lang     string
}

// make calls add with the key and the value of every row of a place. Each fold has one row, for the
// best-ranked name that gives it.
func (m *rowMaker) make(e *Entry, add func(key, value []byte) error) error {
	m.folds, m.rows, m.latin = m.folds[:0], m.rows[:0], false
	if m.starts == nil {
		m.starts = make([]wordStart, 0, maxWords)
	}
	w := weight(e)
	m.name(w, levelOwn, 0, e.Name, "")
	if e.ASCIIName != "" && e.ASCIIName != e.Name {
		m.name(w, levelOther, 0, e.ASCIIName, "")
	}
	own := Fold(nil, e.Name)
	for i := range e.Names {
		n := &e.Names[i]
		if level, flags, ok := levelOf(n); ok {
			if flags == 0 && level != levelHistoric && begins(own, n.Text) {
				level = levelOther
			}
			m.name(w, level, flags, n.Text, n.Lang)
		}
	}
	if !m.latin {
		if text := normalize(e.Name); text == e.Name {
			m.variant(latinFold, nameRow{base: w, flags: levelOwn, name: text})
		} else {
			m.variant(latinFold, nameRow{base: w, flags: levelOther, name: text})
		}
	}
	if len(m.rows) > 1 {
		m.dedupe()
	}
	m.common = appendPlace(append(m.common[:0], 0), e)
	for i := range m.rows {
		r := &m.rows[i]
		fold := m.folds[r.from:r.to]
		m.value = append(m.value[:0], m.common...)
		m.value[0] = r.flags
		if r.flags&flagPlain != 0 {
			m.value = appendText(m.value, m.folds[r.from-r.head:r.from])
		} else {
			m.value = binary.AppendUvarint(m.value, uint64(r.start))
			m.value = appendText(appendText(m.value, r.name), r.lang)
		}
		m.key = appendNameKey(m.key[:0], fold, r.base, e.ID)
		if err := add(m.key, m.value); err != nil {
			return err
		}
	}
	return nil
}

// begins reports whether a name is the first words of another, which has the
// fold: "New York" of New York City.
func begins(fold []byte, name string) bool {
	if len(name) > 2*len(fold) {
		return false
	}
	first := Fold(nil, name)
	return len(first) > 0 && len(fold) > len(first) && fold[len(first)] == ' ' && bytes.HasPrefix(fold, first)
}

// codeLetters is the number of capital letters that make a code rather than a name.
const codeLetters = 3

// levelOf returns the level of a name; false if it is not a name.
func levelOf(n *Name) (level int, flags byte, ok bool) {
	switch n.Lang {
	case "link", "post", "wkdt", "tcid", "phon", "piny":
		return 0, 0, false
	case CodeLang, "iata", "icao", "faac", "unlc":
		flags = flagCode
	case "":
		if len(n.Text) == codeLetters && !strings.ContainsFunc(n.Text, func(r rune) bool { return r < 'A' || r > 'Z' }) {
			flags = flagCode
		}
	}
	if !isASCII([]byte(n.Text)) {
		flags = 0 // letters of codes have no accents
	}
	// People who type letters other than Latin ones know the languages written in them.
	main := n.Main || flags != 0 || !isASCII(Fold(nil, n.Text))
	switch {
	case n.Historic:
		level = levelHistoric
	case n.Short || n.Colloquial || n.Lang == "abbr":
		level = levelShort
	case n.Preferred && main:
		level = levelPreferred
	case n.Preferred:
		level = levelOtherPreferred
	case main:
		level = levelAlternate
	default:
		level = levelOtherAlternate
	}
	return level, flags, true
}

// name adds the rows of a name.
func (m *rowMaker) name(weight uint16, level int, flags byte, name, lang string) {
	if len(name) > maxText || !utf8.ValidString(name) || len(lang) > maxText || len(m.rows) >= maxRows {
		m.skipped++
		return
	}
	text := normalize(name)
	if text != name && level == levelOwn {
		level = levelOther // positions refer to the composed form, so display that
	}
	base := weight - levelPenalty[level]
	if flags&flagCode != 0 {
		base++ // no name has this base, so the row of a code has a key of its own
	}
	at := len(m.folds)
	m.starts = m.starts[:0]
	m.folds, m.starts = foldWords(m.folds, m.starts, text, plainFold)
	m.words(at, nameRow{base: base, flags: flags | byte(level), name: text, lang: lang})
	if flags&flagCode != 0 {
		return
	}
	m.latin = m.latin || bytes.ContainsFunc(m.folds[at:], func(r rune) bool { return 'a' <= r && r <= 'z' })
	if hasUmlaut(text) {
		m.variant(umlautFold, nameRow{base: base, flags: flags | byte(level), name: text, lang: lang})
	}
	if abbreviated(m.folds[at:]) {
		m.variant(abbrevFold, nameRow{base: base, flags: flags | byte(level), name: text, lang: lang})
	}
}

func (m *rowMaker) variant(variant int, r nameRow) {
	at := len(m.folds)
	m.starts = m.starts[:0]
	m.folds, m.starts = foldWords(m.folds, m.starts, r.name, variant)
	r.base -= foldPenalty[variant]
	r.flags |= byte(variant << atVariant)
	m.words(at, r)
}

// words adds a row for the fold that begins at `at`, and one for each further
// word.
func (m *rowMaker) words(at int, r nameRow) {
	fold := m.folds[at:]
	if len(fold) == 0 {
		return
	}
	if r.flags == levelOwn && isPlain(r.name, fold) {
		r.flags |= flagPlain
	}
	for i, s := range m.starts[:min(len(m.starts), maxWords)] {
		row := r
		row.from, row.start, row.head = at+s.fold, s.source, s.fold
		row.to = row.from + len(cutFold(m.folds[row.from:]))
		if i > 0 {
			if r.flags&flagCode != 0 {
				break
			}
			row.flags |= flagSuffix
			row.base -= wordPenalty
		}
		m.rows = append(m.rows, row)
	}
}

// dedupe keeps the best row of each fold. Codes and names are kept apart. A whole name beats a word
// inside one, then a main name beats others, then the greater base wins. Of equal rows dedupe keeps
// one whose name has accents, because that name says more, or else the first.
func (m *rowMaker) dedupe() {
	slices.SortStableFunc(m.rows, func(a, b nameRow) int {
		if c := bytes.Compare(m.folds[a.from:a.to], m.folds[b.from:b.to]); c != 0 {
			return c
		}
		if c := cmp.Compare(a.flags&flagCode, b.flags&flagCode); c != 0 {
			return c
		}
		if c := cmp.Compare(a.flags&flagSuffix, b.flags&flagSuffix); c != 0 {
			return c
		}
		if main := isMain(a.flags); main != isMain(b.flags) {
			if main {
				return -1
			}
			return 1
		}
		if c := cmp.Compare(b.base, a.base); c != 0 {
			return c
		}
		if c := cmp.Compare(a.flags&flagLevel, b.flags&flagLevel); c != 0 {
			return c
		}
		return cmp.Compare(len(b.name), len(a.name))
	})
	kept := m.rows[:1]
	for _, r := range m.rows[1:] {
		if last := &kept[len(kept)-1]; (last.flags^r.flags)&flagCode == 0 && bytes.Equal(m.folds[last.from:last.to], m.folds[r.from:r.to]) {
			last.share(&r)
			continue
		}
		kept = append(kept, r)
	}
	m.rows = kept
}

// share adds the language of another name with the same spelling.
func (r *nameRow) share(other *nameRow) {
	const alike = flagSuffix | flagVariant
	if other.lang == "" || r.name != other.name || (r.flags^other.flags)&alike != 0 ||
		!inLanguage(r.flags) || !inLanguage(other.flags) || spoken(r.lang, other.lang) != "" || len(r.lang)+len(other.lang) >= maxLangs {
		return
	}
	if r.lang != "" {
		r.lang += ","
	}
	r.lang += other.lang
}

// inLanguage reports whether a name ranks higher in queries for its language.
func inLanguage(flags byte) bool {
	level := flags & flagLevel
	return level == levelPreferred || level == levelAlternate || level >= levelOtherPreferred
}

// spoken returns a language as it is spelled in a list of languages, whatever
// the case of lang, or "".
func spoken[T string | []byte](langs T, lang string) string {
	for l := range strings.SplitSeq(string(langs), ",") {
		if strings.EqualFold(l, lang) {
			return l
		}
	}
	return ""
}

func hasUmlaut(s string) bool {
	for _, r := range s {
		if r >= utf8.RuneSelf && umlaut(r) != "" {
			return true
		}
	}
	return false
}
