package web

import (
	"context"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
)

// ClientOf returns the client of a request. A light request with a key without scopes
// counts for its address: to remember the key would cost memory.
func (s *Kit) ClientOf(c echo.Context) Client {
	if k, ok := c.Get(clientKey).(keyed); ok {
		return Client{Key: k.name}
	}
	return Client{Addr: quota.ClientOf(s.ClientAddr(c.Request()))}
}

// As is ctx for the client of a request.
func (s *Kit) As(ctx context.Context, c echo.Context) context.Context {
	return For(ctx, s.ClientOf(c))
}

// guard lets a request through that finds a place.
func (s *Kit) guard(r *endpoint.Endpoint, p *places, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s.Processors.begun.Add(1)
		if p.beginFew() {
			defer p.endFew()
			return h(c)
		}
		who := s.ClientOf(c)
		if !p.begin(who) {
			return turnAway(r, c, ErrBusy)
		}
		defer p.end(who)
		return h(c)
	}
}

// Context keys: the first says that a request has given back its heavy place, the second
// whose place it was if it was not among the few.
const (
	heavyGiven  = "heavy"
	heavyClient = "heavyClient"
)

// guardHeavy keeps requests that may take long from taking all places.
func (s *Kit) guardHeavy(r *endpoint.Endpoint, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.Heavy.beginFew() {
			who := s.ClientOf(c)
			if !s.Heavy.begin(who) {
				return turnAway(r, c, ErrBusy)
			}
			c.Set(heavyClient, who)
		}
		defer s.endHeavy(c)
		return h(c)
	}
}

// endHeavy gives back the heavy place of a request, once.
func (s *Kit) endHeavy(c echo.Context) {
	if c.Get(heavyGiven) != nil {
		return
	}
	if who, ok := c.Get(heavyClient).(Client); ok {
		s.Heavy.end(who)
	} else {
		s.Heavy.endFew()
	}
}

// beginStream takes a place of a streamed request and gives back the heavy one, if there is
// one, since the client of a stream may take long.
func (s *Kit) beginStream(c echo.Context) (free func(), err error) {
	who := s.ClientOf(c)
	if !s.streams.begin(who) {
		return nil, ErrBusy
	}
	if s.heavy[[2]string{c.Request().Method, c.Path()}] {
		s.endHeavy(c)
		c.Set(heavyGiven, true)
	}
	return func() { s.streams.end(who) }, nil
}

// Heavily calls fn. If dear is true, fn runs in a place of a heavy request for the client
// of ctx; the error matches ErrBusy if there is no such place.
func (s *Kit) Heavily(ctx context.Context, dear bool, fn func() error) error {
	if !dear {
		return fn()
	}
	who, _ := ctx.Value(clientInContext{}).(Client)
	if !s.Heavy.begin(who) {
		return ErrBusy
	}
	defer s.Heavy.end(who)
	return fn()
}

// InTurn is InTurn of the processors of the server.
func (s *Kit) InTurn(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.Processors.InTurn(ctx, fn)
}
