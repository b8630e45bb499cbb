package endtoend

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
)

// TestReadmeProgram builds README's Go program with the commands of README, in a folder next to
// this repository, and runs it. Nothing is downloaded.
func TestReadmeProgram(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to build the program with")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	readme := testfile.Read(t, filepath.Join(root, "README.md"))
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	commands := regexp.MustCompile("(?s)```sh\n(go mod init .*?)```").FindSubmatch(readme)
	if program == nil || commands == nil {
		t.Fatal("README.md shows no program, or not how to build it")
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "mine")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// The program looks for the data of the neighbouring checkout in this directory.
	if err := toyworld.Publish(t.Context(), filepath.Join(parent, "quadrille", "data")); err != nil {
		t.Fatal(err)
	}
	// The toy world is in another directory.
	source := strings.Replace(string(program[1]), "47.37, 8.54", "47, 5", 1)
	testfile.Write(t, filepath.Join(dir, "main.go"), source)
	for command := range strings.Lines(string(commands[1])) {
		args := strings.Fields(strings.Replace(command, "../quadrille", root, 1))
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=", "GOFLAGS=", "GOTOOLCHAIN=local")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.TrimSpace(command), err, out)
		}
		if args[1] == "run" && !strings.Contains(string(out), "{country wl Westland}") {
			t.Errorf("the program says %s", out)
		}
	}
}
