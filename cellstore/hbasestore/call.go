package hbasestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// repeat says whether a call may be sent again when it is not known what
// became of it.
type repeat uint8

const (
	reads    repeat = iota // it changes nothing; those that follow may ever less be repeated
	anyTimes               // it writes the same thing again
	once                   // it may only be repeated if nothing came of it
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
	perhaps := false // a try that failed may have been carried out all the same
	for try := 1; ; try++ {
		g, err := s.try(ctx, each, last, f)
		if err == nil {
			return nil
		}
		last = g
		v := judge(err)
		perhaps = perhaps || may != reads && !v.undone
		again := v.again && (v.undone || may != once)
		if !again || try >= s.opts.Tries || !pause(ctx, try) {
			return s.final(ctx, v, may, perhaps, try)
		}
	}
}

// final says what a call that failed for good answers. A caller whose own time
// is over gets the error of its context, too.
func (s *Store) final(ctx context.Context, v finding, may repeat, perhaps bool, tries int) error {
	err := v.err
	if v.as != nil && (may != once || !perhaps || !errors.Is(v.as, ErrUnavailable)) {
		err = fmt.Errorf("%w: %w", v.as, err)
	}
	if perhaps {
		err = fmt.Errorf("%w: %w", cellstore.ErrUnknownOutcome, err)
	}
	if !v.again && !errors.Is(v.as, ErrUnavailable) && !perhaps {
		return err // it says all there is to say
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
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	l, err := s.pool.take(ctx, avoid)
	if err != nil {
		return l.g, err
	}
	s.calls.Add(1)
	err = f(ctx, l.Conn)
	l.done(err, caller.Err() != nil)
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

// finding is what the failure of one try means.
type finding struct {
	err    error
	as     error // what callers branch on, nil for nothing
	again  bool  // another try may end otherwise
	undone bool  // it is certain that nothing was done
}

// judge tells what a failure means. What it does not know may have been done.
func judge(err error) finding {
	var te *thrift2.TransportError
	var pe *thrift2.ProtocolError
	var io *thrift2.IOError
	var known *extentError
	switch {
	case errors.As(err, &te):
		return finding{err: err, as: ErrUnavailable, again: !errors.Is(err, context.Canceled), undone: !te.Sent}
	case errors.As(err, &pe) && pe.Unread:
		return finding{err: fmt.Errorf("is this a Thrift2 gateway? if it is, its log has the reason: %w", err), as: ErrUnavailable, undone: true}
	case errors.As(err, &pe):
		return finding{err: fmt.Errorf("see the gateway's log: %w", err), as: ErrUnavailable}
	case errors.As(err, &io):
		v := answered(io)
		if errors.As(err, &known) {
			v.undone = known.undone
		}
		return v
	case errors.Is(err, context.DeadlineExceeded): // no connection came free in time
		return finding{err: err, as: ErrUnavailable, again: true, undone: true}
	}
	return finding{err: err, undone: true} // cancelled, closed, or no such table
}

// ErrUnavailable says that the cluster or its gateways did not answer in time.
// A later call may succeed. It is a cellstore.ErrUnavailable.
var ErrUnavailable = fmt.Errorf("hbase: %w", cellstore.ErrUnavailable)

// answers says what the gateway's errors mean, by how they begin: with the name
// of an exception in Java, less its package.
//
// Only few are certain to come before anything is done. That HBase does not want
// a call repeated (DoNotRetryIOException, CanRetry) is no such sign: the call may
// have been done before, as OperationConflictException says, or have failed in a
// coprocessor afterwards. Neither are the errors that would be signs but that the
// gateway repeats by itself (NotServingRegionException, RegionTooBusyException):
// when it gives up, one of its tries may have been done and its answer lost.
var answers = []struct {
	text   string
	as     error
	undone bool
}{
	// Families are looked up before the row is locked.
	{"NoSuchColumnFamilyException", cellstore.ErrFamilyNotFound, true},
	// There is no region to send the call to.
	{"TableNotFoundException", cellstore.ErrTableNotFound, true},
	{"TableNotEnabledException", nil, true},
	{"TableExistsException", cellstore.ErrTableExists, true},
	// Sums are made before the log is written.
	{"DoNotRetryIOException: Field is not a long", cellstore.ErrNotCounter, true},
	{"DoNotRetryIOException: Attempted to increment field that isn't 64 bits wide", cellstore.ErrNotCounter, true},
	// Rights, quotas and times are looked at first.
	{"AccessDeniedException", nil, true},
	{"SpaceLimitingException", nil, true},
	{"FailedSanityCheckException", nil, true},
	{"DoNotRetryIOException: region is read only", nil, true},
	{"Thrift Server is in Read-only mode", nil, true},
	// For good, but a coprocessor might say so at any time.
	{"DoNotRetryIOException", nil, false},
	{"IllegalArgumentException", nil, false},
	{"UnsupportedOperationException", nil, false},
	{"NamespaceExistException", nil, false},
	{"NamespaceNotFoundException", nil, false},
	{"ConstraintException", nil, false},
	{"InvalidFamilyOperationException", nil, false},
}

// outOfStep are ends of the gateway's own scans, over a server that is slow or
// gone. HBase says of some that they must not be repeated: it means the call on
// the scanner, which a new try does not have.
var outOfStep = []string{"OutOfOrderScannerNextException", "ScannerResetException", "UnknownScannerException", "LeaseException"}

// answered tells what an error that the gateway answers means.
func answered(io *thrift2.IOError) finding {
	message, _, _ := alike(io.Message)
	// A failed try at a server that has gone is wrapped in exceptions of the
	// gateway's own; only what comes first tells what happened.
	head, _, _ := strings.Cut(message, "\n")
	for _, text := range outOfStep {
		if strings.Contains(head, text) {
			return finding{err: shorten(io), as: ErrUnavailable, again: true}
		}
	}
	head = head[len(javaPackage.FindString(head)):]
	for _, x := range answers {
		switch {
		case !strings.HasPrefix(head, x.text):
		case x.as != nil:
			return finding{err: shorten(io), as: x.as, undone: x.undone}
		default:
			return finding{err: &refusedError{shorten(io)}, undone: x.undone}
		}
	}
	switch {
	case io.Argument: // the gateway itself could not use what it got
		return finding{err: &refusedError{shorten(io)}, undone: true}
	case !io.CanRetry:
		return finding{err: &refusedError{shorten(io)}}
	}
	return finding{err: shorten(io), as: ErrUnavailable, again: true}
}

var (
	javaPackage = regexp.MustCompile(`^(?:[a-z][\w]*\.)+`)
	allAlike    = regexp.MustCompile(`(?s)^Failed (\d+) actions?: (.*): (\d+) times?, servers with issues: `)
)

// alike takes apart what the gateway says of an operation that it sends as a
// batch, also of one row: that n rows failed, each for the same reason. What
// else it says is returned as it is.
func alike(message string) (reason string, n int, ok bool) {
	m := allAlike.FindStringSubmatch(message)
	if m == nil || m[1] != m[3] {
		return message, 0, false
	}
	n, err := strconv.Atoi(m[1])
	return m[2], n, err == nil
}

// extentError is a failure of which more is known than its message says: that
// nothing was done, or that something may be.
type extentError struct {
	error
	undone bool
}

func (e *extentError) Unwrap() error { return e.error }

// partly marks the failure of a call of n rows, unless each of them failed for
// the same reason.
func partly(err error, n int) error {
	var io *thrift2.IOError
	if errors.As(err, &io) {
		if _, failed, ok := alike(io.Message); !ok || failed != n {
			return &extentError{err, false}
		}
	}
	return err
}

// says reports whether the cluster refused a call with just this message: for
// a table or namespace that is missing, or there already, the gateway gives its
// name and no more.
func says(err error, message string) bool {
	var io *thrift2.IOError
	var known *extentError
	if !errors.As(err, &io) || errors.As(err, &known) && !known.undone {
		return false
	}
	said, _, batch := alike(io.Message)
	if io.CanRetry && !batch { // of batches that is always said
		return false
	}
	// Some messages have the name of the exception in front after all.
	said, _, _ = strings.Cut(said, "\n")
	return said == message || strings.HasSuffix(said, "Exception: "+message)
}

// missing names the error of a call on a table that there is not, or that is
// out of service: nothing was done.
func missing(err error, path string) error {
	switch {
	case says(err, path):
		return cellstore.ErrTableNotFound
	case says(err, path+" is disabled."):
		return &extentError{err, true}
	}
	return err
}

// refusedError is an answer of the cluster that no try would change.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return "hbase refuses the call: " + e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// shorten cuts the stack of a Java exception off its message.
func shorten(io *thrift2.IOError) error {
	head, _, _ := strings.Cut(io.Message, "\n")
	if len(head) > 500 {
		head = head[:500] + "…"
	}
	return &thrift2.IOError{Message: head, CanRetry: io.CanRetry}
}
