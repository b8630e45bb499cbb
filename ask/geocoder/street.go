package geocoder

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"quadrille/places/search"
)

// Addresses without commas: the town is what stands behind the street, at the end.

// tailWords bounds the words of a town and of the regions around it at the end of an address.
const tailWords = 4

var (
	// streets are words for streets, folded. They may also end a word, as in "Bahnhofstrasse", if
	// they have four letters.
	streets = strings.Fields("street st str strasse straat avenue ave av road rd lane ln drive dr boulevard blvd square sq way court " +
		"highway hwy terrace crescent close rue chemin quai via viale piazza corso calle avenida plaza paseo carrer rua travessa praca " +
		"platz allee weg gasse damm ufer ring gata gatan gate vej vei laan plein ulica ul ulice utca cadde caddesi улица проспект")
	// leading are those that stand before their names, so that "via roma" is not in Rome.
	leading = strings.Fields("rue chemin quai via viale piazza corso calle plaza paseo carrer rua travessa praca ulica ul ulice улица")
)

// isStreet reports whether a folded word is for a street.
func isStreet(word string) bool {
	return slices.ContainsFunc(streets, func(s string) bool {
		return word == s || (len(s) > 3 || s == "str") && strings.HasSuffix(word, s) && len(word) > len(s)+2
	})
}

// addressed finds the town of an address without commas. It is what stands last, behind the street
// and the numbers: "10 downing street london", "Musterstr. 5 80331 München". The results are marked
// as PartMatch.
func (f *finding) addressed() error {
	if done, err := f.signed(); done || err != nil {
		return err
	}
	words := strings.Fields(f.q.Text)
	if strings.ContainsFunc(f.q.Text, isSeparator) || len(words) > mostParted {
		return nil
	}
	end, digits := len(words), 0
	for ; end > 0 && countDigits(words[end-1]) > 0; end-- {
		digits += countDigits(words[end-1])
	}
	postcode := digits >= postcodeDigits || end < len(words)-1
	if end < len(words) && !postcode {
		return nil // the number of the house is last, so the text names no town
	}
	first, street := 1, false // the town begins behind one word at least
	for i, w := range words[:end] {
		switch n := countDigits(w); {
		case n > 0 && i > 0:
			first, postcode = i+1, postcode || n >= postcodeDigits
		case n > 0:
			first = i + 2
		case isStreet(string(search.Fold(nil, w))):
			street = true
		}
	}
	numbered := first > 2 || first == 2 && countDigits(words[0]) == 0
	if end == 0 || !street && !postcode && !numbered && !(first == 2 && isCapitalCode(words[end-1])) {
		return nil
	}
	keep := large
	switch {
	case postcode || isCapitalCode(words[end-1]):
		keep = func(*Result) bool { return true }
	case !street:
		keep = f.numbered
	}
	for at := max(first, end-tailWords); at < end; at++ {
		if at == end-1 && utf8.RuneCountInString(words[at]) < certainLetters {
			break
		}
		before, begin := string(search.Fold(nil, words[at-1])), string(search.Fold(nil, words[at]))
		if joins, ok := genericWords[before]; ok && joins == "" || slices.Contains(leading, before) || begin != "st" && isStreet(begin) ||
			!slices.ContainsFunc(words[at:end], tells) {
			continue
		}
		if done, err := f.take(strings.Join(words[at:end], " "), keep); done || err != nil {
			return err
		}
	}
	return nil
}

// isCapitalCode reports whether a word may be the code of a state or country.
func isCapitalCode(word string) bool {
	return len(word) == 2 && word == strings.ToUpper(word) && word != strings.ToLower(word)
}

// signs end the names of divisions and cities in scripts without blanks. citySigns end those of
// cities.
const (
	signs     = "都道府县縣県市區区郡省州시도군구"
	citySigns = "市시"
)

// signed finds the city of an address in a script without blanks, by the signs for divisions:
// "東京都渋谷区". The city counts if it is among the divisions, else the first one, else the last one.
func (f *finding) signed() (done bool, err error) {
	text := strings.Map(func(r rune) rune {
		if r == '-' || unicode.IsDigit(r) {
			return -1
		}
		return r
	}, f.q.Text)
	if len(unspacedLetters(text)) == 0 {
		return false, nil
	}
	var units, cities []string
	unit := ""
	for i, r := range text {
		unit += string(r)
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		if !strings.ContainsRune(signs, r) || utf8.RuneCountInString(unit) <= leastPart || strings.ContainsRune(signs, next) {
			continue
		}
		if strings.ContainsRune(citySigns, r) {
			cities = append(cities, strings.TrimSpace(unit))
		}
		units, unit = append(units, strings.TrimSpace(unit)), ""
	}
	if len(units) == 0 || units[0] == text {
		return false, nil
	}
	for _, u := range append(cities, units[0], units[len(units)-1]) {
		if done, err = f.take(u, large); done || err != nil {
			return done, err
		}
	}
	return false, nil
}
