package search

import "math/bits"

// Scores are whole numbers, so that they are equal on every machine. Their unit
// is a 256th of a doubling: a place scores 256 more for each doubling of the
// people that count for it. Matches are distinguished in the same unit.
const (
	octave = 256
	// exactBonus is for a whole name: "york" means York rather than New York.
	exactBonus = 5 * octave
	// mainBonus is for a whole main name of a place that people may know, and for a code: "spa"
	// means the town rather than Spain. notable is the least base score of such a place.
	mainBonus = 9 * octave
	// CodeBonus is what a code scores more than the beginning of a name does.
	CodeBonus = exactBonus + mainBonus
	// otherBonus is for other whole names of such a place: "cologne" is Köln.
	otherBonus = 4 * octave
	notable    = floor + 13*octave
	// wordPenalty is for a match that begins inside the name. insidePenalty is the
	// cost of such a match beyond what the base already contains.
	wordPenalty   = 3 * octave
	insidePenalty = 3 * octave
	// otherPenalty is for the beginning of a name in Latin letters that is not a
	// main one. Texts shorter than otherLetters find such names only if they find
	// no others.
	otherPenalty = 4 * octave
	otherLetters = 4
	// variantPenalty is for names that match by their second fold, and for texts that
	// are spelled in that way.
	variantPenalty = octave / 2
	// latinPenalty is the penalty for transliterated names and for transliterated texts.
	latinPenalty = 2 * octave
	// contextPenalty is the penalty for words that were interpreted as a country or division.
	contextPenalty = octave
	// typoPenalty is for each wrong letter. It exceeds every possible gain, so a
	// name keeps its place while it is typed, even if a name with one letter
	// less is much more important.
	typoPenalty = 96 * octave
	// accentBonus is the bonus for accents that are both in the text and in the name.
	accentBonus = octave
	// floor is the least weight of a place, so that penalties leave a base ≥ 0.
	floor = 8 * octave
)

// These are the levels of a name, best first.
const (
	levelOwn       = iota
	levelOther     // another form of the own name, displayed where it matched
	levelPreferred // official in a language
	levelAlternate
	levelShort // or colloquial
	levelHistoric
	// These are names in languages that are not spoken at the place, or are unknown.
	levelOtherPreferred
	levelOtherAlternate
	levels
)

// isMain reports whether a name with these flags is one that many people at the place know: the
// place's own name, or one in a language that is spoken there. Data written before schema 3 mark
// all names in languages as main.
func isMain(flags byte) bool { return flags&flagLevel <= levelAlternate }

// foldPenalty is deducted from the score of a place, depending on how its name was folded.
var foldPenalty = [folds]uint16{0, variantPenalty, variantPenalty, latinPenalty}

var levelPenalty = [levels]uint16{0, 0, octave / 2, octave * 3 / 2, octave * 2, octave * 5 / 2, octave / 2, octave * 3 / 2}

// rule converts the population of a place to the population that counts: base + population ×
// percent / 100.
type rule struct{ base, percent uint64 }

// Rules are by class and code, and by class for codes not listed. Areas count with a small part of
// their population, because users look for a city before the district or region around it.
// Countries and continents come before their cities.
var rules = map[string]rule{
	"P.PPLC":  {60_000, 250},
	"P.PPLG":  {30_000, 200},
	"P.PPLA":  {10_000, 150},
	"P.PPLA2": {1_000, 110},
	"P.PPLX":  {20, 40}, // part of a town that has its own entry
	"P.PPLL":  {20, 80},
	"P.PPLQ":  {10, 10},
	"P.PPLH":  {10, 10},
	"P.PPLW":  {10, 10},
	"P.PPLCH": {10, 10},
	"P.":      {50, 100},

	"A.PCLI": {2_000_000, 200},
	"A.PCLS": {500_000, 200},
	"A.PCLD": {300_000, 200},
	"A.PCLF": {300_000, 200},
	"A.PCL":  {300_000, 200},
	"A.PCLH": {100, 2},
	"A.TERR": {50_000, 100},
	"A.ADM1": {8_000, 5},
	"A.ADM2": {500, 3},
	"A.ADM3": {50, 2},
	"A.ADM4": {20, 2},
	"A.":     {10, 1},

	"L.CONT": {10_000_000, 0},
	"H.OCN":  {5_000_000, 0},
	"H.SEA":  {1_000_000, 0},
	"L.RGN":  {1_000, 1},
	"S.AIRP": {20_000, 0},
	"T.ISL":  {500, 50},
	"T.ISLS": {1_000, 50},
	"T.MTS":  {2_000, 0},
	"T.MT":   {200, 0},
	"T.VLC":  {500, 0},
	"H.LK":   {200, 0},
	"H.STM":  {50, 0},
}

var otherRule = rule{10, 1}

// mostPeople keeps products within 64 bits. It is far above real populations.
const mostPeople = 1 << 48

// weight returns the importance of a place to a search, in the unit of scores.
func weight(e *Entry) uint16 {
	var key [2 + maxCode]byte
	name := append(append(key[:0], e.Class, '.'), e.Code...)
	r, ok := rules[string(name)]
	if !ok {
		if r, ok = rules[string(name[:2])]; !ok {
			r = otherRule
		}
	}
	people := r.base + min(e.Population, mostPeople)*r.percent/100
	if e.Class != 'A' && e.Class != 'P' {
		people = max(people, e.Importance&(mostPeople-1))
	}
	return floor + log(people)
}

// log returns 256·log₂(n+1), linear between powers of two.
func log(n uint64) uint16 {
	n = min(n, mostPeople*8) + 1
	whole := bits.Len64(n) - 1
	return uint16(whole*octave) + uint16((n-1<<whole)*octave>>whole)
}
