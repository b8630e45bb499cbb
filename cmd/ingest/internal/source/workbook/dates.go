package workbook

import (
	"archive/zip"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/ingest/internal/source"
)

// style says which numbers are dates and times. The bits from digits on count the digits that whole numbers are filled up to by
// zeros, as in the postal codes of the format 00000. Such numbers are codes, and their zeros belong to them.
type style uint16

const (
	plain style = 0
	date  style = 1 << iota
	clock       // a time of day
	span        // a time that may be longer than a day
)

const (
	digits    = 8 // the first bit of the count
	maxDigits = 20
)

// appendCode appends a number as the text that a style shows, and reports whether the style is one of codes and shows it so.
func appendCode(dst []byte, v float64, s style) ([]byte, bool) {
	if s>>digits == 0 || v < 0 || v != math.Trunc(v) || v >= 1<<53 {
		return dst, false
	}
	return fmt.Appendf(dst, "%0*d", int(s>>digits), int64(v)), true
}

// builtin are the formats that are known by their number and have dates or times. 27 to 36 and 50 to
// 58 are those of East Asia.
func builtin(id int) style {
	switch {
	case id == 22:
		return date | clock
	case id == 46:
		return span
	case id >= 18 && id <= 21, id == 32, id == 33, id == 45, id == 47:
		return clock
	case id >= 14 && id <= 17, id >= 27 && id <= 36, id >= 50 && id <= 58:
		return date
	}
	return plain
}

// styleOf returns the style of a format's code, such as yyyy-mm-dd or [h]:mm.
func styleOf(code string) style {
	var found style
	if n := len(code); n > 1 && n <= maxDigits && strings.Trim(code, "0") == "" {
		return style(n) << digits
	}
	months := false
	for i := 0; i < len(code); i++ {
		switch c := code[i] | 0x20; {
		case code[i] == '"':
			if end := strings.IndexByte(code[i+1:], '"'); end >= 0 {
				i += end + 1
			}
		case code[i] == '\\', code[i] == '_', code[i] == '*':
			i++ // stands for itself, or for its width
		case code[i] == '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return found
			}
			if inside := strings.ToLower(code[i+1 : i+end]); strings.Trim(inside, "h") == "" || strings.Trim(inside, "m") == "" ||
				strings.Trim(inside, "s") == "" {
				found |= span
			}
			i += end
		case code[i] == ';': // of negative numbers
			i = len(code)
		case c == 'y', c == 'd':
			found |= date
		case c == 'h', c == 's':
			found |= clock
		case c == 'm':
			months = true
		case strings.HasPrefix(code[i:], "General"):
			i += len("General") - 1
		}
	}
	switch {
	case found&span != 0:
		return span
	case found == plain && months:
		return date
	}
	return found
}

// maxStyles bounds the formats of cells. Excel has up to 65,490.
const maxStyles = 1 << 17

// readStyles returns the styles by their numbers.
func readStyles(a *source.Archive, m *zip.File) (styles []style, err error) {
	codes := map[string]style{}
	within := false
	err = elements(a, m, func(d *document, e *xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			if id := attr(e, "numFmtId"); len(codes) < maxStyles && len(id) < 20 {
				codes[id] = styleOf(attr(e, "formatCode"))
			}
		case "cellStyleXfs", "cellStyles", "dxfs":
			within = false
		case "cellXfs":
			within = true
		case "xf":
			if !within || len(styles) >= maxStyles {
				return nil
			}
			id := attr(e, "numFmtId")
			s, own := codes[id]
			if n, err := strconv.Atoi(id); err == nil && !own {
				s = builtin(n)
			}
			styles = append(styles, s)
		}
		return nil
	})
	return styles, err
}

// appendTime appends the date or time that a number of days stands for, and reports whether there is
// one. Days are counted from 1904, or from 1900, which has a 29th of February there.
func appendTime(dst []byte, days float64, s style, from1904 bool) ([]byte, bool) {
	const year10000 = 2958466
	if days < 0 || days >= year10000 {
		return dst, false
	}
	ms := math.Round(days * 24 * 60 * 60 * 1000)
	day := int(ms / (24 * 60 * 60 * 1000))
	rest := time.Duration(ms-float64(day)*24*60*60*1000) * time.Millisecond
	dst = append(dst, '"')
	if s == span {
		hours := int64(day)*24 + int64(rest/time.Hour)
		if hours < 10 {
			dst = append(dst, '0')
		}
		dst = strconv.AppendInt(dst, hours, 10)
		return append(time.Time{}.Add(rest).AppendFormat(dst, ":04:05.999"), '"'), true
	}
	if !from1904 && day == 0 || from1904 && day == 0 && s == clock { // a time of no day
		if s == date && rest == 0 {
			return dst[:len(dst)-1], false
		}
		return append(time.Time{}.Add(rest).AppendFormat(dst, "15:04:05.999"), '"'), true
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case day < 60:
		first = first.AddDate(0, 0, 1)
	case day == 60: // 29 February 1900
		return dst[:len(dst)-1], false
	}
	layout := time.DateOnly
	if s != date || rest != 0 {
		layout = "2006-01-02T15:04:05.999"
	}
	return append(first.AddDate(0, 0, day).Add(rest).AppendFormat(dst, layout), '"'), true
}
