package joinclient_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/ask/enrich"
	"quadrille/cmd/ingest/internal/joinclient"
	"quadrille/cmd/ingest/internal/serverclient"
	"quadrille/quadkey"
)

// server answers rows with their latitude doubled. before is called for each request, and may answer it; it returns
// after how many rows the answer breaks off, or 0.
func server(t *testing.T, columns string, before func(w http.ResponseWriter, request int) (answered bool, breakAfter int)) *serverclient.Client {
	t.Helper()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/join" {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodGet {
			fmt.Fprint(w, columns)
			return
		}
		done, breakAfter := before(w, int(requests.Add(1)))
		if done {
			return
		}
		q := r.URL.Query()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		in := bufio.NewScanner(bytes.NewReader(body))
		for n := 1; in.Scan(); n++ {
			var row map[string]any
			if err := json.Unmarshal(in.Bytes(), &row); err != nil {
				t.Error(err)
			}
			lat, _ := row[q.Get("lat")].(float64)
			out := map[string]any{q.Get("prefix") + "double": 2 * lat, q.Get("prefix") + "text": row["lat"]}
			if row[q.Get("lat")] == nil {
				out = map[string]any{q.Get("prefix") + "double": nil, q.Get("prefix") + "text": nil,
					q.Get("prefix") + "error": enrich.ReasonNoPosition + "; not a time: \"x\""}
			}
			line, err := json.Marshal(out)
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "%s\n", line)
			if n == breakAfter {
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
		}
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/base/")
	if err != nil {
		t.Fatal(err)
	}
	return &serverclient.Client{Server: u, Wait: func(context.Context, time.Duration) error { return nil }}
}

const columns = `{"columns":[{"name":"double","raw":true},{"name":"text","raw":false}],"inputs":["lat","lat"],"error":"error","max_rows":100}`

// chunk returns rows whose input is their number as text; the third has no position.
func chunk(rows int) *enrich.Chunk {
	c := &enrich.Chunk{Inputs: make([]enrich.Cells, 2)}
	for i := range rows {
		p := quadkey.Position{Lat: float64(i) / 8, Lon: 1}
		if i == 2 {
			p = enrich.NoPosition
		}
		c.Points = append(c.Points, p)
		for k := range c.Inputs {
			c.Inputs[k].Add(fmt.Sprintf("a\"%d", i))
		}
	}
	return c
}

// Every row gets its own cells, whatever breaks on the way. The input is called as a member that has positions otherwise.
func TestFill(t *testing.T) {
	for name, before := range map[string]func(w http.ResponseWriter, request int) (bool, int){
		"nothing": func(http.ResponseWriter, int) (bool, int) { return false, 0 },
		"busy": func(w http.ResponseWriter, request int) (bool, int) {
			if request%3 == 0 {
				return false, 0
			}
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return true, 0
		},
		"broken": func(_ http.ResponseWriter, request int) (bool, int) { return false, request % 60 },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := joinclient.New(t.Context(), server(t, columns, before), &enrich.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Columns(); len(got) != 2 || got[0] != (enrich.Column{Name: "double", Raw: true}) || !slices.Equal(p.Inputs(), []string{"lat", "lat"}) {
				t.Fatal(got, p.Inputs())
			}
			fill := p.Filler()
			for range 2 {
				var flaws []string
				c := chunk(250)
				c.Bad = func(row int, reason, detail string) {
					flaws = append(flaws, fmt.Sprintf("%d %s | %s", row, reason, detail))
				}
				var double, text []string
				err := fill(t.Context(), c, func(from, to int, cells []enrich.Cells) error {
					if from != len(double) || cells[0].Len() != to-from {
						t.Errorf("%d cells of %d to %d, after %d", cells[0].Len(), from, to, len(double))
					}
					for i := range to - from {
						double, text = append(double, string(cells[0].At(i))), append(text, string(cells[1].At(i)))
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				for i := range c.Points {
					wantDouble, wantText := fmt.Sprint(float64(i)/4), fmt.Sprintf("a\"%d", i)
					if i == 2 {
						wantDouble, wantText = "", ""
					}
					if double[i] != wantDouble || text[i] != wantText {
						t.Fatalf("row %d: %q and %q, want %q and %q", i, double[i], text[i], wantDouble, wantText)
					}
				}
				if len(double) != 250 || !slices.Equal(flaws, []string{`2 not a time | "x"`}) {
					t.Errorf("%d cells, %q", len(double), flaws)
				}
			}
		})
	}
}

// A row that the server refuses has empty cells, and a row without a position gets that of its text.
func TestRows(t *testing.T) {
	const columns = `{"columns":[{"name":"geocode_lat","raw":true},{"name":"geocode_lon","raw":true}],"inputs":["city"],"error":"error","max_rows":100}`
	p, err := joinclient.New(t.Context(), server(t, columns, func(w http.ResponseWriter, _ int) (bool, int) {
		fmt.Fprintln(w, `{"added_geocode_lat":47.5,"added_geocode_lon":8.5}`)
		fmt.Fprintln(w, `{"line":2,"error":{"type":"bad-line","title":"Bad","detail":"Shorten it."}}`)
		fmt.Fprintln(w, `{"added_geocode_lat":null,"added_geocode_lon":null}`)
		return true, 0
	}), &enrich.Request{Geocode: []string{"city"}})
	if err != nil {
		t.Fatal(err)
	}
	c := &enrich.Chunk{Points: []quadkey.Position{enrich.NoPosition, {Lat: 1, Lon: 2}, enrich.NoPosition}, Inputs: make([]enrich.Cells, 1)}
	for range 3 {
		c.Inputs[0].Add("x")
	}
	var got []string
	c.Bad = func(row int, reason, _ string) { got = append(got, fmt.Sprintf("%d %s", row, reason)) }
	err = p.Filler()(t.Context(), c, func(from, to int, cells []enrich.Cells) error {
		for i := range to - from {
			got = append(got, fmt.Sprintf("%d %s", from+i, cells[0].At(i)))
		}
		return nil
	})
	if want := []string{"1 the server refuses it: Shorten it", "0 47.5", "1 ", "2 "}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if c.Points[0] != (quadkey.Position{Lat: 47.5, Lon: 8.5}) || c.Points[1] != (quadkey.Position{Lat: 1, Lon: 2}) || c.Points[2].Valid() {
		t.Error(c.Points)
	}
}

func TestErrors(t *testing.T) {
	none := func(http.ResponseWriter, int) (bool, int) { return false, 0 }
	for _, columns := range []string{`{}`, `<html>`, `{"columns":[]}`} {
		if _, err := joinclient.New(t.Context(), server(t, columns, none), &enrich.Request{}); err == nil || !strings.Contains(err.Error(), "tileserver of this version") {
			t.Errorf("%s: %v", columns, err)
		}
	}
	other := server(t, columns, none)
	other.Server = other.Server.JoinPath("other")
	var refused *serverclient.RefusedError
	if _, err := joinclient.New(t.Context(), other, &enrich.Request{}); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Error(err)
	}
	for want, line := range map[string]string{
		"without double": `{"lat":1}`,
		"tried 6 times":  `{"line":1,"error":{"type":"overloaded","title":"Busy","detail":"Later."}}`,
	} {
		p, err := joinclient.New(t.Context(), server(t, columns, func(w http.ResponseWriter, _ int) (bool, int) {
			fmt.Fprintln(w, line)
			return true, 0
		}), &enrich.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Filler()(t.Context(), chunk(3), func(int, int, []enrich.Cells) error { return nil }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
