package memlimit

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	machine = "MemTotal:        8000000 kB\nMemFree: 1 kB\n"
	v2Mount = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	v1Mount = "14 35 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n15 35 0:32 / /sys/fs/cgroup/memory rw,relatime " +
		"- cgroup cgroup rw,memory\n"
	v1None = "9223372036854771712\n"
)

// unreadable is a file system with one unreadable file.
type unreadable struct {
	fstest.MapFS
	name string
}

func (u unreadable) Open(name string) (fs.File, error) {
	if name == u.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return u.MapFS.Open(name)
}

func (u unreadable) ReadFile(name string) ([]byte, error) {
	if name == u.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return u.MapFS.ReadFile(name)
}

func TestLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		files  map[string]string
		denied string
		bytes  int64
		from   string
		unread string
	}{
		"nothing is told": {},
		"the machine":     {files: map[string]string{"proc/meminfo": machine}, bytes: 8000000 << 10, from: "/proc/meminfo"},
		"version 2, a container's own": {files: map[string]string{"proc/self/cgroup": "0::/\n",
			"proc/self/mountinfo":      v2Mount,
			"proc/meminfo":             machine,
			"sys/fs/cgroup/memory.max": "268435456\n", "sys/fs/cgroup/memory.high": "max\n"}, bytes: 256 << 20, from: "/sys/fs/cgroup/memory.max"},
		"version 2, of a parent": {files: map[string]string{"proc/self/cgroup": "0::/a.slice/b.service\n",
			"proc/self/mountinfo": v2Mount,
			"proc/meminfo":        machine,
			"sys/fs/cgroup/a.slice/b.service/memory.max": "max\n", "sys/fs/cgroup/a.slice/memory.max": "1000000\n"},
			bytes: 1000000,
			from:  "/sys/fs/cgroup/a.slice/memory.max"},
		"version 2, throttled before it is killed": {files: map[string]string{"proc/self/cgroup": "0::/b\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/b/memory.max": "2000000\n", "sys/fs/cgroup/b/memory.high": "1000000\n"},
			bytes: 1000000,
			from:  "/sys/fs/cgroup/b/memory.high"},
		"more than the machine has": {files: map[string]string{"proc/self/cgroup": "0::/\n",
			"proc/self/mountinfo":      v2Mount,
			"proc/meminfo":             machine,
			"sys/fs/cgroup/memory.max": "99999999999999\n"}, bytes: 8000000 << 10, from: "/proc/meminfo"},
		"version 1": {files: map[string]string{"proc/self/cgroup": "4:memory:/x\n1:cpu:/y\n0::/z\n", "proc/self/mountinfo": v1Mount,
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1000000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": v1None},
			bytes: 1000000,
			from:  "/sys/fs/cgroup/memory/x/memory.limit_in_bytes"},
		"version 1, of a parent": {files: map[string]string{"proc/self/cgroup": "4:cpuacct,memory:/p/x\n", "proc/self/mountinfo": v1Mount,
			"sys/fs/cgroup/memory/p/x/memory.limit_in_bytes": v1None, "sys/fs/cgroup/memory/p/memory.limit_in_bytes": "1000000\n"},
			bytes: 1000000,
			from:  "/sys/fs/cgroup/memory/p/memory.limit_in_bytes"},
		"version 1, of a parent out of sight": {files: map[string]string{"proc/self/cgroup": "4:memory:/docker/x\n",
			"proc/self/mountinfo": strings.ReplaceAll(v1Mount, " / /sys/fs/cgroup/memory",
				" /docker/x /sys/fs/cgroup/memory"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": v1None,
			"sys/fs/cgroup/memory/memory.stat":           "cache 5\nhierarchical_memory_limit 1000000\n"},
			bytes: 1000000,
			from:  "/sys/fs/cgroup/memory/memory.stat"},
		"version 1, no limit": {files: map[string]string{"proc/self/cgroup": "4:memory:/x\n", "proc/self/mountinfo": v1Mount,
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": v1None}},
		"both versions at once": {files: map[string]string{"proc/self/cgroup": "4:memory:/x\n0::/x\n",
			"proc/self/mountinfo":                          v1Mount + "33 23 0:40 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1000000\n"}, bytes: 1000000, from: "/sys/fs/cgroup/memory/x/memory.limit_in_bytes"},
		"a group that the mount does not show": {files: map[string]string{"proc/self/cgroup": "0::/../other\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/memory.max": "1000000\n"}, bytes: 1000000, from: "/sys/fs/cgroup/memory.max"},
		"a group whose name begins as the root's": {files: map[string]string{"proc/self/cgroup": "0::/abc\n",
			"proc/self/mountinfo":      strings.ReplaceAll(v2Mount, " / /sys", " /ab /sys"),
			"sys/fs/cgroup/memory.max": "1000000\n", "sys/fs/cgroup/c/memory.max": "5\n"}, bytes: 1000000, from: "/sys/fs/cgroup/memory.max"},
		"a mount elsewhere, with a blank": {files: map[string]string{"proc/self/cgroup": "0::/b\n",
			"proc/self/mountinfo":    strings.ReplaceAll(v2Mount, "/sys/fs/cgroup", `/odd\040place/`),
			"odd place/b/memory.max": "1000000\n"}, bytes: 1000000, from: "/odd place/b/memory.max"},
		"the root of all is the mount": {files: map[string]string{"proc/self/cgroup": "0::/b\n",
			"proc/self/mountinfo": strings.ReplaceAll(v2Mount, "/sys/fs/cgroup", `/`),
			"b/memory.max":        "1000000\n"}, bytes: 1000000, from: "/b/memory.max"},
		"without rights": {files: map[string]string{"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/a/b/memory.max": "3000000\n", "sys/fs/cgroup/a/memory.max": "1000000\n"}, denied: "sys/fs/cgroup/a/memory.max",
			bytes: 3000000, from: "/sys/fs/cgroup/a/b/memory.max", unread: "permission denied"},
		"without rights to the list of groups": {files: map[string]string{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2Mount},
			denied: "proc/self/cgroup",
			unread: "permission denied"},
		"no number": {files: map[string]string{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/memory.max": "256M\n"}, unread: `"256M" is not a number`},
		"rubbish": {files: map[string]string{"proc/self/cgroup": "::\n0:\n\n:memory\n",
			"proc/self/mountinfo": " - \n- cgroup2\n1 2 3 4\n1 2 3 / \\0 - cgroup2 x y\n",
			"proc/meminfo":        "MemTotal: -5 kB\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := unreadable{fstest.MapFS{}, tc.denied}
			for name, text := range tc.files {
				files.MapFS[name] = &fstest.MapFile{Data: []byte(text)}
			}
			l := of(files)
			if l.Bytes != tc.bytes || l.Source != tc.from {
				t.Errorf("%d from %q, expected %d from %q", l.Bytes, l.Source, tc.bytes, tc.from)
			}
			if (l.ReadErr != nil) != (tc.unread != "") || l.ReadErr != nil && !strings.Contains(l.ReadErr.Error(), tc.unread) {
				t.Errorf("unread: %v, expected %q", l.ReadErr, tc.unread)
			}
		})
	}
}

// TestThisMachine tests that Detect follows GOMEMLIMIT, and otherwise finds a plausible limit of
// this machine.
func TestThisMachine(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "1MiB")
	if l := Detect(); l.Bytes != 1<<20 || l.Source != "GOMEMLIMIT" {
		t.Errorf("%+v", l)
	}
	t.Setenv("GOMEMLIMIT", "off")
	if l := Detect(); l.Bytes < 0 || (l.Bytes == 0) != (l.Source == "") {
		t.Errorf("%+v", l)
	}
}
