package main

import (
	"log/slog"
	"strings"
	"testing"
)

// Connections leave files for the stores, and a limit that leaves nothing is refused.
func TestConnectionsFitFiles(t *testing.T) {
	for _, tt := range []struct {
		limit, open int64
		asked, want int
	}{
		{1024, 100, 8192, 668}, {1024, 100, 600, 600}, {1 << 20, 100, 8192, 8192}, {1 << 20, 100, 0, 1<<20 - 356}, {388, 100, 8192, 32},
		{200, 60, 8192, -1}, {387, 100, 8192, -1},
	} {
		c := &config{MaxConnections: tt.asked}
		err := c.fitWithin(tt.limit, tt.open, slog.New(slog.DiscardHandler))
		if tt.want < 0 {
			if err == nil || !strings.Contains(err.Error(), "needs") {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if err != nil || c.MaxConnections != tt.want {
			t.Errorf("%+v: %d, %v", tt, c.MaxConnections, err)
		}
	}
}
