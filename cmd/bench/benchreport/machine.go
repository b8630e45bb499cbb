package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// header returns a text with the command, the machine and the date.
func header(command []string, cpu, commit string, now time.Time) string {
	if cpu == "" {
		cpu = firstMatch("/proc/cpuinfo", `(?m)^model name\s*: (.+)$`)
	}
	if cpu == "" {
		cpu = "unknown processor"
	}
	machine := []string{fmt.Sprintf("%s, %d cores", cpu, runtime.NumCPU())}
	if kb, err := strconv.Atoi(firstMatch("/proc/meminfo", `(?m)^MemTotal:\s+(\d+) kB$`)); err == nil {
		machine = append(machine, fmt.Sprintf("%.1f GiB", float64(kb)/(1<<20)))
	}
	machine = append(machine, runtime.GOOS+"/"+runtime.GOARCH, strings.Replace(runtime.Version(), "go", "Go ", 1))
	date := now.UTC().Format("2006-01-02")
	if commit != "" {
		date += ", at " + commit
	}
	return fmt.Sprintf("```sh\n%s\n```\n\n%s; %s.\n\n", quote(command), strings.Join(machine, ", "), date)
}

// checkedOut returns the commit that is measured, or "" outside a repository. changed are the files
// that differ from the commit, except file, which takes the figures.
func checkedOut(ctx context.Context, file string) (commit string, changed []string) {
	rev, err := exec.CommandContext(ctx, "git", "describe", "--always").Output()
	if err != nil {
		return "", nil
	}
	status, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ":/", ":(exclude)"+file).Output()
	if err != nil {
		return "", nil // file lies outside, so no commit is named
	}
	commit = strings.TrimSpace(string(rev))
	for line := range strings.Lines(string(status)) {
		changed = append(changed, strings.TrimSpace(line))
	}
	if len(changed) > 0 {
		commit += "-dirty"
	}
	return commit, changed
}

func firstMatch(path, pattern string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "" // not this system; the figures stand without it
	}
	m := regexp.MustCompile(pattern).FindSubmatch(b)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(string(m[1]))
}
