// Package photon answers as Photon (https://github.com/komoot/photon) does, so that its clients
// work with another host name: its paths, parameters, GeoJSON and errors. Features without data
// here, such as streets and house numbers, are never found; docs/geocoding.md lists the
// differences.
package photon

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask/geocoder"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/names"
)

// Handlers answers as Photon does.
type Handlers struct {
	*web.Kit
}

// New returns the handlers.
func New(k *web.Kit) *Handlers { return &Handlers{k} }

// RootEndpoints returns the same endpoints at the root of the server, as in Photon.
func (s *Handlers) RootEndpoints() []endpoint.Endpoint {
	return endpoint.AtRoot(s.Endpoints(), "/photon")
}

// getSearch answers GET /api?q=.
func (s *Handlers) getSearch(c echo.Context, params *endpoint.Params) error {
	p := readParams(c.Request(), searchParameters)
	q := p.search()
	if p.err != nil {
		return s.fail(c, p.err)
	}
	session := &geocoder.Session{View: params.View(), NoAddresses: true}
	return s.answer(c, session, session.GenerationIDs(), &q.common, func(ctx context.Context) ([]geocoder.Result, error) {
		if q.nowhere {
			return nil, nil
		}
		found, err := session.Search(ctx, q.query)
		if errors.Is(err, places.ErrQuery) {
			return nil, nil // no name has neither letter nor digit
		}
		return found, err
	})
}

// getReverse answers GET /reverse?lat=&lon=.
func (s *Handlers) getReverse(c echo.Context, params *endpoint.Params) error {
	p := readParams(c.Request(), reverseParameters)
	q := p.reverse()
	if p.err != nil {
		return s.fail(c, p.err)
	}
	session := &geocoder.Session{View: params.View(), NoAddresses: true}
	return s.answer(c, session, session.ReverseGenerationIDs(&q.query), &q.common, func(ctx context.Context) ([]geocoder.Result, error) {
		found, err := session.Reverse(ctx, q.query)
		if len(found) > 0 && found[0].AcrossBorder { // the regions show better where the point is
			slices.SortStableFunc(found, func(a, b geocoder.Result) int { return cmp.Compare(b.Kind, a.Kind) })
		}
		return found, err
	})
}

// answer writes the results that find returns. from are the generations that they are made from;
// nil is not cached.
func (s *Handlers) answer(
	c echo.Context, session *geocoder.Session, from []uint64, q *common, find func(context.Context) ([]geocoder.Result, error),
) error {
	a := web.Answer{Format: web.FormatJSON, ByLanguage: q.byHeader}
	if from != nil {
		from = append(from, uint64(web.HashStart.Bytes(strings.Join(q.langs, ","))))
	}
	err := s.Reply(c, a, from, func(ctx context.Context, out *web.Scratch) error {
		found, err := find(ctx)
		if err != nil {
			return err
		}
		out.Body, err = q.collection(ctx, session, out.Body, found)
		return err
	})
	if err != nil {
		return s.fail(c, err)
	}
	return nil
}

// collection writes the results that pass the filters.
func (q *common) collection(ctx context.Context, session *geocoder.Session, dst []byte, found []geocoder.Result) ([]byte, error) {
	dst = append(dst, listing.CollectionHead...)
	var taken []feature
	for i := range found {
		f := featureOf(&found[i])
		if len(taken) == q.limit || !q.passes(&f) {
			continue
		}
		if j := slices.IndexFunc(taken, func(o feature) bool { return f.doubles(&o) }); q.dedupe && j >= 0 {
			taken[j].bounds = cmp.Or(taken[j].bounds, f.bounds)
			continue
		}
		taken = append(taken, f)
	}
	countries := map[string]string{} // by code: the names of surrounding regions may be short forms
	for i := range taken {
		f := &taken[i]
		name, known := countries[f.countryCode]
		if !known {
			var err error
			if name, err = session.CountryName(ctx, f.countryCode, q.langs); err != nil {
				return dst, err
			}
			countries[f.countryCode] = name
		}
		if f.layer != layerCountry { // a country has its own name
			f.country = cmp.Or(name, f.country)
		}
		switch {
		case q.around && f.layer == layerCity:
			f.city = f.name
		case q.around && f.layer == layerDistrict:
			f.district = f.name
		case f.layer == layerCity:
			f.city = "" // a city is not in itself
		}
		dst = f.append(jsontext.Next(dst))
	}
	return append(dst, listing.CollectionTail...), nil
}

// fail answers with Photon's error: a message. Errors that Photon does not have, such as a data set
// that is not published, keep the status and the sentence that they have elsewhere.
func (s *Handlers) fail(c echo.Context, err error) error {
	var own *refusal
	var status int
	var message string
	if errors.As(err, &own) {
		status, message = http.StatusBadRequest, own.message
	} else {
		k, p := s.Judge(c, err)
		if k.Retry {
			web.SetRetryAfter(c.Response().Header(), web.RetryAfter)
		}
		status, message = k.Status, p.Detail
	}
	out := web.GetScratch()
	defer out.Release()
	out.Body = append(jsontext.AppendString(append(out.Body[:0], `{"message":`...), message), '}')
	return s.Send(c, web.Answer{Format: web.FormatJSON, Status: status, CacheControl: web.NoStore}, out)
}

// refusal is an error with Photon's message and status 400.
type refusal struct{ message string }

func (e *refusal) Error() string { return "photon: " + e.message }

// kindsOf returns the kinds of results that may pass the filters.
func (q *common) kindsOf() []names.Kind {
	kinds := []names.Kind{geocoder.Place}
	for kind, samples := range map[names.Kind][]feature{
		names.Region: {
			{key: "place", value: "country", layer: layerCountry}, {key: "place", value: "state", layer: layerState},
			{key: "boundary", value: "administrative", layer: layerCounty}, {key: "boundary", value: "administrative", layer: layerCity},
			{key: "boundary", value: "administrative", layer: layerDistrict}, {key: "boundary", value: "region", layer: layerOther},
			{key: "natural", value: "water", layer: layerOther}, {key: "place", value: "sea", layer: layerOther}, {key: "place",
				value: "continent", layer: layerOther},
		},
		names.Airport: {{key: "aeroway", value: "aerodrome", layer: layerHouse}, {key: "aeroway", value: "heliport", layer: layerHouse}},
	} {
		if slices.ContainsFunc(samples, func(f feature) bool { return q.passes(&f) }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
