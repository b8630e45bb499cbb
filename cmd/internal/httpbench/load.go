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
	"sync/atomic"
	"time"
)

// loadCmd sends requests over connections that stay open, each the next as
// soon as the last is answered. It knows just enough of HTTP to cost little:
// the server has to be the bottleneck.
type loadCmd struct {
	URL         string        `required:""`
	Duration    time.Duration `required:""`
	Connections int           `required:""`
}

func (l *loadCmd) Run() error {
	var answers []answer
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		return err
	}
	rate, total, err := l.measure(answers)
	if err != nil {
		return err
	}
	fmt.Println(rate, total)
	return nil
}

// measure returns requests per second, after a warm-up of a fifth of the
// duration, and the number of all requests.
func (l *loadCmd) measure(answers []answer) (rate float64, total int64, err error) {
	if len(answers) == 0 {
		return 0, 0, errors.New("no requests")
	}
	addr := strings.TrimPrefix(l.URL, "http://")
	requests := make([][]byte, len(answers))
	for i, a := range answers {
		headers := ""
		if a.Gzip {
			headers = "Accept-Encoding: gzip\r\n"
		}
		if a.Forwarded != "" {
			headers += "X-Forwarded-For: " + a.Forwarded + "\r\n"
		}
		requests[i] = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", a.Path, addr, headers)
	}
	var done atomic.Int64
	var stop atomic.Bool
	errs := make([]error, l.Connections)
	var wg sync.WaitGroup
	for i := range l.Connections {
		wg.Go(func() { errs[i] = drive(addr, requests, answers, i, &done, &stop) })
	}
	time.Sleep(l.Duration / 5)
	begin, from := time.Now(), done.Load()
	time.Sleep(l.Duration)
	n, took := done.Load()-from, time.Since(begin)
	stop.Store(true)
	wg.Wait()
	return float64(n) / took.Seconds(), done.Load(), errors.Join(errs...)
}

// drive keeps one connection busy until stop.
func drive(addr string, requests [][]byte, answers []answer, first int, done *atomic.Int64, stop *atomic.Bool) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is lost with it
	r := bufio.NewReaderSize(conn, 64<<10)
	for i := first; !stop.Load(); i++ {
		n := i % len(requests)
		if _, err := conn.Write(requests[n]); err != nil {
			return err
		}
		size, err := readAnswer(r)
		if err != nil {
			return fmt.Errorf("%s: %w", answers[n].Path, err)
		}
		if size != len(answers[n].Body) {
			return fmt.Errorf("%s: %d bytes, want %d", answers[n].Path, size, len(answers[n].Body))
		}
		done.Add(1)
	}
	return nil
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
