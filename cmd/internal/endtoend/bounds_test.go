package endtoend

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
)

// told lists the limits in the words of the documentation pages. Each has the file and the name of
// the constant that holds the number.
var told = []struct {
	words     *regexp.Regexp
	constants []string
}{
	{regexp.MustCompile(`at most ([\d,]+) characters`), []string{"places/search/query.go MaxQueryChars"}},
	{
		regexp.MustCompile(`at most ([\d,]+) seeks and look at ([\d,]+) names`),
		[]string{"ask/geocoder/geocoder.go maxSeeks", "ask/geocoder/geocoder.go maxNames"},
	},
	{regexp.MustCompile(`at most ([\d,]+) values`), []string{"cmd/tileserver/internal/photon/params.go maxRepeated"}},
	{regexp.MustCompile(`at most ([\d,]+) types, layers and columns`), []string{"cmd/tileserver/internal/join/endpoints.go maxNames"}},
	{regexp.MustCompile(`at most (1) GiB; a file with larger row groups`), nil}, // geoparquet's maxOpen, in bytes
	{regexp.MustCompile(`At most ([\d,]+) columns, 4 MiB of values a row`), []string{"cmd/ingest/internal/source/workbook/workbook.go maxColumns"}},
	{regexp.MustCompile(`at most (64) MiB and 1,000 columns, of 256 KiB each`), nil}, // jsonrecords' maxRecord, in bytes
	{regexp.MustCompile(`at most ([\d,]+) rows and about 1 MiB`), []string{"cmd/internal/geoparquet/geoparquet.go maxGroupRows"}},
	{regexp.MustCompile(`at most ([\d,]+): vector tiles`), []string{"tiles/columns.go MaxColumns"}},
	{regexp.MustCompile(`at most ([\d,]+), and about ([\d,]+) bytes a region`), []string{"tiles/columns.go MaxColumns", "cmd/ingest/internal/job/boundaries/tileproperties.go maxMeanBytes"}},
	{regexp.MustCompile(`at most ([\d,]+) pixels a side`), []string{"cmd/tileserver/internal/tile/static.go maxSide"}},
	{regexp.MustCompile(`at most ([\d,]+) fences`), []string{"ask/fence/fence.go MaxFences"}},
	{
		regexp.MustCompile(`at most ([\d,]+) hooks of ([\d,]+) fences each`),
		[]string{"cmd/tileserver/internal/webhook/webhook.go MaxHooks", "ask/fence/fence.go MaxFences"},
	},
}

var atMost = regexp.MustCompile(`(?i)\bat most [\d][\d,.]*`)

// TestBoundsOnPages tests that the bounds that pages of the documentation name equal the constants
// of the programs.
func TestBoundsOnPages(t *testing.T) {
	for _, path := range pages(t) {
		text := testfile.Read(t, path)
		page := strings.Join(strings.Fields(string(text)), " ") // lines are broken anywhere
		for _, at := range atMost.FindAllStringIndex(page, -1) {
			known := false
			for _, bound := range told {
				m := bound.words.FindStringSubmatch(page[at[0]:min(len(page), at[0]+200)])
				if m == nil || !strings.HasPrefix(page[at[0]:], m[0]) {
					continue
				}
				known = true
				for i, name := range bound.constants {
					if got, want := strings.ReplaceAll(m[i+1], ",", ""), constantOf(t, name); got != want {
						t.Errorf("%s says %q, and %s is %s", path, m[0], name, want)
					}
				}
			}
			if !known {
				t.Errorf("%s says %q: add the constant that it is to the table of this test", path, page[at[0]:min(len(page), at[1]+40)])
			}
		}
	}
}

// constantOf returns the value of a constant, named by its file and its own name.
func constantOf(t *testing.T, fileAndName string) string {
	t.Helper()
	path, name, _ := strings.Cut(fileAndName, " ")
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, filepath.Join("../../..", path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	value := ""
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return true
		}
		for i, id := range spec.Names {
			if id.Name != name {
				continue
			}
			v, err := types.Eval(files, nil, token.NoPos, types.ExprString(spec.Values[i]))
			if err != nil {
				t.Fatalf("%s: %v", fileAndName, err)
			}
			if n, exact := constant.Int64Val(constant.ToInt(v.Value)); exact {
				value = strconv.FormatInt(n, 10)
			}
		}
		return true
	})
	if value == "" {
		t.Fatalf("there is no constant %s", fileAndName)
	}
	return value
}
