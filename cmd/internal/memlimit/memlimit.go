// Package memlimit finds how much memory this process may use, so that caches and budgets fit the
// machine: a container that exceeds its limit is killed without warning.
//
// It reads Linux's files: the limits of the control group (version 1 and 2) and of all visible
// groups above it, and the memory of the machine. On other systems it reads only GOMEMLIMIT.
package memlimit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/internal/bytesize"
)

// Limit is the lowest known limit.
type Limit struct {
	Bytes  int64  // 0 if no limit is known
	Source string // the file with this limit, or GOMEMLIMIT
	// ReadErr joins the errors of files that cannot be read and that may contain lower limits. It is
	// nil if there are none.
	ReadErr error
}

// Detect returns the limit of this process.
func Detect() Limit {
	l := of(os.DirFS("/"))
	var own bytesize.Size
	if own.UnmarshalText([]byte(os.Getenv("GOMEMLIMIT"))) == nil { // else it is off, or Go has refused it
		l.lower(int64(own), "GOMEMLIMIT")
	}
	return l
}

// unlimited is the least value that means "no limit". Version 1 then writes the greatest number of
// bytes in whole pages.
const unlimited = math.MaxInt64 >> 3

// lower sets the limit if it is lower than the current one.
func (l *Limit) lower(limit int64, from string) {
	if limit > 0 && limit < unlimited && (l.Bytes == 0 || limit < l.Bytes) {
		l.Bytes, l.Source = limit, from
	}
}

// of does the same as Detect, for the files of a given system.
func of(system fs.FS) (l Limit) {
	groups, err := fs.ReadFile(system, "proc/self/cgroup")
	mounts, merr := fs.ReadFile(system, "proc/self/mountinfo")
	if err = errors.Join(err, merr); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.ReadErr = err
	}
	for line := range bytes.Lines(mounts) {
		if m, ok := mountOf(string(line)); ok {
			l.group(system, m, groups)
		}
	}
	l.machine(system)
	return l
}

// machine lowers the limit to the memory of the machine, from /proc/meminfo of Linux.
func (l *Limit) machine(system fs.FS) {
	text, _ := fs.ReadFile(system, "proc/meminfo")
	total := strings.TrimSuffix(field(text, "MemTotal:"), " kB")
	if kib, err := strconv.ParseInt(total, 10, 64); err == nil && kib < unlimited>>10 {
		l.lower(kib<<10, "/proc/meminfo")
	}
}

// mount is the mount of a hierarchy of control groups or of a subtree of it.
type mount struct {
	root, point string // paths in the hierarchy and in the file system
	unified     bool   // version 2
}

// mountOf reads a line of mountinfo. ok is false if the line does not describe control groups that
// limit memory.
func mountOf(line string) (m mount, ok bool) {
	before, after, _ := strings.Cut(line, " - ")
	what, kind := strings.Fields(before), strings.Fields(after)
	if len(what) < 5 || len(kind) < 3 {
		return m, false
	}
	m = mount{root: unescape(what[3]), point: unescape(what[4]), unified: kind[0] == "cgroup2"}
	return m, m.unified || kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), "memory")
}

// unescape decodes mountinfo's escapes for blanks and the like: \040.
func unescape(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b, i = append(b, byte(n)), i+3
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// group lowers the limit to the limits of the process's group and of its ancestors, if they are
// visible below the mount. The limit of a group applies to all its descendants.
func (l *Limit) group(system fs.FS, m mount, groups []byte) {
	top := path.Join("/", m.point)
	dir := path.Join(top, m.below(groups))
	names := []string{"memory.limit_in_bytes", "memory.stat"}
	if m.unified {
		names = []string{"memory.max", "memory.high"}
	}
	for {
		for _, name := range names {
			l.file(system, strings.TrimPrefix(path.Join(dir, name), "/"))
		}
		if dir == top || dir == "/" {
			return
		}
		dir = path.Dir(dir)
	}
}

// below returns the path of the process's group below the mount. It is empty if the group lies
// outside the mounted part of the hierarchy. This happens in a container where groups has the
// host's path; the mount then shows the container's own group.
func (m mount) below(groups []byte) string {
	for line := range bytes.Lines(groups) {
		of := strings.SplitN(strings.TrimRight(string(line), "\n"), ":", 3)
		if len(of) < 3 || (of[0] == "0" && of[1] == "") != m.unified || !m.unified && !slices.Contains(strings.Split(of[1], ","), "memory") {
			continue
		}
		below, ok := strings.CutPrefix(of[2], strings.TrimSuffix(m.root, "/"))
		if ok && (below == "" || below[0] == '/') && !strings.HasPrefix(below, "/..") {
			return below
		}
	}
	return ""
}

// file lowers the limit to that in a file of a group.
func (l *Limit) file(system fs.FS, name string) {
	text, err := fs.ReadFile(system, name)
	if errors.Is(err, fs.ErrNotExist) {
		return // the top group, or a group without memory accounting
	}
	if err != nil {
		l.ReadErr = errors.Join(l.ReadErr, err)
		return
	}
	value := strings.TrimSpace(string(text))
	if path.Base(name) == "memory.stat" {
		// In version 1, this value also includes ancestors that are not visible.
		if value = field(text, "hierarchical_memory_limit"); value == "" {
			return
		}
	}
	if value == "max" {
		return
	}
	limit, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		l.ReadErr = errors.Join(l.ReadErr, fmt.Errorf("/%s: %.32q is not a number of bytes", name, value))
		return
	}
	l.lower(int64(min(limit, math.MaxInt64)), "/"+name) //nolint:gosec // just bounded
}

// field returns the text that follows a name at the beginning of a line, or "" if no line begins
// with the name.
func field(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}
