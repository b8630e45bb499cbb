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

	"quadrille/places/live"
)

// rotated is a request of a replaced hook, with the secrets before and after the replacement.
type rotated struct {
	header     http.Header
	body       string
	was, isNow string
}

// rotate replaces a hook and returns its next request.
func rotate(t *testing.T, overlap *live.Duration) rotated {
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
	s := start(t, Config{Live: live, AllowPrivate: true})
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

// A replaced secret signs together with the new one until its overlap ends. Without an overlap it
// stops immediately.
func TestSecretIsRotated(t *testing.T) {
	r := rotate(t, nil)
	if got, want := r.header.Get("webhook-signature"), r.signedWith(t, r.isNow)+" "+r.signedWith(t, r.was); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r = rotate(t, new(live.Duration))
	if got, want := r.header.Get("webhook-signature"), r.signedWith(t, r.isNow); got != want {
		t.Errorf("without an overlap: %s, want %s", got, want)
	}
	_, l := newCollection(t, 0)
	h := &hook{live: l}
	now := l.Now()
	for i := range 7 {
		before := h.stored
		h.stored.rotate(&before, now.Add(-time.Duration(i)*time.Second), live.Duration(4*time.Second))
	}
	if got := len(strings.Fields(h.signatures("id", "1", nil))); len(h.stored.Earlier) != maxEarlier || got != 2 {
		t.Errorf("%d earlier secrets, %d signatures", len(h.stored.Earlier), got)
	}
}

// TestSignVector tests the example that Svix has published for the scheme.
func TestSignVector(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("plJ3nmyCDGBKInavdOK15jsl")
	if err != nil {
		t.Fatal(err)
	}
	if got := sign(secret, "msg_loFOjxBNrRLzqYUf", "1731705121",
		[]byte(`{"event_type":"ping","data":{"success":true}}`)); got != "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=" {
		t.Error(got)
	}
}

// The libraries standardwebhooks of PyPI and npm verify requests with either secret, and not
// with another one. `make check-clients` installs them and runs this.
func TestStandardWebhooks(t *testing.T) {
	for _, of := range []struct{ name, directory, program, flag, script string }{
		{"PyPI", "QUADRILLE_GEOPY", "python3", "-c", `
import sys
try:
    from standardwebhooks.webhooks import Webhook, WebhookVerificationError
except ImportError:
    sys.exit(77)
id, timestamp, signature, body, was, now = sys.argv[1:]
headers = {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature}
for secret in was, now:
    Webhook(secret).verify(body, headers)
try:
    Webhook("whsec_MfKQ9r8GKYqwTwjUPD8ILPZIo2LaLw==").verify(body, headers)
except WebhookVerificationError:
    sys.exit(0)
sys.exit("a request is verified with another secret")
`},
		{"npm", "QUADRILLE_CLIENTS", "node", "-e", `
let library;
try {
  library = require("standardwebhooks");
} catch (e) {
  process.exit(77);
}
const { Webhook, WebhookVerificationError } = library;
const [id, timestamp, signature, body, was, now] = process.argv.slice(1);
const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
for (const secret of [was, now]) new Webhook(secret).verify(body, headers);
try {
  new Webhook("whsec_MfKQ9r8GKYqwTwjUPD8ILPZIo2LaLw==").verify(body, headers);
} catch (e) {
  if (e instanceof WebhookVerificationError) process.exit(0);
  throw e;
}
throw new Error("a request is verified with another secret");
`},
	} {
		t.Run(of.name, func(t *testing.T) {
			modules := os.Getenv(of.directory)
			if modules == "" {
				t.Skip(of.directory + " names no directory with the library: run make check-clients")
			}
			if _, err := exec.LookPath(of.program); err != nil {
				t.Skip(of.program + " is not at hand")
			}
			r := rotate(t, nil)
			cmd := exec.CommandContext(t.Context(), of.program, of.flag, of.script,
				r.header.Get("webhook-id"), r.header.Get("webhook-timestamp"), r.header.Get("webhook-signature"), r.body, r.was, r.isNow)
			cmd.Env, cmd.Dir = append(os.Environ(), "PYTHONPATH="+modules), modules
			out, err := cmd.CombinedOutput()
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 77 {
				t.Skip("standardwebhooks is not installed: run make check-clients")
			}
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
