package ipgeo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"

	"quadrille/cellstore"
)

// Result is the answer to one lookup. The zero Result is ready for use. Reusing
// a Result allocates nothing.
type Result struct {
	// Addr is the address that was looked up: without a zone, and as IPv4 if the given address
	// carries one. It is also set with ErrNotFound and ErrReserved.
	Addr netip.Addr
	// Network is the largest CIDR network that holds Addr and has one answer
	// throughout. It has the same IP version as Addr.
	Network netip.Prefix
	// First and Last bound the range of the answer, both included.
	First, Last netip.Addr
	// Country is the ISO 3166-1 code of the country, or "".
	Country string
	// JSON holds the members of the answer's JSON object, without the braces
	// around them, so that a caller can put members of its own before or
	// after. Up to "traits" they are those of GeoIP2:
	//
	//	"continent":{…},"country":{…},"registered_country":{…},
	//	"represented_country":{…},"city":{…},"location":{…},"postal":{…},
	//	"subdivisions":[…],"traits":{…,"network":"1.0.0.0/24"},
	//	"quadkey":"1202102332221212","extra":{…},"derived":[…]
	//
	// "quadkey" is the zoom-16 cell of the coordinates. "extra" holds the
	// sources' other fields. "derived" names the fields that were filled from
	// other data sets. Unknown members are absent. JSON is valid until the next
	// lookup into this Result.
	JSON []byte

	country, city, traits, network, object, own []byte // parts of JSON

	lat, lon float64
	located  bool
	asn      uint32

	row  cellstore.Row
	key  [maxKey]byte
	json []byte // the memory of JSON
}

// CountryJSON returns the members known from country-level sources, as JSON
// without braces: "continent", "country", "registered_country" and
// "represented_country". Like JSON it is valid until the next lookup.
func (r *Result) CountryJSON() []byte { return r.country }

// CityJSON returns the members known from city-level sources: "city",
// "location", "postal" and "subdivisions".
func (r *Result) CityJSON() []byte { return r.city }

// TraitsJSON returns the members of "traits" without "network", for callers
// that add more of their own. It may be empty.
func (r *Result) TraitsJSON() []byte { return r.traits }

// Location returns the coordinates, in degrees, and whether there are any.
func (r *Result) Location() (lat, lon float64, ok bool) { return r.lat, r.lon, r.located }

// ASN returns the number of the autonomous system, or 0.
func (r *Result) ASN() uint32 { return r.asn }

// Field returns one value as JSON, or nil if it is absent. Strings have their
// quotes and escapes. The path names members, and elements of arrays by their
// index from 0: "city.names.en", "subdivisions.0.iso_code". Field makes no
// copy. The value is valid until the next lookup into this Result.
func (r *Result) Field(path string) []byte {
	name, rest, deeper := cutPath(path)
	var value []byte
	switch name {
	case "continent", "country", "registered_country", "represented_country":
		value = member(r.country, name)
	case "city", "location", "postal", "subdivisions":
		value = member(r.city, name)
	case "traits":
		value = r.object
		if rest == "network" { // network comes last
			return r.network
		}
	default:
		value = member(r.own, name)
	}
	for deeper && len(value) > 0 {
		name, rest, deeper = cutPath(rest)
		switch value[0] {
		case '{':
			value = member(inner(value), name)
		case '[':
			value = element(inner(value), name)
		default:
			return nil
		}
	}
	if len(value) == 0 {
		return nil
	}
	return value
}

func cutPath(path string) (name, rest string, more bool) {
	for i := range len(path) {
		if path[i] == '.' {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

func element(elements []byte, index string) []byte {
	i, err := strconv.ParseUint(index, 10, 16)
	if err != nil {
		return nil
	}
	for len(elements) > 0 {
		value, rest, ok := nextElement(elements)
		if !ok {
			return nil
		}
		if i == 0 {
			return value
		}
		elements = rest
		i--
	}
	return nil
}

// Record decodes the answer. Unlike a lookup, it allocates. Numbers in Extra
// become int64 or uint64 if they are written as integers, otherwise float64.
func (r *Result) Record() (Record, error) {
	var rec Record
	b := make([]byte, 0, len(r.JSON)+2)
	b = append(append(append(b, '{'), r.JSON...), '}')
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&rec); err != nil {
		return Record{}, fmt.Errorf("ipgeo: record of %s: %w: %w", r.Addr, cellstore.ErrCorrupt, err)
	}
	for k, v := range rec.Extra {
		rec.Extra[k] = numbers(v)
	}
	return rec, nil
}

// numbers replaces each json.Number in v.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64() // the builder writes no number out of range
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

// begin clears the result for a lookup of addr and returns the address to look up, or an error if
// no lookup is needed. private is set if private addresses are looked up.
func (r *Result) begin(addr netip.Addr, private bool) (netip.Addr, error) {
	r.clear()
	if !addr.IsValid() {
		r.Addr = netip.Addr{}
		return addr, errZeroAddr
	}
	addr = resolve(addr)
	r.Addr = addr
	if s := special(addr); s != nil && !s.Block.Global && !(private && s.Block.private()) {
		return addr, s
	}
	return addr, nil
}

// nothing returns the error for an address that no range covers.
func (r *Result) nothing() error {
	if s := special(r.Addr); s != nil && s.Block.private() {
		return s
	}
	return ErrNotFound
}

var errZeroAddr = fmt.Errorf("ipgeo: %w: the zero Addr; parse one first", ErrBadAddress)

func (r *Result) clear() {
	r.Network, r.First, r.Last, r.Country = netip.Prefix{}, netip.Addr{}, netip.Addr{}, ""
	r.JSON, r.country, r.city, r.traits, r.network, r.object, r.own = nil, nil, nil, nil, nil, nil, nil
	r.lat, r.lon, r.located, r.asn = 0, 0, false, 0
}

// fill sets the result to the answer of a range for an address.
func (r *Result) fill(v4 bool, addr, first, last u128, a *answer) {
	r.Network = network(v4, addr, first, last)
	r.First, r.Last = addrOf(v4, first), addrOf(v4, last)
	r.Country = codeString(a.code())
	r.lat, r.lon, r.located, r.asn = a.lat, a.lon, a.point.kind != pointNone, a.asn()

	// The parts are sliced only after j has its final memory.
	j := append(r.json[:0], a.country()...)
	country := len(j)
	if country > 0 {
		j = append(j, ',')
	}
	place := len(j)
	j = a.appendCity(j)
	city := len(j)
	if city == place { // nothing follows the comma
		j = j[:country]
		place, city = country, country
	}
	if len(j) > 0 {
		j = append(j, ',')
	}
	j = append(j, `"traits":{`...)
	traits := len(j)
	j = append(j, a.traits()...)
	traitsEnd := len(j)
	if traitsEnd > traits {
		j = append(j, ',')
	}
	j = append(j, `"network":"`...)
	network := len(j) - 1
	j = appendNetwork(j, r.Network)
	j = append(j, '"', '}')
	object := len(j)
	j = append(j, ',')
	own := len(j)
	if j = a.appendOwn(j); len(j) == own {
		j = j[:object]
		own = object
	}
	r.json, r.JSON = j, j
	r.country = part(j, 0, country)
	r.city = part(j, place, city)
	r.traits = part(j, traits, traitsEnd)
	r.network = part(j, network, object-1)
	r.object = part(j, traits-1, object)
	r.own = part(j, own, len(j))
}

// part returns j[from:to] with no spare capacity, so that appending cannot
// overwrite j, or nil if it is empty.
func part(j []byte, from, to int) []byte {
	if from == to {
		return nil
	}
	return j[from:to:to]
}
