package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/testseed"
)

const (
	// randomRuns is the number of random scripts that Run plays. randomLines is the number of lines
	// of each script.
	randomRuns  = 40
	randomLines = 120
	// shrinkRuns and shrinkTime bound the search for a shorter script that
	// fails.
	shrinkRuns = 600
	shrinkTime = 20 * time.Second
	// fullVariable is the environment variable that enables long tests.
	fullVariable = "QUADRILLE_FULL"
	// seedVariable is the environment variable that repeats one script.
	seedVariable = "STORETEST_SEED"
)

// runRandom is the test of rule K2. It chooses new scripts in every run, unless the seeds of all
// tests are fixed.
func (s *suite) runRandom(t *testing.T) {
	if one := os.Getenv(seedVariable); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
		RunRandom(t, s.open, s.caps, seed, randomLines)
		return
	}
	runs := randomRuns
	if os.Getenv(fullVariable) != "" {
		runs *= 25
	}
	base := testseed.Of(t)
	for i := range uint64(runs) {
		if t.Failed() {
			break
		}
		seed := base + i
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { RunRandom(t, s.open, s.caps, seed, randomLines) })
	}
}

// RunRandom plays a random script of the given number of lines, chosen by the seed, on the backend and
// on the Model: all reads of every form, all writes, bulk loads, snapshots, changes of schema,
// compaction, reopening, and crashes where the backend has them. Every answer must be the same. A
// script that fails is made shorter and printed, ready to become an example.
//
// Operations that depend on the time are left out for a backend with RealTime.
func RunRandom(t *testing.T, open Opener, caps cellstore.Capabilities, seed uint64, lines int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 0))
	if play(t, open, caps, rnd.IntN, lines) {
		t.Logf("play it again with %s=%d", seedVariable, seed)
	}
}

// Fuzz lets the fuzzer choose the scripts of RunRandom. Run it with -fuzzminimizetime=0: failing
// scripts are made shorter here, and for other scripts the minimization would waste minutes.
func Fuzz(f *testing.F, open Opener, caps cellstore.Capabilities) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 600)
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := min(len(data)/16, 2*randomLines)
		pick := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			c := int(data[0])
			data = data[1:]
			if n > 256 && len(data) > 0 {
				c = c<<8 | int(data[0])
				data = data[1:]
			}
			return c % n
		}
		play(t, open, caps, pick, lines)
	})
}

// play plays a script of the generator, and reports whether it failed.
func play(t *testing.T, open Opener, caps cellstore.Capabilities, pick func(int) int, n int) bool {
	t.Helper()
	b := open(t)
	script := newGenerator(pick, caps, &b).script(n)
	d := replay(t, open, caps, script)
	if d == nil {
		return false
	}
	script = shrink(script[:d.at+1], func(shorter []string) bool {
		again := replay(t, open, caps, shorter)
		return again != nil
	})
	if last := replay(t, open, caps, script); last != nil { // else it does not fail every time
		d, script = last, script[:last.at+1]
	}
	t.Errorf("%s\n\t%s\nprints\n\t%s\nthe model\n\t%s", strings.Join(script[:len(script)-1], "\n"), script[len(script)-1],
		strings.ReplaceAll(d.got, "\n", "\n\t"), strings.ReplaceAll(d.want, "\n", "\n\t"))
	return true
}

// difference is the first answer that differs from the model's.
type difference struct {
	at        int
	got, want string
}

// replay plays a script on a new store and a new model. It skips lines that have become invalid
// because shrink has left out other lines.
func replay(t *testing.T, open Opener, caps cellstore.Capabilities, script []string) *difference {
	t.Helper()
	b := open(t)
	subject, err := newMachine(b, caps)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	judge := ModelBackend(t)
	judge.RealTime = b.RealTime
	oracle, err := newMachine(judge, caps)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := subject.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for i, line := range script {
		if verb(line) == "crash" {
			if d := crashBoth(subject, oracle); d != nil {
				d.at = i
				return d
			}
			continue
		}
		want, failure := oracle.exec(line)
		if failure != nil {
			continue
		}
		got, failure := subject.exec(line)
		if failure != nil {
			got = failure.Error()
		}
		if got != want {
			return &difference{i, got, want}
		}
	}
	return nil
}

// crashBoth crashes the subject, and makes the oracle lose the same commits. The subject decides
// how many of its last commits a row loses.
func crashBoth(subject, oracle *machine) *difference {
	if err := subject.crash(); err != nil {
		return &difference{got: err.Error(), want: "a store that opens after a crash"}
	}
	oracle.snaps = map[string]cellstore.Snapshot{}
	d := oracle.store.(*Model).disk
	for _, name := range slices.Sorted(maps.Keys(d.tables)) {
		t := d.tables[name]
		for _, key := range slices.Sorted(maps.Keys(t.undo)) {
			states := []modelRow{t.rows[key]}
			for _, e := range slices.Backward(t.undo[key]) {
				states = append(states, e.before)
			}
			delete(t.undo, key)
			got, err := subject.exec(fmt.Sprintf("get %s %s versions=all", name, quote([]byte(key))))
			if err != nil {
				got = err.Error()
			}
			var want []string
			for _, state := range states {
				want = append(want, t.printState(key, state, max(d.now, oracle.clock())))
			}
			i := slices.Index(want, got)
			if i < 0 {
				return &difference{got: got, want: "one of\n" + strings.Join(want, "\n")}
			}
			t.rows[key] = states[i]
			t.settle(key, d.now)
		}
	}
	return nil
}

// printState prints a row as it would be in a state.
func (t *modelTable) printState(key string, state modelRow, now int64) string {
	alone := *t
	alone.rows = map[string]modelRow{key: state.clone()}
	alone.settle(key, now)
	rows := alone.rowsOf(&cellstore.Selection{Versions: cellstore.Unlimited})
	if len(rows) == 0 {
		return "none"
	}
	return formatRow(rows[0], false)
}

// shrink leaves out lines, then words, and writes x for values, as long as the
// script fails.
func shrink(script []string, fails func([]string) bool) []string {
	runs, end := 0, time.Now().Add(shrinkTime)
	try := func(shorter []string) bool {
		runs++
		return runs <= shrinkRuns && time.Now().Before(end) && fails(shorter)
	}
	script = drop(script, try)
	for i := range script {
		words := strings.Split(script[i], " ")
		if len(words) < 4 {
			continue
		}
		// The verb, the table and the row are kept.
		shorter := drop(words[3:], func(rest []string) bool {
			line := strings.Join(slices.Concat(words[:3], rest), " ")
			return try(slices.Concat(script[:i], []string{line}, script[i+1:]))
		})
		words = slices.Concat(words[:3], shorter)
		for w := 3; w < len(words); w++ {
			long := words[w]
			if at := strings.LastIndex(long, "="); at >= 0 && len(long) > at+2 {
				words[w] = long[:at] + "=x"
				if !try(slices.Concat(script[:i], []string{strings.Join(words, " ")}, script[i+1:])) {
					words[w] = long
				}
			}
		}
		script[i] = strings.Join(words, " ")
	}
	return drop(script, try)
}

// drop leaves out runs of elements. The runs become shorter with each round.
func drop(all []string, fails func([]string) bool) []string {
	for size := len(all) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(all); {
			shorter := slices.Concat(all[:i], all[i+size:])
			if fails(shorter) {
				all = shorter
			} else {
				i += size
			}
		}
	}
	return all
}
