package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// loadCmd sends requests to two servers by turns, over connections that stay
// open, each the next request as soon as the last is answered. It knows just
// enough of HTTP to cost little: the server has to be the bottleneck.
type loadCmd struct {
	URL         []string      `required:"" help:"The two servers."`
	PID         []int         `required:"" help:"Their processes."`
	Rounds      int           `required:""`
	Duration    time.Duration `required:""`
	Connections int           `required:""`
}

// measured is what the runs against one server found out, run by run.
type measured struct {
	Rates []float64 // requests per second
	CPU   []float64 // microseconds of the server's processor time per request
}

func (l *loadCmd) Run() error {
	var answers []answer
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		return err
	}
	if len(l.URL) != 2 || len(l.PID) != 2 {
		return errors.New("two servers are compared")
	}
	got, err := l.measure(answers)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

// measure makes the rounds, and one before them that does not count.
func (l *loadCmd) measure(answers []answer) (got [2]measured, err error) {
	if len(answers) == 0 {
		return got, errors.New("no requests")
	}
	var clients [2]*client
	for i, url := range l.URL {
		if clients[i], err = newClient(url, answers, l.Connections); err != nil {
			return got, err
		}
		defer clients[i].close()
	}
	for round := range l.Rounds + 1 {
		for i := range clients {
			which := (i + round) % 2 // neither always goes first
			before := cpuTime(l.PID[which])
			n, took, err := clients[which].run(l.Duration)
			if err != nil {
				return got, err
			}
			used := cpuTime(l.PID[which]) - before
			if round == 0 {
				continue
			}
			m := &got[which]
			m.Rates = append(m.Rates, float64(n)/took.Seconds())
			m.CPU = append(m.CPU, float64(used.Nanoseconds())/1e3/float64(n))
		}
	}
	return got, nil
}

// client has the connections to one server.
type client struct {
	answers  []answer
	requests [][]byte
	conns    []net.Conn
	readers  []*bufio.Reader
	next     []int // request of each connection
}

func newClient(url string, answers []answer, connections int) (*client, error) {
	addr := strings.TrimPrefix(url, "http://")
	c := &client{answers: answers}
	for _, a := range answers {
		headers := ""
		if a.Gzip {
			headers = "Accept-Encoding: gzip\r\n"
		}
		if a.Forwarded != "" {
			headers += "X-Forwarded-For: " + a.Forwarded + "\r\n"
		}
		c.requests = append(c.requests, fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", a.Path, addr, headers))
	}
	for i := range connections {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			c.close()
			return nil, err
		}
		c.conns = append(c.conns, conn)
		c.readers = append(c.readers, bufio.NewReaderSize(conn, 64<<10))
		c.next = append(c.next, i*len(answers)/connections)
	}
	return c, nil
}

func (c *client) close() {
	for _, conn := range c.conns {
		_ = conn.Close() // nothing is lost with it
	}
}

// run keeps all connections busy for a while and returns how many requests
// were answered in what time.
func (c *client) run(d time.Duration) (int, time.Duration, error) {
	counts := make([]int, len(c.conns))
	errs := make([]error, len(c.conns))
	begin := time.Now()
	end := begin.Add(d)
	var wg sync.WaitGroup
	for i := range c.conns {
		wg.Go(func() { counts[i], errs[i] = c.drive(i, end) })
	}
	wg.Wait()
	took := time.Since(begin)
	total := 0
	for _, n := range counts {
		total += n
	}
	return total, took, errors.Join(errs...)
}

// drive keeps one connection busy, for one request at least.
func (c *client) drive(i int, end time.Time) (done int, err error) {
	for done == 0 || time.Now().Before(end) {
		n := c.next[i] % len(c.requests)
		c.next[i]++
		if _, err := c.conns[i].Write(c.requests[n]); err != nil {
			return done, err
		}
		size, err := readAnswer(c.readers[i])
		if err != nil {
			return done, fmt.Errorf("%s: %w", c.answers[n].Path, err)
		}
		if size != len(c.answers[n].Body) {
			return done, fmt.Errorf("%s: %d bytes, want %d", c.answers[n].Path, size, len(c.answers[n].Body))
		}
		done++
	}
	return done, nil
}

var contentLength = []byte("Content-Length: ")

// readAnswer reads one answer with a Content-Length and returns its size.
func readAnswer(r *bufio.Reader) (int, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return 0, fmt.Errorf("answered %q", line)
	}
	size := -1
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		if bytes.HasPrefix(line, contentLength) {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return 0, err
			}
		}
	}
	if size < 0 {
		return 0, errors.New("answer without Content-Length")
	}
	_, err = r.Discard(size)
	return size, err
}
