// Package damagetest damages the files of stores, for tests. Only tests import it.
package damagetest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Image has the files below a directory by their paths, without files named LOCK.
type Image map[string][]byte

// ReadImage reads the files below a directory. The files of an open store are read in the state that they
// would have if the process were killed now. Background work may still change files, so ReadImage reads
// them until two readings are equal.
func ReadImage(fsys vfs.FS, dir string) (Image, error) {
	if _, err := fsys.Stat(dir); err != nil {
		return nil, err
	}
	var before Image
	for {
		m := Image{}
		err := m.read(fsys, dir)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case err == nil && before != nil && maps.EqualFunc(m, before, slices.Equal):
			return m, nil
		}
		if before != nil {
			time.Sleep(10 * time.Millisecond)
		}
		before = m
	}
}

func (m Image) read(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		name = path.Join(dir, name)
		info, err := fsys.Stat(name)
		switch {
		case err != nil:
		case info.IsDir():
			err = m.read(fsys, name)
		case path.Base(name) != "LOCK":
			m[name], err = readFile(fsys, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Mount makes a file system of the image. It has all directories of like, even those whose files
// were all removed.
func (m Image) Mount(like Image) (*vfs.MemFS, error) {
	mem := vfs.NewMem()
	for name := range like {
		if err := mem.MkdirAll(path.Dir(name), 0o755); err != nil {
			return nil, err
		}
	}
	for name, data := range m {
		f, err := mem.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(slices.Clone(data)); err != nil { // it may change its argument
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return mem, nil
}

// Damage returns an image with one file changed: a bit is flipped, its end is cut off, or the whole
// file is removed or replaced by another. what describes the change.
func (m Image) Damage(r *rand.Rand) (damaged Image, what string) {
	names := slices.Sorted(maps.Keys(m))
	name, other := names[r.IntN(len(names))], names[r.IntN(len(names))]
	damaged = maps.Clone(m)
	data := m[name]
	switch kind := r.IntN(10); {
	case kind < 5 && len(data) > 0:
		at, bit := r.IntN(len(data)), r.IntN(8)
		damaged[name] = slices.Clone(data)
		damaged[name][at] ^= 1 << bit
		return damaged, fmt.Sprintf("%s with bit %d of byte %d of %d changed", name, bit, at, len(data))
	case kind < 7 && len(data) > 0:
		at := r.IntN(len(data))
		damaged[name] = data[:at:at]
		return damaged, fmt.Sprintf("%s cut to %d of %d bytes", name, at, len(data))
	case kind < 8:
		delete(damaged, name)
		return damaged, "without " + name
	default:
		damaged[name], damaged[other] = m[other], m[name]
		return damaged, fmt.Sprintf("%s and %s in each other's place", name, other)
	}
}

// Filter returns the files whose paths satisfy want.
func (m Image) Filter(want func(name string) bool) Image {
	part := maps.Clone(m)
	maps.DeleteFunc(part, func(name string, _ []byte) bool { return !want(name) })
	return part
}

// Differ returns the files that are not the same in two images.
func (m Image) Differ(other Image) (names []string) {
	for name, data := range m {
		if now, is := other[name]; !is || !slices.Equal(now, data) {
			names = append(names, name)
		}
	}
	for name := range other {
		if _, is := m[name]; !is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Write makes the named files of the operating system equal to the image. Unless anew is set, it
// writes existing files in place, so that a process that has them open sees the change.
func (m Image) Write(anew bool, names ...string) error {
	for _, name := range names {
		data, is := m[name]
		if anew || !is {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if !is {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Lost returns the files that are missing or differ from the image.
func (m Image) Lost(fsys vfs.FS) (names []string) {
	for name, data := range m {
		if now, err := readFile(fsys, name); err != nil || !slices.Equal(now, data) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
