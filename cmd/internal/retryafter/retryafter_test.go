package retryafter

import (
	"net/http"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	const date = "Wed, 21 Oct 2015 07:28:00 GMT"
	for _, tt := range []struct {
		text, date string
		want       time.Duration
	}{
		{"", "", 0},
		{"5", "", 5 * time.Second},
		{"-1", "", 0},
		{"x", "", 0},
		{"99999999999999999999", "", 0},
		{date, "", 0},
		{"Wed, 21 Oct 2015 07:29:00 GMT", date, time.Minute},
		{"Wed, 21 Oct 2015 07:27:00 GMT", date, 0},
	} {
		if got := Parse(http.Header{"Retry-After": {tt.text}, "Date": {tt.date}}); got != tt.want {
			t.Errorf("%q at %q: %v, want %v", tt.text, tt.date, got, tt.want)
		}
	}
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := Parse(http.Header{"Retry-After": {at}}); got < 59*time.Minute || got > time.Hour {
		t.Errorf("%s: %v", at, got)
	}
}
