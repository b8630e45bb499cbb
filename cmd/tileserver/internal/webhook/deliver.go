package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"quadrille/ask/fence"
	"quadrille/cellstore"
	"quadrille/cmd/internal/retryafter"
	"quadrille/cmd/tileserver/internal/follow"
	"quadrille/internal/jsontext"
	"quadrille/places/live"
)

const (
	maxEvents = 100 // of one request
	// gatherTime bounds how long an event waits for other events in the same request.
	gatherTime = time.Second
	// saveInterval is the time between two saves while there is nothing to deliver.
	saveInterval = time.Second
	// maxRetryAfter bounds Retry-After of a receiver.
	maxRetryAfter = time.Hour
)

// batch has the events of one request.
type batch struct {
	events []fence.Event
	upTo   fence.ID // the hook's position once the events are delivered
}

// run sends events until the hook is stopped.
func (h *hook) run() {
	defer close(h.ended)
	defer h.cut()
	defer h.end()
	for !h.stored.Disabled {
		var gone *live.EventsGoneError
		b, err := h.gather()
		switch {
		case len(b.events) > 0: // an error behind these events will come again
			if !h.deliver(&b) {
				h.settle()
				return
			}
		case h.ctx.Err() != nil, errors.Is(err, live.ErrClosed):
			h.settle()
			return
		case errors.As(err, &gone):
			h.lose(fence.ID{Seq: gone.Next}.String())
		default: // boundaries or the store cannot be read, or events go as they are read
			if !h.failed(err, 0) {
				h.settle()
				return
			}
		}
	}
}

// gather waits for events and returns those that have arrived, at most maxEvents.
func (h *hook) gather() (b batch, err error) {
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	from := follow.NewReader(&h.fences, h.live, h.stored.position(), h.s.Views, h.s.CPUScheduler)
	for {
		select {
		case <-from.Changed():
		case <-h.live.Done():
			return b, live.ErrClosed
		case <-ctx.Done():
			return b, ctx.Err()
		}
		before, passed := len(b.events), from.Last
		b.events, err = from.Append(ctx, b.events)
		if b.upTo = from.Last; len(b.events) > maxEvents {
			b.events = b.events[:maxEvents]
			b.upTo = b.events[maxEvents-1].ID
		}
		if err != nil {
			return b, err
		}
		last, err := h.live.LastEvent(ctx)
		switch {
		case err != nil:
			return b, err
		case len(b.events) == maxEvents, len(b.events) > 0 && from.Last.Seq >= last:
			return b, nil
		case len(b.events) > 0 && before == 0:
			// The last event may have expired, and then never arrives.
			time.AfterFunc(gatherTime, cancel)
		case len(b.events) == 0 && from.Last != passed:
			if err := h.pass(from.Last); err != nil {
				return b, err
			}
		}
	}
}

// pass moves the position past events that cross no fence. It saves the position at intervals.
func (h *hook) pass(to fence.ID) error {
	h.mu.Lock()
	h.stored.Position = to.String()
	h.failures, h.err, h.next = 0, "", time.Time{}
	h.mu.Unlock()
	h.dirty = true
	if time.Since(h.saved) < saveInterval {
		return nil
	}
	return h.save(cellstore.Async)
}

// settle saves the position of an ending hook.
func (h *hook) settle() {
	if !h.dirty {
		return
	}
	if err := h.save(cellstore.Sync); err != nil && !errors.Is(err, live.ErrClosed) {
		h.log().Error("the position of a hook cannot be saved; it will repeat some events", "error", err)
	}
}

// forgets reports whether the collection may have removed an event.
func (h *hook) forgets(seq uint64) bool {
	oldest := h.live.Now().Add(-time.Duration(h.live.Meta().EventRetention))
	return seq < uint64(max(oldest.UnixMilli(), 0))*1000
}

// lose moves the position past events that are no longer stored: to the event next, or, if next is
// "", to just before the oldest stored event. It reports a loss only once until something is
// delivered.
func (h *hook) lose(next string) {
	if h.stored.Position == next && h.stored.Lost != nil {
		return
	}
	h.s.counts[lost].Add(1)
	h.mu.Lock()
	h.stored.Lost = &Loss{After: h.stored.Position, At: h.live.Now().UTC().Truncate(time.Second), Error: h.err}
	h.stored.Position = next
	h.mu.Unlock()
	h.log().Error("events are not kept any more and have not been delivered; the hook goes on with the oldest that is kept",
		"after", h.stored.Lost.After, "error", h.err)
	h.dirty = true
	h.settle()
}

// deliver sends events until the receiver accepts them. It reports whether the hook continues.
func (h *hook) deliver(b *batch) bool {
	body := h.body(b.events)
	id := h.messageID(body)
	for h.ctx.Err() == nil {
		if h.forgets(b.events[0].Seq) {
			h.lose("")
			return true
		}
		outcome, wait, err := h.post(id, body)
		if h.hard.Err() != nil && outcome != delivered {
			return false // it has been cut off
		}
		h.s.counts[outcome].Add(1)
		switch outcome {
		case delivered:
			if h.failures > 0 {
				h.log().Info("a hook delivers again", "failures", h.failures)
			}
			h.mu.Lock()
			h.stored.Position, h.stored.Delivered = b.upTo.String(), b.events[len(b.events)-1].ID.String()
			h.failures, h.err, h.next = 0, "", time.Time{}
			h.mu.Unlock()
			h.dirty = true
			// If the position is not saved, events are only sent again.
			_ = h.save(cellstore.Async)
			return true
		case gone:
			h.mu.Lock()
			h.stored.Disabled, h.err, h.next = true, err.Error(), time.Time{}
			h.failures++
			h.mu.Unlock()
			h.dirty = true
			h.log().Warn("the receiver of a hook has gone, so the hook is disabled; PUT it again to enable it")
			return false
		}
		if !h.failed(err, wait) {
			return false
		}
	}
	return false
}

// failed records a failure and waits for the next attempt, for at least the given time. It reports
// whether there will be one.
func (h *hook) failed(err error, atLeast time.Duration) bool {
	wait := h.s.LastRetry
	if n := h.failures; n < 30 {
		wait = min(h.s.FirstRetry<<n, h.s.LastRetry)
	}
	wait = max(wait/2+rand.N(wait/2+1), atLeast)
	h.mu.Lock()
	h.failures++
	h.err, h.next = shorten(err.Error()), time.Now().Add(wait)
	h.mu.Unlock()
	if h.failures == 1 {
		h.log().Warn("a hook fails and is tried again", "error", h.err)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.ctx.Done():
		return false
	}
}

// shorten truncates an error to the length in State.
func shorten(text string) string { return text[:min(len(text), 200)] }

// body returns the JSON of a request.
func (h *hook) body(events []fence.Event) []byte {
	b := jsontext.AppendString([]byte(`{"collection":`), h.live.Meta().Name)
	b = jsontext.AppendString(append(b, `,"hook":`...), h.name)
	b = append(b, `,"events":[`...)
	for i := range events {
		e := &events[i]
		b = append(e.ID.Append(append(jsontext.Next(b), `{"id":"`...)), `","type":"`...)
		b = jsontext.AppendString(append(append(b, e.Type...), `","point":`...), e.Event.ID)
		b = append(follow.AppendMembers(b, e), '}')
	}
	return append(b, "]}"...)
}

// messageID returns the id of a message. It is the same for the same events, even after a restart,
// so that receivers can drop duplicates.
func (h *hook) messageID(body []byte) string {
	sum := sha256.Sum256(body)
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// sign signs a message by the rules of Standard Webhooks.
func sign(secret []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signatures returns the signatures with all valid secrets, the newest first.
func (h *hook) signatures(id, timestamp string, body []byte) string {
	all := sign(h.stored.Secret, id, timestamp, body)
	for _, e := range h.stored.Earlier {
		if h.live.Now().Before(e.Until) {
			all += " " + sign(e.Secret, id, timestamp, body)
		}
	}
	return all
}

// These are reasons why a receiver cannot be reached, for clients that may write the collection.
// They do not reveal answers of the network.
var (
	errNoHost    = errors.New("the host of the url has no address")
	errTooLate   = errors.New("the receiver did not answer in time")
	errRefused   = errors.New("the host refuses the connection")
	errUntrusted = errors.New("the certificate of the receiver is not trusted")
	errNoHTTP    = errors.New("the connection failed, or what came was no HTTP answer")
)

// told replaces an error of the network by one of these reasons.
func told(err error) error {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.Is(err, errForbidden):
		return errForbidden
	case errors.As(err, &name):
		return errNoHost
	case errors.As(err, &certificate):
		return errUntrusted
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.Canceled):
		return errTooLate
	case errors.Is(err, syscall.ECONNREFUSED):
		return errRefused
	}
	return errNoHTTP
}

// post sends a request once. wait is the receiver's Retry-After.
func (h *hook) post(id string, body []byte) (outcome int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(h.hard, requestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.stored.URL, bytes.NewReader(body))
	if err != nil {
		return unreachable, 0, err
	}
	now := strconv.FormatInt(h.live.Now().Unix(), 10)
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"Quadrille"}, "Webhook-Id": {id}, "Webhook-Timestamp": {now},
		"Webhook-Signature": {h.signatures(id, now, body)},
	}
	res, err := h.s.client.Do(r)
	if err != nil {
		outcome = unreachable
		if errors.Is(err, errForbidden) {
			outcome = forbidden
		}
		return outcome, 0, told(err)
	}
	defer res.Body.Close()
	// A connection can be reused only if the answer is read to its end.
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return delivered, 0, nil
	case res.StatusCode == http.StatusGone:
		outcome = gone
	default:
		outcome = rejected
	}
	return outcome, askedPause(res.Header), fmt.Errorf("the receiver answered with the status %d", res.StatusCode)
}

// askedPause returns the receiver's Retry-After, maxRetryAfter at most.
func askedPause(h http.Header) time.Duration { return min(retryafter.Parse(h), maxRetryAfter) }
