package charset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/bom"
)

// Reader reads text as UTF-8. One goroutine uses it.
type Reader struct {
	name  string
	in    io.Reader
	again func() (io.ReadCloser, error) // nil once it is decided
	held  []byte                        // the first bytes of a character cut off by the end of a read
	note  string
	named bool  // the encoding is, and is not UTF-8
	lost  int64 // characters outside the encoding
}

// New returns a reader of text in an encoding, or in UTF-8 if it is nil.
func New(in io.Reader, name string, e encoding.Encoding) *Reader {
	if e != nil {
		in = transform.NewReader(in, e.NewDecoder())
	}
	return &Reader{name: name, in: in, named: e != nil}
}

// NewGuessing returns a reader of text that should be UTF-8. At the first byte that is not UTF-8, it
// opens the whole text by again, reads it, and decides whether it is windows-1252. If it is, the
// text is read as that. Otherwise bytes that are not UTF-8 stay unchanged. name is the subject of
// Warning.
func NewGuessing(in io.Reader, name string, again func() (io.ReadCloser, error)) *Reader {
	return &Reader{name: name, in: in, again: again}
}

// NewShown returns a reader of UTF-8 text, whose file shows its encoding by itself. That takes
// precedence over the encoding that is told for all files, by its name or "".
func NewShown(in io.Reader, name, shown, told string) *Reader {
	r := New(in, name, nil)
	e, _ := Find(told)
	switch {
	case told == "", e == nil && shown == "UTF-8", e != nil && strings.HasPrefix(fmt.Sprint(e), shown):
	case shown == "UTF-8":
		r.note = fmt.Sprintf("%s: begins with the byte order mark of UTF-8 and is read as that, not as the %s of --encoding", name, told)
	default:
		r.note = fmt.Sprintf("%s: begins like text in %s and is read as that, not as the %s of --encoding", name, shown, told)
	}
	return r
}

// Text returns a buffered reader of the text after a byte order mark.
func (r *Reader) Text() *bufio.Reader { return bom.Skip(bufio.NewReaderSize(r, 256<<10)) }

// Warning returns a sentence about the guesses and losses up to now, or "".
func (r *Reader) Warning() string {
	if r.lost > 0 {
		return fmt.Sprintf("warning: %s: %d characters are not in the encoding that --encoding names and are lost; check "+
			"that it is the right one", r.name, r.lost)
	}
	return r.note
}

// Read implements [io.Reader]. p must have room for a character, which a [bufio.Reader] ensures.
func (r *Reader) Read(p []byte) (int, error) {
	n := copy(p, r.held) // nothing once it is decided
	r.held = r.held[:0]
	m, err := r.in.Read(p[n:])
	n += m
	if r.again == nil {
		if r.named {
			r.lost += int64(bytes.Count(p[:n], []byte("\uFFFD")))
		}
		return n, err
	}
	whole := n
	if err == nil {
		whole = len(TrimPartialRune(p[:n]))
	}
	if utf8.Valid(p[:whole]) {
		r.held = append(r.held[:0], p[whole:n]...)
		return whole, err
	}
	again := r.again
	r.again = nil
	why, failed := survey(again)
	if failed != nil {
		return 0, failed
	}
	example := exampleOf(p[:n])
	if why != "" {
		r.note = fmt.Sprintf("%s: has text that is not UTF-8, such as %s, and is not read as windows-1252, since %s; "+
			"--encoding NAME of ingest boundaries, enrich and points says what it is", r.name, source.Excerpt(example), why)
		return n, err
	}
	latin, _ := charmap.Windows1252.NewDecoder().Bytes(example) // every byte has a character
	r.note = fmt.Sprintf("%s: is not UTF-8 and is read as windows-1252, such as %s; "+
		"--encoding NAME of ingest boundaries, enrich and points says otherwise", r.name, source.Excerpt(latin))
	rest := io.Reader(bytes.NewReader(bytes.Clone(p[:n])))
	if err == nil {
		rest = io.MultiReader(rest, r.in)
	} else if !errors.Is(err, io.EOF) {
		rest = io.MultiReader(rest, failing{err})
	}
	r.in = transform.NewReader(rest, charmap.Windows1252.NewDecoder())
	return r.in.Read(p)
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TrimPartialRune returns UTF-8 text without an incomplete character at its end.
func TrimPartialRune(text []byte) []byte {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}

// exampleOf returns the text around the first bytes that are not UTF-8, within their line.
func exampleOf(text []byte) []byte {
	const around = 30
	at := 0
	for at < len(text) {
		c, size := utf8.DecodeRune(text[at:])
		if c == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	before, after := text[max(0, at-around):at], text[at:min(len(text), at+around)]
	if i := bytes.LastIndexAny(before, "\r\n"); i >= 0 {
		before = before[i+1:]
	}
	if i := bytes.IndexAny(after, "\r\n"); i >= 0 {
		after = after[:i]
	}
	return append(bytes.Clone(before), after...)
}

// survey reads a whole text that is not UTF-8. It returns the reason why the text is not
// windows-1252 either, or "". A text is windows-1252 under three conditions: windows-1252 defines
// all bytes of the text, hardly any characters of the text could be UTF-8, and its non-ASCII
// letters are not next to each other as in other alphabets.
func survey(open func() (io.ReadCloser, error)) (why string, err error) {
	file, err := open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 256<<10)
	var utf, other, words, long int64 // characters of UTF-8, other bytes; runs of letters, of three and more
	run := 0
	for {
		text, err := in.Peek(1 << 10)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if len(text) == 0 {
			break
		}
		end := len(text)
		if err == nil {
			end = len(TrimPartialRune(text))
		}
		for i := 0; i < end; {
			c, size := utf8.DecodeRune(text[i:end])
			switch {
			case c == 0, size == 1 && missing(text[i]):
				return fmt.Sprintf("that has no byte %#02x", text[i]), nil
			case size > 1:
				utf++
			case c == utf8.RuneError:
				other++
			}
			for _, b := range text[i : i+size] {
				if b >= 0xC0 {
					run++
					continue
				}
				if run > 0 {
					words++
				}
				if run > 2 {
					long++
				}
				run = 0
			}
			i += size
		}
		_, _ = in.Discard(end) // just peeked
	}
	switch {
	case 100*utf > other:
		return "other text of it is UTF-8", nil
	case long > 2 && 2*long > words:
		return "its words would be made of foreign letters alone", nil
	}
	return "", nil
}

// missing reports whether windows-1252 has no character for a byte.
func missing(b byte) bool {
	switch b {
	case 0x81, 0x8D, 0x8F, 0x90, 0x9D:
		return true
	}
	return false
}
