package hbasestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

const (
	// minRest and maxRest bound the time for which a failed gateway is avoided if there are others.
	// The time doubles with every failure.
	minRest = 100 * time.Millisecond
	maxRest = 5 * time.Second
	// maxIdle bounds the idle time of a connection. Gateways with default settings, and many
	// firewalls, drop an idle connection after a minute.
	maxIdle = 50 * time.Second
)

// pool manages the connections to the gateways of a cluster.
type pool struct {
	gateways    []*gateway
	turn        atomic.Uint64
	cancelDials func() // ends running dials
}

// gateway is one address. Each connection that is in use or being dialled holds a slot of free. A
// connection is dialled only if none is idle, so there are never more connections than slots.
type gateway struct {
	dial func() (*thrift2.Conn, error)
	free chan struct{}

	mu        sync.Mutex
	idle      []idleConn // the last one used is the last
	failures  int
	restUntil time.Time // end of the time for which it is avoided
	closed    bool
}

type idleConn struct {
	*thrift2.Conn
	since time.Time
}

// lease is a connection that is in use.
type lease struct {
	*thrift2.Conn
	g *gateway
}

func newPool(o *Options) *pool {
	p := &pool{}
	ctx, cancelDials := context.WithCancel(context.Background())
	p.cancelDials = cancelDials
	cfg, dialTimeout := o.config(), o.TryTimeout
	for _, addr := range o.Gateways {
		dial := func() (*thrift2.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return thrift2.Dial(ctx, addr, cfg)
		}
		p.gateways = append(p.gateways, &gateway{dial: dial, free: make(chan struct{}, o.Connections)})
	}
	p.turn.Store(rand.Uint64()) // many clients begin at different gateways
	return p
}

// take returns a connection to a gateway that seems to work. It uses the gateway avoid only if
// there is no other.
func (p *pool) take(ctx context.Context, avoid *gateway) (lease, error) {
	g := p.choose(avoid)
	select {
	case g.free <- struct{}{}:
	case <-ctx.Done():
		return lease{g: g}, ctx.Err()
	}
	c, err := g.reuse()
	if c == nil && err == nil {
		return g.connect(ctx)
	}
	if err != nil {
		<-g.free
	}
	return lease{Conn: c, g: g}, err
}

// choose uses the gateways one after the other. It takes a resting one only if all are resting.
func (p *pool) choose(avoid *gateway) *gateway {
	n := uint64(len(p.gateways))
	first := p.turn.Add(1)
	now := time.Now()
	best := p.gateways[first%n]
	var soonest time.Time
	for i := range n {
		g := p.gateways[(first+i)%n]
		if g == avoid && n > 1 {
			continue
		}
		g.mu.Lock()
		restUntil := g.restUntil
		g.mu.Unlock()
		if restUntil.Before(now) {
			return g
		}
		if soonest.IsZero() || restUntil.Before(soonest) {
			best, soonest = g, restUntil
		}
	}
	return best
}

// connect dials, and frees the slot if that fails. A caller that gives up during the dial does not
// count as a failure of the gateway. The dial continues and keeps the slot, and other callers get
// its connection.
func (g *gateway) connect(ctx context.Context) (lease, error) {
	type result struct {
		lease
		err error
	}
	dialed := make(chan result)
	go func() {
		c, err := g.dial()
		if err != nil {
			g.failed()
			<-g.free
		}
		r := result{lease{Conn: c, g: g}, err}
		select {
		case dialed <- r:
		case <-ctx.Done():
			if err == nil {
				r.giveBack()
			}
		}
	}()
	select {
	case r := <-dialed:
		return r.lease, r.err
	case <-ctx.Done():
		return lease{g: g}, &thrift2.TransportError{Err: fmt.Errorf("connect: %w", ctx.Err())}
	}
}

// reuse returns an idle connection that is still usable, or nil if there is none.
func (g *gateway) reuse() (*thrift2.Conn, error) {
	for {
		g.mu.Lock()
		if g.closed {
			g.mu.Unlock()
			return nil, cellstore.ErrClosed
		}
		n := len(g.idle)
		if n == 0 {
			g.mu.Unlock()
			return nil, nil
		}
		c := g.idle[n-1]
		g.idle = g.idle[:n-1]
		g.mu.Unlock()
		if time.Since(c.since) < maxIdle && c.Usable() {
			return c.Conn, nil
		}
		_ = c.Close() // nothing is on its way
	}
}

// done returns a connection to the pool after a call that ended with err. A call that the caller
// gave up does not count as a failure of the gateway. Then only this connection is closed. The same
// holds for a call that was not sent because the connection was broken.
func (l lease) done(err error, gaveUp bool) {
	var te *thrift2.TransportError
	switch {
	case err == nil:
		l.g.succeeded()
	case gaveUp:
	case !errors.As(err, &te):
		l.g.succeeded()
	case te.Sent:
		l.g.failed()
	}
	l.giveBack()
}

func (l lease) giveBack() {
	l.g.mu.Lock()
	keep := !l.Ended() && !l.g.closed // reuse checks that it is still usable
	if keep {
		l.g.idle = append(l.g.idle, idleConn{l.Conn, time.Now()})
	}
	l.g.mu.Unlock()
	if !keep {
		_ = l.Close() // nobody uses it any more
	}
	<-l.g.free
}

func (g *gateway) failed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	rest := min(minRest<<min(g.failures, 10), maxRest)
	g.failures++
	g.restUntil = time.Now().Add(rest)
	// Idle connections are older than the failure, so they are probably also dead.
	for _, c := range g.idle {
		_ = c.Close() // nothing is on its way
	}
	g.idle = nil
}

func (g *gateway) succeeded() {
	g.mu.Lock()
	g.failures, g.restUntil = 0, time.Time{}
	g.mu.Unlock()
}

// close closes the idle connections. Connections in use are closed when they return.
func (p *pool) close() {
	p.cancelDials()
	for _, g := range p.gateways {
		g.mu.Lock()
		g.closed = true
		for _, c := range g.idle {
			_ = c.Close() // nothing is on its way
		}
		g.idle = nil
		g.mu.Unlock()
	}
}
