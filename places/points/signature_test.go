package points

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

var signedSchema = feature.Schema{{Name: "any", Kind: feature.Any}, {Name: "category", Kind: feature.Text},
	{Name: "closed", Kind: feature.Boolean}, {Name: "price", Kind: feature.Number}, {Name: "tags", Kind: feature.Texts}}

func compact(t testing.TB, object string) []byte {
	t.Helper()
	out, err := feature.AppendProperties(nil, []byte(object))
	if err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	return out
}

// The signature of a matching point has a bit of each mask, so no tile with such a point is
// skipped.
func TestMasksOfWhatMatches(t *testing.T) {
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SampledFrom([]string{"cafe", "bar", "", "a\"b", strings.Repeat("long ", 20)})
		object := must.Get(json.Marshal(map[string]any{
			"category": texts.Draw(t, "category"), "closed": rapid.Bool().Draw(t, "closed"), "tags": rapid.SliceOfN(texts, 0, 3).Draw(t, "tags"),
			"any": rapid.SampledFrom([]any{nil, true, "cafe", []any{true}, []any{"cafe", true, 1}, []any{[]any{"cafe"}}}).Draw(t, "any"),
		})).In(t)
		object = must.Get(feature.AppendProperties(nil, object)).In(t)
		var terms []feature.Term
		for _, name := range []string{"category", "tags"} {
			if values := rapid.SliceOfN(texts, 0, 3).Draw(t, "of "+name); len(values) > 0 {
				terms = append(terms, feature.Term{Name: name, Values: values})
			}
		}
		if rapid.Bool().Draw(t, "by closed") {
			terms = append(terms, feature.Term{Name: "closed", Values: []string{"true"}})
		}
		f := must.Get(feature.ParseFilter(signedSchema, terms)).In(t)
		byTerms, _ := f.(*feature.Expression)
		literals := []feature.Literal{feature.TextLiteral("cafe"), feature.BooleanLiteral(true), feature.TextLiteral("bar")}
		from, op := rapid.IntRange(0, 2).Draw(t,
			"from"), rapid.SampledFrom([]string{feature.OpEquals, feature.OpEach, feature.OpOnly}).Draw(t, "op")
		test := feature.NewTest(rapid.SampledFrom([]string{"any", "tags", "closed"}).Draw(t, "name"), op, false,
			literals[from:rapid.IntRange(from+1, 3).Draw(t, "to")]...)
		for _, filter := range []*feature.Expression{byTerms, feature.And(test, feature.And()).Expression(signedSchema, nil, nil)} {
			if !filter.MatchCompact(object) {
				continue
			}
			matched++
			few := newSummary()
			signature := few.add(object)
			for _, mask := range masks(nil, filter, few.few) {
				if signature&mask == 0 {
					t.Fatalf("%s: of %+v or %+v the signature lacks the mask %x", object, terms, test, mask)
				}
			}
		}
	})
	if matched == 0 {
		t.Error("nothing matched")
	}
}

func TestMasks(t *testing.T) {
	for query, want := range map[string]int{
		"category=cafe":     1,
		"category=cafe,bar": 1,
		"closed=true":       1,
		"tags=a":            1,
		"category.ne=cafe":  0,
		"price=1":           0,
		"any=x":             1,
		"any=5":             0,
		"any=true":          0,
		"-closed=":          0,
		"category=cafe," + strings.Repeat("x", 41): 0, "category=" + strings.Repeat("x", 40): 1,
	} {
		key, values, _ := strings.Cut(query, "=")
		term := must.Get(signedSchema.ParseTerm(key, values)).In(t)
		f := must.Get(feature.ParseFilter(signedSchema, []feature.Term{term})).In(t)
		if got := masks(nil, f.(*feature.Expression), newSummary().few); len(got) != want {
			t.Errorf("%s: %x", query, got)
		}
	}
	// Stored signatures depend on this bit, so it must not change.
	if got := bitOf(valueHash(`"category"`, []byte(`"cafe"`))); got != newSummary().add(compact(t, `{"category":"cafe"}`)) || got != 1<<0 {
		t.Errorf("%x", got)
	}
}

const cafe = `{"name":"Café Zentral","category":"cafe","tags":["swiss","vegan"],"price":12.5,"closed":true,"website":"https://example.org/zentral"}`

func TestSigningAllocatesNothing(t *testing.T) {
	testrace.SkipUnderRace(t, "it allocates")
	object, set := compact(t, cafe), make([]uint64, 0, 20)
	f := must.Get(feature.ParseFilter(signedSchema, []feature.Term{{Name: "category", Values: []string{"cafe"}}})).In(t)
	sum := newSummary()
	for name, run := range map[string]func(){
		"add":   func() { sum.add(object) },
		"masks": func() { masks(set, f.(*feature.Expression), sum.few) },
	} {
		if n := testing.AllocsPerRun(100, run); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzSignature(f *testing.F) {
	f.Add([]byte(`{"a":"x\`))
	f.Add([]byte(`{"a":,"b":[,,]}`))
	f.Fuzz(func(_ *testing.T, object []byte) { newSummary().add(object) })
}

func BenchmarkSignature(b *testing.B) {
	object := compact(b, cafe)
	sum := newSummary()
	for b.Loop() {
		sum.add(object)
	}
}
