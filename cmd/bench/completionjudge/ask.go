package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"quadrille/cmd/bench/judged"
)

// hit is the part of a result that the judge reads, from either endpoint.
type hit struct {
	Kind, Type, Name, Label, Country, Code string
	ID                                     json.RawMessage
	Lat, Lon                               float64
}

func (h *hit) String() string {
	if h.Label != "" {
		return h.Label
	}
	return h.Name + ", " + h.Country
}

// endpoint is an endpoint that completes a typed text.
type endpoint struct {
	path  string
	kinds []string // of the targets that it finds
	site  string
	hits  map[string][]hit // by letters
}

func endpoints(site string) []*endpoint {
	return []*endpoint{
		{"/geocode", []string{city, country, state, airport}, site, map[string][]hit{}},
		{"/places/search", []string{city}, site, map[string][]hit{}},
	}
}

// ask returns the first five results for some letters.
func (e *endpoint) ask(ctx context.Context, letters string) ([]hit, error) {
	if hits, known := e.hits[letters]; known {
		return hits, nil
	}
	text, err := judged.Get(ctx, e.site+e.path+"?limit=5&q="+url.QueryEscape(letters))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", letters, err)
	}
	var body struct{ Results, Places []hit }
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, fmt.Errorf("%q: %w", letters, err)
	}
	hits := append(body.Results, body.Places...)
	e.hits[letters] = hits
	return hits, nil
}

// is reports whether a result is a target.
func (h *hit) is(t *target) bool {
	id := strings.Trim(string(h.ID), `"`)
	switch t.kind {
	case city:
		return (h.Kind == "place" || h.Kind == "") && id == t.id
	case country:
		return h.Type == country && strings.EqualFold(id, t.id) ||
			(h.Code == "PCLI" || h.Type == "A.PCLI" || h.Type == country) && h.Country == t.id
	case state:
		return h.Type == state && (slices.Contains(t.region.Codes, id) || len(t.region.Codes) == 0 && judged.SameName(h.Name, t.name))
	default:
		return h.Kind == airport && judged.Metres(h.Lon, h.Lat, t.lon, t.lat) < 5000
	}
}

// rank returns the place of a target in the results when its first n letters are typed: 1 to 5, or
// 0.
func (e *endpoint) rank(ctx context.Context, t *target, n int) (int, error) {
	hits, err := e.ask(ctx, string(t.typed[:n]))
	return 1 + slices.IndexFunc(hits, func(h hit) bool { return h.is(t) }), err
}

// typed says how a target was found as its name was typed: the number of letters until it was
// first, and until it was among five. A number is 0 if that never happened.
type typed struct{ first, five int }

// typing types a name until the target is first, or to its end. It does not send letters that end
// in a blank, since the blank does not change the query. It also sends nothing before the first
// letter or digit.
func typing(t *target, rank func(n int) (int, error)) (got typed, err error) {
	for n := 1; n <= len(t.typed) && got.first == 0; n++ {
		if t.typed[n-1] == ' ' || !slices.ContainsFunc(t.typed[:n], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			continue
		}
		at, err := rank(n)
		if err != nil {
			return got, err
		}
		if at == 1 {
			got.first = n
		}
		if at > 0 && got.five == 0 {
			got.five = n
		}
	}
	return got, nil
}
