package members

import "testing"

// A member is found by its key, with any escapes in the key, and a change of it leaves its
// neighbours as they are. Input without such a member stays unchanged.
func TestMembers(t *testing.T) {
	const key = `,"name":`
	for _, c := range []struct {
		object, text, named string // named: with the name "N\"
	}{
		{`{"id":1,"name":"A"}`, `"A"`, `{"id":1,"name":"N\\"}`},
		{`{"id":1,"name":"","b":2}`, `""`, `{"id":1,"name":"N\\","b":2}`},
		{`{"id":1,"name":"a \"b\" \\","b":2}`, `"a \"b\" \\"`, `{"id":1,"name":"N\\","b":2}`},
		{`{"id":",\"name\":\"x\"","name":"A"}`, `"A"`, `{"id":",\"name\":\"x\"","name":"N\\"}`},
		{`{"id":1}`, ``, `{"id":1}`},
		{`{"id":1,"name":7}`, ``, `{"id":1,"name":7}`},
		{`{"id":1,"name":`, ``, `{"id":1,"name":`},
		{`{"id":1,"name":"cut \"`, ``, `{"id":1,"name":"cut \"`},
	} {
		if got := string(Text([]byte(c.object), key)); got != c.text {
			t.Errorf("%s: %q, want %q", c.object, got, c.text)
		}
		if got := string(AppendNamed([]byte("before"), []byte(c.object), key, `N\`)); got != "before"+c.named {
			t.Errorf("%s renamed: %s, want %s", c.object, got, c.named)
		}
		if got := string(AppendNamed(nil, []byte(c.object), key, "")); got != c.object {
			t.Errorf("%s without a name: %s", c.object, got)
		}
	}
}

func TestUnquote(t *testing.T) {
	for quoted, want := range map[string]string{`"A"`: "A", `""`: "", `"a \"b\" \u00e9"`: `a "b" é`} {
		if got, ok := Unquote([]byte(quoted)); got != want || !ok {
			t.Errorf("%s: %q, %v", quoted, got, ok)
		}
	}
	for _, damaged := range []string{"", `"`, `"\x"`} {
		if got, ok := Unquote([]byte(damaged)); ok {
			t.Errorf("%s: %q", damaged, got)
		}
	}
}
