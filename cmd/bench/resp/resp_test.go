package resp

import (
	"bufio"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   []string
		failed bool
	}{
		{"+OK\r\n", []string{"OK"}, false},
		{":7\r\n", []string{"7"}, false},
		{"$4\r\na\r\nb\r\n", []string{"a\r\nb"}, false},
		{"$-1\r\n", nil, false},
		{"*2\r\n$1\r\na\r\n*2\r\n:1\r\n+b\r\n", []string{"a", "1", "b"}, false},
		{"-ERR no such command\r\n", nil, true},
		{"$4\r\nab", nil, true},
		{"", nil, true},
	} {
		got, err := Read(bufio.NewReader(strings.NewReader(c.answer)), nil)
		if !slices.Equal(got, c.want) || (err != nil) != c.failed {
			t.Errorf("%q is %q, %v; want %q", c.answer, got, err, c.want)
		}
	}
}

func TestAppendCommand(t *testing.T) {
	if got, want := string(AppendCommand(nil, "SET", "a b")), "*2\r\n$3\r\nSET\r\n$3\r\na b\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
