package ogcapi

import (
	"net/http/httptest"
	"testing"
)

// A client without a preference gets the first format. Other clients get the format that they
// prefer, if it is supported.
func TestAccepted(t *testing.T) {
	formats := []Format{{Name: "json", Type: TypeOpenAPI}, {Name: "html", Type: TypeHTML}}
	for accept, want := range map[string]string{
		"": "json", "*/*": "json", "text/html": "html", "text/html;q=0.5, application/vnd.oai.openapi+json": "json",
		"text/html, */*;q=0.8": "html", "image/png": "json",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		if got := AcceptedFormat(r, formats).Name; got != want {
			t.Errorf("Accept %q: %s, want %s", accept, got, want)
		}
	}
	if got := CollectionURL("https://example.org/q", "points a/b"); got != "https://example.org/q/ogc/collections/points%20a%2Fb" {
		t.Errorf("a collection is at %s", got)
	}
}
