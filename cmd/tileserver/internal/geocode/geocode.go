// Package geocode serves searches for the features that a text names, and for the features at a
// point. Places, regions, airports and positions are in one list. Their labels are unique.
package geocode

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask/geocoder"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// Handlers has the handlers of searches and reverse searches.
type Handlers struct {
	*web.Kit
	batch web.BatchLimits
	form  *endpoint.Value[string]
}

// New returns the handlers. batch has the limits for requests with many questions.
func New(k *web.Kit, batch web.BatchLimits) *Handlers {
	return &Handlers{Kit: k, batch: batch, form: listing.FormatParam(false)}
}

const (
	defaultLimit = 10
	maxLimit     = 50
)

// getSearch answers GET /geocode?q=.
func (s *Handlers) getSearch(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	query := readSearch(q)
	form := listing.FormatOf(r, s.form.Of(q))
	if q.Err != nil {
		return q.Err
	}
	session := &geocoder.Session{View: q.View()}
	return s.Reply(c, web.Answer{Format: form.Format, ByAccept: true}, session.GenerationIDs(),
		func(ctx context.Context, out *web.Scratch) (err error) {
			out.Body, err = find(ctx, session, &query, form, out.Body)
			return err
		})
}

// getReverse answers GET /reverse?lat=&lon=.
func (s *Handlers) getReverse(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	query := readReverse(q)
	form := listing.FormatOf(r, s.form.Of(q))
	if q.Err != nil {
		return q.Err
	}
	session := &geocoder.Session{View: q.View()}
	from := session.ReverseGenerationIDs(&query)
	return s.Reply(c, web.Answer{Format: form.Format, ByAccept: true}, from, func(ctx context.Context, out *web.Scratch) (err error) {
		out.Body, err = reverse(ctx, session, &query, form, out.Body)
		return err
	})
}

// postSearches answers POST /geocode, with a search in each line of the body.
func (s *Handlers) postSearches(c echo.Context, p *endpoint.Params) error {
	session := &geocoder.Session{View: p.View()}
	if err := session.Ready(c.Request().Context()); err != nil {
		return err
	}
	return s.AnswerLines(c, p, &web.Questions{
		BatchLimits: s.batch, Check: func(p *endpoint.Params) { readSearch(p) },
		Answer: func(ctx context.Context, p *endpoint.Params, dst []byte) ([]byte, error) {
			query := readSearch(p)
			if p.Err != nil {
				return dst, p.Err
			}
			return find(ctx, session, &query, listing.JSON, dst)
		},
	})
}

// postReverses answers POST /reverse, with a point in each line of the body.
func (s *Handlers) postReverses(c echo.Context, p *endpoint.Params) error {
	session := &geocoder.Session{View: p.View()}
	if err := session.Ready(c.Request().Context()); err != nil {
		return err
	}
	return s.AnswerLines(c, p, &web.Questions{
		BatchLimits: s.batch, AllowPoints: true, Check: func(p *endpoint.Params) { readReverse(p) },
		Answer: func(ctx context.Context, p *endpoint.Params, dst []byte) ([]byte, error) {
			query := readReverse(p)
			if p.Err != nil {
				return dst, p.Err
			}
			return reverse(ctx, session, &query, listing.JSON, dst)
		},
	})
}

// find appends the answer to a search.
func find(ctx context.Context, session *geocoder.Session, query *geocoder.Query, form *listing.Format, dst []byte) ([]byte, error) {
	found, err := session.Search(ctx, *query)
	if errors.Is(err, places.ErrQuery) {
		err = endpoint.Refuse(err, "q", "Set q to a text with letters or digits.")
	}
	if err != nil {
		return dst, err
	}
	return appendResults(dst, found, form, nil)
}

// reverse appends the features at a point.
func reverse(ctx context.Context, session *geocoder.Session, query *geocoder.ReverseQuery, form *listing.Format,
	dst []byte) ([]byte, error) {
	found, err := session.Reverse(ctx, *query)
	if err != nil {
		return dst, err
	}
	return appendResults(dst, found, form, query)
}

// readSearch reads the parameters of a search.
func readSearch(q *endpoint.Params) geocoder.Query {
	query := geocoder.Query{Text: qParam.Of(q), Kinds: kindsParam.Of(q)}
	query.Limit = int(limitParam.Of(q))
	query.Langs = languages(q)
	query.Countries = endpoint.Countries.Of(q)
	if endpoint.BBox.Given(q) {
		box := endpoint.BBox.Of(q)
		query.Box = &box
	}
	if endpoint.Lat.Given(q) || endpoint.Lon.Given(q) {
		query.Lat, query.Lon = endpoint.Position(q)
		query.Bias = true
	}
	return query
}

// readReverse reads the parameters of a reverse query.
func readReverse(q *endpoint.Params) geocoder.ReverseQuery {
	query := geocoder.ReverseQuery{Kinds: reverseKindsParam.Of(q)}
	query.Lat, query.Lon = endpoint.Position(q)
	query.Langs = languages(q)
	query.RadiusM = endpoint.Radius.Of(q)
	return query
}

// languages returns the language of the answer, or none for local names.
func languages(q *endpoint.Params) []string {
	if lang := endpoint.Lang.Of(q); lang != "" {
		return []string{lang}
	}
	return nil
}

// readText returns the text to search for.
func readText(p *endpoint.Params, name string) string {
	if !p.Has(name) {
		p.Refuse(name, "Add q: a name, a name with the region around it, a position or a code.")
		return ""
	}
	v := p.TypedText(name, search.MaxQueryChars)
	if p.Err == nil && !listing.IsSearchText(v) {
		p.Refuse(name, "Set q to 1 to "+strconv.Itoa(search.MaxQueryChars)+
			" characters of UTF-8 without control characters, of which not all are spaces.")
	}
	return v
}

// kindsOf declares the parameter that chooses kinds of results among the known ones.
func kindsOf(known []names.Kind) *endpoint.Value[[]names.Kind] {
	of := endpoint.Schema{
		"type":     "array",
		"items":    endpoint.Schema{"type": "string", "enum": known},
		"minItems": 1,
		"maxItems": endpoint.MaxListEntries,
	}
	return endpoint.New("kinds", "Only results of these kinds.", of, func(p *endpoint.Params, _ string) []names.Kind {
		return readKinds(p, known)
	}).WithExample([]names.Kind{names.Region})
}

// readKinds returns the wanted kinds of results among the known ones.
func readKinds(p *endpoint.Params, known []names.Kind) (kinds []names.Kind) {
	for _, text := range p.List("kinds", endpoint.MaxListEntries) {
		kind := names.Kind(text)
		if !slices.Contains(known, kind) {
			var all []string
			for _, k := range known {
				all = append(all, string(k))
			}
			p.Refuse("kinds", "Set kinds to one or several of "+strings.Join(all, ", ")+", with commas between them.")
			return nil
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// schema has the members of a result.
var schema = feature.Schema{
	{Name: "bbox", Kind: feature.Any},
	{Name: "code", Kind: feature.Text},
	{Name: "country", Kind: feature.Text},
	{Name: "distance_m", Kind: feature.Number},
	{Name: "id", Kind: feature.Text},
	{Name: "kind", Kind: feature.Text},
	{Name: "label", Kind: feature.Text},
	{Name: "lat", Kind: feature.Number},
	{Name: "lon", Kind: feature.Number},
	{Name: "match", Kind: feature.Any},
	{Name: "name", Kind: feature.Text},
	{Name: "parents", Kind: feature.Any},
	{Name: "population", Kind: feature.Integer},
	{Name: "type", Kind: feature.Text},
}

// list describes lists of results.
var list = listing.Spec{Name: "results", List: GeocodeList{}, Features: GeocodeFeatures{}, Item: GeocodeFeature{}}

// appendResults writes the results, with the distance of a place from the point of a
// reverse query.
func appendResults(dst []byte, found []geocoder.Result, form *listing.Format, reverse *geocoder.ReverseQuery) (_ []byte, err error) {
	l := listing.List{Spec: &list, Format: form, Schema: schema, Writer: feature.Writer{GeoJSON: form.GeoJSON, NoIDs: true}}
	dst = l.Begin(dst)
	var members []byte
	for i := range found {
		r := &found[i]
		members = appendResult(members[:0], r)
		if reverse != nil && r.Kind == geocoder.Place {
			members = feature.AppendDistance(append(members, ','), r.Place.DistanceM)
		}
		f := feature.Feature{ID: r.ID, Position: quadkey.Position{Lat: r.Lat, Lon: r.Lon}, Properties: feature.CompactProperties(members)}
		if dst, err = l.Append(dst, &f, ""); err != nil {
			return dst, err
		}
	}
	return l.End(dst, ""), nil
}

// appendResult writes the members of a result.
func appendResult(dst []byte, r *geocoder.Result) []byte {
	dst = jsontext.AppendString(append(dst, `"kind":`...), string(r.Kind))
	dst = listing.AppendTexts(dst, "type", r.Type, "id", r.ID, "name", r.Name, "label", r.Label, "country", r.Country, "code", r.Code)
	if r.Population > 0 {
		dst = strconv.AppendUint(append(dst, `,"population":`...), r.Population, 10)
	}
	dst = feature.AppendLatLon(append(dst, ','), quadkey.Position{Lat: r.Lat, Lon: r.Lon})
	if r.Bounds != [4]float64{} {
		dst = feature.AppendBounds(append(dst, ','), r.Bounds)
	}
	if len(r.Parents) > 0 {
		dst = append(dst, `,"parents":[`...)
		for i := range r.Parents {
			p := &r.Parents[i]
			dst = jsontext.AppendString(append(jsontext.Next(dst), `{"type":`...), p.Type)
			dst = jsontext.AppendString(append(dst, `,"id":`...), p.ID)
			dst = append(jsontext.AppendString(append(dst, `,"name":`...), p.Name), '}')
		}
		dst = append(dst, ']')
	}
	if r.Match != nil {
		dst = search.AppendMatch(append(dst, ','), r.Match)
	}
	return dst
}
