package source

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// IsStdin reports whether a path means standard input. A file that standard input was redirected to
// is a file as any other.
func IsStdin(path string) bool {
	if path == "-" {
		return true
	}
	info, err := os.Stat(path)
	return slices.Contains([]string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, filepath.Clean(path)) && (err != nil || !info.Mode().IsRegular())
}

// IsStream reports whether a path means what can be read only once: standard input, or a pipe such as
// that of <(zcat x.gz).
func IsStream(path string) bool {
	info, err := os.Stat(path)
	return IsStdin(path) || err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// fetchers are the commands that write what is at an address to standard output, by its scheme.
var fetchers = map[string]string{
	"http": "curl -fL %s", "https": "curl -fL %s", "ftp": "curl -fL %s",
	"s3": "aws s3 cp --quiet %s -", "gs": "gcloud storage cat %s",
}

// RefuseAddress returns an error if a path is an address on the network. If one of the words of a command has the address,
// the error has the line to type.
func RefuseAddress(path string, command []string) error {
	scheme, rest, ok := strings.Cut(path, "://")
	if !ok || scheme == "" || rest == "" || strings.ContainsAny(scheme, `/\.*?[`) {
		return nil
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	fetch, line := fetchers[strings.ToLower(scheme)], strings.Join(command, " ")
	if fetch == "" || !strings.Contains(line, path) {
		return fmt.Errorf("%s: is an address, which is not read; fetch the file and name it", path)
	}
	return fmt.Errorf("%s: is an address, which is not read; fetch the file and name it, or type: "+fetch+" | %s", path,
		"'"+strings.ReplaceAll(path, "'", `'\''`)+"'", strings.ReplaceAll(line, path, "-"))
}
