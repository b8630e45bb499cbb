package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/places/stations"
)

// Limits of a search.
const (
	maxSearchText      = search.MaxQuery // bytes
	maxSearchLimit     = 100
	defaultSearchLimit = 10 // places in a stored answer
	maxLanguage        = 16 // bytes
)

// searchHits is reused memory for the hits of one search.
var searchHits = sync.Pool{New: func() any { return new([]search.Hit) }}

// getSearch answers GET /places/search?q=: the places whose names the text
// begins or is a part of, the best first, as JSON or GeoJSON. There are no
// pages: who wants more narrows the search.
//
// A search for a text and nothing else is what a search box sends at every
// letter. Its answer is stored, and kept when it has been asked for.
func (s *server) getSearch(c echo.Context) error {
	r := c.Request()
	if text, ok := onlyText(r.URL.RawQuery); ok && !prefersGeoJSON(r) {
		return s.sendCompletion(c, text)
	}
	q := queryParams(r)
	query := search.Query{Text: q.searchText("q")}
	query.Limit = int(q.integer("limit", 1, maxSearchLimit, defaultSearchLimit))
	query.Lang = q.language("lang")
	f := q.places()
	query.Classes, query.Codes, query.Countries, query.MinPopulation = f.classes, f.codes, f.countries, f.minPopulation
	if q.has("bbox") {
		box := q.box("bbox")
		query.Box = &box
	}
	if q.has("lat") || q.has("lon") {
		query.Lat, query.Lon = q.position()
		query.Bias = true
	}
	form := q.listForm(r)
	if q.err != nil {
		return q.err
	}

	p := pin(s.places)
	defer p.release()
	air := s.pinAirports(query.Text)
	defer air.release()
	finder, err := p.get()
	if err != nil {
		return err
	}
	return s.reply(c, answer{form: form, byAccept: true}, []uint64{p.id, air.id}, func(ctx context.Context, out *scratch) error {
		l := placeList{dst: out.body, form: form, limit: query.Limit}
		if err := l.search(ctx, finder, query); err != nil {
			return err
		}
		if err := l.addAirport(ctx, &air, query); err != nil {
			return err
		}
		out.body = l.end()
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
	if err != nil || !isSearchText(text) {
		return "", false // refused where other parameters are
	}
	return text, true
}

// sendCompletion answers a search for a text and nothing else.
func (s *server) sendCompletion(c echo.Context, text string) error {
	r := c.Request()
	p := pin(s.places)
	defer p.release()
	air := s.pinAirports(text)
	defer air.release()
	finder, err := p.get()
	if err != nil {
		return err
	}
	key := searchKey{text: text, places: p.id, airports: air.id, coding: acceptedKept(r)}
	etag := s.tagStart.bytes("/places/search").bytes(text).number(p.id).number(air.id).number(uint64(key.coding)).tag()
	s.traceFrom(r.Context(), p.id, air.id)
	if matches(r, &etag, false) {
		return s.notModified(c, answer{form: formJSON, tag: &etag, cache: s.cacheControl, byAccept: true})
	}
	res := s.searches.get(key)
	s.traceCache(r.Context(), res != nil)
	if res == nil {
		if res, err = s.makeCompletion(r.Context(), finder, &air, key, etag); err != nil {
			return err
		}
	}
	if matches(r, &etag, true) {
		return s.notModified(c, answer{form: formJSON, tag: &etag, cache: s.cacheControl, byAccept: true}) // "*"
	}
	return s.sendFinished(c, res)
}

// makeCompletion makes and keeps a finished answer. Requests for the same one
// share the work.
func (s *server) makeCompletion(ctx context.Context, finder Places, air *pinned[Airports], key searchKey, etag tag) (*finished, error) {
	wait, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.searches.do(wait, key, func() (*finished, error) {
		read, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
		defer cancel()
		read, end := s.traceRead(read)
		defer end()
		out := getScratch()
		defer out.release()
		query := search.Query{Text: key.text, Limit: defaultSearchLimit}
		l := placeList{dst: out.body, limit: query.Limit}
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
		out.body = l.end()
		res := finish(out.body, formJSON, key.coding, &etag)
		res.byAccept = true
		return res, nil
	})
}

// placeList is a list of places being written, as JSON or GeoJSON. It is
// made by one of complete and search and closed by end.
type placeList struct {
	dst   []byte
	start int // of the first item in dst
	form  form
	limit int
}

// complete takes the stored answer for a text, if there is one.
func (l *placeList) complete(ctx context.Context, finder Places, text string) (bool, error) {
	at := len(l.dst)
	out, found, err := finder.Complete(ctx, text, l.dst)
	if err != nil || !found {
		return false, err
	}
	if made := out[at:]; !bytes.HasPrefix(made, []byte(placesHead)) || !bytes.HasSuffix(made, []byte("]}")) {
		return false, fmt.Errorf("%w: a stored list of places has another form: ingest the places again", cellstore.ErrCorrupt)
	}
	l.start, l.dst = at+len(placesHead), out[:len(out)-2]
	return true, nil
}

// search writes the places that a search finds.
func (l *placeList) search(ctx context.Context, finder Places, q search.Query) error {
	memory := searchHits.Get().(*[]search.Hit)
	defer searchHits.Put(memory)
	hits, _, err := finder.Search(ctx, q, (*memory)[:0])
	if errors.Is(err, places.ErrQuery) {
		// All else was checked when it was read.
		return refuse(err, "q", "Set q to a text with letters or digits.")
	}
	if err != nil {
		return err
	}
	*memory = hits
	if l.form == formGeoJSON {
		l.dst = append(l.dst, collectionHead...)
	} else {
		l.dst = append(l.dst, placesHead...)
	}
	l.start = len(l.dst)
	var members []byte
	for i := range hits {
		h := &hits[i]
		if members, err = finder.Members(ctx, h.ID, members[:0]); err != nil {
			return inside(err)
		}
		name := ""
		if q.Lang != "" {
			if name, _, err = finder.NameIn(ctx, h.ID, q.Lang); err != nil {
				return inside(err)
			}
		}
		if i > 0 {
			l.dst = append(l.dst, ',')
		}
		if l.form == formGeoJSON {
			l.dst = appendFeatureHead(l.dst, h.ID, degrees(h.Lon), degrees(h.Lat))
		}
		l.dst = places.AppendNamed(append(l.dst, '{'), members, name)
		l.dst = search.AppendMatch(append(l.dst, ','), matchOf(&h.Match, members, name))
		l.dst = append(l.dst, '}')
		if l.form == formGeoJSON {
			l.dst = append(l.dst, '}')
		}
	}
	return nil
}

// end closes the list and returns it.
func (l *placeList) end() []byte { return append(l.dst, ']', '}') }

// inside turns the lack of something that the same generation has named into
// what it is: damage.
func inside(err error) error {
	if errors.Is(err, places.ErrNotFound) || errors.Is(err, stations.ErrNotFound) {
		return fmt.Errorf("%w: what was found has no record: %s", cellstore.ErrCorrupt, err.Error())
	}
	return err
}

// degrees turns the 1e-7 degrees of a hit into degrees.
func degrees(units int32) float64 { return float64(units) / 1e7 }

// nameMember begins the name among a place's members.
const nameMember = `,"name":`

// memberName returns where the name's JSON string stands in a place's members.
func memberName(members []byte) (from, to int) { return member(members, nameMember) }

// member returns where the JSON string of a member stands in a place's members or
// record, zeros when it has no such member. key is written as nameMember is. Within
// a string the quotes of a key are escaped, so the first match is the member itself,
// if there is one.
func member(members []byte, key string) (from, to int) {
	at := bytes.Index(members, []byte(key))
	if at < 0 {
		return 0, 0
	}
	from = at + len(key)
	to = from + stringEnd(members[from:])
	return from, to
}

// memberText is the text of a member that is a code, "" when there is none.
func memberText(members []byte, key string) string {
	from, to := member(members, key)
	if to-from < 2 {
		return ""
	}
	raw := members[from:to]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// stringEnd is the length of the JSON string that b begins with.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// matchOf is a match as it is told beside the name a place is shown by: the
// name that matched is named where it is another one.
func matchOf(m *search.Match, members []byte, shown string) *search.Match {
	if shown == "" || m.Historic {
		return m
	}
	told := *m
	if told.Name == "" {
		from, to := memberName(members)
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

// language reads a language code, "" when it is absent.
func (p *params) language(name string) string {
	v := p.text(name, maxLanguage)
	ok := v != "" || !p.has(name)
	for i := range len(v) {
		c := v[i] | 0x20
		ok = ok && (c >= 'a' && c <= 'z' || v[i] >= '0' && v[i] <= '9' || v[i] == '-')
	}
	if !ok {
		p.refuse(name, "Set "+name+" to a language code such as de or zh-Hant, or leave it out.")
		return ""
	}
	return v
}

// searchKey identifies the kept answer to a search for a text.
type searchKey struct {
	text             string
	places, airports uint64 // identities of the generations; 0: plays no part
	coding           coding
}

func (k searchKey) spread() uint64 {
	return uint64(hashStart.bytes(k.text)) ^ uint64(k.coding)
}

func (k searchKey) extra() int { return len(k.text) }
