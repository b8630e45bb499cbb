package points

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/liveclient"
	"quadrille/cmd/ingest/internal/serverclient"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/testfile"
)

// mirror keeps points like a live collection of tileserver, with their versions.
type mirror struct {
	mu     sync.Mutex // a client that repeats a request may do so before the first one has ended
	points map[string]int64
	refuse string        // the id of a point that is refused
	listed func(*mirror) // called after a list
	breaks int           // answers to cut off after their first line
	writes int           // lines
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/within") {
		const page = 3
		ids := slices.Sorted(maps.Keys(m.points))
		from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		var list []string
		for _, id := range ids[from:min(from+page, len(ids))] {
			list = append(list, fmt.Sprintf(`{"id":%q,"lat":1,"lon":2,"version":%d,"properties":{}}`, id, m.points[id]))
		}
		next := ""
		if from+page < len(ids) {
			next = fmt.Sprintf(`,"next":"%d"`, from+page)
		} else if m.listed != nil {
			defer m.listed(m)
		}
		fmt.Fprintf(w, `{"points":[%s]%s}`, strings.Join(list, ","), next)
		return
	}
	if r.Method == http.MethodGet {
		fmt.Fprint(w, `{"name":"mine","schema":[]}`)
		return
	}
	in := bufio.NewScanner(r.Body)
	for n := 1; in.Scan(); n++ {
		var line struct {
			ID      string
			Delete  bool
			IfMatch string `json:"if_match"`
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			panic(err)
		}
		m.writes++
		status := 200
		version, there := m.points[line.ID]
		switch {
		case line.ID == m.refuse:
			status = 400
		case !line.Delete:
			m.points[line.ID] = version + 1
		case !there:
			status = 404
		case line.IfMatch != fmt.Sprintf(`"v%d"`, version):
			status = 412
		default:
			delete(m.points, line.ID)
		}
		if m.breaks > 0 && n == 2 {
			m.breaks--
			panic(http.ErrAbortHandler)
		}
		typ := map[int]string{400: "bad-point", 404: "point-not-found", 412: "precondition-failed"}[status]
		fmt.Fprintf(w, `{"line":%d,"status":%d,"type":%q,"detail":"No."}`+"\n", n, status, typ)
		_ = http.NewResponseController(w).Flush()
	}
}

func (m *mirror) into(t *testing.T, of Collection, file string, o job.Options) error {
	t.Helper()
	server := httptest.NewServer(m)
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	of.Name, of.Replace = "mine", true
	return IntoLive(t.Context(), of, []string{testfile.WriteTemp(t, "a.csv", file)}, liveclient.Target{
		Collection: "mine",
		Client:     serverclient.Client{Server: u, Wait: func(context.Context, time.Duration) error { return nil }},
	}, o)
}

// TestReplace tests that a live collection has the ids of the file afterwards, whatever both had before.
func TestReplace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringMatching(`[a-e"é ]{1,3}`).Filter(func(s string) bool { return strings.TrimSpace(s) == s }), func(s string) string { return s })
		before, file := ids.Draw(rt, "before"), ids.Draw(rt, "file")
		m := &mirror{points: map[string]int64{}, breaks: rapid.IntRange(0, 2).Draw(rt, "breaks")}
		for i, id := range before {
			m.points[id] = int64(i)
		}
		text := "id,lat,lon\n"
		for _, id := range file {
			text += `"` + strings.ReplaceAll(id, `"`, `""`) + "\",1,2\n"
		}
		rep := &jobtest.Recorder{}
		if err := m.into(t, Collection{AllowEmpty: true}, text, job.Options{Reporter: rep}); err != nil {
			rt.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(m.points)); !slices.Equal(got, slices.Sorted(slices.Values(file))) {
			rt.Fatalf("%q, want %q", got, file)
		}
		gone := len(slices.DeleteFunc(slices.Clone(before), func(id string) bool { return slices.Contains(file, id) }))
		if note := rep.Notes[len(rep.Notes)-1]; !strings.HasSuffix(note, fmt.Sprintf("; removed %d points that the files lack", gone)) {
			rt.Fatal(note)
		}
	})
}

// A point that others write meanwhile stays, even if the file lacks it, and is told.
func TestReplaceKeepsWhatIsWrittenMeanwhile(t *testing.T) {
	m := &mirror{points: map[string]int64{"a": 1, "b": 1, "c": 1}}
	m.listed = func(m *mirror) { m.points["b"], m.points["new"] = 2, 1 }
	rep := &jobtest.Recorder{}
	if err := m.into(t, Collection{}, "id,lat,lon\na,1,2\n", job.Options{Reporter: rep}); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(m.points)); strings.Join(got, " ") != "a b new" {
		t.Errorf("%q", got)
	}
	if note := rep.Notes[len(rep.Notes)-1]; !strings.HasSuffix(note, "removed 1 points that the files lack; 1 more stay, for they were written meanwhile") {
		t.Error(note)
	}
}

// Nothing is removed if a record may be missing, or too much would go.
func TestReplaceRefuses(t *testing.T) {
	half := 0.5
	for name, tc := range map[string]struct {
		file, refuse string
		most         *float64
		writes       int
		want         string
	}{
		"a bad record":   {"id,lat,lon\na,1,2\nb,x,2\n", "", nil, 0, "1 of 2 records are left out"},
		"no position":    {"id,lat,lon\na,1,2\nb,,\n", "", nil, 0, "1 of 2 records are left out"},
		"an empty file":  {"id,lat,lon\n", "", nil, 0, "the files hold no points"},
		"too many":       {"id,lat,lon\na,1,2\n", "", &half, 0, "of 3 points of the live collection mine the files lack 2, which is 66.7%, and --max-change allows 50%"},
		"refused points": {"id,lat,lon\na,1,2\nb,1,2\n", "b", &half, 2, "none of the 1 points that the files lack was removed"},
	} {
		m := &mirror{points: map[string]int64{"a": 1, "b": 1, "c": 1}, refuse: tc.refuse}
		err := m.into(t, Collection{}, tc.file, job.Options{MaxBad: 0.9, MaxChange: tc.most})
		if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, job.ErrChanged) != (name == "too many") {
			t.Errorf("%s: %v", name, err)
		}
		if len(m.points) != 3 || m.writes != tc.writes {
			t.Errorf("%s: %v after %d lines", name, m.points, m.writes)
		}
	}
}

// Files without points are an empty collection if that is allowed, of every format, with the declared
// types.
func TestAllowEmpty(t *testing.T) {
	ids := map[string]string{"[]": "ref"} // a list of records without any has no columns
	for _, text := range []string{"id,lat,lon\n", "id;lat;lon;price\n", `{"type":"FeatureCollection","features":[]}`, "[]"} {
		c, path := jobtest.Catalog(t), testfile.WriteTemp(t, "none", text)
		if _, err := Ingest(t.Context(), c, Collection{Name: "mine"}, []string{path}, job.Options{}); err == nil ||
			!strings.Contains(err.Error(), "--allow-empty") {
			t.Errorf("%s: %v", text, err)
		}
		rep := &jobtest.Recorder{}
		m, err := Ingest(t.Context(), c, Collection{Name: "mine", AllowEmpty: true, Told: columns.Told{ID: ids[text]}}, []string{path}, job.Options{Reporter: rep})
		if err != nil || m.Records["points"] != 0 || !slices.ContainsFunc(rep.Notes, func(note string) bool {
			return strings.Contains(note, "the collection mine gets none")
		}) {
			t.Errorf("%s: %v, %v, %q", text, m.Records, err, rep.Notes)
		}
		if err == nil {
			if n := openPoints(t, c, "mine").Meta().Points; n != 0 {
				t.Error(n)
			}
		}
	}
}
