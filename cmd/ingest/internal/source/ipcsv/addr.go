package ipcsv

import (
	"bytes"
	"math/bits"
	"net/netip"
	"quadrille/cmd/ingest/internal/source"
)

// parseAddr parses an address, and reports whether it is written as a number. The reason is empty
// if the address is valid.
func parseAddr(s []byte) (a netip.Addr, number bool, reason string) {
	if source.IsDigits(s) {
		a, ok := parseNumber(s)
		if !ok {
			return netip.Addr{}, true, ReasonAddress
		}
		return a, true, ""
	}
	if a, ok := parseDotted(s); ok {
		return a, false, ""
	}
	a, err := netip.ParseAddr(string(s))
	switch {
	case err == nil && a.Zone() == "":
		return a, false, ""
	case err == nil:
		return netip.Addr{}, false, ReasonZone
	case bytes.IndexByte(s, '[') >= 0:
		return netip.Addr{}, false, ReasonPort
	}
	if _, err := netip.ParseAddrPort(string(s)); err == nil {
		return netip.Addr{}, false, ReasonPort
	}
	return netip.Addr{}, false, ReasonAddress
}

// parseDotted does the same as netip.ParseAddr for IPv4 addresses, without its allocations, which
// take most of the time for a list of millions. Both refuse leading zeros, because some programs
// read them as octal.
func parseDotted(s []byte) (netip.Addr, bool) {
	var b [4]byte
	at, digits, value := 0, 0, 0
	for _, c := range s {
		switch {
		case c == '.':
			if digits == 0 || at == 3 {
				return netip.Addr{}, false
			}
			b[at] = byte(value)
			at, digits, value = at+1, 0, 0
		case '0' <= c && c <= '9':
			if digits > 0 && value == 0 {
				return netip.Addr{}, false
			}
			if digits, value = digits+1, value*10+int(c-'0'); value > 255 {
				return netip.Addr{}, false
			}
		default:
			return netip.Addr{}, false
		}
	}
	if at != 3 || digits == 0 {
		return netip.Addr{}, false
	}
	b[3] = byte(value)
	return netip.AddrFrom4(b), true
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

// widen converts a number that fits into 32 bits to an IPv6 address. It adds zeros in front,
// because the number is not an IPv4-mapped address.
func widen(a netip.Addr) netip.Addr {
	if !a.Is4() {
		return a
	}
	var b [16]byte
	copy(b[12:], a.AsSlice())
	return netip.AddrFrom16(b)
}
