package endpoint

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzQuery compares the check with one that parses the query with the standard library.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"lat=1&lon=2", "lat=1&lat=2", "limt=1", "_=1&_=2", "key=1&key", "a;b", "%6cat=1", "lat=%zz",
		"l+at=1", "=", "&&", "lat", "%ff=1", "a=b=c", "\x00", "lat=1&&limit=a=b", "_a&_b&_c&_d&_e&_f&_g&_h&_i&_j&_k&_l&_m&_n&_o&_p&lon=3"} {
		f.Add(seed)
	}
	q := ParamNames{Names: []string{"lat", "lon", "limit", "l at"}}
	f.Fuzz(func(t *testing.T, raw string) {
		err := q.Check(raw)
		values, perr := url.ParseQuery(raw)
		bad := perr != nil
		for name, v := range values {
			known := slices.Contains(q.Names, name)
			bad = bad || !known && !strings.HasPrefix(name, "_") && name != KeyParameter || known && len(v) > 1
		}
		if bad != (err != nil) {
			t.Fatalf("%q: %v; the library: %v %v", raw, err, values, perr)
		}
		if p := ParamsOf(&Endpoint{}, raw); !bad {
			for _, name := range q.Names {
				got, given := p.value(name)
				if given != values.Has(name) || got != values.Get(name) {
					t.Fatalf("%q: %s is %q, %v; the library: %q", raw, name, got, given, values[name])
				}
			}
		}
		var refusal *Refusal
		if err != nil && (!errors.As(err, &refusal) || !errors.Is(err, ErrParameter) || len(refusal.Detail) > 600 ||
			!strings.HasSuffix(refusal.Detail, ".")) {
			t.Fatalf("%q: %v", raw, err)
		}
	})
}

// Checking a query allocates nothing.
func TestQueryAllocs(t *testing.T) {
	q := ParamNames{Names: []string{"lat", "lon", "limit"}}
	for _, raw := range []string{"", "lat=48.1&lon=%32&limit=10&_=5", "key=x"} {
		if n := testing.AllocsPerRun(100, func() {
			if err := q.Check(raw); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations", raw, n)
		}
	}
}

func BenchmarkQueryCheck(b *testing.B) {
	q := ParamNames{Names: []string{"lat", "lon", "radius", "lang", "class", "limit"}}
	for b.Loop() {
		if err := q.Check("lat=48.8566&lon=2.3522&limit=10"); err != nil {
			b.Fatal(err)
		}
	}
}
