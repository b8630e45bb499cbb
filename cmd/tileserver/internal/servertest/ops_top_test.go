//go:build !race

package servertest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/servertest"
)

func TestTopHandler(t *testing.T) {
	m, err := quota.Open(context.Background(), quota.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.CountAddress(quota.ClientAddr{}, &quota.Limits{})
	m.CountKey("acme", &quota.Limits{})
	for path, want := range map[string]int{
		"/usage/top":            200,
		"/usage/top?limit=1":    200,
		"/usage/top?limit=0":    400,
		"/usage/top?limit=x":    400,
		"/usage/top?limit=1001": 400,
	} {
		w := httptest.NewRecorder()
		ops.TopHandler(m).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want || want == 200 &&
			(!strings.Contains(w.Body.String(), `"client":"unknown","hour":1`) ||
				!strings.Contains(w.Body.String(), `"keys":[{"client":"acme","hour":1`)) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestTopParameters tests that the operator's list of clients is as strict about its parameters as
// the other endpoints.
func TestTopParameters(t *testing.T) {
	f := servertest.NewAdmin(t)
	for path, want := range map[string]string{
		"/usage/top?limt=1":          "did you mean limit?",
		"/usage/top?limit=1&limit=2": "Give limit once.",
		"/usage/top?limit=":          "Set limit to a whole number from 1 to 1000.",
	} {
		w := httptest.NewRecorder()
		f.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if res := f.Get("/usage/top?limit=1&_=2"); res.StatusCode != http.StatusOK {
		t.Errorf("%d", res.StatusCode)
	}
}
