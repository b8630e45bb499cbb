package place

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/lang"
	"quadrille/places"
	"quadrille/places/search"
)

// CountryRecord is the answer of /countries/{code}.
type CountryRecord struct {
	_ struct{} `doc:"What is known of a country. Unknown members are absent."`
	places.Country
	CapitalID uint32 `json:"capital_id,omitempty" doc:"GeoNames id of the capital, if it is among the places."`
}

var _ = added.Add(func(s *Handlers) endpoint.Endpoint {
	return endpoint.Endpoint{
		Path: "/countries/{code}",
		ID:   "getCountry", Tag: "places", Rank: 6,
		Summary: "A country: its capital, people, area, languages, currency, neighbours",
		Doc:     "As GeoNames' countryInfo has it. With `lang` are the names of the country and its capital in that language.",
		Params: []endpoint.Param{
			endpoint.DescribedParam(endpoint.InPath, "code", "ISO 3166-1 alpha-2, in either case.", endpoint.Schema{"type": "string"}, "FR"),
			endpoint.Lang,
		},
		Handle: s.getCountry, Cost: endpoint.Light,
		Answers: endpoint.Content{"application/json": CountryRecord{}}, CachePolicy: endpoint.CacheTagged,
		Problems: []string{"bad-parameter", "country-not-found", "dataset-missing"},
		Example:  endpoint.Example{Request: "/countries/FR"},
	}
})

// getCountry answers GET /countries/{code} with the record of a country.
func (s *Handlers) getCountry(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return err
	}
	language := endpoint.Lang.Of(q)
	if q.Err != nil {
		return q.Err
	}
	finder, err := q.View().Places.Get()
	if err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, []uint64{q.View().Places.ID}, func(ctx context.Context, out *web.Scratch) error {
		country, err := finder.Country(ctx, values[0])
		if err != nil {
			return err
		}
		record := CountryRecord{Country: country}
		if record.CapitalID, err = capital(ctx, finder, &country); err != nil {
			return err
		}
		if record.Name, err = countryName(ctx, finder, &country, language); err != nil {
			return err
		}
		if record.Capital, err = nameIn(ctx, finder, record.CapitalID, language, record.Capital); err != nil {
			return err
		}
		body, err := json.Marshal(&record)
		out.Body = append(out.Body, body...)
		return err
	})
}

// countryName returns the name of a country in a language, or its own name if it has none there.
func countryName(ctx context.Context, finder *places.Finder, of *places.Country, language string) (string, error) {
	if language == "" {
		return of.Name, nil
	}
	names, err := finder.CountryNames(ctx, of.Code)
	if err != nil {
		return "", err
	}
	for _, l := range lang.FallbackChain(language) {
		best := places.AlternateName{}
		for _, n := range names {
			if n.Lang == l && !n.Historic && !n.Colloquial && (best.Name == "" || n.Preferred && !best.Preferred) {
				best = n
			}
		}
		if best.Name != "" {
			return best.Name, nil
		}
	}
	return nameIn(ctx, finder, of.ID, language, of.Name)
}

// capital returns the id of a country's capital, or 0 if it is not among the places. The country's
// record has only its name.
func capital(ctx context.Context, finder *places.Finder, of *places.Country) (uint32, error) {
	if of.Capital == "" {
		return 0, nil
	}
	q := search.Query{Text: of.Capital, Countries: []string{of.Code}, Codes: []string{"PPLC"}, Limit: 1, NoTypos: true}
	for range 2 {
		hits, _, err := finder.Search(ctx, q, nil)
		if errors.Is(err, places.ErrNoNames) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if len(hits) > 0 {
			return hits[0].ID, nil
		}
		q.Codes, q.Classes, q.WholeNames = nil, []string{"P"}, true // some seats of government have another code
	}
	return 0, nil
}

// nameIn returns a place's name in a language, or own if it has none: a country need not be among
// the places.
func nameIn(ctx context.Context, finder *places.Finder, id uint32, lang, own string) (string, error) {
	if id == 0 || lang == "" {
		return own, nil
	}
	name, found, err := finder.NameIn(ctx, id, lang)
	if errors.Is(err, places.ErrNotFound) || err == nil && !found {
		return own, nil
	}
	return name, err
}
