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
		if got := feature.FoldedRegionID(id); got != fold {
			t.Errorf("%q is folded to %q, want %q", id, got, fold)
		}
		if !feature.SameRegionID(id, fold) || !feature.SameRegionID([]byte(fold), strings.ToUpper(id)) && id != "É" {
			t.Errorf("%q is not found by its fold", id)
		}
	}
	for _, c := range [][2]string{{"KEN.1.11_1", "KEN.11.1_1"}, {"a", "ab"}, {"a-b", "ab"}, {"", "a"}, {"us", "~us"}} {
		if feature.SameRegionID(c[0], c[1]) {
			t.Errorf("%q and %q are taken for one region", c[0], c[1])
		}
	}
	if n := testing.AllocsPerRun(10, func() { feature.SameRegionID("KEN.1.1_1", "ken-1-1-1") }); n > 0 {
		t.Errorf("a comparison takes memory %v times", n)
	}
}

// TestRegionIDOrder tests that CompareRegionIDs orders ids like their folds, and that the fold of a
// fold is the fold itself.
func TestRegionIDOrder(t *testing.T) {
	id := rapid.StringMatching(`[A-Ca-c0-1~._-]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		x, y := feature.FoldedRegionID(a), feature.FoldedRegionID(b)
		if got, want := feature.CompareRegionIDs(a, []byte(b)), strings.Compare(x, y); (got < 0) != (want < 0) ||
			(got == 0) != (want == 0) {
			t.Fatalf("%q and %q compare as %d, %q and %q as %d", a, b, got, x, y, want)
		}
		if feature.FoldedRegionID(x) != x || string(feature.AppendFoldedRegionID(nil, a)) != x {
			t.Fatalf("the fold of %q is %q, its own is %q", a, x, feature.FoldedRegionID(x))
		}
	})
}

// A filter by a region's id finds every spelling of the id. Other texts must match exactly.
func TestRegionIDFilters(t *testing.T) {
	ids := []string{"E06000001", "E06000002", "KEN.1.1_1", "KENYA", "us-ks"}
	schema := func(kind feature.Kind) feature.Schema { return feature.Schema{{Name: "id", Kind: kind}} }
	pattern := func(text string) feature.Pattern {
		p, ok := feature.ParsePattern(text)
		if !ok {
			t.Fatal(text)
		}
		return p
	}
	texts := func(all ...string) (list []feature.Literal) {
		for _, text := range all {
			list = append(list, feature.TextLiteral(text))
		}
		return list
	}
	term := func(op string, values ...string) func(feature.Schema, feature.Properties) bool {
		return func(s feature.Schema, p feature.Properties) bool {
			filter, err := feature.ParseFilter(s, []feature.Term{{Name: "id", Op: op, Values: values}})
			if err != nil {
				t.Fatal(err)
			}
			pass, err := filter.Match(t.Context(), &feature.Feature{Properties: p})
			return pass && err == nil
		}
	}
	test := func(of feature.Test) func(feature.Schema, feature.Properties) bool {
		return func(s feature.Schema, p feature.Properties) bool {
			in := of.ForSchema(s)
			return in.Eval(p) == feature.Yes
		}
	}
	for _, tc := range []struct {
		name           string
		pass           func(feature.Schema, feature.Properties) bool
		regions, other string
	}{
		{"equal", term("", "e06000001", "ken-1-1-1"), "E06000001 KEN.1.1_1", ""},
		{"ne", term("ne", "e06000001", "Us_Ks"), "E06000002 KEN.1.1_1 KENYA", "E06000001 E06000002 KEN.1.1_1 KENYA us-ks"},
		{"prefix", term("prefix", "ken-"), "KEN.1.1_1", ""},
		{"prefix of a text", term("prefix", "ken"), "KEN.1.1_1 KENYA", ""},
		{"prefix as written", term("prefix", "KEN."), "KEN.1.1_1", "KEN.1.1_1"},
		{"in", test(feature.NewTest("id", "", false, texts("e06000002", "US-KS")...)), "E06000002 us-ks", ""},
		{"in, folded", test(feature.NewTest("id", "", true, texts("ken-1-1-1", "kenya")...)), "KEN.1.1_1 KENYA", "KENYA"},
		{"only", test(feature.NewTest("id", feature.OpOnly, false, texts("kenya", "x")...)), "KENYA", ""},
		{"each", test(feature.NewTest("id", feature.OpEach, false, texts("kenya", "Kenya")...)), "KENYA", ""},
		{"like", test(feature.NewLikeTest("id", pattern("e0600000_"), false)), "E06000001 E06000002", ""},
		{"like with marks", test(feature.NewLikeTest("id", pattern(`ken-1\_1%`), false)), "KEN.1.1_1", ""},
		{"like as written", test(feature.NewLikeTest("id", pattern("KEN.1.1_1"), false)), "KEN.1.1_1", "KEN.1.1_1"},
		{"order", test(feature.NewTest("id", feature.OpGreaterOrEqual, false, texts("a")...)), "us-ks", "us-ks"},
	} {
		for kind, want := range map[feature.Kind]string{feature.RegionID: tc.regions, feature.Text: tc.other} {
			var found []string
			for _, id := range ids {
				if tc.pass(schema(kind), feature.CompactProperties([]byte(`"id":"`+id+`"`))) {
					found = append(found, id)
				}
			}
			if got := strings.Join(found, " "); got != want {
				t.Errorf("%s, kind %d: %s, want %s", tc.name, kind, got, want)
			}
		}
	}
}
