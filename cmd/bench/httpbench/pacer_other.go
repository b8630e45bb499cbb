//go:build !unix

package main

import (
	"errors"
	"time"
)

// pacer is not available on this system, because it has to read sockets without waiting.
type pacer struct{}

func newPacer(string, []answer, int) (*pacer, error) {
	return nil, errors.New("latencies are measured on Unix only")
}

func (*pacer) close() {}

func (*pacer) run(float64, time.Duration) ([]time.Duration, error) { return nil, nil }
