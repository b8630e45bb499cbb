package place

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// These are limits of a search.
const (
	maxSearchText      = search.MaxQueryChars // characters
	maxSearchLimit     = 100
	defaultSearchLimit = 10 // places in a stored answer
)

// getSearch answers GET /places/search?q= as JSON or GeoJSON. It lists the places with a name that
// begins with the text or contains it, the best first. There are no pages: for more results a
// client must narrow the search.
//
// Search boxes send a search with only a text at every letter. Its answer may be stored with the
// places, and is cached after its first use.
func (s *Handlers) getSearch(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	if text, ok := onlyText(r.URL.RawQuery); ok && listing.FormatOf(r, "") == listing.JSON {
		return s.sendCompletion(c, q.View(), text)
	}
	query := search.Query{Text: qParam.Of(q)}
	query.Limit = int(limitParam.Of(q))
	query.Lang = endpoint.Lang.Of(q)
	f := readFilter(q)
	query.Classes, query.Codes, query.Countries, query.MinPopulation = f.Classes, f.Codes, f.Countries, f.MinPopulation
	if endpoint.BBox.Given(q) {
		box := endpoint.BBox.Of(q)
		query.Box = &box
	}
	if endpoint.Lat.Given(q) || endpoint.Lon.Given(q) {
		query.Lat, query.Lon = endpoint.Position(q)
		query.Bias = true
	}
	form := listing.FormatOf(r, s.form.Of(q))
	if q.Err != nil {
		return q.Err
	}

	air := airportsFor(q.View(), query.Text)
	finder, err := q.View().Places.Get()
	if err != nil {
		return err
	}
	from := []uint64{q.View().Places.ID, air.ID}
	if len(query.Countries) > 0 {
		from = append(hierarchy.GenerationIDs(q.View()), air.ID)
	}
	return s.Reply(c, web.Answer{Format: form.Format, ByAccept: true}, from, func(ctx context.Context, out *web.Scratch) error {
		v, _ := hierarchy.ViewOf(q.View()) // without the map all codes come from rows
		if query.Countries, err = v.Territories(ctx, query.Countries); err != nil {
			return err
		}
		airport, err := findAirport(ctx, air, &query)
		if err == nil {
			out.Body, err = find(ctx, out.Body, finder, airport, query, form)
		}
		return err
	})
}

// onlyText returns the text of a query that consists of q alone.
func onlyText(query string) (string, bool) {
	raw, ok := strings.CutPrefix(query, "q=")
	if !ok || strings.ContainsAny(raw, "&;") {
		return "", false
	}
	text, err := url.QueryUnescape(raw)
	if err != nil || !listing.IsSearchText(text) {
		return "", false // refused where other parameters are
	}
	return text, true
}

// sendCompletion answers a search that has only a text.
func (s *Handlers) sendCompletion(c echo.Context, v ask.View, text string) error {
	r := c.Request()
	air := airportsFor(v, text)
	finder, err := v.Places.Get()
	if err != nil {
		return err
	}
	key := searchKey{text: text, places: v.Places.ID, airports: air.ID, coding: web.AcceptedCacheCoding(r)}
	tag := s.ETagSeed.Bytes("/places/search").Bytes(text).Number(v.Places.ID).Number(air.ID).Number(uint64(key.coding)).Tag()
	a := web.Answer{Format: web.FormatJSON, Tag: tag, Coding: key.coding, CacheControl: s.CacheControl, ByAccept: true}
	return s.kept.Send(c, key, &a, []uint64{v.Places.ID, air.ID}, func(ctx context.Context, out *web.Scratch) (*web.CachedResponse, error) {
		query := search.Query{Text: text, Limit: defaultSearchLimit}
		airport, err := findAirport(ctx, air, &query)
		if err != nil {
			return nil, err
		}
		if out.Body, err = complete(ctx, out.Body, finder, airport, query); err != nil {
			return nil, err
		}
		return web.NewCachedResponse(&a, out.Body), nil
	})
}

// storedHead and storedTail enclose the places of a stored answer.
const storedHead, storedTail = `{"places":[`, "]}"

// complete appends the answer for a text: the stored answer if there is one, or else the result of
// a search.
func complete(ctx context.Context, dst []byte, finder *places.Finder, airport *foundAirport, q search.Query) ([]byte, error) {
	out, found, err := finder.Complete(ctx, q.Text, dst)
	if err != nil {
		return dst, err
	}
	if !found {
		return find(ctx, dst, finder, airport, q, listing.JSON)
	}
	stored := out[len(dst):]
	if !bytes.HasPrefix(stored, []byte(storedHead)) || !bytes.HasSuffix(stored, []byte(storedTail)) {
		return dst, errStored
	}
	if airport == nil {
		return out, nil
	}
	return insert(dst, stored, airport, q.Limit)
}

// insert appends a stored answer with an airport among its places.
func insert(dst, stored []byte, airport *foundAirport, limit int) ([]byte, error) {
	var list struct {
		Places []json.RawMessage `json:"places"`
	}
	if json.Unmarshal(stored, &list) != nil {
		return dst, errStored
	}
	l := beginList(dst, listing.JSON, nil, airport, limit)
	for _, item := range list.Places {
		var p struct {
			Population int64 `json:"population"`
		}
		if json.Unmarshal(item, &p) != nil {
			return dst, errStored
		}
		if l.next(p.Population) {
			l.append(&feature.Feature{Properties: feature.CompactProperties(item[1 : len(item)-1])})
		}
	}
	return l.end()
}

var errStored = fmt.Errorf("%w: a stored list of places has another form: ingest the places again", cellstore.ErrCorrupt)

// find appends the places that a search finds.
func find(
	ctx context.Context, dst []byte, finder *places.Finder, airport *foundAirport, q search.Query, form *listing.Format,
) ([]byte, error) {
	memory := listing.SearchHitPool.Get().(*[]search.Hit)
	defer listing.SearchHitPool.Put(memory)
	hits, _, err := finder.Search(ctx, q, (*memory)[:0])
	if errors.Is(err, places.ErrQuery) {
		// All other parameters were checked when they were read.
		return dst, endpoint.Refuse(err, "q", "Set q to a text with letters or digits.")
	}
	if err != nil {
		return dst, err
	}
	*memory = hits
	var schema feature.Schema
	if !form.Object {
		schema = finder.Info().Schema.Merge(foundSchema)
	}
	l := beginList(dst, form, schema, airport, q.Limit)
	var place places.Hit
	var properties []byte
	for i := range hits {
		h := &hits[i]
		if err := finder.Hit(ctx, h.ID, &place); err != nil {
			return dst, ask.NotFoundAsDamage(err)
		}
		name := ""
		if q.Lang != "" {
			if name, _, err = finder.NameIn(ctx, h.ID, q.Lang); err != nil {
				return dst, ask.NotFoundAsDamage(err)
			}
		}
		if !l.next(place.Population) {
			break
		}
		properties = places.AppendNamed(properties[:0], place.JSON, name)
		properties = search.AppendMatch(append(properties, ','), matchOf(&h.Match, place.Name, name))
		l.append(&feature.Feature{
			ID: strconv.FormatUint(uint64(h.ID), 10), Number: uint64(h.ID),
			Position: quadkey.Position{Lat: degrees(h.Lat), Lon: degrees(h.Lon)}, Properties: feature.CompactProperties(properties),
		})
	}
	return l.end()
}

// found describes lists of search results.
var found = listing.Spec{Name: "places", List: FoundList{}, Features: FoundFeatures{}, Item: FoundFeature{}}

// foundSchema has the members of a search result in addition to the properties of a place: how it
// was found, and the properties of an airport.
var foundSchema = feature.Schema{
	{Name: "iata", Kind: feature.Text},
	{Name: "icao", Kind: feature.Text},
	{Name: "kind", Kind: feature.Text},
	{Name: "local", Kind: feature.Text},
	{Name: "match", Kind: feature.Any},
	{Name: "municipality", Kind: feature.Text},
	{Name: "region", Kind: feature.Text},
	{Name: "type", Kind: feature.Text},
}

// placeList is a list of places being written, with an airport among them.
type placeList struct {
	listing.List
	body    []byte
	err     error         // the first of writing
	airport *foundAirport // nil if there is none, or it has been written
	room    int           // for how many more there is room
}

func beginList(dst []byte, form *listing.Format, schema feature.Schema, airport *foundAirport, limit int) *placeList {
	l := &placeList{airport: airport, room: limit}
	l.List = listing.List{Spec: &found, Format: form, Schema: schema, Writer: feature.Writer{GeoJSON: form.GeoJSON, NumericIDs: true}}
	l.body = l.Begin(dst)
	return l
}

func (l *placeList) append(f *feature.Feature) {
	var err error
	if l.body, err = l.Append(l.body, f, ""); l.err == nil {
		l.err = err
	}
}

// next prepares the list for a place. If the weight of the airport is greater than the population
// of the place, next writes the airport first. It reports whether the place is still within the
// limit.
func (l *placeList) next(population int64) bool {
	if l.airport != nil && l.airport.weight > population {
		l.addAirport()
	}
	l.room--
	return l.room >= 0
}

func (l *placeList) addAirport() {
	if l.room > 0 {
		l.append(&feature.Feature{
			Position:   quadkey.Position{Lat: l.airport.Lat, Lon: l.airport.Lon},
			Properties: feature.CompactProperties(l.airport.appendMembers(nil)),
		})
		l.room--
	}
	l.airport = nil
}

func (l *placeList) end() ([]byte, error) {
	if l.airport != nil {
		l.addAirport()
	}
	return l.End(l.body, ""), l.err
}

// degrees converts a coordinate of a hit in 1e-7 degrees to degrees.
func degrees(units int32) float64 { return float64(units) / 1e7 }

// matchOf returns a match for display next to the name of a place. It contains the matched name
// only if it differs from the displayed names.
func matchOf(m *search.Match, own, shown string) *search.Match {
	if shown == "" || m.Historic {
		return m
	}
	match := *m
	if match.Name = cmp.Or(m.Name, own); match.Name == shown {
		match.Name = ""
	}
	return &match
}

// searchKey identifies the cached answer to a search for a text.
type searchKey struct {
	text             string
	places, airports uint64 // identities of the generations; 0: plays no part
	coding           web.Coding
}

func (k searchKey) Hash() uint64 {
	return uint64(web.HashStart.Bytes(k.text)) ^ uint64(k.coding)
}

func (k searchKey) ExtraBytes() int { return len(k.text) }

// searchText reads the text of a search.
func searchText(p *endpoint.Params, name string) string {
	if !p.Has(name) {
		p.Refuse(name, "Add "+name+", the beginning of a place's name or words of it.")
		return ""
	}
	v := p.TypedText(name, maxSearchText)
	if p.Err == nil && !listing.IsSearchText(v) {
		p.Refuse(name, "Set "+name+" to 1 to "+strconv.Itoa(maxSearchText)+
			" characters of UTF-8 without control characters, of which not all are spaces.")
	}
	return v
}
