package geocoder

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// These are the commas and semicolons of scripts other than Latin. typed maps the block of
// fullwidth forms separately.
const (
	otherCommas     = "،、､﹐﹑՝፣፥߸᠂᠈꓾꘍⸲⸴⹁"
	otherSemicolons = "؛﹔፤⁏⸵"
)

const fullwidth = '！' - '!'

// typed normalizes a text to the characters of a Latin keyboard: commas, semicolons, dashes and
// slashes of other scripts, fullwidth forms and all digits become ASCII. Tabs and the like become
// blanks. Invisible characters are removed, such as the direction marks in copied positions.
// Letters stay.
func typed(text string) string {
	if !utf8.ValidString(text) {
		return text // the search refuses it
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case ' ' <= r && r <= '~':
			return r
		case '！' <= r && r <= '～':
			return r - fullwidth
		case strings.ContainsRune(otherCommas, r):
			return ','
		case strings.ContainsRune(otherSemicolons, r):
			return ';'
		case r == '٫': // the Arabic decimal point
			return '.'
		case r == '∕' || r == '⁄':
			return '/'
		case r == '−' || unicode.Is(unicode.Pd, r):
			return '-'
		case r == '。' || r == '｡' || unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.Is(unicode.Nd, r):
			return rune(search.Fold(nil, string(r))[0])
		}
		return r
	}, text))
}

// isSeparator reports whether a character ends a name, so that a surrounding region may follow.
func isSeparator(r rune) bool { return r == ',' || r == ';' }

// unspacedScripts have no blanks between words, or their writers may omit them.
var unspacedScripts = []*unicode.RangeTable{
	unicode.Han,
	unicode.Hiragana,
	unicode.Katakana,
	unicode.Hangul,
	unicode.Thai,
	unicode.Lao,
	unicode.Khmer,
	unicode.Myanmar,
}

const (
	// leastUnspaced and mostUnspaced bound the characters of a text that may be a region
	// and a place written together.
	leastUnspaced, mostUnspaced = 4, 20
	// leastPart is the least number of these characters in each of the two names.
	leastPart = 2
	// mostAround bounds the regions before or behind a place.
	mostAround = 3
)

// unspacedLetters returns a text without blanks and commas, or "" if it cannot be a region and
// a place written together.
func unspacedLetters(text string) []rune {
	letters := []rune(strings.Map(func(r rune) rune {
		if r == ' ' || isSeparator(r) {
			return -1
		}
		return r
	}, text))
	// The long-vowel mark of kana belongs to no script.
	other := func(r rune) bool { return r != 'ー' && !unicode.IsOneOf(unspacedScripts, r) }
	if len(letters) < leastUnspaced || len(letters) > mostUnspaced || slices.ContainsFunc(letters, other) {
		return nil
	}
	return letters
}

// unspaced finds the place in a text without separators between the place and its surrounding
// regions: "日本東京", "上海市中国", "中国广东省深圳市". If outer has any regions, the results lie inside them.
func (f *finding) unspaced(text []rune, outer []names.Feature, around int) error {
	for n := leastPart; n <= len(text)-leastPart; n++ {
		for _, r := range [...][2][]rune{{text[:n], text[n:]}, {text[len(text)-n:], text[:len(text)-n]}} {
			if unicode.IsMark(r[0][0]) || unicode.IsMark(r[1][0]) {
				continue // it belongs to the letter before
			}
			within, err := f.regionsNamed(string(r[0]), false)
			if err != nil {
				return err
			}
			if outer != nil {
				within = insideAny(within, outer)
			}
			if len(within) == 0 {
				continue
			}
			err = f.match(string(r[1]), f.q.Limit, within, contextPenalty)
			if err == nil && len(f.found) == 0 && around < mostAround {
				err = f.unspaced(r[1], within, around+1)
			}
			if err != nil && !errors.Is(err, places.ErrQuery) || len(f.found) > 0 {
				return err
			}
		}
	}
	return nil
}

// apart reads a text with a slash or a hyphen and no blank: a place and the region around it
// ("Springfield/IL"), or a place in two languages ("Bolzano/Bozen").
func (f *finding) apart() error {
	sides := strings.FieldsFunc(f.q.Text, func(r rune) bool { return r == '/' || r == '|' || r == '-' })
	if len(sides) != 2 || strings.Contains(f.q.Text, " ") {
		return nil
	}
	inexact := func(r Result) bool { return r.Match.Kind != search.Exact }
	if f.names != nil {
		if err := f.read(&reading{name: sides[0], context: sides[1:]}); err != nil {
			return err
		}
	}
	if f.found = slices.DeleteFunc(f.found, inexact); len(f.found) > 0 || strings.Contains(f.q.Text, "-") {
		return nil
	}
	both := map[string]int{}
	for _, side := range sides {
		before := len(f.found)
		if err := f.match(side, f.q.Limit, nil, contextPenalty); err != nil && !errors.Is(err, places.ErrQuery) {
			return err
		}
		for _, r := range f.found[before:] {
			both[string(r.Kind)+r.Type+r.ID]++
		}
	}
	f.found = slices.DeleteFunc(f.found, func(r Result) bool { return inexact(r) || both[string(r.Kind)+r.Type+r.ID] < 2 })
	return nil
}
