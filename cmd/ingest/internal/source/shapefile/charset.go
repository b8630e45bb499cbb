package shapefile

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/charset"
)

// languages maps dBase's language bytes to code pages. 0x57 means the usual code page of the
// writer's machine, so Latin-1, the default, is used.
var languages = map[byte]string{
	0x01: "437", 0x02: "850", 0x03: "1252", 0x08: "865", 0x09: "437", 0x0A: "850", 0x0B: "437", 0x0D: "437",
	0x0E: "850", 0x0F: "437", 0x10: "850", 0x11: "437", 0x12: "850", 0x13: "932", 0x14: "850", 0x15: "437",
	0x16: "850", 0x17: "865", 0x18: "437", 0x19: "437", 0x1A: "850", 0x1B: "437", 0x1C: "863", 0x1D: "850",
	0x1F: "852", 0x22: "852", 0x23: "852", 0x24: "860", 0x25: "850", 0x26: "866", 0x37: "850", 0x40: "852",
	0x4D: "936", 0x4E: "949", 0x4F: "950", 0x50: "874", 0x58: "1252", 0x59: "1252", 0x64: "852", 0x65: "866",
	0x66: "865", 0x78: "950", 0x79: "949", 0x7A: "936", 0x7B: "932", 0x7C: "874", 0x86: "737", 0x87: "852",
	0x88: "857", 0xC8: "1250", 0xC9: "1251", 0xCA: "1254", 0xCB: "1253", 0xCC: "1257",
}

// texts counts the texts of a table that are not ASCII.
type texts struct {
	count, other int    // all texts, and the texts that are not UTF-8
	first, wrong string // the first of each, with its row
}

// survey reads all rows.
func (t *table) survey() (seen texts) {
	for row := 1; row <= t.rows; row++ {
		if _, err := io.ReadFull(t.r, t.row); err != nil {
			break // next returns the error
		}
		for i := range t.fields {
			f := &t.fields[i]
			b, _, _ := bytes.Cut(t.row[f.offset:f.offset+f.width], []byte{0})
			if f.kind != 'C' || t.row[0] != rowPresent || !bytes.ContainsFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) {
				continue
			}
			if len(b) == f.width { // the width may have cut it off
				b = charset.TrimPartialRune(b)
			}
			b = bytes.TrimRight(b, " ")
			example := fmt.Sprintf("row %d, %s %s", row, f.name, source.Excerpt(b))
			if seen.count++; seen.count == 1 {
				seen.first = example
			}
			if utf8.Valid(b) {
				continue
			}
			if seen.other++; seen.other == 1 {
				seen.wrong = example
			}
		}
	}
	return seen
}

// decoder returns the decoder of the texts, and a note about guesses or contradictions in the file.
// The .cpg file decides, unless it names UTF-8 and most texts are not UTF-8. If there is no .cpg,
// texts are UTF-8 if all of them can be.
func (s *texts) decoder(page string, language byte) (d *encoding.Decoder, note string, err error) {
	d, err = decoder(page, language)
	switch {
	case s.count == 0 || err != nil && page != "":
	case page == "" && s.other == 0:
		return nil, "has no .cpg, and its text is read as UTF-8, such as that of " + s.first, nil
	case page == "":
		note = "has no .cpg, and its text is read as the table says or as Latin-1, which UTF-8 it is not: " + s.wrong
	case d != nil && s.other == 0:
		note = fmt.Sprintf("its .cpg says %s, and its text might all be UTF-8, such as that of %s; write UTF-8 in the .cpg if it is",
			source.Excerpt(page), s.first)
	case d == nil && 2*s.other > s.count:
		note = "its .cpg says UTF-8, which most of its text is not, such as that of " + s.wrong + "; it is read as the table says or as Latin-1"
		d, err = decoder("", language)
	case d == nil && s.other > 0:
		note = fmt.Sprintf("its .cpg says UTF-8, which %d of %d texts are not, the first in %s; their letters are lost", s.other,
			s.count, s.wrong)
	}
	return d, note, err
}

// decoder returns the decoder of a table's text, or nil for UTF-8. It is the one that the .cpg file
// names, or else the one of the table's language byte. The default is Latin-1.
func decoder(page string, language byte) (*encoding.Decoder, error) {
	if page == "" {
		page, ok := languages[language]
		if !ok {
			page = "1252"
		}
		e, known := charset.Find(page)
		if !known {
			return nil, fmt.Errorf("its text is in code page %s, which is not known; convert it to UTF-8, and say so in a .cpg beside it", page)
		}
		return e.NewDecoder(), nil
	}
	if id, ok := strings.CutPrefix(strings.ToUpper(page), "LDID/"); ok {
		if n, err := strconv.ParseUint(id, 10, 8); err == nil {
			return decoder("", byte(n))
		}
	}
	switch e, known := charset.Find(page); {
	case !known:
		return nil, fmt.Errorf("its .cpg says that text is encoded as %s, which is not known; write UTF-8, ISO-8859-1 or "+
			"the number of the code page there", source.Excerpt(page))
	case e != nil:
		return e.NewDecoder(), nil
	}
	return nil, nil //nolint:nilnil // UTF-8 needs no decoder
}
