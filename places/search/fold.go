package search

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxFoldGrowth bounds the growth by folding: Fold appends at most MaxFoldGrowth times as many bytes as s
// has. The worst case is U+FDFA, one character that represents four words.
const MaxFoldGrowth = 11

// Fold appends the form in which names are compared. Letters lose case and
// accents. Compatibility forms such as wide letters and ligatures are
// decomposed. ß becomes ss, ø becomes o, ł becomes l and so on. Apostrophes and
// invisible characters are dropped. Everything else that is neither letter,
// mark nor digit becomes a space, runs of spaces become one, and none remains
// at either end. Signs above and below Arabic and Hebrew letters are dropped;
// vowel signs of Indic scripts and Thai stay. Traditional, simplified and
// Japanese forms of a Han character become one, katakana become hiragana, and
// Hangul syllables become the letters that type them. Bytes that are not UTF-8
// become spaces. Scripts are not transcribed.
//
// Folding a fold changes nothing. ASCII is folded without allocation.
func Fold(dst []byte, s string) []byte {
	return foldAs(dst, s, plainFold)
}

func foldAs(dst []byte, s string, variant int) []byte {
	dst, _ = foldWords(dst, nil, normalize(s), variant)
	return dst
}

// These are the ways to fold a name. Every name has a plain fold. The others
// cover words and letters that have a second spelling.
const (
	plainFold  = iota
	umlautFold // ä as ae, ö and ø as oe, ü as ue, å as aa
	abbrevFold // saint as st, st as saint, and so on
	latinFold  // other scripts as Latin letters
	folds

	// firstSchema, added to one of these, folds as schema version 1 does: forms
	// of one letter stay different.
	firstSchema = 1 << 2
)

// wordStart is the beginning of a word, in bytes of the name and of the
// appended fold.
type wordStart struct {
	source, fold int
	// elided is set for the word after the apostrophe in "L'Aquila". It forms one word with the
	// letters before it, but is also found on its own.
	elided bool
}

// elidedLetters is the least number of letters after an apostrophe that begin a word of their own.
const elidedLetters = 4

// normalize returns the form of a name in which positions are counted. Its
// letters are composed, so that each folds by itself. Almost every name has this form already.
func normalize(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return compose(s)
		}
	}
	return s
}

func compose(s string) string {
	plain := true
	for _, r := range s {
		// Halfwidth kana have their marks as separate characters.
		if r >= 0xff65 && r <= 0xff9f {
			return norm.NFKC.String(s)
		}
		plain = plain && isComposed(r)
	}
	if plain || norm.NFC.IsNormalString(s) {
		return s
	}
	return norm.NFC.String(s)
}

// isComposed reports whether r is one of the common letters that stay the same next to any other
// letter. It returns false for all other letters.
func isComposed(r rune) bool {
	switch {
	case r < 0x0300,
		0x0400 <= r && r <= 0x0482, 0x048a <= r && r <= 0x052f, // Cyrillic
		0x05d0 <= r && r <= 0x05ea, 0x0620 <= r && r <= 0x064a, // Hebrew, Arabic
		0x3041 <= r && r <= 0x3096, 0x30a0 <= r && r <= 0x30ff, // kana
		0x4e00 <= r && r <= 0x9fff, 0xac00 <= r && r <= 0xd7a3: // Han, Hangul
		return true
	}
	return false
}

// foldWords appends the fold of a normalized name and, if starts is not nil,
// the places where its words begin.
func foldWords(dst []byte, starts []wordStart, s string, variant int) ([]byte, []wordStart) {
	f := newFolder(dst, variant)
	f.starts, f.words = starts, starts != nil
	for i := 0; i < len(s); {
		i += f.step(s, i)
	}
	return f.dst, f.starts
}

// folder folds a name character by character.
type folder struct {
	dst     []byte
	base    int // of dst, where this fold begins
	starts  []wordStart
	words   bool
	space   bool // a space is due before the next character
	inside  bool // within a character that is several words: only the first begins one
	after   int  // where the last apostrophe ended; 0 when no word can begin there
	variant int
	unified bool // forms of one letter become one
}

func newFolder(dst []byte, variant int) folder {
	return folder{dst: dst, base: len(dst), variant: variant &^ firstSchema, unified: variant&firstSchema == 0}
}

// step folds the character at i, or with abbrevFold the word, and returns its
// length in s.
func (f *folder) step(s string, i int) int {
	if f.variant == abbrevFold && f.atStart() {
		if n := f.abbreviate(s, i); n > 0 {
			return n
		}
	}
	c := s[i]
	if c < utf8.RuneSelf {
		switch c = asciiFold[c]; c {
		case ' ':
			f.space, f.after = true, 0
		case 0:
			f.apostrophe(i + 1)
		default:
			f.begin(s, i)
			f.dst = append(f.dst, c)
		}
		return 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	if f.variant == umlautFold {
		if t := umlaut(r); t != "" {
			f.begin(s, i)
			f.dst = append(f.dst, t...)
			return size
		}
	}
	var buf, unified [64]byte
	t := foldRune(buf[:0], r)
	if f.unified && r >= firstUnified {
		t = unify(unified[:0], t)
	}
	if f.variant == latinFold && !isASCII(t) {
		t = transliterate(unified[:0], r)
	}
	for len(t) > 0 {
		if t[0] == ' ' {
			f.space, f.after = true, 0
			t = t[1:]
			continue
		}
		n := 1
		for n < len(t) && t[n] != ' ' {
			n++
		}
		f.begin(s, i)
		f.dst = append(f.dst, t[:n]...)
		t = t[n:]
		f.inside = true
	}
	f.inside = false
	if isApostrophe(r) {
		f.apostrophe(i + size)
	}
	return size
}

func (f *folder) atStart() bool { return f.space || len(f.dst) == f.base }

func (f *folder) apostrophe(end int) {
	if !f.atStart() {
		f.after = end
	}
}

// begin prepares the folder for a letter of the character at i.
func (f *folder) begin(s string, i int) {
	switch {
	case f.atStart():
		if f.space && len(f.dst) > f.base {
			f.dst = append(f.dst, ' ')
		}
		if f.words && !f.inside {
			f.starts = append(f.starts, wordStart{source: i, fold: len(f.dst) - f.base})
		}
	case f.words && f.after == i && i > 0 && lettersAt(s, i) >= elidedLetters:
		f.starts = append(f.starts, wordStart{source: i, fold: len(f.dst) - f.base, elided: true})
	}
	f.space, f.after = false, 0
}

// lettersAt counts the remaining characters of the word at i, up to
// elidedLetters.
func lettersAt(s string, i int) (n int) {
	for _, r := range s[i:] {
		if n == elidedLetters || separates(r) {
			break
		}
		n++
	}
	return n
}

// abbreviations lists words with two spellings.
var abbreviations = map[string]string{
	"saint": "st", "sankt": "st", "sint": "st", "st": "saint",
	"sainte": "ste", "ste": "sainte",
	"mount": "mt", "mt": "mount",
	"fort": "ft", "ft": "fort",
}

const longestAbbreviated = 6

// abbreviate folds the word at i if abbreviations has it. It returns the word's
// length in s, or 0.
func (f *folder) abbreviate(s string, i int) int {
	word := folder{dst: make([]byte, 0, 2*longestAbbreviated), variant: plainFold}
	end := i
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if separates(r) {
			break
		}
		word.step(s, end)
		if end += size; len(word.dst) > longestAbbreviated {
			return 0
		}
	}
	t, ok := abbreviations[string(word.dst)]
	if !ok {
		return 0
	}
	f.begin(s, i)
	f.dst = append(f.dst, t...)
	return end - i
}

// abbreviated reports whether a fold has a word that abbreviate would change.
func abbreviated(fold []byte) bool {
	for len(fold) > 0 {
		n := slices.Index(fold, ' ')
		if n < 0 {
			n = len(fold)
		}
		if n >= 2 && n <= longestAbbreviated {
			if _, ok := abbreviations[string(fold[:n])]; ok {
				return true
			}
		}
		fold = fold[min(n+1, len(fold)):]
	}
	return false
}

// matchedEnd returns where the first n bytes of a fold end in its normalized
// name s, if folding starts at from: after the last character that gave one of
// the bytes, and its marks.
func matchedEnd(s string, from, variant, n int) int {
	var buf [256]byte
	f := newFolder(buf[:0], variant)
	i := from
	for i < len(s) && len(f.dst) < n {
		i += f.step(s, i)
	}
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isDroppedMark(r) {
			break
		}
		i += size
	}
	return i
}

// accented reports whether folding a text loses more than its case. If so, the user typed accents
// on purpose.
func accented(s string) bool {
	var buf, lower [64]byte
	for _, r := range s {
		if r < utf8.RuneSelf {
			continue
		}
		t := foldRune(buf[:0], r)
		if len(t) > 0 && t[0] != ' ' && string(t) != string(utf8.AppendRune(lower[:0], lowerCase(r))) {
			return true
		}
	}
	return false
}

// accentFold appends the fold that keeps accents, for texts with accents. The name is normalized.
func accentFold(dst []byte, s string) []byte {
	base, space := len(dst), false
	for _, r := range s {
		switch {
		case separates(r):
			space = true
			continue
		case isApostrophe(r) || isInvisible(r):
			continue
		}
		if space && len(dst) > base {
			dst = append(dst, ' ')
		}
		space = false
		dst = utf8.AppendRune(dst, lowerCase(r))
	}
	return dst
}

// cutFold shortens a fold to at most maxFold bytes, between characters.
func cutFold(fold []byte) []byte {
	n := maxFold
	if len(fold) <= n {
		return fold
	}
	for n > 0 && !utf8.RuneStart(fold[n]) {
		n--
	}
	if n > 0 && fold[n-1] == ' ' {
		n--
	}
	return fold[:n]
}
