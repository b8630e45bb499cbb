package clienttest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"quadrille/cmd/internal/programs"
)

// common is the shared browser. It takes seconds to start, and no test changes it. The first test
// that needs it starts it.
var common struct {
	mu      sync.Mutex
	browser context.Context
	stop    func()
}

func TestMain(m *testing.M) {
	programs.Main(m, func() {
		common.mu.Lock()
		defer common.mu.Unlock()
		if common.stop != nil {
			common.stop()
		}
	})
}

// commonBrowser returns the context of the shared browser. Its options suit every test.
func commonBrowser(t *testing.T) context.Context {
	t.Helper()
	path := findChromium(t)
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.browser == nil {
		browser, stop, err := runBrowser(path)
		if err != nil {
			stop()
			t.Fatal(err)
		}
		common.browser, common.stop = browser, stop //nolint:fatcontext // one for all tests, not one in another
	}
	return common.browser
}

// newKey writes a key with a scope into a file of keys and returns it.
func newKey(t *testing.T, name, file, scope string) string {
	t.Helper()
	cmd := programs.Command(t, programs.TileServer, "keys", "new", name, "--keys", file, "--scope", scope)
	key, err := cmd.Output() // other messages go to the standard error
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(key))
}

// fetch returns the status and the body of an answer.
func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}
