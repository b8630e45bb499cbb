package webhook

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"quadrille/places/points"
)

// rotated is a request of a hook that was replaced, and the secrets of before and after.
type rotated struct {
	header     http.Header
	body       string
	was, isNow string
}

// rotate replaces a hook and returns its next request.
func rotate(t *testing.T, overlap *points.Duration) rotated {
	t.Helper()
	asked := make(chan rotated, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		asked <- rotated{header: q.Header, body: string(body)}
	}))
	t.Cleanup(receiver.Close)
	live, l := newCollection(t, 0)
	s := start(t, Config{Live: live, Private: true})
	first := put(t, s, l, "h", Definition{URL: receiver.URL})
	second := put(t, s, l, "h", Definition{URL: receiver.URL, Overlap: overlap})
	if shown, err := s.Get(l, "h"); err != nil || (shown.EarlierUntil != nil) != (overlap == nil) || shown.Overlap != nil {
		t.Errorf("%+v, %v", shown, err)
	}
	move(t, l, "a", 1, 2)
	r := <-asked
	r.was, r.isNow = first.Secret, second.Secret
	return r
}

func (r *rotated) signedWith(t *testing.T, secret string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	return sign(key, r.header.Get("webhook-id"), r.header.Get("webhook-timestamp"), []byte(r.body))
}

// A secret that is replaced signs beside the new one, until its time is over or at once not
// any more.
func TestSecretIsRotated(t *testing.T) {
	r := rotate(t, nil)
	if got, want := r.header.Get("webhook-signature"), r.signedWith(t, r.isNow)+" "+r.signedWith(t, r.was); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r = rotate(t, new(points.Duration))
	if got, want := r.header.Get("webhook-signature"), r.signedWith(t, r.isNow); got != want {
		t.Errorf("without an overlap: %s, want %s", got, want)
	}
	_, l := newCollection(t, 0)
	h := &hook{live: l}
	now := l.Now()
	for i := range 7 {
		before := h.stored
		h.stored.rotate(&before, now.Add(-time.Duration(i)*time.Second), points.Duration(4*time.Second))
	}
	if got := len(strings.Fields(h.signatures("id", "1", nil))); len(h.stored.Earlier) != maxEarlier || got != 2 {
		t.Errorf("%d earlier secrets, %d signatures", len(h.stored.Earlier), got)
	}
}

// The example that Svix publishes for the scheme.
func TestSignVector(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("plJ3nmyCDGBKInavdOK15jsl")
	if err != nil {
		t.Fatal(err)
	}
	if got := sign(secret, "msg_loFOjxBNrRLzqYUf", "1731705121", []byte(`{"event_type":"ping","data":{"success":true}}`)); got != "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=" {
		t.Error(got)
	}
}

// The library standardwebhooks of PyPI verifies requests with either secret, and not with
// another one. `make check-clients` installs it and runs this.
func TestStandardWebhooks(t *testing.T) {
	modules := os.Getenv("QUADRILLE_GEOPY")
	if modules == "" {
		t.Skip("QUADRILLE_GEOPY names no directory with Python's modules: run make check-clients")
	}
	const script = `
import sys
try:
    from standardwebhooks.webhooks import Webhook, WebhookVerificationError
except ImportError:
    sys.exit(77)
headers = {"webhook-id": sys.argv[1], "webhook-timestamp": sys.argv[2], "webhook-signature": sys.argv[3]}
for secret in sys.argv[5:7]:
    Webhook(secret).verify(sys.argv[4], headers)
try:
    Webhook("whsec_MfKQ9r8GKYqwTwjUPD8ILPZIo2LaLw==").verify(sys.argv[4], headers)
except WebhookVerificationError:
    sys.exit(0)
sys.exit("a request is verified with another secret")
`
	r := rotate(t, nil)
	cmd := exec.CommandContext(t.Context(), "python3", "-c", script,
		r.header.Get("webhook-id"), r.header.Get("webhook-timestamp"), r.header.Get("webhook-signature"), r.body, r.was, r.isNow)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+modules)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 77 {
		t.Skip("standardwebhooks is not installed: run make check-clients")
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
