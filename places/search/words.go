package search

import (
	"bytes"
	"cmp"
	"slices"

	"quadrille/cellstore"
)

const (
	// maxQueryWords is the greatest number of words in a text that is read in parts.
	maxQueryWords = 8
	// maxWordRows bounds the number of names that are read for the rarest word.
	maxWordRows = 5_000
)

func (s *search) withContext() error { return s.inContext(s.fold, contextPenalty) }

// inContext reads the last words of a fold as the name of a country or division.
func (s *search) inContext(fold []byte, penalty int32) error {
	if bytes.Count(fold, []byte(" ")) >= maxQueryWords {
		return nil
	}
	for i := len(fold) - 1; i > 0; i-- {
		if fold[i] != ' ' {
			continue
		}
		if s.spent() {
			return nil
		}
		within, err := s.divisions(fold[i+1:])
		if err != nil {
			return err
		}
		if len(within) == 0 {
			continue
		}
		p := &pattern{fold: bytes.Clone(fold[:i]), whole: s.q.WholeNames, ended: true, within: within, penalty: penalty, typed: true}
		if err := s.match(p); err != nil {
			return err
		}
	}
	return nil
}

// inAnyOrder looks for names with every word of the text, among the names of
// the rarest word.
func (s *search) inAnyOrder() error {
	words := bytes.Split(s.fold, []byte(" "))
	if s.respaced || s.q.WholeNames || len(words) < 2 || len(words) > maxQueryWords {
		return nil
	}
	slices.SortStableFunc(words, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	rarest, least := 0, ^uint64(0)
	for i, w := range words {
		rows, err := s.rowsOn(w)
		if err != nil {
			return err
		}
		if rows < least {
			rarest, least = i, rows
		}
	}
	p := &pattern{fold: words[rarest], kind: Word}
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix(p.fold)}, Selection: *selectName, Limit: maxWordRows}
	if !s.read() || !s.some(p.fold) {
		return nil
	}
	var name []byte
	for row, err := range s.r.names.Scan(s.ctx, scan) {
		if err != nil {
			return wrap(err)
		}
		fold, base, id, r, err := parseNameRow(row)
		if err != nil {
			return err
		}
		r.schema = s.r.schema
		if name = wholeFold(name[:0], fold, &r); r.flags&flagCode == 0 && hasWords(name, words) {
			c := candidate{base: base, id: id, value: row.Cells[0].Value}
			if p.penalty = wordPenalty + insidePenalty; r.flags&flagSuffix != 0 {
				p.penalty = 0 // it is in the base
			}
			s.consider(p, &c)
		} else {
			s.examined++
		}
		if s.spent() {
			return nil
		}
	}
	return nil
}

// rowsOn estimates the number of names with a word that begins with word. It is 0 for rare words.
func (s *search) rowsOn(word []byte) (uint64, error) {
	if characters(word) > prefixCharacters {
		return 0, nil
	}
	if !s.read() {
		return 0, nil
	}
	found, err := s.stored(word, selectCandidates)
	if err != nil || !found {
		return 0, err
	}
	d := decoder{s.list.Cells[0].Value, true}
	rows, _ := d.listHead()
	if !d.ok {
		return 0, cellstore.CorruptRow(tablePrefix, word, "is damaged")
	}
	return rows, nil
}

// wholeFold appends the fold of the name that contains a row's word.
func wholeFold(dst, fold []byte, r *record) []byte {
	if r.flags&flagPlain != 0 {
		return append(append(dst, r.head...), fold...)
	}
	dst, _ = foldWords(dst, nil, string(r.name), r.folded())
	return dst
}

// hasWords reports whether each word begins a different word of a name. words are sorted, longest
// first. If a word begins a name's word, so does every beginning of that word. The longest word
// therefore has the fewest choices, and its choice does not affect the others.
func hasWords(name []byte, words [][]byte) bool {
	var used uint32
	for _, w := range words {
		at := findWord(name, w, used)
		if at < 0 {
			return false
		}
		used |= 1 << at
	}
	return true
}

// findWord returns the number of the first unused word of a name that begins
// with w, among the first 32.
func findWord(name, w []byte, used uint32) int {
	for at := 0; at < 32 && len(name) > 0; at++ {
		word, rest, _ := bytes.Cut(name, []byte(" "))
		name = rest
		if used>>at&1 == 0 && bytes.HasPrefix(word, w) {
			return at
		}
	}
	return -1
}
