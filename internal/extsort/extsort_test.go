package extsort

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type record struct {
	key   uint64
	value []byte
}

func collect(t testing.TB, s *Sorter) []record {
	t.Helper()
	var got []record
	err := s.Each(func(key uint64, value []byte) error {
		got = append(got, record{key, bytes.Clone(value)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func check(t testing.TB, got, want []record) {
	t.Helper()
	slices.SortStableFunc(want, func(a, b record) int { return cmp.Compare(a.key, b.key) })
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].key != want[i].key || !bytes.Equal(got[i].value, want[i].value) {
			t.Fatalf("record %d is (%d, %.20q), want (%d, %.20q)", i, got[i].key, got[i].value, want[i].key, want[i].value)
		}
	}
}

// The order equals that of a stable sort, even with small runs.
func TestAgainstStableSort(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := New(dir, MinMemoryBytes)
		defer s.Close()
		s.half = rapid.IntRange(1, 4096).Draw(rt, "half")
		keys := rapid.SampledFrom([]uint64{3, 1000, 1<<64 - 1}).Draw(rt, "keys")
		var want []record
		for i, n := 0, rapid.IntRange(0, 400).Draw(rt, "records"); i < n; i++ {
			r := record{rapid.Uint64Range(0, keys).Draw(rt, "key"), []byte(fmt.Sprint(i))}
			if rapid.IntRange(0, 99).Draw(rt, "long") == 0 {
				r.value = append(r.value, make([]byte, minBuffer+5)...)
			}
			want = append(want, r)
			if err := s.Add(r.key, r.value); err != nil {
				rt.Fatal(err)
			}
		}
		check(t, collect(t, s), want)
	})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

// The keys are byte strings: short ones, zeros, and common prefixes whose first eight bytes do not
// decide the order.
func TestBytesAgainstStableSort(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := NewBytes(dir, MinMemoryBytes)
		defer s.Close()
		s.half = rapid.IntRange(1, 4096).Draw(rt, "half")
		type record struct{ key, value string }
		var want, got []record
		alphabet := rapid.SampledFrom([]string{"", "\x00", "a", "a\x00", "b", "abcdefgh", "\xff"})
		for i, n := 0, rapid.IntRange(0, 300).Draw(rt, "records"); i < n; i++ {
			r := record{alphabet.Draw(rt, "a") + alphabet.Draw(rt, "b") + alphabet.Draw(rt, "c"), fmt.Sprint(i)}
			if rapid.IntRange(0, 2).Draw(rt, "empty") == 0 {
				r.value = ""
			}
			if rapid.IntRange(0, 99).Draw(rt, "long") == 0 {
				r.value += string(make([]byte, minBuffer+5))
			}
			want = append(want, r)
			if err := s.Add([]byte(r.key), []byte(r.value)); err != nil {
				rt.Fatal(err)
			}
		}
		err := s.Each(func(key, value []byte) error {
			got = append(got, record{string(key), string(value)})
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
		slices.SortStableFunc(want, func(a, b record) int { return cmp.Compare(a.key, b.key) })
		if !slices.Equal(got, want) {
			rt.Fatalf("got %.200q, want %.200q", got, want)
		}
	})
	s := NewBytes(dir, MinMemoryBytes)
	defer s.Close()
	if err := s.Add(make([]byte, MaxKeyBytes+1), nil); err == nil {
		t.Error("took a key over the limit")
	}
	if err := s.Add(make([]byte, MaxKeyBytes), nil); err != nil {
		t.Error(err)
	}
}

// TestEmptyValues tests that records with equal keys stay in the order of addition, even if they
// have no data.
func TestEmptyValues(t *testing.T) {
	s := New(t.TempDir(), MinMemoryBytes)
	defer s.Close()
	var want []record
	for i := range fewEntries - 1 {
		r := record{uint64(1 - i%2), nil}
		if i%4 < 2 {
			r.value = []byte(fmt.Sprint(i))
		}
		want = append(want, r)
		if err := s.Add(r.key, r.value); err != nil {
			t.Fatal(err)
		}
	}
	check(t, collect(t, s), want)
}

// Runs of many records: keys that share many bytes, end within these, or continue with zeros are in
// the order of comparison. Equal keys stay in the order of addition.
func TestRunAgainstComparing(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	begins := []string{"", "district", "district of ", "\x00\x00\x00\x00\x00\x00\x00\x00", string(bytes.Repeat([]byte("long "), 20)), "\xff"}
	for _, n := range []int{1, fewEntries - 1, fewEntries, 20_000} {
		s := NewBytes(t.TempDir(), 64<<20)
		for range n {
			key := []byte(begins[rng.IntN(len(begins))])
			key = key[:len(key)-rng.IntN(len(key)/4+1)]
			for range rng.IntN(12) {
				key = append(key, byte(rng.IntN(3)))
			}
			if err := s.Add(key, []byte{1}); err != nil {
				t.Fatal(err)
			}
		}
		r := s.filling
		want := slices.Clone(r.entries)
		slices.SortFunc(want, r.compare)
		scratch := r.sort(nil)
		if !slices.Equal(r.entries, want) {
			t.Fatalf("%d records are in another order", n)
		}
		if again := r.sort(scratch); !slices.Equal(r.entries, want) || len(again) != len(scratch) {
			t.Fatalf("%d sorted records are in another order", n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSpillsOnlyWhatDoesNotFit(t *testing.T) {
	for _, tc := range []struct {
		records int
		spills  bool
	}{{0, false}, {100, false}, {20000, true}} {
		s := New(t.TempDir(), MinMemoryBytes)
		rng := rand.New(rand.NewPCG(1, 2))
		var want []record
		for range tc.records {
			r := record{rng.Uint64(), make([]byte, 100)}
			want = append(want, r)
			if err := s.Add(r.key, r.value); err != nil {
				t.Fatal(err)
			}
		}
		check(t, collect(t, s), want)
		if got := s.Spilled() > 0; got != tc.spills {
			t.Errorf("%d records: spilled %d bytes", tc.records, s.Spilled())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	}
}

func TestFailures(t *testing.T) {
	s := New(t.TempDir(), MinMemoryBytes)
	defer s.Close()
	if err := s.Add(0, make([]byte, MaxRecordBytes+1)); err == nil {
		t.Error("took a record over the limit")
	}

	gone := New(t.TempDir()+"/missing", MinMemoryBytes)
	defer gone.Close()
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = gone.Add(uint64(i), make([]byte, 100000))
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("spilling to a missing directory: %v", err)
	}

	stop := errors.New("stop")
	for _, n := range []int{10, 20000} {
		s := New(t.TempDir(), MinMemoryBytes)
		for i := range n {
			if err := s.Add(uint64(i), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		seen := 0
		err := s.Each(func(uint64, []byte) error {
			seen++
			return stop
		})
		if err != stop || seen != 1 {
			t.Errorf("%d records: error %v after %d", n, err, seen)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkSort(b *testing.B) {
	const records = 500_000
	value := make([]byte, 300)
	b.ReportAllocs()
	b.SetBytes(records * int64(len(value)))
	var sum uint64
	for b.Loop() {
		s := New(b.TempDir(), 32<<20)
		rng := rand.New(rand.NewPCG(1, 2))
		for range records {
			if err := s.Add(rng.Uint64(), value); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Each(func(k uint64, v []byte) error { sum += k + uint64(len(v)); return nil }); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
	if sum == 0 {
		b.Fatal("nothing sorted")
	}
}
