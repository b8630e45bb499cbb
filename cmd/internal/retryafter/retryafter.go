// Package retryafter reads how long a server asks its clients to wait.
package retryafter

import (
	"net/http"
	"strconv"
	"time"
)

// Parse returns the waiting time of the header Retry-After, or 0 if there is none. If the header is an
// instant, the time counts from the header Date, because the clocks of two machines differ.
func Parse(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(at.Sub(now), 0)
}
