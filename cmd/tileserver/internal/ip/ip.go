// Package ip serves the locations of IP addresses: for one address, a batch or the caller's own
// address, or as headers for a proxy. It also lists the networks of a country or a network
// operator.
package ip

import (
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/ipdatabase"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/ipgeo"
)

// Config configures how addresses are located.
type Config struct {
	Batch web.BatchLimits
	// StreamTimeout bounds how long a client may take to read a list of networks. The default is 5
	// minutes.
	StreamTimeout time.Duration
}

// Handlers answers where addresses are.
type Handlers struct {
	*web.Kit
	Config
	databases ipdatabase.NewestDatabase
}

// New returns the handlers. A StreamTimeout of zero or less means five minutes.
func New(k *web.Kit, cfg Config) *Handlers {
	if cfg.StreamTimeout <= 0 {
		cfg.StreamTimeout = 5 * time.Minute
	}
	return &Handlers{Kit: k, Config: cfg}
}

// errBatchLine is the reason for refusing a line.
var errBatchLine = errors.New("line is not an address")

// Kinds are the kinds of problems with addresses.
var Kinds = []web.ProblemKind{
	{Err: ipgeo.ErrBadAddress, Status: http.StatusBadRequest, Type: "bad-parameter", Title: "A parameter is not valid",
		Detail: "Give an IP address, such as 1.2.3.4 or 2001:db8::1."},
	{Err: ipgeo.ErrReserved, Status: http.StatusNotFound, Type: "address-reserved", Title: "The address is reserved",
		Detail: "Ask for a public address: reserved and private ones are nowhere in particular."},
	{Err: ipgeo.ErrNotFound, Status: http.StatusNotFound, Type: "address-not-found", Title: "Nothing is known about the address",
		Detail: "No source this server was built from covers the address."},
	{Err: errBatchLine, Status: http.StatusBadRequest, Type: "bad-line", Title: "The line is not valid",
		Detail: `Write one address per line: 1.2.3.4, "1.2.3.4" or {"ip":"1.2.3.4","fields":"country.iso_code"}.`},
}

// addressQuery has the values that every request about addresses reads first: the requested part of
// the answer, and the generation to read.
type addressQuery struct {
	*ask.Pinned[ask.AddressReader]
	part   *ipPart // nil for all
	reader ask.AddressReader
	now    *ipdatabase.Database
}

// askAddresses reads the parameters, and takes the generation of the request's view.
func (s *Handlers) askAddresses(p *endpoint.Params) (q addressQuery, err error) {
	if q.part, err = readPart(p); err != nil {
		return q, err
	}
	q.Pinned = &p.View().Addresses
	if q.reader, err = q.Get(); err != nil {
		return q, err
	}
	q.now = s.databases.Of(q.Pinned)
	return q, nil
}

// getAddress answers GET /ip/{addr}. Answers are not cached. With the index, uncached answers reach
// 0.92 of the bare handler's rate, but cached answers only 0.89. For the table, a cache would save
// 4 µs of 34 µs.
func (s *Handlers) getAddress(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	addr, err := ipgeo.ParseAddr(values[0])
	if err != nil {
		return err
	}
	return s.sendAddress(c, q, addr, s.CacheControl)
}

// getOwnAddress answers GET /ip/me with the record of the caller's address, even behind trusted
// proxies.
func (s *Handlers) getOwnAddress(c echo.Context, q *endpoint.Params) error {
	addr := s.ClientAddr(c.Request())
	if !addr.IsValid() {
		return ipdatabase.ErrNoPeer
	}
	// The answer is only for this caller, because the next caller has another address.
	err := s.sendAddress(c, q, addr, web.PrivateNoStore)
	if peer, header, ok := s.UntrustedPeer(c.Request()); ok && errors.Is(err, ipgeo.ErrReserved) {
		return endpoint.Refuse(ipgeo.ErrReserved, "addr", "The request came from a proxy at "+peer.String()+", whose "+header+
			" is not believed. If it is the operator's, start the server with --trusted-proxy "+peer.String()+".")
	}
	return err
}

// sendAddress answers with the record of an address.
func (s *Handlers) sendAddress(c echo.Context, p *endpoint.Params, addr netip.Addr, cache []string) error {
	r := c.Request()
	q, err := s.askAddresses(p)
	if err != nil {
		return err
	}
	s.TraceFrom(r.Context(), q.ID)
	l := ipdatabase.LookupPool.Get().(*ipdatabase.Lookup)
	defer ipdatabase.LookupPool.Put(l)
	_, end := s.TraceRead(r.Context())
	err = q.locate(r, l, addr)
	end()
	if err != nil {
		return err
	}
	c.Response().Header()[ipdatabase.Header] = q.now.Header
	// There is no ETag, because the headers would become larger than the body.
	return s.Send(c, web.Answer{Format: web.FormatJSON, CacheControl: cache, Coding: web.AcceptedCoding(r)}, &l.Out)
}

// locate puts the answer for an address into l.Out.
func (q *addressQuery) locate(r *http.Request, l *ipdatabase.Lookup, addr netip.Addr) error {
	if err := q.reader.Lookup(r.Context(), addr, &l.Res); err != nil {
		return explainAddress(err, addr)
	}
	l.Out.Body = appendAnswer(l.Out.Body[:0], q.now, &l.Res, q.part)
	return nil
}

// explainAddress adds an explanation for the client to the two errors about unknown addresses.
func explainAddress(err error, addr netip.Addr) error {
	var reserved *ipgeo.ReservedError
	switch {
	case errors.As(err, &reserved):
		b := &reserved.Block
		return endpoint.Refuse(ipgeo.ErrReserved, "addr", addr.String()+" is in "+b.Prefix.String()+" ("+b.Name+", "+b.RFC+
			"), which is nowhere in particular; ask for a public address.")
	case errors.Is(err, ipgeo.ErrNotFound):
		return endpoint.Refuse(ipgeo.ErrNotFound, "addr",
			"No source this server was built from covers "+addr.String()+"; /status lists the sources.")
	}
	return err
}

// ipPart is the part of an answer that a client requests; nil means the whole answer.
type ipPart struct {
	fields ipgeo.Fields // ip and source may be among them; ip is in every answer
	lang   string       // language of names, "" for all languages
}

// maxFieldsText bounds a list of fields in bytes.
const maxFieldsText = 50 * 65

// readPart reads fields and lang. It returns nil for the whole answer.
func readPart(p *endpoint.Params) (part *ipPart, err error) {
	fields, lang := fieldsParam.Of(p), langParam.Of(p)
	if fieldsParam.Given(p) && fields == "" {
		p.Refuse("fields", "List fields by their names, such as country.iso_code,city.names.en, or leave it out for all.")
	}
	if langParam.Given(p) && lang == "" {
		p.Refuse("lang", langAdvice)
	}
	if p.Err != nil || fields == "" && lang == "" {
		return nil, p.Err
	}
	if !isLanguage(lang) {
		return nil, endpoint.Refuse(endpoint.ErrParameter, "lang", langAdvice)
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
		return nil, endpoint.Refuse(endpoint.ErrParameter, "fields", detail+".")
	}
	return part, nil
}

const langAdvice = "Set lang to the code of a language, such as de or pt-BR."

// isLanguage reports whether s can be a language code, or is empty.
func isLanguage(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return len(s) <= endpoint.MaxLanguageBytes
}

// appendAnswer writes the answer found.
func appendAnswer(b []byte, g *ipdatabase.Database, res *ipgeo.Result, part *ipPart) []byte {
	b = append(b, `{"ip":"`...)
	b = res.Addr.AppendTo(b)
	b = append(b, '"')
	if part == nil || part.fields.All() || part.fields.Has("source") {
		b = append(b, g.SourceMember...)
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
