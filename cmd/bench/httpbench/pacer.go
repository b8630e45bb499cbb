//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"
)

// pacer sends requests to one server at fixed times. One goroutine does all of
// it and never sleeps: timers and the waking of goroutines would be late by more
// than an answer takes.
type pacer struct {
	client *client
	conns  []*pacedConn
	free   []*pacedConn
	busy   []*pacedConn
	next   int // request
}

// pacedConn is a connection from which only the bytes that have come are read.
type pacedConn struct {
	raw  syscall.RawConn
	read func(fd uintptr) bool // into buf
	n    int                   // the number of bytes that read returned
	err  error

	want *answer
	due  time.Duration // when its request was to be sent
	buf  []byte
	have int // bytes in buf
	head head
	left int // of the body, -1 while the head is read
}

func newPacer(url string, answers []answer, connections int) (*pacer, error) {
	c, err := newClient(url, answers, connections)
	if err != nil {
		return nil, err
	}
	p := &pacer{client: c}
	for _, conn := range c.conns {
		tcp, ok := conn.(*net.TCPConn)
		if !ok {
			c.close()
			return nil, fmt.Errorf("%s is not reached by TCP", url)
		}
		raw, err := tcp.SyscallConn()
		if err != nil {
			c.close()
			return nil, err
		}
		pc := &pacedConn{raw: raw, buf: make([]byte, 64<<10)}
		pc.read = func(fd uintptr) bool {
			pc.n, pc.err = syscall.Read(int(fd), pc.buf[pc.have:])
			return true // there or not: it is not waited for
		}
		p.conns = append(p.conns, pc)
	}
	p.free = append(p.free, p.conns...)
	return p, nil
}

func (p *pacer) close() { p.client.close() }

// patience is the longest time without any answer.
const patience = 10 * time.Second

// run offers requests at a rate. It returns the latency of each from its planned time. Requests
// wait for a connection if none is free.
func (p *pacer) run(rate float64, d time.Duration) ([]time.Duration, error) {
	total := max(int(rate*d.Seconds()), 1)
	took := make([]time.Duration, 0, total)
	step := float64(time.Second) / rate
	begin := time.Now()
	last := time.Duration(0) // when something was answered
	for sent := 0; len(took) < total; {
		now := time.Since(begin)
		for sent < total && len(p.free) > 0 {
			due := time.Duration(step * float64(sent))
			if due > now {
				break
			}
			if err := p.send(due); err != nil {
				return nil, err
			}
			sent++
		}
		for i := 0; i < len(p.busy); {
			c := p.busy[i]
			done, err := c.receive()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.want.Path, err)
			}
			if !done {
				i++
				continue
			}
			last = time.Since(begin)
			took = append(took, last-c.due)
			p.busy[i] = p.busy[len(p.busy)-1]
			p.busy = p.busy[:len(p.busy)-1]
			p.free = append(p.free, c)
		}
		if len(p.busy) > 0 && now-last > patience {
			return nil, fmt.Errorf("%s: no answer", p.busy[0].want.Path)
		}
	}
	return took, nil
}

// send sends the next request over a free connection.
func (p *pacer) send(due time.Duration) error {
	c := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	i := p.next % len(p.client.requests)
	p.next++
	c.want, c.due, c.have, c.left = &p.client.answers[i], due, 0, -1
	p.busy = append(p.busy, c)
	// The request is short, so it fits into the buffer of the socket, which is empty.
	request := p.client.requests[i]
	var n int
	var err error
	if werr := c.raw.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), request)
		return true
	}); werr != nil {
		return werr
	}
	if err == nil && n < len(request) {
		err = errors.New("the request was not sent in one piece")
	}
	return err
}

var endOfHead = []byte("\r\n\r\n")

// receive reads the bytes that have come and reports whether the answer is complete and as
// expected.
func (c *pacedConn) receive() (bool, error) {
	if err := c.raw.Read(c.read); err != nil {
		return false, err
	}
	switch {
	case errors.Is(c.err, syscall.EAGAIN), errors.Is(c.err, syscall.EINTR):
		return false, nil
	case c.err != nil:
		return false, c.err
	case c.n == 0:
		return false, errors.New("the server has closed the connection")
	}
	if c.left < 0 {
		c.have += c.n
		end := bytes.Index(c.buf[:c.have], endOfHead)
		switch {
		case end < 0 && c.have == len(c.buf):
			return false, errors.New("the head of the answer is too long")
		case end < 0:
			return false, nil
		}
		if err := c.head.parse(c.buf[:end+2]); err != nil {
			return false, err
		}
		c.left = c.head.size - (c.have - end - len(endOfHead))
		c.have = 0 // the body is counted and not kept
	} else {
		c.left -= c.n
	}
	switch {
	case c.left > 0:
		return false, nil
	case c.left < 0:
		return false, errors.New("more than the answer came")
	case c.head.status != c.want.status():
		return false, fmt.Errorf("answered %d, want %d", c.head.status, c.want.status())
	case c.head.size != len(c.want.Body) && c.head.status < http.StatusBadRequest:
		return false, fmt.Errorf("%d bytes, want %d", c.head.size, len(c.want.Body))
	}
	return true, nil
}

// parse reads a whole head, its lines ended.
func (h *head) parse(text []byte) error {
	for first := true; len(text) > 0; first = false {
		i := bytes.IndexByte(text, '\n')
		line := text[:i+1]
		text = text[i+1:]
		read := h.field
		if first {
			read = h.first
		}
		if err := read(line); err != nil {
			return err
		}
	}
	return h.finished()
}
