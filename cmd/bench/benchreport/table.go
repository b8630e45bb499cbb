package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A bench is one benchmark with all its runs.
type bench struct {
	name   string
	values map[string][]float64 // by unit
}

// format turns the output of Go benchmarks into tables and returns the processor that it names. In
// a table a benchmark is a row. benchstat has no Markdown output, and would write a table for every
// unit, which is 76 lines for the 13 benchmarks of quadkey. Output of any other kind is returned
// unchanged.
func format(out string) (figures, cpu string) {
	var b strings.Builder
	var pkg string
	var list []*bench
	flush := func() {
		if len(list) > 0 {
			writeTable(&b, pkg, list)
		}
		list = nil
	}
	found := false
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if v, ok := strings.CutPrefix(line, "pkg: "); ok {
			flush()
			pkg = v
		} else if v, ok := strings.CutPrefix(line, "cpu: "); ok {
			cpu = v
		} else if name, values, ok := parseLine(line); ok {
			found = true
			i := slices.IndexFunc(list, func(b *bench) bool { return b.name == name })
			if i < 0 {
				i = len(list)
				list = append(list, &bench{name, map[string][]float64{}})
			}
			for unit, v := range values {
				list[i].values[unit] = append(list[i].values[unit], v)
			}
		}
	}
	flush()
	if !found {
		if pkg != "" { // Go benchmarks, but none ran
			return "", cpu
		}
		return out, ""
	}
	return b.String(), cpu
}

var procsRE = regexp.MustCompile(`-\d+$`)

// parseLine reads "BenchmarkX/y-2   1000   1234 ns/op   0 allocs/op".
func parseLine(line string) (name string, values map[string]float64, ok bool) {
	f := strings.Fields(line)
	if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
		return "", nil, false
	}
	if _, err := strconv.ParseUint(f[1], 10, 64); err != nil {
		return "", nil, false
	}
	values = make(map[string]float64, len(f)/2-1)
	for i := 2; i < len(f); i += 2 {
		v, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return "", nil, false
		}
		values[f[i+1]] = v
	}
	return strings.TrimPrefix(procsRE.ReplaceAllString(f[0], ""), "Benchmark"), values, true
}

func writeTable(b *strings.Builder, pkg string, list []*bench) {
	// The usual units come first, in the usual order, and then the units that the benchmarks define
	// themselves.
	units := []string{"ns/op", "MB/s", "B/op", "allocs/op"}
	var own []string
	for _, m := range list {
		for u := range m.values {
			if !slices.Contains(units, u) && !slices.Contains(own, u) {
				own = append(own, u)
			}
		}
	}
	slices.Sort(own)
	units = slices.DeleteFunc(append(units, own...), func(u string) bool {
		return !slices.ContainsFunc(list, func(m *bench) bool { return len(m.values[u]) > 0 })
	})
	fmt.Fprintf(b, "### %s\n\n| benchmark |", pkg)
	for _, u := range units {
		fmt.Fprintf(b, " %s |", strings.Replace(u, "ns/op", "time/op", 1))
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(units)) + "\n")
	for _, m := range list {
		fmt.Fprintf(b, "| %s |", strings.ReplaceAll(m.name, "|", `\|`))
		for _, u := range units {
			fmt.Fprintf(b, " %s |", cell(m.values[u], u))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// cell returns the median of the runs. If there are several, it adds half of their range, as in
// "1.25 µs ± 3 %".
func cell(runs []float64, unit string) string {
	if len(runs) == 0 {
		return ""
	}
	s := slices.Sorted(slices.Values(runs))
	median := s[len(s)/2]
	if len(s)%2 == 0 {
		median = (s[len(s)/2-1] + median) / 2
	}
	text := number(median)
	if unit == "ns/op" {
		text = duration(median)
	}
	if spread := (s[len(s)-1] - s[0]) / 2; spread > median/200 {
		text += fmt.Sprintf(" ± %.0f %%", 100*spread/median)
	}
	return text
}

func duration(ns float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if ns >= u.size {
			return number(ns/u.size) + " " + u.name
		}
	}
	return number(ns) + " ns"
}

// number writes about three digits, and integers with separators.
func number(v float64) string {
	switch {
	case v < 0:
		return "-" + number(-v)
	case v == float64(int64(v)) || v >= 100:
		s := strconv.FormatFloat(v, 'f', 0, 64)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}
