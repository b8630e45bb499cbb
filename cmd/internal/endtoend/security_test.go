package endtoend

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/testfile"
)

var update = flag.Bool("update", false, "rewrite what SECURITY.md and docs/reference.md tell of the programs")

const securityDoc = "../../../SECURITY.md"

// attack is bytes sent to a server, and the response.
type attack struct {
	sort, what string
	send       string
	pause      bool // the rest of the request never comes
	want       string
	forbidden  string // must not be in the answer
}

const end = "Host: maps.example.org\r\nConnection: close\r\n\r\n"

func attacks() []attack {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	line := bytes.Repeat([]byte("8.8.8.8\n"), 1<<13)
	for range 64 {
		_, _ = z.Write(line) // to memory
	}
	_ = z.Close()
	path := func(p string) string { return "GET " + p + " HTTP/1.1\r\n" + end }
	list := []attack{
		{"Slow clients", "a header that never ends", "GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: b\r\n", true, "closed", ""},
		{
			"Slow clients",
			"a body that never comes",
			"POST /ip/batch HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n8.8",
			true,
			"408 or closed",
			"",
		},
		{"Sizes", "a header of 64 KiB", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n" + end, false, "431", ""},
		{"Sizes", "an address of 64 KiB", path("/" + strings.Repeat("x", 64<<10)), false, "431", ""},
		{"Sizes", "10,000 header fields", "GET / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 10_000) + end, false, "431", ""},
		{"Sizes", "GET with a body of 100 MB", "GET /healthz HTTP/1.1\r\nContent-Length: 99999999\r\n" + end, false, "413 body-too-large", ""},
		{
			"Sizes",
			"a batch that unpacks 1,000 : 1 beyond the limit",
			fmt.Sprintf("POST /ip/batch HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n%s%s",
				bomb.Len(), end, bomb.String()),
			false,
			"batch cut off: batch-too-long",
			"",
		},
		{
			"Forging",
			"X-Forwarded-For of a client",
			"GET /ip/me HTTP/1.1\r\nX-Forwarded-For: 20.0.1.5\r\n" + end,
			false,
			"404 address-reserved",
			"City",
		},
		{"Forging", "Forwarded of a client", "GET /ip/me HTTP/1.1\r\nForwarded: for=20.0.1.5\r\n" + end, false, "404 address-reserved", "City"},
		{"Forging", "X-Real-IP of a client", "GET /ip/me HTTP/1.1\r\nX-Real-IP: 20.0.1.5\r\n" + end, false, "404 address-reserved", "City"},
		{
			"Forging",
			"X-Forwarded-Host of a client",
			"GET /tiles/country.json HTTP/1.1\r\nX-Forwarded-Host: evil.example\r\n" + end,
			false,
			"200",
			"evil.example",
		},
		{
			"Forging",
			"a Host with markup",
			"GET /tiles/country.json HTTP/1.1\r\nHost: a\"><script>\r\nConnection: close\r\n\r\n",
			false,
			"400",
			"<script>",
		},
	}
	for _, p := range []string{
		"/../../../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", `/..\..\etc\passwd`, "/%2e%2e%5c%2e%2e%5cetc%5cpasswd",
		"//etc/passwd", "/assets/../../../../etc/passwd", "/tiles/..%2f..%2fCURRENT", "/tiles/%00/0/0/0.mvt",
		"/regions/country/..%2f..%2f", "/%c0%ae%c0%ae/etc/passwd",
		"http://127.0.0.1/../../etc/passwd",
	} {
		list = append(list, attack{"Paths", "`GET " + p + "`", path(p), false, "400 or 404 or 301 or 308", "root:"})
	}
	for _, p := range []string{"/regions/at?lat=1%0d%0aX-Evil:%201&lon=0", "/places/search?q=a%0d%0aX-Evil:%201",
		"/tiles/a%0d%0aX-Evil:%201.json", "/places/nearby?lat=0&lon=0&cursor=%0d%0aX-Evil:1", "/%0d%0aX-Evil:%201"} {
		list = append(list, attack{"Header injection", "`GET " + p + "`", path(p), false, "200 or 400 or 404", "\nX-Evil"})
	}
	list = append(list,
		attack{"Request smuggling", "Content-Length twice, different",
			"POST /ip/batch HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n" + end + "8.8.8\n", false, "400", ""},
		attack{"Request smuggling", "Content-Length and Transfer-Encoding",
			"POST /ip/batch HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n" + end +
				"0\r\n\r\nGET /status HTTP/1.1\r\n" + end, false, "one answer", ""},
		attack{"Request smuggling", "Transfer-Encoding: xchunked",
			"POST /ip/batch HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n" + end + "0\r\n\r\n", false, "501", ""},
		attack{"Request smuggling", "a space before the colon",
			"POST /ip/batch HTTP/1.1\r\nContent-Length : 5\r\n" + end + "8.8.8\n", false, "400", ""},
		attack{"Request smuggling", "a header folded over two lines",
			"GET /healthz HTTP/1.1\r\nX-A: b\r\n Transfer-Encoding: chunked\r\n" + end, false, "200 or 400", ""},
		attack{"Request smuggling", "a negative length", "POST /ip/batch HTTP/1.1\r\nContent-Length: -5\r\n" + end, false, "400", ""},
		attack{"Request smuggling", "two Hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\n" + end, false, "400", ""},
		attack{"Names from the data", "a place called `<script>…`, as JSON", path("/places/1"), false, "200", "<script>"},
		attack{"Names from the data", "the same in a list as GeoJSON", path("/places/within?bbox=-1,-1,1,1&format=geojson"), false,
			"200", "<script>"},
		attack{"Names from the data", "the same in GeoNames' form", path("/getJSON?geonameId=1"), false, "200", "<script>"},
		attack{"Names from the data", "a region with quotes and markup, in a tile", path("/tiles/country/0/0/0.geojson"), false,
			"200", "<script>"},
		attack{"Names from the data", "markup in a parameter that comes back", path("/regions/%3Cscript%3Ealert(1)%3C/script%3E/1"),
			false, "404 nosniff", "<script>"},
	)
	return list
}

var statusLine = regexp.MustCompile(`^HTTP/1\.[01] ([0-9]{3})`)

// outcome returns the table's text for a response.
func outcome(raw string) string {
	m := statusLine.FindStringSubmatch(raw)
	if m == nil {
		return "connection closed without an answer"
	}
	_, body, _ := strings.Cut(raw, "\r\n\r\n")
	var p struct{ Type string }
	_ = json.Unmarshal([]byte(body), &p) // the response may be no JSON
	text := m[1] + " " + http.StatusText(atoi(m[1]))
	if atoi(m[1]) >= 400 && p.Type != "" {
		text += ", `" + p.Type + "`"
	}
	if strings.Contains(body, `"batch-too-long"`) {
		text += ", ended by `batch-too-long`"
	}
	if strings.Contains(raw, "X-Content-Type-Options: nosniff") {
		text += ", nosniff"
	}
	return text
}

func atoi(s string) (n int) {
	_, _ = fmt.Sscan(s, &n)
	return n
}

// TestAttacks sends attacks to a server of its own and compares the responses with SECURITY.md;
// -update rewrites the table there.
func TestAttacks(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	evil := `<script>alert(1)</script>"'&`
	mustIngest(t, data, "places", writeFile(t, filepath.Join(dir, "places.txt"),
		"1\t"+evil+"\t"+evil+"\t\t0.1\t0.1\tP\tPPL\tGB\t\tENG\t\t\t\t5\t\t10\tEurope/London\t2022-03-09\n"))
	name, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	mustIngest(t, data, "boundaries", "--layer", "country="+writeFile(t, filepath.Join(dir, "c.geojson"),
		`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"code":"x","name":`+string(name)+
			`},"geometry":{"type":"Polygon","coordinates":[[[-3,-3],[3,-3],[3,3],[-3,3],[-3,-3]]]}}]}`)+":code")
	mustIngest(t, data, "ip", writeFile(t, filepath.Join(dir, "r.csv"), "20.0.0.0/8,GB,City\n"), "--columns", "network,country,city")
	s := serve(t, data, "--read-timeout", "1s", "--batch-timeout", "1s", "--batch-bytes", "64KiB", "--cache", "1MiB")
	host := strings.TrimPrefix(s.URL, "http://")

	var table strings.Builder
	last := ""
	for _, a := range attacks() {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(conn, a.send) }() // the server may close the connection early
		b, err := io.ReadAll(conn)
		conn.Close()
		if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("%s: the connection is held open", a.what)
		}
		raw := string(b)
		got := outcome(raw)
		if a.forbidden != "" && strings.Contains(raw, a.forbidden) {
			t.Errorf("%s: the answer holds %q: %.500s", a.what, a.forbidden, raw)
		}
		if strings.HasPrefix(got, "5") && !strings.HasPrefix(got, "501") {
			t.Errorf("%s: %s", a.what, got)
		}
		if strings.HasSuffix(a.want, "nosniff") && !strings.HasSuffix(got, "nosniff") {
			t.Errorf("%s: %s, want nosniff", a.what, got)
		}
		if n := strings.Count(raw, "HTTP/1.1 "); a.sort == "Request smuggling" && n > 1 {
			t.Errorf("%s: %d answers", a.what, n)
		}
		if codes := regexp.MustCompile(`[0-9]{3}`).FindAllString(a.want, -1); len(codes) > 0 && !strings.Contains(a.want, "closed") {
			ok := false
			for _, c := range codes {
				ok = ok || strings.HasPrefix(got, c)
			}
			if !ok {
				t.Errorf("%s: %s, want %s: %.300s", a.what, got, a.want, raw)
			}
		}
		if a.sort != last {
			fmt.Fprintf(&table, "| **%s** | |\n", a.sort)
			last = a.sort
		}
		fmt.Fprintf(&table, "| %s | %s |\n", strings.ReplaceAll(a.what, "|", `\|`), got)
	}
	flood(t, s, host)
	if code, body, _ := get(t, s.URL+"/readyz"); code != 200 {
		t.Errorf("after all that: %d %s", code, body)
	}
	compareDoc(t, table.String())
}

// flood opens many idle connections and tests that other requests are answered.
func flood(t *testing.T, s *programs.Server, host string) {
	t.Helper()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range 400 {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	if code, _, _ := get(t, s.URL+"/places/1"); code != 200 {
		t.Errorf("beside 400 idle connections: %d", code)
	}
	// The server closes them when the time limit for a header has passed.
	if err := conns[0].SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(conns[0]).ReadByte(); err == nil || os.IsTimeout(err) {
		t.Errorf("an idle connection: %v", err)
	}
}

func compareDoc(t *testing.T, table string) {
	t.Helper()
	b := testfile.Read(t, securityDoc)
	const first, last = "<!-- answers -->\n", "<!-- end of answers -->"
	before, rest, ok := strings.Cut(string(b), first)
	_, after, ok2 := strings.Cut(rest, last)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", securityDoc)
	}
	want := before + first + "| attack | answer |\n|---|---|\n" + table + last + after
	if want == string(b) {
		return
	}
	if !*update {
		t.Errorf("the answers are not those of SECURITY.md; look at the difference and run go test ./cmd/internal/endtoend "+
			"-run Attacks -update\n%s", table)
		return
	}
	testfile.Write(t, securityDoc, want)
}
