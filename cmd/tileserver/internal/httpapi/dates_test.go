package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// An answer from one generation has the build time as Last-Modified, and a request with only this
// date gets a 304. Other answers have no date, and a date in the request is ignored.
func TestLastModified(t *testing.T) {
	w := servertest.NewShops(t)
	date := toyworld.Modified.Format(http.TimeFormat)
	pinned := w.Pin("{pinned}/tiles/country/5/16/11.mvt")
	gzip := []string{"Accept-Encoding", "gzip"}
	for _, c := range []struct {
		path    string
		headers []string
		status  int
		dated   bool // 304 by the date
		told    bool // Last-Modified of 200
	}{
		{"/tiles/country/6/33/22.mvt", nil, 200, true, true},
		{"/tiles/country/6/33/22.mvt", gzip, 200, true, false},
		{"/tiles/country,state/6/33/22.mlt", nil, 200, true, true},
		{"/tiles/country/6/33/22.geojson", nil, 200, true, true},
		{"/tiles/country/5/0/0.mvt", nil, 204, true, true},
		{"/tiles/country/5/16/11.png", gzip, 200, true, true},
		{"/tiles/points:shops/5/16/11.mvt", nil, 200, true, true},
		{"/tiles/points:shops,country/5/16/11.mvt", nil, 200, false, false},
		{"/tiles/country,places/5/16/11.mvt", nil, 200, false, false},
		{"/tiles/points:drivers/5/16/11.mvt", nil, 200, false, false},
		{"/tiles/points:drivers,country/5/16/11.mvt", nil, 200, false, false},
		{pinned, nil, 200, false, false},
		{"/tiles/country.json", nil, 200, false, false},
		{"/style.json", nil, 200, false, false},
		{"/sprite.png", nil, 200, false, false},
		{"/openapi.json", nil, 200, false, false},
		{"/ogc/collections/country/items?limit=2", nil, 200, false, false},
		{"/status", nil, 200, false, false},
		{"/regions/at?lat=48&lon=6", nil, 200, true, true},
		{"/regions/country/el?geometry=true", gzip, 200, true, false},
		{"/regions/country/el", nil, 200, true, true},
		{"/regions/country/zz", nil, 404, false, false},
		{"/regions/at?lat=99&lon=6", nil, 400, false, false},
		{"/places/1", nil, 200, true, true},
		{"/places/9999999", nil, 404, false, false},
		{"/places/nearby?lat=48&lon=6", nil, 200, true, true},
		{"/places/nearby?lat=48&lon=6", gzip, 200, true, false},
		{"/places/nearby?lat=48&lon=6&limit=1", gzip, 200, true, true},
		{"/points/shops/within/country/wl?limit=2", nil, 200, false, false}, // of shops and boundaries
		{"/ip/ranges?country=de", nil, 200, true, true},
		{"/ip/ranges?country=de", gzip, 200, true, false},
		{"/at?lat=48&lon=6&at=2026-07-01T12:00:00Z", nil, 200, false, false},
		{"/at?lat=48&lon=6", nil, 200, false, false},
		{"/points/shops", nil, 200, true, true},
		{"/points/shops/within?bbox=4,46,9,50&format=ndjson", nil, 200, false, false},
		{"/points/shops/nearby?lat=48&lon=6", nil, 200, true, true},
		{"/points/drivers/nearby?lat=48&lon=6", nil, 200, false, false},
		{"/points/secret", nil, 404, false, false},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			what := method + " " + c.path + " " + strings.Join(c.headers, ": ")
			lastModified := ""
			if c.told {
				lastModified = date
			}
			res := w.Do(method, c.path, c.headers...)
			if got := res.Header.Get("Last-Modified"); res.StatusCode != c.status || got != lastModified {
				t.Errorf("%s: %d, %q, want %d, %q", what, res.StatusCode, got, c.status, lastModified)
			}
			want := c.status
			if c.dated {
				want = http.StatusNotModified
			}
			again := w.Do(method, c.path, append(c.headers, "If-Modified-Since", date)...)
			if again.StatusCode != want ||
				c.dated && (again.Header.Get("Etag") != res.Header.Get("Etag") || again.Header.Get("Last-Modified") != "" ||
					servertest.Body(t, again) != "") {
				t.Errorf("%s since: %d %v, want %d", what, again.StatusCode, again.Header, want)
			}
		}
	}
	// Only reading the whole table shows that no network has this code.
	if res := w.Get("/ip/ranges?country=eu", "If-Modified-Since", date); res.StatusCode != 400 {
		t.Errorf("a refusal while reading: %d", res.StatusCode)
	}
	if res := w.Post("/at", strings.NewReader(`{"lat":48,"lon":6}`), "If-Modified-Since", date); res.StatusCode != 200 {
		t.Errorf("POST: %d", res.StatusCode)
	}
}

// publishAt publishes a generation of boundaries that was built at some time, and takes it into
// service.
func publishAt(t *testing.T, f *servertest.Server, built time.Time) {
	t.Helper()
	f.PublishAs(ask.Boundaries.Name, func(m *dataset.Manifest) {
		m.Built = built
		if old, err := f.Catalog.Current(t.Context(), ask.Boundaries.Name); err == nil {
			m.SetPredecessor(&old)
		}
	})
	f.Poll()
}

// A client that revalidates only by date never keeps an answer of another generation, neither after
// a rollback to an older generation, nor if two generations were built in the same second.
func TestDatesOfGenerations(t *testing.T) {
	now := servertest.BuildDate.Add(time.Hour)
	f := servertest.New(t, nil)
	f.Config.Now = func() time.Time { return now }
	f.Serve()
	first := servertest.BuildDate
	second, ahead := first.Add(time.Second), first.Add(2*time.Hour)
	for _, path := range []string{"/regions/at?lat=1&lon=1", "/tiles/country/1/0/0.mvt"} {
		want := func(step string, told time.Time, unchanged ...time.Time) {
			t.Helper()
			date := ""
			if !told.IsZero() {
				date = told.Format(http.TimeFormat)
			}
			if got := f.Get(path).Header.Get("Last-Modified"); got != date {
				t.Errorf("%s, %s: %q, want %q", path, step, got, date)
			}
			for _, at := range []time.Time{first, second, second.Add(time.Second), ahead} {
				status := 200
				for _, u := range unchanged {
					if u.Equal(at) {
						status = 304
					}
				}
				if res := f.Get(path, "If-Modified-Since", at.Format(http.TimeFormat)); res.StatusCode != status {
					t.Errorf("%s, %s: %d since %v, want %d", path, step, res.StatusCode, at, status)
				}
			}
		}
		rollback := func() {
			t.Helper()
			if _, err := f.Catalog.Rollback(t.Context(), ask.Boundaries.Name); err != nil {
				t.Fatal(err)
			}
			f.Poll()
		}
		publishAt(t, f, first.Add(-time.Minute))
		publishAt(t, f, first)
		want("the first", first, first)
		publishAt(t, f, second)
		want("the second", second, second)
		rollback()
		want("the first again", first, first)
		publishAt(t, f, second.Add(time.Second))
		publishAt(t, f, second.Add(time.Second))
		want("two of one second", time.Time{})
		rollback()
		want("the earlier of the two", second.Add(time.Second), second.Add(time.Second))
		publishAt(t, f, ahead)
		want("one of a clock that is ahead", time.Time{})
		now = ahead
		want("the same, later", ahead, ahead)
		now = servertest.BuildDate.Add(time.Hour)
	}
}

// If-None-Match takes precedence over If-Modified-Since, whatever their values. A text that is not
// an HTTP date is ignored.
func TestIfModifiedSince(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	const path = "/regions/at?lat=1&lon=1"
	tag, date := f.Get(path).Header.Get("Etag"), servertest.BuildDate.Format(http.TimeFormat)
	other := servertest.BuildDate.Add(-time.Hour).Format(http.TimeFormat)
	for _, c := range []struct {
		status  int
		headers []string
	}{
		{304, []string{"If-Modified-Since", date}},
		{304, []string{"If-Modified-Since", servertest.BuildDate.Format("Monday, 02-Jan-06 15:04:05 GMT")}},
		{304, []string{"If-Modified-Since", servertest.BuildDate.Format(time.ANSIC)}},
		{304, []string{"If-None-Match", tag, "If-Modified-Since", other}},
		{304, []string{"If-None-Match", tag, "If-Modified-Since", "x"}},
		{200, []string{"If-None-Match", `"x"`, "If-Modified-Since", date}},
		{200, []string{"If-None-Match", "", "If-Modified-Since", date}},
		{200, []string{"If-Modified-Since", other}},
		{200, []string{"If-Modified-Since", servertest.BuildDate.Add(time.Hour).Format(http.TimeFormat)}},
		{200, []string{"If-Modified-Since", date, "If-Modified-Since", date}},
		{200, []string{"If-Modified-Since", ""}},
		{200, []string{"If-Modified-Since", "0"}},
		{200, []string{"If-Modified-Since", "Sun, 32 Mar 2026 12:00:00 GMT"}},
		{200, []string{"If-Modified-Since", "Sun, 01 Mar 2026 12:00:00"}},
		{200, []string{"If-Modified-Since", servertest.BuildDate.Format(time.RFC3339)}},
		{200, []string{"If-Modified-Since", strings.Repeat("9", 5000)}},
	} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Add(c.headers[i], c.headers[i+1])
		}
		res := httptest.NewRecorder()
		if f.Handler.ServeHTTP(res, r); res.Code != c.status {
			t.Errorf("%.100q: %d, want %d", c.headers, res.Code, c.status)
		}
	}
}

// An answer from several collections has no single generation, so it has no date.
func TestDatesOfCollections(t *testing.T) {
	testrace.SkipUnderRace(t, "it makes pools forget, and forgetting allocates")
	w, _ := servertest.NewCollections(t)
	for _, path := range []string{"/tiles/points:shops/5/17/15.mvt", "/tiles/points:shops,points:shops_label/5/17/15.mvt"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		out := &servertest.DiscardWriter{Headers: http.Header{}}
		w.Handler.ServeHTTP(out, r)
		if n := testing.AllocsPerRun(200, func() {
			clear(out.Headers)
			w.Handler.ServeHTTP(out, r)
		}); n > 6 || (out.Headers.Get("Last-Modified") == "") != strings.Contains(path, ",") {
			t.Errorf("%s: %v allocations, %v", path, n, out.Headers)
		}
	}
}

// TestHeadersOfHotAnswers tests that frequent answers have at most eight headers, because the ninth
// would make the header map grow. For this reason compressed answers have no date.
func TestHeadersOfHotAnswers(t *testing.T) {
	w := servertest.NewShops(t)
	for _, path := range []string{"/tiles/country/6/33/22.mvt", "/tiles/country/6/33/22.geojson", "/tiles/country/5/16/11.png",
		"/regions/at?lat=48&lon=6",
		"/places/nearby?lat=48&lon=6", "/at?lat=48&lon=6", "/ip/" + toyworld.Address(42).String(), "/tiles/points:shops/5/16/11.mvt",
		"/points/shops/nearby?lat=48&lon=6"} {
		for _, coding := range []string{"identity", "gzip", "br"} {
			if res := w.Get(path, "Accept-Encoding", coding); res.StatusCode != 200 || len(res.Header) > 8 {
				t.Errorf("%s, %s: %d, %d headers: %v", path, coding, res.StatusCode, len(res.Header), res.Header)
			}
		}
	}
}
