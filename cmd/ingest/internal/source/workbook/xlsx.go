package workbook

import (
	"archive/zip"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"quadrille/cmd/ingest/internal/source"
)

// xlsxBook is the member that lists the sheets.
const xlsxBook = "xl/workbook.xml"

// xlsx reads a sheet of Office Open XML.
type xlsx struct {
	*document
	shared    shared
	styles    []style // by the number of a cell's style
	from1904  bool
	names     []string // of other sheets with tables
	inSheet   bool     // within sheetData
	number    int      // of the last row
	merged    merged
	notDates  tally
	scratch   []byte
	reference int // column of the last cell
}

// openXLSX opens the sheet that f names, or the first one with a table, and sets its name.
func openXLSX(f *File) (reader, error) {
	a := f.archive
	x := &xlsx{}
	var sheets []string
	parts := map[string]*zip.File{} // by name of the sheet
	targets := map[string]string{}
	if rels := find(a, "xl/_rels/workbook.xml.rels"); rels != nil {
		if err := elements(a, rels, func(_ *document, e *xml.StartElement) error {
			if id, target := attr(e, "Id"), attr(e, "Target"); e.Name.Local == "Relationship" && len(targets) < maxSheets && len(id+target) < maxName {
				targets[id] = target
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if err := elements(a, find(a, xlsxBook), func(_ *document, e *xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			x.from1904, _ = strconv.ParseBool(attr(e, "date1904")) // else 1900, as Excel does
		case "sheet":
			part := find(a, partName(targets[idOf(e)]))
			name := attr(e, "name")
			if part == nil || parts[name] != nil { // a chart has none
				return nil
			}
			if len(sheets) >= maxSheets || len(name) > maxName {
				return errSheets
			}
			sheets, parts[name] = append(sheets, name), part
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if f.named && parts[f.Sheet] == nil {
		return nil, f.noSheet(sheets)
	}
	if len(sheets) == 0 {
		return nil, f.failure("has no sheets; the file may be damaged: fetch it again, or save it anew")
	}
	if !f.named {
		f.Sheet = sheets[0]
		found := false
		for _, name := range sheets {
			is, err := hasTable(a, parts[name])
			switch {
			case err != nil:
				return nil, err
			case is && !found:
				f.Sheet, found = name, true
			case is:
				x.names = append(x.names, name)
			}
		}
	}
	if styles := find(a, "xl/styles.xml"); styles != nil {
		var err error
		if x.styles, err = readStyles(a, styles); err != nil {
			return nil, err
		}
	}
	if strings := find(a, "xl/sharedStrings.xml"); strings != nil {
		if err := x.shared.read(a, strings); err != nil {
			return nil, err
		}
	}
	var err error
	x.document, err = openXML(a, parts[f.Sheet], f.counted)
	return x, err
}

// idOf returns the id of the relation of a sheet. A sheet has a number of its own beside it.
func idOf(e *xml.StartElement) string {
	for i := range e.Attr {
		if e.Attr[i].Name.Local == "id" && e.Attr[i].Name.Space != "" {
			return e.Attr[i].Value
		}
	}
	return ""
}

// partName returns the name of the member that a relation of the workbook leads to.
func partName(target string) string {
	if rest, rooted := strings.CutPrefix(target, "/"); rooted {
		return rest
	}
	return path.Join("xl", target)
}

// hasTable reports whether a sheet has a row of two cells with values among its first ones.
func hasTable(a *source.Archive, m *zip.File) (has bool, err error) {
	d, err := openXML(a, m, nil)
	if err != nil {
		return false, err
	}
	defer d.close.Close()
	x := &xlsx{document: d, shared: shared{absent: true}}
	for range headRows {
		var r row
		err := x.next(&r)
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("%s: %s, row %d: %w", a.Path, source.Excerpt(m.Name), r.number, err)
		case len(r.cells) > 1:
			return true, nil
		}
	}
	return false, nil
}

func (x *xlsx) others() []string { return x.names }

func (x *xlsx) asides() []string {
	notes := x.merged.asides()
	if n := x.notDates; n.count > 0 {
		notes = append(notes, fmt.Sprintf("%d cells with a format of dates have a number that is no date and are left out, the first is %s",
			n.count, cellName(n.row, n.column)))
	}
	return notes
}

func (x *xlsx) Close() error {
	if x.document == nil {
		return nil
	}
	return x.close.Close()
}

func (x *xlsx) next(r *row) error {
	for {
		r.number = x.number
		t, err := x.token()
		if err != nil {
			return err
		}
		e, is := t.(xml.StartElement)
		if !is {
			if end, is := t.(xml.EndElement); is && end.Name.Local == "sheetData" {
				x.inSheet = false
			}
			continue
		}
		switch {
		case e.Name.Local == "sheetData":
			x.inSheet = true
		case e.Name.Local == "mergeCell":
			x.merged++
		case x.inSheet && e.Name.Local == "row":
			if err := x.row(&e, r); err != nil || len(r.cells) > 0 {
				return err
			}
		}
	}
}

func (x *xlsx) row(e *xml.StartElement, r *row) error {
	r.reset()
	x.number++
	if n, err := strconv.Atoi(attr(e, "r")); err == nil && n > x.number {
		x.number = n
	}
	if r.number = x.number; r.number > maxRows {
		return fmt.Errorf("is beyond %d rows, the bound here", maxRows)
	}
	x.reference = -1
	for outer := x.depth - 1; x.depth > outer; {
		t, err := x.token()
		if err != nil {
			return err
		}
		if e, is := t.(xml.StartElement); is {
			if e.Name.Local != "c" {
				err = x.skip()
			} else {
				err = cmp.Or(x.cell(&e, r), r.err())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// cell reads a cell.
func (x *xlsx) cell(e *xml.StartElement, r *row) error {
	column, typ, number := x.reference+1, "", -1
	for i := range e.Attr {
		switch v := e.Attr[i].Value; e.Attr[i].Name.Local {
		case "r":
			if c := columnOf(v); c > x.reference {
				column = c
			} else {
				return fmt.Errorf("the cell called %s is no cell behind those before it; the file may be damaged: save it anew", source.Excerpt(v))
			}
		case "t":
			typ = v
		case "s":
			number, _ = strconv.Atoi(v) // a cell without a style is a number
		}
	}
	if x.reference = column; column >= maxColumns {
		return fmt.Errorf("has more than %d columns; leave some out", maxColumns)
	}
	x.scratch = x.scratch[:0]
	for outer := x.depth - 1; x.depth > outer; {
		t, err := x.token()
		if err != nil {
			return err
		}
		e, is := t.(xml.StartElement)
		if !is {
			continue
		}
		switch e.Name.Local {
		case "v":
			x.scratch, err = x.text(x.scratch[:0], "", func(*xml.StartElement) bool { return false })
		case "is":
			x.scratch, err = x.text(x.scratch[:0], "t", isText)
		default: // a formula, whose value is v
			err = x.skip()
		}
		if err != nil {
			return err
		}
	}
	return x.value(r, column, typ, number)
}

// isText reports whether an element in a text is a part of it. Others are hints for pronunciation.
func isText(e *xml.StartElement) bool { return e.Name.Local == "r" || e.Name.Local == "t" }

// value adds the value of a cell of a type, whose text is in scratch.
func (x *xlsx) value(r *row, column int, typ string, styled int) error {
	s := x.scratch
	if len(s) == 0 {
		return nil
	}
	switch typ {
	case "s":
		i, err := strconv.Atoi(string(s))
		if err != nil || i < 0 || i >= x.shared.len() && !x.shared.absent {
			return fmt.Errorf("%s refers to the shared text %s, which the workbook does not have; the file may be damaged: save it anew",
				cellName(r.number, column), source.Excerpt(s))
		}
		if x.shared.absent {
			r.addText(column, s)
		} else {
			r.addText(column, x.shared.text(i))
		}
	case "str", "inlineStr":
		r.addText(column, unescape(s))
	case "d":
		r.addText(column, s)
	case "b":
		from := len(r.values)
		r.values = strconv.AppendBool(r.values, string(s) == "1" || string(s) == "true")
		r.add(column, other, from)
	case "e":
		r.add(column, failure, len(r.values))
	default:
		v, ok := source.ParseDecimal(s, math.MaxFloat64)
		if !ok {
			return fmt.Errorf("%s has %s where a number should be; the file may be damaged: save it anew", cellName(r.number, column),
				source.Excerpt(s))
		}
		var style style
		if styled >= 0 && styled < len(x.styles) {
			style = x.styles[styled]
		}
		if code, is := appendCode(nil, v, style); is {
			r.addText(column, code)
			return nil
		}
		from := len(r.values)
		if style&(date|clock|span) != 0 {
			var is bool
			if r.values, is = appendTime(r.values, v, style, x.from1904); !is {
				x.notDates.add(r.number, column)
				return nil
			}
		} else {
			r.values = appendNumber(r.values, v)
		}
		r.add(column, other, from)
	}
	return nil
}

// appendNumber appends a number in its shortest spelling.
func appendNumber(dst []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// columnOf returns the 0-based column of a reference such as AB12, or -1.
func columnOf(reference string) int {
	n := 0
	for i := range len(reference) {
		c := reference[i]
		if c < 'A' || c > 'Z' {
			if i == 0 || !source.IsDigits(reference[i:]) {
				return -1
			}
			break
		}
		if n = n*26 + int(c-'A') + 1; n > maxColumns {
			return maxColumns
		}
	}
	return n - 1
}

// unescape returns a text without Excel's escapes for characters that XML cannot have, such as
// _x000D_ for a carriage return.
func unescape(s []byte) []byte {
	const size = len("_x000D_")
	out := s[:0] // what is read is longer than what is written
	for i := 0; i < len(s); {
		if i+size <= len(s) && s[i] == '_' && s[i+1] == 'x' && s[i+size-1] == '_' {
			if c, err := strconv.ParseUint(string(s[i+2:i+size-1]), 16, 16); err == nil {
				out = utf8.AppendRune(out, rune(c))
				i += size
				continue
			}
		}
		out = append(out, s[i])
		i++
	}
	return out
}

// shared are the texts that the cells of a workbook share. They are one after another.
type shared struct {
	texts  []byte
	ends   []uint32
	absent bool // they are not read
}

func (s *shared) len() int { return len(s.ends) }

func (s *shared) text(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.texts[from:s.ends[i]]
}

// read reads all texts.
func (s *shared) read(a *source.Archive, m *zip.File) error {
	// A text is not longer than its XML. The size is only a claim, but memory that is not written costs
	// nothing.
	s.texts = make([]byte, 0, min(m.UncompressedSize64, maxShared))
	return elements(a, m, func(d *document, e *xml.StartElement) (err error) {
		if e.Name.Local != "si" {
			return nil
		}
		from := len(s.texts)
		if s.texts, err = d.text(s.texts, "t", isText); err != nil {
			return err
		}
		s.texts = append(s.texts[:from], unescape(s.texts[from:])...)
		s.ends = append(s.ends, uint32(len(s.texts))) // up to maxShared and a text
		if len(s.texts)+4*len(s.ends) > maxShared {
			return fmt.Errorf("the texts of the workbook take more than %d MiB; save its sheet as CSV and name that file", maxShared>>20)
		}
		return nil
	})
}
