package web

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
)

// Client identifies the client that occupies a place: the key of a request, or its address. An IPv6
// address counts as its /64.
type Client struct {
	Key  string // its name
	Addr quota.ClientAddr
}

// ClientOf returns the client of a request. A light request with a key without scopes counts for
// its address, because storing the key would take memory.
func (s *Kit) ClientOf(c echo.Context) Client {
	if k, ok := c.Get(clientKey).(keyed); ok {
		return Client{Key: k.name}
	}
	return Client{Addr: quota.ClientAddrOf(s.ClientAddr(c.Request()))}
}

type clientInContext struct{}

// WithClient returns ctx with the client to which RunHeavy and InTurn charge their resources. Without it
// all clients count as one.
func WithClient(ctx context.Context, who Client) context.Context {
	return context.WithValue(ctx, clientInContext{}, who)
}

// WithClientOf returns ctx with the client of a request, see WithClient.
func (s *Kit) WithClientOf(ctx context.Context, c echo.Context) context.Context {
	return WithClient(ctx, s.ClientOf(c))
}

// These are shares of the places of --max-concurrent for each cost class, and shares of the places
// of a class for one client.
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

// places bounds the number of concurrent requests of a class, in total and for one client. On a
// server with keys some places are reserved for requests with a key. Its methods may be called
// concurrently.
type places struct {
	most, share, keys int64
	// few is the number of places that are given without identifying the client. They count against
	// the share of every client.
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

// beginFew takes a place if only a few are occupied. end releases it.
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

// begin takes a place, if one is free. end releases it.
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

// end releases a place that beginFew has taken, if few is set, or else a place that begin has taken
// for the client.
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

// Taken returns how many places are occupied.
func (p *places) Taken() int64 { return p.all.Load() }

// guard returns a handler that admits a request only if a place is free.
func (s *Kit) guard(r *endpoint.Endpoint, p *places, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s.CPUScheduler.begun.Add(1)
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

// These are context keys. The first records that a request has released its heavy place. The second
// records the client of this place, unless it is one of the few.
const (
	heavyGiven  = "heavy"
	heavyClient = "heavyClient"
)

// beginStream occupies a place for a streamed request. If the request has a heavy place, it
// releases that, because the client of a stream may be slow.
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

// RunHeavy calls fn. If dear is true, fn occupies a place for heavy requests for the client of ctx.
// The error matches ErrBusy if no such place is free.
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

// InTurn calls CPUScheduler.InTurn of the server's processors.
func (s *Kit) InTurn(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.CPUScheduler.InTurn(ctx, fn)
}
