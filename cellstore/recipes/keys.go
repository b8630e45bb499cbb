package recipes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quadrille/cellstore"
)

// Salted spreads keys that arrive in order, such as times, over a fixed number
// of buckets: writes no longer all land at the end of the table. The salt
// follows from the key, so a Get still costs one read.
//
//	row                v:
//	bucket 1 B | key   (empty)=value  (bucket = FNV-1a(key) mod Buckets)
//
// Buckets, 1 to 256, must not change once there is data.
type Salted struct {
	T       cellstore.Table
	Buckets int
}

func (s Salted) key(key []byte) []byte {
	return append([]byte{bucketOf(key, s.Buckets)}, key...)
}

// Put writes a value.
func (s Salted) Put(ctx context.Context, key, value []byte) error {
	return s.T.Apply(ctx, cellstore.Mutation{Row: s.key(key), Ops: []cellstore.Op{cellstore.Put("v", nil, value)}})
}

// Get reads a value and reports whether there is one.
func (s Salted) Get(ctx context.Context, key []byte) ([]byte, bool, error) {
	return getValue(ctx, s.T, s.key(key), "v", "")
}

// Keys reads back, in order, the keys from ≤ key < to; an empty end is open.
// It is one scan over a range per bucket. Each bucket is in order but not the
// whole, hence the sort, which holds what it answers in memory.
func (s Salted) Keys(ctx context.Context, from, to []byte) ([]string, error) {
	ranges := make([]cellstore.Range, s.Buckets)
	for i := range ranges {
		salt := []byte{byte(i)}
		ranges[i] = cellstore.Range{From: slices.Concat(salt, from), To: slices.Concat(salt, to)}
		if len(to) == 0 {
			ranges[i].To = cellstore.PrefixEnd(salt)
		}
	}
	var keys []string
	for row, err := range s.T.Scan(ctx, cellstore.Scan{Ranges: ranges}) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, string(row.Key[1:]))
	}
	slices.Sort(keys)
	return keys, nil
}

// Hashed files values under the hash of their key: rows of one short width,
// evenly spread, however long or alike the keys are. The price is order, so
// there is Get and nothing else. The key itself is kept in the row.
//
//	row              v:
//	hash(key) 16 B   key=key  value=value
type Hashed struct{ T cellstore.Table }

// Put writes a value.
func (h Hashed) Put(ctx context.Context, key string, value []byte) error {
	return h.T.Apply(ctx, cellstore.Mutation{Row: hashName(key), Ops: []cellstore.Op{
		cellstore.Put("v", []byte("key"), []byte(key)), cellstore.Put("v", []byte("value"), value)}})
}

// Get reads a value and reports whether there is one.
func (h Hashed) Get(ctx context.Context, key string) ([]byte, bool, error) {
	return getValue(ctx, h.T, hashName(key), "v", "value")
}

// PageKey is the row key of a web page with its domain reversed, so that the
// pages of a site, and the sites of a domain, stand together:
//
//	https://www.example.com/a?b  →  com.example.www/a?b
//
// Scheme, user and fragment are left out, an IP address is not reversed, and
// a port other than the scheme's own is refused.
func PageKey(page string) ([]byte, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	if port := u.Port(); port != "" && (u.Scheme != "http" || port != "80") && (u.Scheme != "https" || port != "443") {
		return nil, fmt.Errorf("page %q: port %s has no place in the key: give the address without it", page, port)
	}
	host, err := reverseDomain(u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("page %q: %w", page, err)
	}
	key := host + "/" + strings.TrimPrefix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		key += "?" + u.RawQuery
	}
	return []byte(key), nil
}

func reverseDomain(host string) (string, error) {
	if _, err := netip.ParseAddr(host); err == nil {
		return host, nil
	}
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	for _, label := range labels {
		bad := func(r rune) bool { return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }
		if label == "" || strings.ContainsFunc(label, bad) {
			return "", fmt.Errorf("host %q needs labels of ASCII letters, digits, - and _: give it in its ASCII form", host)
		}
	}
	slices.Reverse(labels)
	return strings.Join(labels, "."), nil
}

// SitePages is the prefix of the pages of exactly one host.
func SitePages(host string) (cellstore.Range, error) {
	rev, err := reverseDomain(host)
	return cellstore.Prefix([]byte(rev + "/")), err
}

// DomainPages is the range of the pages of a domain and all hosts below it.
// It is one range because "." and "/" are neighbours; the bare domain as a
// prefix would take in example.community with example.com.
func DomainPages(domain string) (cellstore.Range, error) {
	rev, err := reverseDomain(domain)
	return cellstore.Range{From: []byte(rev + "."), To: []byte(rev + "0")}, err // '.', '/', '0'
}

// TextNumber is n with leading zeros, so that text order is numeric order:
// 69 in width 5 is "00069". A number that does not fit is refused.
func TextNumber(n uint64, width int) (string, error) {
	s := fmt.Sprintf("%0*d", width, n)
	if len(s) > width {
		return "", fmt.Errorf("%d has more than %d digits: choose a wider key", n, width)
	}
	return s, nil
}

// AppendUint16 appends n big-endian: 69 is the bytes 00 45.
func AppendUint16(dst []byte, n uint16) []byte { return binary.BigEndian.AppendUint16(dst, n) }

// AppendInt64 appends n as 8 bytes in numeric order: big-endian with the sign
// bit flipped, or negative numbers would come last.
func AppendInt64(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n)^1<<63)
}

// Int64 reads what AppendInt64 wrote; b has at least 8 bytes.
func Int64(b []byte) int64 { return int64(binary.BigEndian.Uint64(b) ^ 1<<63) }

// AppendFloat64 appends f as 8 bytes in numeric order, -0 just before 0. An
// IEEE 754 number is a sign and a magnitude, so all bits of a negative one are
// flipped. NaN has no place in the order and is refused.
func AppendFloat64(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) {
		return dst, fmt.Errorf("NaN has no place in the order of keys: leave it out")
	}
	bits := math.Float64bits(f)
	return binary.BigEndian.AppendUint64(dst, bits^(-(bits>>63)|1<<63)), nil
}

// Float64 reads what AppendFloat64 wrote; b has at least 8 bytes.
func Float64(b []byte) float64 {
	bits := binary.BigEndian.Uint64(b)
	return math.Float64frombits(bits ^ (bits>>63 - 1 | 1<<63))
}

func keyRecipes() []Recipe {
	v := cellstore.Family{Name: "v"}
	return []Recipe{
		recipe("salted keys", checkSalted, schema("keys_salted", v)),
		recipe("hashed keys", checkHashed, schema("keys_hashed", v)),
		recipe("domain-reversed URLs", checkPages, schema("keys_pages", v)),
		recipe("order-preserving numbers", checkNumbers, schema("keys_numbers", v)),
	}
}

func checkSalted(ctx context.Context, v *verdict, t []cellstore.Table, _ *Clock) {
	salted := Salted{t[0], 4}
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprintf("2026-01-01T%02d", i))
		v.ok(salted.Put(ctx, []byte(want[i]), []byte{byte(i)}))
	}
	keys, err := salted.Keys(ctx, nil, nil)
	v.list("salted keys", keys, err, want...)
	keys, err = salted.Keys(ctx, []byte(want[7]), []byte(want[31]))
	v.list("range of salted keys", keys, err, want[7:31]...)
	value, found, err := salted.Get(ctx, []byte(want[9]))
	v.is("a salted key", found && bytes.Equal(value, []byte{9}), true, err)
}

func checkHashed(ctx context.Context, v *verdict, t []cellstore.Table, _ *Clock) {
	hashed := Hashed{t[0]}
	long := strings.Repeat("long", 20000) // longer than a row key may be
	for _, key := range []string{"", "a", long} {
		v.ok(hashed.Put(ctx, key, []byte("value of "+key[:min(4, len(key))])))
	}
	value, _, err := hashed.Get(ctx, long)
	v.list("a hashed key", []string{string(value)}, err, "value of long")
	_, found, err := hashed.Get(ctx, "b")
	v.is("an unknown hashed key", found, false, err)
}

func checkPages(ctx context.Context, v *verdict, t []cellstore.Table, _ *Clock) {
	for _, page := range []string{"https://www.example.com/path", "http://WWW.Example.com:80", "https://example.com/a?b=c#d",
		"https://example.community/", "https://example-x.com/", "https://www.example.com.au/", "http://192.0.2.1/x"} {
		key, err := PageKey(page)
		v.ok(err)
		v.ok(t[0].Apply(ctx, cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.Put("v", nil, []byte(page))}}))
	}
	pages := func(what string, r cellstore.Range, err error, want ...string) {
		v.ok(err)
		got, err := keysOf(ctx, t[0], r, 0)
		v.list(what, got, err, want...)
	}
	site, err := SitePages("www.example.com")
	pages("pages of www.example.com", site, err, "com.example.www/", "com.example.www/path")
	domain, err := DomainPages("example.com")
	pages("pages of example.com", domain, err, "com.example.www/", "com.example.www/path", "com.example/a?b=c")
	for _, page := range []string{"/path", "http://a..b/", "http://example.com:8080/", "http://bücher.example/"} {
		_, err := PageKey(page)
		v.is("page "+page+" is refused", err != nil, true, nil)
	}
}

// checkNumbers is a property check: numbers from the edges of their kind and
// at random, put under their keys, come back in numeric order.
func checkNumbers(ctx context.Context, v *verdict, t []cellstore.Table, _ *Clock) {
	text, err := TextNumber(69, 5)
	v.list("69 as text and as bytes", []string{text, fmt.Sprintf("% x", AppendUint16(nil, 69))}, err, "00069", "00 45")
	_, err = TextNumber(123456, 5)
	v.is("a number too wide is refused", err != nil, true, nil)
	_, err = AppendFloat64(nil, math.NaN())
	v.is("NaN is refused", err != nil, true, nil)

	ints := []int64{math.MinInt64, -257, -256, -2, -1, 0, 1, 2, 7, 12, 69, 119, 255, 256, math.MaxInt64}
	floats := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1)}
	naturals, shorts := []uint64{0, 1, 2, 7, 12, 69, 119, math.MaxUint64}, []uint16{0, 69, 255, 256, math.MaxUint16}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		ints = append(ints, int64(rnd.Uint64())>>rnd.IntN(64))
		floats = append(floats, rnd.NormFloat64()*math.Pow(10, float64(rnd.IntN(40)-20)))
		naturals, shorts = append(naturals, rnd.Uint64()>>rnd.IntN(64)), append(shorts, uint16(rnd.Uint32()))
	}
	inOrder(ctx, v, t[0], "int64", ints, func(n int64) ([]byte, error) { return AppendInt64(nil, n), nil }, Int64)
	inOrder(ctx, v, t[0], "float", floats, func(f float64) ([]byte, error) { return AppendFloat64(nil, f) }, Float64)
	inOrder(ctx, v, t[0], "short", shorts, func(n uint16) ([]byte, error) { return AppendUint16(nil, n), nil }, binary.BigEndian.Uint16)
	inOrder(ctx, v, t[0], "text", naturals, func(n uint64) ([]byte, error) {
		s, err := TextNumber(n, 20)
		return []byte(s), err
	}, func(b []byte) uint64 {
		n, err := strconv.ParseUint(string(b), 10, 64)
		v.ok(err)
		return n
	})
}

// inOrder puts numbers under their keys and compares the rows, as they come,
// with the numbers sorted.
func inOrder[N cmp.Ordered](ctx context.Context, v *verdict, t cellstore.Table, kind string, numbers []N, key func(N) ([]byte, error), number func([]byte) N) {
	var got, want []string
	for _, n := range numbers {
		k, err := key(n)
		v.ok(err)
		v.ok(t.Apply(ctx, cellstore.Mutation{Row: append([]byte(kind), k...), Ops: []cellstore.Op{cellstore.Put("v", nil, nil)}}))
	}
	slices.Sort(numbers)
	for _, n := range slices.Compact(numbers) {
		want = append(want, fmt.Sprint(n))
	}
	keys, err := keySuffixes(ctx, t, []byte(kind))
	for _, k := range keys {
		got = append(got, fmt.Sprint(number([]byte(k))))
	}
	v.list("order of "+kind, got, err, want...)
}

// getValue reads one column and reports whether it is there.
func getValue(ctx context.Context, t cellstore.Table, key []byte, family, qualifier string) ([]byte, bool, error) {
	var row cellstore.Row
	_, err := t.Get(ctx, key, oneColumn(family, qualifier), &row)
	value, ok := row.Value(family, []byte(qualifier))
	return value, ok && err == nil, err
}
