package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"quadrille/cellstore"
)

// saltedKeys reads back, in order, the keys from ≤ key < to of a table whose
// keys are salted; an empty end is open. Salts spread keys that arrive in
// order, such as times, over a fixed number of buckets: writes no longer all
// land at the end of the table. The salt follows from the key, so a Get still
// costs one read.
//
//	row                v:
//	bucket 1 B | key   (empty)=value  (bucket = bucketOf(key))
//
// The read is one scan over a range per bucket. Each bucket is in order but
// not the whole. Hence the sort, which keeps the answer in memory.
func saltedKeys(ctx context.Context, t cellstore.Table, from, to string) ([]string, error) {
	var ranges []cellstore.Range
	for i := range buckets {
		salt := []byte{byte(i)}
		r := cellstore.Range{From: slices.Concat(salt, []byte(from)), To: slices.Concat(salt, []byte(to))}
		if to == "" {
			r.To = cellstore.PrefixEnd(salt)
		}
		ranges = append(ranges, r)
	}
	var found []string
	for row, err := range t.Scan(ctx, cellstore.Scan{Ranges: ranges}) {
		if err != nil {
			return nil, err
		}
		found = append(found, string(row.Key[1:]))
	}
	slices.Sort(found)
	return found, nil
}

func playSaltedKeys(d *demo) {
	t := d.table("keys_salted", cellstore.Family{Name: "v"})
	for i := range 40 {
		key := fmt.Sprintf("day%02d", i)
		ok(put(d.ctx, t, bucketOf(key)+key, cellstore.Put("v", nil, []byte(key))))
	}
	d.print("all", must(saltedKeys(d.ctx, t, "", "")))
	d.print("from day07 to day31", must(saltedKeys(d.ctx, t, "day07", "day31")))
	d.print("one", must(value(d.ctx, t, bucketOf("day09")+"day09", "v", "")))
}

// playHashedKeys files values under the hash of their key: rows of one short
// width, evenly spread, however long or alike the keys are. The price is
// order, so there is Get and nothing else. The key itself is kept in the row.
//
//	row              v:
//	hash(key) 16 B   key=key  value=value
func playHashedKeys(d *demo) {
	t := d.table("keys_hashed", cellstore.Family{Name: "v"})
	long := strings.Repeat("long", 20000) // longer than a row key may be
	for _, key := range []string{"", "a", long} {
		ok(put(d.ctx, t, hashName(key), cellstore.Put("v", []byte("key"), []byte(key)),
			cellstore.Put("v", []byte("value"), []byte("value of "+key[:min(4, len(key))]))))
	}
	d.print("a long key", must(value(d.ctx, t, hashName(long), "v", "value")))
	d.print("its length", len(must(value(d.ctx, t, hashName(long), "v", "key"))))
	d.print("an unknown key", must(has(d.ctx, t, hashName("b"), "v", "value")))
}

// pageKey is the row key of a web page with its domain reversed, so that the
// pages of a site, and the sites of a domain, stand together:
//
//	https://www.example.com/a?b  →  com.example.www/a?b
//
// Scheme, user and fragment are left out, an IP address is not reversed, and a
// port other than the scheme's own is refused.
func pageKey(page string) (string, error) {
	u, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return "", fmt.Errorf("page %s: port %s has no place in the key: give the address without it", page, port)
	}
	host, err := reverseDomain(u.Hostname())
	key := host + "/" + strings.TrimPrefix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		key += "?" + u.RawQuery
	}
	return key, err
}

func reverseDomain(host string) (string, error) {
	if _, err := netip.ParseAddr(host); err == nil {
		return host, nil
	}
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	for _, label := range labels {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", fmt.Errorf("host %q needs labels of ASCII letters, digits, - and _: give it in its ASCII form", host)
		}
	}
	slices.Reverse(labels)
	return strings.Join(labels, "."), nil
}

// sitePages is the range of the pages of exactly one host. domainPages adds
// the hosts below it: one range, because "." and "/" are neighbours. The bare
// domain as a prefix would take in example.community with example.com.
func sitePages(host string) (cellstore.Range, error) {
	reversed, err := reverseDomain(host)
	return cellstore.Prefix([]byte(reversed + "/")), err
}

func domainPages(domain string) (cellstore.Range, error) {
	reversed, err := reverseDomain(domain)
	return cellstore.Range{From: []byte(reversed + "."), To: []byte(reversed + "0")}, err // '.', '/', '0'
}

func playPageKeys(d *demo) {
	t := d.table("keys_pages", cellstore.Family{Name: "v"})
	for _, page := range []string{"https://www.example.com/path", "http://WWW.Example.com:80", "https://example.com/a?b=c#d",
		"https://example.community/", "https://example-x.com/", "https://www.example.com.au/", "http://192.0.2.1/x"} {
		ok(put(d.ctx, t, must(pageKey(page)), cellstore.Put("v", nil, []byte(page))))
	}
	d.print("all", must(keys(d.ctx, t, 0, cellstore.Range{})))
	d.print("pages of www.example.com", must(keys(d.ctx, t, 0, must(sitePages("www.example.com")))))
	d.print("pages of example.com", must(keys(d.ctx, t, 0, must(domainPages("example.com")))))
	for _, page := range []string{"/path", "http://a..b/", "http://example.com:8080/", "http://bücher.example/"} {
		_, err := pageKey(page)
		d.print("refused", err)
	}
}

// Numbers as keys must sort as numbers. An unsigned one does so big-endian: 69
// in two bytes is 00 45. As text it needs leading zeros: 69 in width 5 is
// "00069".

// textKey is n with leading zeros. A number that does not fit is refused.
func textKey(n uint64, width int) (string, error) {
	s := fmt.Sprintf("%0*d", width, n)
	if len(s) > width {
		return "", fmt.Errorf("%d has more than %d digits: choose a wider key", n, width)
	}
	return s, nil
}

// signedKey is n as 8 bytes, big-endian with the sign bit flipped: without
// that, negative numbers would come last. signedOf reads it back.
func signedKey(n int64) []byte { return number(n ^ math.MinInt64) }

func signedOf(key []byte) int64 { return count(key) ^ math.MinInt64 }

// floatKey is f as 8 bytes in numeric order, -0 just before 0. An IEEE 754
// number is a sign and a magnitude, so all bits of a negative one are flipped.
// NaN has no place in the order and is refused. floatOf reads it back.
func floatKey(f float64) ([]byte, error) {
	if math.IsNaN(f) {
		return nil, fmt.Errorf("NaN has no place in the order of keys: leave it out")
	}
	bits := math.Float64bits(f)
	return binary.BigEndian.AppendUint64(nil, bits^(-(bits>>63)|1<<63)), nil
}

func floatOf(key []byte) float64 {
	bits := binary.BigEndian.Uint64(key)
	return math.Float64frombits(bits ^ (bits>>63 - 1 | 1<<63))
}

func playNumberKeys(d *demo) {
	t := d.table("keys_numbers", cellstore.Family{Name: "v"})
	for _, n := range []uint64{119, 12, 7, 2, 1, 69} {
		ok(put(d.ctx, t, "plain"+fmt.Sprint(n), cellstore.Put("v", nil, nil)))
		ok(put(d.ctx, t, "text"+must(textKey(n, 5)), cellstore.Put("v", nil, nil)))
	}
	d.print("text without zeros", must(suffixes(d.ctx, t, "plain")))
	d.print("text", must(suffixes(d.ctx, t, "text")))
	for _, n := range []int64{math.MaxInt64, 256, 255, 69, 0, -1, -256, -257, math.MinInt64} {
		ok(put(d.ctx, t, "signed"+string(signedKey(n)), cellstore.Put("v", nil, nil)))
	}
	for _, key := range must(suffixes(d.ctx, t, "signed")) {
		d.print(fmt.Sprintf("%x", key), signedOf([]byte(key)))
	}
	for _, f := range []float64{math.Inf(1), math.MaxFloat64, 1.5, math.SmallestNonzeroFloat64, 0, math.Copysign(0, -1), -1, -1.5, math.Inf(-1)} {
		ok(put(d.ctx, t, "float"+string(must(floatKey(f))), cellstore.Put("v", nil, nil)))
	}
	for _, key := range must(suffixes(d.ctx, t, "float")) {
		d.print(fmt.Sprintf("%x", key), floatOf([]byte(key)))
	}
	_, err := textKey(123456, 5)
	d.print("refused", err)
	_, err = floatKey(math.NaN())
	d.print("refused", err)
}
