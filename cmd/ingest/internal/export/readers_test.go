package export_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/export"
	"quadrille/ipgeo"
)

// foreignDatabase exports a database of a publisher's size where there is one.
func foreignDatabase(t *testing.T) (*ipgeo.Reader, string) {
	t.Helper()
	source := filepath.FromSlash(ipData + "ip/mmdb/city.mmdb")
	if _, err := os.Stat(source); err != nil {
		source = list(t, "offices.csv", offices)
	}
	r, m := ranges(t, source)
	path := filepath.Join(t.TempDir(), "a.mmdb")
	if _, err := export.WriteAddresses(t.Context(), r, m, path, export.AddressOptions{}); err != nil {
		t.Fatal(err)
	}
	return r, path
}

// answerAt is what a reader has to find at an address, as JSON.
func answerAt(t *testing.T, r *ipgeo.Reader, a netip.Addr) []byte {
	t.Helper()
	var res ipgeo.Result
	var want any
	switch err := r.Lookup(t.Context(), a, &res); {
	case err == nil:
		want = asWritten(t, &res, false)
	case !errors.Is(err, ipgeo.ErrNotFound) && !errors.Is(err, ipgeo.ErrReserved):
		t.Fatal(err)
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestMaxMindDBInPython needs python3 with maxminddb; QUADRILLE_MAXMINDDB may name a
// directory that holds it. Every edge and a million addresses at random are compared.
func TestMaxMindDBInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Env = os.Environ()
		if dir := os.Getenv("QUADRILLE_MAXMINDDB"); dir != "" {
			cmd.Env = append(cmd.Env, "PYTHONPATH="+dir)
		}
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if _, err := run("-c", "import maxminddb"); err != nil {
		t.Skip("python3 finds no maxminddb; QUADRILLE_MAXMINDDB may say where it is")
	}
	r, path := foreignDatabase(t)
	random := 1_000_000
	if testing.Short() {
		random = 10_000
	}
	questions := filepath.Join(t.TempDir(), "questions.tsv")
	f, err := os.Create(questions)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	asked := 0
	ask := func(a netip.Addr) {
		if a.IsValid() && !teredo.Contains(a) {
			fmt.Fprintf(out, "%s\t%s\n", a, answerAt(t, r, a))
			asked++
		}
	}
	for res, err := range r.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []netip.Addr{res.First, res.Last, res.First.Prev(), res.Last.Next()} {
			ask(a)
		}
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range random {
		n := rnd.Uint32()
		ask(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}))
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := run(filepath.FromSlash("testdata/compare.py"), path, questions)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if want := fmt.Sprintf("%d compared, 0 differ", asked); !strings.Contains(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	t.Log(text)
}

// TestMMDBLookup asks libmaxminddb by the program that comes with it.
func TestMMDBLookup(t *testing.T) {
	program, err := exec.LookPath("mmdblookup")
	if err != nil {
		t.Skip("mmdblookup of libmaxminddb is not installed")
	}
	r, path := foreignDatabase(t)
	n := 0
	code := regexp.MustCompile(`"([A-Z]{2})" <utf8_string>`)
	for res, err := range r.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%2000 != 1 {
			continue
		}
		out, err := exec.CommandContext(t.Context(), program, "--file", path, "--ip", res.First.String(), "country", "iso_code").CombinedOutput()
		got := ""
		if m := code.FindSubmatch(out); err == nil && m != nil {
			got = string(m[1])
		}
		if got != res.Country {
			t.Errorf("%s is in %q, want %q: %v %s", res.First, got, res.Country, err, out)
		}
	}
}
