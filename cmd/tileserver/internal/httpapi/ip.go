package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/ipgeo"
)

// ipConfig says how addresses are located. Zero fields mean the defaults named.
type ipConfig struct {
	Addresses *dataset.Live[Addresses]
	// CacheBytes bounds the cache of answers for addresses. 0 keeps none.
	CacheBytes int64
	// BatchLines is how many lines a batch may have, BatchBytes how many bytes
	// its body, compressed or not, and BatchTimeout how long its client may take
	// over it. 1,000,000, 256 MiB, 5 minutes.
	BatchLines   int64
	BatchBytes   int64
	BatchTimeout time.Duration
}

// ipRoom answers where addresses are.
type ipRoom struct {
	*kit
	ipConfig
	databases databaseNow
	answers   *responseCache[addressKey]
	repeated  doorkeeper // addresses asked for more than once
}

func newIPRoom(k *kit, cfg ipConfig) *ipRoom {
	s := &ipRoom{kit: k, ipConfig: cfg, answers: newResponseCache[addressKey](cfg.CacheBytes)}
	s.BatchLines, s.BatchBytes = cmp.Or(max(s.BatchLines, 0), 1_000_000), cmp.Or(max(s.BatchBytes, 0), 256<<20)
	s.BatchTimeout = cmp.Or(max(s.BatchTimeout, 0), 5*time.Minute)
	watchCache(k, "addresses", s.answers)
	return s
}

func (s *ipRoom) routes() []route {
	part := []string{"fields", "lang"}
	return []route{
		{path: "/ip/me", handle: s.getOwnAddress, cost: light, query: takes(part)},
		{path: "/ip/:addr", handle: s.getAddress, cost: light, query: takes(part)},
		{path: batchPath, methods: []string{http.MethodPost}, handle: s.postBatch, cost: streamed, query: takes(part), body: true},
		// Otherwise it would be an address that cannot be read.
		{path: batchPath, handle: refuseMethod("POST, OPTIONS"), cost: vital, query: anything},
		{path: batchPath, methods: []string{http.MethodOptions}, handle: s.preflight("POST, OPTIONS"), cost: vital, query: anything, keys: keysUnasked, label: preflightLabel},
		// Proxies ask about requests of every method, with the query of the
		// request they ask about.
		{path: "/ip/headers", any: true, handle: s.getHeaders, cost: light, query: anything, keys: keysOfProxy, refuse: s.refuseHeaders, body: true},
		{path: "/ip/headers/*", any: true, handle: s.getHeaders, cost: light, query: anything, keys: keysOfProxy, refuse: s.refuseHeaders, body: true},
	}
}

// What lines and batches are refused for.
var (
	errBatchLine    = errors.New("line is not an address")
	errBatchTooLong = errors.New("batch is too long")
	errBatchTimeout = errors.New("batch came too slowly")
)

var ipKinds = []kind{
	{err: ipgeo.ErrBadAddress, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Give an IP address, such as 1.2.3.4 or 2001:db8::1."},
	{err: ipgeo.ErrReserved, status: http.StatusNotFound, typ: "address-reserved", title: "The address is reserved",
		detail: "Ask for a public address: reserved and private ones are nowhere in particular."},
	{err: ipgeo.ErrNotFound, status: http.StatusNotFound, typ: "address-not-found", title: "Nothing is known about the address",
		detail: "No source this server was built from covers the address."},
	{err: errBatchLine, status: http.StatusBadRequest, typ: "bad-line", title: "The line is not valid",
		detail: `Write one address per line: 1.2.3.4, "1.2.3.4" or {"ip":"1.2.3.4","fields":"country.iso_code"}.`},
	{err: errBatchTooLong, status: http.StatusRequestEntityTooLarge, typ: "batch-too-long", title: "The batch is too long",
		detail: "Send the rest in further requests."},
	{err: errBatchTimeout, status: http.StatusRequestTimeout, typ: "batch-timeout", title: "The batch came too slowly",
		detail: "Send the lines and read the answers without long pauses, or in shorter batches."},
}

// addressQuery is what requests about addresses begin with: which part of the
// answer is wanted, and the generation it is read from.
type addressQuery struct {
	pinned[Addresses]
	part   *ipPart // nil for all
	reader Addresses
	now    *ipDatabase
}

// askAddresses reads the parameters and pins the generation, which the caller
// releases.
func (s *ipRoom) askAddresses(r *http.Request) (q addressQuery, err error) {
	if q.part, err = readPart(r); err != nil {
		return q, err
	}
	q.pinned = pin(s.Addresses)
	if q.reader, err = q.get(); err != nil {
		q.release()
		return q, err
	}
	q.now = s.databases.of(&q.pinned)
	return q, nil
}

// getAddress answers GET /ip/{addr}.
func (s *ipRoom) getAddress(c echo.Context) error {
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
	err = q.locate(r, l, addr)
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
func (s *ipRoom) getOwnAddress(c echo.Context) error {
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
	err = q.locate(r, l, addr)
	end()
	if err != nil {
		return err
	}
	c.Response().Header()[databaseHeader] = q.now.header
	// The answer is the caller's alone: the next one's is another.
	return s.send(c, answer{form: formJSON, cache: privateNoStore, coding: accepted(r)}, &l.out)
}

// locate puts the answer for an address into l.out.
func (q *addressQuery) locate(r *http.Request, l *lookup, addr netip.Addr) error {
	if err := q.reader.Lookup(r.Context(), addr, &l.res); err != nil {
		return explainAddress(err, addr)
	}
	l.out.body = appendAnswer(l.out.body[:0], q.now, &l.res, q.part)
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

// appendAnswer writes the answer found.
func appendAnswer(b []byte, g *ipDatabase, res *ipgeo.Result, part *ipPart) []byte {
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
