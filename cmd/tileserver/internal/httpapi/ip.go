package httpapi

import (
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/ipgeo"
)

// lookup is the memory of one address lookup, reused from request to request.
type lookup struct {
	res ipgeo.Result
	out scratch
}

var lookups = sync.Pool{New: func() any { return new(lookup) }}

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
	p := pin(s.addresses)
	defer p.release()
	reader, err := p.get()
	if err != nil {
		return err
	}
	key := addressKey{addr: addr.As16(), generation: p.id, coding: accepted(r)}
	if kept := s.answers.get(key); kept != nil {
		return s.sendFinished(c, kept)
	}
	l := lookups.Get().(*lookup)
	defer lookups.Put(l)
	if err := s.locate(c, reader, &p, addr, l); err != nil {
		return err
	}
	if s.repeated.admit(key.spread()) {
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
	addr := s.clientAddr(c.Request())
	if !addr.IsValid() {
		return errors.New("the connection has no peer address")
	}
	p := pin(s.addresses)
	defer p.release()
	reader, err := p.get()
	if err != nil {
		return err
	}
	l := lookups.Get().(*lookup)
	defer lookups.Put(l)
	if err := s.locate(c, reader, &p, addr, l); err != nil {
		return err
	}
	// The answer is the caller's alone: the next one's is another.
	return s.send(c, answer{form: formJSON, cache: privateNoStore, coding: accepted(c.Request())}, &l.out)
}

var privateNoStore = []string{"private, no-store"}

// locate puts the answer for an address into l.out.
func (s *server) locate(c echo.Context, reader Addresses, p *pinned[Addresses], addr netip.Addr, l *lookup) error {
	if err := reader.Lookup(c.Request().Context(), addr, &l.res); err != nil {
		return explainAddress(err, addr)
	}
	b := append(l.out.body[:0], `{"ip":"`...)
	b = l.res.Addr.AppendTo(b)
	b = append(b, '"')
	b = append(b, s.sourceMember(p)...)
	if len(l.res.JSON) > 0 {
		b = append(b, ',')
		b = append(b, l.res.JSON...)
	}
	l.out.body = append(b, '}')
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

// sources is the "source" member of answers from one generation.
type sources struct {
	id     uint64
	member []byte
}

// sourceMember returns `,"source":"…"`, or nothing when the generation names
// no source. It is made once per generation.
func (s *server) sourceMember(p *pinned[Addresses]) []byte {
	known := s.ipSources.Load()
	if known == nil || known.id != p.id {
		known = &sources{id: p.id, member: encodeSources(p.handle.Manifest())}
		s.ipSources.Store(known)
	}
	return known.member
}

func encodeSources(m *dataset.Manifest) []byte {
	var names []string
	for _, src := range m.Sources {
		if src.Name != "" && !slices.Contains(names, src.Name) {
			names = append(names, src.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	b, err := json.Marshal(strings.Join(names, ", "))
	if err != nil {
		return nil // a string always encodes
	}
	return append([]byte(`,"source":`), b...)
}
