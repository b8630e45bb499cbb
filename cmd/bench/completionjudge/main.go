// Command completionjudge requests a server's completions of the first letters of names, and
// compares them with people's expectations.
//
//	bin/bench/completionjudge --demo data --full ../shared/data
//
// It types the names of the largest cities, of all countries, of states and of large airports
// letter by letter: in lower case without marks, as people type. Some are also typed in their own
// script. It counts the letters until each is first, and until it is among the first five. The
// server does not know where the person is or what language the person reads.
//
// The reference was written before any measurement. Of the names that begin with the typed letters,
// a person expects the best known:
//
//   - A city counts as many people as live in it, by GeoNames. Sections of cities and places
//     of the past are no cities.
//   - A country counts its people by countryInfo.txt.
//   - A state counts one less than its largest city, so that New York is the city first.
//     States are those that the file of boundaries calls so, the provinces of Canada, and
//     the District of Columbia.
//   - A large airport counts 100,000: the city that it is called after comes first.
//   - Where these are equal, a country comes before a city, a city before a state, and a
//     state before an airport.
//   - Only main names count here. One that a heavier target has too cannot be first: of
//     namesakes only one can.
//
// The reference's own numbers are in the tables, because five places are too few for all
// that begins with "san". Names in their own script have no reference.
//
// Codes are typed too. The results of the two and three letters of each country, and of the letters
// of the 51 states of the United States, must be first or second. Those of large airports must be
// first. The files testdata/demo.failing and testdata/full.failing record the tables, the codes
// that fail, and the targets that need the most letters in excess of the reference.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"quadrille/cmd/bench/judged"
)

type cli struct {
	judged.WorldOptions
	Cities   int `default:"2000" help:"How many of the largest cities are typed."`
	Examples int `default:"40" help:"How many of the worst targets are listed for each list."`
}

func main() {
	var c cli
	judged.Main("completionjudge", "Compare what first letters complete to with what people expect.", &c, c.run)
}

func (c *cli) run(ctx context.Context) error {
	return c.EachWorld(ctx, func(ctx context.Context, site string, w *judged.World) (report, record string, err error) {
		r := expect(w, c.Cities)
		if err := r.ownScript(w, c.Sample); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", "", err
		}
		report, err = judge(ctx, site, r, w, c.Examples)
		return report, report, err
	})
}

// most is the greatest number of letters with a column in the table.
const most = 6

// judge types all lists, and returns the tables and the failures.
func judge(ctx context.Context, site string, r *reference, w *judged.World, examples int) (string, error) {
	var five, first, worst strings.Builder
	head := func(b *strings.Builder, what string) {
		fmt.Fprintf(b, "%s after so many letters\n\n| list | by | all |", what)
		for n := range most {
			fmt.Fprintf(b, " %d |", n+1)
		}
		b.WriteString(" more | never |\n|---|---|---:|" + strings.Repeat("---:|", most+2) + "\n")
	}
	servers := endpoints(site)
	head(&five, "Among the first five")
	head(&first, "First, without namesakes")
	for _, l := range r.lists {
		if len(l.targets) == 0 {
			continue
		}
		expected := make([]typed, len(l.targets))
		for i, t := range l.targets {
			expected[i], _ = typing(t, func(n int) (int, error) { return r.rank(t, n), nil })
		}
		known := expected[0].five > 0 // the reference has no names in other scripts
		if known {
			write(&five, &first, l, "reference", expected)
		}
		for _, e := range servers {
			if !slices.Contains(e.kinds, l.targets[0].kind) {
				continue
			}
			got := make([]typed, len(l.targets))
			for i, t := range l.targets {
				var err error
				if got[i], err = typing(t, func(n int) (int, error) { return e.rank(ctx, t, n) }); err != nil {
					return "", err
				}
			}
			write(&five, &first, l, e.path, got)
			if e.path == "/geocode" && known {
				if err := tellWorst(ctx, &worst, e, l, got, expected, examples); err != nil {
					return "", err
				}
			}
		}
	}
	codes, err := judgeCodes(ctx, servers[0], r, w)
	return five.String() + "\n" + first.String() + "\n" + codes + "\n" + worst.String(), err
}

// reached counts the targets by the number of letters that they need. Index 0 counts the targets
// that never get there.
func reached(got []typed, letters func(typed) int) (counts [most + 2]int) {
	for _, t := range got {
		counts[min(letters(t), most+1)]++
	}
	return counts
}

// write adds a row to both tables. Column n counts the targets that need at most n letters.
func write(five, first *strings.Builder, l list, by string, got []typed) {
	row := func(b *strings.Builder, got []typed, letters func(typed) int) {
		counts, sum := reached(got, letters), 0
		fmt.Fprintf(b, "| %s | %s | %d |", l.name, by, len(got))
		for n := 1; n < len(counts); n++ {
			sum += counts[n]
			fmt.Fprintf(b, " %d |", sum)
		}
		fmt.Fprintf(b, " %d |\n", counts[0])
	}
	row(five, got, func(t typed) int { return t.five })
	var alone []typed
	for i, t := range l.targets {
		if !t.namesake {
			alone = append(alone, got[i])
		}
	}
	row(first, alone, func(t typed) int { return t.first })
}

// tellWorst lists the targets that need the most letters in excess of the reference to be among
// five. It also lists the five results after as many letters.
func tellWorst(ctx context.Context, b *strings.Builder, e *endpoint, l list, got, expected []typed, examples int) error {
	type late struct{ i, more int }
	var list []late
	for i := range got {
		want, need := expected[i].five, got[i].five
		if want == 0 {
			want = len(l.targets[i].typed)
		}
		if need == 0 {
			need = len(l.targets[i].typed) + 100
		}
		if need > want {
			list = append(list, late{i, need - want})
		}
	}
	slices.SortStableFunc(list, func(a, b late) int { return -cmp.Compare(a.more, b.more) })
	fmt.Fprintf(b, "%d of %s need more letters than by the reference to be among five:\n", len(list), l.name)
	for _, late := range list[:min(len(list), examples)] {
		t, after := l.targets[late.i], expected[late.i].five
		if after == 0 {
			after = len(t.typed)
		}
		hits, err := e.ask(ctx, string(t.typed[:after]))
		if err != nil {
			return err
		}
		instead := "nothing"
		if len(hits) > 0 {
			instead = hits[0].String()
		}
		need := fmt.Sprint(got[late.i].five, " letters")
		if got[late.i].five == 0 {
			need = "never"
		}
		fmt.Fprintf(b, "  %s: %s; after %q the first is %s\n", t.name, need, string(t.typed[:after]), instead)
	}
	return nil
}

// judgeCodes queries codes, and lists those that are not in the expected place.
func judgeCodes(ctx context.Context, e *endpoint, r *reference, w *judged.World) (string, error) {
	type code struct {
		list, text string
		target     *target
		within     int
	}
	var codes []code
	for _, t := range r.all {
		switch {
		case t.kind == country:
			i := slices.IndexFunc(w.Countries, func(c judged.CountryInfo) bool { return c.ISO == t.id })
			codes = append(codes, code{"two letters of a country", t.id, t, 2}, code{"three letters of a country", w.Countries[i].ISO3, t, 2})
		case t.kind == state && t.region.Country == "US" && len(t.region.Codes) > 0:
			codes = append(codes, code{"letters of a state", strings.ToUpper(strings.TrimPrefix(t.region.Codes[0], "us-")), t, 2})
		case t.kind == airport && t.id != "":
			codes = append(codes, code{"IATA code of a large airport", t.id, t, 1})
		}
	}
	slices.SortStableFunc(codes, func(a, b code) int { return cmp.Or(cmp.Compare(a.list, b.list), cmp.Compare(a.text, b.text)) })
	var b strings.Builder
	for len(codes) > 0 {
		n := slices.IndexFunc(codes, func(c code) bool { return c.list != codes[0].list })
		if n < 0 {
			n = len(codes)
		}
		right, failing := 0, []string{}
		for _, c := range codes[:n] {
			hits, err := e.ask(ctx, strings.ToLower(c.text))
			if err != nil {
				return "", err
			}
			if at := slices.IndexFunc(hits, func(h hit) bool { return h.is(c.target) }); at >= 0 && at < c.within {
				right++
				continue
			}
			instead := "nothing"
			if len(hits) > 0 {
				instead = hits[0].String()
			}
			failing = append(failing, c.text+" → "+instead)
		}
		fmt.Fprintf(&b, "%s: %d of %d stand within the first %d. Not so: %s\n", codes[0].list, right, n, codes[0].within,
			strings.Join(failing, "; "))
		codes = codes[n:]
	}
	return b.String(), nil
}
