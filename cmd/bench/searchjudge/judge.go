package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// depth is the number of answers of a query that count.
const depth = 10

// outcome is the result of a query.
type outcome struct {
	query *query
	rank  int    // of the first right answer; 0 if there is none
	first string // the first answer as text
}

// judgement is the result of the queries of a set.
type judgement struct {
	set      string
	outcomes []outcome
}

// ask sends all queries of a set to a server.
func ask(ctx context.Context, site, set string, queries []query) (judgement, error) {
	j := judgement{set: set}
	for i := range queries {
		if q := &queries[i]; q.on(set) {
			o, err := askOne(ctx, site, q)
			if err != nil {
				return j, fmt.Errorf("%q: %w", q.text, err)
			}
			j.outcomes = append(j.outcomes, o)
		}
	}
	return j, nil
}

func askOne(ctx context.Context, site string, q *query) (outcome, error) {
	params := url.Values{"q": {q.text}, "limit": {fmt.Sprint(depth)}}
	if lat, lon, ok := strings.Cut(q.near, ","); ok {
		params.Set("lat", lat)
		params.Set("lon", lon)
	}
	o := outcome{query: q, first: "nothing"}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, site+"/geocode?"+params.Encode(), nil)
	if err != nil {
		return o, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return o, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		o.first = res.Status
		return o, nil
	}
	var body struct{ Results []answer }
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		return o, err
	}
	if len(body.Results) > 0 {
		a := &body.Results[0]
		o.first = a.Kind + " " + a.Label
	}
	if len(body.Results) == 0 && q.wantsNothing() {
		o.rank = 1
		return o, nil
	}
	o.rank = 1 + slices.IndexFunc(body.Results, func(a answer) bool { return q.meets(&a) })
	return o, nil
}

// failing lists the queries of a half whose first answer is wrong, as a file.
func (j *judgement) failing(half string) []byte {
	var b strings.Builder
	b.WriteString("category\tquery\tnear\trank\tfirst answer\n")
	for _, o := range j.outcomes {
		if o.rank != 1 && o.query.half == half {
			fmt.Fprintf(&b, "%s\t%s\t%s\t%d\t%s\n", o.query.category, o.query.text, o.query.near, o.rank, o.first)
		}
	}
	return []byte(b.String())
}

// recorded returns the name of the file that lists the failing queries of a set and half.
func recorded(set, half string) string {
	if half == halfQueries {
		return set + ".failing"
	}
	return set + "-" + half + ".failing"
}

// score adds up outcomes.
type score struct {
	queries, first, five int
	reciprocal           float64
}

func (s *score) add(rank int) {
	s.queries++
	if rank == 0 {
		return
	}
	s.reciprocal += 1 / float64(rank)
	if rank == 1 {
		s.first++
	}
	if rank <= 5 {
		s.five++
	}
}

func (s *score) row(set, half, category string) string {
	n := float64(s.queries)
	return fmt.Sprintf("| %s | %s.tsv | %s | %d | %.3f | %.3f | %.3f |\n", set, half, category, s.queries, float64(s.first)/n,
		float64(s.five)/n, s.reciprocal/n)
}

// figures returns a Markdown table of judgements.
func figures(judged []judgement) string {
	var b strings.Builder
	b.WriteString("| data | table | category | queries | success at 1 | success at 5 | mean reciprocal rank " +
		"|\n|---|---|---|---:|---:|---:|---:|\n")
	for i := range judged {
		for _, h := range halves {
			b.WriteString(judged[i].rows(h.name))
		}
	}
	return b.String()
}

// rows returns the lines of a half in the table of figures.
func (j *judgement) rows(half string) string {
	var all score
	each := map[string]*score{}
	for _, o := range j.outcomes {
		if o.query.half != half {
			continue
		}
		s := each[o.query.category]
		if s == nil {
			s = &score{}
			each[o.query.category] = s
		}
		s.add(o.rank)
		all.add(o.rank)
	}
	if all.queries == 0 {
		return ""
	}
	var b strings.Builder
	for _, category := range slices.Sorted(maps.Keys(each)) {
		b.WriteString(each[category].row(j.set, half, category))
	}
	b.WriteString(all.row(j.set, half, "**all**"))
	return b.String()
}
