package search

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"quadrille/cellstore"
	"quadrille/places/internal/bulkload"
)

// division is a country, or with an admin1 code one of its first-level
// divisions.
type division struct {
	country [2]byte
	admin1  string
}

func (d division) holds(r *record) bool {
	return d.country == r.country && (d.admin1 == "" || d.admin1 == string(r.admin1))
}

// abbreviatedCountries are abbreviations of countries that are neither code nor
// name.
var abbreviatedCountries = map[string]string{"US": "usa", "GB": "uk", "AE": "uae"}

// writeContext writes place_context. The value of a name's fold lists the
// divisions with that name, each as
//
//	country (2) │ length, admin1
func (b *Builder) writeContext(ts int64) error {
	type named struct {
		fold string
		division
	}
	var all []named
	add := func(text string, d division) {
		if fold := cutFold(Fold(nil, text)); len(fold) > 0 {
			all = append(all, named{string(fold), d})
		}
	}
	for _, c := range b.opts.ContextNames {
		if len(c.Country) != 2 || len(c.Admin1) > maxText || len(c.Text) > maxText {
			return fmt.Errorf("%w: context %.100q has country %.10q: give two letters, and texts of up to %d bytes",
				ErrInvalidEntry, c.Text, c.Country, maxText)
		}
		d := division{country: [2]byte([]byte(c.Country))}
		add(c.Country, d)
		add(abbreviatedCountries[c.Country], d)
		if c.Admin1 != "" {
			d.admin1 = c.Admin1
			if !strings.ContainsFunc(c.Admin1, func(r rune) bool { return r < 'A' || r > 'Z' }) {
				add(c.Admin1, d)
			}
		}
		add(c.Text, d)
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.fold, b.fold), bytes.Compare(a.country[:], b.country[:]), cmp.Compare(a.admin1, b.admin1))
	})
	all = slices.Compact(all)

	load, err := bulkload.New(b.ctx, b.store, tableContext)
	if err != nil {
		return err
	}
	defer load.Abort()
	for len(all) > 0 {
		n := 0
		var value []byte
		for n < len(all) && all[n].fold == all[0].fold {
			value = append(value, all[n].country[:]...)
			value = appendText(value, all[n].admin1)
			n++
		}
		if err := load.Add([]byte(all[0].fold), cellstore.Cell{Family: famContext, Timestamp: ts, Value: value}); err != nil {
			return err
		}
		b.meta.Contexts++
		all = all[n:]
	}
	return load.Commit()
}

// These bound the lookup of context.
const (
	maxDivisions   = 64 // of one context
	contextBegun   = 3  // least characters of a name that is still being typed
	contextsOfType = 16 // most names that it may begin
)

// divisions appends the divisions that a text names. It tries the text as a
// full name, as a name with a surrounding division ("illinois us"), and, at the
// end of a text that is being typed, as the beginning of a name.
func (s *search) divisions(fold []byte) (dst []division, err error) {
	dst, err = s.named(fold, nil)
	if err != nil || len(dst) > 0 {
		return dst, err
	}
	for i, c := range fold {
		if c != ' ' {
			continue
		}
		inner, err := s.named(fold[:i], nil)
		if err != nil {
			return nil, err
		}
		if len(inner) == 0 {
			continue
		}
		outer, err := s.named(fold[i+1:], nil)
		if err != nil {
			return nil, err
		}
		for _, d := range inner {
			if slices.Contains(outer, division{country: d.country}) {
				dst = append(dst, d)
			}
		}
	}
	if len(dst) > 0 || utf8.RuneCount(fold) < contextBegun {
		return dst, nil
	}
	if !s.read() {
		return dst, nil
	}
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix(fold)}, Limit: contextsOfType}
	for found, err := range s.r.context.Scan(s.ctx, scan) {
		if err != nil {
			return nil, wrap(err)
		}
		if dst, err = appendDivisions(dst, found); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (s *search) named(fold []byte, dst []division) ([]division, error) {
	if !s.read() {
		return dst, nil
	}
	found, err := s.r.context.Get(s.ctx, fold, nil, &s.row)
	if err != nil {
		return nil, wrap(err)
	}
	if !found {
		return dst, nil
	}
	return appendDivisions(dst, &s.row)
}

func appendDivisions(dst []division, row *cellstore.Row) ([]division, error) {
	if len(row.Cells) != 1 {
		return nil, cellstore.CorruptRow(tableContext, row.Key, "has another layout")
	}
	d := decoder{row.Cells[0].Value, true}
	for len(d.b) > 0 && len(dst) < maxDivisions {
		if len(d.b) < 3 {
			return nil, cellstore.CorruptRow(tableContext, row.Key, "is cut short")
		}
		v := division{country: [2]byte(d.b)}
		d.b = d.b[2:]
		v.admin1 = string(d.text())
		if !d.ok {
			return nil, cellstore.CorruptRow(tableContext, row.Key, "is cut short")
		}
		dst = append(dst, v)
	}
	return dst, nil
}
