package storetest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quadrille/cellstore"
)

// TestQuote tests that the printed form of bytes can be parsed again.
func TestQuote(t *testing.T) {
	words := []string{"", " ", "a b", "\x00", "\xff\xfe", `"`, `\`, "#5", "-1", "é", "a;b", "\n", "a\u2028b", strings.Repeat("x", 300)}
	for i := range 500 {
		b := noise(i % 20)
		words = append(words, string(b))
	}
	for _, w := range words {
		if q := quote([]byte(w)); unquote(q) != w || strings.ContainsAny(q, " \n") {
			t.Errorf("%q is quoted as %s", w, q)
		}
		if q := quoteValue([]byte(w)); unquote(q) != w {
			t.Errorf("value %q is quoted as %s", w, q)
		}
	}
	for _, n := range []int64{0, 1, -1, 42, 1<<63 - 1, -1 << 63} {
		if q := quoteValue(counter(n)); unquote(q) != string(counter(n)) {
			t.Errorf("counter %d is quoted as %s", n, q)
		}
	}
}

// TestSyntaxErrors tests that an invalid line is an error of the script and not of the store. It
// never causes a panic.
func TestSyntaxErrors(t *testing.T) {
	m, err := newMachine(ModelBackend(t), NewModel().Capabilities())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := m.exec("create t f"); out != "ok" || err != nil {
		t.Fatal(out, err)
	}
	for _, line := range []string{
		"", "sing", "get", "put t", "put t r f", "put t r f:q", "put t r f:q@x=1", `put t "r`, "put t r -", "put t r -f", "put t r f:q=1 )",
		"create u f{versions=x}", "create u f{colour=red}", "create u f{ttl=1}", "check t r f:q ~ 1 ; f:q=1", "check t r f:q absent",
		"incr t r f:q=", "incr t r f:q=one", "bulk t r f:q", "get t r time=[1", "get t r colour=red", "scan t [a,b", "scan t [a b)",
		"multiget t r f:", "multiget t r versions=all", "get @nowhere r", "release nowhere", "clock", "clock fast", "tables x",
	} {
		if out, err := m.exec(line); err == nil {
			t.Errorf("%q prints %q", line, out)
		}
	}
}

// TestGenerated tests that random scripts make sense, and are the same for the same seed.
func TestGenerated(t *testing.T) {
	b := ModelBackend(t)
	caps := NewModel().Capabilities()
	generate := func(seed uint64) []string {
		return newGenerator(rand.New(rand.NewPCG(seed, 0)).IntN, caps, &b).script(200)
	}
	printed := map[string]int{}
	for seed := range uint64(20) {
		script := generate(seed)
		if !slices.Equal(script, generate(seed)) {
			t.Fatalf("seed %d makes two scripts", seed)
		}
		m, err := newMachine(ModelBackend(t), caps)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range script {
			out, err := m.exec(line)
			if err != nil {
				t.Fatalf("%v in\n%s", err, strings.Join(script, "\n"))
			}
			kind := "something"
			switch {
			case strings.HasPrefix(out, "error"):
				kind = "error"
			case out == "none":
				kind = "none"
			}
			if commands[verb(line)].reads == readsOnly {
				printed[kind]++
			}
		}
	}
	if printed["something"] < 2*printed["none"] || printed["something"] < 20*printed["error"] {
		t.Errorf("reads print %v: too little is found to compare", printed)
	}
	for _, caps := range []cellstore.Capabilities{{}, {Bulk: true}} {
		bare := Backend{RealTime: true}
		for _, line := range newGenerator(rand.New(rand.NewPCG(1, 2)).IntN, caps, &bare).script(500) {
			v := verb(line)
			if v == "crash" || v == "clock" || v == "snapshot" || v == "incr" || strings.Contains(line, "async") ||
				v == "bulk" != caps.Bulk && v == "bulk" {
				t.Fatalf("%s: the backend has no such thing", line)
			}
		}
	}
}

// TestShrink tests that the shortest script is found if the failure depends on two lines and two
// words.
func TestShrink(t *testing.T) {
	var script []string
	for i := range 50 {
		script = append(script, "put t row"+strings.Repeat("x", i%3)+" a=1 b=2 c=3 d=4")
	}
	script[17], script[40] = "put t first a=1 needed=long d=4", "put t second x=1 also=needed y=2"
	runs := 0
	got := shrink(script, func(s []string) bool {
		runs++
		all := strings.Join(s, "\n")
		return strings.Contains(all, "put t first") && strings.Contains(all, "needed=") && strings.Contains(all, "also=")
	})
	if want := []string{"put t first needed=x", "put t second also=x"}; !slices.Equal(got, want) {
		t.Errorf("after %d runs: %q, want %q", runs, got, want)
	}
}
