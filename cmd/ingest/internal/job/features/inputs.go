package features

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
)

// Local returns an input that can be opened again and again: of standard input and of pipes it makes a copy. Close
// removes the copy.
func (s *Files) Local(in job.Input) (job.Input, error) {
	path, layer := source.SplitLayer(in.Path)
	if in.Copy != "" || !source.IsStream(path) {
		return in, nil
	}
	r := s.stdin
	switch stdin := source.IsStdin(path); {
	case stdin && !s.once:
		return in, errors.New("standard input is not read here: save it to a file, and name that")
	case stdin && r == nil:
		return in, errors.New("standard input can be read once only: name - once, and files otherwise")
	case stdin:
		s.stdin = nil
	default:
		pipe, err := os.Open(path)
		if err != nil {
			return in, err
		}
		defer pipe.Close()
		r = pipe
	}
	if in.Path = path; path == "-" {
		in.Path = stdinName
	}
	var err error
	if in.Copy, err = s.copied(r, in.Path, false); layer != "" {
		in.Copy += "#" + layer
	}
	return in, err
}

// Each returns what an input names that is read by rows: the files that match a pattern, in the order of their names, or
// the input itself.
func (s *Files) Each(in job.Input) ([]job.Input, error) {
	names, root, err := source.Expand(in.Path, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(in.Path); root == "" || err == nil && info.IsDir() {
		in, err := s.Local(in)
		return []job.Input{in}, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no file matches; name the files themselves", in.Path)
	}
	all := make([]job.Input, len(names))
	for i, name := range names {
		all[i] = in
		all[i].Path = name
	}
	return all, nil
}

// One returns the one file that an input names.
func (s *Files) One(in job.Input) (job.Input, error) {
	all, err := s.Each(in)
	if err == nil && len(all) > 1 {
		err = fmt.Errorf("%s: names %d files, and one is read: name it", in.Path, len(all))
	}
	if err != nil {
		return in, err
	}
	return all[0], nil
}

// Expand returns what an input names that holds features: the files of a folder or a pattern, and the members of an archive
// that are of one kind. They are in the order of their names. Members are copied to the disk.
func (s *Files) Expand(in job.Input, want source.Want) (all []job.Input, err error) {
	if in, err = s.Local(in); err != nil {
		return nil, err
	}
	paths := []string{in.OnDisk()}
	if in.Copy == "" {
		var note string
		if paths, note, err = format.Paths(in.Path, want); err != nil {
			return nil, err
		}
		if note != "" {
			s.rep.Note(note)
		}
	}
	for _, path := range paths {
		one := in
		if in.Copy == "" {
			one.Path = path
		}
		members, err := s.Members(one, func(all []string, tarred bool) ([]string, error) {
			archive, _ := source.SplitLayer(one.OnDisk())
			return format.Members(archive, want, all, tarred)
		})
		if err != nil {
			return nil, in.Named(err)
		}
		if members == nil {
			members = []job.Input{one}
		}
		all = append(all, members...)
	}
	if in.Name == "" && len(all) > 1 {
		whole, _ := source.SplitLayer(in.Path)
		for i := range all {
			all[i].Name = filepath.Base(whole) // what people know is the folder or archive
		}
	}
	return all, nil
}

// Members returns copies of those members of a zip or tar archive that choose takes, or of the one that the path names after
// #. It returns nil if there is none or the file is no archive. tarred is set for a tar archive.
func (s *Files) Members(in job.Input, choose func(members []string, tarred bool) ([]string, error)) (all []job.Input, err error) {
	path, layer := source.SplitLayer(in.OnDisk())
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // Open says what is wrong
	}
	var names []string
	tarred, leftOut, err := source.EachMember(path, func(name string, _ func() (io.Reader, error)) error {
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(leftOut) > 0 {
		s.rep.Note(fmt.Sprintf("%s: %d of its members are not read, because they are links or their paths lead out of it, such as %s; unpack it and name "+
			"the files", in.Path, len(leftOut), source.Excerpt(leftOut[0])))
	}
	chosen := []string{layer}
	whole := strings.TrimSuffix(in.Path, "#"+layer)
	switch is := slices.Contains(names, layer) && !strings.EqualFold(filepath.Ext(layer), ".shp"); {
	case is:
		in.Path = whole
	case names == nil && !tarred:
		return nil, nil
	default:
		if chosen, err = choose(names, tarred); chosen == nil || err != nil {
			return nil, err
		}
		if layer != "" {
			var few []string
			for _, name := range chosen[:min(len(chosen), 5)] {
				few = append(few, source.Excerpt(name))
			}
			return nil, fmt.Errorf("%s: has no member %s; it has %s", whole, source.Excerpt(layer), strings.Join(few, ", "))
		}
	}
	if all, err = s.copies(in, path, chosen); err == nil && len(all) > 1 {
		s.rep.Note(fmt.Sprintf("%s: its %d members of one kind are read, %s to %s; FILE#MEMBER names one", in.Path, len(all),
			source.Excerpt(chosen[0]), source.Excerpt(chosen[len(chosen)-1])))
	}
	return all, err
}

// copies returns copies of the members of these names of an archive.
func (s *Files) copies(in job.Input, path string, names []string) ([]job.Input, error) {
	wanted := map[string]int{}
	for i, name := range names {
		wanted[name] = i
	}
	all := make([]job.Input, len(names))
	_, _, err := source.EachMember(path, func(name string, open func() (io.Reader, error)) error {
		i, is := wanted[name]
		switch {
		case !is:
			return nil
		case all[i].Copy != "":
			return fmt.Errorf("%s: has several members of the name %s; unpack it and name the file that you mean", in.Path, source.Excerpt(name))
		}
		r, err := open()
		if err == nil {
			all[i] = in
			all[i].Path = in.Path + "/" + name
			all[i].Copy, err = s.copied(r, in.Path, format.IsNamed(name))
		}
		return err
	})
	return all, err
}
