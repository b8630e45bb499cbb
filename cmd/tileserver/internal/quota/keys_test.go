package quota

import (
	"slices"
	"strings"
	"testing"
)

func TestReadKeys(t *testing.T) {
	one, two := NewKey(), NewKey()
	if one == two || len(one) < 20 {
		t.Fatalf("keys %q and %q", one, two)
	}
	file := "# keys\n\n" + FormatLine("acme", HashOf(one), []Limit{{600, Minute}, {100000, Day}}) + "\n  " + FormatLine("b.c_d-e",
		HashOf(two), nil) + "\r\n"
	k, err := ReadKeys(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Find(one); got == nil || got.Name != "acme" || got.Limits != (Limits{600, 0, 100000}) {
		t.Errorf("found %+v", got)
	}
	if got := k.Find(two); got == nil || got.Name != "b.c_d-e" || !got.Limits.None() {
		t.Errorf("found %+v", got)
	}
	for _, wrong := range []string{"", one[1:], strings.ToUpper(one), one + "\x00", strings.Repeat("x", 1<<20)} {
		if got := k.Find(wrong); got != nil {
			t.Errorf("%.40q found %+v", wrong, got)
		}
	}
	if k, err := ReadKeys(strings.NewReader("# none yet\n")); err != nil || k.Len() != 0 {
		t.Errorf("an empty file: %v, %v", k, err)
	}
}

func TestReadKeysRefuses(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	for _, line := range []string{
		"acme", "acme:", ":" + hash, "acme:" + hash[2:], "acme:" + hash + "ab", "acme:" + strings.Repeat("zz", 32),
		"a b:" + hash, "ac\"me:" + hash, "ac\x1bme:" + hash, strings.Repeat("n", 65) + ":" + hash,
		"acme:" + hash + " 600", "acme:" + hash + " 600/1m 5/1m", "acme:" + hash + ":x",
		"acme:" + hash + "\nother:" + hash, strings.Repeat("x", 1<<17),
	} {
		k, err := ReadKeys(strings.NewReader("# first\n" + line))
		if err == nil {
			t.Errorf("%.60q was read as %v", line, k)
			continue
		}
		if strings.Contains(err.Error(), hash) {
			t.Errorf("%.60q: the error tells the line: %v", line, err)
		}
	}
}

// TestScopes tests that ReadKeys reads scopes in addition to limits, and that the right to write
// includes the right to read.
func TestScopes(t *testing.T) {
	key := NewKey()
	line := FormatLine("acme", HashOf(key), []Limit{{600, Minute}}, Scope{Write: true, Collection: "shops"}, Scope{Collection: "taxis"})
	if !strings.HasSuffix(line, " 600/1m write:shops read:taxis") {
		t.Fatal(line)
	}
	all := NewKey()
	keys, err := ReadKeys(strings.NewReader(line + "\nroot:" + strings.Repeat("0", 64) + " write:* 5/1m\n" + FormatLine("reader",
		HashOf(all), nil, Scope{Collection: AnyCollection})))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		key, scope string
		want       bool
	}{
		{key, "read:shops", true}, {key, "write:shops", true}, {key, "read:taxis", true}, {key, "write:taxis", false},
		{key, "read:shop", false}, {key, "write:*", false}, {key, "read:*", false},
		{all, "read:shops", true}, {all, "read:*", true}, {all, "write:shops", false},
	} {
		s, err := ParseScope(tt.scope)
		if err != nil {
			t.Fatal(err)
		}
		if got := keys.Find(tt.key).Has(s); got != tt.want {
			t.Errorf("%s: %v", tt.scope, got)
		}
	}
	for _, wrong := range []string{"", ":", "write", "write:", "Write:shops", "write:Shops", "admin:shops", "write:a.b",
		"write:a*", "write:**", "read:a,b", "write:shops:x"} {
		if s, err := ParseScope(wrong); err == nil {
			t.Errorf("%q was read as %v", wrong, s)
		}
		if _, err := ReadKeys(strings.NewReader(line + " " + wrong + "\n")); err == nil && wrong != "" {
			t.Errorf("a line with %q was read", wrong)
		}
	}
}

func FuzzReadKeys(f *testing.F) {
	f.Add(FormatLine("acme", HashOf("x"), []Limit{{600, Minute}}, Scope{Write: true, Collection: "*"}) + "\n# more\n")
	f.Add("acme:zz 1/1m")
	f.Fuzz(func(t *testing.T, file string) {
		k, err := ReadKeys(strings.NewReader(file))
		if err != nil {
			return
		}
		for _, key := range k.byHash {
			if CheckName(key.Name) != nil {
				t.Errorf("name %q", key.Name)
			}
			var list []Limit
			for w, n := range key.Limits {
				if n < 0 {
					t.Errorf("limit %d", n)
				}
				if n > 0 {
					list = append(list, Limit{n, Window(w)})
				}
			}
			again, err := ReadKeys(strings.NewReader(FormatLine(key.Name, key.hash, list, key.Scopes...)))
			if err != nil || again.byHash[key.hash] == nil || again.byHash[key.hash].Limits != key.Limits ||
				!slices.Equal(again.byHash[key.hash].Scopes, key.Scopes) {
				t.Errorf("%+v is written as what is not read: %v", key, err)
			}
		}
	})
}
