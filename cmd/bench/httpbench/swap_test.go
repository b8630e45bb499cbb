package main

import (
	"net/http/httptest"
	"testing"
	"time"
)

// TestTimed tests that the time of every request is measured, and that failed requests are counted.
func TestTimed(t *testing.T) {
	good := answer{Path: "/ip/me", Forwarded: "5.6.7.8", Type: "application/json", Body: []byte("{5.6.7.8}")}
	server := httptest.NewServer(bare([]answer{good}))
	defer server.Close()
	for _, tt := range []struct {
		ask    answer
		failed int
	}{{good, 0}, {answer{Path: "/ip/none"}, 2}, {answer{Path: "/ip/me", Forwarded: "5.6.7.8", Body: []byte("other")}, 2}} {
		c, err := newClient(server.URL, []answer{tt.ask}, 2)
		if err != nil {
			t.Fatal(err)
		}
		took, failed := c.timed(time.Now().Add(20 * time.Millisecond))
		c.close()
		if failed != tt.failed || (len(took) > 0) != (tt.failed == 0) {
			t.Errorf("%s: %d failed of %d", tt.ask.Path, failed, len(took))
		}
	}
}

func TestSummarize(t *testing.T) {
	var all []time.Duration
	for i := 200; i > 0; i-- {
		all = append(all, time.Duration(i)*time.Microsecond)
	}
	if got, want := summarize(all, 3), (latencies{Requests: 200, Failed: 3, P50: 100, P99: 198, Max: 200}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := summarize(nil, 1); got != (latencies{Failed: 1}) {
		t.Errorf("of none: %+v", got)
	}
}
