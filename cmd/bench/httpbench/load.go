package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// loadCmd sends requests to several servers alternately, over connections that stay open. A
// connection sends its next request as soon as the last one is answered. The command implements
// only a small part of HTTP, so that it is fast and the server is the bottleneck. Standard input
// has a list of requests for each server.
type loadCmd struct {
	URL         []string      `required:"" help:"The servers."`
	PID         []int         `required:"" help:"Their processes."`
	Rounds      int           `required:""`
	Duration    time.Duration `required:""`
	Connections int           `required:""`
}

// measured are the results of the runs against one server, run by run.
type measured struct {
	Rates []float64 // requests per second
	CPU   []float64 // microseconds of the server's processor time per request
}

func (l *loadCmd) Run() error {
	var answers [][]answer
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		return err
	}
	got, err := l.measure(answers)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

// measure makes the rounds, after one that does not count.
func (l *loadCmd) measure(answers [][]answer) ([]measured, error) {
	if len(l.URL) == 0 || len(l.PID) != len(l.URL) || len(answers) != len(l.URL) {
		return nil, errors.New("each server needs its address, process and requests")
	}
	clients := make([]*client, len(l.URL))
	for i, url := range l.URL {
		var err error
		if clients[i], err = newClient(url, answers[i], l.Connections); err != nil {
			return nil, err
		}
		defer clients[i].close()
	}
	got := make([]measured, len(clients))
	for round := range l.Rounds + 1 {
		for i := range clients {
			which := (i + round) % len(clients) // none always goes first
			before := cpuTime(l.PID[which])
			n, took, err := clients[which].run(l.Duration)
			if err != nil {
				return nil, err
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

// client has the connections to a server.
type client struct {
	answers  []answer
	requests [][]byte
	conns    []net.Conn
	readers  []*bufio.Reader
	next     []int // request of each connection
}

func newClient(url string, answers []answer, connections int) (*client, error) {
	if len(answers) == 0 {
		return nil, errors.New("no requests")
	}
	addr := strings.TrimPrefix(url, "http://")
	c := &client{answers: answers}
	for i := range answers {
		c.requests = append(c.requests, answers[i].request(addr))
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

// run keeps all connections busy for the time d, and returns the number of answers and the time
// that they took.
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
		if err := expect(c.readers[i], &c.answers[n]); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// expect reads an answer and compares its status and size with the expected ones.
func expect(r *bufio.Reader, want *answer) error {
	h, err := readAnswer(r)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", want.Path, err)
	case h.status != want.status():
		return fmt.Errorf("%s: answered %d, want %d", want.Path, h.status, want.status())
	case h.size != len(want.Body) && h.status < http.StatusBadRequest:
		return fmt.Errorf("%s: %d bytes, want %d", want.Path, h.size, len(want.Body))
	}
	return nil
}

// head is the part of an answer's head that the load generator needs.
type head struct {
	status int
	size   int // of the body, -1 while it is not known
	chunks bool
}

var (
	version       = []byte("HTTP/1.1 ")
	contentLength = []byte("Content-Length: ")
	inChunks      = []byte("Transfer-Encoding: chunked")
)

// first reads the status line.
func (h *head) first(line []byte) error {
	if len(line) < len(version)+3 || !bytes.HasPrefix(line, version) {
		return fmt.Errorf("answered %q", line)
	}
	h.status, h.size, h.chunks = 0, -1, false
	for _, c := range line[len(version) : len(version)+3] {
		h.status = h.status*10 + int(c-'0')
	}
	if h.status == http.StatusNotModified || h.status == http.StatusNoContent {
		h.size = 0
	}
	return nil
}

// field reads a header line.
func (h *head) field(line []byte) (err error) {
	if bytes.HasPrefix(line, contentLength) {
		h.size, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):])))
	}
	h.chunks = h.chunks || bytes.HasPrefix(line, inChunks)
	return err
}

func (h *head) finished() error {
	if h.size < 0 && !h.chunks {
		return errors.New("answer without Content-Length")
	}
	return nil
}

// readChunks skips a chunked body and returns its size.
func readChunks(r *bufio.Reader) (size int, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if err != nil {
			return 0, err
		}
		if _, err := r.Discard(int(n) + len("\r\n")); err != nil {
			return 0, err
		}
		if size += int(n); n == 0 {
			return size, nil
		}
	}
}

// readAnswer reads one answer with a Content-Length or in chunks, or with a status that has no
// body.
func readAnswer(r *bufio.Reader) (h head, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return h, err
	}
	if err := h.first(line); err != nil {
		return h, err
	}
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return h, err
		}
		if len(line) <= 2 {
			break
		}
		if err := h.field(line); err != nil {
			return h, err
		}
	}
	if err := h.finished(); err != nil {
		return h, err
	}
	if h.chunks {
		h.size, err = readChunks(r)
		return h, err
	}
	_, err = r.Discard(h.size)
	return h, err
}
