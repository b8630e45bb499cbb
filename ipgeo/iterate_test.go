package ipgeo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

func shownRange(r *Result) string { return fmt.Sprintf("%s-%s %s", r.First, r.Last, r.Country) }

func TestAllAndWithin(t *testing.T) {
	f, r, _, _ := built(t, rngs("8.0.0.0-8.0.0.9 AA", "9.0.0.0-9.0.0.9 BB", "9.0.1.0-9.0.1.255 CC", "2400::-2400::f CC"), BuildOptions{})
	all := []string{"8.0.0.0-8.0.0.9 AA", "9.0.0.0-9.0.0.9 BB", "9.0.1.0-9.0.1.255 CC", "2400::-2400::f CC"}
	var got []string
	for res, err := range r.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if res.Addr != res.First || !res.Network.Contains(res.First) || len(res.JSON) == 0 {
			t.Errorf("%+v", res)
		}
		got = append(got, shownRange(res))
	}
	if !slices.Equal(got, all) {
		t.Error(got)
	}
	for _, tc := range []struct {
		network string
		want    []string
	}{
		{"0.0.0.0/0", all[:3]}, {"::/0", all[3:]},
		{"9.0.0.0/8", all[1:3]}, {"9.0.0.0/24", all[1:2]}, {"9.0.1.7/32", all[2:3]}, {"9.0.0.9/32", all[1:2]}, {"9.0.0.10/31", nil},
		{"::ffff:9.0.0.0/120", all[1:2]}, {"::ffff:0:0/96", all[:3]}, {"2002:900:100::/40", all[2:3]}, {"2002::/16",
			all[:3]}, {"2002:900:1ff:1::/64", all[2:3]},
		{"64:ff9b::/96", all[:3]}, {"64:ff9b::900:0/127", all[1:2]}, {"2001::f6ff:ffff/128", all[1:2]}, {"2001::/32", nil},
		{"10.0.0.0/8", nil}, {"2400::/16", all[3:]}, {"2401::/16", nil},
	} {
		var got []string
		for res, err := range r.Within(t.Context(), netip.MustParsePrefix(tc.network)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, shownRange(res))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.network, got, tc.want)
		}
	}
	for range r.All(t.Context()) {
		break // leaving the loop early is fine
	}

	last := func(seq func(func(*Result, error) bool)) (err error) {
		for _, e := range seq {
			if err != nil {
				t.Error("more after an error")
			}
			err = e
		}
		return err
	}
	if err := last(r.Within(t.Context(), netip.Prefix{})); !errors.Is(err, ErrBadAddress) {
		t.Error(err)
	}
	good := f.values[1]
	f.values[1] = good[:len(good)-1]
	if err := last(r.All(t.Context())); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Error(err)
	}
	f.keys[1], f.values[1] = appendKey(nil, true, u128{lo: 9<<24 + 255}), f.values[0] // the previous row under another key
	if err := last(r.All(t.Context())); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Error(err)
	}
	f.fail = errors.New("disk on fire")
	if err := last(r.All(t.Context())); !errors.Is(err, f.fail) {
		t.Error(err)
	}
}

// resolvePrefix turns a network of carriers into the network of the addresses that they carry.
func TestResolvePrefixProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := carriers[rapid.IntRange(0, len(carriers)-1).Draw(t, "carrier")]
		b := c.prefix.Addr().As16()
		for i := c.prefix.Bits() / 8; i < 16; i++ {
			b[i] = rapid.Byte().Draw(t, "byte")
		}
		p, err := netip.AddrFrom16(b).Prefix(rapid.IntRange(c.skip, 128).Draw(t, "bits"))
		must.Do(t, err)
		if p.Bits() < c.prefix.Bits() {
			return
		}
		first, last := prefixBounds(p)
		x, y := resolve(addrOf(false, first)), resolve(addrOf(false, last))
		if y.Less(x) {
			x, y = y, x // Teredo inverts them
		}
		got := resolvePrefix(p)
		lo, hi := prefixBounds(got)
		if got.Addr() != x || addrOf(true, lo) != x || addrOf(true, hi) != y {
			t.Fatalf("%s is %s, want %s to %s", p, got, x, y)
		}
	})
}

func TestLookupBatch(t *testing.T) {
	f, r, _, _ := built(t, rngs("8.0.0.0-8.0.0.9 AA", "9.0.0.0-9.0.0.9 BB"), BuildOptions{})
	ix, _ := indexed(t, r)
	addrs := []netip.Addr{
		netip.MustParseAddr("9.0.0.1"),
		{},
		netip.MustParseAddr("10.0.0.1"),
		netip.MustParseAddr("8.0.0.1"),
		netip.MustParseAddr("1.1.1.1"),
	}
	want := []error{nil, ErrBadAddress, ErrReserved, nil, ErrNotFound}
	for name, batch := range map[string]func(context.Context, []netip.Addr,
		func(int, *Result, error) error) error{"table": r.LookupBatch, "index": ix.LookupBatch} {
		n := 0
		if err := batch(t.Context(), addrs, func(i int, res *Result, err error) error {
			if i != n || !errors.Is(err, want[i]) || res.Addr != addrs[i] || (err == nil) != (res.Country != "") {
				t.Errorf("%s %d: %d, %v, %+v", name, n, i, err, res)
			}
			n++
			return nil
		}); err != nil || n != len(addrs) {
			t.Error(name, n, err)
		}
		stop := errors.New("stop")
		if err := batch(t.Context(), addrs, func(int, *Result, error) error { return stop }); !errors.Is(err, stop) {
			t.Error(name, err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := batch(cancelled, addrs, nil); !errors.Is(err, context.Canceled) {
			t.Error(name, err)
		}
	}
	f.fail = errors.New("disk on fire")
	if err := r.LookupBatch(t.Context(), addrs, func(int, *Result, error) error { t.Error("called"); return nil }); !errors.Is(err, f.fail) {
		t.Error(err)
	}
}

// All readers refuse rows that no builder wrote.
func TestForeignRows(t *testing.T) {
	const key = "\x04\x08\x00\x00\x00"
	whole, _, _, _ := built(t, rngs("8.0.0.0-8.0.0.0 AA"), BuildOptions{})
	value := string(whole.values[0])
	if string(whole.keys[0]) != key {
		t.Fatalf("the key is %q", whole.keys[0])
	}
	type foreign struct{ name, key, value, reason string }
	cases := []foreign{
		{"no version of IP", "\x07" + strings.Repeat("\x20", 16), value, "of no version of IP"},
		{"short key", key[:2], value, "wrong length"},
		{"long key", key + "\x00", value, "wrong length"},
		{"key of another end", key[:4] + "\x01", value, "ends elsewhere"},
	}
	for n := range len(value) {
		cases = append(cases, foreign{fmt.Sprint("cut off at ", n), key, value[:n], ""})
	}
	for _, row := range cases {
		_, good, _, _ := built(t, rngs("8.0.0.0-8.0.0.9 AA", "2400::-2400::9 BB"), BuildOptions{})
		f, r, _, _ := built(t, rngs("8.0.0.0-8.0.0.0 AA"), BuildOptions{})
		f.keys[0], f.values[0] = []byte(row.key), []byte(row.value)
		check := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, cellstore.ErrCorrupt) || strings.Count(err.Error(), "ipgeo:") != 1 || !strings.Contains(err.Error(), row.reason) {
				t.Errorf("%s: %s: %v", row.name, what, err)
			}
		}
		if len(row.key) == len(key) {
			check("Lookup", r.Lookup(t.Context(), netip.MustParseAddr("8.0.0.0"), new(Result)))
		}
		for _, err := range r.All(t.Context()) {
			check("All", err)
		}
		_, err := Diff(t.Context(), good, r, DiffOptions{})
		check("Diff to", err)
		_, err = Diff(t.Context(), r, good, DiffOptions{Examples: -1})
		check("Diff from", err)
		_, err = BuildIndex(t.Context(), r, filepath.Join(t.TempDir(), IndexFileName), IndexOptions{})
		check("BuildIndex", err)
	}
}
