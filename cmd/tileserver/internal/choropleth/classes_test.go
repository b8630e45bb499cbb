package choropleth

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func sumOfSquares(c *Classes, numbers []float64) (sum float64) {
	for _, class := range c.List {
		in := slices.DeleteFunc(slices.Clone(numbers), func(v float64) bool { return v < class.From || v > class.To })
		mean := 0.0
		for _, v := range in {
			mean += v / float64(len(in))
		}
		for _, v := range in {
			sum += (v - mean) * (v - mean)
		}
	}
	return sum
}

// Classes are those of another library, which names each origin.
func TestClassesAreThoseOfAnotherLibrary(t *testing.T) {
	b, err := os.ReadFile("testdata/judged.json")
	if err != nil {
		t.Fatal(err)
	}
	var judged struct {
		Values map[string][]float64
		Cases  []struct {
			Set, Method string
			N           int
			Counts      []int
			ADCM        float64
		}
	}
	if err := json.Unmarshal(b, &judged); err != nil || len(judged.Cases) < 20 {
		t.Fatal(len(judged.Cases), err)
	}
	for _, tc := range judged.Cases {
		numbers := judged.Values[tc.Set]
		c, err := Divide(&Values{Numbers: numbers}, Division{Method: tc.Method, N: tc.N})
		if err != nil {
			t.Fatal(err)
		}
		var counts []int
		for _, class := range c.List {
			counts = append(counts, class.Count)
		}
		if tc.Method == Jenks {
			if got := sumOfSquares(c, numbers); math.Abs(got-tc.ADCM) > 1e-6*max(1, tc.ADCM) {
				t.Errorf("%s, %d: %v with a sum of squares of %v, not %v as of %v", tc.Set, tc.N, counts, got, tc.ADCM, tc.Counts)
			}
		} else if empty := func(n int) bool { return n == 0 }; !slices.Equal(slices.DeleteFunc(counts, empty), slices.DeleteFunc(tc.Counts, empty)) {
			t.Errorf("%s, %s of %d: %v, not %v", tc.Set, tc.Method, tc.N, counts, tc.Counts)
		}
	}
}

// Stops ascend, and each number is in the class whose bounds hold it. Jenks has the least sum of
// squares of all divisions.
func TestClassesHoldTheirNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 30), func(n int) float64 { return float64(n) / 4 }), 1, 12).Draw(t, "numbers")
		d := Division{Method: rapid.SampledFrom(Methods).Draw(t, "method"), N: rapid.IntRange(2, 4).Draw(t, "n")}
		if rapid.Bool().Draw(t, "bounds") {
			d = Division{Bounds: []float64{rapid.Float64Range(-5, 4).Draw(t, "first"), rapid.Float64Range(4.5, 9).Draw(t, "second")}}
		}
		c, err := Divide(&Values{Numbers: numbers}, d)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.List) != len(c.Stops)+1 || len(c.List) > max(d.N, 3) {
			t.Fatalf("%d classes, %d stops", len(c.List), len(c.Stops))
		}
		count := make([]int, len(c.List))
		for _, v := range numbers {
			at := 0
			for i, stop := range c.Stops {
				if i > 0 && stop <= c.Stops[i-1] {
					t.Fatalf("stops %v", c.Stops)
				}
				if v >= stop {
					at = i + 1
				}
			}
			count[at]++
			if v < c.List[at].From || v > c.List[at].To {
				t.Fatalf("%v in a class from %v to %v", v, c.List[at].From, c.List[at].To)
			}
		}
		for i, class := range c.List {
			if class.Count != count[i] {
				t.Fatalf("a class of %d has %d", class.Count, count[i])
			}
		}
		if d.Method != Jenks {
			return
		}
		least := math.Inf(1)
		sorted := slices.Sorted(slices.Values(numbers))
		var try func(from, left int, sum float64)
		try = func(from, left int, sum float64) {
			for to := from + 1; to <= len(sorted); to++ {
				in := Classes{List: []Class{{From: sorted[from], To: sorted[to-1]}}}
				if to < len(sorted) && sorted[to] == sorted[to-1] {
					continue
				}
				cost := sum + sumOfSquares(&in, sorted)
				if to == len(sorted) {
					least = min(least, cost)
				} else if left > 1 {
					try(to, left-1, cost)
				}
			}
		}
		try(0, d.N, 0)
		if got := sumOfSquares(c, numbers); got > least+1e-9 {
			t.Fatalf("a sum of squares of %v, the least is %v", got, least)
		}
	})
}

func TestDivisions(t *testing.T) {
	for _, text := range []string{"", "jenks", "equal:7", "unique", "0,10,100", "-1.5"} {
		if _, err := ParseDivision(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"jenks:1", "jenks:13", "jenks:", "best", "1,1", "2,1", "NaN", "1,2,3,4,5,6,7,8,9,10,11,12", "unique:3", "1,"} {
		if _, err := ParseDivision(text); !errors.Is(err, ErrClasses) || !strings.Contains(err.Error(), "give") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, tc := range []struct {
		what  string
		v     Values
		d     Division
		texts bool // classes are values
		rest  int
		list  int
		err   bool
	}{
		{what: "none", list: 0, texts: true},
		{what: "texts", v: Values{Others: map[string]int{"a": 2, "b": 1}}, list: 2, texts: true},
		{what: "texts by numbers", v: Values{Others: map[string]int{"a": 2}}, d: Division{Method: Jenks, N: 3}, err: true},
		{what: "numbers and a text", v: Values{Numbers: []float64{1, 2}, Others: map[string]int{"a": 2}}, list: 2, rest: 2},
		{what: "one number", v: Values{Numbers: []float64{7, 7, 7}}, list: 1},
		{what: "one number, equal", v: Values{Numbers: []float64{7, 7}}, d: Division{Method: Equal, N: 5}, list: 1},
		{what: "numbers as values", v: Values{Numbers: []float64{2, 2, 0.5}}, d: Division{Method: Unique}, list: 2, texts: true},
		{what: "no logarithm", v: Values{Numbers: []float64{0, 5}}, d: Division{Method: Log, N: 3}, err: true},
		{what: "bounds of nothing", d: Division{Bounds: []float64{1, 2}}, list: 3},
	} {
		c, err := Divide(&tc.v, tc.d)
		if tc.err {
			if !errors.Is(err, ErrClasses) {
				t.Errorf("%s: %v", tc.what, err)
			}
			continue
		}
		if err != nil || len(c.List) != tc.list || c.Rest != tc.rest || c.Numeric == tc.texts {
			t.Errorf("%s: %+v, %v", tc.what, c, err)
		}
	}
	many := Values{Others: map[string]int{}}
	for i := range 1000 {
		many.Others[strings.Repeat("x", i+1)] = 1000 - i
	}
	c, err := Divide(&many, Division{})
	if err != nil || len(c.List) != MaxClasses || c.List[0].Count != 1000 || c.Rest != 500500-1000-999-998-997-996-995-994-993-992-991-990-989 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Numbers of any size are divided, and written as maps write them.
func TestClassesOfExtremeNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{-math.MaxFloat64, math.MaxFloat64, 1e200, -1e160, 0, 5e-324})), 1, 9).Draw(t, "numbers")
		for _, method := range Methods {
			c, err := Divide(&Values{Numbers: numbers}, Division{Method: method, N: 5})
			if method == Log && errors.Is(err, ErrClasses) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			sum := 0
			for i, class := range c.List {
				sum += class.Count
				if class.From > class.To || i > 1 && c.Stops[i-1] <= c.Stops[i-2] {
					t.Fatalf("%s: %+v", method, c)
				}
			}
			if sum != len(numbers) {
				t.Fatalf("%s: %d of %d numbers", method, sum, len(numbers))
			}
		}
	})
	for n, want := range map[float64]string{1e21: "1e+21", 1e-7: "1e-7", 2.5e-300: "2.5e-300", 123456: "123456", 1e20: "100000000000000000000", 0.000001: "0.000001", math.Copysign(0, -1): "0"} {
		if got := numberText(n); got != want {
			t.Errorf("%v is %s, want %s", n, got, want)
		}
	}
}

// Jenks of many values takes bounded time and memory, and ends with the greatest.
func TestJenksOfManyValues(t *testing.T) {
	numbers := make([]float64, 50_000)
	for i := range numbers {
		numbers[i] = math.Sqrt(float64(i))
	}
	c, err := Divide(&Values{Numbers: numbers}, Division{Method: Jenks, N: 7})
	if err != nil || len(c.List) != 7 || c.List[6].To != numbers[49_999] {
		t.Errorf("%+v, %v", c, err)
	}
}

func BenchmarkJenks(b *testing.B) {
	numbers := make([]float64, 140_000)
	for i := range numbers {
		numbers[i] = float64(i*7919%140_000) * 1.01
	}
	for b.Loop() {
		if _, err := Divide(&Values{Numbers: numbers}, Division{Method: Jenks, N: 7}); err != nil {
			b.Fatal(err)
		}
	}
}
