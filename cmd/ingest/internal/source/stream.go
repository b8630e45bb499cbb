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

// RefuseAddress returns an error if a path is an address on the network. If one of the words of a command has the address,
// the error has the line to type.
func RefuseAddress(path string, command []string) error {
	scheme, rest, ok := strings.Cut(path, "://")
	if !ok || rest == "" || strings.ContainsAny(scheme, `/\.*?[`) {
		return nil
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	get, named := "curl -fL ", func(word string) bool { return strings.Contains(word, path) }
	switch strings.ToLower(scheme) {
	case "file":
		return fmt.Errorf("%s: is an address; name the file without file://", path)
	case "http", "https", "ftp", "ftps", "sftp":
	case "s3":
		get = "aws s3 cp --quiet "
	case "gs":
		get = "gcloud storage cat "
	default:
		named = func(string) bool { return false }
	}
	if !slices.ContainsFunc(command, named) {
		return fmt.Errorf("%s: is an address, which is not read; fetch the file and name it", path)
	}
	line := get + "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	if strings.HasPrefix(get, "aws") {
		line += " -"
	}
	return fmt.Errorf("%s: is an address, which is not read; fetch the file and name it, or type: %s | %s", path, line,
		strings.ReplaceAll(strings.Join(command, " "), path, "-"))
}
