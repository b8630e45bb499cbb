package judged

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

var letters = strings.NewReplacer("ß", "ss", "ø", "o", "æ", "ae", "œ", "oe", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i",
	"ħ", "h", "ŋ", "n",
	"’", "'", "‘", "'", "ʻ", "'", "ʼ", "'", "`", "'", "–", "-")

// AsTyped returns a name in the letters that people type: lower case without marks. The name stays
// in its script.
func AsTyped(name string) string {
	lower := letters.Replace(strings.ToLower(name))
	for _, r := range lower {
		if unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
			return lower
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(lower))
}

// SameName reports whether two names are equal apart from case, marks, punctuation and the words
// for the kind of division.
func SameName(a, b string) bool { return a != "" && b != "" && plain(a) == plain(b) }

func plain(name string) string {
	words := strings.FieldsFunc(AsTyped(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for len(words) > 1 && kinds[words[len(words)-1]] {
		words = words[:len(words)-1]
	}
	if len(words) > 2 && kinds[words[0]] && words[1] == "of" {
		words = words[2:]
	}
	return strings.Join(words, " ")
}

var kinds = map[string]bool{
	"county":       true,
	"parish":       true,
	"borough":      true,
	"province":     true,
	"state":        true,
	"municipality": true,
	"district":     true,
	"region":       true,
	"department":   true,
	"governorate":  true,
	"prefecture":   true,
	"canton":       true,
	"oblast":       true,
	"municipio":    true,
}
