package servertest_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/ipdatabase"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/ipgeo"
)

// A line gets the same answer as a single request for its address, or a separate error. Line n of
// the answer belongs to line n of the body.
func TestBatchLines(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	single := func(path string) string { return servertest.Body(t, f.Get(path)) }
	city, german := single("/ip/"+servertest.CityIP), single("/ip/"+servertest.CityIP+"?fields=city.names,ip&lang=de")
	for _, tt := range []struct{ line, want string }{
		{servertest.CityIP, city},
		{"  " + servertest.CityIP + " \t\r", city},
		{`"` + servertest.CityIP + `"`, city},
		{`"\u0038\u0031.2.69.160"`, city},
		{`{"ip":"` + servertest.CityIP + `"}`, city},
		{`{"_id":7,"ip":"` + servertest.CityIP + `","fields":null}`, city},
		{`{"ip":"` + servertest.CityIP + `","fields":"city.names,ip","lang":"de"}`, german},
		{`{"ip":"` + servertest.CityIP + `","fields":["city.names","ip"],"lang":"de"}`, german},
		{`{"ip":"` + servertest.CityIP + `","lang":"de"}`, single("/ip/" + servertest.CityIP + "?lang=de")},
		{"::ffff:" + servertest.CityIP, city},
		{servertest.CountryIP, single("/ip/" + servertest.CountryIP)},
		{"2A00:0001:0:0:0:0:0:1", single("/ip/" + servertest.CountryIP)},
		{"fe80::1%eth0", `{"line":%d,"ip":"fe80::1","error":{"type":"address-reserved"`},
		{servertest.GapIP, `{"line":%d,"ip":"99.1.2.3","error":{"type":"address-not-found"`},
		{"10.0.0.1", `{"line":%d,"ip":"10.0.0.1","error":{"type":"address-reserved"`},
		{"", ""},
		{"\x1e" + servertest.CityIP, city},
		{"1.2.3", `{"line":%d,"error":{"type":"bad-line"`},
		{"01.2.3.4", `{"line":%d,"error":{"type":"bad-line"`},
		{"[2a00:1::1]", `{"line":%d,"error":{"type":"bad-line"`},
		{"1.2.3.4:80", `{"line":%d,"error":{"type":"bad-line"`},
		{"1.2.3.4, 5.6.7.8", `{"line":%d,"error":{"type":"bad-line"`},
		{"<script>alert(1)</script>", `{"line":%d,"error":{"type":"bad-line"`},
		{"\x00\xff", `{"line":%d,"error":{"type":"bad-line"`},
		{`"`, `{"line":%d,"error":{"type":"bad-line"`},
		{`"1.2.3.4`, `{"line":%d,"error":{"type":"bad-line"`},
		{`{}`, `{"line":%d,"error":{"type":"bad-line"`},
		{`{"ip":null}`, `{"line":%d,"error":{"type":"bad-line"`},
		{`{"ip":1}`, `{"line":%d,"error":{"type":"bad-line"`},
		{`{"ip":"1.2.3.4"} {}`, `{"line":%d,"error":{"type":"bad-line"`},
		{`{"ip":"1.2.3.4","fields":7}`, `{"line":%d,"error":{"type":"bad-parameter"`},
		{`{"ip":"1.2.3.4","fields":{}}`, `{"line":%d,"error":{"type":"bad-parameter"`},
		{`{"ip":"1.2.3.4","fields":""}`, `{"line":%d,"error":{"type":"bad-parameter"`},
		{`{"ip":"1.2.3.4","id":7}`, `{"line":%d,"error":{"type":"bad-parameter"`},
		{`{"ip":"1.2.3.4","feilds":"ip"}`, `{"line":%d,"error":{"type":"bad-parameter"`},
		{`{"ip":"1.2.3.4","IP":"1.2.3.4"}`, `{"line":%d,"error":{"type":"bad-parameter"`},
		{`{"ip":"1.2.3.4","ip":"1.2.3.4"}`, `{"line":%d,"error":{"type":"bad-parameter"`},
		{`{"ip":"1.2.3.4","id":}`, `{"line":%d,"error":{"type":"bad-line"`},
		{`{"ip":"1.2.3.4","fields":"` + strings.Repeat("a,", 60) + `b"}`, `{"line":%d,"error":{"type":"bad-parameter"`},
		{`{"ip":"1.2.3.4","lang":"<b>"}`, `{"line":%d,"error":{"type":"bad-parameter"`},
		{strings.Repeat("1", 8<<10+1), `{"line":%d,"error":{"type":"bad-line"`},
		{strings.Repeat("x", 10<<20), `{"line":%d,"error":{"type":"bad-line"`},
		{servertest.CityIP, city},
	} {
		// The line is sent alone and between others, with and without a final line end.
		for _, around := range [][2]string{
			{"", ""},
			{"", "\n"},
			{servertest.CityIP + "\n" + servertest.ASNIP + "\r\n", "\n" + servertest.CityIP},
		} {
			if tt.line == "" && around[1] == "" {
				continue // that is no line
			}
			got := servertest.BatchLines(t, servertest.Body(t, f.Post("/ip/batch", strings.NewReader(around[0]+tt.line+around[1]))))
			n := strings.Count(around[0], "\n")
			last := n
			if strings.HasSuffix(around[1], servertest.CityIP) {
				last++
			}
			if len(got) != last+1 {
				t.Fatalf("%.80q: %d lines: %.300q", tt.line, len(got), got)
			}
			if n > 0 && (got[0] != city || got[last] != city) {
				t.Errorf("%.80q: lines around it: %s, %s", tt.line, got[0], got[last])
			}
			if strings.Contains(tt.want, "%d") {
				if want := fmt.Sprintf(tt.want, n+1); !strings.HasPrefix(got[n], want) {
					t.Errorf("%.80q: %s, want %s…", tt.line, got[n], want)
				}
			} else if got[n] != tt.want {
				t.Errorf("%.80q: %s, want %s", tt.line, got[n], tt.want)
			}
		}
	}
	// The query's parameters apply to lines without their own parameters.
	got := servertest.BatchLines(t,
		servertest.Body(t, f.Post("/ip/batch?fields=ip",
			strings.NewReader(servertest.CityIP+"\n"+`{"ip":"`+servertest.CityIP+`","fields":"country.iso_code"}`+"\n"+servertest.ASNIP+
				"\n"+`{"ip":"`+servertest.ASNIP+`","lang":"de"}`))))
	if len(got) != 4 || got[3] != got[2] || got[0] != `{"ip":"81.2.69.160"}` ||
		got[1] != `{"ip":"81.2.69.160","country":{"iso_code":"CH"}}` || got[2] != `{"ip":"9.9.9.9"}` {
		t.Errorf("fields of the query: %q", got)
	}
}

func TestBatchHeaders(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	res := f.Post("/ip/batch", strings.NewReader(servertest.CityIP))
	if h := res.Header; res.StatusCode != 200 || h.Get("Content-Type") != "application/x-ndjson" ||
		h.Get("Cache-Control") != "private, no-store" ||
		h.Get("Access-Control-Allow-Origin") != "*" || h.Get(ipdatabase.Header) == "" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", res.StatusCode, h)
	}
	if res := f.Post("/ip/batch", http.NoBody); res.StatusCode != 200 || servertest.Body(t, res) != "" {
		t.Errorf("nothing asked: %d", res.StatusCode)
	}
	res = f.Post("/ip/batch", strings.NewReader(strings.Repeat(servertest.CityIP+"\n", 500)), "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(res.Body)
	if err != nil || res.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v: %v", err, res.Header)
	}
	text, err := io.ReadAll(z)
	if err != nil || len(servertest.BatchLines(t, string(text))) != 500 {
		t.Errorf("%v: %d bytes", err, len(text))
	}
	for _, method := range []string{"GET", "HEAD", "PUT"} {
		if res := f.Do(method, "/ip/batch"); res.StatusCode != 405 || !strings.Contains(res.Header.Get("Allow"), "POST") {
			t.Errorf("%s: %d %v", method, res.StatusCode, res.Header)
		}
	}
	if res := f.Do("OPTIONS", "/ip/batch"); res.StatusCode != 204 ||
		!strings.Contains(res.Header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("preflight: %d %v", res.StatusCode, res.Header)
	}
}

// TestBatchOfCurl sends a batch without line ends, which curl removes by default. If the batch is a
// single line of the media type that curl sends, the error advises --data-binary.
func TestBatchOfCurl(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	for kind, advised := range map[string]bool{"application/x-www-form-urlencoded": true, "text/plain": false} {
		for end, one := range map[string]bool{"": true, "\n": false, "\n" + servertest.CityIP: false} {
			text := servertest.Body(t, f.Post("/ip/batch", strings.NewReader(servertest.CityIP+servertest.GapIP+end), "Content-Type", kind))
			if !strings.Contains(text, `"bad-line"`) || strings.Contains(text, "--data-binary @FILE") != (advised && one) {
				t.Errorf("%s, %q at the end: %s", kind, end, text)
			}
		}
	}
}

func TestBatchRefused(t *testing.T) {
	f := servertest.NewAddresses(t, func(c *httpapi.Config) { c.BatchLines, c.BatchBytes = 100, 64<<10 })
	gz := servertest.Gzip(t, strings.Repeat(servertest.CityIP+"\n", 90))
	for _, tt := range []struct {
		name    string
		body    io.Reader
		headers []string
		status  int
		typ     string
		lines   int // answered before
	}{
		{"lines", strings.NewReader(strings.Repeat(servertest.CityIP+"\n", 101)), nil, 200, "batch-too-long", 100},
		{"bytes that are told", strings.NewReader(strings.Repeat(strings.Repeat(" ", 8000)+"\n", 9)), nil, 413, "batch-too-long", 0},
		{"bytes", io.MultiReader(strings.NewReader(strings.Repeat(strings.Repeat(" ", 8000)+"\n", 9))), nil, 200, "batch-too-long", 8},
		{"bytes in one line", io.MultiReader(strings.NewReader(strings.Repeat(" ", 100<<10))), nil, 413, "batch-too-long", 0},
		{
			"bomb",
			bytes.NewReader(servertest.Gzip(t, strings.Repeat(" ", 4<<20))),
			[]string{"Content-Encoding", "gzip"},
			413,
			"batch-too-long",
			0,
		},
		{"not gzip", strings.NewReader(servertest.CityIP + "\n"), []string{"Content-Encoding", "gzip"}, 400, "bad-body", 0},
		{"empty gzip", strings.NewReader(""), []string{"Content-Encoding", "gzip"}, 400, "bad-body", 0},
		{"cut off gzip", bytes.NewReader(gz[:len(gz)-5]), []string{"Content-Encoding", "gzip"}, 200, "bad-body", 90},
		{"brotli", strings.NewReader("x"), []string{"Content-Encoding", "br"}, 415, "unsupported-coding", 0},
		{"two codings", bytes.NewReader(gz), []string{"Content-Encoding", "gzip, gzip"}, 415, "unsupported-coding", 0},
		{"form", strings.NewReader("x"), []string{"Content-Type", `multipart/form-data; boundary="x"`}, 415, "unsupported-type", 0},
		{"list", strings.NewReader(`["` + servertest.CityIP + `","5.6.7.8"]`), nil, 400, "bad-line", 0},
		{"empty list", strings.NewReader("[]"), nil, 400, "bad-line", 0},
		{"long list", strings.NewReader("[" + strings.Repeat(`"1.2.3.4", `, 2000) + `"1.2.3.4"]`), nil, 400, "bad-line", 0},
		{"list of objects", strings.NewReader(`[{"ip":"1.2.3.4"}]`), nil, 400, "bad-line", 0},
		{"list of lists", strings.NewReader(strings.Repeat("[", 8<<10)), nil, 400, "bad-line", 0},
		{
			"cut off",
			&servertest.CutOff{R: strings.NewReader(servertest.CityIP + "\n" + servertest.CityIP + "\n81.2.69.1")},
			nil,
			200,
			"bad-body",
			2,
		},
		{"cut off at once", &servertest.CutOff{R: strings.NewReader("81.2.69.1")}, nil, 400, "bad-body", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := f.Post("/ip/batch", tt.body, tt.headers...)
			if tt.status != 200 {
				servertest.WantProblem(t, res, tt.status, tt.typ)
				return
			}
			got := servertest.BatchLines(t, servertest.Body(t, res))
			if res.StatusCode != 200 || len(got) != tt.lines+1 {
				t.Fatalf("%d, %d lines, want %d and an error", res.StatusCode, len(got), tt.lines)
			}
			if !strings.HasPrefix(got[tt.lines], servertest.BatchError(tt.lines+1, "", tt.typ)) {
				t.Errorf("last line %s, want %s", got[tt.lines], tt.typ)
			}
		})
	}
	if got := servertest.BatchLines(t,
		servertest.Body(t, f.Post("/ip/batch", bytes.NewReader(gz), "Content-Encoding", "gzip"))); len(got) != 90 ||
		strings.Contains(strings.Join(got, ""), `"error"`) {
		t.Errorf("%d lines of a packed batch", len(got))
	}
	if got := servertest.BatchLines(t,
		servertest.Body(t, f.Post("/ip/batch", strings.NewReader(strings.Repeat(servertest.CityIP+"\n", 100))))); len(got) != 100 {
		t.Errorf("%d lines at the limit", len(got))
	}
	servertest.WantProblem(t, servertest.New(t, nil).Post("/ip/batch", strings.NewReader(servertest.CityIP)), 404, "dataset-missing")
	servertest.WantProblem(t, f.Post("/ip/batch?fields=", strings.NewReader(servertest.CityIP)), 400, "bad-parameter")
}

// If the store fails, a line gets an error and not an answer that the address is unknown.
func TestBatchFailingStore(t *testing.T) {
	f := servertest.New(t, nil, ask.Addresses.Name)
	f.Addresses.ReadErr = errors.New("secret path")
	servertest.WantProblem(t, f.Post("/ip/batch", strings.NewReader("1.2.3.4\n")), 500, "internal")
	got := servertest.BatchLines(t, servertest.Body(t, f.Post("/ip/batch", strings.NewReader("x\n1.2.3.4\n1.2.3.4\n"))))
	if len(got) != 2 || !strings.HasPrefix(got[1], servertest.BatchError(2, "", "internal")) || strings.Contains(got[1], "secret") {
		t.Errorf("%q", got)
	}
}

// TestBatchBusy tests that a batch is refused if too many are running, and that they leave capacity
// for other requests.
func TestBatchBusy(t *testing.T) {
	f := servertest.NewAddresses(t, func(c *httpapi.Config) { c.MaxConcurrent = 64 }) // 8 places, 2 of a client
	var hold [2]*io.PipeWriter
	done := make(chan struct{}, len(hold))
	for i := range hold {
		r, w := io.Pipe()
		hold[i] = w
		go func() { f.Post("/ip/batch", r); done <- struct{}{} }()
		if _, err := io.WriteString(w, servertest.CityIP+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	servertest.WantProblem(t, f.Post("/ip/batch", strings.NewReader(servertest.CityIP)), 503, "too-busy")
	if res := f.Get("/ip/" + servertest.CityIP); res.StatusCode != 200 {
		t.Errorf("a single address beside them: %d", res.StatusCode)
	}
	for _, w := range hold {
		w.Close()
		<-done
	}
	if res := f.Post("/ip/batch", strings.NewReader(servertest.CityIP)); res.StatusCode != 200 {
		t.Errorf("after them: %d", res.StatusCode)
	}
}

// A client that sends a line gets its answer before it sends the next, over HTTP/1.1 and HTTP/2,
// compressed and uncompressed.
func TestBatchStreams(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(f.Handler)
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		for _, coding := range []string{"identity", "gzip"} {
			r, w := io.Pipe()
			req, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/ip/batch", r)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept-Encoding", coding)
			first := make(chan error, 1)
			go func() { _, err := io.WriteString(w, servertest.CityIP+"\n"); first <- err }()
			res, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if http2 != (res.ProtoMajor == 2) {
				t.Fatalf("HTTP/%d", res.ProtoMajor)
			}
			if err := <-first; err != nil {
				t.Fatal(err)
			}
			var body io.Reader = res.Body
			if coding == "gzip" {
				if body, err = gzip.NewReader(res.Body); err != nil {
					t.Fatal(err)
				}
			}
			lines := bufio.NewReader(body)
			for i := range 20 {
				line, err := lines.ReadString('\n')
				if err != nil || !strings.Contains(line, servertest.CityIP) {
					t.Fatalf("line %d: %v %s", i, err, line)
				}
				if _, err := io.WriteString(w, servertest.CityIP+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			w.Close()
			if rest, err := io.ReadAll(lines); err != nil || strings.Count(string(rest), "\n") != 1 {
				t.Errorf("the last: %v %s", err, rest)
			}
			res.Body.Close()
		}
	}
}

// A client that stops sending gets an error.
func TestBatchTimeout(t *testing.T) {
	f := servertest.NewAddresses(t, func(c *httpapi.Config) { c.BatchTimeout = 50 * time.Millisecond })
	server := httptest.NewServer(f.Handler)
	defer server.Close()
	for _, tt := range []struct{ sent, want string }{
		{servertest.CityIP + "\n81.2", "HTTP/1.1 200 "}, {"", "HTTP/1.1 408 "},
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /ip/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n%s", tt.sent)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if err != nil || !strings.HasPrefix(tt.want, "HTTP/1.1 "+fmt.Sprint(res.StatusCode)) || !strings.Contains(string(b), "batch-timeout") {
			t.Errorf("%v: %d %s", err, res.StatusCode, b)
		}
	}
}

// A batch is answered from one generation, even if another is published meanwhile.
func TestBatchOneGeneration(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	server := httptest.NewServer(f.Handler)
	defer server.Close()
	r, w := io.Pipe()
	go func() { _, _ = io.WriteString(w, servertest.CityIP+"\n") }()
	res, err := http.Post(server.URL+"/ip/batch", "application/x-ndjson", r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	servertest.PublishIP(t, f.Catalog, true, servertest.IPRange("81.2.69.0/24", ipgeo.Record{Country: ipgeo.Country{ISOCode: "NZ"}}))
	if err := f.Config.Addresses.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b := servertest.Body(t, f.Get("/ip/"+servertest.CityIP)); !strings.Contains(b, `"NZ"`) {
		t.Fatalf("the new generation does not serve: %s", b)
	}
	if _, err := io.WriteString(w, servertest.CityIP+"\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if second, err := lines.ReadString('\n'); err != nil || second != first {
		t.Errorf("%v: %s, want %s", err, second, first)
	}
}

// The memory of a batch does not grow with its size: neither with long lines, nor with many lines
// or answers.
func TestBatchMemory(t *testing.T) {
	f := servertest.NewAddresses(t, func(c *httpapi.Config) { c.BatchBytes = 1 << 30 })
	const lines = 20_000
	long, short := append(bytes.Repeat([]byte("x"), 100<<10), '\n'), []byte(servertest.CityIP+"\n")
	r, w := io.Pipe()
	go func() {
		out := bufio.NewWriterSize(w, 16<<10)
		for i := range lines {
			if i%100 == 0 {
				_, _ = out.Write(long)
			}
			_, _ = out.Write(short) // failures stay until Flush
		}
		_ = out.Flush() // the handler has given up if this fails
		w.Close()
	}()
	req := httptest.NewRequest("POST", "/ip/batch", r)
	out := &servertest.DiscardWriter{Headers: http.Header{}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f.Handler.ServeHTTP(out, req)
	runtime.ReadMemStats(&after)
	if out.Bytes < lines*100 {
		t.Fatalf("%d bytes answered", out.Bytes)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(out.Bytes)/4 {
		t.Errorf("%d bytes allocated for %d bytes answered", n, out.Bytes)
	}
}

func FuzzBatch(f *testing.F) {
	for _, seed := range []string{
		"1.2.3.4\n",
		`"1.2.3.4"` + "\r\n::1",
		`{"ip":"1.2.3.4","fields":["country"],"lang":"de"}`,
		"\n\n",
		"{",
		`{"ip":"\ud800"}`,
		"\x1f\x8b\x08",
	} {
		f.Add([]byte(seed), false)
		f.Add(servertest.Gzip(f, seed), true)
	}
	fix := servertest.New(f, func(c *httpapi.Config) { c.BatchLines, c.BatchBytes = 50, 4096 }, servertest.DefaultDatasets...)
	f.Fuzz(func(t *testing.T, text []byte, zipped bool) {
		r := httptest.NewRequest("POST", "/ip/batch", bytes.NewReader(text))
		if zipped {
			r.Header.Set("Content-Encoding", "gzip")
		}
		w := httptest.NewRecorder()
		fix.Handler.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if len(text) > 4096 && w.Code < 400 {
			t.Fatalf("%d for %d bytes", w.Code, len(text))
		}
		if w.Code != 200 {
			return
		}
		got := servertest.BatchLines(t, w.Body.String())
		if zipped {
			return
		}
		want := bytes.Count(text, []byte("\n"))
		if n := len(text); n > 0 && text[n-1] != '\n' {
			want++
		}
		if len(got) != min(want, 51) {
			t.Fatalf("%d lines of %d", len(got), want)
		}
	})
}

// BenchmarkIPBatchAgainstSingle compares the cost of an address in a batch with the cost of a
// single request, over a persistent connection.
func BenchmarkIPBatchAgainstSingle(b *testing.B) {
	f := servertest.NewAddresses(b, nil)
	server := httptest.NewServer(f.Handler)
	defer server.Close()
	single := func(b *testing.B) float64 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		request := []byte("GET /ip/" + servertest.CityIP + "?fields=country HTTP/1.1\r\nHost: x\r\n\r\n")
		r := bufio.NewReader(conn)
		start := time.Now()
		const n = 5000
		for range n {
			if _, err := conn.Write(request); err != nil {
				b.Fatal(err)
			}
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(start).Nanoseconds()) / n
	}
	const n = 100_000
	text := strings.Repeat(servertest.CityIP+"\n", n)
	batch := func(b *testing.B) float64 {
		start := time.Now()
		res, err := http.Post(server.URL+"/ip/batch?fields=country", "text/plain", strings.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			b.Fatal(err)
		}
		return float64(time.Since(start).Nanoseconds()) / n
	}
	var one, many float64
	rounds := 0.0
	for b.Loop() {
		one += single(b)
		many += batch(b)
		rounds++
	}
	b.ReportMetric(one/rounds, "ns/single")
	b.ReportMetric(many/rounds, "ns/batched")
	b.ReportMetric(one/many, "ratio")
}
