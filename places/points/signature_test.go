package points

import (
	"strings"
	"testing"

	"quadrille/internal/testrace"
)

// checkMasks wants the bits of a point that matches in all masks of the filter.
func checkMasks(t interface {
	Helper()
	Fatalf(string, ...any)
}, f *Filter, s Schema, object []byte) {
	few := newSummary()
	signature := few.add(object)
	for _, mask := range f.masks(nil, few.few) {
		if signature&mask == 0 {
			t.Helper()
			t.Fatalf("%s: %+v of %+v: the signature lacks the mask %x", object, f, s, mask)
		}
	}
}

func TestMasks(t *testing.T) {
	for query, want := range map[string]int{
		"category=cafe": 1, "category=cafe,bar": 1, "closed=true": 1, "tags=a": 1, "category.ne=cafe": 0, "price=1": 0, "any=x": 0, "-closed=": 0,
		"category=cafe," + strings.Repeat("x", 41): 0, "category=" + strings.Repeat("x", 40): 1,
	} {
		key, values, _ := strings.Cut(query, "=")
		term, err := filterSchema.ParseTerm(key, values)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ParseFilter(filterSchema, []Term{term})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.masks(nil, newSummary().few); len(got) != want {
			t.Errorf("%s: %x", query, got)
		}
	}
	// Stored signatures depend on it.
	if got := bitOf(valueHash(`"category"`, []byte(`"cafe"`))); got != newSummary().add(compact(t, `{"category":"cafe"}`)) || got != 1<<0 {
		t.Errorf("%x", got)
	}
}

func TestSortKey(t *testing.T) {
	for typ, values := range map[Type][]string{
		Number:  {"-1e300", "-2", "-1.5", "-1e-300", "0", "1e-300", "0.5", "1", "10", "1e300"},
		Time:    {`"0000-01-01"`, `"1066-10-14"`, `"1969-12-31T23:59:59.9Z"`, `"1970-01-01"`, `"2026-01-01T01:00:00+02:00"`, `"2026-01-01"`, `"2026-01-01T00:00:00.0000001Z"`, `"9999-12-31T23:59:59.9999999Z"`},
		Boolean: {"false", "true"},
	} {
		last := uint64(0)
		for i, v := range values {
			key, ok := sortKey(compact(t, `{"x":0,"v":`+v+`}`), Field{"v", typ})
			if !ok || i > 0 && key <= last {
				t.Errorf("%s: %x, %v", v, key, ok)
			}
			last = key
		}
	}
	for _, f := range []Field{{"v", Text}, {"v", Number}, {"v", Time}, {"v", Boolean}, {"w", Number}} {
		if _, ok := sortKey([]byte(`{"v":"x"}`), f); ok {
			t.Errorf("%v", f)
		}
	}
}

func TestSigningAllocatesNothing(t *testing.T) {
	testrace.Plain(t, "it allocates")
	object, set := compact(t, cafe), make([]uint64, 0, 20)
	s := Schema{{"category", Text}, {"cuisine", Texts}, {"price", Number}, {"wheelchair", Boolean}}
	f, err := ParseFilter(s, []Term{{Name: "category", Values: []string{"cafe"}}})
	if err != nil {
		t.Fatal(err)
	}
	sum := newSummary()
	for name, run := range map[string]func(){
		"add":     func() { sum.add(object) },
		"masks":   func() { f.masks(set, sum.few) },
		"sortKey": func() { sortKey(object, Field{"price", Number}) },
	} {
		if n := testing.AllocsPerRun(100, run); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzSignature(f *testing.F) {
	f.Add([]byte(`{"a":"x\`), "a")
	f.Add([]byte(`{"a":,"b":[,,]}`), "b")
	f.Fuzz(func(_ *testing.T, object []byte, name string) {
		newSummary().add(object)
		for _, typ := range []Type{Text, Number, Boolean, Time, Texts, Any} {
			sortKey(object, Field{name, typ})
		}
	})
}

func BenchmarkSignature(b *testing.B) {
	object := compact(b, cafe)
	sum := newSummary()
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			sum.add(object)
		}
	})
	b.Run("sortKey", func(b *testing.B) {
		for b.Loop() {
			sortKey(object, Field{"price", Number})
		}
	})
}
