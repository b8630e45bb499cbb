package shapefile

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"quadrille/cmd/ingest/internal/source"
)

// pages are the code pages .cpg files name by number.
var pages = map[string]encoding.Encoding{
	"437": charmap.CodePage437, "850": charmap.CodePage850, "852": charmap.CodePage852, "855": charmap.CodePage855,
	"858": charmap.CodePage858, "860": charmap.CodePage860, "862": charmap.CodePage862, "863": charmap.CodePage863,
	"865": charmap.CodePage865, "866": charmap.CodePage866, "874": charmap.Windows874,
	"932": japanese.ShiftJIS, "936": simplifiedchinese.GBK, "949": korean.EUCKR, "950": traditionalchinese.Big5,
	"1250": charmap.Windows1250, "1251": charmap.Windows1251, "1252": charmap.Windows1252, "1253": charmap.Windows1253,
	"1254": charmap.Windows1254, "1255": charmap.Windows1255, "1256": charmap.Windows1256, "1257": charmap.Windows1257,
	"1258": charmap.Windows1258, "28591": charmap.Windows1252, "28592": charmap.ISO8859_2, "28595": charmap.ISO8859_5,
	"28599": charmap.ISO8859_9, "28605": charmap.ISO8859_15, "54936": simplifiedchinese.GB18030,
}

// languages are the language bytes of dBase that name a code page. 0x57 means
// whatever was usual on the machine of the writer, which leaves Latin-1.
var languages = map[byte]string{
	0x01: "437", 0x02: "850", 0x03: "1252", 0x08: "865", 0x09: "437", 0x0A: "850", 0x0B: "437", 0x0D: "437",
	0x0E: "850", 0x0F: "437", 0x10: "850", 0x11: "437", 0x12: "850", 0x13: "932", 0x14: "850", 0x15: "437",
	0x16: "850", 0x17: "865", 0x18: "437", 0x19: "437", 0x1A: "850", 0x1B: "437", 0x1C: "863", 0x1D: "850",
	0x1F: "852", 0x22: "852", 0x23: "852", 0x24: "860", 0x25: "850", 0x26: "866", 0x37: "850", 0x40: "852",
	0x4D: "936", 0x4E: "949", 0x4F: "950", 0x50: "874", 0x58: "1252", 0x59: "1252", 0x64: "852", 0x65: "866",
	0x66: "865", 0x78: "950", 0x79: "949", 0x7A: "936", 0x7B: "932", 0x7C: "874", 0x86: "737", 0x87: "852",
	0x88: "857", 0xC8: "1250", 0xC9: "1251", 0xCA: "1254", 0xCB: "1253", 0xCC: "1257",
}

// texts describes the texts of a table that are not ASCII.
type texts struct {
	count, other int    // of them, and of those that are not UTF-8
	first, wrong string // of them, with their rows
}

// survey reads all rows.
func (t *table) survey() (seen texts) {
	for row := 1; row <= t.rows; row++ {
		if _, err := io.ReadFull(t.r, t.row); err != nil {
			break // reading tells it
		}
		for i := range t.fields {
			f := &t.fields[i]
			b, _, _ := bytes.Cut(t.row[f.offset:f.offset+f.width], []byte{0})
			if f.kind != 'C' || t.row[0] != rowPresent || !bytes.ContainsFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) {
				continue
			}
			if len(b) == f.width { // which may have cut it off
				b = whole(b)
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

// decoder returns the decoder of the texts, and what had to be guessed or contradicts the
// file. The .cpg file counts, unless most texts cannot be in its UTF-8. Without one,
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
		note = fmt.Sprintf("its .cpg says %s, and its text might all be UTF-8, such as that of %s; write UTF-8 in the .cpg if it is", source.Excerpt(page), s.first)
	case d == nil && 2*s.other > s.count:
		note = "its .cpg says UTF-8, which most of its text is not, such as that of " + s.wrong + "; it is read as the table says or as Latin-1"
		d, err = decoder("", language)
	case d == nil && s.other > 0:
		note = fmt.Sprintf("its .cpg says UTF-8, which %d of %d texts are not, the first in %s; their letters are lost", s.other, s.count, s.wrong)
	}
	return d, note, err
}

// decoder returns the decoder of a table's text, nil for UTF-8. The .cpg file names it, or else
// the table's language byte stands for it; the default is Latin-1. Latin-1 is read as
// Windows-1252, which has letters and quotes where Latin-1 has nothing, and is the same
// otherwise.
func decoder(page string, language byte) (*encoding.Decoder, error) {
	if page == "" {
		page, ok := languages[language]
		if !ok {
			page = "1252"
		}
		e := pages[page]
		if e == nil {
			return nil, fmt.Errorf("its text is in code page %s, which is not known; convert it to UTF-8, and say so in a .cpg beside it", page)
		}
		return e.NewDecoder(), nil
	}
	name := strings.ToUpper(page)
	if id, ok := strings.CutPrefix(name, "LDID/"); ok {
		if n, err := strconv.ParseUint(id, 10, 8); err == nil {
			return decoder("", byte(n))
		}
	}
	for _, prefix := range []string{"ANSI", "OEM", "WINDOWS", "IBM", "CP", "MS", "X-"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name = strings.TrimLeft(rest, " -_")
		}
	}
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(name)
	switch plain {
	case "UTF8", "65001", "UTF8BOM":
		return nil, nil //nolint:nilnil // UTF-8 needs no decoder
	case "ISO88591", "88591", "LATIN1", "ISO885901", "ASCII", "USASCII":
		return charmap.Windows1252.NewDecoder(), nil
	}
	if e := pages[plain]; e != nil {
		return e.NewDecoder(), nil
	}
	// ESRI writes ISO 8859 parts both as 8859-2 and as 88592.
	if part, ok := strings.CutPrefix(strings.TrimPrefix(plain, "ISO"), "8859"); ok && part != "" {
		name = "ISO-8859-" + part
	}
	for _, try := range []string{name, page} {
		if e, err := htmlindex.Get(strings.TrimSpace(try)); err == nil {
			return e.NewDecoder(), nil
		}
	}
	return nil, fmt.Errorf("its .cpg says that text is encoded as %s, which is not known; write UTF-8, ISO-8859-1 or the number of the code page there", source.Excerpt(page))
}
