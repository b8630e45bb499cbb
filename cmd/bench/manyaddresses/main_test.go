package main

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	for block, n := range map[int]int{-1: 100_000, 11: 1 << 16, 223: 1 << 16} {
		var b bytes.Buffer
		if err := write(&b, n, block); err != nil {
			t.Fatal(err)
		}
		addresses, places := map[netip.Addr]bool{}, map[string]bool{}
		for line := range strings.Lines(b.String()) {
			fields := strings.Split(line, ",")
			a, err := netip.ParseAddr(fields[0])
			if err != nil || len(fields) != 5 {
				t.Fatalf("%q: %v", line, err)
			}
			addresses[a], places[fields[3]] = true, true
			if block >= 0 && int(a.As4()[0]) != block {
				t.Fatalf("%q is not in %d.0.0.0/8", line, block)
			}
		}
		if len(addresses) != n || len(places) != n {
			t.Errorf("%d addresses of %d places, want %d", len(addresses), len(places), n)
		}
	}
}
