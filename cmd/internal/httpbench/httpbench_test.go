package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The generator drives the bare server, and notices answers that are not the
// ones expected.
func TestLoadBare(t *testing.T) {
	answers := []answer{
		{Path: "/tiles/a/1/0/0.mvt", Type: "application/x", Body: bytes.Repeat([]byte("x"), 100_000)},
		{Path: "/ip/1.2.3.4", Gzip: true, Type: "application/json", Encoding: "gzip", Body: []byte("{}")},
	}
	s := httptest.NewServer(bare(answers))
	defer s.Close()
	l := loadCmd{URL: s.URL, Duration: 20 * time.Millisecond, Connections: 3}
	rate, total, err := l.measure(answers)
	if err != nil || rate <= 0 || total <= 0 {
		t.Fatalf("%v requests/s, %v", rate, err)
	}
	for name, wrong := range map[string]answer{
		"bytes, want":  {Path: "/ip/1.2.3.4", Body: []byte("longer than that")},
		"answered":     {Path: "/ip/none"},
		"bytes, want ": {Path: "/tiles/a/1/0/0.mvt"},
	} {
		if _, _, err := l.measure([]answer{wrong}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want an error with %q", wrong, err, name)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(tt.v); got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.v, got, tt.want)
		}
	}
}
