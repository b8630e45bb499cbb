package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/extsort"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/near"
)

// Sorting on disk gives the same bytes as sorting in memory, and leaves no files.
func TestSpillingChangesNothing(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	dir := t.TempDir()
	one := func(spill bool) (string, Meta) {
		store := buildtest.NewStore(t)
		b := must.Get(NewBuilder(t.Context(), store, Options{TempDir: dir, Lookup: longMembers, Timestamp: func() int64 { return 77 },
			ContextNames: []ContextName{{"Here", "AA", ""}, {"There", "AA", "X"}}})).In(t)
		defer b.Close()
		if spill {
			b.names = extsort.NewBytes(dir, 0)
			b.nodes = extsort.New(dir, 0)
			b.found.memory, b.opts.Memory = 1000, 0
		}
		next := synthetic(8_000)
		var e Entry
		for i := range 8_000 {
			next(i, &e)
			must.Do(t, b.Add(&e))
		}
		meta := must.Get(b.Finish()).In(t)
		if spilled := b.names.Spilled() > 0 && b.nodes.Spilled() > 0 && b.found.size > 0; spilled != spill {
			t.Fatalf("spilled: %v, want %v", spilled, spill)
		}
		must.Do(t, b.Close())
		if err := b.Close(); err != nil {
			t.Fatal("second Close:", err)
		}
		return buildtest.Checksum(t, store), meta
	}
	a, metaA := one(false)
	b, metaB := one(true)
	if a != b || metaA != metaB {
		t.Errorf("%s and %+v, spilled %s and %+v", a, metaA, b, metaB)
	}
	if metaA.Places != 8_000 || metaA.Names < 12_000 || metaA.Prefixes < 500 || metaA.Contexts != 4 || metaA.Skipped != 0 {
		t.Errorf("%+v", metaA) // here, there, aa and x
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestInvalidEntries(t *testing.T) {
	b := must.Get(NewBuilder(t.Context(), buildtest.NewStore(t), Options{TempDir: t.TempDir(), Lookup: membersOf})).In(t)
	defer b.Close()
	good := Entry{ID: 5, Name: "x"}
	must.Do(t, b.Add(&good))
	for _, change := range []func(*Entry){
		func(e *Entry) { e.ID = 0 }, func(e *Entry) { e.ID = 5 }, func(e *Entry) { e.ID = 4 },
		func(e *Entry) { e.Name = "" }, func(e *Entry) { e.Name = strings.Repeat("x", maxText+1) },
		func(e *Entry) { e.Class = 'p' }, func(e *Entry) { e.Code = "12345678901" }, func(e *Entry) { e.Country = "CHE" },
		func(e *Entry) { e.Admin1 = strings.Repeat("x", maxText+1) },
		func(e *Entry) { e.Lat = 90e7 + 1 }, func(e *Entry) { e.Lon = -180e7 - 1 },
	} {
		e := Entry{ID: 6, Name: "x"}
		change(&e)
		if err := b.Add(&e); !errors.Is(err, ErrInvalidEntry) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// Names over the limits are left out and counted. The place is found by its other names.
func TestSkippedNames(t *testing.T) {
	e := Entry{ID: 1, Name: "Good", Names: []Name{{Text: strings.Repeat("x", maxText+1)}, {Text: "b\xffd"}, {Text: "Also"}}}
	many := Entry{ID: 2, Name: "Many"}
	for i := range maxRows + 10 {
		many.Names = append(many.Names, Name{Text: fmt.Sprintf("n%d", i)})
	}
	long := Entry{ID: 3, Name: "Long" + strings.Repeat(" ä", 300)}
	store := buildtest.NewStore(t)
	meta := buildIn(t, store, []Entry{e, many, long}, nil)
	if meta.Skipped != 2+11 {
		t.Errorf("skipped %d", meta.Skipped)
	}
	r := must.Get(Open(t.Context(), store, meta)).In(t)
	for text, want := range map[string]string{"also": "[1]", "n77": "[2]", "long" + strings.Repeat(" a", 98): "[3]", "a a a": "[3]"} {
		if got := fmt.Sprint(ids(find(t, r, Query{Text: text}))); got != want {
			t.Errorf("%q found %v, want %v", text, got, want)
		}
	}
}

func TestBuildFailures(t *testing.T) {
	if _, err := NewBuilder(t.Context(), buildtest.NewStore(t), Options{}); err == nil {
		t.Error("built without Lookup")
	}
	store := buildtest.NewStore(t)
	buildIn(t, store, few, nil)
	if _, err := NewBuilder(t.Context(), store, Options{Lookup: membersOf}); !errors.Is(err, cellstore.ErrTableExists) {
		t.Error(err)
	}
	if _, err := Open(t.Context(), store, Meta{SchemaVersion: SchemaVersion + 1}); !errors.Is(err, cellstore.ErrNewer) {
		t.Error(err)
	}
	if _, err := Open(t.Context(), buildtest.NewStore(t), Meta{}); !errors.Is(err, cellstore.ErrTableNotFound) {
		t.Error(err)
	}

	// finish builds places that share a beginning.
	finish := func(ctx context.Context, opts Options) error {
		opts.TempDir = t.TempDir()
		b, err := NewBuilder(t.Context(), buildtest.NewStore(t), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		b.ctx = ctx
		for i := range 20 {
			if err := b.Add(&Entry{ID: uint32(i + 1), Name: "Same"}); err != nil {
				return err
			}
		}
		_, err = b.Finish()
		return err
	}
	broken := errors.New("broken")
	if err := finish(t.Context(), Options{Lookup: func(uint32, []byte) ([]byte, error) { return nil, broken }}); !errors.Is(err, broken) {
		t.Error(err)
	}
	for _, c := range []ContextName{{"x", "", ""}, {"x", "CHE", ""}, {"x", "CH", strings.Repeat("1", maxText+1)}} {
		if err := finish(t.Context(), Options{Lookup: membersOf, ContextNames: []ContextName{c}}); !errors.Is(err, ErrInvalidEntry) {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := finish(ctx, Options{Lookup: membersOf}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r := build(t, few)
	if _, _, err := r.Search(ctx, Query{Text: "zurich"}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A value that is cut, or has a changed byte, gives an answer or an error that matches ErrCorrupt,
// never a panic. Each table notices some damage.
func TestDamagedTables(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	var entries []Entry
	for i := range 40 {
		entries = append(entries, Entry{
			ID:      uint32(i + 1),
			Name:    fmt.Sprintf("Bad Öl %d", i),
			Class:   'P',
			Code:    "PPL",
			Country: "CH",
			Admin1:  "BE",
		})
	}
	small := sizes{list: 12, rows: 11, scan: 3, reads: maxReads, typos: typoReads}
	contexts := []ContextName{{"Bern", "CH", "BE"}}
	queries := []Query{
		{Text: "bad"},
		{Text: "bad ol 1 bern"},
		{Text: "ol bad"},
		{Text: "badol 3x"},
		{Text: "b", Limit: 100},
		{Text: "bad", Countries: []string{"DE"}},
	}
	for _, name := range []string{tableNames, tablePrefix, tableContext} {
		store := buildtest.NewStore(t)
		r := must.Get(Open(t.Context(), store, buildSized(t, t.TempDir(), store, entries, contexts, small))).In(t)
		r.sizes = small
		table := must.Get(store.Table(t.Context(), name)).In(t)
		rows := 0
		var damaged int
		for row := range must.All(t, table.Scan(t.Context(), cellstore.Scan{})) {
			if rows++; name == tableNames && rows%17 != 1 || testing.Short() && name != tableContext && rows%5 != 1 {
				continue
			}
			for _, c := range row.Cells {
				for _, cut := range []int{0, 1, len(c.Value) / 2, len(c.Value) - 1} {
					put := func(value []byte) {
						m := cellstore.Mutation{Row: row.Key, Ops: []cellstore.Op{cellstore.PutAt(c.Family, c.Qualifier, c.Timestamp, value)}}
						must.Do(t, table.Apply(t.Context(), m))
					}
					changed := bytes.Clone(c.Value)
					changed[min(cut, len(changed)-1)] ^= 0xa5
					for _, value := range [][]byte{c.Value[:cut], changed} {
						put(value)
						for _, q := range queries {
							if _, _, err := r.Search(t.Context(), q, nil); errors.Is(err, cellstore.ErrCorrupt) {
								damaged++
							} else if err != nil {
								t.Fatalf("%s, row %q, %+v: %v", name, row.Key, q, err)
							}
						}
					}
					put(c.Value)
				}
			}
		}
		if damaged == 0 {
			t.Errorf("%s: no damage was noticed in %d rows", name, rows)
		}
	}
}

// Rows with content that no builder writes are refused.
func TestForeignRows(t *testing.T) {
	for _, key := range []string{"a", "a\x00", "a\x001234567", "\x00123456", "ab\x0112345", "a\xff\xfe\x00123456", "a\x00b\x00123456"} {
		store := buildtest.NewStore(t)
		r := must.Get(Open(t.Context(), store, buildIn(t, store, few, fewContexts))).In(t)
		table := must.Get(store.Table(t.Context(), tableNames)).In(t)
		m := cellstore.Mutation{Row: []byte(key), Ops: []cellstore.Op{cellstore.PutAt(famName, nil, 0, []byte("value"))}}
		must.Do(t, table.Apply(t.Context(), m))
		for _, text := range []string{"a", "aqqqqqqq", "b a"} {
			if _, _, err := r.Search(t.Context(), Query{Text: text}, nil); err != nil && !errors.Is(err, cellstore.ErrCorrupt) {
				t.Errorf("row %q, %q: %v", key, text, err)
			}
		}
	}
}

func FuzzRecord(f *testing.F) {
	var m rowMaker
	for i := range few {
		_ = m.make(&few[i], func(_, value []byte) error { f.Add(value, 3); return nil })
	}
	f.Fuzz(func(t *testing.T, value []byte, n int) {
		r, ok := parseRecord(value)
		if !ok {
			return
		}
		for _, kind := range []Kind{Exact, Typo} {
			match := r.match(min(max(n, 0), maxFold), kind)
			AppendMatch(nil, &match)
		}
		wholeFold(nil, nil, &r)
		d := decoder{value, true}
		d.listHead()
		for d.ok && len(d.b) > 0 {
			d.candidate()
		}
		_, _ = decodeNode(value)
	})
}

func FuzzSearch(f *testing.F) {
	r := build(f, few, fewContexts...)
	for _, s := range []string{"zürich", "frankfrut", "springfield us", "main frankfurt", "北", "\u0301", "st. l",
		"a b c d e f g h i j", "Мюнхен", "서욹ㅅ", "muenchenstien", "\u202e\u200d😀", "12345678", "<script>'; --"} {
		f.Add(s, byte(0))
		f.Add(s, byte(255))
	}
	f.Fuzz(func(t *testing.T, text string, flags byte) {
		q := Query{Text: text, NoTypos: flags&1 != 0, WholeNames: flags&2 != 0, Bias: flags&4 != 0, Lat: 10}
		if flags&8 != 0 {
			q.Countries = []string{"CH", "US"}
		}
		hits, total, err := r.Search(context.Background(), q, nil)
		if err != nil && !errors.Is(err, near.ErrQuery) || len(hits) > total {
			t.Fatal(total, err)
		}
		for i := range hits {
			AppendMatch(nil, &hits[i].Match)
		}
		if _, _, err := r.Complete(context.Background(), text, nil); err != nil && !errors.Is(err, near.ErrQuery) {
			t.Fatal(err)
		}
	})
}

// Concurrent readers get the same answers as a single one.
func TestConcurrentReads(t *testing.T) {
	r := build(t, few, fewContexts...)
	texts := []string{"zurich", "s", "springfield us", "frankfrut", "main frankfurt", "nowhere"}
	var want []string
	for _, text := range texts {
		want = append(want, answerOf(find(t, r, Query{Text: text})))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			var dst []Hit
			for i := range 100 {
				k := (g + i) % len(texts)
				var err error
				if dst, _, err = r.Search(t.Context(), Query{Text: texts[k]}, dst); err != nil || answerOf(dst) != want[k] {
					t.Errorf("%q: %s, %v, want %s", texts[k], answerOf(dst), err, want[k])
					return
				}
			}
		})
	}
	wg.Wait()
}
