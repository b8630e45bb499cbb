package main

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/bench/judged"
	"quadrille/quadkey"
)

//go:embed queries.tsv
var queriesTable string

//go:embed fresh.tsv
var freshTable string

// These are the halves: the two tables, which are judged separately.
const (
	halfQueries = "queries"
	halfFresh   = "fresh"
)

// halves lists the names of the tables, with their texts.
var halves = []struct{ name, text string }{{halfQueries, queriesTable}, {halfFresh, freshTable}}

// These are the sets of data.
const (
	setDemo = judged.Demo
	setFull = judged.Full
	setBoth = "both"
)

// query is a text and its right answers.
type query struct {
	half                string // the table that it is of
	set, category, text string
	near                string // "lat,lon", or empty
	want                []expectation
}

// on reports whether a query has its answer in a set of data.
func (q *query) on(set string) bool { return q.set == set || q.set == setBoth }

// kindNothing is the kind of an expectation that there is no result.
const kindNothing = "nothing"

// expectation is a correct answer.
type expectation struct {
	kind     string // of the result, or the type of a region; or kindNothing
	country  string // "-" for any
	lat, lon float64
	km       float64 // greatest distance of the answer from lat, lon; 0 for anywhere
}

const header = "set\tcategory\tquery\tnear\twant"

// readHalves reads both tables.
func readHalves() (list []query, err error) {
	for _, h := range halves {
		queries, err := readQueries(h.name, h.text)
		if err != nil {
			return nil, fmt.Errorf("%s.tsv: %w", h.name, err)
		}
		list = append(list, queries...)
	}
	return list, nil
}

// readQueries reads a table.
func readQueries(half, text string) (list []query, err error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != header {
		return nil, fmt.Errorf("the first line of the table is %q instead of %q", lines[0], header)
	}
	for i, line := range lines[1:] {
		q, err := readQuery(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the table: %w", i+2, err)
		}
		q.half = half
		list = append(list, q)
	}
	return list, nil
}

var errQuery = errors.New("give set, category, query, near and want with tabs between them")

func readQuery(line string) (query, error) {
	cells := strings.Split(line, "\t")
	if len(cells) != 5 {
		return query{}, errQuery
	}
	q := query{set: cells[0], category: cells[1], text: cells[2], near: cells[3]}
	if !slices.Contains([]string{setDemo, setFull, setBoth}, q.set) || q.category == "" || q.text == "" {
		return query{}, errQuery
	}
	if q.near != "" {
		if _, _, err := position(q.near); err != nil {
			return query{}, err
		}
	}
	for text := range strings.SplitSeq(cells[4], " | ") {
		e, err := readExpectation(text)
		if err != nil {
			return query{}, err
		}
		q.want = append(q.want, e)
	}
	return q, nil
}

func readExpectation(text string) (e expectation, err error) {
	if text == kindNothing {
		return expectation{kind: kindNothing}, nil
	}
	words := strings.Fields(text)
	if len(words) != 2 && len(words) != 4 {
		return e, fmt.Errorf("%q is no expectation: give a kind, a country, and a position with a distance in kilometres", text)
	}
	e.kind, e.country = words[0], words[1]
	if len(words) == 2 {
		return e, nil
	}
	if e.lat, e.lon, err = position(words[2]); err != nil {
		return e, err
	}
	e.km, err = strconv.ParseFloat(words[3], 64)
	if err == nil && !(e.km > 0) {
		err = fmt.Errorf("%q: give a distance above 0", text)
	}
	return e, err
}

func position(text string) (lat, lon float64, err error) {
	y, x, _ := strings.Cut(text, ",")
	lat, yerr := strconv.ParseFloat(y, 64)
	lon, xerr := strconv.ParseFloat(x, 64)
	return lat, lon, errors.Join(yerr, xerr)
}

// answer is the part of a result that the judge reads.
type answer struct {
	Kind    string  `json:"kind"`
	Type    string  `json:"type"`
	Label   string  `json:"label"`
	Country string  `json:"country"`
	Lat     float64 `json:"lat"`
	Lon     float64 `json:"lon"`
}

// wantsNothing reports whether an empty result is a right answer.
func (q *query) wantsNothing() bool {
	return slices.ContainsFunc(q.want, func(e expectation) bool { return e.kind == kindNothing })
}

// meets reports whether an answer is a right one.
func (q *query) meets(a *answer) bool {
	return slices.ContainsFunc(q.want, func(e expectation) bool {
		return (e.kind == a.Kind || e.kind == a.Type) && (e.country == "-" || e.country == a.Country) &&
			(e.km == 0 || quadkey.Distance(e.lon, e.lat, a.Lon, a.Lat) <= e.km*1000)
	})
}
