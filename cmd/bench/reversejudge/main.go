// Command reversejudge queries a server for the regions of thousands of points near borders, with
// every kind of endpoint (face) that answers this, and compares the answers with the publishers'
// files.
//
//	bin/bench/reversejudge --demo data --full ../shared/data
//
// There are six kinds of points with a sixth each: near a border of countries, states or counties,
// and between two neighbouring towns of different countries, states or counties. Up to a twentieth
// more are towns that two regions of a level hold, such as Vatican City. --seed draws other points.
//
// The polygons of the files decide, by ray casting, which regions hold a point. If several hold it,
// the smallest is right if it is an enclave. Within 100 m of a border both sides are right. A point
// is not judged on a level on which no polygon holds it or the layers disagree about the larger
// regions around it, or in a country without an ISO 3166 code. Such points are counted separately.
//
// GeoNames' row of a named place decides which regions hold the place. Its codes mean the region in
// which four fifths of the rows have them. If there is no such region, the place's own position
// decides. An answer with a single address, as from Photon and Nominatim, makes claims both about
// the point and about the place.
//
// Places of another country, state or county are counted too, although they may be right. They are
// counted if a place in the point's own country, state or county is at most twice as far. The files
// testdata/demo.failing and testdata/full.failing record the number of each fault in each face,
// with the first example. They are made with the default number of points and the default seed.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"quadrille/cmd/bench/judged"
)

type cli struct {
	judged.WorldOptions
	Points   int    `default:"5000" help:"How many points to ask about."`
	Seed     uint64 `default:"1" help:"What the points are drawn by."`
	Examples int    `default:"3" help:"How many examples of each fault to print for each face."`
}

func main() {
	var c cli
	judged.Main("reversejudge", "Compare what the server says of points near borders with the publishers' files.", &c, c.run)
}

func (c *cli) run(ctx context.Context) error {
	return c.EachWorld(ctx, func(ctx context.Context, site string, w *judged.World) (report, record string, err error) {
		s := sampler{w, rand.New(rand.NewPCG(c.Seed, 0))}
		r, err := ask(ctx, site, w, s.questions(c.Points))
		if err != nil {
			return "", "", err
		}
		return r.table() + "\n" + r.list(c.Examples), r.table() + r.list(1), nil
	})
}

// report is the result of the questions.
type report struct {
	questions int
	judged    [judged.Levels]int
	apart     map[fault]int // by reason
	found     [][]found     // by face
}

// found is a fault of an answer.
type found struct {
	fault
	example string
}

func ask(ctx context.Context, site string, w *judged.World, questions []question) (*report, error) {
	r := &report{questions: len(questions), apart: map[fault]int{}, found: make([][]found, len(faces))}
	j := judge{w}
	for _, q := range questions {
		right := truths(w, q)
		for level := range right {
			if t := &right[level]; t.apart != "" {
				r.apart[fault{t.apart, judged.Level(level)}]++
			}
			if len(right[level].right) > 0 {
				r.judged[level]++
			}
		}
		for i := range faces {
			f := &faces[i]
			var a answer
			body, err := judged.Get(ctx, site+fmt.Sprintf(f.path, q.lat, q.lon))
			if err != nil && !errors.Is(err, judged.ErrRefused) {
				return nil, err
			}
			if err == nil {
				a, err = f.read(body)
			}
			list := map[fault]string{{kind: refused}: fmt.Sprint(err)}
			if err == nil {
				list = j.faults(f, q, &a, &right)
			}
			for is, said := range list {
				example := fmt.Sprintf("%v,%v (%s): %s", q.lat, q.lon, q.from, a.text)
				if said != a.text {
					example += "; says " + said
				}
				if t := right[is.level]; len(t.right) > 0 && strings.Contains(is.kind, "%s") {
					example += fmt.Sprintf("; the point is in %s %s", t.right[0].Names[0], strings.Join(t.right[0].Codes, " "))
				}
				if p := w.Place(a.place); p != nil && strings.HasPrefix(is.kind, "place") {
					example += "; the row of " + p.Name + " has " + cmp.Or(p.Division(max(is.level, judged.State)), p.Country)
				}
				r.found[i] = append(r.found[i], found{is, example})
			}
		}
	}
	return r, nil
}

// order returns the occurring faults in the order of the table.
func (r *report) order() (list []fault) {
	for _, kind := range kinds {
		for level := range judged.Levels {
			is := fault{kind, judged.Level(level)}
			if slices.ContainsFunc(r.found, func(of []found) bool { return count(of, is) > 0 }) {
				list = append(list, is)
			}
		}
	}
	return list
}

func count(of []found, is fault) (n int) {
	for i := range of {
		if of[i].fault == is {
			n++
		}
	}
	return n
}

// table returns a Markdown table of the faults of each reverse geocoder.
func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d points; judged are the country of %d, the state of %d and the county of %d.\n", r.questions, r.judged[0],
		r.judged[1], r.judged[2])
	for _, reason := range []string{onBorder, nowhere, unequal, uncoded} {
		var n [judged.Levels]int
		for level := range n {
			n[level] = r.apart[fault{reason, judged.Level(level)}]
		}
		fmt.Fprintf(&b, "Country %d, state %d, county %d %s.\n", n[0], n[1], n[2], reason)
	}
	b.WriteString("\n| fault |")
	for i := range faces {
		b.WriteString(" " + faces[i].name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(faces)) + "\n")
	for _, is := range r.order() {
		b.WriteString("| " + is.String() + " |")
		for _, of := range r.found {
			fmt.Fprintf(&b, " %d |", count(of, is))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// list returns the first examples of each fault of each reverse geocoder.
func (r *report) list(examples int) string {
	var b strings.Builder
	for _, is := range r.order() {
		for i, of := range r.found {
			left := examples
			for k := range of {
				if of[k].fault == is && left > 0 {
					left--
					fmt.Fprintf(&b, "%s, %s: %s\n", is, faces[i].name, of[k].example)
				}
			}
		}
	}
	return b.String()
}
