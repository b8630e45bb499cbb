// Package charset finds encodings of text by name, and recognises windows-1252 in text that is
// not UTF-8.
package charset

import (
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// pages are the code pages that are named by number. 28591 is Latin-1.
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

// Find returns the encoding with a name in the spelling of any program: UTF-8, windows-1252, cp850,
// ISO-8859-2, 28592, Shift_JIS. It returns nil for UTF-8, which needs no decoder, and false for an
// unknown name. Latin-1 is read as windows-1252, which has letters and quotes where Latin-1 has no
// characters, and is otherwise equal.
func Find(page string) (e encoding.Encoding, known bool) {
	name := strings.ToUpper(strings.TrimSpace(page))
	for _, prefix := range []string{"ANSI", "OEM", "WINDOWS", "IBM", "CP", "MS", "X-"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name = strings.TrimLeft(rest, " -_")
		}
	}
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(name)
	switch plain {
	case "UTF8", "65001", "UTF8BOM", "UTF8SIG":
		return nil, true
	case "ISO88591", "88591", "LATIN1", "ISO885901", "ASCII", "USASCII":
		return charmap.Windows1252, true
	case "UTF16": // its byte order mark counts
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), true
	}
	if e := pages[plain]; e != nil {
		return e, true
	}
	// ESRI writes ISO 8859 parts both as 8859-2 and as 88592.
	if part, ok := strings.CutPrefix(strings.TrimPrefix(plain, "ISO"), "8859"); ok && part != "" {
		name = "ISO-8859-" + part
	}
	for _, try := range []string{name, page} {
		if e, err := htmlindex.Get(strings.TrimSpace(try)); err == nil {
			return e, true
		}
	}
	return nil, false
}
