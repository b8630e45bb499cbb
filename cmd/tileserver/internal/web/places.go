package web

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
)

// Client is the one that places are given to: the key of a request, or its address, an
// IPv6 address as its /64.
type Client struct {
	Key  string // its name
	Addr quota.Client
}

// ClientOf returns the client of a request. A light request with a key without scopes
// counts for its address: to remember the key would cost memory.
func (s *Kit) ClientOf(c echo.Context) Client {
	if k, ok := c.Get(clientKey).(keyed); ok {
		return Client{Key: k.name}
	}
	return Client{Addr: quota.ClientOf(s.ClientAddr(c.Request()))}
}

type clientInContext struct{}

// WithClient returns ctx with the client that pays for what RunHeavy and InTurn give.
// Without it all clients count as one.
func WithClient(ctx context.Context, who Client) context.Context {
	return context.WithValue(ctx, clientInContext{}, who)
}

// WithClientOf is ctx for the client of a request.
func (s *Kit) WithClientOf(ctx context.Context, c echo.Context) context.Context {
	return WithClient(ctx, s.ClientOf(c))
}

// Shares of the places of --max-concurrent, by class of cost, and of the places of a class
// that one client may have.
const (
	heavyShare  = 4 // of all places: tiles and lookups go on when heavy requests are at their limit
	streamShare = 8 // fewer: they run longer than others

	clientShare = 4 // of the places of a class
	// lightClientShare is a share of all places. Behind a proxy that is not trusted all clients
	// count as one.
	lightClientShare = 2
	keyShare         = 4 // of the places of a class, for requests with a key
)

// maxFollowed bounds the followed requests of one client that run at once.
const maxFollowed = 32

// places bounds the requests of a class that run at once, in all and of one client. On a
// server with keys some places are only for requests with a key. Its methods may be called
// concurrently.
type places struct {
	most, share, keys int64
	// few is the number of places that are given without asking who takes them.
	// They count against the share of every client.
	few int64

	all atomic.Int64
	mu  sync.Mutex
	of  map[Client]int64
}

func (p *places) init(most, share int64, keyed bool) {
	p.most, p.share, p.of = max(most, 1), max(share, 1), map[Client]int64{}
	if keyed {
		p.keys = most / keyShare
	}
}

// beginFew takes a place while few are taken. End gives it back.
func (p *places) beginFew() bool {
	if p.few == 0 {
		return false
	}
	if p.all.Add(1) > p.few {
		p.all.Add(-1)
		return false
	}
	return true
}

// begin takes a place, if there is one. End gives it back.
func (p *places) begin(who Client) bool {
	most := p.most
	if who.Key == "" {
		most -= p.keys
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all.Load() >= most || p.of[who] >= p.share-p.few {
		return false
	}
	p.all.Add(1)
	p.of[who]++
	return true
}

// end gives a place back that is of the few, or of a client.
func (p *places) end(few bool, who Client) {
	p.all.Add(-1)
	if few {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[who]--; p.of[who] <= 0 {
		delete(p.of, who)
	}
}

// Taken returns how many places are taken.
func (p *places) Taken() int64 { return p.all.Load() }

// guard lets a request through that finds a place.
func (s *Kit) guard(r *endpoint.Endpoint, p *places, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s.Processors.begun.Add(1)
		few, who := p.beginFew(), Client{}
		if !few {
			if who = s.ClientOf(c); !p.begin(who) {
				return turnAway(r, c, ErrBusy)
			}
			if p == &s.HeavyPlaces {
				c.Set(heavyClient, who)
			}
		}
		defer func() {
			if p != &s.HeavyPlaces || c.Get(heavyGiven) == nil {
				p.end(few, who)
			}
		}()
		return h(c)
	}
}

// Context keys: the first says that a request has given back its heavy place, the second
// whose place it was if it was not among the few.
const (
	heavyGiven  = "heavy"
	heavyClient = "heavyClient"
)

// beginStream takes a place of a streamed request and gives back the heavy one, if there is
// one, since the client of a stream may take long.
func (s *Kit) beginStream(c echo.Context) (free func(), err error) {
	who := s.ClientOf(c)
	if !s.streams.begin(who) {
		return nil, ErrBusy
	}
	if s.heavy[[2]string{c.Request().Method, c.Path()}] && c.Get(heavyGiven) == nil {
		of, counted := c.Get(heavyClient).(Client)
		s.HeavyPlaces.end(!counted, of)
		c.Set(heavyGiven, true)
	}
	return func() { s.streams.end(false, who) }, nil
}

// RunHeavy calls fn. If dear is true, fn runs in a place of a heavy request for the client
// of ctx; the error matches ErrBusy if there is no such place.
func (s *Kit) RunHeavy(ctx context.Context, dear bool, fn func() error) error {
	if !dear {
		return fn()
	}
	who, _ := ctx.Value(clientInContext{}).(Client)
	if !s.HeavyPlaces.begin(who) {
		return ErrBusy
	}
	defer s.HeavyPlaces.end(false, who)
	return fn()
}

// InTurn is InTurn of the processors of the server.
func (s *Kit) InTurn(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.Processors.InTurn(ctx, fn)
}
