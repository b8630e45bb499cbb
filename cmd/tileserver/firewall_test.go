package main

import (
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/toyworld"
)

// TestFirewalls loads the lists of /ip/ranges into nftables and ipset, in a separate network
// namespace, and reads the sets back.
func TestFirewalls(t *testing.T) {
	data := t.TempDir()
	c := catalogIn(t, data)
	if err := toyworld.PublishAddresses(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	server, _, _ := start(t, "--data", data)
	network := regexp.MustCompile(`[0-9a-f]+[.:][0-9a-f.:]+(/[0-9]+)?`)
	networks := func(text string) (all []netip.Prefix) {
		for _, word := range network.FindAllString(text, -1) {
			if !strings.Contains(word, "/") {
				a, err := netip.ParseAddr(word)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, netip.PrefixFrom(a, a.BitLen()))
				continue
			}
			p, err := netip.ParsePrefix(word)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		slices.SortFunc(all, netip.Prefix.Compare)
		return all
	}
	_, text := fetch(t, server+"/ip/ranges?country=de")
	want := networks(text)
	if len(want) < 10 {
		t.Fatalf("the country has %d networks", len(want))
	}
	for tool, run := range map[string]struct{ probe, script string }{
		"nft":   {"nft list tables", "nft -f - && nft list table inet quadrille"},
		"ipset": {"ipset list", "ipset restore && ipset save | grep ^add"},
	} {
		t.Run(tool, func(t *testing.T) {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("%s is not on the PATH", tool)
			}
			alone := func(script string) *exec.Cmd {
				return exec.CommandContext(t.Context(), "unshare", "--net", "sh", "-c", script)
			}
			if out, err := alone(run.probe).CombinedOutput(); err != nil {
				t.Skipf("%s does not work in a network namespace: %v %s", tool, err, out)
			}
			_, list := fetch(t, server+"/ip/ranges?country=de&format="+tool)
			cmd := alone(run.script)
			cmd.Stdin = strings.NewReader(list)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := networks(string(out)); !slices.Equal(got, want) {
				t.Errorf("%s holds %d networks, want %d:\n%v\n%v", tool, len(got), len(want), got, want)
			}
			t.Logf("%d networks", len(want))
		})
	}
}
