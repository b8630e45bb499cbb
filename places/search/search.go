package search

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// Hit is a place found.
type Hit struct {
	ID         uint32
	Match      Match
	Lat, Lon   int32  // 1e-7 degrees
	Country    string // ISO 3166-1 alpha-2, or ""
	Admin1     string // code of the first-level division, or ""
	Importance uint64 // weight in searches: 256 for each doubling of people
	Score      int32  // the rank, greater first
}

// These bound the work of one search.
const (
	maxExamined = 10_000 // rows and candidates looked at
	maxReads    = 3_000  // seeks: gets, and beginnings of scans
)

// Search returns the places that match, best first, and by id where scores are equal. It overwrites
// dst with the hits. Complete gives the same answers.
//
// Names match by their beginning or by the beginning of a word in them, and codes as they are
// typed. If a code matches, none of the following is tried. If at most 10 places match so, the last
// words may instead name the country or first-level division ("springfield illinois"), and the
// words may be in any order. If still no name matches as a whole, each word of four letters and
// more may have one wrong letter: missing, extra, replaced, or swapped with the next. If nothing at
// all is found, words of eight letters and more may have two. Matches with fewer wrong letters come
// first. No wrong letter is allowed if a filter dropped a place whose whole name is the text,
// because then the wanted place lies elsewhere.
//
// The text is also tried with ä for ae and so on, or the other way, and with single letters joined
// to their neighbours: "l aquila", "U.A.E.". A text that finds nothing is tried with one blank more
// or less, and without 市, 県 and the like at its end. A text in another script that finds nothing is
// tried in Latin letters, also with wrong letters.
//
// Work is bounded: a search stops after 3000 seeks, after 10000 names, and when the query's Budget
// is spent. Lookups in memory count as the seeks that they replace. Only searches for wrong letters
// need that many seeks. Only rare filters on short texts, words that thousands of names share, and
// distances need that many names. The search then returns the best places that it has seen, without
// an error. It examines the most important ones first. Typed accents only change the order of the
// best places.
func (r *Reader) Search(ctx context.Context, q Query, dst []Hit) (hits []Hit, total int, err error) {
	f, err := q.check()
	if err != nil {
		return dst[:0], 0, err
	}
	s := r.searches.Get().(*search)
	defer s.end()
	if err := s.begin(ctx, &q, f); err != nil {
		return dst[:0], 0, err
	}
	if err := s.run(); err != nil {
		return dst[:0], 0, err
	}
	return s.hits(dst[:0]), len(s.found), nil
}

// search is the state of one Search.
type search struct {
	r      *Reader
	ctx    context.Context
	q      *Query
	filter filter
	fold   []byte
	// initials is the fold of a text that consists of initials only, with the blanks that s.fold
	// lacks
	initials []byte
	accent   []byte // the text as typed, when its accents matter
	latin    []byte // the text in Latin letters, when it is in others and finds nothing
	need     int    // places after which less important ones can no longer change the answer
	extra    int32  // points that accents and language may add to a stored score

	found    []foundPlace
	byID     map[uint32]int
	exact    bool   // the text is a whole name, though a filter may have dropped it
	others   bool   // also find beginnings of names that are not main ones, however short
	respaced bool   // the text was found with other blanks, so its words are not the words of a name
	coded    bool   // a code was found
	arena    []byte // of values
	most     int    // the most that may be examined
	examined int
	checked  int // examined at the last check whether the places found are enough
	reads    int
	mostRead int // the most that may be sought

	row   cellstore.Row
	list  cellstore.Row
	text  []byte
	near  []byte // the fold that was last looked up
	heap  []openNode
	gaps  gaps
	asked asked
}

// foundPlace is a place with its best match so far.
type foundPlace struct {
	candidate
	points   int32
	n        int // bytes of the fold that matched
	kind     Kind
	unknown  bool // the text is the beginning of a name that is not a main one
	code     bool // a code matched, this time or before
	lat, lon int32
	weight   uint64
}

func newSearch(r *Reader) *search {
	return &search{r: r, byID: map[uint32]int{}, asked: asked{least: map[int]span{}}}
}

func (s *search) begin(ctx context.Context, q *Query, f filter) error {
	s.ctx, s.q, s.filter = ctx, q, f
	s.fold = foldAs(s.fold[:0], q.Text, plainFold|s.r.schema)
	if len(s.fold) == 0 {
		return bad("the text %q has no letter or digit", q.Text)
	}
	if s.fold, s.initials = cutFold(s.fold), nil; areInitials(s.fold) {
		s.fold, s.initials = bytes.ReplaceAll(s.fold, []byte(" "), nil), bytes.Clone(s.fold)
	}
	s.accent, s.latin, s.extra = s.accent[:0], nil, 0
	if text := normalize(q.Text); accented(text) {
		s.accent = accentFold(s.accent, text)
		s.extra += accentBonus
	}
	if q.Lang != "" {
		s.extra += int32(levelPenalty[levelOtherAlternate])
	}
	s.need = max(q.Offset+q.Limit, answerPlaces+1)
	clear(s.found)
	s.found, s.arena = s.found[:0], s.arena[:0]
	clear(s.byID)
	s.gaps.forget()
	s.asked.forget()
	s.exact, s.coded, s.others, s.respaced, s.checked = q.IsName, false, false, false, 0
	s.most, s.mostRead = maxExamined, s.r.sizes.reads
	if q.Budget != nil {
		s.most, s.mostRead = min(s.most, q.Budget.Names), min(s.mostRead, q.Budget.Seeks)
	}
	return nil
}

// end returns the search to the pool without the references that belong to
// callers.
func (s *search) end() {
	if s.q != nil && s.q.Budget != nil {
		s.q.Budget.Seeks -= s.reads
		s.q.Budget.Names -= s.examined
	}
	s.reads, s.examined = 0, 0
	s.ctx, s.q, s.filter = nil, nil, filter{}
	s.r.searches.Put(s)
}

// pattern is one interpretation of the text.
type pattern struct {
	fold []byte
	// whole allows only whole names. ended also allows beginnings that end with
	// a word.
	whole, ended bool
	within       []division // if any, the place lies in one of them
	penalty      int32
	kind         Kind // instead of Exact and Prefix
	typed        bool // the fold is that of the typed text, so codes may match
}

func (s *search) run() error {
	if err := s.match(&pattern{fold: s.fold, whole: s.q.WholeNames, typed: true}); err != nil || s.coded {
		return err // codes are not spelled in other ways
	}
	if err := s.withInitials(); err != nil {
		return err
	}
	if _, hides := begunCost(s.fold); hides && len(s.found) == 0 && !s.q.WholeNames {
		s.others = true
		if err := s.match(&pattern{fold: s.fold}); err != nil {
			return err
		}
	}
	for _, step := range []func() error{
		s.otherSpelling, s.withContext, s.together, s.oneBlank, s.withoutSign, s.inAnyOrder, s.inLatin, s.withTypo, s.inLatinWithTypo,
	} {
		if len(s.found) > answerPlaces || s.spent() {
			return nil
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) spent() bool { return s.examined >= s.most || s.reads >= s.mostRead }

// read counts a seek. It returns false if none is left.
func (s *search) read() bool {
	if s.reads >= s.mostRead {
		return false
	}
	s.reads++
	return true
}

// inLatin tries the text in Latin letters, if no name is in the letters of the
// text.
func (s *search) inLatin() error {
	if len(s.found) > 0 || isASCII(s.fold) {
		return nil
	}
	s.latin = cutFold(foldAs(nil, s.q.Text, latinFold))
	if len(s.latin) == 0 {
		return nil
	}
	return s.match(&pattern{fold: s.latin, whole: s.q.WholeNames, penalty: latinPenalty})
}

func (s *search) withTypo() error { return s.forgive(s.fold, 0) }

// inLatinWithTypo searches for the transliterated text with wrong letters, because a name can be
// written in many ways in Latin letters.
func (s *search) inLatinWithTypo() error {
	if len(s.found) > 0 || len(s.latin) == 0 {
		return nil
	}
	return s.forgive(s.latin, latinPenalty)
}

// consider examines a row or candidate. Its fold begins with p.fold or, if exact is set, equals
// p.fold.
func (s *search) consider(p *pattern, c *candidate) bool {
	s.examined++
	r, ok := parseRecord(c.value)
	if !ok {
		return false
	}
	code := r.flags&flagCode != 0
	if code && !(c.exact && p.typed && s.typed(r.name)) {
		return true
	}
	if !s.filter.passes(&r) {
		s.drop(p, c)
		return true
	}
	if len(p.within) > 0 && !slices.ContainsFunc(p.within, func(d division) bool { return d.holds(&r) }) {
		return true
	}
	points, unknown := c.score()-p.penalty, false
	asked := s.q.Lang != "" && inLanguage(r.flags) && len(r.lang) >= len(s.q.Lang) && spoken(r.lang, s.q.Lang) != ""
	if asked {
		points += int32(levelPenalty[r.level()])
		if c.exact && !isMain(r.flags) && c.base >= notable {
			points += mainBonus - otherBonus
		}
	} else if !c.exact && !isMain(r.flags) {
		cost, hides := begunCost(p.fold)
		if hides && !s.others {
			return true
		}
		points, unknown = points-cost, true
	}
	points += s.accentPoints(&r)
	if s.q.Bias {
		points -= distancePenalty(quadkey.Distance(s.q.Lon, s.q.Lat, degrees(r.lon), degrees(r.lat)))
	}
	kind := p.kind
	switch {
	case kind != "":
	case c.exact:
		kind = Exact
		s.exact = true
	default:
		kind = Prefix
	}
	s.keep(c, points, unknown, len(p.fold), kind, &r)
	if code {
		s.coded = true
		s.found[s.byID[c.id]].code = true
	}
	return true
}

// drop records a name that a filter drops. If the name is the whole text, no misspelling is
// assumed.
func (s *search) drop(p *pattern, c *candidate) {
	if c.exact && p.kind == "" && len(p.within) == 0 {
		s.exact = true
		if s.q.Budget != nil {
			s.q.Budget.FilterDropped = true
		}
	}
}

// typed reports whether the text begins with the code, letter by letter without regard to case. The
// caller has already checked that the folded code equals the folded text, or the folded part of the
// text before a context such as ", Germany".
func (s *search) typed(code []byte) bool {
	text := strings.TrimSpace(s.q.Text)
	if len(s.initials) > 0 {
		text = string(s.fold) // "U.A.E." is a way to type the code
	}
	return len(text) >= len(code) && strings.EqualFold(text[:len(code)], string(code))
}

// accentPoints returns the points for accents that were typed.
func (s *search) accentPoints(r *record) (points int32) {
	if len(s.accent) > 0 && r.flags&flagPlain == 0 {
		s.text = accentFold(s.text[:0], string(r.name[r.start:]))
		if bytes.HasPrefix(s.text, s.accent) {
			points += accentBonus
		}
	}
	return points
}

// keep records a match if it is the place's best. A match without a wrong
// letter is better than any with one.
func (s *search) keep(c *candidate, points int32, unknown bool, n int, kind Kind, r *record) {
	i, ok := s.byID[c.id]
	if !ok {
		i = len(s.found)
		s.byID[c.id] = i
		s.found = append(s.found, foundPlace{})
	} else if old := &s.found[i]; kind == Typo && old.kind != Typo || points < old.points || points == old.points && !old.yields(c, unknown) {
		return
	}
	at := len(s.arena)
	s.arena = append(s.arena, c.value...)
	f := foundPlace{candidate: *c, points: points, unknown: unknown, n: n, kind: kind, lat: r.lat, lon: r.lon}
	f.value = s.arena[at:len(s.arena):len(s.arena)]
	f.code = s.found[i].code
	f.weight = uint64(c.base) + uint64(levelPenalty[r.level()]) - floor
	if r.flags&flagSuffix != 0 {
		f.weight += wordPenalty
	}
	f.weight += uint64(foldPenalty[r.variant()])
	s.found[i] = f
}

// yields reports whether, of two matches of a place with equal points, the kept one gives way to c.
// A name that people know comes first, as in finished answers.
func (f *foundPlace) yields(c *candidate, unknown bool) bool {
	if unknown != f.unknown {
		return f.unknown
	}
	return c.better(&f.candidate)
}

// hits appends the requested page.
func (s *search) hits(dst []Hit) []Hit {
	slices.SortFunc(s.found, func(a, b foundPlace) int {
		return cmp.Or(cmp.Compare(b.points, a.points), cmp.Compare(a.id, b.id))
	})
	for i := s.q.Offset; i < len(s.found) && len(dst) < s.q.Limit; i++ {
		f := &s.found[i]
		r, _ := parseRecord(f.value) // it was decoded before
		r.schema = s.r.schema
		m := r.match(f.n, f.kind)
		m.IsCode = f.code
		if m.Lang != "" && s.q.Lang != "" {
			m.Lang = cmp.Or(spoken(r.lang, s.q.Lang), m.Lang)
		}
		dst = append(dst, Hit{
			ID: f.id, Match: m, Lat: f.lat, Lon: f.lon,
			Country: string(bytes.TrimRight(r.country[:], "\x00")), Admin1: string(r.admin1),
			Importance: f.weight, Score: f.points,
		})
	}
	return dst
}
