package httpapi

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/internal/jsontext"
	"quadrille/ipgeo"
)

// lookup is the memory of one address lookup, reused from request to request.
type lookup struct {
	res ipgeo.Result
	out scratch
}

var lookups = sync.Pool{New: func() any { return new(lookup) }}

// addressQuery is what requests about addresses begin with: which part of the
// answer is wanted, and the generation it is read from.
type addressQuery struct {
	pinned[Addresses]
	part   *ipPart // nil for all
	reader Addresses
	now    *ipGeneration
}

// askAddresses reads the parameters and pins the generation, which the caller
// releases.
func (s *server) askAddresses(r *http.Request) (q addressQuery, err error) {
	if q.part, err = readPart(r); err != nil {
		return q, err
	}
	q.pinned = pin(s.addresses)
	if q.reader, err = q.get(); err != nil {
		q.release()
		return q, err
	}
	q.now = s.ipGeneration(&q.pinned)
	return q, nil
}

// getAddress answers GET /ip/{addr}.
func (s *server) getAddress(c echo.Context) error {
	r := c.Request()
	values, err := pathParams(c)
	if err != nil {
		return err
	}
	addr, err := ipgeo.ParseAddr(values[0])
	if err != nil {
		return err
	}
	q, err := s.askAddresses(r)
	if err != nil {
		return err
	}
	defer q.release()
	h := c.Response().Header()
	key := addressKey{addr: addr.As16(), generation: q.id, coding: acceptedKept(r)}
	s.traceFrom(r.Context(), q.id)
	if q.part == nil {
		kept := s.answers.get(key)
		s.traceCache(r.Context(), kept != nil)
		if kept != nil {
			h[databaseHeader] = q.now.header
			return s.sendFinished(c, kept)
		}
	}
	l := lookups.Get().(*lookup)
	defer lookups.Put(l)
	_, end := s.traceRead(r.Context())
	err = l.locate(r, &q, addr)
	end()
	if err != nil {
		return err
	}
	h[databaseHeader] = q.now.header
	if q.part == nil && s.repeated.admit(key.spread()) {
		kept := finish(l.out.body, formJSON, key.coding, nil)
		s.answers.put(key, kept)
		return s.sendFinished(c, kept)
	}
	// No entity tag: with one, the header would outweigh the body.
	return s.send(c, answer{form: formJSON, cache: s.cacheControl, coding: key.coding}, &l.out)
}

// getOwnAddress answers GET /ip/me: the address of the caller, who may be
// behind trusted proxies.
func (s *server) getOwnAddress(c echo.Context) error {
	r := c.Request()
	addr := s.clientAddr(r)
	if !addr.IsValid() {
		return errNoPeer
	}
	q, err := s.askAddresses(r)
	if err != nil {
		return err
	}
	defer q.release()
	s.traceFrom(r.Context(), q.id)
	l := lookups.Get().(*lookup)
	defer lookups.Put(l)
	_, end := s.traceRead(r.Context())
	err = l.locate(r, &q, addr)
	end()
	if err != nil {
		return err
	}
	c.Response().Header()[databaseHeader] = q.now.header
	// The answer is the caller's alone: the next one's is another.
	return s.send(c, answer{form: formJSON, cache: privateNoStore, coding: accepted(r)}, &l.out)
}

var (
	errNoPeer      = errors.New("the connection has no peer address")
	privateNoStore = []string{"private, no-store"}
)

// locate puts the answer for an address into l.out.
func (l *lookup) locate(r *http.Request, q *addressQuery, addr netip.Addr) error {
	if err := q.reader.Lookup(r.Context(), addr, &l.res); err != nil {
		return explainAddress(err, addr)
	}
	l.out.body = q.now.append(l.out.body[:0], &l.res, q.part)
	return nil
}

// explainAddress gives the two ways of not knowing an address their words.
func explainAddress(err error, addr netip.Addr) error {
	var reserved *ipgeo.ReservedError
	switch {
	case errors.As(err, &reserved):
		b := &reserved.Block
		return refuse(ipgeo.ErrReserved, "addr", addr.String()+" is in "+b.Prefix.String()+" ("+b.Name+", "+b.RFC+
			"), which is nowhere in particular; ask for a public address.")
	case errors.Is(err, ipgeo.ErrNotFound):
		return refuse(ipgeo.ErrNotFound, "addr", "No source this server was built from covers "+addr.String()+"; /status lists the sources.")
	}
	return err
}

// ipPart says what of an answer a client wants; nil stands for all of it.
type ipPart struct {
	fields ipgeo.Fields // ip and source may be among them; ip is in every answer
	lang   string       // of names, "" for every one there is
}

// maxFieldsText bounds a list of fields in bytes.
const maxFieldsText = 50 * 65

// readPart reads fields and lang.
func readPart(r *http.Request) (*ipPart, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	p := queryParams(r)
	fields, lang := p.text("fields", maxFieldsText), p.text("lang", maxLanguage)
	if p.has("fields") && fields == "" {
		p.refuse("fields", "List fields by their names, such as country.iso_code,city.names.en, or leave it out for all.")
	}
	if p.has("lang") && lang == "" {
		p.refuse("lang", langAdvice)
	}
	if p.err != nil {
		return nil, p.err
	}
	return newPart(fields, lang)
}

const langAdvice = "Set lang to the code of a language, such as de or pt-BR."

// newPart returns nil for the whole answer.
func newPart(fields, lang string) (part *ipPart, err error) {
	if fields == "" && lang == "" {
		return nil, nil
	}
	if !isLanguage(lang) {
		return nil, refuse(errParameter, "lang", langAdvice)
	}
	part = &ipPart{lang: lang}
	if fields == "" {
		return part, nil
	}
	if part.fields, err = ipgeo.ParseFields(fields); err != nil {
		detail := err.Error()
		if bad := (*ipgeo.FieldsError)(nil); errors.As(err, &bad) {
			detail = "Correct the field " + strconv.Quote(bad.Field) + ": " + bad.Reason
		}
		return nil, refuse(errParameter, "fields", detail+".")
	}
	return part, nil
}

// isLanguage reports whether s can be a language code, or is empty.
func isLanguage(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return len(s) <= maxLanguage
}

// ipGeneration is what all answers from one generation of addresses share.
type ipGeneration struct {
	id     uint64
	member []byte   // `,"source":"…"`, or nothing when no source is named
	header []string // of databaseHeader
}

// databaseHeader tells which data an answer is from, how old it is and under
// which terms it may be used.
const databaseHeader = "X-Geo-Database"

// ipGeneration returns what the pinned generation's answers share. It is made
// once per generation.
func (s *server) ipGeneration(p *pinned[Addresses]) *ipGeneration {
	now := s.ipNow.Load()
	if now == nil || now.id != p.id {
		m := p.handle.Manifest()
		now = &ipGeneration{id: p.id, member: encodeSources(m), header: []string{describeDatabase(m)}}
		s.ipNow.Store(now)
	}
	return now
}

// append writes the answer found.
func (g *ipGeneration) append(b []byte, res *ipgeo.Result, part *ipPart) []byte {
	b = append(b, `{"ip":"`...)
	b = res.Addr.AppendTo(b)
	b = append(b, '"')
	if part == nil || part.fields.All() || part.fields.Has("source") {
		b = append(b, g.member...)
	}
	n := len(b)
	b = append(b, ',')
	if part == nil {
		b = append(b, res.JSON...)
	} else {
		b = res.AppendFields(b, part.fields, part.lang)
	}
	if len(b) == n+1 {
		b = b[:n]
	}
	return append(b, '}')
}

// distinct returns the distinct values of a property of the sources.
func distinct(sources []dataset.Source, of func(*dataset.Source) string) []string {
	var values []string
	for i := range sources {
		if v := of(&sources[i]); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

func encodeSources(m *dataset.Manifest) []byte {
	names := distinct(m.Sources, func(s *dataset.Source) string { return s.Name })
	if len(names) == 0 {
		return nil
	}
	return jsontext.AppendString([]byte(`,"source":`), strings.Join(names, ", "))
}

// describeDatabase makes the value of databaseHeader:
//
//	ip/12; built=2026-11-20T04:00:00Z; source="DB-IP Lite"; license="CC-BY-4.0"
//
// built is when the data was ingested; data is, where known, when the newest
// source was made.
func describeDatabase(m *dataset.Manifest) string {
	b := append([]byte(m.Dataset), '/')
	b = strconv.AppendUint(b, m.Generation, 10)
	b = append(b, "; built="...)
	b = m.Built.UTC().AppendFormat(b, time.RFC3339)
	var newest time.Time
	for i := range m.Sources {
		if t := m.Sources[i].Modified; t.After(newest) {
			newest = t
		}
	}
	if !newest.IsZero() {
		b = append(b, "; data="...)
		b = newest.UTC().AppendFormat(b, time.RFC3339)
	}
	for _, p := range []struct {
		name string
		of   func(*dataset.Source) string
	}{
		{"source", func(s *dataset.Source) string { return s.Name }},
		{"license", func(s *dataset.Source) string { return s.License }},
	} {
		if values := distinct(m.Sources, p.of); len(values) > 0 {
			b = append(append(append(b, "; "...), p.name...), `="`...)
			b = append(appendHeaderText(b, strings.Join(values, ", "), maxDescribed), '"')
		}
	}
	return string(b)
}

// maxDescribed bounds the names of sources in a header, in bytes.
const maxDescribed = 120

// appendHeaderText appends what of a text can stand in a quoted value of a
// header, cut off at max bytes.
func appendHeaderText(b []byte, text string, max int) []byte {
	for i := range min(len(text), max) {
		if c := text[i]; c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			b = append(b, c)
		} else {
			b = append(b, '?')
		}
	}
	return b
}
