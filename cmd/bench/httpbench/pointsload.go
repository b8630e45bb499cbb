package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"quadrille/cmd/bench/resp"
)

// target is one kind of request to one server.
type target struct {
	name    string
	address string
	// request appends request number i, which counts without end.
	request func(dst []byte, i int) []byte
	answer  func(*bufio.Reader) error
	fresh   bool // each request has a connection of its own
}

// caller sends the requests of a target over one connection.
type caller struct {
	target
	next int
	conn net.Conn
	r    *bufio.Reader
	out  []byte
}

// callers returns n callers. Each begins at another request.
func (t target) callers(n int) []*caller {
	list := make([]*caller, n)
	for i := range list {
		list[i] = &caller{target: t, next: i * 7919}
	}
	return list
}

func (c *caller) call() (err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("tcp", c.address); err != nil {
			return err
		}
		c.r = bufio.NewReaderSize(c.conn, 64<<10)
	}
	c.out = c.request(c.out[:0], c.next)
	c.next++
	if _, err = c.conn.Write(c.out); err == nil {
		err = c.answer(c.r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	if c.fresh {
		c.close()
	}
	return nil
}

func (c *caller) close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is lost with it
		c.conn = nil
	}
}

// drive makes all callers send requests for the time d. If every is set, they send at that
// interval. Otherwise each sends its next request as soon as the last one is answered. It returns
// the latency of each request.
func drive(callers []*caller, d, every time.Duration) (all []time.Duration, err error) {
	took := make([][]time.Duration, len(callers))
	errs := make([]error, len(callers))
	begin := time.Now()
	var wg sync.WaitGroup
	for i, c := range callers {
		wg.Go(func() {
			due := begin.Add(every * time.Duration(i) / time.Duration(len(callers)))
			for errs[i] == nil && time.Since(begin) < d {
				if every > 0 {
					time.Sleep(time.Until(due))
					due = due.Add(every)
				}
				sent := time.Now()
				errs[i] = c.call()
				took[i] = append(took[i], time.Since(sent))
			}
		})
	}
	wg.Wait()
	for i := range took {
		all = append(all, took[i]...)
	}
	return all, errors.Join(errs...)
}

func closeAll(callers []*caller) {
	for _, c := range callers {
		c.close()
	}
}

// found reads an answer whose status must be 200 or 201.
func found(r *bufio.Reader) error {
	h, err := readAnswer(r)
	if err == nil && h.status != http.StatusOK && h.status != http.StatusCreated {
		err = fmt.Errorf("answered %d", h.status)
	}
	return err
}

// written returns a function that reads the answer to a batch, in which n lines must succeed.
func written(n int) func(*bufio.Reader) error {
	return func(r *bufio.Reader) error {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil && bytes.Count(body, []byte(`"status":20`)) != n {
			err = fmt.Errorf("%s, of %d lines not all were written: %.300s", res.Status, n, body)
		}
		return err
	}
}

// replies returns a function that reads n answers of Redis or Tile38.
func replies(n int) func(*bufio.Reader) error {
	return func(r *bufio.Reader) (err error) {
		var into []string
		for range n {
			if into, err = resp.Read(r, into[:0]); err != nil {
				return err
			}
		}
		return nil
	}
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 7, 64) }
