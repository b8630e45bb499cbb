package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Unpack returns a body without its content coding.
func Unpack(t testing.TB, encoding, body string) string {
	t.Helper()
	var r io.Reader = strings.NewReader(body)
	var err error
	switch encoding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	case "":
	default:
		t.Fatalf("coding %q", encoding)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Post sends a batch.
func (f *Server) Post(path string, body io.Reader, headers ...string) *http.Response {
	f.T.Helper()
	r := httptest.NewRequest("POST", path, body)
	r.RemoteAddr = "1.2.0.7:4000"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r)
	return w.Result()
}

// BatchLines splits an answer into its lines. Each line must be JSON.
func BatchLines(t testing.TB, text string) []string {
	t.Helper()
	if text == "" {
		return nil
	}
	if !strings.HasSuffix(text, "\n") {
		t.Fatalf("the last line has no end: %q", text[max(0, len(text)-200):])
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, l := range lines {
		if l != "" && !json.Valid([]byte(l)) { // blank lines are answered by such
			t.Fatalf("not JSON: %s", l)
		}
	}
	return lines
}

func Gzip(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func BatchError(line int, ip, typ string) string {
	s := fmt.Sprintf(`{"line":%d,`, line)
	if ip != "" {
		s += fmt.Sprintf(`"ip":"%s",`, ip)
	}
	return s + fmt.Sprintf(`"error":{"type":"%s",`, typ)
}

// CutOff is a body whose client disconnects before its end.
type CutOff struct{ R io.Reader }

func (c *CutOff) Read(p []byte) (int, error) {
	n, err := c.R.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
