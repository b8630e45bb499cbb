package ask

import (
	"strings"
	"testing"

	"quadrille/cellstore/dataset"
)

// A generation is the same in the store that it was pushed to, and another one if it was
// published anew.
func TestIdentityOf(t *testing.T) {
	digest := func(c string) string { return strings.Repeat(c, 64) }
	first := &dataset.Manifest{Digest: digest("a")}
	pushed := &dataset.Manifest{Digest: digest("b"), Origin: first.Digest}
	anew := &dataset.Manifest{Digest: digest("b")}
	if IdentityOf(nil) != 0 || IdentityOf(first) == 0 || IdentityOf(pushed) != IdentityOf(first) || IdentityOf(anew) == IdentityOf(first) {
		t.Error(IdentityOf(nil), IdentityOf(first), IdentityOf(pushed), IdentityOf(anew))
	}
}
