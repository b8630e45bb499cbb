package workbook

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/jsontext"
)

// These are the members of an OpenDocument. All sheets are in the first.
const (
	odsContent  = "content.xml"
	odsManifest = "META-INF/manifest.xml"
)

// maxCopies bounds the cells that a sheet has by saying that others repeat.
const maxCopies = 8 << 20

// ods reads a sheet of an OpenDocument spreadsheet.
type ods struct {
	*document
	names   []string // of other sheets with tables
	all     []string // names of the sheets so far
	number  int      // of the last row
	sheet   int      // depth within the sheet; 0: the sheet has ended
	ahead   []row    // rows that were read to choose the sheet
	again   row      // is repeated
	repeats int
	copies  int // cells
	merged  merged
	scratch []byte
}

// openODS opens the sheet that f names, or the first one with a table, and sets its name.
func openODS(f *File) (_ reader, err error) {
	content := find(f.archive, odsContent)
	if content == nil {
		return nil, f.failure("is no workbook that is read here: XLSX or ODS")
	}
	o := &ods{}
	if o.document, err = openXML(f.archive, content, f.counted); err != nil {
		return nil, err
	}
	for err == nil {
		var name string
		if name, err = o.nextSheet(); err != nil {
			break
		}
		has := f.named && name == f.Sheet
		if !f.named {
			has, err = o.hasTable()
		}
		if has && err == nil {
			f.Sheet = name
			return o, nil
		}
	}
	_ = o.Close() // only read
	switch {
	case !errors.Is(err, io.EOF):
		if !strings.HasPrefix(err.Error(), f.path+": ") {
			err = f.failure("row %d: %w", o.number, err)
		}
		return nil, err
	case len(o.all) == 0:
		return nil, f.failure("is an OpenDocument without sheets; name a spreadsheet")
	case f.named:
		return nil, f.noSheet(o.all)
	}
	// No sheet has a row of two cells, so the first one is the table.
	f.Sheet, f.named = o.all[0], true
	r, err := openODS(f)
	f.named = false
	return r, err
}

// nextSheet reads to the beginning of the next sheet.
func (o *ods) nextSheet() (name string, err error) {
	for o.sheet > 0 { // the rest of this one
		if _, err := o.token(); err != nil {
			return "", err
		}
		if o.depth < o.sheet {
			o.sheet = 0
		}
	}
	for {
		t, err := o.token()
		if err != nil {
			return "", err
		}
		if e, is := t.(xml.StartElement); is && e.Name.Space == "table" && e.Name.Local == "table" {
			if name = attr(&e, "name"); len(o.all) >= maxSheets || len(name) > maxName {
				return "", errSheets
			}
			o.all = append(o.all, name)
			o.sheet, o.number, o.ahead, o.repeats, o.merged = o.depth, 0, nil, 0, 0
			return name, nil
		}
	}
}

// hasTable reports whether the sheet has a row of two cells with values among its first ones. They are
// read again by next.
func (o *ods) hasTable() (bool, error) {
	var ahead []row
	for range headRows {
		var r row
		switch err := o.nextRow(&r); {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		}
		if ahead = append(ahead, r); len(r.cells) > 1 {
			o.ahead = ahead
			return true, nil
		}
	}
	return false, nil
}

func (o *ods) others() []string { return o.names }
func (o *ods) asides() []string { return o.merged.asides() }
func (o *ods) Close() error     { return o.close.Close() }

func (o *ods) next(r *row) error {
	if len(o.ahead) > 0 {
		*r, o.ahead = o.ahead[0], o.ahead[1:]
		return nil
	}
	err := o.nextRow(r)
	if !errors.Is(err, io.EOF) {
		return err
	}
	merged := o.merged
	for { // the other sheets, to the end of the file
		name, err := o.nextSheet()
		if err != nil {
			o.sheet, o.merged = 0, merged
			return err
		}
		if has, err := o.hasTable(); err != nil {
			return err
		} else if has {
			o.names = append(o.names, name)
		}
		o.ahead = nil
	}
}

// nextRow reads the next row of the sheet with cells. The error is io.EOF at the end of the sheet.
func (o *ods) nextRow(r *row) error {
	r.reset()
	if o.repeats > 0 {
		o.repeats--
		o.number++
		r.number = o.number
		for _, c := range o.again.cells {
			from := len(r.values)
			r.values = append(r.values, c.value...)
			r.add(c.column, c.kind, from)
		}
		return nil
	}
	for o.sheet > 0 {
		r.number = o.number
		t, err := o.token()
		if err != nil {
			return unexpected(err)
		}
		if o.depth < o.sheet {
			o.sheet = 0
		}
		e, is := t.(xml.StartElement)
		if !is {
			continue
		}
		switch e.Name.Local {
		case "table-row":
			if err := o.row(&e, r); err != nil || len(r.cells) > 0 {
				return err
			}
		case "table-row-group", "table-rows", "table-header-rows": // have rows
		default:
			if err := o.skip(); err != nil {
				return unexpected(err)
			}
		}
	}
	return io.EOF
}

// unexpected returns the error for an end of the file within a sheet.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// repeated returns how often a cell or row stands there by an attribute.
func repeated(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxRows)
}

// copied counts cells that repeat others.
func (o *ods) copied(n int) error {
	if o.copies += n; o.copies > maxCopies {
		return fmt.Errorf("more than %d cells of the sheet are repeated ones; delete those below and beside the table", maxCopies)
	}
	return nil
}

func (o *ods) row(e *xml.StartElement, r *row) error {
	r.reset()
	o.number++
	r.number = o.number
	times := repeated(attr(e, "number-rows-repeated"))
	column := 0
	for outer := o.depth - 1; o.depth > outer; {
		t, err := o.token()
		if err != nil {
			return unexpected(err)
		}
		e, is := t.(xml.StartElement)
		switch {
		case !is:
			continue
		case e.Name.Local == "table-cell":
			column, err = o.cell(&e, r, column)
			err = cmp.Or(err, r.err())
		case e.Name.Local == "covered-table-cell": // by a merged one
			column += repeated(attr(&e, "number-columns-repeated"))
			err = o.skip()
		default:
			err = o.skip()
		}
		if err != nil {
			return unexpected(err)
		}
	}
	if len(r.cells) == 0 {
		o.number += times - 1
		return nil
	}
	if o.number > maxRows {
		return fmt.Errorf("is beyond %d rows, the bound here", maxRows)
	}
	if o.repeats = times - 1; o.repeats == 0 {
		return nil
	}
	if o.repeats > maxCopies {
		return o.copied(o.repeats)
	}
	o.again = row{cells: make([]cell, 0, len(r.cells)), values: bytes.Clone(r.values)}
	at := 0
	for _, c := range r.cells {
		o.again.cells = append(o.again.cells, cell{c.column, c.kind, o.again.values[at : at+len(c.value)]})
		at += len(c.value)
	}
	return o.copied(o.repeats * len(r.cells))
}

// cell reads a cell at a column, and returns the column behind it.
func (o *ods) cell(e *xml.StartElement, r *row, column int) (behind int, err error) {
	var typ, value, formula string
	times, isError := 1, false
	for i := range e.Attr {
		switch v := e.Attr[i].Value; e.Attr[i].Name.Local {
		case "value-type":
			if e.Attr[i].Name.Space == "calcext" {
				isError = v == "error"
			} else {
				typ = v
			}
		case "value", "date-value", "time-value", "boolean-value", "string-value":
			value = v
		case "formula":
			formula = v
		case "number-columns-repeated":
			times = repeated(v)
		case "number-columns-spanned", "number-rows-spanned":
			if v != "1" {
				o.merged++
			}
		}
	}
	if o.scratch, err = o.content(o.scratch[:0]); err != nil {
		return 0, err
	}
	behind = column + times
	n, from := len(r.cells), len(r.values)
	isError = isError || formula != "" && isErrorText(o.scratch)
	switch s := bytes.TrimSpace(o.scratch); {
	case isError:
		r.add(column, failure, from)
	case typ == "float", typ == "percentage", typ == "currency":
		v, ok := source.ParseDecimal(value, math.MaxFloat64)
		if !ok {
			return 0, fmt.Errorf("%s has %s where a number should be; the file may be damaged: save it anew", cellName(r.number, column),
				source.Excerpt(value))
		}
		r.values = appendNumber(r.values, v)
		r.add(column, other, from)
	case typ == "boolean":
		r.values = strconv.AppendBool(r.values, value == "true")
		r.add(column, other, from)
	case typ == "date" && value != "":
		r.values = jsontext.AppendString(r.values, value)
		r.add(column, other, from)
	case typ == "time" && value != "":
		r.values = jsontext.AppendString(r.values, clockOf(value))
		r.add(column, other, from)
	case typ == "string" && value != "":
		r.addText(column, []byte(value))
	default:
		r.addText(column, s)
	}
	if len(r.cells) == n {
		return behind, nil
	}
	if behind > maxColumns {
		return 0, fmt.Errorf("has more than %d columns; leave some out", maxColumns)
	}
	for column++; column < behind; column++ {
		c, from := r.cells[n], len(r.values)
		r.values = append(r.values, c.value...)
		r.add(column, c.kind, from)
		if err := r.err(); err != nil {
			return 0, err
		}
	}
	return behind, o.copied(times - 1)
}

// isErrorText reports whether a formula's text is an error. Programs of before 2013 say nothing else.
func isErrorText(s []byte) bool {
	switch string(s) {
	case "#N/A", "#DIV/0!", "#REF!", "#NAME?", "#VALUE!", "#NUM!", "#NULL!":
		return true
	}
	return bytes.HasPrefix(s, []byte("Err:"))
}

// content appends the text of a cell that has just begun, with a line break between its paragraphs.
func (o *ods) content(dst []byte) ([]byte, error) {
	for outer := o.depth - 1; o.depth > outer; {
		t, err := o.token()
		if err != nil {
			return dst, err
		}
		switch t := t.(type) {
		case xml.CharData:
			if o.depth > outer+1 { // blanks between the elements of the cell are none of it
				dst = append(dst, t...)
			}
		case xml.StartElement:
			switch t.Name.Local {
			case "p":
				if len(dst) > 0 {
					dst = append(dst, '\n')
				}
			case "span", "a":
			case "s":
				dst = append(dst, ' ')
			case "tab", "line-break":
				dst = append(dst, '\n')
			default: // a comment, a picture
				if err := o.skip(); err != nil {
					return dst, err
				}
			}
		}
		if len(dst) > maxText {
			return dst, errLong
		}
	}
	return dst, nil
}

// clockOf returns a duration such as PT12H30M00S as a time, 12:30:00, and other text unchanged.
func clockOf(duration string) string {
	rest, ok := strings.CutPrefix(duration, "PT")
	var parts [3]string
	for i, unit := range []string{"H", "M", "S"} {
		part, behind, found := strings.Cut(rest, unit)
		if !found {
			part, behind = "0", rest
		}
		whole, fraction, _ := strings.Cut(strings.Replace(part, ",", ".", 1), ".")
		if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
			fraction = "." + fraction
		}
		ok = ok && source.IsDigits(whole) && (fraction == "" || unit == "S" && source.IsDigits(fraction[1:]))
		if len(whole) < 2 {
			whole = "0" + whole
		}
		parts[i], rest = whole+fraction, behind
	}
	if !ok || rest != "" {
		return duration
	}
	return strings.Join(parts[:], ":")
}
