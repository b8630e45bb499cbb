package httpapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
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

	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/ipdatabase"
	"quadrille/ipgeo"
)

// post sends a batch.
func (f *fixture) post(path string, body io.Reader, headers ...string) *http.Response {
	f.t.Helper()
	r := httptest.NewRequest("POST", path, body)
	r.RemoteAddr = "198.51.100.7:4000"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w.Result()
}

// batchLines splits an answer, every line of which must be JSON.
func batchLines(t testing.TB, text string) []string {
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

func packed(t testing.TB, text string) []byte {
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

func batchError(line int, ip, typ string) string {
	s := fmt.Sprintf(`{"line":%d,`, line)
	if ip != "" {
		s += fmt.Sprintf(`"ip":"%s",`, ip)
	}
	return s + fmt.Sprintf(`"error":{"type":"%s",`, typ)
}

// A line is answered as the same address is on its own, or by an error of its
// own; line n is about line n.
func TestBatchLines(t *testing.T) {
	f := newAddresses(t, nil)
	single := func(path string) string { return body(t, f.get(path)) }
	city, german := single("/ip/"+cityIP), single("/ip/"+cityIP+"?fields=city.names,ip&lang=de")
	for _, tt := range []struct{ line, want string }{
		{cityIP, city},
		{"  " + cityIP + " \t\r", city},
		{`"` + cityIP + `"`, city},
		{`"\u0038\u0031.2.69.160"`, city},
		{`{"ip":"` + cityIP + `"}`, city},
		{`{"_id":7,"ip":"` + cityIP + `","fields":null}`, city},
		{`{"ip":"` + cityIP + `","fields":"city.names,ip","lang":"de"}`, german},
		{`{"ip":"` + cityIP + `","fields":["city.names","ip"],"lang":"de"}`, german},
		{`{"ip":"` + cityIP + `","lang":"de"}`, single("/ip/" + cityIP + "?lang=de")},
		{"::ffff:" + cityIP, city},
		{countryIP, single("/ip/" + countryIP)},
		{"2A00:0001:0:0:0:0:0:1", single("/ip/" + countryIP)},
		{"fe80::1%eth0", `{"line":%d,"ip":"fe80::1","error":{"type":"address-reserved"`},
		{gapIP, `{"line":%d,"ip":"99.1.2.3","error":{"type":"address-not-found"`},
		{"10.0.0.1", `{"line":%d,"ip":"10.0.0.1","error":{"type":"address-reserved"`},
		{"", ""},
		{"\x1e" + cityIP, city},
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
		{cityIP, city},
	} {
		// Alone, and as the line between others, with and without a last end.
		for _, around := range [][2]string{{"", ""}, {"", "\n"}, {cityIP + "\n" + asnIP + "\r\n", "\n" + cityIP}} {
			if tt.line == "" && around[1] == "" {
				continue // that is no line
			}
			got := batchLines(t, body(t, f.post("/ip/batch", strings.NewReader(around[0]+tt.line+around[1]))))
			n := strings.Count(around[0], "\n")
			last := n
			if strings.HasSuffix(around[1], cityIP) {
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
	// What the query asks for holds for lines that do not say.
	got := batchLines(t, body(t, f.post("/ip/batch?fields=ip", strings.NewReader(cityIP+"\n"+`{"ip":"`+cityIP+`","fields":"country.iso_code"}`+"\n"+asnIP+"\n"+`{"ip":"`+asnIP+`","lang":"de"}`))))
	if len(got) != 4 || got[3] != got[2] || got[0] != `{"ip":"81.2.69.160"}` || got[1] != `{"ip":"81.2.69.160","country":{"iso_code":"CH"}}` || got[2] != `{"ip":"9.9.9.9"}` {
		t.Errorf("fields of the query: %q", got)
	}
}

func TestBatchHeaders(t *testing.T) {
	f := newAddresses(t, nil)
	res := f.post("/ip/batch", strings.NewReader(cityIP))
	if h := res.Header; res.StatusCode != 200 || h.Get("Content-Type") != "application/x-ndjson" || h.Get("Cache-Control") != "private, no-store" ||
		h.Get("Access-Control-Allow-Origin") != "*" || h.Get(ipdatabase.Header) == "" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", res.StatusCode, h)
	}
	if res := f.post("/ip/batch", http.NoBody); res.StatusCode != 200 || body(t, res) != "" {
		t.Errorf("nothing asked: %d", res.StatusCode)
	}
	res = f.post("/ip/batch", strings.NewReader(strings.Repeat(cityIP+"\n", 500)), "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(res.Body)
	if err != nil || res.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v: %v", err, res.Header)
	}
	text, err := io.ReadAll(z)
	if err != nil || len(batchLines(t, string(text))) != 500 {
		t.Errorf("%v: %d bytes", err, len(text))
	}
	for _, method := range []string{"GET", "HEAD", "PUT"} {
		if res := f.do(method, "/ip/batch"); res.StatusCode != 405 || !strings.Contains(res.Header.Get("Allow"), "POST") {
			t.Errorf("%s: %d %v", method, res.StatusCode, res.Header)
		}
	}
	if res := f.do("OPTIONS", "/ip/batch"); res.StatusCode != 204 || !strings.Contains(res.Header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("preflight: %d %v", res.StatusCode, res.Header)
	}
}

// What is wrong with a whole batch is a status when nothing has been answered,
// and the last line otherwise.
func TestBatchRefused(t *testing.T) {
	f := newAddresses(t, func(c *Config) { c.BatchLines, c.BatchBytes = 100, 64<<10 })
	gz := packed(t, strings.Repeat(cityIP+"\n", 90))
	for _, tt := range []struct {
		name    string
		body    io.Reader
		headers []string
		status  int
		typ     string
		lines   int // answered before
	}{
		{"lines", strings.NewReader(strings.Repeat(cityIP+"\n", 101)), nil, 200, "batch-too-long", 100},
		{"bytes", strings.NewReader(strings.Repeat(strings.Repeat(" ", 8000)+"\n", 9)), nil, 200, "batch-too-long", 8},
		{"bytes in one line", strings.NewReader(strings.Repeat(" ", 100<<10)), nil, 413, "batch-too-long", 0},
		{"bomb", bytes.NewReader(packed(t, strings.Repeat(" ", 4<<20))), []string{"Content-Encoding", "gzip"}, 413, "batch-too-long", 0},
		{"not gzip", strings.NewReader(cityIP + "\n"), []string{"Content-Encoding", "gzip"}, 400, "bad-body", 0},
		{"empty gzip", strings.NewReader(""), []string{"Content-Encoding", "gzip"}, 400, "bad-body", 0},
		{"cut off gzip", bytes.NewReader(gz[:len(gz)-5]), []string{"Content-Encoding", "gzip"}, 200, "bad-body", 90},
		{"brotli", strings.NewReader("x"), []string{"Content-Encoding", "br"}, 415, "unsupported-coding", 0},
		{"two codings", bytes.NewReader(gz), []string{"Content-Encoding", "gzip, gzip"}, 415, "unsupported-coding", 0},
		{"form", strings.NewReader("x"), []string{"Content-Type", `multipart/form-data; boundary="x"`}, 415, "unsupported-type", 0},
		{"list", strings.NewReader(`["` + cityIP + `","5.6.7.8"]`), nil, 400, "bad-line", 0},
		{"empty list", strings.NewReader("[]"), nil, 400, "bad-line", 0},
		{"long list", strings.NewReader("[" + strings.Repeat(`"1.2.3.4", `, 2000) + `"1.2.3.4"]`), nil, 400, "bad-line", 0},
		{"list of objects", strings.NewReader(`[{"ip":"1.2.3.4"}]`), nil, 400, "bad-line", 0},
		{"list of lists", strings.NewReader(strings.Repeat("[", 8<<10)), nil, 400, "bad-line", 0},
		{"cut off", &cutOff{strings.NewReader(cityIP + "\n" + cityIP + "\n81.2.69.1")}, nil, 200, "bad-body", 2},
		{"cut off at once", &cutOff{strings.NewReader("81.2.69.1")}, nil, 400, "bad-body", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := f.post("/ip/batch", tt.body, tt.headers...)
			if tt.status != 200 {
				wantProblem(t, res, tt.status, tt.typ)
				return
			}
			got := batchLines(t, body(t, res))
			if res.StatusCode != 200 || len(got) != tt.lines+1 {
				t.Fatalf("%d, %d lines, want %d and an error", res.StatusCode, len(got), tt.lines)
			}
			if !strings.HasPrefix(got[tt.lines], batchError(tt.lines+1, "", tt.typ)) {
				t.Errorf("last line %s, want %s", got[tt.lines], tt.typ)
			}
		})
	}
	if got := batchLines(t, body(t, f.post("/ip/batch", bytes.NewReader(gz), "Content-Encoding", "gzip"))); len(got) != 90 || strings.Contains(strings.Join(got, ""), `"error"`) {
		t.Errorf("%d lines of a packed batch", len(got))
	}
	if got := batchLines(t, body(t, f.post("/ip/batch", strings.NewReader(strings.Repeat(cityIP+"\n", 100))))); len(got) != 100 {
		t.Errorf("%d lines at the limit", len(got))
	}
	wantProblem(t, newFixture(t, nil).post("/ip/batch", strings.NewReader(cityIP)), 404, "dataset-missing")
	wantProblem(t, f.post("/ip/batch?fields=", strings.NewReader(cityIP)), 400, "bad-parameter")
}

// cutOff is a body whose client goes away.
type cutOff struct{ r io.Reader }

func (c *cutOff) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// A store that fails is no answer to an address.
func TestBatchFailingStore(t *testing.T) {
	f := newFixture(t, nil, catalogue.IP.Name)
	f.ips.err = errors.New("secret path")
	wantProblem(t, f.post("/ip/batch", strings.NewReader("1.2.3.4\n")), 500, "internal")
	got := batchLines(t, body(t, f.post("/ip/batch", strings.NewReader("x\n1.2.3.4\n1.2.3.4\n"))))
	if len(got) != 2 || !strings.HasPrefix(got[1], batchError(2, "", "internal")) || strings.Contains(got[1], "secret") {
		t.Errorf("%q", got)
	}
}

// Batches leave room for other requests.
func TestBatchBusy(t *testing.T) {
	f := newAddresses(t, func(c *Config) { c.MaxConcurrent = 64 }) // 8 places, 2 of a client
	var hold [2]*io.PipeWriter
	done := make(chan struct{}, len(hold))
	for i := range hold {
		r, w := io.Pipe()
		hold[i] = w
		go func() { f.post("/ip/batch", r); done <- struct{}{} }()
		if _, err := io.WriteString(w, cityIP+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	wantProblem(t, f.post("/ip/batch", strings.NewReader(cityIP)), 503, "too-busy")
	if res := f.get("/ip/" + cityIP); res.StatusCode != 200 {
		t.Errorf("a single address beside them: %d", res.StatusCode)
	}
	for _, w := range hold {
		w.Close()
		<-done
	}
	if res := f.post("/ip/batch", strings.NewReader(cityIP)); res.StatusCode != 200 {
		t.Errorf("after them: %d", res.StatusCode)
	}
}

// A client that sends a line gets its answer before it sends the next, over
// HTTP/1.1 and HTTP/2, packed and not.
func TestBatchStreams(t *testing.T) {
	f := newAddresses(t, nil)
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(f.handler)
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
			go func() { _, err := io.WriteString(w, cityIP+"\n"); first <- err }()
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
				if err != nil || !strings.Contains(line, cityIP) {
					t.Fatalf("line %d: %v %s", i, err, line)
				}
				if _, err := io.WriteString(w, cityIP+"\n"); err != nil {
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

// A client that sends nothing more is told so.
func TestBatchTimeout(t *testing.T) {
	f := newAddresses(t, func(c *Config) { c.BatchTimeout = 50 * time.Millisecond })
	server := httptest.NewServer(f.handler)
	defer server.Close()
	for _, tt := range []struct{ sent, want string }{
		{cityIP + "\n81.2", "HTTP/1.1 200 "}, {"", "HTTP/1.1 408 "},
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

// A batch is from one generation, whatever is published while it runs.
func TestBatchOneGeneration(t *testing.T) {
	f := newAddresses(t, nil)
	server := httptest.NewServer(f.handler)
	defer server.Close()
	r, w := io.Pipe()
	go func() { _, _ = io.WriteString(w, cityIP+"\n") }()
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
	publishIP(t, f.catalog, true, ipRange("81.2.69.0/24", ipgeo.Record{Country: ipgeo.Country{ISOCode: "NZ"}}))
	if err := f.cfg.Addresses.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b := body(t, f.get("/ip/"+cityIP)); !strings.Contains(b, `"NZ"`) {
		t.Fatalf("the new generation does not serve: %s", b)
	}
	if _, err := io.WriteString(w, cityIP+"\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if second, err := lines.ReadString('\n'); err != nil || second != first {
		t.Errorf("%v: %s, want %s", err, second, first)
	}
}

// What a batch holds in memory does not grow with it: neither long lines nor
// many, nor many answers.
func TestBatchMemory(t *testing.T) {
	f := newAddresses(t, func(c *Config) { c.BatchBytes = 1 << 30 })
	const lines = 20_000
	long, short := append(bytes.Repeat([]byte("x"), 100<<10), '\n'), []byte(cityIP+"\n")
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
	out := &discard{header: http.Header{}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f.handler.ServeHTTP(out, req)
	runtime.ReadMemStats(&after)
	if out.bytes < lines*100 {
		t.Fatalf("%d bytes answered", out.bytes)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(out.bytes)/4 {
		t.Errorf("%d bytes allocated for %d bytes answered", n, out.bytes)
	}
}

func FuzzBatch(f *testing.F) {
	for _, seed := range []string{"1.2.3.4\n", `"1.2.3.4"` + "\r\n::1", `{"ip":"1.2.3.4","fields":["country"],"lang":"de"}`, "\n\n", "{", `{"ip":"\ud800"}`, "\x1f\x8b\x08"} {
		f.Add([]byte(seed), false)
		f.Add(packed(f, seed), true)
	}
	fix := newFixture(f, func(c *Config) { c.BatchLines, c.BatchBytes = 50, 4096 }, all...)
	f.Fuzz(func(t *testing.T, text []byte, zipped bool) {
		r := httptest.NewRequest("POST", "/ip/batch", bytes.NewReader(text))
		if zipped {
			r.Header.Set("Content-Encoding", "gzip")
		}
		w := httptest.NewRecorder()
		fix.handler.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if w.Code != 200 {
			return
		}
		got := batchLines(t, w.Body.String())
		if zipped || len(text) > 4096 {
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

// BenchmarkIPBatchAgainstSingle compares what an address costs in a batch with
// what it costs in a request of its own, over a connection kept open.
func BenchmarkIPBatchAgainstSingle(b *testing.B) {
	f := newAddresses(b, nil)
	server := httptest.NewServer(f.handler)
	defer server.Close()
	single := func(b *testing.B) float64 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		request := []byte("GET /ip/" + cityIP + "?fields=country HTTP/1.1\r\nHost: x\r\n\r\n")
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
	text := strings.Repeat(cityIP+"\n", n)
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
