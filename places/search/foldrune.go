package search

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// asciiFold maps a byte to its lower case, to ' ' if it separates words, and to
// 0 if it is dropped.
var asciiFold = func() (t [256]byte) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			t[c] = byte(c)
		case 'A' <= c && c <= 'Z':
			t[c] = byte(c) + 'a' - 'A'
		case c == '\'' || c == '`':
			t[c] = 0
		default:
			t[c] = ' '
		}
	}
	return t
}()

// letters lists the letters whose folds do not follow from decomposition, and
// those that do not change.
var letters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th",
	'ħ': "h", 'ŧ': "t", 'ŋ': "n", 'ı': "i", 'ĸ': "k", 'ə': "e", 'ɛ': "e", 'ɔ': "o",
	'ɓ': "b", 'ɖ': "d", 'ɗ': "d", 'ɣ': "g", 'ɨ': "i", 'ɩ': "i", 'ƙ': "k", 'ɲ': "n", 'ƴ': "y",
	'ƒ': "f", 'ʋ': "v", 'ŀ': "l",
	// These are separate letters, although they decompose.
	'й': "й", 'ў': "ў", 'ї': "ї",
	// These are forms of one letter that writers confuse.
	'ة': "ه", 'ى': "ي", 'ی': "ي", 'ک': "ك", 'ہ': "ه", 'ٱ': "ا",
}

// isApostrophe reports whether r is an apostrophe or a letter that represents one. Folds drop them.
func isApostrophe(r rune) bool {
	switch r {
	case '\'', '`', '´', '·', '‘', '’', '‛', '′', '″', '՚', '՛', '׳', '״', 'Ꞌ', 'ꞌ', '＇':
		return true
	}
	return 0x02b9 <= r && r <= 0x02df
}

// isInvisible reports whether r is a joiner, a soft hyphen, a direction mark or
// a tatweel.
func isInvisible(r rune) bool {
	return r == 0x0640 || r >= utf8.RuneSelf && unicode.Is(unicode.Cf, r)
}

// isDroppedMark reports whether r is an accent, a point of Arabic or Hebrew, or a mark of kana that
// composes with no letter.
func isDroppedMark(r rune) bool {
	return r >= 0x0300 && unicode.Is(droppedMarks, r)
}

var droppedMarks = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0300, 0x036f, 1}, {0x0483, 0x0489, 1}, {0x0591, 0x05bd, 1}, {0x05bf, 0x05bf, 1}, {0x05c1, 0x05c2, 1},
		{0x05c4, 0x05c5, 1}, {0x05c7, 0x05c7, 1}, {0x0610, 0x061a, 1}, {0x064b, 0x065f, 1}, {0x0670, 0x0670, 1},
		{0x06d6, 0x06dc, 1}, {0x06df, 0x06e4, 1}, {0x06e7, 0x06e8, 1}, {0x06ea, 0x06ed, 1}, {0x180b, 0x180f, 1},
		{0x1ab0, 0x1aff, 1}, {0x1dc0, 0x1dff, 1}, {0x20d0, 0x20ff, 1}, {0x3099, 0x309a, 1}, {0xfe00, 0xfe0f, 1}, {0xfe20, 0xfe2f, 1},
	},
	R32: []unicode.Range32{{0xe0100, 0xe01ef, 1}},
}

// separates reports whether a character folds to a space: it is neither letter,
// mark nor number, and not dropped.
func separates(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiFold[r] == ' '
	}
	return r == utf8.RuneError || !isApostrophe(r) && !isInvisible(r) && !unicode.IsOneOf(kept, r)
}

var kept = []*unicode.RangeTable{unicode.L, unicode.M, unicode.N}

func umlaut(r rune) string {
	switch r {
	case 'ä', 'Ä':
		return "ae"
	case 'ö', 'Ö', 'ø', 'Ø':
		return "oe"
	case 'ü', 'Ü':
		return "ue"
	case 'å', 'Å':
		return "aa"
	}
	return ""
}

// lowerCase maps letters with two lower-case forms, such as sigma, to one.
func lowerCase(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }

// The folds of the alphabets of most names are computed once.
const tableSize = 0x0700

var runeTable = sync.OnceValue(func() *[tableSize]string {
	var t [tableSize]string
	for r := rune(utf8.RuneSelf); r < tableSize; r++ {
		t[r] = string(slowFold(nil, r, 0))
	}
	return &t
})

// foldRune appends the fold of a character other than ASCII, a space if it
// separates words.
func foldRune(dst []byte, r rune) []byte {
	switch {
	case r < tableSize:
		return append(dst, runeTable()[r]...)
	case 0x3041 <= r && r <= 0x3096 || 0x30a1 <= r && r <= 0x30fe && r != 0x30fb || // kana
		0x3400 <= r && r <= 0x4dbf || 0x4e00 <= r && r <= 0x9fff || // Han
		0xac00 <= r && r <= 0xd7a3: // Hangul
		return utf8.AppendRune(dst, r)
	}
	return slowFold(dst, r, 0)
}

// slowFold computes a fold. It folds the result of a letter again, to a depth
// that no letter reaches.
func slowFold(dst []byte, r rune, depth int) []byte {
	if r < utf8.RuneSelf {
		if c := asciiFold[r]; c != 0 {
			dst = append(dst, c)
		}
		return dst
	}
	if isApostrophe(r) || isInvisible(r) || isDroppedMark(r) {
		return dst
	}
	if separates(r) {
		return append(dst, ' ')
	}
	if l := lowerCase(r); l != r && depth < 8 {
		return slowFold(dst, l, depth+1)
	}
	if s, ok := letters[r]; ok {
		return append(dst, s...)
	}
	if unicode.Is(unicode.Nd, r) {
		return append(dst, '0'+digit(r))
	}
	if 0x3041 <= r && r <= 0x30fe {
		return utf8.AppendRune(dst, r)
	}
	if d := norm.NFKD.PropertiesString(string(r)).Decomposition(); d != nil && string(d) != string(r) && depth < 8 {
		for _, part := range string(d) {
			dst = slowFold(dst, part, depth+1)
		}
		return dst
	}
	return utf8.AppendRune(dst, r)
}

// digit returns the value of a decimal digit. Digits lie in blocks of ten.
func digit(r rune) byte {
	for _, x := range unicode.Nd.R16 {
		if rune(x.Lo) <= r && r <= rune(x.Hi) {
			return byte((r - rune(x.Lo)) % 10)
		}
	}
	for _, x := range unicode.Nd.R32 {
		if rune(x.Lo) <= r && r <= rune(x.Hi) {
			return byte((r - rune(x.Lo)) % 10)
		}
	}
	return 0
}
