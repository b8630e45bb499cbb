// Package csvcell writes the cells of tables of text (RFC 4180), also for programs that run formulas.
package csvcell

import (
	"bytes"
	"unicode/utf8"
)

// Append appends a cell, in quotation marks if it needs them. The caller appends separators and line
// ends.
func Append(dst []byte, separator byte, text []byte) []byte {
	from := len(dst)
	return Quote(append(dst, text...), from, separator)
}

// AppendForeign appends a cell whose text is by others than the reader of the table: see Guard.
func AppendForeign(dst []byte, separator byte, text []byte) []byte {
	from := len(dst)
	if isPlain(text, separator) {
		return append(dst, text...)
	}
	return Quote(Guard(append(dst, text...), from), from, separator)
}

// isPlain reports whether a cell is its text as it is. It is quick, and most texts are plain.
func isPlain(text []byte, separator byte) bool {
	if len(text) == 0 {
		return true
	}
	switch text[0] {
	case '=', '@', '+', '-', ' ', fullWidth:
		return false
	}
	for _, c := range text {
		if special[c] || c == separator {
			return false
		}
	}
	return text[len(text)-1] != ' '
}

// fullWidth is the first byte of a full-width sign.
const fullWidth = 0xef

// special has the characters that need quotes, or a look at what follows.
var special = func() (is [256]bool) {
	for _, c := range []byte(separators + `"`) {
		is[c] = true
	}
	return is
}()

// These characters may precede a cell. Some programs separate cells by other characters than
// commas. Such a program ignores quotation marks in the middle of what it regards as a cell.
const separators = ";|\t\r\n"

// Guard inserts an apostrophe before everything that a spreadsheet may take for a formula, in the
// text from an index on. It considers each separator that a spreadsheet may use.
func Guard(dst []byte, from int) []byte {
	text := dst[from:]
	var safe []byte
	done := 0
	for at := 0; ; {
		end := bytes.IndexAny(text[at:], separators)
		// Some programs skip a tab or the end of a line at the start.
		if isFormula(text[at:]) || at == 0 && end == 0 && text[0] != ';' && text[0] != '|' {
			safe = append(append(safe, text[done:at]...), '\'')
			done = at
		}
		if end < 0 {
			break
		}
		at += end + 1
	}
	if safe == nil {
		return dst
	}
	safe = append(safe, text[done:]...)
	return append(dst[:from], safe...)
}

// isFormula reports whether a spreadsheet may take a text for a formula. Telephone numbers,
// numbers and offsets of time zones are not formulas, although they begin with a sign. Full-width signs count because some
// programs accept them. Programs may drop marks and blanks before a sign.
func isFormula(text []byte) bool {
	text = bytes.TrimLeft(text, `" `)
	sign, n := utf8.DecodeRune(text)
	switch sign {
	case '=', '@', '\uff1d', '\uff20':
		return true
	case '+', '-', '\uff0b', '\uff0d':
		return len(bytes.TrimLeft(text[n:], "0123456789 ./():-")) > 0
	}
	return false
}

// Quote encloses the cell from an index on in quotation marks, if necessary.
func Quote(dst []byte, from int, separator byte) []byte {
	cell := dst[from:]
	if len(cell) == 0 {
		return dst
	}
	needed, marks := cell[0] == ' ' || cell[len(cell)-1] == ' ', 0
	for _, c := range cell {
		switch c {
		case '"':
			marks++
		case separator, '\r', '\n':
			needed = true
		}
	}
	if !needed && marks == 0 {
		return dst
	}
	read := len(dst) - 1
	dst = append(dst, `""`...)
	for range marks {
		dst = append(dst, '"')
	}
	write := len(dst) - 1
	dst[write] = '"'
	for ; read >= from; read-- {
		write--
		if dst[write] = dst[read]; dst[read] == '"' {
			write--
			dst[write] = '"'
		}
	}
	dst[from] = '"'
	return dst
}
