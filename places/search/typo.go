package search

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"quadrille/cellstore"
)

const (
	// These are the least numbers of letters of a word that may have one wrong letter, or two.
	oneTypoLetters, twoTypoLetters = 4, 8
	// maxTypos bounds the wrong letters of a text.
	maxTypos = 4
	// typoReads bounds the seeks for one spelling of the text.
	typoReads = 1_200
	// ideograms is the first character of the scripts in which a character is a word. A different
	// character there is a different word.
	ideograms = 0x2e80
	// Characters of one alphabet usually have the same bits above blockBits.
	blockBits = 8
)

// speller looks for names that begin with a text except for some letters. Names are ordered, so at
// each position it tries only letters that some name has there, and it tries no position after the
// first one at which no name agrees with the text.
type speller struct {
	*search
	pattern pattern
	text    []rune
	word    []int  // of each character, by number; a space is of the word before it
	allowed []int  // wrong letters of each word that are left
	blocks  []rune // of the characters in the text, ascending
	tried   map[string]bool
	until   int // of search.reads
}

// forgive searches for names with wrong letters, those with the fewest first.
func (s *search) forgive(fold []byte, penalty int32) error {
	text := []rune(string(fold))
	word, allowed := forgivable(text)
	typos := 0
	for _, n := range allowed {
		typos += n
	}
	if s.exact || s.q.NoTypos || typos == 0 {
		return nil
	}
	sp := &speller{search: s, text: text, word: word, allowed: allowed, tried: map[string]bool{},
		pattern: pattern{whole: s.q.WholeNames, penalty: penalty, kind: Typo}, until: s.reads + s.r.sizes.typos}
	for _, r := range text {
		sp.blocks = append(sp.blocks, r>>blockBits)
	}
	slices.Sort(sp.blocks)
	sp.blocks = slices.Compact(sp.blocks)
	for n := 1; n <= min(typos, maxTypos); n++ {
		sp.pattern.penalty += typoPenalty
		if err := sp.walk(nil, 0, n); err != nil || len(s.found) > 0 || sp.done() {
			return err
		}
	}
	return nil
}

func (sp *speller) done() bool { return sp.reads >= sp.until || sp.spent() }

// forgivable returns the number of the word of each character, and how many letters of each word
// may be wrong. Digits do not count as letters, because another number means another feature. In
// scripts in which a letter is a word, no letter may be wrong.
func forgivable(text []rune) (word, allowed []int) {
	letters := 0
	end := func() {
		n := 0
		if letters >= oneTypoLetters {
			n++
		}
		if letters >= twoTypoLetters {
			n++
		}
		allowed, letters = append(allowed, n), 0
	}
	for _, r := range text {
		word = append(word, len(allowed))
		switch {
		case r >= ideograms:
			return nil, nil
		case r == ' ':
			end()
		case r < '0' || r > '9':
			letters++
		}
	}
	end()
	return word, allowed
}

// walk tries the text from position at on, with a number of wrong letters. The beginning right of
// the result is already known to begin some name. It tries the last letters first: fewer names
// agree with the text there, so they take few seeks, and users usually know how a name begins.
func (sp *speller) walk(right []byte, at, typos int) error {
	if typos == 0 {
		return sp.try(right, at)
	}
	fold := append(bytes.Clone(right), string(sp.text[at:])...)
	ends := []int{len(right)} // of the beginnings of fold that some name has
	for n := len(right); n < len(fold); {
		_, size := utf8.DecodeRune(fold[n:])
		n += size
		if known, err := sp.begins(fold[:n]); err != nil {
			return err
		} else if !known {
			break
		}
		ends = append(ends, n)
	}
	for i := min(at+len(ends), len(sp.text)) - 1; i >= at && !sp.done(); i-- {
		n := &sp.allowed[sp.word[i]]
		if *n == 0 {
			continue
		}
		*n--
		err := sp.wrongAt(slices.Clip(fold[:ends[i-at]]), i, typos-1)
		*n++
		if err != nil {
			return err
		}
	}
	return nil
}

// wrongAt tries other letters instead of the one at i, after the beginning right. In addition,
// typos of the letters after it are wrong.
func (sp *speller) wrongAt(right []byte, i, typos int) error {
	r := sp.text[i]
	// This tries the text without r.
	if err := sp.walk(right, i+1, typos); err != nil {
		return err
	}
	// This tries the text with r and the next letter swapped.
	if i+1 < len(sp.text) && sp.text[i+1] != r {
		swapped := utf8.AppendRune(utf8.AppendRune(right, sp.text[i+1]), r)
		known, err := true, error(nil)
		if typos > 0 {
			known, err = sp.begins(swapped)
		}
		if known && err == nil {
			err = sp.walk(swapped, i+2, typos)
		}
		if err != nil {
			return err
		}
	}
	return sp.eachLetter(right, func(x rune) error {
		// This tries x instead of r, and x before r.
		with := utf8.AppendRune(right, x)
		if x != r {
			if err := sp.walk(with, i+1, typos); err != nil {
				return err
			}
		}
		return sp.walk(with, i, typos)
	})
}

// try gathers the names that begin with right, followed by the text from offset at on.
func (sp *speller) try(right []byte, at int) error {
	fold := append(bytes.Clone(right), string(sp.text[at:])...)
	if sp.done() || sp.tried[string(fold)] || len(fold) == 0 || fold[0] == ' ' || fold[len(fold)-1] == ' ' {
		return nil
	}
	sp.tried[string(fold)] = true
	known, err := sp.begins(fold)
	if err != nil || !known {
		return err
	}
	sp.pattern.fold = fold
	return sp.match(&sp.pattern)
}

// begins reports whether any name begins with fold.
func (s *search) begins(fold []byte) (bool, error) {
	next, err := s.nextFold(fold)
	return bytes.HasPrefix(next, fold), err
}

// nextFold returns the first fold of a name at or after from. It is empty if there is none, or no
// seek is left. A fold that is looked up in memory counts as a seek, so that the answer is the same.
func (s *search) nextFold(from []byte) (fold []byte, err error) {
	if s.r.folds == nil {
		return s.seekFold(from)
	}
	fold, at := s.r.folds.next(s.near, from)
	s.near = fold
	if !s.asked.known(from, at) {
		if !s.read() {
			return nil, nil
		}
		s.asked.learn(from, at)
	}
	return fold, nil
}

// seekFold does the same as nextFold in the store.
func (s *search) seekFold(from []byte) (fold []byte, err error) {
	if fold, known := s.gaps.next(from); known {
		return fold, nil
	}
	if !s.read() {
		return nil, nil
	}
	found, err := s.r.names.Next(s.ctx, from, nil, selectName, &s.row)
	if err != nil {
		return nil, wrap(err)
	}
	if found {
		var ok bool
		if fold, _, _, ok = parseNameKey(s.row.Key); !ok {
			return nil, cellstore.CorruptRow(tableNames, s.row.Key, "has another layout")
		}
	}
	s.gaps.learn(from, fold)
	return fold, nil
}

// eachLetter calls fn with every letter that follows the beginning right in some name, if its
// alphabet occurs in the text. It also calls fn with the space if this follows.
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
	fold, err := s.nextFold(from)
	if err != nil || len(fold) == 0 || len(end) > 0 && bytes.Compare(fold, end) >= 0 {
		return -1, err
	}
	if len(fold) <= len(prefix) {
		return -1, cellstore.CorruptRow(tableNames, fold, "has another layout")
	}
	r, size := utf8.DecodeRune(fold[len(prefix):])
	if r == utf8.RuneError && size <= 1 {
		return -1, cellstore.CorruptRow(tableNames, fold, "is not a fold")
	}
	return r, nil
}
