package endtoend

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
)

const referenceDoc = "../../../docs/reference.md"

// TestReference tests that docs/reference.md lists what the programs report about themselves.
// -update rewrites the file.
func TestReference(t *testing.T) {
	t.Setenv("COLUMNS", "110") // the width of --help
	data, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	if err := toyworld.Publish(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, keys, "")
	// There is a collection of points, because metrics count records, and an archive, because
	// metrics count base maps.
	mustIngest(t, data, "points", "shops", "../../../sample/shops.csv")
	world := filepath.Join(t.TempDir(), "world.pmtiles")
	mustIngest(t, data, "export", "country", world)
	s := serve(t, data, "--keys", keys, "--anonymous", "--address-limit", "100000/1m", "--live", t.TempDir(), "--basemap", world)
	for _, path := range []string{"/tiles/all/0/0/0.mvt", "/ip/1.2.3.4", "/places/search?q=a", "/nowhere"} {
		get(t, s.URL+path)
	}
	_, metrics, _ := get(t, s.URL+"/metrics")
	_, text, _ := get(t, s.URL+"/openapi.json")
	var api openAPI
	if err := json.Unmarshal([]byte(text), &api); err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{
		"errors":     api.errors(),
		"endpoints":  api.endpoints(t),
		"metrics":    metricTable(metrics),
		"tileserver": helpBlock(programs.Run(t, programs.TileServer, "--help")),
		"ingest":     helpBlock(programs.Run(t, programs.Ingest, "--help")),
	}
	b := testfile.Read(t, referenceDoc)
	page := string(b)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		first, last := "<!-- generated: "+name+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(page, first)
		_, after, ok2 := strings.Cut(rest, last)
		if !ok || !ok2 {
			t.Fatalf("docs/reference.md has no place for %s", name)
		}
		page = before + first + parts[name] + last + after
	}
	switch {
	case page == string(b):
	case *update:
		testfile.Write(t, referenceDoc, page)
	default:
		at := 0
		for at < min(len(page), len(b)) && page[at] == b[at] {
			at++
		}
		t.Errorf("docs/reference.md is not what the programs say: run go test ./cmd/internal/endtoend -run Reference "+
			"-update, and look at the difference, which begins at\n%.300s", page[at:])
	}
}

// openAPI is the part of the server's description in the reference.
type openAPI struct {
	Tags  []struct{ Name, Description string }
	Paths map[string]map[string]struct {
		Summary    string
		Tags       []string
		Parameters []struct {
			Ref      string `json:"$ref"`
			Name, In string
		}
	}
	Components struct {
		Parameters map[string]struct{ Name, In string }
		Responses  map[string]struct{ Description string }
	}
}

// stands lists the tags of services that are documented elsewhere, including their parameters.
var stands = []string{"geonames", "photon", "nominatim", "geoip2"}

// endpoints returns a list of the server's endpoints, without alternative spellings of one path.
func (api *openAPI) endpoints(t *testing.T) string {
	var b strings.Builder
	listed := 0
	for _, tag := range api.Tags {
		fmt.Fprintf(&b, "**%s.** %s\n\n| endpoint | answer |\n|---|---|\n", strings.ToUpper(tag.Name[:1])+tag.Name[1:], tag.Description)
		for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
			if further(api, path) {
				continue
			}
			for _, method := range []string{"get", "post", "put", "patch", "delete"} {
				op, ok := api.Paths[path][method]
				if !ok || op.Tags[0] != tag.Name || method != "get" && strings.HasPrefix(path, "/ip/headers") {
					continue
				}
				listed++
				var asked []string
				for _, p := range op.Parameters {
					if p.Ref != "" {
						known := api.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
						p.Name, p.In = known.Name, known.In
					}
					if p.In == "query" && p.Name != "key" && !slices.Contains(stands, tag.Name) {
						asked = append(asked, p.Name+"=")
					}
				}
				address := path
				if len(asked) > 0 {
					address += "?" + strings.Join(asked, "&")
				}
				fmt.Fprintf(&b, "| `%s %s` | %s |\n", strings.ToUpper(method), address, op.Summary)
			}
		}
		b.WriteString("\n")
	}
	if listed < 100 {
		t.Errorf("only %d endpoints are described", listed)
	}
	return b.String()
}

// further reports whether a path is an alternative spelling of a listed path.
func further(api *openAPI, path string) bool {
	for _, suffix := range []string{"/", ".php", "JSON", "/{path}"} {
		if short, ok := strings.CutSuffix(path, suffix); ok && short != "" && api.Paths[short] != nil {
			return true
		}
	}
	return false
}

var problem = regexp.MustCompile("(?m)^`([a-z0-9-]+)`: (.*)$")

// errors returns a list of the types of problems with their statuses.
func (api *openAPI) errors() string {
	type kind struct{ status, name, title string }
	seen := map[kind]bool{}
	for name, response := range api.Components.Responses {
		for _, m := range problem.FindAllStringSubmatch(response.Description, -1) {
			seen[kind{name[:3], m[1], strings.TrimSuffix(m[2], ".")}] = true // a stop ends it in the list of a description, not in answers
		}
	}
	var b strings.Builder
	b.WriteString("| status | type | title |\n|---|---|---|\n")
	for _, k := range slices.SortedFunc(maps.Keys(seen), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.status, b.status), cmp.Compare(a.name, b.name), cmp.Compare(a.title, b.title))
	}) {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", k.status, k.name, k.title)
	}
	return b.String()
}

var (
	metricHelp  = regexp.MustCompile(`(?m)^# HELP (quadrille_[a-z_]+) (.*)$`)
	metricLabel = regexp.MustCompile(`([a-z_]+)="`)
)

// metricTable returns a table of the metrics in a server's /metrics, with their labels.
func metricTable(text string) string {
	var b strings.Builder
	b.WriteString("| metric | labels | tells |\n|---|---|---|\n")
	for _, m := range metricHelp.FindAllStringSubmatch(text, -1) {
		var labels []string
		for line := range strings.Lines(text) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), "{")
			if name != m[1] && name != m[1]+"_bucket" {
				continue
			}
			for _, l := range metricLabel.FindAllStringSubmatch(rest, -1) {
				if l[1] != "le" && !slices.Contains(labels, l[1]) {
					labels = append(labels, l[1])
				}
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m[1], strings.Join(labels, ", "), strings.ReplaceAll(m[2], "|", `\|`))
	}
	return b.String()
}

// helpBlock returns the help text of a program in a code block.
func helpBlock(help string) string {
	var b strings.Builder
	b.WriteString("```\n")
	for line := range strings.Lines(strings.TrimSpace(help)) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String() + "```\n"
}
