package endtoend

import (
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/testfile"
)

// block is a shell block of a page.
type block struct {
	page   string
	line   int // of its first command
	text   string
	answer *answer
	skip   *string // why it is not run
}

// answer is the block right after a shell block. It shows the output of the last command.
type answer struct{ kind, text string }

var notRun = regexp.MustCompile(`^<!-- not run:(.*)-->$`)

// shellBlocks finds the sh blocks of a page. The line before one may say why it is not run,
// and a json or text block right after it is the answer of its last command.
func shellBlocks(page, text string) []block {
	var blocks []block
	lines := strings.Split(text, "\n")
	last, end := -1, 0 // the block that an answer would be of, and where it ended
	for i := 0; i < len(lines); i++ {
		language, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			continue
		}
		length := slices.IndexFunc(lines[i+1:], func(line string) bool { return strings.HasPrefix(line, "```") })
		if length < 0 {
			length = len(lines) - i - 1
		}
		content := strings.Join(lines[i+1:i+1+length], "\n")
		follows := last >= 0 && strings.TrimSpace(strings.Join(lines[end:i], "")) == ""
		switch {
		case language == "sh":
			b := block{page: page, line: i + 2, text: content}
			if i > 0 {
				if m := notRun.FindStringSubmatch(lines[i-1]); m != nil {
					reason := strings.TrimSpace(m[1])
					b.skip = &reason
				}
			}
			blocks = append(blocks, b)
			last = len(blocks) - 1
		case follows && (language == "json" || language == "text"):
			blocks[last].answer = &answer{language, content}
			last = -1
		default:
			last = -1
		}
		i += length + 1
		end = i + 1
	}
	return blocks
}

// pages returns README.md and the pages of docs/.
func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(list) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	return append([]string{"../../../README.md"}, list...)
}

// Every shell block of README.md and docs/*.md has the result that the page shows. The blocks of a
// page run in one session, in a copy of a clone after make demo. Blocks that cannot run there give
// the reason.
func TestDocuments(t *testing.T) {
	all := map[string][]block{}
	skipped := 0
	for _, path := range pages(t) {
		text := testfile.Read(t, path)
		page := strings.TrimPrefix(filepath.ToSlash(path), "../../../")
		for _, b := range shellBlocks(page, string(text)) {
			switch {
			case b.skip == nil:
				all[page] = append(all[page], b)
			case *b.skip == "":
				t.Errorf("%s:%d is not run, and does not say why", page, b.line)
			default:
				skipped++
				t.Logf("%s:%d is not run: %s", page, b.line, *b.skip)
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("no page has a shell block that is run")
	}
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the pages need %s", program)
		}
	}
	clone := newClone(t, demoData(t))
	for _, page := range slices.Sorted(maps.Keys(all)) {
		t.Run(page, func(t *testing.T) {
			t.Parallel() // most of the time they wait for servers
			for _, wrong := range runPage(t, clone.fresh(t), clone.tools, all[page]) {
				t.Error(wrong)
			}
		})
	}
}

var (
	askedAddress = regexp.MustCompile(`http://127\.0\.0\.1:8080(/[^\s'"\\]*)`)
	basePath     = regexp.MustCompile(`--base-path[ =](\S+)`)
)

// The server knows all paths that documentation pages request, even without data.
func TestAddressesOnPages(t *testing.T) {
	s := serve(t, t.TempDir(), "--live", t.TempDir())
	tried := 0
	for _, path := range pages(t) {
		text := testfile.Read(t, path)
		base := ""
		for _, b := range shellBlocks(path, string(text)) {
			if m := basePath.FindStringSubmatch(b.text); m != nil {
				base = m[1]
			}
			for _, m := range askedAddress.FindAllStringSubmatch(b.text, -1) {
				tried++
				address := s.URL + strings.NewReplacer("[", "", "]", "").Replace(strings.TrimPrefix(m[1], base))
				if status, answer, _ := get(t, address); status == http.StatusNotFound && strings.Contains(answer, `"type":"not-found"`) {
					t.Errorf("%s:%d: %s: %s", path, b.line, m[1], answer)
				}
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d addresses on the pages", tried)
	}
}

// demoData returns the directory of the demo's data in QUADRILLE_DEMO_DATA, or builds the data from
// the sample's packages. The build takes minutes, so short tests skip it.
func demoData(t *testing.T) string {
	t.Helper()
	if data := os.Getenv("QUADRILLE_DEMO_DATA"); data != "" {
		return data
	}
	if _, err := os.Stat("../../../sample/build/timezones.json"); err != nil || testing.Short() {
		t.Skip("the pages were not run: set QUADRILLE_DEMO_DATA to the demo's data, or run make sample and this test without -short")
	}
	data := t.TempDir()
	programs.Run(t, programs.Ingest, "demo", "--sample", "../../../sample", "--data", data)
	return data
}

// clone is shared by the sessions of all pages.
type clone struct{ root, bin, tools, data string }

// made replaces the command make on the pages, because its targets already exist.
const made = `#!/bin/sh
for target; do
  case $target in
  build|page|sample|demo-data) ;;
  demo) exec bin/tileserver ;;
  *) echo "make $target has nothing that stands for it in this test" >&2; exit 2 ;;
  esac
done
`

func newClone(t *testing.T, data string) *clone {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	data, err = filepath.Abs(data)
	if err != nil {
		t.Fatal(err)
	}
	c := &clone{root: root, bin: filepath.Dir(programs.Path(t, programs.Ingest)), tools: t.TempDir(), data: data}
	programs.Path(t, programs.TileServer)
	if err := os.WriteFile(filepath.Join(c.tools, "make"), []byte(made), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return c
}

// fresh returns a directory like a clone after make demo. The repository's files are links, and the
// data can be changed.
func (c *clone) fresh(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	link := func(from, to string, except ...string) {
		entries, err := os.ReadDir(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if slices.Contains(except, e.Name()) {
				continue
			}
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	link(c.root, dir, ".git", "bin", "data", "downloads", "live", "sample")
	link(filepath.Join(c.root, "sample"), filepath.Join(dir, "sample"))
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{programs.Ingest, programs.TileServer} {
		if err := os.Symlink(filepath.Join(c.bin, name), filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyData(c.data, filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copyData copies a directory of data sets. The large files of generations never change, so they
// become links where possible.
func copyData(from, to string) error {
	const large = 1 << 20
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() >= large && os.Link(path, target) == nil {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, b, 0o600)
	})
}

// commands splits a block into its commands as bash parses them.
func commands(bash string, text string) []string {
	var list []string
	begun := ""
	for line := range strings.Lines(text) {
		begun += line
		if strings.TrimSpace(begun) == "" ||
			strings.HasPrefix(strings.TrimSpace(begun), "#") && !strings.Contains(strings.TrimSpace(begun), "\n") {
			list, begun = append(list, begun), ""
			continue
		}
		check := exec.Command(bash, "-n")
		check.Stdin = strings.NewReader(begun)
		// Shells report a missing end of a here-document as an error or a warning.
		out, err := check.CombinedOutput()
		if err == nil && len(out) == 0 && !strings.HasSuffix(strings.TrimRight(begun, "\n"), "\\") {
			list, begun = append(list, begun), ""
		}
	}
	if begun != "" {
		list = append(list, begun)
	}
	return slices.DeleteFunc(list, func(c string) bool {
		c = strings.TrimSpace(c)
		return c == "" || strings.HasPrefix(c, "#") && !strings.Contains(c, "\n")
	})
}

// lineOf returns the line on the page at which a command of a block begins.
func (b *block) lineOf(command string) int {
	before, _, _ := strings.Cut(b.text, strings.TrimRight(command, "\n"))
	return b.line + strings.Count(before, "\n")
}
