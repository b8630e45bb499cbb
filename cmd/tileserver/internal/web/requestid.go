package web

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"
)

// requestIDHeader is the header with the id of a request, in requests of a trusted proxy and in
// answers.
const requestIDHeader = "X-Request-Id"

const maxRequestID = 64

// requestIDs makes ids of requests. They are unique within a process, and almost certainly among
// processes.
type requestIDs struct {
	process string
	last    atomic.Uint64
}

func newRequestIDs() *requestIDs {
	return &requestIDs{process: strconv.FormatUint(rand.Uint64()|1<<63, 36) + "-"}
}

// validRequestID reports whether an id needs no escaping in a log or a header.
func validRequestID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}
