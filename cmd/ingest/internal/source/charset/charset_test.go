package charset_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source/charset"
)

func TestFind(t *testing.T) {
	for name, sample := range map[string]string{
		"utf-8":        "",
		"UTF8":         "",
		"65001":        "",
		"windows-1252": "\xe4",
		"cp1252":       "\xe4",
		"latin1":       "\xe4",
		"ISO-8859-1":   "\xe4",
		"ANSI 1252":    "\xe4",
		"850":          "\x84", "IBM850": "\x84", "iso-8859-2": "\xe4", "88592": "\xe4", "macintosh": "\x8a", "utf-16le": "\xe4\x00",
		"UTF-16": "\xfe\xff\x00\xe4", "utf16": "\xff\xfe\xe4\x00", "utf_16": "\xe4\x00",
	} {
		e, known := charset.Find(name)
		if !known || (e == nil) != (sample == "") {
			t.Errorf("%s: %v %v", name, e, known)
			continue
		}
		if e != nil {
			if got, err := e.NewDecoder().String(sample); err != nil || got != "ä" {
				t.Errorf("%s: %q %v", name, got, err)
			}
		}
	}
	for _, name := range []string{"", "x", "9999", "windows", "utf-9"} {
		if e, known := charset.Find(name); known {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// guess reads a text through NewGuessing, in pieces of any size.
func guess(t interface{ Fatal(...any) }, text string, in io.Reader, size int) (got, note string) {
	r := charset.NewGuessing(in, "f", func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
	all, err := io.ReadAll(bufio.NewReaderSize(r, size))
	if err != nil {
		t.Fatal(err)
	}
	return string(all), r.Warning()
}

func TestGuess(t *testing.T) {
	latin := func(text string) string {
		coded, err := charmap.Windows1252.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return coded
	}
	coded := func(text string) string {
		coded, err := charmap.Windows1251.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return coded
	}
	chinese, _ := simplifiedchinese.GBK.NewEncoder().String("苏州 杭州 南京市 上海市 北京市 广州市")
	plain := strings.Repeat("1,Plain,48,11\n", 1000)
	for name, tc := range map[string]struct{ text, want, note string }{
		"ASCII": {plain, plain, ""},
		"UTF-8": {plain + "Bäckerei €\n", plain + "Bäckerei €\n", ""},
		"late": {
			latin(plain + "Bäckerei Müller\n" + plain),
			plain + "Bäckerei Müller\n" + plain,
			`f: is not UTF-8 and is read as windows-1252, such as "Bäckerei Müller"; --encoding NAME of ingest boundaries, enrich and points says otherwise`,
		},
		"at the end":  {latin("Café"), "Café", `read as windows-1252`},
		"all umlauts": {latin("ÄÖÜäöüß\n“€”"), "ÄÖÜäöüß\n“€”", "read as windows-1252"},
		"one that looks so": {
			latin(strings.Repeat("Genève\n", 200) + "LE CAFÉ»\n"),
			strings.Repeat("Genève\n", 200) + "LE CAFÉ»\n",
			"read as windows-1252",
		},
		"one broken row": {
			"Zürich\nGen\xe8ve\n",
			"Zürich\nGen\xe8ve\n",
			"other text of it is UTF-8; --encoding NAME of ingest boundaries, enrich and points says what it is",
		},
		"cut off":            {"Zürich\nKöln\nGen\xc3", "Zürich\nKöln\nGen\xc3", "other text of it is UTF-8"},
		"a byte it has not":  {"Gen\xe8ve\x81\n", "Gen\xe8ve\x81\n", "has no byte 0x81"},
		"binary":             {"Gen\xe8ve\x00\n", "Gen\xe8ve\x00\n", "has no byte 0x00"},
		"Cyrillic":           {coded("Москва и Казань, Тула\n"), coded("Москва и Казань, Тула\n"), "foreign letters"},
		"Chinese":            {chinese, chinese, "f: has text that is not UTF-8"},
		"a replacement sign": {"a\uFFFDb", "a\uFFFDb", ""},
	} {
		got, note := guess(t, tc.text, strings.NewReader(tc.text), 64<<10)
		if got != tc.want || !strings.Contains(note, tc.note) || (note == "") != (tc.note == "") {
			t.Errorf("%s: %q, %q", name, got[max(0, len(got)-60):], note)
		}
		for _, in := range []io.Reader{iotest.OneByteReader(strings.NewReader(tc.text)), iotest.DataErrReader(strings.NewReader(tc.text))} {
			if got, _ := guess(t, tc.text, in, 16); got != tc.want {
				t.Errorf("%s, in pieces: %q", name, got[max(0, len(got)-60):])
			}
		}
	}
}

// UTF-8 text stays unchanged, and text that is read as windows-1252 becomes UTF-8.
func TestGuessAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.ByteRange(0x1e, 0xff), 0, 200).Draw(t, "text"))
		if rapid.Bool().Draw(t, "UTF-8") {
			text = rapid.String().Draw(t, "text")
		}
		got, note := guess(t, text, iotest.HalfReader(strings.NewReader(text)), 16)
		latin, _ := charmap.Windows1252.NewDecoder().String(text)
		switch {
		case utf8.ValidString(text):
			if got != text || note != "" {
				t.Fatalf("%q %q", got, note)
			}
		case strings.Contains(note, "and is read as windows-1252"):
			if got != latin && utf8.ValidString(latin) && len(text) < 16 {
				t.Fatalf("%q, want %q", got, latin)
			}
		case got != text || note == "":
			t.Fatalf("%q %q", got, note)
		}
	})
}

func TestNamed(t *testing.T) {
	e, _ := charset.Find("windows-1252")
	r := charset.New(strings.NewReader("B\xe4ck \x81\n"), "f", e)
	if got, err := io.ReadAll(r); err != nil || string(got) != "Bäck \uFFFD\n" ||
		!strings.Contains(r.Warning(), "1 characters are not in the encoding") {
		t.Errorf("%q %v %q", got, err, r.Warning())
	}
	r = charset.New(strings.NewReader("B\xe4ck \uFFFD\n"), "f", nil)
	if got, err := io.ReadAll(r); err != nil || string(got) != "B\xe4ck \uFFFD\n" || r.Warning() != "" {
		t.Errorf("%q %v %q", got, err, r.Warning())
	}
}

func TestGuessFailures(t *testing.T) {
	broken := errors.New("broken")
	for name, again := range map[string]func() (io.ReadCloser, error){
		"open": func() (io.ReadCloser, error) { return nil, broken },
		"read": func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(broken)), nil },
	} {
		if _, err := io.ReadAll(charset.NewGuessing(strings.NewReader("\xe4"), "f", again)); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("\xe4 ")), nil }
	got, err := io.ReadAll(charset.NewGuessing(io.MultiReader(strings.NewReader("\xe4 "), iotest.ErrReader(broken)), "f", again))
	if !errors.Is(err, broken) || !bytes.Equal(got, []byte("ä ")) {
		t.Errorf("%q %v", got, err)
	}
}
