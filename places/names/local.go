package names

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/internal/extsort"
	"quadrille/internal/lang"
	"quadrille/places/internal/bulkload"
	"quadrille/places/search"
)

// maxLocal bounds a type, an id and a language in bytes. A region with a longer one
// has no names by language.
const maxLocal = 255

// appendLocalKey appends the row of a feature's name in a language. Types, ids and
// languages have no zero byte.
func appendLocalKey(dst []byte, typ, id, lang string) []byte {
	return append(append(append(append(append(dst, typ...), 0), keptID(typ, id)...), 0), lang...)
}

// sortLocal passes one name for each language of a region to a sorter: preferably an official name,
// then one of no special kind, then a short one.
func (f *Feature) sortLocal(s *extsort.ByteSorter) error {
	if f.Kind != Region || len(f.Type) > maxLocal || len(f.ID) > maxLocal || strings.ContainsRune(f.Type+f.ID, 0) {
		return nil
	}
	var list []search.Name
	for _, n := range f.Names {
		if isLanguage(n.Lang) && !n.Historic && !n.Colloquial && len(n.Text) <= extsort.MaxRecordBytes {
			list = append(list, n)
		}
	}
	rank := func(n search.Name) int {
		switch {
		case n.Preferred:
			return 0
		case !n.Short:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b search.Name) int {
		return cmp.Or(strings.Compare(a.Lang, b.Lang), cmp.Compare(rank(a), rank(b)))
	})
	list = slices.CompactFunc(list, func(a, b search.Name) bool { return a.Lang == b.Lang })
	for _, n := range list {
		if err := s.Add(appendLocalKey(nil, f.Type, f.ID, n.Lang), []byte(n.Text)); err != nil {
			return err
		}
	}
	return nil
}

// notLanguages are values of Lang that are not languages.
var notLanguages = []string{search.CodeLang, "iata", "icao", "faac", "unlc", "link", "post", "wkdt", "tcid", "phon", "piny", "abbr"}

// isLanguage reports whether a code is in lower case and has the form of a language.
func isLanguage(code string) bool {
	for i := range len(code) {
		if c := code[i]; (c < 'a' || c > 'z') && (i == 0 || c != '-' && c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return len(code) >= 2 && len(code) <= maxLocal && !slices.Contains(notLanguages, code)
}

// writeLocal writes the names by language. It takes the first of several names with one key.
func writeLocal(ctx context.Context, store cellstore.Store, s *extsort.ByteSorter, timestamp int64) error {
	return bulkload.Fill(ctx, store, tableLocal, func(l *bulkload.Load) error {
		var last []byte
		return s.Each(func(key, name []byte) error {
			if bytes.Equal(key, last) {
				return nil
			}
			last = append(last[:0], key...)
			return l.Add(key, cellstore.Cell{Family: famLocal, Timestamp: timestamp, Value: name})
		})
	})
}

// NameIn returns the name of a region in a language, such as "de" or "zh-TW", in either case. If
// there is none, it returns the name in the next language of lang.FallbackChain ("zh-Hant", "zh"). It
// reports whether it has found a name.
func (r *Reader) NameIn(ctx context.Context, typ, id, code string) (name string, ok bool, err error) {
	var row cellstore.Row
	last := ""
	for _, l := range lang.FallbackChain(code) {
		if l = strings.ToLower(l); l == last || !isLanguage(l) {
			continue
		}
		if ok, err = r.local.Get(ctx, appendLocalKey(nil, typ, id, l), nil, &row); err != nil {
			return "", false, fmt.Errorf("names: %w", err)
		}
		if ok {
			return string(row.Cells[0].Value), true, nil
		}
		last = l
	}
	for _, other := range r.more {
		if name, ok, err = other.NameIn(ctx, typ, id, code); err != nil || ok {
			return name, ok, err
		}
	}
	return "", false, nil
}

// NamesOf calls fn with the names of a region by language, in the order of the languages.
func (r *Reader) NamesOf(ctx context.Context, typ, id string, fn func(lang, name string)) error {
	first := appendLocalKey(nil, typ, id, "")
	past := append(bytes.Clone(first[:len(first)-1]), 1) // a key ends with a zero byte and the language
	for row, err := range r.local.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{{From: first, To: past}}}) {
		if err != nil {
			return fmt.Errorf("names: %w", err)
		}
		fn(string(row.Key[len(first):]), string(row.Cells[0].Value))
	}
	for _, other := range r.more {
		if err := other.NamesOf(ctx, typ, id, fn); err != nil {
			return err
		}
	}
	return nil
}
