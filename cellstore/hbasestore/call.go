package hbasestore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// callKind decides whether a call may be sent again if its outcome is unknown. Each kind allows
// less repetition than the one before.
type callKind uint8

const (
	readCall       callKind = iota // it changes nothing
	idempotentCall                 // it writes the same thing again
	oneShotCall                    // it may be repeated only if it was certainly not applied
)

// call sends a call, and repeats it if that may help, until it is answered or its time is over.
func (s *Store) call(ctx context.Context, kind callKind, f func(context.Context, *thrift2.Conn) error) error {
	return s.callWithin(ctx, s.opts.Timeout, s.opts.TryTimeout, kind, f)
}

func (s *Store) callWithin(ctx context.Context, total, each time.Duration, kind callKind,
	f func(context.Context, *thrift2.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, total)
		defer cancel()
	}
	var last *gateway
	// The pauses are random, so that many clients do not return at the same time.
	pauses := backoff.ExponentialBackOff{
		InitialInterval:     20 * time.Millisecond,
		MaxInterval:         500 * time.Millisecond,
		Multiplier:          2,
		RandomizationFactor: 0.5,
	}
	maybeApplied := false // a failed try may have been applied
	for try := 1; ; try++ {
		g, err := s.try(ctx, each, last, f)
		if err == nil {
			return nil
		}
		last = g
		v := diagnose(err)
		maybeApplied = maybeApplied || kind != readCall && !v.notApplied
		retryable := v.retryable && (v.notApplied || kind != oneShotCall)
		if !retryable || try >= s.opts.Tries || !pause(ctx, pauses.NextBackOff()) {
			return s.final(ctx, v, kind, maybeApplied, try)
		}
	}
}

// final returns the error of a call that failed for good. A caller whose own time
// is over gets the error of its context, too.
func (s *Store) final(ctx context.Context, v diagnosis, kind callKind, maybeApplied bool, tries int) error {
	err := v.err
	if v.sentinel != nil && (kind != oneShotCall || !maybeApplied || !errors.Is(v.sentinel, ErrUnavailable)) {
		err = fmt.Errorf("%w: %w", v.sentinel, err)
	}
	if maybeApplied {
		err = fmt.Errorf("%w: %w", cellstore.ErrUnknownOutcome, err)
	}
	if !v.retryable && !errors.Is(v.sentinel, ErrUnavailable) && !maybeApplied {
		return err // the cluster refused the call: tries and time do not matter
	}
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if tries > 1 {
		err = fmt.Errorf("%w (tried %d times)", err, tries)
	}
	return err
}

func (s *Store) try(ctx context.Context, each time.Duration, avoid *gateway,
	f func(context.Context, *thrift2.Conn) error) (*gateway, error) {
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

// pause waits before another attempt. It returns false if the time of the call is over.
func pause(ctx context.Context, d time.Duration) bool {
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

// diagnosis is the meaning of a failed attempt.
type diagnosis struct {
	err        error
	sentinel   error // for callers to branch on, or nil
	retryable  bool  // another try may end otherwise
	notApplied bool  // it is certain that nothing was done
}

// diagnose returns the meaning of a failure. A call with an unknown error may have been applied.
func diagnose(err error) diagnosis {
	var te *thrift2.TransportError
	var pe *thrift2.ProtocolError
	var io *thrift2.IOError
	var known *extentError
	switch {
	case errors.As(err, &te):
		return diagnosis{err: err, sentinel: ErrUnavailable, retryable: !errors.Is(err, context.Canceled), notApplied: !te.Sent}
	case errors.As(err, &pe) && pe.Unread:
		return diagnosis{
			err:        fmt.Errorf("is this a Thrift2 gateway? if it is, its log has the reason: %w", err),
			sentinel:   ErrUnavailable,
			notApplied: true,
		}
	case errors.As(err, &pe):
		return diagnosis{err: fmt.Errorf("see the gateway's log: %w", err), sentinel: ErrUnavailable}
	case errors.As(err, &io):
		v := answered(io)
		if errors.As(err, &known) {
			v.notApplied = known.notApplied
		}
		return v
	case errors.Is(err, context.DeadlineExceeded): // no connection came free in time
		return diagnosis{err: err, sentinel: ErrUnavailable, retryable: true, notApplied: true}
	}
	return diagnosis{err: err, notApplied: true} // cancelled, closed, or no such table
}

// ErrUnavailable: the cluster or its gateways did not answer in time. A later call may succeed. It
// is a cellstore.ErrUnavailable.
var ErrUnavailable = fmt.Errorf("hbase: %w", cellstore.ErrUnavailable)

// answers maps the gateway's errors to their meaning. An error is recognised by its beginning: the
// name of a Java exception, without its package.
//
// Only few errors certainly come before anything is applied. HBase's refusal of a repetition
// (DoNotRetryIOException, CanRetry) proves nothing: the call may have been applied before, as with
// OperationConflictException, or have failed in a coprocessor afterwards. NotServingRegionException
// and RegionTooBusyException prove nothing either, because the gateway repeats such calls by
// itself: when it gives up, one of its tries may have been applied and its answer lost.
var answers = []struct {
	text       string
	sentinel   error
	notApplied bool
}{
	// HBase looks up families before it locks the row.
	{"NoSuchColumnFamilyException", cellstore.ErrFamilyNotFound, true},
	// There is no region to which the call can be sent.
	{"TableNotFoundException", cellstore.ErrTableNotFound, true},
	{"TableNotEnabledException", nil, true},
	{"TableExistsException", cellstore.ErrTableExists, true},
	// HBase computes sums before it writes the log.
	{"DoNotRetryIOException: Field is not a long", cellstore.ErrNotCounter, true},
	{"DoNotRetryIOException: Attempted to increment field that isn't 64 bits wide", cellstore.ErrNotCounter, true},
	// HBase checks rights, quotas and times first.
	{"AccessDeniedException", nil, true},
	{"SpaceLimitingException", nil, true},
	{"FailedSanityCheckException", nil, true},
	{"DoNotRetryIOException: region is read only", nil, true},
	{"Thrift Server is in Read-only mode", nil, true},
	// Another attempt would not help, but a coprocessor may return this error after the write.
	{"DoNotRetryIOException", nil, false},
	{"IllegalArgumentException", nil, false},
	{"UnsupportedOperationException", nil, false},
	{"NamespaceExistException", nil, false},
	{"NamespaceNotFoundException", nil, false},
	{"ConstraintException", nil, false},
	{"InvalidFamilyOperationException", nil, false},
}

// scannerErrors end the gateway's own scans when a server is slow or gone. After some of them HBase
// forbids a repetition of the call. That applies to the same scanner only, and a new attempt opens
// another one.
var scannerErrors = []string{"OutOfOrderScannerNextException", "ScannerResetException", "UnknownScannerException", "LeaseException"}

// answered returns the meaning of an error in the gateway's answer.
func answered(io *thrift2.IOError) diagnosis {
	message, _, _ := batchReason(io.Message)
	// The gateway wraps a failed try at a server that has gone in exceptions of its own. Only the
	// first line has the reason.
	head, _, _ := strings.Cut(message, "\n")
	for _, text := range scannerErrors {
		if strings.Contains(head, text) {
			return diagnosis{err: cutStack(io), sentinel: ErrUnavailable, retryable: true}
		}
	}
	head = head[len(javaPackage.FindString(head)):]
	for _, x := range answers {
		switch {
		case !strings.HasPrefix(head, x.text):
		case x.sentinel != nil:
			return diagnosis{err: cutStack(io), sentinel: x.sentinel, notApplied: x.notApplied}
		default:
			return diagnosis{err: &refusedError{cutStack(io)}, notApplied: x.notApplied}
		}
	}
	switch {
	case io.Argument: // the gateway itself could not use the arguments
		return diagnosis{err: &refusedError{cutStack(io)}, notApplied: true}
	case !io.CanRetry:
		return diagnosis{err: &refusedError{cutStack(io)}}
	}
	return diagnosis{err: cutStack(io), sentinel: ErrUnavailable, retryable: true}
}

var (
	javaPackage  = regexp.MustCompile(`^(?:[a-z][\w]*\.)+`)
	batchFailure = regexp.MustCompile(`(?s)^Failed (\d+) actions?: (.*): (\d+) times?, servers with issues: `)
)

// batchReason analyses the gateway's message about a failed batch, which says
// that n rows failed, all for one reason. The gateway sends some operations as a
// batch even for a single row. batchReason returns any other message unchanged.
func batchReason(message string) (reason string, n int, ok bool) {
	m := batchFailure.FindStringSubmatch(message)
	if m == nil || m[1] != m[3] {
		return message, 0, false
	}
	n, err := strconv.Atoi(m[1])
	return m[2], n, err == nil
}

// extentError is a failure with more information than its message: either nothing was applied, or
// something may have been.
type extentError struct {
	error
	notApplied bool
}

func (e *extentError) Unwrap() error { return e.error }

// partialFailure marks the failure of a call of n rows as one that may have been
// applied in part, unless all rows failed for the same reason.
func partialFailure(err error, n int) error {
	var io *thrift2.IOError
	if errors.As(err, &io) {
		if _, failed, ok := batchReason(io.Message); !ok || failed != n {
			return &extentError{err, false}
		}
	}
	return err
}

// refusedWith reports whether the cluster refused a call with exactly this message. If a table or
// namespace is missing, or exists already, the message of the gateway is just its name.
func refusedWith(err error, message string) bool {
	var io *thrift2.IOError
	var known *extentError
	if !errors.As(err, &io) || errors.As(err, &known) && !known.notApplied {
		return false
	}
	reason, _, batch := batchReason(io.Message)
	if io.CanRetry && !batch { // batches always have CanRetry
		return false
	}
	// Some messages begin with the name of the exception.
	reason, _, _ = strings.Cut(reason, "\n")
	return reason == message || strings.HasSuffix(reason, "Exception: "+message)
}

// tableMissing replaces the error of a call on a table that does not exist or is disabled. Such a
// call has applied nothing.
func tableMissing(err error, path string) error {
	switch {
	case refusedWith(err, path):
		return cellstore.ErrTableNotFound
	case refusedWith(err, path+" is disabled."):
		return &extentError{err, true}
	}
	return err
}

// refusedError is an error of the cluster that another attempt would not change.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return "hbase refuses the call: " + e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// cutStack cuts the stack trace of a Java exception off its message.
func cutStack(io *thrift2.IOError) error {
	head, _, _ := strings.Cut(io.Message, "\n")
	if len(head) > 500 {
		head = head[:500] + "…"
	}
	return &thrift2.IOError{Message: head, CanRetry: io.CanRetry}
}
