package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
)

func document(t *testing.T, path ...string) string {
	t.Helper()
	b := testfile.Read(t, filepath.Join(append([]string{"..", ".."}, path...)...))
	return string(b)
}

var (
	metricType = regexp.MustCompile(`(?m)^# TYPE ([a-z_0-9]+) `)
	metricName = regexp.MustCompile(`\b(?:quadrille|go|process)_[a-z_]+`)
	labelName  = regexp.MustCompile(`[{,]([a-z_]+)="`)
	asked      = regexp.MustCompile(`by \(([a-z_, ]+)\)|[{,]([a-z_]+)=~?\\*"`)
)

// The server has all metrics, labels and routes that the alerts and the dashboard use.
func TestWatched(t *testing.T) {
	data, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	publish(t, data)
	testfile.Write(t, keys, "")
	url, _, _ := start(t, "--data", data, "--keys", keys, "--live", t.TempDir())
	for _, path := range []string{"/ip/8.8.8.8", "/tiles/country/0/0/0.mvt"} { // refused
		fetch(t, url+path)
	}
	_, text := fetch(t, url+"/metrics")
	cert, key := dated(t, -time.Hour, time.Hour)
	_, log, _ := start(t, "--data", t.TempDir(), "--tls-cert", cert, "--tls-key", key, "--admin-listen", "127.0.0.1:0")
	_, secure := fetch(t, adminOf(t, log)+"/metrics")
	text += secure
	served, labels := map[string]bool{}, map[string]bool{"job": true, "instance": true}
	for _, m := range metricType.FindAllStringSubmatch(text, -1) {
		served[m[1]] = true
	}
	for _, m := range labelName.FindAllStringSubmatch(text, -1) {
		labels[m[1]] = true
	}
	if len(served) < 30 {
		t.Fatalf("only %d families are served:\n%s", len(served), text)
	}
	for _, file := range []string{"quadrille-alerts.yaml", "grafana-dashboard.json"} {
		watching := document(t, "deploy", file)
		names := metricName.FindAllString(watching, -1)
		if len(names) < 10 {
			t.Errorf("%s looks at only %q", file, names)
		}
		for _, name := range names {
			if !served[name] && !served[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s looks at %s, which is not served", file, name)
			}
		}
		for _, m := range asked.FindAllStringSubmatch(watching, -1) {
			for label := range strings.SplitSeq(m[1]+m[2], ", ") {
				if !labels[label] {
					t.Errorf("%s looks at the label %s, which is not served", file, label)
				}
			}
		}
	}
	if _, after, ok := strings.Cut(document(t, "deploy", "quadrille-alerts.yaml"), `route="`); !ok {
		t.Error("no alert of a route")
	} else if route, _, _ := strings.Cut(after, `"`); !strings.Contains(text, `route="`+route+`"`) {
		t.Errorf("an alert looks at the route %s, which is not served", route)
	}
}

// The dashboard is valid for Grafana: its panels have unique numbers and do not overlap, and each
// queries the data source that the reader chose.
func TestDashboard(t *testing.T) {
	var board struct {
		Panels []struct {
			ID          int
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, RefID string }
			Datasource  struct{ UID string }
		}
		Templating struct{ List []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(document(t, "deploy", "grafana-dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("%s: the number %d is another's", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s at %d, %d lies on %q, or outside", p.Title, x, y, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%s asks %d things of %s", p.Title, len(p.Targets), p.Datasource.UID)
		}
		for _, target := range p.Targets {
			if strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") || target.RefID == "" {
				t.Errorf("%s asks %q as %q", p.Title, target.Expr, target.RefID)
			}
			for _, v := range regexp.MustCompile(`\$([a-z]+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !slices.ContainsFunc(board.Templating.List, func(known struct{ Name string }) bool { return known.Name == v[1] }) {
					t.Errorf("%s uses the variable %s, which the dashboard lacks", p.Title, v[1])
				}
			}
		}
	}
}
