package search

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mozillazg/go-unidecode/table"
)

// hanVariants has a line for each Han character that is written in several ways: traditional,
// simplified, and Japanese. The first represents all of them. The facts come from OpenCC 1.4.2
// (TSCharacters, TWVariants, HKVariants, JPShinjitaiCharacters).
//
//go:embed han.txt
var hanVariants string

const (
	firstHan = 0x3400
	lastHan  = 0x9fff
)

// han maps a Han character to the one that represents it, or to 0 if it has no variants.
var han = sync.OnceValue(func() *[lastHan - firstHan + 1]uint16 {
	var t [lastHan - firstHan + 1]uint16
	for line := range strings.Lines(hanVariants) {
		first, size := utf8.DecodeRuneInString(line)
		for _, r := range line[size:] {
			if r >= firstHan {
				t[r-firstHan] = uint16(first)
			}
		}
	}
	return &t
})

// These are the vowels and finals of Hangul syllables, by the keys that type them. They are written
// in the letters that begin syllables and the vowels of one key.
var (
	hangulVowels = [21]string{"ᅡ", "ᅢ", "ᅣ", "ᅤ", "ᅥ", "ᅦ", "ᅧ", "ᅨ", "ᅩ", "ᅩᅡ", "ᅩᅢ", "ᅩᅵ", "ᅭ", "ᅮ", "ᅮᅥ", "ᅮᅦ", "ᅮᅵ", "ᅲ", "ᅳ", "ᅳᅵ", "ᅵ"}
	hangulFinals = [28]string{"", "ᄀ", "ᄁ", "ᄀᄉ", "ᄂ", "ᄂᄌ", "ᄂᄒ", "ᄃ", "ᄅ", "ᄅᄀ", "ᄅᄆ", "ᄅᄇ", "ᄅᄉ", "ᄅᄐ", "ᄅᄑ", "ᄅᄒ",
		"ᄆ", "ᄇ", "ᄇᄉ", "ᄉ", "ᄊ", "ᄋ", "ᄌ", "ᄎ", "ᄏ", "ᄐ", "ᄑ", "ᄒ"}
)

const (
	firstSyllable = 0xac00
	lastSyllable  = 0xd7a3
	firstInitial  = 0x1100
	firstVowel    = 0x1161
	firstFinal    = 0x11a7 // no final
)

// firstUnified is the first character that unify may change.
const firstUnified = 0x0600

// unify appends a fold with one form of each letter. Variants of Han characters and of Arabic
// letters agree, and katakana become hiragana. Hangul becomes the letters as they are typed, so
// that a partly typed syllable is a prefix of the whole one.
func unify(dst, fold []byte) []byte {
	for _, r := range string(fold) {
		switch {
		case r < firstUnified:
		case firstHan <= r && r <= lastHan:
			if v := han()[r-firstHan]; v != 0 {
				r = rune(v)
			}
		case firstSyllable <= r && r <= lastSyllable:
			n := r - firstSyllable
			dst = utf8.AppendRune(dst, firstInitial+n/(21*28))
			dst = append(dst, hangulVowels[n/28%21]...)
			dst = append(dst, hangulFinals[n%28]...)
			continue
		case firstVowel <= r && r < firstVowel+rune(len(hangulVowels)):
			dst = append(dst, hangulVowels[r-firstVowel]...)
			continue
		case firstFinal < r && r < firstFinal+rune(len(hangulFinals)):
			dst = append(dst, hangulFinals[r-firstFinal]...)
			continue
		case r == 'ヵ' || r == 'ゕ':
			r = 'か'
		case r == 'ヶ' || r == 'ゖ':
			r = 'け'
		case 'ァ' <= r && r <= 'ヴ' || r == 'ヽ' || r == 'ヾ':
			r -= 'ァ' - 'ぁ'
		case r == 'ھ' || r == 'ە' || r == 'ۃ':
			r = 'ه'
		case r == 'ے':
			r = 'ي'
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// transliterate appends the Latin letters and the digits that represent a character.
func transliterate(dst []byte, r rune) []byte {
	letters := table.Tables[r>>8]
	if i := int(r & 0xff); i < len(letters) {
		for _, c := range []byte(letters[i]) {
			if c = asciiFold[c]; c != 0 && c != ' ' {
				dst = append(dst, c)
			}
		}
	}
	return dst
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// contracted appends a fold with ä for ae and so on, as folds spell it: a, o, u, and a for aa.
// After a vowel or q, "ue" does not mean ü: Neuenburg, Quedlinburg.
func contracted(dst, fold []byte) []byte {
	for i := 0; i < len(fold); i++ {
		dst = append(dst, fold[i])
		if i+1 == len(fold) {
			break
		}
		switch string(fold[i : i+2]) {
		case "ae", "oe", "aa":
			i++
		case "ue":
			if i == 0 || fold[i-1] != 'a' && fold[i-1] != 'e' && fold[i-1] != 'q' {
				i++
			}
		}
	}
	return dst
}
