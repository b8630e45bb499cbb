package version

import (
	"regexp"
	"runtime/debug"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
)

func TestOf(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, tc := range []struct{ revision, modified, want string }{
		{"", "", Number},
		{"", "true", Number},
		{commit, "false", Number + "+0123456789ab"},
		{commit, "true", Number + "+0123456789ab-dirty"},
		{"abc", "", Number + "+abc"},
	} {
		info := &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: tc.revision}, {Key: "vcs.modified", Value: tc.modified},
		}}
		if got := of(info); got != tc.want {
			t.Errorf("%q, modified %q: %q, want %q", tc.revision, tc.modified, got, tc.want)
		}
	}
	if String() == "" {
		t.Error("the test has no version")
	}
}

// TestNumber tests that the programs report the newest release in the changelog.
func TestNumber(t *testing.T) {
	text := testfile.Read(t, "../../../CHANGELOG.md")
	headings := regexp.MustCompile(`(?m)^## (.*)$`).FindAllSubmatch(text, -1)
	release := regexp.MustCompile(`^(\d+\.\d+\.\d+) – (\d{4}-\d{2}-\d{2})$`)
	newest := ""
	for i, h := range headings {
		if i == 0 && string(h[1]) == "Unreleased" {
			continue
		}
		m := release.FindSubmatch(h[1])
		if m == nil {
			t.Errorf("the heading %q names no release: write it as 1.2.3 – 2026-01-31, or Unreleased in the first place", h[1])
			continue
		}
		if _, err := time.Parse(time.DateOnly, string(m[2])); err != nil {
			t.Errorf("the heading %q: %v", h[1], err)
		}
		if newest == "" {
			newest = string(m[1])
		}
	}
	if newest != Number {
		t.Errorf("the newest release of CHANGELOG.md is %q and version.Number %q: make them the same", newest, Number)
	}
}
