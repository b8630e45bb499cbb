// Package testfile writes, packs and reads files for tests. An error fails the test.
package testfile

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// failer is a test, or a case of a test by rapid.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// Write writes a file, and the directories it lies in, and returns its path.
func Write[T string | []byte](t failer, path string, content T) string {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// WriteTemp writes a file with a given name into a new temporary directory, and returns its path.
func WriteTemp[T string | []byte](t testing.TB, name string, content T) string {
	t.Helper()
	return Write(t, filepath.Join(t.TempDir(), name), content)
}

// Read returns the content of a file.
func Read(t failer, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Gzip packs a text as one gzip member.
func Gzip[T string | []byte](content T) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(content))
	must(err)
	must(w.Close())
	return b.String()
}

// ZipDate is the date of the members in Zip.
var ZipDate = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// Zip returns a zip archive of members with these names and texts.
func Zip(members ...[2]string) string { return ZipOf(ZipDate, members...) }

// ZipOf does the same as Zip, with a given date of the members.
func ZipOf(date time.Time, members ...[2]string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m[0], Method: zip.Deflate, Modified: date})
		must(err)
		_, err = w.Write([]byte(m[1]))
		must(err)
	}
	must(z.Close())
	return b.String()
}

// must panics if writing to memory fails.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
