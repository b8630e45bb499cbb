package bom_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/internal/bom"
)

func TestMark(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"a":                   "a",
		"\ufeff":              "",
		"\ufeffa: b\n":        "a: b\n",
		"\ufeff\ufeffa":       "\ufeffa",
		"a\ufeff":             "a\ufeff",
		"\xef\xbb":            "\xef\xbb",
		"\xef\xbba: b, and c": "\xef\xbba: b, and c",
	} {
		name := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := bom.ReadFile(name)
		if err != nil || string(file) != want {
			t.Errorf("file %q: %q, %v", text, file, err)
		}
		read, err := io.ReadAll(bom.Skip(bufio.NewReader(strings.NewReader(text))))
		if err != nil || string(read) != want {
			t.Errorf("reader %q: %q, %v", text, read, err)
		}
	}
	if _, err := bom.ReadFile(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
}
