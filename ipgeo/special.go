package ipgeo

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// ErrReserved is the error that every [ReservedError] matches.
var ErrReserved = errors.New("address is reserved")

// ReservedError is the error of looking up an address that belongs to no particular owner, such as
// a private, loopback or documentation address. It matches [ErrReserved].
type ReservedError struct{ Block SpecialBlock }

func (e *ReservedError) Error() string {
	return fmt.Sprintf("address is in %s, %s (%s), which has no place on the map; ask about a public address",
		e.Block.Prefix, e.Block.Name, e.Block.RFC)
}

// Is reports whether target is ErrReserved.
func (e *ReservedError) Is(target error) bool { return target == ErrReserved }

// SpecialBlock is one entry of the IANA special-purpose address registries.
type SpecialBlock struct {
	Prefix netip.Prefix
	Name   string
	RFC    string // what defines it: "RFC 1918"
	// Global is set for blocks that are reachable from anywhere. They are looked up like any other
	// address. All other blocks give a ReservedError, unless a source that may locate private
	// networks has an answer for them.
	Global bool
}

// private reports whether a block is for private networks.
func (b *SpecialBlock) private() bool {
	return b.RFC == "RFC 1918" || b.RFC == "RFC 6598" || b.RFC == "RFC 4193"
}

// SpecialBlockOf returns the most specific special-purpose block that holds a, and
// whether there is one. It does not resolve IPv4 addresses inside IPv6.
func SpecialBlockOf(a netip.Addr) (SpecialBlock, bool) {
	if e := special(a.WithZone("")); e != nil {
		return e.Block, true
	}
	return SpecialBlock{}, false
}

// special returns the entry of a, or nil. Entries are allocated once, so
// refusing an address allocates nothing.
func special(a netip.Addr) *ReservedError {
	var entries []*ReservedError
	switch {
	case a.Is4():
		entries = special4[a.As4()[0]]
	case a.Is6():
		entries = special6[a.As16()[0]]
	}
	for _, e := range entries {
		if e.Block.Prefix.Contains(a) {
			return e
		}
	}
	return nil
}

// special4 and special6 hold the blocks by the first byte of an address,
// longest prefix first. The first match is the answer.
var special4, special6 = indexSpecial()

func indexSpecial() (v4, v6 *[256][]*ReservedError) {
	v4, v6 = new([256][]*ReservedError), new([256][]*ReservedError)
	for _, s := range registry {
		e := &ReservedError{Block: SpecialBlock{Prefix: netip.MustParsePrefix(s.prefix), Name: s.name, RFC: s.rfc, Global: s.global}}
		index, first := v6, int(e.Block.Prefix.Addr().AsSlice()[0])
		if e.Block.Prefix.Addr().Is4() {
			index = v4
		}
		n := 1
		if b := e.Block.Prefix.Bits(); b < 8 {
			n = 1 << (8 - b)
		}
		for i := first; i < first+n; i++ {
			index[i] = append(index[i], e)
		}
	}
	for _, index := range []*[256][]*ReservedError{v4, v6} {
		for _, entries := range index {
			slices.SortStableFunc(entries, func(a, b *ReservedError) int { return b.Block.Prefix.Bits() - a.Block.Prefix.Bits() })
		}
	}
	return v4, v6
}

// registry is the IANA IPv4 and IPv6 SpecialBlockOf-Purpose Address Registries as updated on
// 2025-10-09. Below each follow the blocks that the IANA address-space registries reserve and from
// which no client can come.
//
// IPv4-mapped, 6to4 and Teredo addresses are missing, because they are resolved to their IPv4
// address first. The registry does not define whether 192.88.99.0/24 (deprecated in RFC 7526) is
// reachable. No client can come from it any more, so it is reserved here.
var registry = []struct {
	prefix, name, rfc string
	global            bool
}{
	{"0.0.0.0/8", "This network", "RFC 791", false},
	{"0.0.0.0/32", "This host on this network", "RFC 1122", false},
	{"10.0.0.0/8", "Private-Use", "RFC 1918", false},
	{"100.64.0.0/10", "Shared Address Space", "RFC 6598", false},
	{"127.0.0.0/8", "Loopback", "RFC 1122", false},
	{"169.254.0.0/16", "Link Local", "RFC 3927", false},
	{"172.16.0.0/12", "Private-Use", "RFC 1918", false},
	{"192.0.0.0/24", "IETF Protocol Assignments", "RFC 6890", false},
	{"192.0.0.0/29", "IPv4 Service Continuity Prefix", "RFC 7335", false},
	{"192.0.0.8/32", "IPv4 dummy address", "RFC 7600", false},
	{"192.0.0.9/32", "Port Control Protocol Anycast", "RFC 7723", true},
	{"192.0.0.10/32", "Traversal Using Relays around NAT Anycast", "RFC 8155", true},
	{"192.0.0.170/32", "NAT64/DNS64 Discovery", "RFC 8880", false},
	{"192.0.0.171/32", "NAT64/DNS64 Discovery", "RFC 8880", false},
	{"192.0.2.0/24", "Documentation (TEST-NET-1)", "RFC 5737", false},
	{"192.31.196.0/24", "AS112-v4", "RFC 7535", true},
	{"192.52.193.0/24", "AMT", "RFC 7450", true},
	{"192.88.99.0/24", "Deprecated (6to4 Relay Anycast)", "RFC 7526", false},
	{"192.88.99.2/32", "6a44-relay anycast address", "RFC 6751", false},
	{"192.168.0.0/16", "Private-Use", "RFC 1918", false},
	{"192.175.48.0/24", "Direct Delegation AS112 Service", "RFC 7534", true},
	{"198.18.0.0/15", "Benchmarking", "RFC 2544", false},
	{"198.51.100.0/24", "Documentation (TEST-NET-2)", "RFC 5737", false},
	{"203.0.113.0/24", "Documentation (TEST-NET-3)", "RFC 5737", false},
	{"240.0.0.0/4", "Reserved", "RFC 1112", false},
	{"255.255.255.255/32", "Limited Broadcast", "RFC 919", false},

	{"224.0.0.0/4", "Multicast", "RFC 5771", false},

	{"::1/128", "Loopback Address", "RFC 4291", false},
	{"::/128", "Unspecified Address", "RFC 4291", false},
	{"64:ff9b::/96", "IPv4-IPv6 Translation", "RFC 6052", true}, // resolved in lookups, but SpecialBlockOf may be called with it
	{"64:ff9b:1::/48", "IPv4-IPv6 Translation", "RFC 8215", false},
	{"100::/64", "Discard-Only Address Block", "RFC 6666", false},
	{"100:0:0:1::/64", "Dummy IPv6 Prefix", "RFC 9780", false},
	{"2001::/23", "IETF Protocol Assignments", "RFC 2928", false},
	{"2001:1::1/128", "Port Control Protocol Anycast", "RFC 7723", true},
	{"2001:1::2/128", "Traversal Using Relays around NAT Anycast", "RFC 8155", true},
	{"2001:1::3/128", "DNS-SD Service Registration Protocol Anycast", "RFC 9665", true},
	{"2001:2::/48", "Benchmarking", "RFC 5180", false},
	{"2001:3::/32", "AMT", "RFC 7450", true},
	{"2001:4:112::/48", "AS112-v6", "RFC 7535", true},
	{"2001:10::/28", "Deprecated (previously ORCHID)", "RFC 4843", false},
	{"2001:20::/28", "ORCHIDv2", "RFC 7343", true},
	{"2001:30::/28", "Drone Remote ID Protocol Entity Tags (DETs) Prefix", "RFC 9374", true},
	{"2001:db8::/32", "Documentation", "RFC 3849", false},
	{"2620:4f:8000::/48", "Direct Delegation AS112 Service", "RFC 7534", true},
	{"3fff::/20", "Documentation", "RFC 9637", false},
	{"5f00::/16", "Segment Routing (SRv6) SIDs", "RFC 9602", false},
	{"fc00::/7", "Unique-Local", "RFC 4193", false},
	{"fe80::/10", "Link-Local Unicast", "RFC 4291", false},

	{"fec0::/10", "Deprecated (Site-Local Unicast)", "RFC 3879", false},
	{"ff00::/8", "Multicast", "RFC 4291", false},
}
