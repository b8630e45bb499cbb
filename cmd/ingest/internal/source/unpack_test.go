package source_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
)

// These are "hello\n" and 8 KiB of lines, compressed by the programs of those names. hugeXZ claims a
// dictionary of 4 GiB.
const (
	helloBzip2 = "QlpoOTFBWSZTWcHAgOIAAAFBAAAQAkSgADDNAMNGKZcXckU4UJDBwIDi"
	longBzip2  = "QlpoOTFBWSZTWaFCBNoAAf/JAAAQf+A+ACAAkCmAAmgVUBMBM6AIgCQAmAKACoA+AFgBcAYAGQBoAbAHAB+AOgDwu5IpwoSFChAm" +
		"0A=="
	helloXZ = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAFaGVsbG8KAAAApWCX8ZT2/eAAAR4GwS+kHR+2830BAAAAAARZWg=="
	longXZ  = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4B//ADhdABgMQpJqZ7wO0TMs5MxCKcBPDlbV/+KfgsTvDrgaYCNKI9GIK1pF99qctr8m" +
		"vmMDuuIpHnxzKAkAAKGsJBlOhecIAAFUgEAAAACTdrh+scRn+wIAAAAABFla"
	hugeXZ = "/Td6WFoAAATm1rRGAgAhASgAAADmoBGzAQAFaGVsbG8KAAAApWCX8ZT2/eAAAR4GwS+kHR+2830BAAAAAARZWg=="
)

const line = "0123456789abcde\n"

func decoded(t *testing.T, text string) string {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// zstandard packs a text by zstd.
func zstandard(t *testing.T, text []byte, options ...zstd.EOption) string {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, options...)
	if err == nil {
		_, err = w.Write(text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// readAll opens and reads a file of this content.
func readAll(t *testing.T, content string) (text []byte, path string, err error) {
	path = testfile.WriteTemp(t, "file", content)
	f, err := source.Open(path)
	if err != nil {
		return nil, path, err
	}
	defer f.Close()
	text, err = io.ReadAll(f)
	return text, path, err
}

func TestUnpack(t *testing.T) {
	long := bytes.Repeat([]byte(line), 512)
	for name, packed := range map[string][2]string{
		"gzip":  {testfile.Gzip("hello\n"), testfile.Gzip(long)},
		"zstd":  {zstandard(t, []byte("hello\n")), zstandard(t, long)},
		"bzip2": {decoded(t, helloBzip2), decoded(t, longBzip2)},
		"xz":    {decoded(t, helloXZ), decoded(t, longXZ)},
	} {
		t.Run(name, func(t *testing.T) {
			hello, all := packed[0], packed[1]
			for of, want := range map[string]string{hello: "hello\n", all: string(long), all + hello: string(long) + "hello\n"} {
				if got, _, err := readAll(t, of); err != nil || string(got) != want {
					t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
				}
			}
			// Every truncation is an error that names the file, and so is every change that matters.
			for end := 10; end < len(all); end++ {
				got, path, err := readAll(t, all[:end])
				if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), "; ") {
					t.Errorf("the first %d of %d bytes: %d bytes of text, %v", end, len(all), len(got), err)
				}
				flipped := []byte(all)
				flipped[end] ^= 0x10
				if got, path, err := readAll(t, string(flipped)); err == nil && !bytes.Equal(got, long) ||
					err != nil && !strings.HasPrefix(err.Error(), path+": ") {
					t.Errorf("byte %d is another: %d bytes of text, %v", end, len(got), err)
				}
			}
		})
	}
}

// GDAL unpacks gzip alone.
func TestNameForGDAL(t *testing.T) {
	for content, prefix := range map[string]string{testfile.Gzip("x"): "/vsigzip/", zstandard(t, []byte("x")): ""} {
		path := testfile.WriteTemp(t, "file", content)
		f, err := source.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if want := prefix + path; prefix == "" && f.GDAL != "" || prefix != "" && f.GDAL != want {
			t.Errorf("%q", f.GDAL)
		}
	}
}

func TestUnpackingIsBounded(t *testing.T) {
	zeros := make([]byte, 24<<20)
	if _, _, err := readAll(t, zstandard(t, zeros)); !errors.Is(err, source.ErrTooLarge) {
		t.Error(err)
	}
	window := zstandard(t, slices.Concat(zeros, []byte("end")), zstd.WithWindowSize(256<<20), zstd.WithSingleSegment(false))
	for name, content := range map[string]string{"zstd": window, "xz": decoded(t, hugeXZ)} {
		got, path, err := readAll(t, content)
		if want := fmt.Sprintf("%s: unpacking this %s file takes more than 128 MiB", path, name); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// Files that other programs compressed are read as their originals.
func TestForeignCompression(t *testing.T) {
	const dir = "../../../../../shared/data/files/tables/"
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	for _, ending := range []string{"gz", "zst", "bz2", "xz"} {
		got, _, err := readAll(t, string(testfile.Read(t, filepath.Join(dir, "shops.csv."+ending))))
		if err != nil || bytes.Count(got, []byte("\n")) != 41 || !bytes.HasPrefix(got, []byte("id,")) {
			t.Errorf("%s: %d bytes, %v", ending, len(got), err)
		}
	}
}
