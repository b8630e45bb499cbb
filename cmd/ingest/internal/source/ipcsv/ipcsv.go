// Package ipcsv reads lists of IP address ranges with the country of each:
// comma-separated text such as
//
//	1.0.0.0,1.0.0.255,AU
//	2001:200::,2001:200:ffff:ffff:ffff:ffff:ffff:ffff,JP
//	16777216,16777471,AU
//	1.0.1.0/24,CN
//
// Both addresses are included in their range. They are dotted, in any spelling
// of IPv6, or decimal numbers: two numbers below 2³² are IPv4 addresses, and if
// either is larger both are IPv6. A network in place of the first address
// stands for both. Fields may be quoted, lines end in LF or CRLF, blank lines
// and lines that begin with # are comments, and a line of column names may
// come first.
package ipcsv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"net/netip"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/textline"
)

// Record is one range as the file gives it. First and Last are valid addresses
// without zones, but may be of different versions or in the wrong order.
type Record struct {
	First, Last netip.Addr
	Country     string // as given, but for blanks around it; may be empty
	Line        int    // 1-based
}

// MaxLine is the longest line taken, in bytes with its end. Lists that carry
// cities and organisations stay below 1 KiB.
const MaxLine = 16 << 10

// The reasons of bad records.
const (
	reasonLine    = "line is too long"
	reasonQuotes  = "quotes are not closed or not alone in their field"
	reasonColumns = "too few columns"
	reasonAddress = "not an IP address"
)

// Read yields the records of r in order, and name is what bad ones are
// reported under. The second value is nil, a *source.BadRecord, after which
// reading goes on, or the error of r, which is the last thing yielded.
// Unpacking is left to source.Open.
func Read(r io.Reader, name string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := textline.New(r, MaxLine)
		var (
			cols   = positional
			fields [][]byte
			begun  bool // a line that is no comment has been met
		)
		for n := 1; ; n++ {
			line, last, err := lines.Next()
			bad := func(reason, detail string) error {
				return &source.BadRecord{Source: name, Line: n, Reason: reason, Detail: detail}
			}
			if errors.Is(err, textline.ErrLong) {
				begun = true
				if !yield(Record{}, bad(reasonLine, fmt.Sprintf("over %d bytes", MaxLine))) {
					return
				}
			} else if err != nil {
				yield(Record{}, fmt.Errorf("%s: line %d: %w", name, n, err))
				return
			}
			if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' {
				var ok bool
				var rec Record
				var refused error
				if fields, ok = textline.Split(text, fields[:0]); !ok {
					refused = bad(reasonQuotes, source.Excerpt(text))
				} else if !begun && isHeader(fields) {
					cols = cols.named(fields)
					begun = true
					if last {
						return
					}
					continue
				} else if reason, detail := cols.record(fields, &rec); reason != "" {
					refused = bad(reason, source.Excerpt(detail))
				}
				begun = true
				rec.Line = n
				if refused != nil {
					rec = Record{}
				}
				if !yield(rec, refused) {
					return
				}
			}
			if last {
				return
			}
		}
	}
}

// columns says where the fields of interest are.
type columns struct{ first, last, country int }

// positional is where they are unless a header says otherwise.
var positional = columns{first: 0, last: 1, country: 2}

// isHeader reports whether the first line names columns: its first field is a
// word. No address is, for an IPv6 address has colons.
func isHeader(fields [][]byte) bool {
	f := fields[0]
	return len(f) > 0 && !bytes.ContainsAny(f, ".:/") && ('a' <= f[0]|0x20 && f[0]|0x20 <= 'z' || f[0] == '_')
}

// columnNames are the names lists in use give the columns read here.
var columnNames = func() map[string]func(*columns) *int {
	m := make(map[string]func(*columns) *int)
	add := func(names string, of func(*columns) *int) {
		for name := range strings.FieldsSeq(names) {
			m[name] = of
		}
	}
	add("start first from start_ip ip_start range_start ip_range_start ip_from first_ip network cidr prefix",
		func(c *columns) *int { return &c.first })
	add("end last to end_ip ip_end range_end ip_range_end ip_to last_ip",
		func(c *columns) *int { return &c.last })
	add("country country_code country_iso_code iso_code cc",
		func(c *columns) *int { return &c.country })
	return m
}()

// named returns the columns a header names, or c when it does not name at
// least an address and the country by words known here.
func (c columns) named(fields [][]byte) columns {
	found := columns{-1, -1, -1}
	for i, f := range fields {
		if of, ok := columnNames[strings.ToLower(string(f))]; ok && *of(&found) < 0 {
			*of(&found) = i
		}
	}
	if found.first < 0 || found.country < 0 {
		return c
	}
	return found
}

// record reads the fields of a line into rec, or says what is wrong with which.
func (c columns) record(fields [][]byte, rec *Record) (reason string, detail []byte) {
	// A network fills the column of first addresses and leaves none for last
	// ones, unless a header says so.
	network := c.first < len(fields) && bytes.IndexByte(fields[c.first], '/') >= 0
	if network && c == positional {
		c.country = 1
	}
	if c.first >= len(fields) || c.country >= len(fields) || !network && (c.last < 0 || c.last >= len(fields)) {
		return reasonColumns, bytes.Join(fields, []byte{','})
	}
	first := fields[c.first]
	if network {
		p, err := netip.ParsePrefix(string(first))
		if err != nil {
			return reasonAddress, first
		}
		rec.First, rec.Last = p.Masked().Addr(), lastOf(p)
	} else {
		last := fields[c.last]
		a, aNumber, ok := parseAddr(first)
		if !ok {
			return reasonAddress, first
		}
		b, bNumber, ok := parseAddr(last)
		if !ok {
			return reasonAddress, last
		}
		// A number is of the version its size says; two are of the same.
		if aNumber && bNumber && a.Is4() != b.Is4() {
			a, b = widen(a), widen(b)
		}
		rec.First, rec.Last = a, b
	}
	rec.Country = string(fields[c.country])
	return "", nil
}

// parseAddr reads an address, and says whether it is written as a number.
func parseAddr(s []byte) (a netip.Addr, number, ok bool) {
	if len(s) > 0 && bytes.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0 {
		a, ok = parseNumber(s)
		return a, true, ok
	}
	a, err := netip.ParseAddr(string(s))
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, false, false
	}
	return a, false, true
}

// parseNumber reads decimal digits as an IPv4 address if they fit 32 bits,
// else as an IPv6 one.
func parseNumber(digits []byte) (netip.Addr, bool) {
	var hi, lo uint64
	for _, d := range digits {
		if hi > (1<<64-1)/10 {
			return netip.Addr{}, false
		}
		carry, low := bits.Mul64(lo, 10)
		low, c := bits.Add64(low, uint64(d-'0'), 0)
		hi, lo = hi*10+carry+c, low
		if hi < carry+c { // hi*10 fits, the carry did not
			return netip.Addr{}, false
		}
	}
	if hi == 0 && lo < 1<<32 {
		return netip.AddrFrom4([4]byte{byte(lo >> 24), byte(lo >> 16), byte(lo >> 8), byte(lo)}), true
	}
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(hi>>(56-8*i)), byte(lo>>(56-8*i))
	}
	return netip.AddrFrom16(b), true
}

// widen makes a number that fits 32 bits an IPv6 address: zeros before it, for
// it is a count, not an IPv4-mapped address.
func widen(a netip.Addr) netip.Addr {
	if !a.Is4() {
		return a
	}
	var b [16]byte
	copy(b[12:], a.AsSlice())
	return netip.AddrFrom16(b)
}

// lastOf returns the last address of a network.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := range b {
		if n := p.Bits() - 8*i; n < 8 {
			b[i] |= 0xff >> max(n, 0)
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
