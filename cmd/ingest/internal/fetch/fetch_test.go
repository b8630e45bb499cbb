package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
)

var released = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// publisher is a server of one file that misbehaves at selected requests.
type publisher struct {
	*httptest.Server
	mu      sync.Mutex
	content []byte
	etag    string
	faults  []http.HandlerFunc // handlers of the first requests; nil serves the file
	seen    []*http.Request
}

func newPublisher(t *testing.T, content []byte) *publisher {
	p := &publisher{content: content, etag: `"1"`}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r)
	var fault http.HandlerFunc
	if len(p.faults) > 0 {
		fault, p.faults = p.faults[0], p.faults[1:]
	}
	content, etag := p.content, p.etag
	p.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	http.ServeContent(w, r, "", released, bytes.NewReader(content))
}

// requests returns the number of requests and the last one.
func (p *publisher) requests() (int, *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen), p.seen[len(p.seen)-1]
}

// text returns content of the kind Text. It is the same for the same seed.
func text(seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	var b []byte
	for len(b) < size {
		b = append(strconv.AppendUint(b, r.Uint64(), 36), '\n')
	}
	return b
}

type clientOf struct {
	*Client
	dir   string
	waits []time.Duration
	notes []string
}

func newClient(t *testing.T, dir string, change func(*Options)) *clientOf {
	t.Helper()
	c := &clientOf{dir: dir}
	o := Options{
		UserAgent: "Quadrille/test (+https://maps.example.org)", Attempts: 3, StallTimeout: 2 * time.Second,
		OnRetry: func(s string) { c.notes = append(c.notes, s) },
		Wait:    func(ctx context.Context, d time.Duration) error { c.waits = append(c.waits, d); return ctx.Err() },
	}
	if change != nil {
		change(&o)
	}
	var err error
	if c.Client, err = New(dir, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (c *clientOf) want(t *testing.T, f File, content []byte, unchanged bool) {
	t.Helper()
	res, err := c.Get(t.Context(), f)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(c.notes, "\n"))
	}
	got, err := os.ReadFile(filepath.Join(c.dir, f.Name))
	if err != nil || !bytes.Equal(got, content) || res.Unchanged != unchanged || res.Bytes != int64(len(content)) {
		t.Fatalf("%d of %d bytes, %+v, %v", len(got), len(content), res, err)
	}
	for _, left := range []string{".part", ".part.state"} {
		if _, err := os.Stat(res.Path + left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", left, err)
		}
	}
}

func fileOf(p *publisher) File {
	return File{URL: p.URL + "/f.txt", Name: "f.txt", Kind: Text, MaxBytes: 1 << 20}
}

func TestConditionalRefresh(t *testing.T) {
	p := newPublisher(t, text(1, 100_000))
	c := newClient(t, t.TempDir(), nil)
	f := fileOf(p)
	c.want(t, f, p.content, false)
	_, r := p.requests()
	if r.Header.Get("User-Agent") != "Quadrille/test (+https://maps.example.org)" ||
		r.Header.Get("Accept-Encoding") != "identity" || r.Header.Get("Range") != "" {
		t.Errorf("asked as %v", r.Header)
	}
	info, err := os.Stat(filepath.Join(c.dir, f.Name))
	if err != nil || !info.ModTime().Equal(released) {
		t.Errorf("dated %v, %v", info.ModTime(), err)
	}
	c.want(t, f, p.content, true)
	if _, r := p.requests(); r.Header.Get("If-None-Match") != `"1"` || r.Header.Get("If-Modified-Since") == "" {
		t.Errorf("asked as %v", r.Header)
	}
	// The server now has another version of the file.
	p.content, p.etag = text(2, 90_000), `"2"`
	c.want(t, f, p.content, false)
	// The server sends the same bytes with a new ETag.
	p.etag = `"3"`
	c.want(t, f, p.content, true)
	// A request is not conditional if the local file was edited.
	testfile.Write(t, filepath.Join(c.dir, f.Name), "x")
	c.want(t, f, p.content, false)
	// A state of another address is not used either.
	f.URL += "?other"
	p.content = text(3, 90_000)
	c.want(t, f, p.content, false)
	// Only one client may use a directory.
	if _, err := New(c.dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second client: %v", err)
	}
}

// cut returns a handler that sends the beginning of the file, or of the range, and breaks off.
func (p *publisher) cut(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from := 0
		if spec := r.Header.Get("Range"); spec != "" {
			if _, err := fmt.Sscanf(spec, "bytes=%d-", &from); err != nil {
				panic(err)
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(p.content)-1, len(p.content)))
		}
		w.Header().Set("ETag", p.etag)
		w.Header().Set("Content-Length", fmt.Sprint(len(p.content)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(p.content[from : from+n])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestResume(t *testing.T) {
	p := newPublisher(t, text(1, 900_000))
	// Attempts that make progress do not count towards the limit of three.
	p.faults = []http.HandlerFunc{p.cut(300_000), p.cut(300_000), nil}
	dir := t.TempDir()
	c := newClient(t, dir, func(o *Options) { o.Attempts = 2 })
	c.want(t, fileOf(p), p.content, false)
	n, r := p.requests()
	if n != 3 || r.Header.Get("Range") != "bytes=600000-" || r.Header.Get("If-Range") != `"1"` {
		t.Errorf("%d requests, the last %v", n, r.Header)
	}
	// Another run does the same.
	p = newPublisher(t, text(2, 900_000))
	p.faults = []http.HandlerFunc{p.cut(10), p.cut(10), p.cut(10)}
	f := fileOf(p)
	f.Name = "g.txt"
	if _, err := c.Get(t.Context(), f); err == nil || !strings.Contains(err.Error(), "goes on where it stopped") {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, f.Name)); !errors.Is(err, os.ErrNotExist) {
		t.Error("part of a file bears its name")
	}
	_ = c.Close()
	c = newClient(t, dir, nil)
	p.faults = nil
	c.want(t, f, p.content, false)
	if _, r := p.requests(); r.Header.Get("Range") != "bytes=20-" {
		t.Errorf("asked as %v", r.Header)
	}
}

func TestChangedWhileDownloading(t *testing.T) {
	for name, second := range map[string]func(p *publisher) http.HandlerFunc{
		"a server that knows If-Range": func(*publisher) http.HandlerFunc { return nil },
		"one that does not": func(p *publisher) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del("If-Range")
				w.Header().Set("ETag", `"2"`)
				http.ServeContent(w, r, "", released, bytes.NewReader(p.content))
			}
		},
		"one without ranges any more": func(p *publisher) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(p.content) }
		},
		"another part than asked for": func(p *publisher) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(p.content)-1, len(p.content)))
				w.WriteHeader(206)
				_, _ = w.Write(p.content)
			}
		},
		"a heading that is none": func(p *publisher) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Range", "bytes */x")
				w.WriteHeader(206)
				_, _ = w.Write(p.content)
			}
		},
		"fewer bytes than before": func(*publisher) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(416) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t, text(1, 700_000))
			cut := p.cut(300_000)
			p.faults = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
				defer func() {
					p.mu.Lock()
					p.content, p.etag = text(2, 700_000), `"2"`
					p.mu.Unlock()
				}()
				cut(w, r)
			}, second(p)}
			c := newClient(t, t.TempDir(), nil)
			c.want(t, fileOf(p), text(2, 700_000), false)
		})
	}
}

// TestWeakValidator tests that an interrupted download with a weak validator begins again. Nothing
// is appended to it, because weak validators do not guarantee equal bytes.
func TestWeakValidator(t *testing.T) {
	p := newPublisher(t, text(1, 700_000))
	p.etag = `W/"1"`
	p.faults = []http.HandlerFunc{p.cut(300_000)}
	c := newClient(t, t.TempDir(), nil)
	c.want(t, fileOf(p), p.content, false)
	if _, r := p.requests(); r.Header.Get("Range") != "" {
		t.Errorf("asked as %v", r.Header)
	}
	for _, tt := range []struct {
		s    state
		want string
	}{
		{state{}, ""},
		{state{ETag: `"a"`, Modified: released}, `"a"`},
		{state{ETag: `W/"a"`, Modified: released, Answered: released.Add(time.Hour)}, ""},
		{state{Modified: released, Answered: released.Add(time.Hour)}, "Wed, 04 Mar 2026 05:06:07 GMT"},
		{state{Modified: released, Answered: released.Add(time.Second)}, ""},
		{state{Modified: released}, ""},
	} {
		if got := tt.s.strong(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.s, got, tt.want)
		}
	}
}

func TestRetries(t *testing.T) {
	status := func(code int, after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte("<html>come back later</html>"))
		}
	}
	stall := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("a\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	page := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("\n<!DOCTYPE html>\n<p>Sorry</p>\n"))
	}
	for _, tt := range []struct {
		name   string
		faults []http.HandlerFunc
		waits  string // "" for any; "none"
		err    string // "" for success
	}{
		{"429, in seconds", []http.HandlerFunc{status(429, "7")}, "[7s]", ""},
		{"503, a date", []http.HandlerFunc{status(503, time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))}, "", ""},
		{"503, now", []http.HandlerFunc{status(503, "0"), status(503, "nonsense")}, "", ""},
		{"503, tomorrow", []http.HandlerFunc{status(503, "86400")}, "none", "run it again then"},
		{"500 too often", []http.HandlerFunc{status(500, ""), status(502, ""), status(504, "")}, "", "given up after 3 attempts"},
		{"404", []http.HandlerFunc{status(404, "")}, "none", "404 Not Found"},
		{"401", []http.HandlerFunc{status(401, "")}, "none", "check the account"},
		{"201", []http.HandlerFunc{status(201, "")}, "none", "no answer to a download"},
		{"304 unasked", []http.HandlerFunc{status(304, "")}, "", ""},
		{"stalls", []http.HandlerFunc{stall}, "", ""},
		{"stalls always", []http.HandlerFunc{stall, stall, stall}, "", "stopped sending"},
		{"a page in its place", []http.HandlerFunc{page}, "", ""},
		{"always a page", []http.HandlerFunc{page, page, page}, "", "a web page in its place"},
		{"empty", []http.HandlerFunc{func(http.ResponseWriter, *http.Request) {}}, "", ""},
		{"truncated without a length", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = conn.Write([]byte("HTTP/1.0 200 OK\r\n\r\nabc\nde"))
			_ = conn.Close()
		}}, "", ""},
		{"hangs up", []http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}, "", ""},
		{"too large, said", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "999999999")
		}}, "none", "larger than allowed"},
		{"too large, unsaid", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			for range 40 {
				_, _ = w.Write(text(1, 64<<10))
			}
		}}, "none", "larger than allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPublisher(t, text(1, 10_000))
			p.faults = tt.faults
			c := newClient(t, t.TempDir(), func(o *Options) {
				if strings.HasPrefix(tt.name, "stalls") {
					o.StallTimeout = 100 * time.Millisecond
				}
			})
			before := []byte("an older version\n")
			path := filepath.Join(c.dir, "f.txt")
			testfile.Write(t, path, before)
			if tt.err == "" {
				c.want(t, fileOf(p), p.content, false)
			} else if _, err := c.Get(t.Context(), fileOf(p)); err == nil || !strings.Contains(err.Error(), tt.err) ||
				!strings.Contains(err.Error(), "f.txt") {
				t.Fatalf("%v, want %q", err, tt.err)
			} else if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, before) {
				t.Errorf("the older version became %q, %v", b, err)
			}
			if waits := fmt.Sprint(c.waits); tt.waits == "none" && len(c.waits) > 0 || strings.HasPrefix(tt.waits, "[") && waits != tt.waits {
				t.Errorf("waited %s, want %s", waits, tt.waits)
			}
			for i := 1; i < len(c.waits); i++ {
				if c.waits[i] > 2*longestPause {
					t.Errorf("waited %v", c.waits)
				}
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	p := newPublisher(t, text(1, 1000))
	ctx, cancel := context.WithCancel(t.Context())
	p.faults = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }}
	c := newClient(t, t.TempDir(), nil)
	if _, err := c.Get(ctx, fileOf(p)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := wait(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSpace(t *testing.T) {
	p := newPublisher(t, text(1, 60_000))
	c := newClient(t, t.TempDir(), nil)
	c.free = func(dir string) (uint64, bool) { return uint64(len(p.content)) - 1, dir == c.dir }
	if _, err := c.Get(t.Context(), fileOf(p)); !errors.Is(err, ErrSpace) || !strings.Contains(err.Error(), "make room") || len(c.waits) > 0 {
		t.Errorf("%v, waited %v", err, c.waits)
	}
	c.free = func(string) (uint64, bool) { return uint64(len(p.content)), true }
	c.want(t, fileOf(p), p.content, false)
	// If the free space is unknown, writing reports the full disk.
	c.free = func(string) (uint64, bool) { return 0, false }
	p.content, p.etag = text(2, 60_000), `"2"`
	c.want(t, fileOf(p), p.content, false)
}

// A file that unpacks to a thousand times its size is refused at once and not tried again.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 6<<20)
	for kind, content := range map[Kind]string{Zip: testfile.Zip([2]string{"a.txt", string(zeros)}), Gzip: testfile.Gzip(zeros)} {
		p := newPublisher(t, []byte(content))
		c := newClient(t, t.TempDir(), nil)
		f := fileOf(p)
		f.Kind = kind
		if _, err := c.Get(t.Context(), f); !errors.Is(err, ErrContent) || !strings.Contains(err.Error(), "unpacks to more than") ||
			len(c.waits) > 0 {
			t.Errorf("%s: %v, waited %v", kind, err, c.waits)
		}
		if _, err := os.Stat(filepath.Join(c.dir, f.Name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestTotal(t *testing.T) {
	p := newPublisher(t, text(1, 60_000))
	c := newClient(t, t.TempDir(), func(o *Options) { o.MaxTotal = 100_000 })
	f := fileOf(p)
	c.want(t, f, p.content, false)
	f.Name = "g.txt"
	if _, err := c.Get(t.Context(), f); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "--max-download") {
		t.Error(err)
	}
	for _, bad := range []File{
		{URL: p.URL, Name: "../f"},
		{URL: p.URL, Name: ""},
		{URL: p.URL, Name: "."},
		{URL: "file:///etc/passwd", Name: "f"},
		{URL: "://", Name: "f"},
	} {
		if _, err := c.Get(t.Context(), bad); err == nil {
			t.Errorf("%+v", bad)
		}
	}
}

func TestRedirects(t *testing.T) {
	target := newPublisher(t, text(1, 1000))
	var from *httptest.Server
	to := target.URL
	seen := make(chan string, 10)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		if r.URL.Path == "/round" {
			http.Redirect(w, r, "/round", http.StatusFound)
			return
		}
		http.Redirect(w, r, to+"/there", http.StatusFound)
	})
	from = httptest.NewServer(handler)
	defer from.Close()
	c := newClient(t, t.TempDir(), nil)
	f := File{URL: from.URL + "/f", Name: "f.txt", Kind: Text, MaxBytes: 1 << 20, User: "42", Password: "secret"}
	c.want(t, f, target.content, false)
	if auth := <-seen; auth == "" {
		t.Error("credentials were not sent to their host")
	}
	if _, r := target.requests(); r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
		t.Errorf("another host was told %v", r.Header)
	}
	f.URL = from.URL + "/round"
	if _, err := c.Get(t.Context(), f); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Error(err)
	}
	to = "ftp://example.org"
	f.URL = from.URL + "/f"
	if _, err := c.Get(t.Context(), f); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	// The server redirects from https to http.
	to = target.URL
	secure := httptest.NewTLSServer(handler)
	defer secure.Close()
	transport, _ := secure.Client().Transport.(*http.Transport)
	c.http.Transport = transport
	f.URL = secure.URL + "/f"
	if _, err := c.Get(t.Context(), f); err == nil || !strings.Contains(err.Error(), "from https to http") || len(c.waits) > 0 {
		t.Error(err, c.waits)
	}
}

func TestChecksum(t *testing.T) {
	content := text(1, 5000)
	sums := []string{
		"0000000000000000000000000000000000000000000000000000000000000000  f.txt\n",
		fmt.Sprintf("%X  f.txt\n", sha256.Sum256(content)),
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pass, _ := r.BasicAuth(); user != "42" || pass != "secret" {
			w.WriteHeader(401)
		} else if strings.HasSuffix(r.URL.Path, ".sha256") {
			_, _ = w.Write([]byte(sums[min(asked, len(sums)-1)]))
			asked++
		} else {
			_, _ = w.Write(content)
		}
	}))
	defer server.Close()
	f := File{
		URL:         server.URL + "/f",
		ChecksumURL: server.URL + "/f.sha256",
		Name:        "f.txt",
		Kind:        Text,
		MaxBytes:    1 << 20,
		User:        "42",
		Password:    "secret",
	}
	c := newClient(t, t.TempDir(), nil)
	c.want(t, f, content, false)
	if asked != 2 || !strings.Contains(fmt.Sprint(c.notes), "checksum is not the publisher's") {
		t.Errorf("asked %d times: %v", asked, c.notes)
	}
	for _, bad := range []string{"", "<html>", "abcd", strings.Repeat("0", 65)} {
		sums = []string{bad}
		if _, err := c.Get(t.Context(), f); !errors.Is(err, ErrContent) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	f.Password = "wrong"
	if _, err := c.Get(t.Context(), f); err == nil || !strings.Contains(err.Error(), "check the account") ||
		strings.Contains(err.Error(), "wrong") {
		t.Error(err)
	}
}

func TestKinds(t *testing.T) {
	z, g := []byte(testfile.Zip([2]string{"a.txt", string(text(1, 5000))})), []byte(testfile.Gzip(text(1, 5000)))
	flipped := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 1
		return b
	}
	for _, tt := range []struct {
		name    string
		kind    Kind
		content []byte
		ok      bool
	}{
		{"zip", Zip, z, true},
		{"zip, flipped", Zip, flipped(z, 500), false},
		{"zip, truncated", Zip, z[:len(z)-1], false},
		{"zip, empty", Zip, append([]byte("PK\x05\x06"), make([]byte, 18)...), false},
		{"gzip", Gzip, g, true},
		{"gzip, flipped", Gzip, flipped(g, len(g)-6), false},
		{"gzip, truncated", Gzip, g[:len(g)-9], false},
		{"text", Text, []byte("a,b\r\nü,ß\n"), true},
		{"text, no end of line at its end", Text, []byte("a\nb"), true},
		{"text, one line", Text, []byte("Service unavailable"), false},
		{"text, not UTF-8", Text, []byte("a\n\xff\n"), false},
		{"text, half a character", Text, []byte("a\n\xc3"), false},
		{"text, zero bytes", Text, []byte("a\n\x00\n"), false},
		{"text, long with characters across blocks", Text, append([]byte("a\n"), bytes.Repeat([]byte("€"), 100_000)...), true},
		{"text, an angle", Text, []byte("<5,a\nb\n"), true},
		{"markup", Text, []byte("\xef\xbb\xbf <?xml version='1.0'?>\n<Error>\n"), false},
	} {
		path := filepath.Join(t.TempDir(), "f")
		testfile.Write(t, path, tt.content)
		if err := check(t.Context(), path, tt.kind, nil, false); (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrContent) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// For any answer of a server the download ends, and if there is a file with the final name, it
// contains text.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc\n",
		"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-299/300\r\nContent-Length: 300\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\n\r\n", "HTTP/1.1 429 x\r\nRetry-After: 99999999999999999999\r\n\r\n",
		"HTTP/1.1 302 x\r\nLocation: //\r\n\r\n", "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nLast-Modified: x\r\nContent-Length: -1\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Skip(err)
		}
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write(answer)
				_ = conn.Close()
			}
		}()
		c, err := New(t.TempDir(), Options{Attempts: 2, StallTimeout: time.Second,
			Wait: func(context.Context, time.Duration) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return permanent(errors.New("no")) }
		file := File{URL: "http://" + l.Addr().String() + "/f", Name: "f", Kind: Text, MaxBytes: 1 << 16}
		res, err := c.Get(t.Context(), file)
		if err != nil {
			return
		}
		// The file was accepted as text, so it must be text.
		b, err := os.ReadFile(res.Path)
		if err != nil || len(b) == 0 || !bytes.ContainsRune(b, '\n') {
			t.Fatalf("%q, %v", b, err)
		}
	})
}
