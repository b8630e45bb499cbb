package search

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"quadrille/cellstore"
)

const (
	// typoLetters is the least length of a name that may have a wrong letter.
	typoLetters = 6
	// typoReads bounds the positionings in the search for a wrong letter.
	typoReads = 2_000
	// ideograms is the first of the scripts whose characters are words. A
	// different character there is a different word.
	ideograms = 0x2e80
	// Characters of one alphabet mostly agree in the bits above blockBits.
	blockBits = 8
)

// speller looks for names that begin with a text except for one letter. Names
// are ordered, so at each position it tries only letters that some name has
// there, and no position after the first where no name agrees with the text.
type speller struct {
	*search
	pattern pattern
	blocks  []rune // of the characters in the text, ascending
	missing bool   // only a missing letter is forgiven, because the text is one letter short
	until   int    // of search.reads
}

func (s *search) withTypo() error {
	text := []rune(string(s.fold))
	letters := forgivable(text)
	if s.exact || s.q.Exact || letters < typoLetters-1 {
		return nil
	}
	sp := &speller{search: s, missing: letters < typoLetters, pattern: pattern{whole: s.q.Whole, penalty: typoPenalty, kind: Typo}, until: s.reads + typoReads}
	for _, r := range text {
		sp.blocks = append(sp.blocks, r>>blockBits)
	}
	slices.Sort(sp.blocks)
	sp.blocks = slices.Compact(sp.blocks)

	var right []byte // what comes before the wrong letter
	for i, r := range text {
		if err := sp.wrongAt(right, r, text[i+1:]); err != nil {
			return err
		}
		right = utf8.AppendRune(right, r)
		if known, err := s.begins(right); err != nil || !known || sp.done() {
			return err
		}
	}
	return nil
}

func (sp *speller) done() bool { return sp.reads >= sp.until || sp.spent() }

// forgivable counts the letters of a text. It returns 0 if a letter is a word,
// because no such letter can be forgiven.
func forgivable(text []rune) (letters int) {
	for _, r := range text {
		if r >= ideograms {
			return 0
		}
		if r != ' ' {
			letters++
		}
	}
	return letters
}

// wrongAt tries the alternatives where a text has r between right and rest.
func (sp *speller) wrongAt(right []byte, r rune, rest []rune) error {
	if sp.missing {
		return sp.eachLetter(right, func(x rune) error {
			if x == ' ' {
				return nil
			}
			if r == ' ' {
				if err := sp.try(right, rest, x); err != nil {
					return err
				}
			}
			return sp.try(right, rest, x, r)
		})
	}
	// Try the text without r.
	if err := sp.try(right, rest); err != nil {
		return err
	}
	// Try the text with r and the next letter swapped.
	if len(rest) > 0 && rest[0] != r {
		if err := sp.try(right, rest[1:], rest[0], r); err != nil {
			return err
		}
	}
	return sp.eachLetter(right, func(x rune) error {
		// Try x instead of r, and before it.
		if x != r {
			if err := sp.try(right, rest, x); err != nil {
				return err
			}
		}
		return sp.try(right, rest, x, r)
	})
}

// try gathers the names that begin with right, then middle, then rest.
func (sp *speller) try(right []byte, rest []rune, middle ...rune) error {
	if sp.done() {
		return nil
	}
	fold := bytes.Clone(right)
	for _, r := range middle {
		fold = utf8.AppendRune(fold, r)
	}
	for _, r := range rest {
		fold = utf8.AppendRune(fold, r)
	}
	if len(fold) == 0 || fold[0] == ' ' || fold[len(fold)-1] == ' ' {
		return nil
	}
	known, err := sp.begins(fold)
	if err != nil || !known {
		return err
	}
	sp.pattern.fold = fold
	return sp.match(&sp.pattern)
}

// begins reports whether any name begins with fold.
func (s *search) begins(fold []byte) (bool, error) {
	s.reads++
	found, err := s.r.names.Next(s.ctx, fold, cellstore.PrefixEnd(fold), selectName, &s.row)
	return found, wrap(err)
}

// eachLetter calls fn with every letter after right in some name, of the
// alphabets in the text, and with the space.
func (sp *speller) eachLetter(right []byte, fn func(rune) error) error {
	end := cellstore.PrefixEnd(right)
	from := append(bytes.Clone(right), ' ')
	for !sp.done() {
		next, err := sp.nextCharacter(right, from, end)
		if err != nil || next < 0 {
			return err
		}
		following := next + 1
		if block := next >> blockBits; next == ' ' || slices.Contains(sp.blocks, block) {
			if err := fn(next); err != nil {
				return err
			}
		} else {
			i, _ := slices.BinarySearch(sp.blocks, block)
			if i == len(sp.blocks) {
				return nil
			}
			following = sp.blocks[i] << blockBits
		}
		from = utf8.AppendRune(append(from[:0], right...), following)
	}
	return nil
}

// nextCharacter returns the first character at or after from that follows a
// prefix in some name, or -1.
func (s *search) nextCharacter(prefix, from, end []byte) (rune, error) {
	s.reads++
	found, err := s.r.names.Next(s.ctx, from, end, selectName, &s.row)
	if err != nil || !found {
		return -1, wrap(err)
	}
	fold, _, _, ok := parseNameKey(s.row.Key)
	if !ok || len(fold) <= len(prefix) {
		return -1, corrupt(tableNames, s.row.Key, "has another layout")
	}
	r, size := utf8.DecodeRune(fold[len(prefix):])
	if r == utf8.RuneError && size <= 1 {
		return -1, corrupt(tableNames, s.row.Key, "is not a fold")
	}
	return r, nil
}
