package web

import (
	"net/http"
	"testing"
)

// TestPreferred tests the Accept headers of browsers and libraries for pictures, pages and data.
func TestPreferred(t *testing.T) {
	const vector, geojson, png = "application/vnd.mapbox-vector-tile", "application/geo+json", "image/png"
	for _, tt := range []struct{ accept, want string }{
		{"", vector},
		{"*/*", vector},
		{"nothing;;,/*,;q=1", vector},
		{"image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", png},
		{"image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5", png},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", vector},
		{"IMAGE/*", png},
		{"application/*;q=0.5, application/geo+json;q=0.6", geojson},
		{"application/geo+json;q=0, application/*", vector},
		{vector + ";q=0, " + geojson + ";q=0, */*", png},
		{"*/*, " + vector + ";q=0.1", geojson},
		{vector + ";q=0.1, " + vector + ";q=0.9, */*;q=0.5", vector},
	} {
		r := &http.Request{Header: http.Header{"Accept": {tt.accept}}}
		if got := PreferredType(r, vector, geojson, png); got != tt.want {
			t.Errorf("Accept %q: %s, want %s", tt.accept, got, tt.want)
		}
	}
}
