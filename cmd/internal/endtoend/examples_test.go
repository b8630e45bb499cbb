package endtoend

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/testfile"
)

// examplesFile has the recorded answers to the examples of the interface, by operationId.
const examplesFile = "../../tileserver/internal/apidoc/examples.json"

// maxRecorded is the longest recorded answer, in bytes.
const maxRecorded = 4000

var article = regexp.MustCompile(`<article id="([^"]+)" data-method="(\w+)" data-path="[^"]*" data-request="([^"]*)" data-body="([^"]*)">`)

// TestExamples sends each example of /docs to a server with the demo's data and a little more, and
// compares the answers with the recorded ones. With -update it records them again.
func TestExamples(t *testing.T) {
	data := os.Getenv("QUADRILLE_DEMO_DATA")
	if data == "" {
		t.Skip("set QUADRILLE_DEMO_DATA to the demo's data to compare the answers to the examples of the interface")
	}
	url, key := exampleServer(t, data)
	raw := testfile.Read(t, examplesFile)
	var recorded map[string]json.RawMessage
	if err := json.Unmarshal(raw, &recorded); err != nil {
		t.Fatal(err)
	}
	_, page := send(t, http.MethodGet, url+"/docs", "", "")
	asked := 0
	for _, m := range article.FindAllStringSubmatch(page, -1) {
		id, method, request, body := m[1], m[2], html.UnescapeString(m[3]), html.UnescapeString(m[4])
		if request == "" || id == "getUsageTop" || id == "getEvents" {
			continue // on the operator's listener, and a stream without an end
		}
		asked++
		status, got := send(t, method, url+request, body, key)
		if status/100 != 2 && id != "geoip2Insights" && id != "getOwnAddress" { // no data, and an address of this machine
			t.Errorf("%s (%s): %d %.300s", request, id, status, got)
			continue
		}
		want, kept := recorded[id]
		if !kept {
			continue
		}
		now := []byte(strings.ReplaceAll(got, url, "http://127.0.0.1:8080"))
		if !json.Valid(now) { // lines
			lines, err := json.Marshal(string(now))
			if err != nil {
				t.Fatal(err)
			}
			now = lines
		}
		if *update {
			if recorded[id] = compact(t, now); len(recorded[id]) > maxRecorded {
				delete(recorded, id)
			}
		} else if !reflect.DeepEqual(lasting(t, now), lasting(t, want)) {
			t.Errorf("%s (%s) answers %s\nrecorded is %s", request, id, now, want)
		}
	}
	if asked < 70 {
		t.Errorf("only %d examples were found", asked)
	}
	if *update {
		write(t, recorded)
	}
}

// exampleServer serves the demo's data and the further data that the examples need.
func exampleServer(t *testing.T, demo string) (url, key string) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.CopyFS(data, os.DirFS(demo)); err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		testfile.Write(t, path, text)
		return path
	}
	ingest := programs.Ingester(t)
	ingest("points", "shops",
		file("shops.csv", "id,name,category,price,lat,lon\nzh-1,Bahnhof,cafe,4.5,47.3768866,8.541694\nbe-1,Zytglogge,bakery,3,46.948,7.4476\n"), "--title", "Our shops", "--data", data)
	hours := func(first string) string { return "2024 01 01 05 " + first + "\n2024 01 01 06 " + first + "\n" }
	ingest("weather", file("066700-99999-2024", hours("   60    31 10241   240    31     4 -9999 -9999")), "--data", data)
	world := filepath.Join(dir, "world.pmtiles")
	ingest("export", "tiles", "country", world, "--max-zoom", "3", "--data", data)
	const secret = "examples-key-0123456789"
	keys := file("keys", fmt.Sprintf("examples:%x write:*\n", sha256.Sum256([]byte(secret))))
	s := programs.Serve(t, "--data", data, "--live", filepath.Join(dir, "live"), "--keys", keys, "--basemap", "world="+world)
	const at = `{"type":"Feature","geometry":{"type":"Point","coordinates":[8.54,47.37]},"properties":{}}`
	for _, w := range [][2]string{
		{"/points/vans", `{"history":"720h"}`}, {"/points/vans/van-7", at}, {"/points/taxis", "{}"}, {"/points/taxis/t-7", at},
		{"/points/taxis/hooks/alarm", `{"url":"https://example.org/events","enter":["state:us-ks"]}`},
	} {
		if status, text := send(t, http.MethodPut, s.URL+w[0], w[1], secret); status/100 != 2 {
			t.Fatalf("%s: %d %s", w[0], status, text)
		}
	}
	return s.URL, secret
}

func send(t *testing.T, method, url, body, key string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// passing matches members whose values change with each build or write of the data, or each day.
var passing = regexp.MustCompile(`"(version|next|created|delivered|time|sunrise|sunset|data_updated|software_version|database_version|attempt|secret|error)":("[^"]*"|[0-9.]+)`)

// lasting decodes an answer, and sets all members that passing matches to 0.
func lasting(t *testing.T, answer []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(passing.ReplaceAll(compact(t, answer), []byte(`"$1":0`)), &v); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return v
}

func compact(t *testing.T, answer []byte) json.RawMessage {
	t.Helper()
	var flat bytes.Buffer
	if err := json.Compact(&flat, answer); err != nil {
		t.Fatal(err)
	}
	return flat.Bytes()
}

// write records the answers, one per line.
func write(t *testing.T, recorded map[string]json.RawMessage) {
	t.Helper()
	text := []byte("{")
	for i, id := range slices.Sorted(maps.Keys(recorded)) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(strconv.AppendQuote(append(text, "\n "...), id), ": "...), recorded[id]...)
	}
	testfile.Write(t, examplesFile, append(text, "\n}\n"...))
}
