package main

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// lazyListener accepts connections that set the timers of their deadlines lazily.
//
// net/http moves a connection's deadlines half a dozen times per request, and each move costs a
// timer operation: together about 5 % of the time of a small answer. But a deadline nearly always
// moves to a later time, and then the running timer is enough. If it fires before the wanted time,
// it is started again for the rest. The timeouts stay the same.
//
// After every request net/http also moves the read deadline into the past and back, to interrupt
// its background read, which detects that the client has disconnected. After a quick answer this
// read has seldom begun. It then ends as soon as it begins, and the timer does not change.
type lazyListener struct{ net.Listener }

func (l lazyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	lc := &lazyConn{Conn: c}
	lc.read.set, lc.write.set = c.SetReadDeadline, c.SetWriteDeadline
	lc.write.running = 1 // writes are not counted: nobody ends them early
	return lc, nil
}

// lazyConn is a connection with lazy deadlines. Its methods may be called concurrently, as net.Conn
// requires.
type lazyConn struct {
	net.Conn
	read, write lazyDeadline
}

func (c *lazyConn) Read(p []byte) (int, error) {
	for {
		if !c.read.enter() {
			return 0, os.ErrDeadlineExceeded
		}
		n, err := c.Conn.Read(p)
		c.read.leave()
		if n > 0 || err == nil || !c.read.early(err) {
			return n, err
		}
	}
}

func (c *lazyConn) Write(p []byte) (written int, err error) {
	for {
		n, err := c.Conn.Write(p[written:])
		if written += n; err == nil || !c.write.early(err) {
			return written, err
		}
	}
}

func (c *lazyConn) SetReadDeadline(t time.Time) error  { return c.read.want(t) }
func (c *lazyConn) SetWriteDeadline(t time.Time) error { return c.write.want(t) }
func (c *lazyConn) SetDeadline(t time.Time) error {
	return errors.Join(c.read.want(t), c.write.want(t))
}

// CloseWrite lets net/http end a connection in an orderly way.
func (c *lazyConn) CloseWrite() error { return closeWrite(c.Conn) }

// NetConn returns the connection beneath. Streams that are cut off reset it.
func (c *lazyConn) NetConn() net.Conn { return c.Conn }

// lazyDeadline is the deadline of one direction.
type lazyDeadline struct {
	set func(time.Time) error // of the connection

	mu      sync.Mutex
	wanted  time.Time // as set by the user of the connection; zero for none
	timer   time.Time // as set on the connection below: never later than wanted, unless wanted is at once and no call is running
	running int       // calls that may wait in the connection
}

// enter begins a call that may wait, unless its deadline has already passed.
func (d *lazyDeadline) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if atOnce(d.wanted) {
		return false
	}
	d.running++
	return true
}

// leave ends the call that enter has begun.
func (d *lazyDeadline) leave() {
	d.mu.Lock()
	d.running--
	d.mu.Unlock()
}

// stride is the longest time for which a timer is set. A deadline may move to an earlier time by
// less than stride, as it does between the wait for a request and its header. The timer still fires
// early enough, and an idle connection wakes up at most once per stride.
const stride = 10 * time.Second

// want sets the wanted deadline.
func (d *lazyDeadline) want(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	switch {
	case t.IsZero():
		return nil // the timer, if there is one, fires in vain
	case atOnce(t):
		if d.running == 0 {
			return nil // the next call looks at wanted
		}
		d.timer = t
		return d.set(t)
	case d.timer.After(distantPast) && !t.Before(d.timer):
		return nil
	}
	return d.start()
}

// start sets the timer for the wanted time. The lock is held.
func (d *lazyDeadline) start() error {
	d.timer = d.wanted
	if !d.wanted.IsZero() {
		if soon := time.Now().Add(stride); soon.Before(d.wanted) {
			d.timer = soon
		}
	}
	return d.set(d.timer)
}

// distantPast separates two kinds of deadlines: earlier deadlines mean "at once"; all other
// deadlines are later.
var distantPast = time.Unix(1_000_000, 0)

// atOnce reports whether a deadline interrupts calls immediately.
func atOnce(t time.Time) bool { return !t.IsZero() && t.Before(distantPast) }

// early reports whether err is a timeout before the wanted time. If it is, early restarts the
// timer.
func (d *lazyDeadline) early(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wanted.IsZero() && !time.Now().Before(d.wanted) {
		return false
	}
	return d.start() == nil
}
