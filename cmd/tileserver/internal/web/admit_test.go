package web

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestCutParameter(t *testing.T) {
	for query, want := range map[string][2]string{
		"": {"", ""}, "key=a": {"a", ""}, "lat=1&key=a%2Bb&lon=2": {"a+b", "lat=1&lon=2"}, "key=a&key=b&x": {"a", "x"},
		"monkey=1": {"", "monkey=1"}, "key=%zz&a=1": {"", "a=1"}, "key=": {"", ""}, "&key=a&": {"a", "&"}, "a=key=b": {"", "a=key=b"},
	} {
		u := &url.URL{RawQuery: query}
		if got := cutParameter(u, "key"); got != want[0] || strings.Trim(u.RawQuery, "&") != strings.Trim(want[1], "&") {
			t.Errorf("%q: %q and %q are left, want %q", query, got, u.RawQuery, want)
		}
	}
}

func TestPrivately(t *testing.T) {
	for in, want := range map[string]string{
		"public, max-age=300": "private, max-age=300", "no-store": "private, no-store", "Public,s-maxage=9 , immutable": "private, immutable", "": "private",
	} {
		if got := privately(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestSampling(t *testing.T) {
	s := sampling{every: 1000, slow: time.Second}
	for _, c := range []struct {
		status int
		took   time.Duration
		ok     bool
	}{{200, 0, true}, {200, 0, false}, {404, 0, false}, {500, 0, true}, {503, 0, true}, {200, time.Second, true}, {200, time.Second - 1, false}} {
		if _, ok := s.pick(c.status, c.took); ok != c.ok {
			t.Errorf("%d after %v: logged %v", c.status, c.took, ok)
		}
	}
}
