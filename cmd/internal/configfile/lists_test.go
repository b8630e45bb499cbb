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
	for _, words := range [][]string{{"a", "y"}, {"--name=y"}} {
		f.Choose("a", 0)
		if f.ChooseBy(words, "name"); n() != "2 3 4" {
			t.Errorf("%q: %s", words, n())
		}
	}
	if f.ChooseBy([]string{"z"}, "name"); n() != "2 3 4" {
		t.Error(n())
	}
	for text, want := range map[string]string{
		"a:\n- x: {y: 1}": "for several of a write a list", "a:\n- x: 1\n- y": "must be a list of single values",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
