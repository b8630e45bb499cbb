package hbasetest

import (
	"context"
	"crypto/sha256"
	_ "embed" // the files of testdata
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrMissing: HBase cannot run here. The error that wraps it names the missing part.
var ErrMissing = errors.New("hbase cannot be run here")

//go:embed testdata/pom.xml
var pom []byte

//go:embed testdata/Control.java
var controlSource []byte

//go:embed testdata/Failing.java
var failingSource []byte

//go:embed testdata/log4j.properties
var logging []byte

// classPath returns the files of HBase and of what it needs. Maven takes many seconds to list them,
// so its answer is kept in the user's cache.
func classPath(ctx context.Context, dir string) (string, error) {
	for _, tool := range []string{"java", "javac"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%w: there is no %s, install a JDK of 17 or newer", ErrMissing, tool)
		}
	}
	cached := ""
	if d, err := os.UserCacheDir(); err == nil {
		cached = filepath.Join(d, "quadrille", fmt.Sprintf("hbase-%x.classpath", sha256.Sum256(pom)))
		if b, err := os.ReadFile(cached); err == nil && complete(string(b)) {
			return string(b), nil
		}
	}
	list, err := resolve(ctx, dir)
	if err != nil {
		return "", err
	}
	if !complete(list) {
		return "", fmt.Errorf("%w: Maven names files that are not there", ErrMissing)
	}
	if cached != "" && os.MkdirAll(filepath.Dir(cached), 0o755) == nil {
		// Without the cache only the next start is slower.
		_ = os.WriteFile(cached, []byte(list), 0o644)
	}
	return list, nil
}

func complete(list string) bool {
	for _, file := range filepath.SplitList(list) {
		if _, err := os.Stat(file); err != nil {
			return false
		}
	}
	return list != ""
}

// resolve gets the files from Maven, at first offline from its local repository.
func resolve(ctx context.Context, dir string) (string, error) {
	if _, err := exec.LookPath("mvn"); err != nil {
		return "", fmt.Errorf("%w: there is no mvn, install Maven", ErrMissing)
	}
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), pom, 0o644); err != nil {
		return "", err
	}
	out := filepath.Join(dir, "classpath")
	var last error
	for _, offline := range []bool{true, false} {
		args := []string{"-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=" + out}
		if offline {
			args = append(args, "-o")
		}
		cmd := exec.CommandContext(ctx, "mvn", args...)
		cmd.Dir = dir
		output, err := cmd.CombinedOutput()
		if err == nil {
			b, err := os.ReadFile(out)
			return strings.TrimSpace(string(b)), err
		}
		last = fmt.Errorf("%w: Maven does not resolve HBase: %w\n%s", ErrMissing, err, tail(string(output), 10))
	}
	return "", last
}

// tail returns the last n lines.
func tail(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
