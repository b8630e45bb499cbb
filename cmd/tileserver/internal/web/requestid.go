package web

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"github.com/labstack/echo/v4"
)

// requestIDHeader names a request, in what a trusted proxy sends and in the
// answer.
const requestIDHeader = "X-Request-Id"

const maxRequestID = 64

// requestIDs makes names for requests: they differ within a process, and nearly
// certainly among processes.
type requestIDs struct {
	process string
	last    atomic.Uint64
}

func newRequestIDs() *requestIDs {
	return &requestIDs{process: strconv.FormatUint(rand.Uint64()|1<<63, 36) + "-"}
}

// requestID is the name of a request: the one a trusted proxy gave it, else a new
// one. It is made when it is first asked for, for a log or an error, and is then
// in the header of the answer; most answers need none and do not pay for it.
func (s *Kit) requestID(c echo.Context) string {
	h := c.Response().Header()
	if v := h[requestIDHeader]; len(v) == 1 {
		return v[0]
	}
	r := c.Request()
	var id string
	if v := r.Header[requestIDHeader]; len(v) == 1 && validRequestID(v[0]) && s.trusts(peerAddr(r)) {
		id = v[0]
	} else {
		id = s.ids.process + strconv.FormatUint(s.ids.last.Add(1), 36)
	}
	h[requestIDHeader] = []string{id}
	return id
}

// validRequestID accepts what can stand in a log and a header without further
// thought.
func validRequestID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}
