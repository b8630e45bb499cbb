// Package choropleth divides the values of a property into classes, and gives the classes colours, for
// maps that show the property.
package choropleth

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrClasses is matched by errors about how to divide values.
var ErrClasses = errors.New("classes cannot be made")

// These are the methods of division. The bounds of classes are as in the library mapclassify: a value
// that equals the upper bound of a class is in it.
const (
	Quantile = "quantile" // the same number of values in each, as far as equal values allow
	Jenks    = "jenks"    // least sum of squared distances from the means of the classes, by Fisher 1958
	Equal    = "equal"    // the same width
	Log      = "log"      // the same width of the logarithms; all values must be positive
	Unique   = "unique"   // each value is a class
)

// Methods lists the methods with a number of classes.
var Methods = []string{Quantile, Jenks, Equal, Log}

const (
	// MaxClasses bounds the number of classes.
	MaxClasses     = 12
	defaultClasses = 5
)

// Division says how to divide values. The zero Division chooses.
type Division struct {
	Method string
	N      int
	// Bounds are lower bounds of all classes but the first, ascending. They replace Method and N.
	Bounds []float64
}

// ParseDivision reads METHOD, METHOD:N, or a list of bounds separated by commas. Errors match
// ErrClasses.
func ParseDivision(text string) (d Division, err error) {
	if text == "" {
		return d, nil
	}
	method, number, has := strings.Cut(text, ":")
	if slices.Contains(Methods, method) || method == Unique && !has {
		d = Division{Method: method, N: defaultClasses}
		if has {
			if d.N, err = strconv.Atoi(number); err != nil || d.N < 2 || d.N > MaxClasses {
				return d, fmt.Errorf("%w: %q: give 2 to %d classes, such as %s:%d", ErrClasses, text, MaxClasses, method, defaultClasses)
			}
		}
		return d, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return d, fmt.Errorf("%w: %q: give one of %s, such as %s:7, or bounds such as 10,20,50", ErrClasses, text,
				strings.Join(append(slices.Clone(Methods), Unique), ", "), Jenks)
		}
		if n := len(d.Bounds); n > 0 && v <= d.Bounds[n-1] || n == MaxClasses-1 {
			return d, fmt.Errorf("%w: %q: give at most %d bounds, from the least to the greatest", ErrClasses, text, MaxClasses-1)
		}
		d.Bounds = append(d.Bounds, v)
	}
	return d, nil
}

// Values are the values of a property.
type Values struct {
	Numbers []float64
	Others  map[string]int // texts and booleans, with their numbers
	Missing int            // features without a value
}

// Class is a class of numbers, or a value.
type Class struct {
	Color string
	// Value is the value of a class of a text or boolean. Classes of numbers have none.
	Value string
	// From and To are the least and the greatest number of the class. If it has none, they are its
	// bounds.
	From, To float64
	Count    int
}

// Classes are the classes of a property, in their order.
type Classes struct {
	Method string
	// Numeric is set if classes are of numbers. Stops are then the least numbers of all classes but
	// the first, strictly ascending.
	Numeric bool
	Stops   []float64
	List    []Class
	// Rest counts features with values in no class: those of texts beside numbers, and of rare values.
	Rest, Missing int
}

// Divide divides values. Without a method numbers are divided into five quantiles, and texts and
// booleans by their values. Errors match ErrClasses.
func Divide(v *Values, d Division) (*Classes, error) {
	numeric := len(v.Numbers) > 0 && d.Method != Unique
	if d.Bounds == nil && numeric {
		d.Method, d.N = cmp.Or(d.Method, Quantile), cmp.Or(d.N, defaultClasses)
	}
	c := &Classes{Method: cmp.Or(d.Method, Unique), Numeric: numeric || d.Bounds != nil, Missing: v.Missing}
	if d.Bounds != nil {
		c.Method = "bounds"
	}
	if !c.Numeric {
		if d.Method != "" && d.Method != Unique && len(v.Others) > 0 {
			return nil, fmt.Errorf("%w: no value is a number: leave classes out, or say %s", ErrClasses, Unique)
		}
		c.unique(v)
		return c, nil
	}
	for _, n := range v.Others {
		c.Rest += n
	}
	sorted := slices.Sorted(slices.Values(v.Numbers))
	c.Stops = d.Bounds
	if d.Bounds == nil {
		bins, err := d.bins(sorted)
		if err != nil {
			return nil, err
		}
		c.Stops = stopsOf(bins, sorted)
	}
	for i := range len(c.Stops) + 1 {
		from, to := 0, len(sorted)
		if i > 0 {
			from, _ = slices.BinarySearch(sorted, c.Stops[i-1])
		}
		if i < len(c.Stops) {
			to, _ = slices.BinarySearch(sorted, c.Stops[i])
		}
		class := Class{Count: to - from}
		switch {
		case class.Count > 0:
			class.From, class.To = sorted[from], sorted[to-1]
		case i == 0:
			class.From, class.To = c.Stops[0], c.Stops[0]
		default:
			class.From, class.To = c.Stops[i-1], c.Stops[min(i, len(c.Stops)-1)]
		}
		c.List = append(c.List, class)
	}
	return c, nil
}

// unique makes a class of each of the most frequent values, numbers in their order.
func (c *Classes) unique(v *Values) {
	all := maps.Clone(v.Others)
	if all == nil {
		all = map[string]int{}
	}
	for _, n := range v.Numbers {
		all[numberText(n)]++
	}
	var list []Class
	for value, n := range all {
		list = append(list, Class{Value: value, Count: n})
	}
	slices.SortFunc(list, func(a, b Class) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	c.List = list[:min(len(list), MaxClasses)]
	for _, class := range list[len(c.List):] {
		c.Rest += class.Count
	}
	if len(v.Others) == 0 {
		slices.SortFunc(c.List, func(a, b Class) int {
			first, _ := strconv.ParseFloat(a.Value, 64)
			second, _ := strconv.ParseFloat(b.Value, 64)
			return cmp.Compare(first, second)
		})
	}
}

// OfNumber returns the index of the class of a number, or -1.
func (c *Classes) OfNumber(n float64) int {
	if !c.Numeric {
		return c.OfText(numberText(n))
	}
	i, is := slices.BinarySearch(c.Stops, n)
	if is {
		i++
	}
	return i
}

// OfText returns the index of the class of a text, or of a boolean as a text, or -1.
func (c *Classes) OfText(text string) int {
	return slices.IndexFunc(c.List, func(class Class) bool { return !c.Numeric && class.Value == text })
}

// numberText writes a number as JavaScript does, which maps compare it with.
func numberText(n float64) string {
	if a := math.Abs(n); a == 0 || a >= 1e-6 && a < 1e21 {
		return strconv.FormatFloat(n+0, 'f', -1, 64) // -0 is 0
	}
	text := strconv.FormatFloat(n, 'e', -1, 64)
	return strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(text)
}

// bins returns the upper bounds of all classes but the last, ascending.
func (d *Division) bins(sorted []float64) (bins []float64, err error) {
	least, greatest := sorted[0], sorted[len(sorted)-1]
	add := func(at func(share float64) float64) {
		for i := 1; i < d.N; i++ {
			bins = append(bins, at(float64(i)/float64(d.N)))
		}
	}
	switch d.Method {
	case Quantile:
		add(func(share float64) float64 {
			at := share * float64(len(sorted)-1)
			below := int(at)
			above, part := sorted[min(below+1, len(sorted)-1)], at-float64(below)
			if sorted[below] == above {
				return above
			}
			return sorted[below]*(1-part) + above*part
		})
		counted := 0 // values up to the bound before
		bins = slices.DeleteFunc(bins, func(bin float64) bool {
			upTo, _ := slices.BinarySearch(sorted, math.Nextafter(bin, math.Inf(1)))
			empty := upTo == counted
			counted = upTo
			return empty
		})
	case Equal:
		add(func(share float64) float64 { return least*(1-share) + greatest*share })
	case Log:
		if least <= 0 {
			return nil, fmt.Errorf("%w: the least value is %v, and only positive ones have a logarithm: use %s", ErrClasses, least, Quantile)
		}
		add(func(share float64) float64 { return least * math.Pow(greatest/least, share) })
	case Jenks:
		bins = fisher(sorted, d.N)
	}
	bins = slices.DeleteFunc(bins, func(v float64) bool { return v >= greatest || math.IsNaN(v) })
	return slices.Compact(bins), nil
}

// stopsOf returns the least values above upper bounds: a value of the data, or the next number where
// the class is empty.
func stopsOf(bins, sorted []float64) (stops []float64) {
	for i, bin := range bins {
		stop := math.Nextafter(bin, math.Inf(1))
		at, _ := slices.BinarySearch(sorted, stop)
		if at < len(sorted) && (i+1 == len(bins) || sorted[at] <= bins[i+1]) {
			stop = sorted[at]
		}
		if n := len(stops); n == 0 || stop > stops[n-1] {
			stops = append(stops, stop)
		}
	}
	return stops
}

// maxDistinct bounds the distinct values that Jenks considers. Of more values it considers so many, at
// equal ranks.
const maxDistinct = 10_000

// fisher returns the upper bounds of all classes but the last of the optimal division of sorted values
// into at most n classes. It takes O(n·m·log m) for m distinct values: the best beginning of the last
// class never moves back when values are added.
func fisher(sorted []float64, n int) []float64 {
	var values, weights []float64
	for _, v := range sorted {
		if m := len(values); m == 0 || v != values[m-1] {
			values, weights = append(values, v), append(weights, 0)
		}
		weights[len(weights)-1]++
	}
	if m := len(values); m > maxDistinct {
		for i := range maxDistinct {
			at := i * (m - 1) / (maxDistinct - 1)
			values[i], weights[i] = values[at], 1
		}
		values, weights = values[:maxDistinct], weights[:maxDistinct]
	}
	m := len(values)
	if n = min(n, m); n < 2 {
		return nil
	}
	// Sums of weights, of values and of squares before each value, relative to the mean and the
	// greatest, so that few digits are lost and nothing is infinite.
	mean := 0.0
	for _, v := range values {
		mean += v / float64(m)
	}
	scale := max(math.Abs(values[0]), math.Abs(values[m-1]))
	w, s, q := make([]float64, m+1), make([]float64, m+1), make([]float64, m+1)
	for i, v := range values {
		d := v/scale - mean/scale
		w[i+1], s[i+1], q[i+1] = w[i]+weights[i], s[i]+weights[i]*d, q[i]+weights[i]*d*d
	}
	cost := func(from, to int) float64 { // of a class of values from to to-1
		sum := s[to] - s[from]
		return max(0, q[to]-q[from]-sum*sum/(w[to]-w[from]))
	}
	best := make([]float64, m+1) // cost of the first values in k classes
	for to := 1; to <= m; to++ {
		best[to] = cost(0, to)
	}
	starts := make([][]int, n)
	for k := 1; k < n; k++ {
		next, start := make([]float64, m+1), make([]int, m+1)
		var fill func(lo, hi, first, last int)
		fill = func(lo, hi, first, last int) {
			if lo > hi {
				return
			}
			to := (lo + hi) / 2
			next[to] = math.Inf(1)
			for from := max(first, k); from <= min(last, to-1); from++ {
				if c := best[from] + cost(from, to); c < next[to] {
					next[to], start[to] = c, from
				}
			}
			fill(lo, to-1, first, start[to])
			fill(to+1, hi, start[to], last)
		}
		fill(k+1, m, k, m-1)
		best, starts[k] = next, start
	}
	bins := make([]float64, n-1)
	for k, to := n-1, m; k > 0; k-- {
		to = starts[k][to]
		bins[k-1] = values[to-1]
	}
	return bins
}
