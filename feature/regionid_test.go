package feature_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quadrille/feature"
)

func TestRegionIDs(t *testing.T) {
	for id, fold := range map[string]string{
		"us-ks": "us-ks", "E06000001": "e06000001", "KEN.1.1_1": "ken-1-1-1", "A..B__C": "a-b-c", "x-._": "x", "~Fr": "~fr", "": "", "É": "É",
	} {
		if got := feature.FoldedID(id); got != fold {
			t.Errorf("%q is folded to %q, want %q", id, got, fold)
		}
		if !feature.SameID(id, fold) || !feature.SameID([]byte(fold), strings.ToUpper(id)) && id != "É" {
			t.Errorf("%q is not found by its fold", id)
		}
	}
	for _, c := range [][2]string{{"KEN.1.11_1", "KEN.11.1_1"}, {"a", "ab"}, {"a-b", "ab"}, {"", "a"}, {"us", "~us"}} {
		if feature.SameID(c[0], c[1]) {
			t.Errorf("%q and %q are taken for one region", c[0], c[1])
		}
	}
	if n := testing.AllocsPerRun(10, func() { feature.SameID("KEN.1.1_1", "ken-1-1-1") }); n > 0 {
		t.Errorf("a comparison takes memory %v times", n)
	}
}

// The order is that of the folds, which are their own folds.
func TestRegionIDOrder(t *testing.T) {
	id := rapid.StringMatching(`[A-Ca-c0-1~._-]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		x, y := feature.FoldedID(a), feature.FoldedID(b)
		if got, want := feature.CompareIDs(a, []byte(b)), strings.Compare(x, y); (got < 0) != (want < 0) || (got == 0) != (want == 0) {
			t.Fatalf("%q and %q compare as %d, %q and %q as %d", a, b, got, x, y, want)
		}
		if feature.FoldedID(x) != x || string(feature.AppendFoldedID(nil, a)) != x {
			t.Fatalf("the fold of %q is %q, its own is %q", a, x, feature.FoldedID(x))
		}
	})
}
