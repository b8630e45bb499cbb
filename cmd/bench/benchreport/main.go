// Command benchreport runs a benchmark and puts its result into cmd/bench/FIGURES.md,
// with the command line, the machine and the date beside it.
//
//	bin/bench/benchreport go -- go test -run '^$' -bench . ./...
//	bin/bench/benchreport http -- bin/bench/httpbench
//
// Figures are measured on a commit, so that others can measure it again. If files other than
// FIGURES.md are changed, nothing is measured unless -dirty is given.
//
// The first argument names a section of the file, which lies between two comments and is replaced
// as a whole; all other text of the file stays:
//
//	<!-- figures: http -->
//	…
//	<!-- end of figures: http -->
//
// Output in the format of Go's benchmarks becomes tables, one per package, with the median of
// repeated runs; any other output, such as a table, is taken unchanged. If the command fails, the
// file is not changed.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchreport:", err)
		os.Exit(1)
	}
}

var sectionRE = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// run runs the program. The output of the command also goes to progress, from two goroutines at a
// time.
func run(ctx context.Context, args []string, progress io.Writer) error {
	flags := flag.NewFlagSet("benchreport", flag.ContinueOnError)
	flags.SetOutput(progress)
	file := flags.String("file", "cmd/bench/FIGURES.md", "the file to write into")
	dirty := flags.Bool("dirty", false, "measure although files are changed; the commit is then marked -dirty")
	flags.Usage = func() {
		fmt.Fprintln(progress, "usage: benchreport [-file FILE] [-dirty] SECTION -- COMMAND [ARG…]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	rest := flags.Args()
	if len(rest) < 3 || rest[1] != "--" || !sectionRE.MatchString(rest[0]) {
		flags.Usage()
		return errors.New("name a section in lower case, then -- and the command to run")
	}
	section, command := rest[0], rest[2:]
	commit, changed := checkedOut(ctx, *file)
	if len(changed) > 0 && !*dirty {
		return fmt.Errorf("nothing was measured, for the figures would be of no commit: commit or stash %s, or give -dirty",
			strings.Join(changed, ", "))
	}

	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout = io.MultiWriter(&out, progress)
	cmd.Stderr = progress
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s failed, %s is unchanged: %w", quote(command), *file, err)
	}
	figures, cpu := format(out.String())
	if strings.TrimSpace(figures) == "" {
		return fmt.Errorf("%s measured nothing, %s is unchanged", quote(command), *file)
	}
	old, err := os.ReadFile(*file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	text, err := replaceSection(string(old), section, header(command, cpu, commit, time.Now())+figures)
	if err != nil {
		return err
	}
	return os.WriteFile(*file, []byte(text), 0o644)
}

// replaceSection puts body between the marks of a section. A missing section is added at the end.
func replaceSection(text, section, body string) (string, error) {
	first := "<!-- figures: " + section + " -->"
	last := "<!-- end of figures: " + section + " -->"
	body = first + "\n" + strings.TrimSpace(body) + "\n" + last
	i, j := strings.Index(text, first), strings.Index(text, last)
	switch {
	case i < 0 && j < 0:
		if text == "" {
			text = "# Benchmarks\n"
		}
		return strings.TrimRight(text, "\n") + "\n\n" + body + "\n", nil
	case i < 0 || j < i || strings.Count(text, first) > 1 || strings.Count(text, last) > 1:
		return "", fmt.Errorf("the marks of section %s are not one pair: write %q and %q once each", section, first, last)
	}
	return text[:i] + body + text[j+len(last):], nil
}

// quote writes a command line as a shell would take it.
func quote(command []string) string {
	plain := regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
	words := make([]string, len(command))
	for i, w := range command {
		if plain.MatchString(w) {
			words[i] = w
		} else {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
