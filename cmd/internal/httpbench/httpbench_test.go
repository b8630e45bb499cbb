package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// The generator drives two servers by turns, and notices answers that are not
// the ones expected.
func TestLoadBare(t *testing.T) {
	answers := []answer{
		{Path: "/tiles/a/1/0/0.mvt", Type: "application/x", Body: bytes.Repeat([]byte("x"), 100_000)},
		{Path: "/ip/1.2.3.4", Gzip: true, Type: "application/json", Encoding: "gzip", Body: []byte("{}")},
		{Path: "/ip/me", Forwarded: "5.6.7.8", Type: "application/json", Body: []byte("{5.6.7.8}")},
	}
	one, two := httptest.NewServer(bare(answers)), httptest.NewServer(bare(answers))
	defer one.Close()
	defer two.Close()
	l := loadCmd{URL: []string{one.URL, two.URL}, PID: []int{os.Getpid(), os.Getpid()}, Rounds: 3, Duration: 5 * time.Millisecond, Connections: 3}
	got, err := l.measure(answers)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range got {
		if len(m.Rates) != 3 || len(m.CPU) != 3 || median(m.Rates) <= 0 {
			t.Errorf("server %d: %+v", i, m)
		}
	}
	for name, wrong := range map[string]answer{
		"bytes, want":  {Path: "/ip/1.2.3.4", Body: []byte("longer than that")},
		"answered":     {Path: "/ip/none"},
		"bytes, want ": {Path: "/tiles/a/1/0/0.mvt"},
	} {
		if _, err := l.measure([]answer{wrong}); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%+v: %v, want an error with %q", wrong, err, name)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		v    []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(tt.v); got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.v, got, tt.want)
		}
	}
}
