// Package ipcsv reads lists of IP address ranges with what is known of each:
// text in columns separated by commas, tabs, semicolons or vertical bars, such as
//
//	1.0.0.0,1.0.0.255,AU
//	2001:200::,2001:200:ffff:ffff:ffff:ffff:ffff:ffff,JP
//	16777216,16777471,AU
//	1.0.1.0/24,CN
//
// Both addresses are included in their range. They are dotted, in any spelling
// of IPv6, or decimal numbers: two numbers below 2³² are IPv4 addresses, and if
// either is larger both are IPv6. A network, or both addresses with a hyphen between
// them, in place of the first address stands for both. Fields between commas may be quoted, lines end in LF or
// CRLF, blank lines and lines that begin with # are comments, and a line of
// column names may come first. Without one the columns are recognised by what
// they hold: see layouts.
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
	"regexp"
	"slices"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
)

// Record is one range as the file gives it. First and Last are valid addresses
// without zones, but may be of different versions or in the wrong order.
type Record struct {
	First, Last netip.Addr
	// Fields are the values of Table.Columns, without the blanks around them;
	// empty for columns of addresses, those left out, and those the row lacks.
	// They are valid until the next record.
	Fields [][]byte
	Line   int // 1-based
}

// MaxLine is the longest line taken, in bytes with its end. Lists that carry
// cities and organisations stay below 1 KiB.
const MaxLine = 16 << 10

// The part of a list that is looked at to recognise the columns: so many rows,
// and so many bytes.
const (
	sampled     = 200
	sampleBytes = sampled * MaxLine
)

// The reasons of bad records.
const (
	ReasonColumns = "too few columns"
	ReasonMore    = "too many columns"
	ReasonAddress = "not an IP address"
	ReasonZone    = "address with a zone"
	ReasonPort    = "address in brackets or with a port"
	// ReasonDelegation is of lines among delegations.
	ReasonDelegation = "no delegation of a registry"
)

// ErrColumns is matched by the error for a list whose columns are not known.
var ErrColumns = errors.New("its columns are not known")

// Table is an opened list.
type Table struct {
	rows   *delimited.Reader
	header bool

	delegated bool
	// Systems is the number of lines about autonomous systems that were passed over in
	// delegations.
	Systems int
	name    string
	listed  []Record // rows of JSON, of which only Fields and Line are set

	layout  string
	guess   string
	columns []Column
	fixed   [][]byte // values of the last columns in all rows
	shape   *layout  // nil when the columns were named
	open    bool     // more fields than columns may come
	least   int      // fields that a row must have, when the columns were named
}

// Open reads the first lines of r and learns from them what the columns hold,
// unless columns says so. name is the name in errors and bad records. Unpacking
// is left to source.Open. The error matches ErrColumns if the columns are not
// recognised, also for a file without a single address.
func Open(r io.Reader, name string, columns []Column) (*Table, error) {
	head, err := io.ReadAll(io.LimitReader(r, sampleBytes))
	whole := head
	if err != nil || len(head) == sampleBytes {
		whole = head[:bytes.LastIndexAny(head, "\r\n")+1]
	}
	format, fields := sample(whole)
	t := &Table{rows: delimited.New(io.MultiReader(bytes.NewReader(head), r), name, format)}
	switch {
	case columns != nil:
		t.layout, t.open = "list with the columns given", true
		t.fix(columns)
		at := max(slices.Index(t.columns, First), slices.Index(t.columns, Network))
		t.header = len(fields) > 0 && at < len(fields[0]) && isHeader(fields[0][at:])
	case format.Separator == '|' && areDelegations(fields): // of which the first looks like a header
		t.columns, t.layout, t.delegated = []Column{First, Last, Country}, "list of delegations", true
		t.header = isVersion(fields[0])
	case len(fields) > 0 && isHeader(fields[0]):
		t.columns, t.layout = named(fields[0]), "list with column names"
		t.header = t.columns != nil || len(fields) > 1 // words alone are a message, and no header
		t.guess = leftOver(fields[0], t.columns)
		fields = fields[1:]
	}
	if t.columns != nil {
		t.least = 1 + max(slices.Index(t.columns, First), slices.Index(t.columns, Last), slices.Index(t.columns, Network),
			slices.IndexFunc(t.columns[:len(t.columns)-len(t.fixed)], isValue))
		return t, nil
	}
	if t.shape, t.guess = recognise(fields); t.shape == nil {
		return nil, fmt.Errorf("%s: %w; name them in a first line or by --columns, such as --columns first,last,country,-,city, or --columns network,country=DE for networks alone", name, ErrColumns)
	}
	t.layout, t.open = t.shape.name, t.shape.open
	for _, c := range t.shape.columns {
		t.columns = append(t.columns, c.column)
	}
	return t, nil
}

// Columns returns what the fields of the records hold.
func (t *Table) Columns() []Column { return t.columns }

// Layout names the kind of list, for people.
func (t *Table) Layout() string { return t.layout }

// Guess returns, for people, what was inferred about the columns, and which
// columns are not read; "" if nothing was.
func (t *Table) Guess() string { return t.guess }

// IsGeofeed reports whether the list has what a geofeed has, and nothing else.
func (t *Table) IsGeofeed() bool {
	return slices.Contains(t.columns, Region) && !slices.ContainsFunc(t.columns, func(c Column) bool {
		return !slices.Contains([]Column{Network, Country, CountryCode, Region, City, Postal, Skip}, c)
	})
}

// sample finds out from the first lines of a list how it is written, and
// returns the fields of its first rows.
func sample(lines []byte) (format delimited.Format, rows [][][]byte) {
	format = delimited.Format{Separator: ',', MaxBytes: MaxLine, Lax: true, Comments: true, UTF8: true}
	in := delimited.New(bytes.NewReader(lines), "", format)
	first := true
	for range sampled {
		text, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			continue // a bad row tells nothing
		}
		begins := first
		first = false
		if begins {
			format.Separator = separator(text)
		}
		if begins && format.Separator != ',' {
			in = delimited.New(bytes.NewReader(lines), "", format)
			continue
		}
		if fields, err := in.Fields(); err == nil {
			row := make([][]byte, len(fields))
			for i, f := range fields {
				row[i] = bytes.Clone(f)
			}
			rows = append(rows, row)
		}
	}
	return format, rows
}

var inQuotes = regexp.MustCompile(`"[^"]*"`)

// separator returns what separates the columns of a line: the first comma or tab
// outside quotes, or else the first semicolon or vertical bar. Commas and tabs come
// first because lists that use one of them have the other characters in names.
func separator(line []byte) byte {
	line = inQuotes.ReplaceAll(line, nil)
	i := bytes.IndexAny(line, ",\t")
	if i < 0 {
		i = bytes.IndexAny(line, ";|")
	}
	if i < 0 {
		return ','
	}
	return line[i]
}

// Records yields the records in order, once. The second value is nil, a
// *source.BadRecord, after which reading goes on, or the error of the reader,
// which is the last thing yielded.
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
		fields, err := t.rows.Fields()
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

// record reads the fields of a line into rec, or returns which field is wrong, and why.
func (t *Table) record(fields [][]byte, rec *Record) (reason string, detail []byte) {
	whole := func() []byte { return bytes.Join(fields, []byte{','}) }
	if t.shape != nil {
		values, network := fields, isWhole(fields[0]) || t.shape.network
		if network {
			values = values[1:]
		} else if len(values) > 1 {
			values = values[2:]
		} else {
			return ReasonColumns, whole()
		}
		if reason, detail = parse(fields, 0, 1, network, rec); reason != "" {
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
	first, network := slices.Index(t.columns, First), false
	if first < 0 {
		first, network = slices.Index(t.columns, Network), true
	}
	// A network may also stand in the column of first addresses, with the last
	// address left empty.
	last := slices.Index(t.columns, Last)
	if last >= 0 && len(fields[last]) == 0 && isWhole(fields[first]) {
		network = true
	}
	if reason, detail = parse(fields, first, last, network, rec); reason != "" {
		return reason, detail
	}
	return t.values(fields, rec, whole)
}

// values takes the fields that belong to the columns.
func (t *Table) values(fields [][]byte, rec *Record, whole func() []byte) (reason string, detail []byte) {
	if !t.open && len(trimEmpty(fields)) > len(t.columns) {
		return ReasonMore, whole()
	}
	for i, c := range t.columns {
		rec.Fields[i] = nil
		if own := len(t.columns) - len(t.fixed); i >= own {
			rec.Fields[i] = t.fixed[i-own]
		} else if i < len(fields) && isValue(c) {
			rec.Fields[i] = fields[i]
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
	// The size of a number tells its version; two numbers are of the same version.
	if aNumber && bNumber && a.Is4() != b.Is4() {
		a, b = widen(a), widen(b)
	}
	rec.First, rec.Last = a, b
	return "", nil
}

// isWhole reports whether a field has both ends of a range.
func isWhole(s []byte) bool { return bytes.ContainsAny(s, "/-") }

// parseNetwork reads a network, a range with a hyphen, or an address that is one alone.
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
