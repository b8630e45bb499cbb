// Package quota decides which clients may send requests and how often: it has keys of clients,
// limits of requests per minute, hour and day, and the counts of requests.
//
// A limit counts in windows of the clock: minutes, hours and days of UTC. They begin at the same
// time for all clients and on every server, and need one number per client. A sliding window would
// need many numbers. If the clock is set back, a steady clock ends the window in time.
//
// Counts are kept in memory, so that a request never waits for a disk. If there is a cell store,
// they are later written to one of its tables, as counters with a time to live. A restarted server
// reads the counts of the running windows.
package quota

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Window is a kind of time span in which requests are counted.
type Window uint8

// These are the kinds of windows.
const (
	Minute Window = iota
	Hour
	Day
	windows
)

var windowSeconds = [windows]int64{60, 3600, 86400}

// Duration returns the length of the window.
func (w Window) Duration() time.Duration { return time.Duration(windowSeconds[w]) * time.Second }

// of returns the number of the window that contains a time in Unix seconds. All times before 1970
// are in the first window.
func (w Window) of(now int64) uint32 { return uint32(max(now, 0) / windowSeconds[w]) }

// start returns when a window of this number begins.
func (w Window) start(number uint32) time.Time {
	return time.Unix(int64(number)*windowSeconds[w], 0).UTC()
}

// Limit is the number of requests that may be made in a window.
type Limit struct {
	Requests int64
	Window   Window
}

// String returns the limit as ParseLimit reads it, such as 600/1m.
func (l Limit) String() string {
	return strconv.FormatInt(l.Requests, 10) + "/" + [windows]string{"1m", "1h", "1d"}[l.Window]
}

// Limits has at most one limit for each kind of window; 0 means none.
type Limits [windows]int64

var errLimit = errors.New("is not a limit: write REQUESTS/WINDOW with a window of 1m, 1h or 1d, such as 600/1m")

// ParseLimit reads a limit such as 600/1m.
func ParseLimit(s string) (Limit, error) {
	number, window, _ := strings.Cut(strings.TrimSpace(s), "/")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > 1e15 {
		return Limit{}, fmt.Errorf("%.40q %w", s, errLimit)
	}
	l := Limit{Requests: n}
	switch window {
	case "1m", "60s", "m":
		l.Window = Minute
	case "1h", "60m", "h":
		l.Window = Hour
	case "1d", "24h", "d":
		l.Window = Day
	default:
		return Limit{}, fmt.Errorf("%.40q %w", s, errLimit)
	}
	return l, nil
}

// Add adds a limit. A window can have only one limit.
func (l *Limits) Add(one Limit) error {
	if l[one.Window] != 0 {
		return fmt.Errorf("%s is a second limit of one window: keep one of them", one)
	}
	l[one.Window] = one.Requests
	return nil
}

// None reports whether there is no limit at all.
func (l *Limits) None() bool { return *l == Limits{} }

// Verdict is the decision about a request. The zero value lets it pass without a limit.
type Verdict struct {
	Refused bool
	// Limit is the limit that refused the request. If the request passed, it is the
	// limit with the least left. Requests is 0 if there is no limit.
	Limit     Limit
	Remaining int64
	Reset     time.Duration // until the window ends, whole seconds, at least 1
}

// ClientAddr is the address under which requests are counted: an IPv4 address, or the /64 of an
// IPv6 address, which is the smallest range that a single subscriber gets.
type ClientAddr struct{ addr netip.Addr }

// ClientAddrOf returns the client of an address. The zero Addr is a client too: it represents all
// unknown addresses.
func ClientAddrOf(a netip.Addr) ClientAddr {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		b := a.As16()
		clear(b[8:])
		a = netip.AddrFrom16(b)
	}
	return ClientAddr{a}
}

func (c ClientAddr) String() string {
	switch {
	case !c.addr.IsValid():
		return "unknown"
	case c.addr.Is6():
		return c.addr.String() + "/64"
	}
	return c.addr.String()
}

// keyBytes is the entropy of a key in bytes. It is far more than an attacker can try.
const keyBytes = 20

// NewKey makes a key at random, of letters, digits, - and _ only.
func NewKey() string {
	var b [keyBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "qd_" + base64.RawURLEncoding.EncodeToString(b[:])
}
