package testseed

import "testing"

func TestOf(t *testing.T) {
	t.Setenv(Variable, "0x10")
	if got := Of(t); got != 16 {
		t.Errorf("seed %d, want that of the environment", got)
	}
	if a, b := Rand(t).Uint64(), Rand(t).Uint64(); a != b {
		t.Error("the same seed makes other choices")
	}
	for _, none := range []string{"", "0"} {
		t.Setenv(Variable, none)
		if a, b := Of(t), Of(t); a == b || a == 0 {
			t.Errorf("%q: seeds %d and %d, want new ones", none, a, b)
		}
	}
	if _, err := fixed("many"); err == nil {
		t.Error("a word is taken for a number")
	}
}
