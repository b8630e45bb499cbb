package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxLogQueue bounds the part of a log that waits for its reader, in bytes.
const maxLogQueue = 1 << 20

// logTimeout bounds the time to write the last lines when the program ends.
const logTimeout = time.Second

// logQueue is a queue of log lines for a reader that may be slow, stuck or gone, or for a full
// disk. Only Close waits for it, for a bounded time. Lines are dropped and counted if the queue is
// full or if they cannot be written. The log reports this once lines can be written again. Its
// methods may be called concurrently.
type logQueue struct {
	to   io.Writer
	form func(io.Writer) slog.Handler // of the log's own lines

	mu      sync.Mutex
	waiting []byte // whole lines
	spare   []byte // the memory of the lines before
	untold  int64  // dropped lines that have not been logged yet
	closed  bool
	dropped atomic.Int64 // in all
	torn    bool         // part of a line is out; of run

	wake chan struct{}
	done chan struct{}
}

// newLogQueue begins to write log lines to a writer.
func newLogQueue(to io.Writer, form func(io.Writer) slog.Handler) *logQueue {
	q := &logQueue{to: to, form: form, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

// Write adds a line, including its end, or drops it. It never fails.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	if q.closed || len(q.waiting)+len(line) > maxLogQueue {
		q.drop(1)
	} else {
		q.waiting = append(q.waiting, line...)
	}
	q.mu.Unlock()
	q.wakeUp()
	return len(line), nil
}

func (q *logQueue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// drop counts dropped lines. The lock is held.
func (q *logQueue) drop(lines int) {
	q.untold += int64(lines)
	q.dropped.Add(int64(lines))
}

// metric returns the counter of dropped lines.
func (q *logQueue) metric() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "quadrille_log_dropped_total", Help: "Lines of the log that nobody will read: its reader was too slow or gone, or its disk full.",
	}, func() float64 { return float64(q.dropped.Load()) })
}

// Close writes the waiting lines, but waits at most for the time most. Later lines are dropped.
func (q *logQueue) Close(most time.Duration) {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wakeUp()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-q.done:
	case <-timer.C:
	}
}

func (q *logQueue) run() {
	defer close(q.done)
	for range q.wake {
		q.mu.Lock()
		closed := q.closed
		q.mu.Unlock()
		for q.turn() {
		}
		if closed {
			return
		}
	}
}

// turn writes the waiting lines and reports whether there may be more. After a failure the next
// line is an attempt to write again.
func (q *logQueue) turn() (more bool) {
	q.mu.Lock()
	lines, untold := q.waiting, q.untold
	q.waiting, q.spare, q.untold = q.spare[:0], nil, 0
	q.mu.Unlock()
	if more = len(lines) > 0 || untold > 0; !more {
		return false
	}
	whole := len(lines)
	if untold > 0 {
		b := bytes.NewBuffer(lines)
		record := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of this log were dropped: look after its reader, or its disk", 0)
		record.AddAttrs(slog.Int64("dropped", untold))
		_ = q.form(b).Handle(context.Background(), record) // a buffer never fails
		lines = b.Bytes()
	}
	var n int
	var err error
	if q.torn {
		_, err = q.to.Write([]byte("…\n"))
	}
	if err == nil {
		n, err = q.to.Write(lines)
		q.torn = n > 0 && lines[n-1] != '\n'
	}
	wrong := 0
	if err == nil {
		untold = 0
	} else {
		more = false
		wrong = bytes.Count(lines[min(n, whole):whole], []byte{'\n'})
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = lines[:0]
	q.untold += untold
	q.drop(wrong)
	return more
}
