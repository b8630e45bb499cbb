package feature

import (
	"testing"

	"quadrille/internal/testrace"
)

func TestSortKey(t *testing.T) {
	for kind, values := range map[Kind][]string{
		Number: {"-1e300", "-2", "-1.5", "-1e-300", "0", "1e-300", "0.5", "1", "10", "1e300"},
		Time: {
			`"0000-01-01"`,
			`"1066-10-14"`,
			`"1969-12-31T23:59:59.9Z"`,
			`"1970-01-01"`,
			`"2026-01-01T01:00:00+02:00"`,
			`"2026-01-01"`,
			`"2026-01-01T00:00:00.0000001Z"`,
			`"9999-12-31T23:59:59.9999999Z"`,
		},
		Boolean: {"false", "true"},
	} {
		last := uint64(0)
		for i, v := range values {
			key, ok := SortKey(compact(t, `{"x":0,"v":`+v+`}`), Field{Name: "v", Kind: kind})
			if !ok || i > 0 && key <= last {
				t.Errorf("%s: %x, %v", v, key, ok)
			}
			last = key
		}
	}
	for _, f := range []Field{{Name: "v", Kind: Text}, {Name: "v", Kind: Number},
		{Name: "v", Kind: Time}, {Name: "v", Kind: Boolean}, {Name: "w", Kind: Number}} {
		if _, ok := SortKey([]byte(`{"v":"x"}`), f); ok {
			t.Errorf("%v", f)
		}
	}
}

func TestSortKeyAllocatesNothing(t *testing.T) {
	testrace.SkipUnderRace(t, "it allocates")
	object := compact(t, cafe)
	if n := testing.AllocsPerRun(100, func() { SortKey(object, Field{Name: "price", Kind: Number}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSortKey(f *testing.F) {
	f.Add([]byte(`{"a":"x\`), "a")
	f.Add([]byte(`{"a":,"b":[,,]}`), "b")
	f.Fuzz(func(_ *testing.T, object []byte, name string) {
		for _, kind := range []Kind{Text, Number, Boolean, Time, Texts, Any} {
			SortKey(object, Field{Name: name, Kind: kind})
		}
	})
}
