package configfile

import (
	"strings"
	"testing"
)

// TestLists tests which entry of a list of settings is used.
func TestLists(t *testing.T) {
	f, err := Parse("f", []byte("a:\n- {name: x, n: 1}\n- {name: y, n: 2}\nb: {n: 3}\nc:\n- n: 4\n"))
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]int{"a": 2, "b": 1, "c": 1, "d": 0} {
		if got := f.Entries(command); got != want {
			t.Errorf("%s: %d entries", command, got)
		}
	}
	n := func() string {
		return strings.Join(append(append(f.Argument("a", "n"), f.Argument("b", "n")...), f.Argument("c", "n")...), " ")
	}
	if got := n(); got != "3 4" { // none of several
		t.Errorf("before: %s", got)
	}
	for _, tt := range []struct{ file, value, needed, n, err string }{
		{"a:\n- {name: x, n: 1}\n- {name: y, n: 2}\n", "x", "yes", "1", ""},
		{"a:\n- {name: x, n: 1}\n- {name: y, n: 2}\n", "y", "yes", "2", ""},
		{"a:\n- {name: x, n: y}\n- {name: y, n: x}\n", "x", "yes", "y", ""}, // the value of another setting
		{"a:\n- {name: x, n: 1}\n- {name: y, n: 2}\n", "z", "", "", "f:1: " +
			"a has no entry for z, but for x, y: correct the name, or add the entry \"- name: z\""},
		{"a:\n- {n: 1}\n", "z", "", "1", "but for none with a name"},
		{"a:\n- {name: x, n: 1}\n- {name: y, n: 2}\n", "", "yes", "", "a has 2 entries: name the name of one (x, y), or run"},
		{"a:\n- {name: x, n: 1}\n- {name: y, n: 2}\n", "", "", "", ""},
		{"a:\n- {name: x, n: 1}\n- {n: 2}\n", "", "yes", "2", ""},
		{"a:\n- {name: x, n: 1}\n", "", "yes", "1", ""},
		{"a:\n- {name: x, n: 1}\n- {name: x, n: 2}\n", "x", "", "2", "2 entries of a have x: give each a name of its own"},
		{"a:\n- {n: 1}\n- {n: 2}\n", "", "", "2", "2 entries of a have no name: give each"},
		{"a: {name: x, n: 1}\n", "z", "yes", "1", ""},
		{"b: {n: 1}\n", "z", "yes", "", ""},
	} {
		f, err := Parse("f", []byte(tt.file))
		if err != nil {
			t.Fatal(err)
		}
		err = f.ChooseBy("a", "name", tt.value, tt.needed != "")
		if n := strings.Join(f.Argument("a", "n"), " "); n != tt.n || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q of %q: %s, %v", tt.value, tt.file, n, err)
		}
		if f.Omit("a", "n"); f.Argument("a", "n") != nil {
			t.Errorf("%q of %q: not omitted", tt.value, tt.file)
		}
	}
	for text, want := range map[string]string{
		"a:\n- x: {y: 1}": "for several of a write a list", "a:\n- x: 1\n- y": "must be a list of single values",
		"b: 1\na:\n- &x {y: 1}": "f:3: " + ErrFile.Error() + ": anchors", "a:\n- {y: 1}\n- <<: *x": "f:3: " + ErrFile.Error() + ": anchors",
		"a: *x": "put a value that begins with & or * in quotes",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
