package feature

import (
	"testing"
	"unicode"
)

// TestFold tests that texts have the same fold if they differ only in case. It also tests that the
// fold of a fold is the fold itself.
func TestFold(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		fold := foldRune(r)
		if foldRune(fold) != fold {
			t.Errorf("%U folds to %U, and that to %U", r, fold, foldRune(fold))
		}
		if other := unicode.SimpleFold(r); foldRune(other) != fold {
			t.Errorf("%U folds to %U, but %U to %U", r, fold, other, foldRune(other))
		}
	}
}
