// Package version identifies the build of a program.
package version

import (
	"runtime/debug"
	"sync"
)

// Number is the newest release in CHANGELOG.md; a test compares them.
const Number = "0.16.0"

// String is the version of the running program: the release, after a plus sign
// the commit, and "-dirty" where the sources had changes that were not committed:
//
//	0.16.0+0123456789ab
//	0.16.0+0123456789ab-dirty
//
// The commit is missing where the go command did not see the repository.
var String = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Number
	}
	return of(info)
})

// commitLength is the number of digits of a commit in a version, as in the go
// command's own pseudo-versions.
const commitLength = 12

func of(info *debug.BuildInfo) string {
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			commit = s.Value[:min(len(s.Value), commitLength)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if commit == "" {
		return Number
	}
	return Number + "+" + commit + dirty
}
