package ipgeo

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cellstore"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

var update = flag.Bool("update", false, "rewrite golden files")

// rng reads "1.0.0.0-1.0.0.9 AA".
func rng(s string) Range {
	var r Range
	bounds, code, _ := strings.Cut(s, " ")
	first, last, _ := strings.Cut(bounds, "-")
	r.First, r.Last, r.Record = netip.MustParseAddr(first), netip.MustParseAddr(last), country(code)
	return r
}

func rngs(lines ...string) (out []Range) {
	for _, l := range lines {
		out = append(out, rng(l))
	}
	return out
}

// rows formats the stored rows in the notation of rng.
func rows(t testing.TB, f *fakeStore) (out []string) {
	t.Helper()
	for r, err := range (&Reader{table: &fakeTable{f: f}}).ranges(t.Context(), nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s-%s %s", addrOf(r.v4, r.first), addrOf(r.v4, r.last), r.answer.code()))
	}
	return out
}

func TestBuild(t *testing.T) {
	for _, tc := range []struct {
		name  string
		in    []Range
		want  []string
		stats Stats
	}{
		{"nothing", nil, nil, Stats{}},
		{"sorted, IPv4 before IPv6", rngs("2400::-2400::f CC", "9.0.0.0-9.0.0.9 BB", "8.0.0.0-8.0.0.9 AA"),
			[]string{"8.0.0.0-8.0.0.9 AA", "9.0.0.0-9.0.0.9 BB", "2400::-2400::f CC"}, Stats{Ranges: 3}},
		{"adjacent equal are joined", rngs("8.0.0.0-8.0.0.9 AA", "8.0.0.10-8.0.0.19 AA", "8.0.0.20-8.0.0.29 BB", "8.0.0.31-8.0.0.39 BB"),
			[]string{"8.0.0.0-8.0.0.19 AA", "8.0.0.20-8.0.0.29 BB", "8.0.0.31-8.0.0.39 BB"}, Stats{Ranges: 4, Joined: 1}},
		{"narrowest wins", rngs("8.0.0.0-8.0.0.99 AA", "8.0.0.20-8.0.0.29 BB"),
			[]string{"8.0.0.0-8.0.0.19 AA", "8.0.0.20-8.0.0.29 BB", "8.0.0.30-8.0.0.99 AA"}, Stats{Ranges: 2, Overlaps: 1}},
		{"named later changes nothing", rngs("8.0.0.20-8.0.0.29 BB", "8.0.0.0-8.0.0.99 AA"),
			[]string{"8.0.0.0-8.0.0.19 AA", "8.0.0.20-8.0.0.29 BB", "8.0.0.30-8.0.0.99 AA"}, Stats{Ranges: 2, Overlaps: 1}},
		{"crossing", rngs("8.0.0.0-8.0.0.20 AA", "8.0.0.10-8.0.0.25 BB"),
			[]string{"8.0.0.0-8.0.0.9 AA", "8.0.0.10-8.0.0.25 BB"}, Stats{Ranges: 2, Overlaps: 1}},
		{"crossing, equally wide: the first named", rngs("8.0.0.10-8.0.0.29 BB", "8.0.0.0-8.0.0.19 AA"),
			[]string{"8.0.0.0-8.0.0.9 AA", "8.0.0.10-8.0.0.29 BB"}, Stats{Ranges: 2, Overlaps: 1}},
		{"equal: the first named", rngs("8.0.0.0-8.0.0.9 BB", "8.0.0.0-8.0.0.9 AA"),
			[]string{"8.0.0.0-8.0.0.9 BB"}, Stats{Ranges: 2, Overlaps: 1}},
		{"three deep", rngs("8.0.0.0-8.0.0.255 AA", "8.0.0.16-8.0.0.31 BB", "8.0.0.20-8.0.0.20 CC"),
			[]string{"8.0.0.0-8.0.0.15 AA", "8.0.0.16-8.0.0.19 BB", "8.0.0.20-8.0.0.20 CC", "8.0.0.21-8.0.0.31 BB",
				"8.0.0.32-8.0.0.255 AA"}, Stats{Ranges: 3, Overlaps: 2}},
		{"a hole of the same record closes", rngs("8.0.0.0-8.0.0.255 AA", "8.0.0.16-8.0.0.31 AA"),
			[]string{"8.0.0.0-8.0.0.255 AA"}, Stats{Ranges: 2, Overlaps: 1, Joined: 2}},
		{"to the last address", rngs("255.0.0.0-255.255.255.255 AA", "ff00::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff BB",
			"f000::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff BB"),
			[]string{"f000::-fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff BB", "fe00::-fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff BB"},
			Stats{Ranges: 3, Overlaps: 1, Reserved: 3}},
		{"reserved is cut out", rngs("192.0.0.0-192.0.3.255 AA"),
			[]string{"192.0.0.9-192.0.0.10 AA", "192.0.1.0-192.0.1.255 AA", "192.0.3.0-192.0.3.255 AA"}, Stats{Ranges: 1, Reserved: 1}},
		{"mapped is IPv4", []Range{rng("::ffff:8.0.0.0-::ffff:8.0.0.9 AA")}, []string{"8.0.0.0-8.0.0.9 AA"}, Stats{Ranges: 1}},
		{"an earlier source wins though wider", []Range{
			{First: netip.MustParseAddr("8.0.0.4"), Last: netip.MustParseAddr("8.0.0.4"), Source: 1, Record: country("BB")},
			{First: netip.MustParseAddr("8.0.0.0"), Last: netip.MustParseAddr("8.0.0.7"), Record: country("AA")},
			{First: netip.MustParseAddr("8.0.0.0"), Last: netip.MustParseAddr("8.0.0.9"), Source: 1, Record: country("CC")},
		}, []string{"8.0.0.0-8.0.0.7 AA", "8.0.0.8-8.0.0.9 CC"}, Stats{
			Ranges:            3,
			Overlaps:          2,
			Joined:            2,
			Disagreements:     3,
			DisagreementFirst: netip.MustParseAddr("8.0.0.0"),
			DisagreementLast:  netip.MustParseAddr("8.0.0.3"),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, _, _, stats := built(t, tc.in, BuildOptions{Timestamp: 7})
			if d := cmp.Diff(tc.want, rows(t, f)); d != "" {
				t.Error(d)
			}
			if stats != tc.stats {
				t.Errorf("stats %+v, want %+v", stats, tc.stats)
			}
			for _, ts := range f.timestamps {
				if ts != 7 {
					t.Errorf("timestamp %d", ts)
				}
			}
		})
	}
}

func TestBuildBadRanges(t *testing.T) {
	addr := netip.MustParseAddr
	bad := []struct {
		r      Range
		reason string
	}{
		{Range{}, ReasonAddress},
		{Range{First: addr("1.0.0.0")}, ReasonAddress},
		{Range{First: addr("fe80::1%a"), Last: addr("fe80::2%a")}, ReasonZone},
		{Range{First: addr("1.0.0.0"), Last: addr("2400::")}, ReasonFamily},
		{Range{First: addr("1.0.0.0"), Last: addr("::ffff:1.0.0.1")}, ReasonFamily},
		{Range{First: addr("1.0.0.1"), Last: addr("1.0.0.0")}, ReasonReversed},
		{Range{First: addr("1.0.0.0"), Last: addr("1.0.0.1")}, ReasonRecord},
		{Range{First: addr("1.0.0.0"), Last: addr("1.0.0.1"), Record: country("x")}, ReasonRecord},
	}
	var in []Range
	for _, b := range bad {
		if (b.r.Check() != nil) != (b.reason != ReasonRecord) {
			t.Errorf("Check(%v) = %v", b.r, b.r.Check())
		}
		if b.reason != ReasonRecord {
			b.r.Record = country("AA")
		}
		in = append(in, b.r)
	}
	in = append(in, rng("8.0.0.0-8.0.0.9 AA"))

	var reasons []string
	f, _, meta, stats := built(t, in, BuildOptions{OnBadRange: func(b *BadRangeError) error {
		reasons = append(reasons, b.Reason)
		return nil
	}})
	for i, b := range bad {
		if reasons[i] != b.reason {
			t.Errorf("%v: %s, want %s", b.r, reasons[i], b.reason)
		}
	}
	if stats.Bad != int64(len(bad)) || stats.Ranges != 1 || len(f.keys) != 1 || meta.Rows4 != 1 {
		t.Errorf("%+v, %d rows", stats, len(f.keys))
	}

	_, _, err := Build(t.Context(), &fakeStore{}, seqOf(in), BuildOptions{})
	var b *BadRangeError
	if !errors.As(err, &b) || b.Reason != ReasonAddress {
		t.Errorf("without Bad: %v", err)
	}
	stop := errors.New("enough")
	if _, _, err := Build(t.Context(), &fakeStore{}, seqOf(in),
		BuildOptions{OnBadRange: func(*BadRangeError) error { return stop }}); !errors.Is(err, stop) {
		t.Errorf("OnBadRange's error: %v", err)
	}
	wrapped := &BadRangeError{First: addr("1.0.0.0"), Last: addr("1.0.0.1"), Reason: ReasonRecord, Err: errCode}
	if !errors.Is(wrapped, errCode) ||
		wrapped.Error() != "range 1.0.0.0 to 1.0.0.1: invalid record: a country or continent code is not two capital "+
			"letters; correct it at its source or leave it out" {
		t.Error(wrapped)
	}
}

func TestBuildFails(t *testing.T) {
	broken := errors.New("broken")
	good := rngs("8.0.0.0-8.0.0.9 AA", "9.0.0.0-9.0.0.9 AA")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	exists := &fakeStore{}
	built := func(ctx context.Context, f *fakeStore, seq iter.Seq2[Range, error], opts BuildOptions) error {
		_, _, err := Build(ctx, f, seq, opts)
		if len(f.keys) != 0 {
			t.Errorf("%d rows after %v", len(f.keys), err)
		}
		return err
	}
	if err := built(t.Context(), &fakeStore{}, func(yield func(Range, error) bool) { yield(Range{}, broken) },
		BuildOptions{}); !errors.Is(err, broken) {
		t.Errorf("seq: %v", err)
	}
	if err := built(t.Context(), &fakeStore{fail: broken}, seqOf(good), BuildOptions{}); !errors.Is(err, broken) {
		t.Errorf("store: %v", err)
	}
	if err := built(cancelled, &fakeStore{}, seqOf(good), BuildOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	must.Do(t, exists.CreateTable(t.Context(), schema()))
	if err := built(t.Context(), exists, seqOf(good), BuildOptions{}); !errors.Is(err, cellstore.ErrTableExists) {
		t.Errorf("table exists: %v", err)
	}
}

func openBuilt(t testing.TB, f *fakeStore) *Reader {
	t.Helper()
	meta := Meta{Layout: Layout}
	for i, k := range f.keys {
		n := int64(f.values[i][0]) + 1
		if k[0] == prefix4 {
			meta.Rows4 += n
		} else {
			meta.Rows6 += n
		}
	}
	r, err := Open(t.Context(), f, meta)
	must.Do(t, err)
	return r
}

// TestRowsGolden tests that the bytes of rows and of the index do not change, because existing
// generations depend on them.
func TestRowsGolden(t *testing.T) {
	f, _, _, _ := built(t, []Range{
		{First: netip.MustParseAddr("1.0.0.0"), Last: netip.MustParseAddr("1.0.0.255"), Record: Record{
			Continent: Continent{Code: "OC", Names: Names{"en": "Oceania"}},
			Country:   Country{ISOCode: "AU", Names: Names{"en": "Australia"}},
		}},
		{
			First:  netip.MustParseAddr("2001:200::"),
			Last:   netip.MustParseAddr("2001:200:ffff:ffff:ffff:ffff:ffff:ffff"),
			Record: Record{Country: Country{ISOCode: "JP"}},
		},
		{First: netip.MustParseAddr("2001:200:1::"), Last: netip.MustParseAddr("2001:200:1::ffff"), Record: full},
		{
			First:  netip.MustParseAddr("1.0.0.128"),
			Last:   netip.MustParseAddr("1.0.1.255"),
			Source: 1,
			Record: Record{Traits: Traits{AutonomousSystemNumber: 13335}},
		},
	}, BuildOptions{Timestamp: 1700000000000})
	var b strings.Builder
	for i := range f.keys {
		fmt.Fprintf(&b, "%x @%d\n  %q\n", f.keys[i], f.timestamps[i], f.values[i])
	}
	ix, path := indexed(t, openBuilt(t, f))
	file, err := os.ReadFile(path)
	must.Do(t, err)
	// Its half megabyte of jump tables is too large for a golden file.
	fmt.Fprintf(&b, "index of %d bytes, SHA-256 %x, blocks %q, heap %q\n", len(file), sha256.Sum256(file), ix.blocks, ix.heap)
	golden := filepath.Join("testdata", "rows.golden")
	if *update {
		must.Do(t, os.MkdirAll("testdata", 0o755))
		must.Do(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	must.Do(t, err)
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the layout changed: raise Layout, or undo it\n%s", d)
	}
}

// many returns n ranges of one address each, with gaps between.
func many(first string, n int, r Record) []Range {
	out := make([]Range, n)
	a := netip.MustParseAddr(first)
	for i := range out {
		out[i] = Range{First: a, Last: a, Record: r}
		a = a.Next().Next()
	}
	return out
}

// TestBuildProgress tests that progress continues from one IP version to the other, and that a
// build can be cancelled during either.
func TestBuildProgress(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	in := append(many("11.0.0.0", 3*every, country("AA")), many("2400::", 3*every, country("BB"))...)
	var last int64
	steps := 0
	var stages []string
	built(t, in, BuildOptions{Progress: func(stage string, done, total int64) {
		stages = append(stages, stage)
		steps++
		if done < last || done > total || total != int64(len(in)) {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}})
	if stages = slices.Compact(stages); steps != 8 || last != int64(len(in)) ||
		!slices.Equal(stages, []string{"sorting ranges", "writing ranges"}) {
		t.Errorf("%d reports of %v, the last of %d", steps, stages, last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := Build(ctx, &fakeStore{}, seqOf(in), BuildOptions{Progress: func(stage string, done, _ int64) {
		if stage == "writing ranges" && done > 4*every {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled in IPv6: %v", err)
	}
}

// A build whose ranges are all refused can still be cancelled.
func TestBuildOfBadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	_, _, err := Build(ctx, &fakeStore{}, func(yield func(Range, error) bool) {
		r := rng("8.0.0.0-8.0.0.9 AA")
		for ; seen < 10*every && yield(r, nil); seen++ {
			r = Range{}
			if seen == 5*every {
				cancel()
			}
		}
	}, BuildOptions{
		OnBadRange: func(*BadRangeError) error { return nil },
	})
	if !errors.Is(err, context.Canceled) || seen > 6*every {
		t.Errorf("%v after %d ranges", err, seen)
	}
}

// TestLoaderBytes tests that the batches on their way to the store are bounded in bytes, and not
// only in rows.
func TestLoaderBytes(t *testing.T) {
	l := &loader{full: make(chan []loadRow, 3), empty: make(chan []loadRow, 1)}
	for _, size := range []int{1, 64 << 10, 2 * loadBatchBytes} {
		answer := strings.Repeat("x", size)
		want := max(1, min(loadBatch, loadBatchBytes/size))
		for range 3 * want {
			must.Do(t, l.add(loadRow{answer: answer}))
		}
		for range 3 {
			if batch := <-l.full; len(batch) != want {
				t.Errorf("%d rows of %d bytes", len(batch), size)
			}
		}
	}
}
