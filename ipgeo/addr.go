package ipgeo

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
)

// ErrBadAddress is matched by errors about text that is not an IP address.
var ErrBadAddress = errors.New("not an IP address")

// ParseAddr reads an IP address: dotted IPv4, or IPv6 in any of its spellings.
// It drops a zone ("fe80::1%eth0"). It refuses IPv4 parts with leading zeros,
// because some programs read them as octal. The error matches [ErrBadAddress].
func ParseAddr(s string) (netip.Addr, error) {
	const longest = 128 // an address with a very long zone
	if s == "" || len(s) > longest {
		return netip.Addr{}, fmt.Errorf("%w: it has %d characters; give one like 1.2.3.4 or 2001:db8::1", ErrBadAddress, len(s))
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%w: %q; give one like 1.2.3.4 or 2001:db8::1", ErrBadAddress, s)
	}
	return a.WithZone(""), nil
}

// resolve returns the address to look up for a. If a is an IPv6 address that
// only carries an IPv4 address, that is the IPv4 address; otherwise it is a
// itself.
func resolve(a netip.Addr) netip.Addr {
	if a.Is4() {
		return a
	}
	if a.Is4In6() {
		return a.Unmap()
	}
	b := a.As16()
	switch {
	case [12]byte(b[:12]) == nat64: // RFC 6052 §2.1, the well-known prefix
		return netip.AddrFrom4([4]byte(b[12:]))
	case b[0] == 0x20 && b[1] == 0x02: // 6to4, RFC 3056: 2002:V4ADDR::/48
		return netip.AddrFrom4([4]byte(b[2:6]))
	case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0:
		// In Teredo (RFC 4380 §4) the client's address is the last 32 bits, with every bit inverted
		// so that no translator on the way rewrites it.
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
	}
	return a.WithZone("")
}

// nat64 is the well-known prefix of IPv6 addresses translated from IPv4,
// 64:ff9b::/96.
var nat64 = [12]byte{1: 0x64, 2: 0xff, 3: 0x9b}

// carriers are the IPv6 networks whose addresses resolve to IPv4 addresses.
var carriers = []struct {
	prefix netip.Prefix
	skip   int // bits before the IPv4 address
}{
	{netip.MustParsePrefix("::ffff:0:0/96"), 96},
	{netip.MustParsePrefix("64:ff9b::/96"), 96},
	{netip.MustParsePrefix("2001::/32"), 96},
	{netip.MustParsePrefix("2002::/16"), 16},
}

// u128 is an address as a number. An IPv4 address uses the low 32 bits.
type u128 struct{ hi, lo uint64 }

var maxU128 = u128{^uint64(0), ^uint64(0)}

func (a u128) compare(b u128) int {
	if a.hi != b.hi {
		return cmp.Compare(a.hi, b.hi)
	}
	return cmp.Compare(a.lo, b.lo)
}

func (a u128) less(b u128) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func (a u128) inc() u128 {
	lo, carry := bits.Add64(a.lo, 1, 0)
	return u128{a.hi + carry, lo}
}

func (a u128) dec() u128 {
	lo, borrow := bits.Sub64(a.lo, 1, 0)
	return u128{a.hi - borrow, lo}
}

func (a u128) sub(b u128) u128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return u128{hi, lo}
}

func (a u128) xor(b u128) u128 { return u128{a.hi ^ b.hi, a.lo ^ b.lo} }

func (a u128) not() u128 { return u128{^a.hi, ^a.lo} }

func (a u128) bitLen() int {
	if a.hi != 0 {
		return 64 + bits.Len64(a.hi)
	}
	return bits.Len64(a.lo)
}

func (a u128) trailingZeros() int {
	if a.lo == 0 {
		return 64 + bits.TrailingZeros64(a.hi)
	}
	return bits.TrailingZeros64(a.lo)
}

// networkBits returns the length of the largest CIDR network that holds a and
// lies inside [first, last]. All are addresses of width bits (32 or 128).
//
// Clearing the k low bits of a must not go below first. Let d be the highest
// bit in which the two differ: there a has a one and first a zero. Every k ≤ d
// works, because bit d stays set. A larger k clears bit d too. The result is at
// least first only if first itself ends in k zeros. So the largest k is the
// larger of d and the number of zeros at the end of first. The same holds for
// last, with ones.
func networkBits(a, first, last u128, width int) int {
	below := max(a.xor(first).bitLen()-1, first.trailingZeros())
	above := max(a.xor(last).bitLen()-1, last.not().trailingZeros())
	return width - min(below, above, width)
}

func network(v4 bool, a, first, last u128) netip.Prefix {
	width := 128
	if v4 {
		width = 32
	}
	bits := networkBits(a, first, last, width)
	if host := width - bits; host >= 64 {
		a = u128{hi: a.hi >> (host - 64) << (host - 64)}
	} else {
		a.lo = a.lo >> host << host
	}
	return netip.PrefixFrom(addrOf(v4, a), bits)
}

// decimals spells 0 to 255. Its last byte is the number of digits.
var decimals = func() (t [256][4]byte) {
	for i := range t {
		t[i][3] = byte(copy(t[i][:3], strconv.Itoa(i)))
	}
	return t
}()

// appendNetwork appends the same as Prefix.AppendTo, but faster for IPv4.
func appendNetwork(dst []byte, p netip.Prefix) []byte {
	if !p.Addr().Is4() {
		return p.AppendTo(dst)
	}
	for i, b := range p.Addr().As4() {
		if i > 0 {
			dst = append(dst, '.')
		}
		d := &decimals[b]
		dst = append(dst, d[:d[3]]...)
	}
	d := &decimals[p.Bits()]
	return append(append(dst, '/'), d[:d[3]]...)
}
