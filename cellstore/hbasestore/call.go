package hbasestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// repeat says whether a call may be sent again when it is not known what
// became of it.
type repeat bool

const (
	anyTimes repeat = true  // it reads, or writes the same thing again
	once     repeat = false // it may only be repeated if it cannot have arrived
)

const (
	firstPause = 20 * time.Millisecond
	maxPause   = 500 * time.Millisecond
)

// call sends a call, again where that may help, until it is answered or its
// time is over.
func (s *Store) call(ctx context.Context, may repeat, f func(context.Context, *thrift2.Conn) error) error {
	return s.callWithin(ctx, s.opts.Timeout, s.opts.TryTimeout, may, f)
}

func (s *Store) callWithin(ctx context.Context, total, each time.Duration, may repeat, f func(context.Context, *thrift2.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, total)
		defer cancel()
	}
	var last *gateway
	for try := 1; ; try++ {
		g, err := s.try(ctx, each, last, f)
		if err == nil {
			return nil
		}
		last = g
		again, err := judge(err, may)
		if !again || try >= s.opts.Tries {
			return s.final(ctx, err, try)
		}
		if !pause(ctx, try) {
			return s.final(ctx, err, try)
		}
	}
}

// final says what a call that failed for good answers. A caller whose own time
// is over gets the error of its context.
func (s *Store) final(ctx context.Context, err error, tries int) error {
	if known(err) {
		return err
	}
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if tries > 1 {
		err = fmt.Errorf("%w (tried %d times)", err, tries)
	}
	return err
}

func (s *Store) try(ctx context.Context, each time.Duration, avoid *gateway, f func(context.Context, *thrift2.Conn) error) (*gateway, error) {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	l, err := s.pool.take(ctx, avoid)
	if err != nil {
		return l.g, err
	}
	s.calls.Add(1)
	err = f(ctx, l.Conn)
	l.done(err)
	return l.g, err
}

// pause waits before try n+1, longer each time and never the same, so that
// many clients do not come back together. It is false when time is over.
func pause(ctx context.Context, n int) bool {
	d := min(firstPause<<min(n-1, 10), maxPause)
	d = d/2 + rand.N(d)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// judge decides whether a call that failed is sent again, and what its error
// is when it is not.
func judge(err error, may repeat) (again bool, _ error) {
	var te *thrift2.TransportError
	var pe *thrift2.ProtocolError
	var io *thrift2.IOError
	switch {
	case errors.As(err, &te):
		if te.Sent && may == once {
			return false, fmt.Errorf("%w: %w", cellstore.ErrUnknownOutcome, err)
		}
		return !errors.Is(err, context.Canceled), unavailable(err)
	case errors.As(err, &pe):
		return false, fmt.Errorf("%w: is this a Thrift2 gateway? if it is, its log has the reason: %w", ErrUnavailable, err)
	case errors.As(err, &io):
		if mapped := exception(io); mapped != nil {
			return false, mapped
		}
		if may == once {
			return false, fmt.Errorf("%w: %w", cellstore.ErrUnknownOutcome, shorten(io))
		}
		return true, unavailable(shorten(io))
	}
	if errors.Is(err, context.DeadlineExceeded) { // no connection came free in time
		return true, unavailable(err)
	}
	return false, err // cancelled, or the store is closed
}

// ErrUnavailable says that the cluster or its gateways did not answer in time.
// A later call may succeed. It is a cellstore.ErrUnavailable.
var ErrUnavailable = fmt.Errorf("hbase: %w", cellstore.ErrUnavailable)

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// exceptions maps what the gateway's messages begin with or hold to the
// contract's errors. An entry with nil ends the call as it is: repeating it
// would bring the same answer.
var exceptions = []struct {
	text string
	err  error
}{
	{"NoSuchColumnFamilyException", cellstore.ErrFamilyNotFound},
	{"TableNotFoundException", cellstore.ErrTableNotFound},
	{"TableExistsException", cellstore.ErrTableExists},
	{"Field is not a long", cellstore.ErrNotCounter},
	{"Attempted to increment field that isn't 64 bits wide", cellstore.ErrNotCounter},
}

var refused = []string{"IllegalArgumentException", "AccessDeniedException", "DoNotRetryIOException", "UnsupportedOperationException", "TableNotEnabledException", "NamespaceExistException", "NamespaceNotFoundException", "ConstraintException", "InvalidFamilyOperationException"}

// outOfStep are ends of the gateway's own scans, over a server that is slow or
// gone. HBase says of some that they must not be repeated: it means the call on
// the scanner, which a new try does not have.
var outOfStep = []string{"OutOfOrderScannerNextException", "ScannerResetException", "UnknownScannerException", "LeaseException"}

// exception returns the error for an answer that another try would not change,
// nil for one it might.
func exception(io *thrift2.IOError) error {
	for _, x := range exceptions {
		if strings.Contains(io.Message, x.text) {
			return fmt.Errorf("%w: %w", x.err, shorten(io))
		}
	}
	// A failed try at a server that has gone is wrapped in exceptions of the
	// gateway's own; only what comes first tells what happened.
	head, _, _ := strings.Cut(io.Message, "\n")
	for _, text := range outOfStep {
		if strings.Contains(head, text) {
			return nil
		}
	}
	for _, text := range refused {
		if strings.Contains(head, text) {
			return &refusedError{shorten(io)}
		}
	}
	if !io.CanRetry {
		return &refusedError{shorten(io)}
	}
	return nil
}

// says reports whether the cluster refused a call with just this message: for
// a table or namespace that is missing, or there already, the gateway gives its
// name and no more.
func says(err error, message string) bool {
	var r *refusedError
	if !errors.As(err, &r) {
		return false
	}
	// Some messages have the name of the exception in front after all.
	said := r.err.Error()
	return said == message || strings.HasSuffix(said, "Exception: "+message)
}

// missing names the error of a call on a table that there is not.
func missing(err error, path string) error {
	if says(err, path) {
		return cellstore.ErrTableNotFound
	}
	return err
}

// refusedError is an answer of the cluster that no try would change.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return "hbase refuses the call: " + e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// known reports whether an error says all there is to say.
func known(err error) bool {
	var r *refusedError
	if errors.As(err, &r) {
		return true
	}
	for _, x := range exceptions {
		if errors.Is(err, x.err) {
			return true
		}
	}
	return errors.Is(err, cellstore.ErrClosed)
}

// shorten cuts the stack of a Java exception off its message.
func shorten(io *thrift2.IOError) error {
	head, _, _ := strings.Cut(io.Message, "\n")
	if len(head) > 500 {
		head = head[:500] + "…"
	}
	return &thrift2.IOError{Message: head, CanRetry: io.CanRetry}
}
