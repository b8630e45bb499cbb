package ipcsv

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source"
)

// mask is a value in a column of masks: a length, a netmask or a wildcard mask.
type mask struct {
	length int // of the prefix; -1 for any other text
	// A dotted mask is a netmask, a wildcard mask or, like 0.0.0.0 and 255.255.255.255, possibly
	// either.
	dotted, wildcard, either bool
}

// readMask parses 24, /24, 255.255.255.0 or 0.0.0.255. A mask with holes is not valid.
func readMask(s []byte) mask {
	if digits := bytes.TrimPrefix(s, []byte{'/'}); len(digits) <= 3 && source.IsDigits(digits) {
		n, _ := strconv.Atoi(string(digits)) // three digits
		return mask{length: n}
	}
	a, ok := parseDotted(s)
	if !ok {
		return mask{length: -1}
	}
	b := a.As4()
	n := binary.BigEndian.Uint32(b[:])
	m := mask{dotted: true, wildcard: n>>31 == 0, either: n == 0 || n == 1<<32-1}
	if m.wildcard {
		n = ^n
	}
	if m.length = bits.LeadingZeros32(^n); n != ^uint32(0)<<(32-m.length) {
		return mask{length: -1}
	}
	return m
}

// turned interprets an ambiguous mask as a netmask or a wildcard mask, like the other masks of its
// list.
func (m mask) turned(wildcards bool) mask {
	if m.either && m.wildcard != wildcards {
		m.length, m.wildcard = 32-m.length, wildcards
	}
	return m
}

// mask sets a record to the network with the address and the mask of a row. bare is set if the row
// has a single address. The reason is empty if address and mask agree.
func (t *Table) mask(s []byte, bare bool, rec *Record) (reason string) {
	m := readMask(s).turned(t.wildcards)
	if m.length < 0 || m.length > rec.First.BitLen() || m.dotted && (!rec.First.Is4() || m.wildcard != t.wildcards) {
		return ReasonMask
	}
	p := netip.PrefixFrom(rec.First, m.length)
	switch last := source.LastAddr(p); {
	case p.Masked().Addr() != rec.First && bare:
		return ReasonHost
	case bare:
		rec.Last = last
	case p.Masked().Addr() != rec.First || rec.Last != last:
		return ReasonOther
	}
	return ""
}

// areWildcards reports whether the first mask in a column that is not ambiguous is a wildcard mask.
// If all are ambiguous, the name of the column decides.
func areWildcards(rows [][][]byte, column int, name string) bool {
	for _, f := range rows {
		if m := readMask(field(f, column)); m.dotted && !m.either && m.length >= 0 {
			return m.wildcard
		}
	}
	return strings.Contains(name, "wild") || strings.Contains(name, "host")
}

// maskLasts reports whether in most rows the second of two addresses is a mask for the first, and
// not the last address of a range. At least one mask must be other than 0.0.0.0 and
// 255.255.255.255, because these two may also be last addresses.
func maskLasts(rows [][][]byte, first, last int) bool {
	masks, of, telling := 0, 0, false
	for _, f := range rows {
		a, ok := parseDotted(field(f, first))
		if !ok {
			continue
		}
		of++
		if m := readMask(field(f, last)); m.dotted && m.length >= 0 && netip.PrefixFrom(a, m.length).Masked().Addr() == a {
			masks++
			telling = telling || !m.either
		}
	}
	return masks*2 > of && telling
}

// joined returns rows in which the first two columns, a network and its mask, are replaced by the
// network.
func joined(rows [][][]byte) (all [][][]byte) {
	for _, f := range rows {
		if len(f) > 1 {
			all = append(all, append([][]byte{slices.Concat(f[0], []byte("/32"))}, f[2:]...))
		}
	}
	return all
}

// Kind is the form of a text in a network's columns. A more precise kind is greater.
type Kind int

// These are the kinds. A dotted mask has the form of an address too, but is hardly the address of a
// network.
const (
	Digits Kind = iota // 24, as a length
	DottedMask
	Unknown
	NumberedAddress // in decimal
	SingleAddress
	WholeNetwork // with its length, or both ends
)

// KindOf returns the kind of a text. Only the address of a network can be confused with a mask, and
// not the end of a range. All forms of lengths are equally precise.
func KindOf(text string, column Column) Kind {
	s := []byte(text)
	address := isAddress(s)
	_, _, reason := parseAddr(s)
	m := readMask(s)
	switch {
	case column == PrefixLength && m.length >= 0:
		return NumberedAddress
	case column == PrefixLength:
		return Unknown
	case column == Network && m.dotted:
		return DottedMask
	case column == Network && m.length >= 0:
		return Digits
	case address && isWhole(s):
		return WholeNetwork
	case address:
		return SingleAddress
	case reason == "":
		return NumberedAddress
	}
	return Unknown
}

// BeginNetworks reports whether all networks are single addresses that look like the beginning of a
// network, so that their lengths were probably lost.
func BeginNetworks(networks []string) bool {
	var rows [][][]byte
	for _, n := range networks {
		rows = append(rows, [][]byte{[]byte(n)})
	}
	return areFirsts(rows, 0)
}

// areFirsts reports whether every network in a column is a single address at the beginning of a
// network, for example one ending in .0. This is hardly a list of single addresses; more likely
// their lengths were lost. Rows without an address do not count.
func areFirsts(rows [][][]byte, column int) bool {
	some := false
	for _, f := range rows {
		if column >= len(f) {
			continue
		}
		if isWhole(f[column]) {
			return false
		}
		a, _, reason := parseAddr(f[column])
		if reason != "" {
			continue
		}
		host := 8
		if a.Is6() {
			host = 64
		}
		if netip.PrefixFrom(a, a.BitLen()-host).Masked().Addr() != a {
			return false
		}
		some = true
	}
	return some
}
