package static_test

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"quadrille/static"
)

// page returns the built page's files and its index.html, or skips.
func page(t *testing.T) (fs.FS, string) {
	t.Helper()
	files, built := static.FS()
	if !built {
		t.Skip("the map page is not built: run npm ci and npm run build in static/leaflet")
	}
	index, err := fs.ReadFile(files, "index.html")
	if err != nil {
		t.Fatal(err)
	}
	return files, string(index)
}

func TestFSHasItsReadmeEvenUnbuilt(t *testing.T) {
	files, _ := static.FS()
	if _, err := fs.Stat(files, "README.md"); err != nil {
		t.Fatalf("leaflet/dist/README.md keeps the folder under version control and the embed pattern valid: %v", err)
	}
}

func TestPageRefersToHashedFilesItHas(t *testing.T) {
	files, index := page(t)
	hashed := regexp.MustCompile(`^assets/[a-z]+-[A-Z0-9]{8}\.(js|css|svg)$`)
	seen := map[string]bool{}
	for _, match := range regexp.MustCompile(`<(?:link|script|img)\s[^>]*(?:src|href)="([^"]+)"`).FindAllStringSubmatch(index, -1) {
		name := match[1]
		if !hashed.MatchString(name) {
			t.Errorf("index.html refers to %q, want a hashed name under assets/", name)
		}
		if _, err := fs.Stat(files, name); err != nil {
			t.Errorf("index.html refers to a file that is not there: %v", err)
		}
		seen[path.Ext(name)] = true
	}
	for _, ext := range []string{".js", ".css", ".svg"} {
		if !seen[ext] {
			t.Errorf("index.html refers to no %s file", ext)
		}
	}
}

func TestPageKeepsToAStrictContentSecurityPolicy(t *testing.T) {
	files, index := page(t)
	for what, pattern := range map[string]string{
		"an inline script":                `<script(?:\s[^>]*)?>[^<]`,
		"an inline style sheet":           `<style`,
		"a style attribute":               `\sstyle\s*=`,
		"an event handler attribute":      `\son[a-z]+\s*=`,
		"something from another server":   `(?:src|href)="(?:[a-z]+:)?//`,
		"a placeholder of the build step": `%[\w./]+%`,
	} {
		if found := regexp.MustCompile(pattern).FindString(index); found != "" {
			t.Errorf("index.html has %s: %q", what, found)
		}
	}
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".css" {
			return err
		}
		css, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		for _, match := range regexp.MustCompile(`url\(\s*["']?([^"')]+)`).FindAllSubmatch(css, -1) {
			target := string(match[1])
			if strings.HasPrefix(target, "#") { // Leaflet's VML rule for browsers long gone
				continue
			}
			if _, err := fs.Stat(files, path.Join("assets", target)); err != nil {
				t.Errorf("%s loads %q, which is not there: %v", name, target, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPageCarriesTheLicencesOfWhatItBundles(t *testing.T) {
	files, _ := page(t)
	texts, err := fs.ReadFile(files, "licenses.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"leaflet ", "@mapbox/vector-tile ", "@mapbox/point-geometry ", "pbf "} {
		if !strings.Contains("\n"+string(texts), "\n"+name) {
			t.Errorf("licenses.txt does not name %q", strings.TrimSpace(name))
		}
	}
	if strings.Contains(string(texts), "esbuild") {
		t.Error("licenses.txt names the bundler, which is not part of the page")
	}
}

func TestPackedFilesAreThoseTheyLieBeside(t *testing.T) {
	files, _ := page(t)
	packed, err := fs.Glob(files, "assets/*.br")
	if err != nil || len(packed) == 0 {
		t.Fatalf("the page has %d packed files, %v, want some", len(packed), err)
	}
	for _, name := range packed {
		want, err := fs.ReadFile(files, strings.TrimSuffix(name, ".br"))
		if err != nil {
			t.Errorf("%s is packed from nothing: %v", name, err)
			continue
		}
		small, err := files.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(brotli.NewReader(small))
		if _ = small.Close(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s holds %d bytes, %v, want the %d of the file it is packed from", name, len(got), err, len(want))
		}
	}
}
