// Package ipcsv reads lists of IP address ranges with their values: text in columns separated by
// commas, tabs, semicolons, vertical bars or blanks, such as
//
//	1.0.0.0,1.0.0.255,AU
//	2001:200::,2001:200:ffff:ffff:ffff:ffff:ffff:ffff,JP
//	16777216,16777471,AU
//	1.0.1.0/24,CN
//
// Both addresses are included in their range. They are dotted, in any spelling of IPv6, or decimal
// numbers: two numbers below 2³² are IPv4 addresses, and if either is larger both are IPv6. Instead
// of the first address there may be a network, or both addresses with a hyphen between them, which
// gives the whole range. An address with the length of its prefix, or its mask, in another column
// gives a range too. Fields between commas may be quoted. Lines end in LF or CRLF. Blank lines and
// lines that begin with #, ; or // are comments. A line of column names may come first and then
// defines the columns. Columns without names are recognised by their content: see layouts.
//
// Geofeeds (RFC 8805) are such lists too, and so are the registries' files of
// delegations. OpenJSON opens providers' lists.
package ipcsv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
)

// Record is one range as it is in the file. First and Last are valid addresses without zones, but
// may be of different versions or in the wrong order.
type Record struct {
	First, Last netip.Addr
	// Fields are the values of Table.Columns, without the blanks around them. They are empty for
	// columns of addresses, for ignored columns, and for columns that the row lacks. They are valid
	// until the next record.
	Fields [][]byte
	Line   int // 1-based
}

// MaxLineBytes is the greatest length of a line, in bytes with its end. Lines of lists with cities and
// organisations stay below 1 KiB.
const MaxLineBytes = 16 << 10

// This is the size of the sample that decides the columns, in rows and in bytes.
const (
	sampled     = 200
	sampleBytes = sampled * MaxLineBytes
)

// These are the reasons of bad records.
const (
	ReasonColumns        = "too few columns"
	ReasonTooManyColumns = "too many columns"
	ReasonAddress        = "not an IP address"
	ReasonZone           = "address with a zone"
	ReasonPort           = "address in brackets or with a port"
	// ReasonMask is also the reason for masks with holes, and for masks in another form than the
	// others of the list.
	ReasonMask  = "neither a prefix length nor a mask of these addresses"
	ReasonHost  = "the address is not the first of the network that its mask makes"
	ReasonOther = "the mask is not that of the network"
	// ReasonDelegation is the reason of bad lines in lists of delegations.
	ReasonDelegation = "no delegation of a registry"
)

// ErrColumns is matched by the error for a list whose columns are not known.
var ErrColumns = errors.New("its columns are not known")

// Table is an opened list.
type Table struct {
	rows   *delimited.Reader
	header bool
	blanks bool // separate the columns

	delegated bool
	// SystemLines is the number of lines about autonomous systems that were skipped in delegations.
	SystemLines int
	// Shared counts the routes that several systems announce, of which the first one is taken.
	Shared int
	name   string
	listed []Record // rows of JSON with only Fields and Line set

	layout  string
	guess   string
	columns []Column
	fixed   [][]byte // values of the last columns in all rows
	shape   *layout  // nil when the columns were named
	open    bool     // more fields than columns may come
	least   int      // fields that a row must have, when the columns were named

	first, last int  // columns of addresses, or negative; first also holds networks
	length      int  // the column of masks, or negative
	network     bool // is in the column first

	single    bool // networks are single addresses by default
	tabs      bool // separate the columns
	routes    bool // the rows are routes
	masks     bool // in a shape: the second column has the masks of the first
	wildcards bool // the masks are wildcard masks
	maskName  string

	parted [][]byte // the fields of a row that blanks separate
}

// Open reads the first lines of r and recognises the content of the columns, unless columns gives
// it. name is the name in errors and bad records. source.Open does the unpacking. The error matches
// ErrColumns if the columns are not recognised, for example in a file without any address.
func Open(r io.Reader, name string, columns []Column) (*Table, error) {
	head, err := io.ReadAll(io.LimitReader(r, sampleBytes))
	whole := head
	if err != nil || len(head) == sampleBytes {
		whole = head[:bytes.LastIndexAny(head, "\r\n")+1]
	}
	t, format, err := learn(whole, columns, false)
	if bytes.IndexByte(whole, '#') >= 0 {
		// Only geofeeds have comments after rows. In other lists, names of companies may have a #.
		if feed, trailing, feedErr := learn(whole, columns, true); feedErr == nil && feed.isPlain() {
			t, format, err = feed, trailing, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.name, t.rows = name, delimited.New(io.MultiReader(bytes.NewReader(head), r), name, format)
	return t, nil
}

// learn recognises the syntax and the columns of a list from its first lines. trailing is set if
// comments may follow its rows.
func learn(lines []byte, columns []Column, trailing bool) (*Table, delimited.Format, error) {
	format, blanks, rows := sample(lines, trailing)
	t := &Table{blanks: blanks, tabs: format.Separator == '\t'}
	var err error
	switch {
	case columns != nil:
		t.layout, t.open = "list with the columns given", true
		t.fix(columns)
		at := max(slices.Index(t.columns, First), slices.Index(t.columns, Network))
		if t.header = len(rows) > 0 && at < len(rows[0]) && isWord(rows[0][at]); t.header {
			rows = rows[1:]
		}
	case format.Separator == '|' && areDelegations(rows): // their first row looks like a header
		t.columns, t.layout, t.delegated = []Column{First, Last, Country}, "list of delegations", true
		t.header = isVersion(rows[0])
	case isHeader(rows):
		t.header, t.layout = true, "list with column names"
		var h *header
		h, err = readHeader(rows[0], rows[1:])
		t.columns, t.guess = h.columns, h.leftOver()
		if i := slices.Index(h.columns, PrefixLength); i >= 0 {
			t.maskName = columnName(string(rows[0][i]))
		}
		rows = rows[1:]
	default:
		err = t.recognise(rows)
	}
	if err == nil {
		t.locate()
		err = t.settle(rows)
	}
	if err != nil && !errors.Is(err, ErrColumns) {
		err = fmt.Errorf("%w: %w", ErrColumns, err)
	}
	return t, format, err
}

// recognise determines the meaning of unnamed columns from rows.
func (t *Table) recognise(rows [][][]byte) error {
	if are, lengths := areRoutes(rows); are && (t.blanks || t.tabs) {
		columns := []Column{Network, ASN}
		if lengths {
			columns = []Column{Network, PrefixLength, ASN}
		}
		t.fix(columns)
		t.layout, t.routes = "table of routes", true
		t.guess = "by its content; after the networks it has " + string(ASN) + " " + source.Excerpt(rows[0][len(rows[0])-1])
		return nil
	}
	if t.masks = maskLasts(rows, 0, 1); t.masks {
		t.wildcards = areWildcards(rows, 1, "")
		rows = joined(rows)
	}
	if t.shape, t.guess = recognise(rows); t.shape == nil {
		return fmt.Errorf("%w; name them in a first line or by --columns, such as --columns first,last,country,-,city, or "+
			"--columns network,prefix_length,asn, "+
			"or --columns network,country=DE for networks alone%s", ErrColumns, advice(rows))
	}
	t.layout, t.open = t.shape.name, t.shape.open
	for _, c := range t.shape.columns {
		t.columns = append(t.columns, c.column)
	}
	return nil
}

// advice returns a text that says which column has networks, if they are not in the first.
func advice(rows [][][]byte) string {
	h := header{rows: rows}
	for _, is := range []func([]byte) bool{func(s []byte) bool { return isWhole(s) && isAddress(s) }, isAddress} {
		for i := range min(width(rows), maxColumns) {
			if h.holds(i, is) {
				if i == 0 {
					return ""
				}
				return fmt.Sprintf("; networks are in column %d: --columns=%snetwork,country=DE", i+1, strings.Repeat("-,", i))
			}
		}
	}
	if len(rows) == 0 || resembles(rows[0][0]) {
		return ""
	}
	return "; no row has an address, such as the one that begins with " + source.Excerpt(rows[0][0])
}

// width returns the number of columns of the first rows.
func width(rows [][][]byte) (most int) {
	for _, f := range rows {
		most = max(most, len(f))
	}
	return most
}

// locate sets the positions of the columns of addresses.
func (t *Table) locate() {
	t.first, t.last, t.length = slices.Index(t.columns, First), slices.Index(t.columns, Last), slices.Index(t.columns, PrefixLength)
	if t.network = t.first < 0; t.network {
		t.first = slices.Index(t.columns, Network)
	}
	if t.shape == nil {
		t.least = 1 + max(t.first, t.last, t.length, slices.IndexFunc(t.columns[:len(t.columns)-len(t.fixed)], IsValue))
	}
}

// settle finds out the form of masks, and refuses networks that lack a mask.
func (t *Table) settle(rows [][][]byte) error {
	column, alone := t.first, t.network && t.length < 0
	if t.shape != nil {
		column, alone = 0, t.shape.network && !t.masks && !slices.ContainsFunc(rows, func(f [][]byte) bool {
			_, _, alone, ok := split(f)
			return ok && !alone
		})
	}
	if t.length >= 0 {
		t.wildcards = areWildcards(rows, t.length, t.maskName)
	}
	if !alone || t.single || !areFirsts(rows, column) {
		return nil
	}
	columns := []string{string(Address)}
	if t.shape == nil {
		columns = nil
	}
	for i, c := range t.columns {
		switch own := len(t.columns) - len(t.fixed); {
		case c == Network:
			c = Address
		case i >= own:
			c += Column("=") + Column(t.fixed[i-own])
		}
		columns = append(columns, string(c))
	}
	return fmt.Errorf("every network in it is one address that begins a network, such as %s: if its prefix length or "+
		"mask is in another column, name that one prefix_length; "+
		"if it is lost, write it behind the address (10.240.0.0/12); if these addresses alone are meant, say so by --columns=%s",
		source.Excerpt(field(rows[0], column)), strings.Join(columns, ","))
}

// Columns returns the contents of the records' fields.
func (t *Table) Columns() []Column { return t.columns }

// Layout returns the kind of list, for people.
func (t *Table) Layout() string { return t.layout }

// Guess returns a text for users with the guesses about the columns, and with the ignored columns.
// It is "" if nothing was guessed or ignored.
func (t *Table) Guess() string { return t.guess }

// IsGeofeed reports whether the list has the columns of a geofeed, and no others.
func (t *Table) IsGeofeed() bool { return slices.Contains(t.columns, Region) && t.isPlain() }

// isPlain reports whether the list has only columns that a geofeed may have.
func (t *Table) isPlain() bool {
	return !slices.ContainsFunc(t.columns, func(c Column) bool {
		return !slices.Contains([]Column{First, Last, Network, Country, CountryCode, Region, City, Postal, Skip}, c)
	})
}

// sample finds out the format of a list from its first lines, and returns the fields of its first
// rows.
func sample(lines []byte, trailing bool) (format delimited.Format, blanks bool, rows [][][]byte) {
	format = delimited.Format{Separator: ',', MaxBytes: MaxLineBytes, AllowBlanks: true, Comments: []string{"#", "//", ";"},
		TrailingComments: trailing, RequireUTF8: true}
	next := func(row func(*delimited.Reader, []byte) bool) {
		in := delimited.New(bytes.NewReader(lines), "", format)
		for range sampled {
			text, err := in.Next()
			if errors.Is(err, io.EOF) || err == nil && !row(in, text) {
				break
			}
		} // a bad row shows nothing
	}
	next(func(_ *delimited.Reader, text []byte) bool {
		// Lists with commas or tabs as separators may have the other separators within names.
		c := delimited.DetectSeparator(text, false, ",\t", ";|")
		if c != 0 {
			format.Separator = c
		}
		blanks = c == 0 && areBlanks(text)
		return c == 0 && !blanks
	})
	if format.Separator == ';' {
		format.Comments[2] = "; " // without a blank it ends an empty field
	}
	next(func(in *delimited.Reader, text []byte) bool {
		fields, err := bytes.Fields(text), error(nil)
		if !blanks {
			fields, err = in.Fields()
		}
		if err == nil {
			row := make([][]byte, len(fields))
			for i, f := range fields {
				row[i] = bytes.Clone(f)
			}
			rows = append(rows, row)
		}
		return true
	})
	return format, blanks, rows
}

// areBlanks reports whether blanks separate the columns of a line without other separators: it has
// an address, and after the address a text that is not the rest of a range.
func areBlanks(line []byte) bool {
	fields := bytes.Fields(line)
	return len(fields) > 1 && isAddress(fields[0]) && !bytes.HasPrefix(fields[1], []byte{'-'})
}

// Records yields the records in order, once. The second value is nil, a *source.BadRecord, after
// which reading continues, or the error of the reader, which ends the sequence.
func (t *Table) Records() iter.Seq2[Record, error] {
	values := make([][]byte, len(t.columns))
	if t.rows == nil {
		return func(yield func(Record, error) bool) {
			for _, row := range slices.Backward(t.listed) {
				rec, err := Record{Fields: values, Line: row.Line}, error(nil)
				if reason, detail := t.record(row.Fields, &rec); reason != "" {
					rec, err = Record{}, &source.BadRecord{Source: t.name, Line: row.Line, Reason: reason, Detail: source.Excerpt(detail)}
				}
				if !yield(rec, err) {
					return
				}
			}
		}
	}
	header := t.header
	return delimited.Records(t.rows, func(rec *Record) error {
		if header {
			header = false
			return delimited.ErrSkip
		}
		fields, err := t.fields()
		if err != nil {
			return err
		}
		if t.delegated {
			if isSummary(fields) {
				return delimited.ErrSkip
			}
			if !isDelegation(fields) {
				return t.rows.Bad(ReasonDelegation, source.Excerpt(t.rows.Text()))
			}
			if fields = t.delegation(fields); fields == nil {
				return delimited.ErrSkip
			}
		}
		rec.Line, rec.Fields = t.rows.Line, values
		if reason, detail := t.record(fields, rec); reason != "" {
			return t.rows.Bad(reason, source.Excerpt(detail))
		}
		return nil
	})
}

// fields returns the fields of the last row. If blanks separate named columns, the last column
// may contain blanks.
func (t *Table) fields() ([][]byte, error) {
	if !t.blanks {
		return t.rows.Fields()
	}
	fields, rest := t.parted[:0], t.rows.Text()
	for len(rest) > 0 {
		i := bytes.IndexAny(rest, " \t")
		if i < 0 || t.shape == nil && len(fields)+1 == len(t.columns)-len(t.fixed) {
			i = len(rest)
		}
		fields, rest = append(fields, rest[:i]), bytes.TrimLeft(rest[i:], " \t")
	}
	t.parted = fields
	return fields, nil
}

// record reads the fields of a line into rec, or returns a reason and a detail about the wrong
// field.
func (t *Table) record(fields [][]byte, rec *Record) (reason string, detail []byte) {
	whole := func() []byte { return bytes.Join(fields, []byte{','}) }
	if t.shape != nil {
		values, network, length := fields, isWhole(fields[0]) || t.shape.network, -1
		switch {
		case len(values) > 1 && t.masks:
			values, network, length = values[2:], true, 1
		case network && !t.masks:
			values = values[1:]
		case len(values) > 1:
			values = values[2:]
		default:
			return ReasonColumns, whole()
		}
		if reason, detail = t.addresses(fields, 0, 1, length, network, rec); reason != "" {
			return reason, detail
		}
		if len(values) < min(t.shape.least, 1) {
			return ReasonColumns, whole()
		}
		return t.values(values, rec, whole)
	}
	if len(fields) < t.least {
		return ReasonColumns, whole()
	}
	// A network may also be in the column of first addresses if the last address is empty.
	network := t.network || t.last >= 0 && len(fields[t.last]) == 0 && isWhole(fields[t.first])
	if reason, detail = t.addresses(fields, t.first, t.last, t.length, network, rec); reason != "" {
		return reason, detail
	}
	return t.values(fields, rec, whole)
}

// addresses reads the addresses. length is the column of masks, or negative.
func (t *Table) addresses(fields [][]byte, first, last, length int, network bool, rec *Record) (reason string, detail []byte) {
	if reason, detail = parse(fields, first, last, network, rec); reason != "" || length < 0 {
		return reason, detail
	}
	if reason = t.mask(fields[length], network && !isWhole(fields[first]), rec); reason != "" {
		return reason, bytes.Join([][]byte{fields[first], fields[length]}, []byte{' '})
	}
	return "", nil
}

// values sets rec.Fields to the fields that belong to the columns.
func (t *Table) values(fields [][]byte, rec *Record, whole func() []byte) (reason string, detail []byte) {
	if !t.open && len(trimEmpty(fields)) > len(t.columns) {
		return ReasonTooManyColumns, whole()
	}
	for i, c := range t.columns {
		rec.Fields[i] = nil
		if own := len(t.columns) - len(t.fixed); i >= own {
			rec.Fields[i] = t.fixed[i-own]
		} else if i < len(fields) && IsValue(c) {
			rec.Fields[i] = fields[i]
			if t.routes {
				if rec.Fields[i] = firstOrigin(fields[i]); len(rec.Fields[i]) < len(bytes.Trim(fields[i], "{}")) {
					t.Shared++
				}
			}
		}
	}
	return "", nil
}

// parse reads the addresses.
func parse(fields [][]byte, first, last int, network bool, rec *Record) (reason string, detail []byte) {
	if network {
		rec.First, rec.Last, reason = parseNetwork(fields[first])
		return reason, fields[first]
	}
	a, aNumber, reason := parseAddr(fields[first])
	if reason != "" {
		return reason, fields[first]
	}
	b, bNumber, reason := parseAddr(fields[last])
	if reason != "" {
		return reason, fields[last]
	}
	// The size of a number decides its version; two numbers are of the same version.
	if aNumber && bNumber && a.Is4() != b.Is4() {
		a, b = widen(a), widen(b)
	}
	rec.First, rec.Last = a, b
	return "", nil
}

// ParseRange parses both ends of a range in the forms of a record. If last is empty, first is a
// network, a range with a hyphen, or a single address. length is a mask or the length of a prefix,
// or empty. The reason is empty if all are valid and agree.
func ParseRange(first, last, length string) (a, b netip.Addr, reason string) {
	var rec Record
	if reason, _ = parse([][]byte{[]byte(first), []byte(last)}, 0, 1, last == "", &rec); reason == "" && length != "" {
		m := readMask([]byte(length))
		t := Table{wildcards: m.wildcard && !m.either}
		reason = t.mask([]byte(length), last == "" && !isWhole([]byte(first)), &rec)
	}
	return rec.First, rec.Last, reason
}

// isWhole reports whether a field has both ends of a range.
func isWhole(s []byte) bool { return bytes.ContainsAny(s, "/-") }

// parseNetwork parses a network, a range with a hyphen, or a single address.
func parseNetwork(s []byte) (first, last netip.Addr, reason string) {
	if a, b, ok := bytes.Cut(s, []byte{'-'}); ok {
		var rec Record
		reason, _ = parse([][]byte{bytes.TrimSpace(a), bytes.TrimSpace(b)}, 0, 1, false, &rec)
		return rec.First, rec.Last, reason
	}
	if bytes.IndexByte(s, '/') < 0 {
		a, _, reason := parseAddr(s)
		return a, a, reason
	}
	p, err := netip.ParsePrefix(string(s))
	if err != nil {
		if i := bytes.IndexByte(s, '%'); i >= 0 {
			return first, last, ReasonZone
		}
		return first, last, ReasonAddress
	}
	return p.Masked().Addr(), source.LastAddr(p), ""
}
