package main

import (
	"log/slog"
	"strings"
	"testing"
)

// TestFilesFit tests that connections and live collections are limited, so that enough open files
// are left for the stores. A limit of open files that is too low even then is refused.
func TestFilesFit(t *testing.T) {
	const none = -1
	for _, tt := range []struct {
		limit, open, there               int64 // there: live collections, or none without --live
		connections, collections         int   // as asked
		wantConnections, wantCollections int   // 0: refused
	}{
		{1024, 100, none, 8192, 1000, 668, 1000},
		{1024, 100, none, 600, 1000, 600, 1000},
		{1 << 20, 100, none, 8192, 1000, 8192, 1000},
		{1 << 20, 100, none, 0, 1000, 1<<20 - 356, 1000},
		{388, 100, none, 8192, 1000, 32, 1000},
		{200, 60, none, 8192, 1000, 0, 0},
		{387, 100, none, 8192, 1000, 0, 0},

		{1 << 20, 100, 0, 8192, 1000, 8192, 1000},
		{1 << 20, 100, 5000, 8192, 1000, 8192, 1000}, // they are served
		{1 << 20, 100, 0, 0, 0, 524130, 52409},
		{1024, 120, 10, 8192, 1000, 348, 40},
		{1024, 120, 10, 100, 1000, 100, 64}, // connections need no half
		{1024, 120, 10, 100, 0, 100, 64},
		{1024, 120, 10, 8192, 12, 628, 12},
		{400, 100, 0, 8192, 1000, 34, 1},
		{398, 100, 0, 8192, 1000, 32, 1},
		{397, 100, 0, 8192, 1000, 0, 0},
	} {
		c := &config{MaxConnections: tt.connections, MaxCollections: tt.collections}
		err := c.fitWithin(tt.limit, tt.open, max(tt.there, 0), tt.there != none, slog.New(slog.DiscardHandler))
		if tt.wantCollections == 0 {
			if err == nil || !strings.Contains(err.Error(), "needs") {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if err != nil || c.MaxConnections != tt.wantConnections || c.MaxCollections != tt.wantCollections {
			t.Errorf("%+v: %d connections, %d collections, %v", tt, c.MaxConnections, c.MaxCollections, err)
		}
	}
}

// If the limit is too low for all live collections, the error gives the number of files they need.
func TestFilesForLive(t *testing.T) {
	for _, tt := range []struct {
		limit, open, collections int64
		want                     string
	}{
		{
			200,
			20,
			20,
			"needs 508 at least, 10 of them for each of 20 live collections",
		}, {507, 20, 20, "needs 508"}, {508, 20, 20, ""}, {1024, 20, 71, ""}, {1024, 20, 72, "needs 1028"},
	} {
		err := checkFiles(tt.limit, tt.open, tt.collections)
		if tt.want == "" && err != nil ||
			tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "ulimit -n")) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
