package feature

import (
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// drawTest draws a test of the properties a and b.
func drawTest(t *rapid.T, depth int) Test {
	if depth > 0 {
		kids := func() []Test {
			return []Test{drawTest(t, depth-1), drawTest(t, depth-1)}
		}
		switch rapid.IntRange(0, 3).Draw(t, "node") {
		case 0:
			return And(kids()...)
		case 1:
			return Or(kids()...)
		case 2:
			return Not(drawTest(t, depth-1))
		}
	}
	literal := func() Literal {
		n := rapid.IntRange(-2, 12).Draw(t, "literal")
		return []Literal{TextLiteral(fmt.Sprint(n)), TextLiteral("Äx"), NumberLiteral(fmt.Sprint(n, ".0")), BooleanLiteral(n > 5)}[rapid.IntRange(0, 3).Draw(t, "type")]
	}
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
	fold := rapid.Bool().Draw(t, "fold")
	switch op := rapid.SampledFrom([]string{OpEquals, OpLess, OpLessOrEqual, OpGreater, OpGreaterOrEqual, OpLacks, OpEach, OpOnly, opLike}).Draw(t, "op"); op {
	case OpLacks:
		return NewTest(name, op, false)
	case OpEquals, OpEach, OpOnly:
		return NewTest(name, op, fold, literal(), literal())
	case opLike:
		p, _ := ParsePattern("1%")
		return NewLikeTest(name, p, fold)
	default:
		return NewTest(name, op, fold, literal())
	}
}

// If MayPass is false for the ranges of some features, none of them passes.
func TestMayPassIsRight(t *testing.T) {
	skipped := 0
	rapid.Check(t, func(t *rapid.T) {
		type ends struct{ low, high []byte }
		ranges := map[string]ends{}
		columns := map[string][]string{}
		rows := rapid.IntRange(1, 4).Draw(t, "rows")
		for _, name := range []string{"a", "b"} {
			kind := rapid.IntRange(0, 2).Draw(t, "kind")
			var all []int
			for range rows {
				if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
					columns[name] = append(columns[name], "null")
					continue
				}
				n := rapid.IntRange(0, 9).Draw(t, "value")
				all = append(all, n)
				columns[name] = append(columns[name], value(kind, n))
			}
			if len(all) == 0 {
				ranges[name] = ends{[]byte("null"), []byte("null")}
				continue
			}
			low, high := all[0], all[0]
			for _, n := range all {
				low, high = min(low, n), max(high, n)
			}
			if rapid.IntRange(0, 5).Draw(t, "known") > 0 {
				ranges[name] = ends{[]byte(value(kind, low)), []byte(value(kind, high))}
			}
		}
		for range 30 {
			test := drawTest(t, rapid.IntRange(0, 2).Draw(t, "depth"))
			if test.MayPass(func(name string) (low, high []byte) { return ranges[name].low, ranges[name].high }) {
				continue
			}
			skipped++
			e := test.Expression(nil, nil, nil)
			for i := range rows {
				if object := fmt.Sprintf(`{"a":%s,"b":%s}`, columns["a"][i], columns["b"][i]); e.MatchCompact([]byte(object)) {
					t.Fatalf("%s passes, but not by %s", object, ranges)
				}
			}
		}
	})
	if skipped < 10 {
		t.Errorf("%d tests are without features", skipped)
	}
}

func value(kind, n int) string {
	switch kind {
	case 0:
		return strconv.Quote(fmt.Sprint(n))
	case 1:
		return fmt.Sprint(n)
	}
	return strconv.FormatBool(n > 4)
}

// Of a table, numbers and booleans are compared with texts that spell them, and texts as they are written.
func TestForTexts(t *testing.T) {
	for _, tc := range []struct {
		literal     Literal
		op, value   string
		table, file bool
	}{
		{NumberLiteral("12"), OpEquals, `"12"`, true, false},
		{NumberLiteral("12"), OpEquals, `"12.0"`, true, false},
		{NumberLiteral("12"), OpEquals, `12`, true, true},
		{NumberLiteral("7"), OpEquals, `"007"`, false, false},
		{NumberLiteral("9"), OpLess, `"10"`, false, false},
		{NumberLiteral("9"), OpGreater, `"10"`, true, false},
		{NumberLiteral("9"), OpGreater, `"ten"`, false, false},
		{TextLiteral("9"), OpGreater, `"10"`, false, false},
		{TextLiteral("08862"), OpEquals, `"08862"`, true, true},
		{TextLiteral("12"), OpEquals, `12`, false, false},
		{BooleanLiteral(true), OpEquals, `"True"`, true, false},
		{BooleanLiteral(false), OpEquals, `"True"`, false, false},
		{BooleanLiteral(false), OpEquals, `"no"`, false, false},
	} {
		test := NewTest("a", tc.op, false, tc.literal)
		object := []byte(`{"a":` + tc.value + `}`)
		if file := test.Expression(nil, nil, nil).MatchCompact(object); file != tc.file {
			t.Errorf("%s: %v", told(test), file)
		}
		if table := And(test, test).ForTexts().Expression(nil, nil, nil).MatchCompact(object); table != tc.table {
			t.Errorf("%s of a table: %v", told(test), table)
		}
	}
}

func told(t Test) string { return t.Expression(nil, nil, nil).String() }
