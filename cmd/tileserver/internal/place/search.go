package place

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places"
	"quadrille/places/search"
)

// Limits of a search.
const (
	maxSearchText      = search.MaxQuery // bytes
	maxSearchLimit     = 100
	defaultSearchLimit = 10 // places in a stored answer
)

// getSearch answers GET /places/search?q=: the places whose names the text
// begins or is a part of, the best first, as JSON or GeoJSON. There are no
// pages: who wants more narrows the search.
//
// A search for a text and nothing else is what a search box sends at every
// letter. Its answer is stored, and kept when it has been asked for.
func (s *Room) getSearch(c echo.Context) error {
	r := c.Request()
	if text, ok := onlyText(r.URL.RawQuery); ok && !web.PrefersGeoJSON(r) {
		return s.sendCompletion(c, text)
	}
	q := web.QueryParams(r)
	query := search.Query{Text: searchText(&q, "q")}
	query.Limit = int(q.Integer("limit", 1, maxSearchLimit, defaultSearchLimit))
	query.Lang = q.Language("lang")
	f := readFilter(&q)
	query.Classes, query.Codes, query.Countries, query.MinPopulation = f.Classes, f.Codes, f.Countries, f.MinPopulation
	if q.Has("bbox") {
		box := q.Box("bbox")
		query.Box = &box
	}
	if q.Has("lat") || q.Has("lon") {
		query.Lat, query.Lon = q.Position()
		query.Bias = true
	}
	form := q.Format(r)
	if q.Err != nil {
		return q.Err
	}

	p := datasets.Pin(s.Places)
	defer p.Release()
	air := s.pinAirports(query.Text)
	defer air.Release()
	finder, err := p.Get()
	if err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Form: form, ByAccept: true}, []uint64{p.ID, air.ID}, func(ctx context.Context, out *web.Scratch) error {
		l := placeList{dst: out.Body, form: form, limit: query.Limit}
		if err := l.search(ctx, finder, query); err != nil {
			return err
		}
		if err := l.addAirport(ctx, &air, query); err != nil {
			return err
		}
		out.Body = l.end()
		return nil
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

// sendCompletion answers a search for a text and nothing else.
func (s *Room) sendCompletion(c echo.Context, text string) error {
	r := c.Request()
	p := datasets.Pin(s.Places)
	defer p.Release()
	air := s.pinAirports(text)
	defer air.Release()
	finder, err := p.Get()
	if err != nil {
		return err
	}
	key := searchKey{text: text, places: p.ID, airports: air.ID, coding: web.AcceptedKept(r)}
	etag := s.TagStart.Bytes("/places/search").Bytes(text).Number(p.ID).Number(air.ID).Number(uint64(key.coding)).Tag()
	s.TraceFrom(r.Context(), p.ID, air.ID)
	if web.Matches(r, &etag, false) {
		return s.NotModified(c, web.Answer{Form: web.FormJSON, Tag: &etag, Cache: s.CacheControl, ByAccept: true})
	}
	res := s.searches.Get(key)
	s.TraceCache(r.Context(), res != nil)
	if res == nil {
		if res, err = s.makeCompletion(r.Context(), finder, &air, key, etag); err != nil {
			return err
		}
	}
	if web.Matches(r, &etag, true) {
		return s.NotModified(c, web.Answer{Form: web.FormJSON, Tag: &etag, Cache: s.CacheControl, ByAccept: true}) // "*"
	}
	return s.SendFinished(c, res)
}

// makeCompletion makes and keeps a finished answer. Requests for the same one
// share the work.
func (s *Room) makeCompletion(ctx context.Context, finder datasets.Places, air *datasets.Pinned[datasets.Airports], key searchKey, etag web.Tag) (*web.Finished, error) {
	wait, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	return s.searches.Do(wait, key, func() (*web.Finished, error) {
		read, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
		defer cancel()
		read, end := s.TraceRead(read)
		defer end()
		out := web.GetScratch()
		defer out.Release()
		query := search.Query{Text: key.text, Limit: defaultSearchLimit}
		l := placeList{dst: out.Body, limit: query.Limit}
		found, err := l.complete(read, finder, key.text)
		if err == nil && !found {
			err = l.search(read, finder, query)
		}
		if err == nil {
			err = l.addAirport(read, air, query)
		}
		if err != nil {
			return nil, err
		}
		out.Body = l.end()
		res := web.Finish(out.Body, web.FormJSON, key.coding, &etag)
		res.ByAccept = true
		return res, nil
	})
}

// placeList is a list of places being written, as JSON or GeoJSON. It is
// made by one of complete and search and closed by end.
type placeList struct {
	dst   []byte
	start int // of the first item in dst
	form  web.Form
	limit int
}

// complete takes the stored answer for a text, if there is one.
func (l *placeList) complete(ctx context.Context, finder datasets.Places, text string) (bool, error) {
	at := len(l.dst)
	out, found, err := finder.Complete(ctx, text, l.dst)
	if err != nil || !found {
		return false, err
	}
	if made := out[at:]; !bytes.HasPrefix(made, []byte(listing.PlacesHead)) || !bytes.HasSuffix(made, []byte("]}")) {
		return false, fmt.Errorf("%w: a stored list of places has another form: ingest the places again", cellstore.ErrCorrupt)
	}
	l.start, l.dst = at+len(listing.PlacesHead), out[:len(out)-2]
	return true, nil
}

// search writes the places that a search finds.
func (l *placeList) search(ctx context.Context, finder datasets.Places, q search.Query) error {
	memory := listing.SearchHits.Get().(*[]search.Hit)
	defer listing.SearchHits.Put(memory)
	hits, _, err := finder.Search(ctx, q, (*memory)[:0])
	if errors.Is(err, places.ErrQuery) {
		// All else was checked when it was read.
		return web.Refuse(err, "q", "Set q to a text with letters or digits.")
	}
	if err != nil {
		return err
	}
	*memory = hits
	if l.form == web.FormGeoJSON {
		l.dst = append(l.dst, listing.CollectionHead...)
	} else {
		l.dst = append(l.dst, listing.PlacesHead...)
	}
	l.start = len(l.dst)
	var members []byte
	for i := range hits {
		h := &hits[i]
		if members, err = finder.Members(ctx, h.ID, members[:0]); err != nil {
			return datasets.Inside(err)
		}
		name := ""
		if q.Lang != "" {
			if name, _, err = finder.NameIn(ctx, h.ID, q.Lang); err != nil {
				return datasets.Inside(err)
			}
		}
		if i > 0 {
			l.dst = append(l.dst, ',')
		}
		if l.form == web.FormGeoJSON {
			l.dst = listing.AppendFeatureHead(l.dst, h.ID, degrees(h.Lon), degrees(h.Lat))
		}
		l.dst = places.AppendNamed(append(l.dst, '{'), members, name)
		l.dst = search.AppendMatch(append(l.dst, ','), matchOf(&h.Match, members, name))
		l.dst = append(l.dst, '}')
		if l.form == web.FormGeoJSON {
			l.dst = append(l.dst, '}')
		}
	}
	return nil
}

// end closes the list and returns it.
func (l *placeList) end() []byte { return append(l.dst, ']', '}') }

// degrees turns the 1e-7 degrees of a hit into degrees.
func degrees(units int32) float64 { return float64(units) / 1e7 }

// matchOf is a match as it is told beside the name a place is shown by: the
// name that matched is named where it is another one.
func matchOf(m *search.Match, members []byte, shown string) *search.Match {
	if shown == "" || m.Historic {
		return m
	}
	told := *m
	if told.Name == "" {
		from, to := listing.MemberName(members)
		var own string
		if from == 0 || json.Unmarshal(members[from:to], &own) != nil {
			return m
		}
		told.Name = own
	}
	if told.Name == shown {
		told.Name = ""
	}
	return &told
}

// searchKey identifies the kept answer to a search for a text.
type searchKey struct {
	text             string
	places, airports uint64 // identities of the generations; 0: plays no part
	coding           web.Coding
}

func (k searchKey) Spread() uint64 {
	return uint64(web.HashStart.Bytes(k.text)) ^ uint64(k.coding)
}

func (k searchKey) Extra() int { return len(k.text) }

// searchText returns the required text of a search.
func searchText(p *web.Params, name string) string {
	if !p.Has(name) {
		p.Refuse(name, "Add "+name+", the beginning of a place's name or words of it.")
		return ""
	}
	v := p.Text(name, maxSearchText)
	if p.Err == nil && !listing.IsSearchText(v) {
		p.Refuse(name, "Set "+name+" to 1 to "+strconv.Itoa(maxSearchText)+" bytes of UTF-8 without control characters, of which not all are spaces.")
	}
	return v
}
