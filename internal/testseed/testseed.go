// Package testseed gives random tests their seeds: new ones, or those of RAPID_SEED, which also
// fixes the choices of rapid's tests. Only tests import it.
package testseed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that fixes all seeds; 0 or an empty value means new ones.
const Variable = "RAPID_SEED"

// Of returns the seed of a test, and logs how to reproduce it.
func Of(t testing.TB) uint64 {
	t.Helper()
	seed, err := fixed(os.Getenv(Variable))
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	if seed == 0 {
		seed = 1 + rand.Uint64N(1<<63)
	}
	t.Logf("the same choices again with %s=%d", Variable, seed)
	return seed
}

// Rand returns random numbers of the test's seed. One goroutine uses them.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Of(t), 0))
}

// fixed parses a number like rapid.
func fixed(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	return strconv.ParseUint(s, 0, 64)
}
