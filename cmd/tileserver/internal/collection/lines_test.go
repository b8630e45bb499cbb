package collection

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/places/points"
)

// answer is one line of the answer; it belongs to one write.
type answer struct {
	Line    int64
	ID      string
	Status  int
	Version int64
	Type    string
	Detail  string
}

func answersIn(t testing.TB, text string) (all []answer) {
	t.Helper()
	for l := range strings.Lines(text) {
		var a answer
		if err := json.Unmarshal([]byte(l), &a); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		all = append(all, a)
	}
	return all
}

// Lines are written in their order, and a broken line does not affect the others.
func TestLines(t *testing.T) {
	s := newService(t, nil)
	l := s.make("shops", "")
	body := strings.Join([]string{
		pointFeature("a", 1, 2, `{"n":1}`),
		pointFeature("a", 3, 4, `{"n":2}`),
		`{"id":"z","delete":true,"if_mtch":"*"}`,
		`{"id":"a","patch":{"properties":{"m":3}}}`,
		`{"broken`,
		pointFeature("", 1, 2, `{}`),
		pointFeature("b", 1, 200, `{}`),
		`{"id":"c","delete":true}`,
		`{"id":"c","delete":false}`,
		`{"id":"c","delete":true,"patch":{}}`,
		`{"delete":true}`,
		strings.Repeat("x", maxBody+1),
		"{\"id\":\"\xff\",\"delete\":true}",
		pointFeature("d", 5, 6, `{"x":1,"x":2}`),
		`{"id":"d","patch":{"id":"e","ttl":5}}`,
		pointFeature("d", 5, 6, `{}`) + "\r",
		`{"id":"d","delete":true}`,
		pointFeature("e", 7, 8, `{}`),
	}, "\n")
	w := s.send(shopsKey, "POST", "/points/shops", body)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	got := answersIn(t, w.Body.String())
	want := []struct {
		status int
		id     string
	}{
		{201, "a"},
		{200, "a"},
		{400, "z"},
		{200, "a"},
		{400, ""},
		{400, ""},
		{400, "b"},
		{404, "c"},
		{400, "c"},
		{400, "c"},
		{400, ""},
		{400, ""},
		{400, ""},
		{400, "d"},
		{400, "e"},
		{201, "d"},
		{204, "d"},
		{201, "e"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d answers: %s", len(got), w.Body)
	}
	for i, a := range got {
		if a.Line != int64(i+1) || a.Status != want[i].status || a.ID != want[i].id || (a.Status < 400) != (a.Version > 0) ||
			(a.Status >= 400) != (a.Type != "" && a.Detail != "") {
			t.Errorf("line %d: %+v, want %v", i+1, a, want[i])
		}
	}
	var h feature.Feature
	if err := l.Get(t.Context(), "a", time.Time{}, &h); err != nil || h.Lat != 4 || propertiesOf(&h) != `{"n":2,"m":3}` {
		t.Errorf("%+v %s %v", h, propertiesOf(&h), err)
	}
}

// Bodies of many lines, plain and compressed, are written completely.
func TestManyLines(t *testing.T) {
	s := newService(t, nil)
	l := s.make("shops", "")
	const n = 5000
	var body bytes.Buffer
	for i := range n {
		fmt.Fprintln(&body, pointFeature(fmt.Sprint(i), float64(i%360)-180, float64(i%180)-90, `{"name":"shop"}`))
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body.Bytes()); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct{ body, coding string }{{body.String(), "identity"}, {packed.String(), "gzip"}} {
		w := s.send(shopsKey, "POST", "/points/shops", tt.body, "Content-Encoding", tt.coding)
		got := answersIn(t, w.Body.String())
		if len(got) != n {
			t.Fatalf("%d answers", len(got))
		}
		for j, a := range got {
			if a.Line != int64(j+1) || a.ID != fmt.Sprint(j) || a.Status != 201-i {
				t.Fatalf("%+v", a)
			}
		}
	}
	if count, err := l.Count(t.Context(), &feature.Query{}); err != nil || count != n {
		t.Errorf("%d points, %v", count, err)
	}
}

// A batch that is too long, or whose body is damaged, leaves the points that it has already
// written.
func TestLinesEnd(t *testing.T) {
	s := newService(t, func(_ *web.Config, _ *ask.Sets, c *Config) {
		c.Batch = web.BatchLimits{Lines: 3, Bytes: 1000, Timeout: time.Minute}
	})
	l := s.make("shops", "")
	text := func(id string) string { return pointFeature(id, 1, 2, "{}") + "\n" }
	got := answersIn(t, s.send(shopsKey, "POST", "/points/shops", text("a")+text("b")+text("c")+text("d")).Body.String())
	if len(got) != 4 || got[2].Status != 201 || got[3].Status != 413 || got[3].Type != "batch-too-long" || got[3].Line != 4 {
		t.Errorf("%+v", got)
	}
	var h feature.Feature
	if err := l.Get(t.Context(), "c", time.Time{}, &h); err != nil {
		t.Error(err)
	}
	s.want(s.send(shopsKey, "POST", "/points/shops", text("told")+strings.Repeat("x", 2000)), 413, "batch-too-long")
	if err := l.Get(t.Context(), "told", time.Time{}, &h); !errors.Is(err, points.ErrNotFound) {
		t.Errorf("a batch whose length was too much has written: %v", err)
	}
	r := httptest.NewRequest("POST", "/points/shops", io.MultiReader(strings.NewReader(text("a")+strings.Repeat("x", 2000))))
	r.Header.Set("X-Api-Key", shopsKey)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	got = answersIn(t, w.Body.String())
	if len(got) != 2 || got[0].Status != 200 || got[1].Status != 413 {
		t.Errorf("%+v", got)
	}
	s.want(s.send(shopsKey, "POST", "/points/shops", "no gzip", "Content-Encoding", "gzip"), 400, "bad-body")
	s.want(s.send(shopsKey, "POST", "/points/shops", "x", "Content-Type", "multipart/form-data; boundary=x"), 415, "unsupported-type")
	s.want(s.send(shopsKey, "POST", "/points/shops", ""), 200, "")
	if err := s.live.Drop(t.Context(), "shops"); err != nil {
		t.Fatal(err)
	}
	b := &batch{live: l, s: s.handlers, ctx: t.Context(), Batch: new(web.Batch)}
	c := &chunk{lines: []line{{number: 1}}, writes: make([]live.Write, 1)}
	if err := b.write(c); err == nil {
		t.Error("a dropped collection was written")
	}
}

// A batch without a valid write gets an error status, for programs that check only the status, and
// its body explains how to write a line. A batch with at least one answered write is not refused.
func TestNoLineTaken(t *testing.T) {
	s := newService(t, nil)
	s.make("shops", "")
	const sample = `{\"type\":\"Feature\",\"id\":`
	good, bad := pointFeature("a", 1, 2, "{}")+"\n", pointFeature("b", 1, 200, "{}")+"\n"
	for _, tt := range []struct {
		name, body, media string
		status            int
		text              string
	}{
		{"OwnTracks", `{"_type":"location","tid":"JD","lat":47.37,"lon":8.54,"tst":1764300000}`, "application/json", 400, "OwnTracks"},
		{"a Traccar client", `{"location":{"coords":{"latitude":47.4,"longitude":8.5}},"device_id":"7"}`, "application/json", 400, "Traccar"},
		{"Traccar's form", "id=7&lat=47.4&lon=8.5&timestamp=1764300000", "application/x-www-form-urlencoded", 400, "form"},
		{
			"bulk",
			`{"index":{"_index":"shops","_id":"1"}}` + "\n" + `{"name":"x","location":[8.5,47.4]}` + "\n",
			"application/x-ndjson",
			400,
			"Elasticsearch",
		},
		{"positions", `{"lat":1,"lon":2}` + "\n" + `{"lat":1,"lon":2}` + "\n", "application/x-ndjson", 400, "lat and lon"},
		{"bad lines", bad + bad, "", 400, `{"line":2,"id":"b","status":400,`},
		{"many bad lines", strings.Repeat(bad, 3*maxLines), "", 400, `{"line":3000,`},
		{"more bad lines than are kept back", strings.Repeat(bad, 30*maxLines) + good, "", 400, "None of the first "},
		{"one taken at last", strings.Repeat(bad, 3*maxLines) + good, "", 200, `{"line":3001,"id":"a","status":2`},
		{"one taken at first", good + bad, "", 200, `{"line":2,"id":"b","status":400,`},
		{"a condition that does not hold", strings.TrimSuffix(good, "}\n") + `,"if_none_match":"*"}`, "", 200, `"status":412`},
		{"nothing to delete", `{"id":"z","delete":true}`, "", 200, `"status":404`},
		{"no line", "\n\n", "", 200, ""},
	} {
		for _, withLength := range []bool{true, false} {
			var body io.Reader = strings.NewReader(tt.body)
			if !withLength {
				body = io.MultiReader(body)
			}
			r := httptest.NewRequest("POST", "/points/shops", body)
			r.Header.Set("X-Api-Key", rootKey)
			r.Header.Set("Content-Type", tt.media)
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			text := w.Body.String()
			if w.Code != tt.status || !strings.Contains(text, tt.text) || tt.media != "" && !strings.Contains(text, sample) {
				t.Errorf("%s (length told: %v): %d %.300s, want %d %s", tt.name, withLength, w.Code, text, tt.status, tt.text)
			}
			if n := strings.Count(text, "\n"); w.Header().Get("Content-Type") == "application/x-ndjson" &&
				n != len(strings.Fields(strings.ReplaceAll(tt.body, " ", ""))) {
				t.Errorf("%s: %d answers", tt.name, n)
			}
		}
	}
}

// TestRefusalsAreAnsweredAtOnce tests that a client that waits for the answer to each line also
// gets the refusals without delay.
func TestRefusalsAreAnsweredAtOnce(t *testing.T) {
	s := newService(t, nil)
	s.make("shops", "")
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	from, to := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/points/shops", from)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", shopsKey)
	go func() { _, _ = io.WriteString(to, `{"id":"a"}`+"\n") }()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := bufio.NewReader(res.Body).ReadString('\n')
	if err != nil || res.StatusCode != 200 || answersIn(t, text)[0].Status != 400 {
		t.Errorf("%d %s, %v", res.StatusCode, text, err)
	}
	if err := to.Close(); err != nil {
		t.Error(err)
	}
}

// Each line is answered before the next is sent.
func TestLinesAreAnsweredAtOnce(t *testing.T) {
	s := newService(t, nil)
	s.make("shops", "")
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	from, to := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/points/shops", from)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", shopsKey)
	sent := make(chan error, 1)
	asked := make(chan string)
	go func() {
		for l := range asked {
			if _, err := io.WriteString(to, l); err != nil {
				sent <- err
				return
			}
		}
		sent <- to.Close()
	}()
	asked <- pointFeature("0", 1, 2, "{}") + "\n"
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for i := range 20 {
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if a := answersIn(t, text)[0]; a.Line != int64(i+1) || a.Status != 201 {
			t.Fatalf("%+v", a)
		}
		if i < 19 {
			asked <- pointFeature(fmt.Sprint(i+1), 1, 2, "{}") + "\n"
		}
	}
	close(asked)
	if _, err := lines.ReadString('\n'); err != io.EOF {
		t.Errorf("the answer ends with %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func BenchmarkLines(b *testing.B) {
	s := newService(b, nil)
	s.make("shops", "")
	server := httptest.NewServer(s.handler)
	b.Cleanup(server.Close)
	const n = 20_000
	var body bytes.Buffer
	for i := range n {
		fmt.Fprintln(&body, pointFeature(fmt.Sprint("vehicle-", i), float64(i%3600)/10-180, float64(i%1800)/10-90,
			`{"line":"42","operator":"Example Transit","speed":13.5,"delay":-30,"status":"on the way"}`))
	}
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+"/points/shops", bytes.NewReader(body.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("X-Api-Key", shopsKey)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || bytes.Count(text, []byte("\n")) != n {
			b.Fatal(err, string(text[max(0, len(text)-500):]))
		}
		res.Body.Close()
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "lines/s")
}

// A condition in a line works like the header of a single write. A body that is not a batch writes
// nothing. Separators, blank lines and a byte order mark do not count as lines.
func TestLineConditions(t *testing.T) {
	s := newService(t, nil)
	l := s.make("shops", "")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a", pointFeature("a", 1, 2, `{"n":1}`)), 201, "")
	tag := strings.ReplaceAll(s.send(rootKey, "GET", "/points/shops/a", "").Header().Get("ETag"), `"`, `\"`)
	put := strings.TrimSuffix(pointFeature("a", 1, 2, `{"n":2}`), "}")
	for i, tt := range []struct {
		line   string
		status int
	}{
		{`{"id":"a","patch":{"ttl":null},"if_match":"\"v1\""}`, 412},
		{`{"id":"a","delete":true,"if_match":"\"v1\""}`, 412},
		{put + `,"if_match":"\"v1\""}`, 412},
		{put + `,"if_none_match":"*"}`, 412},
		{put + `,"if_none_match":"\"v1\""}`, 400},
		{`{"id":"a","delete":true,"if_none_match":"*"}`, 400},
		{`{"id":"a","patch":{"ttl":null},"if_match":1}`, 400},
		{`{"id":"a","patch":{"ttl":null},"if_match":""}`, 400},
		{`{"id":"a","patch":{"ttl":null},"ifMatch":"*"}`, 400},
		{`{"id":"a","patch":{"ttl":null,"if_match":"*"}}`, 400},
		{`{"id":"a","patch":{"ttl":null},"if_match":"\"v1\", ` + tag + `"}`, 200},
		{`{"id":"a","patch":{"ttl":null},"if_match":"*"}`, 200},
	} {
		got := answersIn(t, s.send(shopsKey, "POST", "/points/shops", "\ufeff\n\x1e"+tt.line+"\n\n").Body.String())
		if len(got) != 1 || got[0].Line != 2 || got[0].Status != tt.status {
			t.Errorf("%d: %s: %+v, want %d", i, tt.line, got, tt.status)
		}
	}
	for _, body := range []string{
		"id,lat,lon\nb,2,3\n" + pointFeature("b", 1, 2, "{}"), "{\n" + pointFeature("b", 1, 2, "{}")[1:],
		"[" + pointFeature("b", 1, 2, "{}") + "]",
		`{"type":"FeatureCollection","features":[` + pointFeature("b", 1, 2, "{}") + `]}`,
	} {
		s.want(s.send(shopsKey, "POST", "/points/shops", body), 400, "bad-line")
		s.want(s.send(shopsKey, "POST", "/points/shops", pointFeature("b", 1, 2, "{}"), "Content-Type", "text/csv"), 415, "unsupported-type")
	}
	for _, header := range []string{"If-Match", "If-None-Match"} { // where there is no ETag
		s.want(s.send(shopsKey, "POST", "/points/shops", pointFeature("b", 1, 2, "{}"), header, "*"), 400, "bad-parameter")
		s.want(s.send(shopsKey, "DELETE", "/points/shops", "", header, `"v1"`), 400, "bad-parameter")
	}
	s.want(s.send(shopsKey, "PUT", "/points/shops/b", `{"if_match":"*",`+pointFeature("b", 1, 2, "{}")[1:]), 400, "bad-point")
	if n, err := l.Count(t.Context(), &feature.Query{}); err != nil || n != 1 {
		t.Errorf("%d points, %v", n, err)
	}
	for header, status := range map[string]int{`*`: 412, `"v1", "v2"`: 412, `, ,`: 400, ``: 400, `"v1", *`: 400} {
		if w := s.send(shopsKey, "PUT", "/points/shops/new", pointFeature("new", 1, 2, "{}"), "If-Match", header); w.Code != status {
			t.Errorf("If-Match: %s: %d %s, want %d", header, w.Code, w.Body, status)
		}
	}
	s.want(s.send(shopsKey, "PUT", "/points/shops/a", "\ufeff"+pointFeature("a", 1, 2, "{}"), "If-Match", "*"), 200, "")
}

// A panic of a request's goroutine is raised again in the goroutine that waits for it.
func TestBeside(t *testing.T) {
	done, wait := beside(func() {})
	<-done
	wait()
	_, wait = beside(func() { panic("fault") })
	defer func() {
		if p := recover(); p != "fault" {
			t.Errorf("%v", p)
		}
	}()
	wait()
}
