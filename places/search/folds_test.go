package search

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"

	"pgregory.net/rapid"
)

// listOf returns the list of sorted folds.
func listOf(t fataler, sorted []string) *foldList {
	t.Helper()
	w := foldWriter{limit: maxFoldBytes}
	for _, fold := range sorted {
		w.add([]byte(fold))
	}
	f := &foldList{text: w.text}
	if !f.index() {
		t.Fatal("the list is damaged")
	}
	return f
}

// TestNextFold compares foldList.next with a search of all folds one after the other.
func TestNextFold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aabbcé ")), 0, 7, -1)
		all := rapid.SliceOfN(text.Filter(func(s string) bool { return s != "" }), 0, 90).Draw(rt, "folds")
		slices.Sort(all)
		f := listOf(rt, all)
		var dst []byte
		for _, from := range append(rapid.SliceOfN(text, 1, 30).Draw(rt, "from"), all...) {
			var want string
			if i, _ := slices.BinarySearch(all, from); i < len(all) {
				want = all[i]
			}
			got, at := f.next(dst, []byte(from))
			if string(got) != want || (want == "") != (at == len(f.text)) {
				rt.Fatalf("after %q comes %q at %d, want %q", from, got, at, want)
			}
			dst = got
		}
	})
}

// TestNextFoldAllocatesNothing tests that a lookup in memory allocates nothing.
func TestNextFoldAllocatesNothing(t *testing.T) {
	f, dst := listOf(t, []string{"aachen", "aarau", "bern"}), make([]byte, 0, maxFold)
	from := []byte("aar")
	if n := testing.AllocsPerRun(100, func() { f.next(dst, from) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// manyEntries returns synthetic places, some with names in several scripts.
func manyEntries(n int) []Entry {
	entries := make([]Entry, n)
	next := synthetic(n)
	for i := range entries {
		next(i, &entries[i])
		entries[i].Names = slices.Clone(entries[i].Names)
		if i%7 == 0 {
			entries[i].Names = append(entries[i].Names, Name{Text: "Святой " + entries[i].Name, Lang: "ru"})
		}
	}
	return entries
}

// TestFoldsChangeNothing tests that searches with and without folds in memory find the same and take
// the same work from their budget, and that with folds they take fewer seeks.
func TestFoldsChangeNothing(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	entries := manyEntries(4_000)
	counting := &countingStore{Store: buildtest.NewStore(t)}
	meta := buildIn(t, counting, entries, fewContexts)
	in := must.Get(Open(t.Context(), counting, meta)).In(t)
	if in.folds == nil {
		t.Fatalf("no folds in memory: %+v", meta)
	}
	meta.FoldBytes = 0
	out := must.Get(Open(t.Context(), counting, meta)).In(t)
	var texts []string
	for i := range entries {
		if i%(len(entries)/40) != 0 {
			continue
		}
		name := entries[i].Name
		k := len(name) / 2
		texts = append(texts, name, name[:k], name[k:], name[:k]+name[k+1:], name[:k]+"q"+name[k:], name+" Germany", "qx"+name,
			name[:k]+" "+name[k:], strings.ReplaceAll(name, " ", ""), strings.ToUpper(name[1:])+" "+name[:k], "Свытой "+name)
	}
	var seeks [2]int64
	for i, text := range texts {
		q := Query{Text: text, Limit: 1 + i%20, WholeNames: i%5 == 0, NoTypos: i%6 == 0, Bias: i%4 == 0}
		if i%3 == 0 {
			q.Countries = []string{"AB", "CD"}
		}
		var answers [2]string
		for k, r := range []*Reader{in, out} {
			counting.seeks.Store(0)
			budget := Budget{Seeks: 700, Names: 9_000}
			q.Budget = &budget
			hits, total, err := r.Search(t.Context(), q, nil)
			answers[k] = fmt.Sprintf("%+v %d %v %+v", hits, total, err, budget)
			seeks[k] += counting.seeks.Load()
		}
		if answers[0] != answers[1] {
			t.Errorf("%+v\nwith folds    %s\nwithout folds %s", q, answers[0], answers[1])
		}
	}
	t.Logf("%d texts take %d seeks with folds, %d without", len(texts), seeks[0], seeks[1])
	if seeks[0]*5 > seeks[1] {
		t.Errorf("%d seeks with folds, %d without", seeks[0], seeks[1])
	}
}

// TestTooManyFolds tests that names over the bound are found in the store, and take no memory.
func TestTooManyFolds(t *testing.T) {
	limited := usual
	for _, limit := range []int{0, 5, 100} {
		limited.folds = limit
		store := buildtest.NewStore(t)
		meta := buildSized(t, t.TempDir(), store, few, fewContexts, limited)
		table := must.Get(store.Table(t.Context(), tableFolds)).In(t)
		for row, err := range table.Scan(t.Context(), cellstore.Scan{}) {
			t.Errorf("bound %d: row %q, %v", limit, row.Key, err)
		}
		r := must.Get(Open(t.Context(), store, meta)).In(t)
		if meta.FoldBytes != 0 || r.folds != nil {
			t.Errorf("bound %d: %d folds", limit, meta.FoldBytes)
		}
		if got := fmt.Sprint(ids(find(t, r, Query{Text: "zuriich"}))); got != "[1 2]" {
			t.Errorf("bound %d: found %s", limit, got)
		}
	}
	const want = "\x00\x02aa\x01\x01b\x02\x01c\x00\x01b\x00\x03ccc"
	for _, limit := range []int{len(want), len(want) - 1} {
		w := foldWriter{limit: limit}
		for _, fold := range []string{"aa", "ab", "ab", "abc", "b", "ccc"} {
			w.add([]byte(fold))
		}
		if w.excess != (limit < len(want)) || w.folds > 0 == w.excess || string(w.text) != want[:len(w.text)] {
			t.Errorf("bound %d: %q, %d folds", limit, w.text, w.folds)
		}
	}
}

// TestDamagedFolds tests that damage of place_folds is noticed when it is opened.
func TestDamagedFolds(t *testing.T) {
	store := buildtest.NewStore(t)
	meta := buildIn(t, store, few, fewContexts)
	table := must.Get(store.Table(t.Context(), tableFolds)).In(t)
	var row cellstore.Row
	if ok := must.Get(table.Next(t.Context(), nil, nil, nil, &row)).In(t); !ok {
		t.Fatal("there are no folds")
	}
	put := func(key string, value []byte) {
		m := cellstore.Mutation{Row: []byte(key), Ops: []cellstore.Op{cellstore.PutAt(famFolds, nil, 0, value)}}
		must.Do(t, table.Apply(t.Context(), m))
	}
	key, whole := string(row.Key), bytes.Clone(row.Cells[0].Value)
	list := foldList{text: whole}
	if !list.index() {
		t.Fatal("the list is damaged")
	}
	for at := range whole {
		for _, value := range [][]byte{whole[:at], append(bytes.Clone(whole[:at]), whole[at:]...)} {
			if len(value) == len(whole) {
				value[at] ^= 0x80
			}
			put(key, value)
			r, err := Open(t.Context(), store, meta)
			if err == nil { // a letter may be another one, if the order is right
				err = checkFolds(r.folds)
			}
			if err != nil && !errors.Is(err, cellstore.ErrCorrupt) || len(value) < len(whole) && err == nil {
				t.Fatalf("%d of %d bytes: %v", at, len(whole), err)
			}
		}
	}
	put(key, whole)
	meta.FoldBytes++
	if _, err := Open(t.Context(), store, meta); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Error(err)
	}
	meta.FoldBytes = maxFoldBytes + 1
	if _, err := Open(t.Context(), store, meta); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Error(err)
	}
	meta.FoldBytes = int64(len(whole))
	put("more", []byte("x"))
	if _, err := Open(t.Context(), store, meta); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Error(err)
	}
}

// checkFolds walks through a list by next.
func checkFolds(f *foldList) error {
	var from []byte
	for {
		fold, at := f.next(nil, append(bytes.Clone(from), 1))
		if at == len(f.text) {
			return nil
		}
		if bytes.Compare(fold, from) <= 0 {
			return fmt.Errorf("%q comes after %q", fold, from)
		}
		from = fold
	}
}
