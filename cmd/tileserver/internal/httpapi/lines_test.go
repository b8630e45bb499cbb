package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// A body that is not a batch is refused as a whole, because of its media type or its first line.
func TestNoBatch(t *testing.T) {
	f := servertest.NewGlobe(t, nil)
	const one = `{"lat":47.4,"lon":8.5}`
	for _, tt := range []struct {
		path, kind, body string
		status           int
	}{
		{"/geocode", "text/csv", "q\nzur\n", 415},
		{"/at", "text/html", one, 415},
		{"/at", "application/xml", "<a/>", 415},
		{"/at", "application/zip", "PK", 415},
		{"/at", "application/json-patch+json", one, 415},
		{"/at", "application/merge-patch+json", one, 415},
		{"/at", "multipart/form-data; boundary=x", one, 415},
		{"/geocode", "", "q\nzur\n", 400},
		{"/geocode", "", "<html>", 400},
		{"/geocode", "", `[{"q":"zur"}]`, 400},
		{"/at", "", "[\n" + one + "\n]", 400},
		{"/at", "", "[" + one + "," + one + "]", 400},
		{"/at", "text/plain", "\n [[47.4,8.5],[47.4,8.6]]\n", 400},
		{"/at", "", "[47.4,8.5]", 400},
		{"/at", "", "[" + strings.Repeat(one+",", 5000) + one + "]", 400},
		{"/reverse", "application/json", "[ " + one + " ]", 400},
		{"/at", "", "\n\n{\n\"lat\":47.4,\n\"lon\":8.5}\n", 400},
		{"/at", "application/geo+json", `{"type":"FeatureCollection","features":[]}`, 400},
		{"/at", "", `{"features":[` + strings.Repeat(`{},`, 5000) + `{}],"type":"FeatureCollection"}`, 400},
		{"/at", "application/x-ndjson", "\ufeff" + one, 200},
		{"/at", "application/geo+json-seq", "\x1e" + one + "\n\x1e" + one + "\n", 200},
		{"/at", "application/x-www-form-urlencoded", "\n" + one, 200},
		{"/at", "application/json; charset=utf-8", one, 200},
		{"/at", "text/csv", "\ufeff47.4,8.5\n", 200},
	} {
		res := f.Post(tt.path, strings.NewReader(tt.body), "Content-Type", tt.kind)
		text := servertest.Body(t, res)
		if res.StatusCode != tt.status || tt.status == 200 && (strings.Contains(text, `"error"`) || !strings.Contains(text, "{")) {
			t.Errorf("%s %s %.40q: %d %.300s, want %d", tt.path, tt.kind, tt.body, res.StatusCode, text, tt.status)
		}
	}
}

// TestQuestionLines tests that each line of a batch gets the same answer as a single request, or an
// error of its own.
func TestQuestionLines(t *testing.T) {
	f := servertest.NewGlobe(t, nil)
	const at = "&at=2026-01-15T11:30:00Z"
	single := func(path string) string { return servertest.Body(t, f.Get(path)) }
	bad := func(typ string) string { return `{"line":%d,"error":{"type":"` + typ + `"` }
	for _, tt := range []struct{ path, line, want string }{
		{"/reverse", "47.4,8.5", single("/reverse?lat=47.4&lon=8.5")},
		{"/reverse", " 47.4 , 8.5 \t\r", single("/reverse?lat=47.4&lon=8.5")},
		{"/reverse", `{"lat":47.4,"lon":"8.5","_id":7}`, single("/reverse?lat=47.4&lon=8.5")},
		{
			"/reverse",
			`{"lat":47.4,"lon":8.5,"lang":"fr","kinds":["place","region"],"radius":1e3}`,
			single("/reverse?lat=47.4&lon=8.5&lang=fr&kinds=place,region&radius=1000"),
		},
		{"/reverse", `{"lat":47.4,"lon":8.5,"lang":null}`, single("/reverse?lat=47.4&lon=8.5")},
		{"/at?at=2026-01-15T11:30:00Z", "47.4,8.5", single("/at?lat=47.4&lon=8.5" + at)},
		{"/at", `{"lat":-60,"lon":-140,"at":"2026-01-15T11:30:00Z"}`, single("/at?lat=-60&lon=-140" + at)},
		{
			"/at?at=2020-01-15T11:30:00Z&lang=fr",
			`{"lat":47.4,"lon":8.5,"at":"2026-01-15T11:30:00Z"}`,
			single("/at?lat=47.4&lon=8.5&lang=fr" + at),
		},
		{"/geocode", `{"q":"zur"}`, single("/geocode?q=zur")},
		{"/geocode?limit=1", `{"q":"zürich","lang":"fr"}`, single("/geocode?limit=1&lang=fr&q=" + url.QueryEscape("zürich"))},
		{"/geocode", `{"q":"bern\ud800"}`, single("/geocode?q=" + url.QueryEscape("bern\ufffd"))},
		{"/geocode", "zur", bad("bad-line")},
		{"/geocode", `{"q":"\u0000"}`, bad("bad-parameter")},
		{"/geocode", `{"q":"` + strings.Repeat("a", 300) + `"}`, bad("bad-parameter")},
		{"/geocode", `{}`, bad("bad-parameter")},
		{"/geocode", `{"q":null}`, bad("bad-parameter")},
		{"/geocode", `{"q":{"q":"zur"}}`, bad("bad-parameter")},
		{"/geocode", `{"q":"a","format":"geojson"}`, bad("bad-parameter")},
		{"/at", "47.4,8.5,9", bad("bad-line")},
		{"/at", "47.4", bad("bad-line")},
		{"/at", "47.4 8.5", bad("bad-line")},
		{"/at", "nan,8.5", bad("bad-parameter")},
		{"/at", "NaN,Infinity", bad("bad-parameter")},
		{"/at", "0x1,8.5", bad("bad-parameter")},
		{"/at", ",", bad("bad-parameter")},
		{"/at", "91,0", bad("bad-parameter")},
		{"/at", `{"lat":1e999,"lon":0}`, bad("bad-parameter")},
		{"/at", `{"lat":NaN,"lon":0}`, bad("bad-line")},
		{"/at", `{"lat":true,"lon":[0]}`, bad("bad-parameter")},
		{"/at", `{"lat":1,"lon":0,"types":["planet"]}`, bad("unknown-layer")},
		{"/at", `{"lat":1,"lon":0,"types":[["country"]]}`, bad("bad-parameter")},
		{"/at", `{"lat":1,"lon":0,"types":[` + strings.Repeat(`"a",`, 99) + `"a"]}`, bad("bad-parameter")},
		{"/at", `{"lat":1,"lng":0}`, bad("bad-parameter")},
		{"/at", `{"lat":1,"lat":1,"lon":0}`, bad("bad-parameter")},
		{"/at", `{"lat":1,"lon":0,"_id":1,"_id":2}`, single("/at?lat=1&lon=0")},
		{"/at", `{"lat":1,"lon":0} {}`, bad("bad-line")},
		{"/at", `[1,2]`, bad("bad-parameter")},
		{"/at", `{"lat":1,"lon":0,"types":` + strings.Repeat("[", 8000), bad("bad-line")},
		{"/at", `{"types":` + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + "}", bad("bad-parameter")},
		{"/reverse", "", ""},
		{"/reverse", "\x1e" + `{"lat":47.4,"lon":8.5}`, single("/reverse?lat=47.4&lon=8.5")},
		{"/reverse", "\x00\xff", bad("bad-line")},
		{"/reverse", "{\"lat\":1,\"lon\":\"\xff\"}", bad("bad-line")},
		{"/reverse", strings.Repeat("1", 8<<10+1), bad("bad-line")},
		{"/reverse", strings.Repeat("x", 10<<20), bad("bad-line")},
		{"/reverse", "<script>alert(1)</script>", bad("bad-line")},
	} {
		good := map[byte]string{'a': "1,2", 'r': "1,2", 'g': `{"q":"zur"}`}[tt.path[1]]
		got := servertest.BatchLines(t, servertest.Body(t, f.Post(tt.path, strings.NewReader(good+"\n"+tt.line+"\r\n"+good))))
		if len(got) != 3 {
			t.Fatalf("%s %.80q: %d lines: %.300q", tt.path, tt.line, len(got), got)
		}
		if strings.HasPrefix(got[0], `{"line"`) || strings.HasPrefix(got[2], `{"line"`) {
			t.Errorf("%s %.80q: lines around it: %.200s, %.200s", tt.path, tt.line, got[0], got[2])
		}
		if strings.Contains(tt.want, "%d") {
			if want := fmt.Sprintf(tt.want, 2); !strings.HasPrefix(got[1], want) {
				t.Errorf("%s %.80q: %.200s, want %s", tt.path, tt.line, got[1], want)
			}
		} else if got[1] != tt.want {
			t.Errorf("%s %.80q: %s, want %s", tt.path, tt.line, got[1], tt.want)
		}
	}
}

// Batches of questions have the same limits as batches of addresses.
func TestQuestionLimits(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewGlobe(t, func(c *httpapi.Config) { c.BatchLines, c.BatchBytes = 10, 64<<10 })
	gz := string(servertest.Gzip(t, strings.Repeat("1,2\n", 9)))
	for _, tt := range []struct {
		name      string
		sent      string
		gzip, cut bool
		status    int
		typ       string
		lines     int
	}{
		{"lines", strings.Repeat("1,2\n", 11), false, false, 200, "batch-too-long", 10},
		{"bytes in one line", strings.Repeat(" ", 100<<10), false, false, 413, "batch-too-long", 0},
		{"bomb", string(servertest.Gzip(t, strings.Repeat(" ", 4<<20))), true, false, 413, "batch-too-long", 0},
		{"cut off gzip", gz[:len(gz)-5], true, false, 200, "bad-body", 9},
		{"cut off", "1,2\n1,2\n1,", false, true, 200, "bad-body", 2},
		{"cut off at once", "1,", false, true, 400, "bad-body", 0},
	} {
		for _, path := range []string{"/at", "/reverse"} {
			t.Run(path+" "+tt.name, func(t *testing.T) {
				var sent io.Reader = strings.NewReader(tt.sent)
				if tt.cut {
					sent = &servertest.CutOff{R: sent}
				}
				var headers []string
				if tt.gzip {
					headers = []string{"Content-Encoding", "gzip"}
				}
				res := f.Post(path, sent, headers...)
				if tt.status != 200 {
					servertest.WantProblem(t, res, tt.status, tt.typ)
					return
				}
				got := servertest.BatchLines(t, servertest.Body(t, res))
				if len(got) != tt.lines+1 || !strings.HasPrefix(got[len(got)-1], servertest.BatchError(tt.lines+1, "", tt.typ)) {
					t.Fatalf("%d lines, the last %s", len(got), got[len(got)-1])
				}
			})
		}
	}
	servertest.WantProblem(t, servertest.New(t, nil).Post("/reverse", strings.NewReader("1,2")), 404, "dataset-missing")
	servertest.WantProblem(t, f.Post("/reverse?radius=-1", strings.NewReader("1,2")), 400, "bad-parameter")
	servertest.WantProblem(t, f.Post("/at?lat=1", strings.NewReader("1,2")), 400, "bad-parameter")
	servertest.WantProblem(t, servertest.New(t, nil).Post("/geocode", strings.NewReader("1,2")), 404, "dataset-missing")
}

// BenchmarkLinesAgainstSingle compares the cost of a question in a batch with the cost of a single
// request, both over one connection.
func BenchmarkLinesAgainstSingle(b *testing.B) {
	f := servertest.NewGlobe(b, nil)
	server := httptest.NewServer(f.Handler)
	defer server.Close()
	for _, q := range []struct{ name, path, query, line string }{
		{"reverse", "/reverse", "lat=47.4&lon=8.5", "47.4,8.5"},
		{"at", "/at?at=2026-01-15T11:30:00Z", "at=2026-01-15T11:30:00Z&lat=47.4&lon=8.5", "47.4,8.5"},
		{"geocode", "/geocode", "q=zur", `{"q":"zur"}`},
	} {
		b.Run(q.name, func(b *testing.B) {
			path, _, _ := strings.Cut(q.path, "?")
			send := func(res *http.Response, err error) {
				if err != nil {
					b.Fatal(err)
				}
				defer res.Body.Close()
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					b.Fatal(err)
				}
			}
			const singles, lines = 1000, 10_000
			text := strings.Repeat(q.line+"\n", lines)
			var one, many time.Duration
			for b.Loop() {
				begin := time.Now()
				for range singles {
					send(server.Client().Get(server.URL + path + "?" + q.query))
				}
				one += time.Since(begin)
				begin = time.Now()
				send(server.Client().Post(server.URL+q.path, "application/x-ndjson", strings.NewReader(text)))
				many += time.Since(begin)
			}
			single := float64(one.Nanoseconds()) / singles / float64(b.N)
			batched := float64(many.Nanoseconds()) / lines / float64(b.N)
			b.ReportMetric(single, "ns/single")
			b.ReportMetric(batched, "ns/batched")
			b.ReportMetric(single/batched, "ratio")
		})
	}
}

// TestQuestionOrder tests that many lines are answered concurrently, and that answers and errors
// are in the order of the lines.
func TestQuestionOrder(t *testing.T) {
	f := servertest.NewGlobe(t, nil)
	var lines, want strings.Builder
	for i := range 500 {
		lat := fmt.Sprintf("%.2f", 46.5+float64(i)/250)
		switch {
		case i%7 == 3:
			lat = "91"
			fmt.Fprintf(&want, "{\"line\":%d,", i+1)
		case i%11 == 5:
			lines.WriteString(strings.Repeat("x", 9000))
			fmt.Fprintf(&want, "{\"line\":%d,", i+1)
		default:
			want.WriteString(strings.TrimSuffix(servertest.Body(t, f.Get("/at?lon=8.5&at=2026-01-15T11:30:00Z&lat="+lat)), "\n"))
		}
		fmt.Fprintf(&lines, "%s,8.5\n", lat)
		want.WriteByte('\n')
	}
	for range 3 {
		res := f.Post("/at?at=2026-01-15T11:30:00Z", strings.NewReader(lines.String()))
		got, expected := strings.Split(servertest.Body(t, res), "\n"), strings.Split(want.String(), "\n")
		if len(got) != len(expected) {
			t.Fatalf("%d lines, want %d", len(got), len(expected))
		}
		for i := range got {
			if !strings.HasPrefix(got[i], expected[i]) {
				t.Fatalf("line %d: %.200s, want %.200s", i+1, got[i], expected[i])
			}
		}
	}
}

// TestQuestionFailures tests that a batch whose first line fails gets an error status, however much
// of it has been read. If a later line fails, the answer ends with the error.
func TestQuestionFailures(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	g.Boundaries.ReadErr = cellstore.ErrUnavailable
	servertest.WantProblem(t, g.Post("/at", strings.NewReader(strings.Repeat("47.4,8.5\n", 30))), 503, "dataset-unavailable")
	got := servertest.BatchLines(t, servertest.Body(t, g.Post("/at", strings.NewReader("x\n"+strings.Repeat("47.4,8.5\n", 30)))))
	if len(got) != 2 || !strings.HasPrefix(got[1], servertest.BatchError(2, "", "dataset-unavailable")) {
		t.Errorf("%q", got)
	}
}
