package search

import (
	"bytes"
	"sync"
	"unicode"
	"unicode/utf8"
)

// These are the other ways in which a text spells a name. Some change letters. Others put blanks
// where the name has none: an apostrophe is typed as a blank or a hyphen, and initials have dots.

const (
	// leastContracted is the least number of letters in a text with ä for ae.
	leastContracted = 3
	// mostSplit is the length in characters of the longest text that is tried with one more
	// blank.
	mostSplit = 24
	// leastHalf is the least number of letters on each side of such a blank.
	leastHalf = 2
)

// otherSpelling tries the text with ae, oe, ue, aa for ä, ö, ü, å, or the other
// way.
func (s *search) otherSpelling() error {
	p := pattern{whole: s.q.WholeNames, penalty: variantPenalty}
	if text := normalize(s.q.Text); hasUmlaut(text) {
		p.fold = foldAs(nil, text, umlautFold|s.r.schema)
	} else {
		// A text that contracts to two letters is a code rather than a name: uae, maa.
		if p.fold = contracted(nil, s.fold); characters(p.fold) < leastContracted {
			return nil
		}
	}
	if p.fold = cutFold(p.fold); bytes.Equal(p.fold, s.fold) {
		return nil
	}
	return s.match(&p)
}

// withInitials tries initials apart, as names with dots are folded. The last initial must be a
// single letter in the name, too: "L.A." is not the beginning of "L Argentine".
func (s *search) withInitials() error {
	if len(s.initials) == 0 {
		return nil
	}
	return s.match(&pattern{fold: s.initials, whole: s.q.WholeNames, ended: true})
}

// areInitials reports whether a fold consists of two or more single letters.
func areInitials(fold []byte) bool {
	letters := 0
	for len(fold) > 0 {
		r, size := utf8.DecodeRune(fold)
		if !unicode.IsLetter(r) || size < len(fold) && fold[size] != ' ' {
			return false
		}
		letters++
		fold = fold[min(size+1, len(fold)):]
	}
	return letters > 1
}

// together tries the text with its single letters joined to their neighbours: "l aquila",
// "o fallon missouri", "st john s", "washington d c".
func (s *search) together() error {
	fold, found := joined(s.fold), len(s.found)
	if bytes.Equal(fold, s.fold) {
		return nil
	}
	if err := s.match(&pattern{fold: fold, whole: s.q.WholeNames, penalty: variantPenalty}); err != nil {
		return err
	}
	err := s.inContext(fold, contextPenalty+variantPenalty)
	s.respaced = len(s.found) > found
	return err
}

// joined returns a fold in which each single letter is joined to the word that follows. A
// last single letter, and a single s, is joined to the word before.
func joined(fold []byte) []byte {
	dst, glued := make([]byte, 0, len(fold)), true
	for len(fold) > 0 {
		word, rest, _ := bytes.Cut(fold, []byte(" "))
		r, size := utf8.DecodeRune(word)
		single := size == len(word) && unicode.IsLetter(r)
		before := !glued && single && (r == 's' || len(rest) == 0)
		if !glued && !before {
			dst = append(dst, ' ')
		}
		dst, glued, fold = append(dst, word...), single && !before, rest
	}
	return dst
}

// oneBlank tries a text that finds nothing as whole names with one blank less ("be er sheva")
// or one more ("newyork").
func (s *search) oneBlank() error {
	if len(s.found) > 0 || s.q.NoTypos || characters(s.fold) > mostSplit {
		return nil
	}
	p := pattern{whole: true, penalty: variantPenalty}
	for i, r := range string(s.fold) {
		left, right := s.fold[:i], s.fold[i:]
		switch {
		case r == ' ':
			p.fold = append(bytes.Clone(left), right[1:]...)
		case !splits(left, right):
			continue
		default:
			p.fold = append(append(bytes.Clone(left), ' '), right...)
		}
		if err := s.match(&p); err != nil {
			return err
		}
	}
	s.respaced = len(s.found) > 0
	return nil
}

// splits reports whether a blank may be missing here: on both sides a word of several
// letters continues, in a script that has blanks between words.
func splits(left, right []byte) bool {
	for range leastHalf {
		l, n := utf8.DecodeLastRune(left)
		r, m := utf8.DecodeRune(right)
		if !unicode.IsLetter(l) || !unicode.IsLetter(r) || r >= ideograms {
			return false
		}
		left, right = left[:len(left)-n], right[m:]
	}
	return true
}

// divisionSigns are the ends of names of cities, districts and provinces in East Asia. People
// often leave them out, or add them to names that have none.
const divisionSigns = "市 縣 県 县 省 都 府 區 区 郡 町 村 鎮 镇 시 군 구 도"

var foldedSigns = sync.OnceValue(func() [][]byte { return bytes.Split(Fold(nil, divisionSigns), []byte(" ")) })

// withoutSign tries a text that finds nothing without the division sign at its end.
func (s *search) withoutSign() error {
	if len(s.found) > 0 {
		return nil
	}
	for _, sign := range foldedSigns() {
		if rest, ok := bytes.CutSuffix(s.fold, sign); ok && len(rest) > 0 && rest[len(rest)-1] != ' ' {
			return s.match(&pattern{fold: rest, whole: s.q.WholeNames || characters(rest) < leastHalf, penalty: variantPenalty})
		}
	}
	return nil
}
