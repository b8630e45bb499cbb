// Package version names the build of a program.
package version

import (
	"regexp"
	"runtime/debug"
	"sync"
)

// String is the version of the running program in the form of a semantic
// version's: the tag it was built at or "devel", then after a plus sign the
// commit, and "-dirty" where the sources had changes that were not committed:
//
//	v1.2.0+0123456789ab
//	devel+0123456789ab-dirty
//
// The commit is missing where the go command did not see the repository.
var String = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	return of(info)
})

const devel = "devel"

// commitLength is how many digits of a commit are told: as many as in the go
// command's own pseudo-versions.
const commitLength = 12

// pseudo matches versions that the go command makes up for a commit without a
// tag, the commit in its last group.
var pseudo = regexp.MustCompile(`^v\d+\.\d+\.\d+-(?:[0-9A-Za-z.-]+\.)?\d{14}-([0-9a-f]{12})(?:\+[0-9A-Za-z.-]+)?$`)

// tag matches versions that somebody gave. The go command adds +dirty.
var tag = regexp.MustCompile(`^(v\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)(?:\+[0-9A-Za-z.-]+)?$`)

func of(info *debug.BuildInfo) string {
	name, commit, dirty := devel, "", ""
	if m := pseudo.FindStringSubmatch(info.Main.Version); m != nil {
		commit = m[1]
	} else if m := tag.FindStringSubmatch(info.Main.Version); m != nil {
		name = m[1]
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			commit = s.Value[:min(len(s.Value), commitLength)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if commit == "" {
		return name
	}
	return name + "+" + commit + dirty
}
