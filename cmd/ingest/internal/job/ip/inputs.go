package ip

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geolite"
	"quadrille/cmd/ingest/internal/source/mmdb"
)

// eachFile returns an input for each file that the inputs name. Of the files of a folder or a pattern that are one list of
// several dates, only the newest is one. The folder of a GeoLite2 CSV set is one input.
func eachFile(files *features.Files, inputs []Input, rep job.Reporter) (all []Input, err error) {
	for _, in := range inputs {
		paths, err := pathsOf(in.Path, rep)
		if err != nil {
			return nil, err
		}
		for _, path := range newest(in.Path, paths, rep) {
			one := in
			one.Path = path
			if one.Input, err = files.Local(one.Input); err != nil {
				return nil, err
			}
			members, err := files.Members(one.Input, listsAmong)
			if err != nil {
				return nil, one.Named(err)
			}
			if members == nil {
				members = []job.Input{one.Input}
			}
			for _, one.Input = range members {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// listsAmong returns the members of an archive that are lists, if they are not read in it: several, or those of a tar archive.
// Those with databases and GeoLite2 CSV sets are sources themselves.
func listsAmong(members []string, tarred bool) (lists []string, _ error) {
	for _, name := range members {
		switch {
		case geolite.IsBlocks(name), mmdb.IsName(name):
			return nil, nil
		case isListName(source.CutCompression(name)):
			lists = append(lists, name)
		}
	}
	isText := func(name string) bool { return strings.EqualFold(filepath.Ext(source.CutCompression(name)), ".txt") }
	if slices.ContainsFunc(lists, func(name string) bool { return !isText(name) }) {
		lists = slices.DeleteFunc(lists, isText) // beside others a text is to be read by people
	}
	if len(lists) == 1 && !tarred && source.CutCompression(lists[0]) == lists[0] {
		return nil, nil
	}
	slices.Sort(lists)
	return slices.Compact(lists), nil
}

// pathsOf returns the files of a folder that is no GeoLite2 CSV set, those that match a pattern, or else the path. It tells
// of what it leaves out. Pipes are left out: reading them may never end.
func pathsOf(path string, rep job.Reporter) (paths []string, err error) {
	var others []string
	info, err := os.Stat(path)
	switch {
	case err != nil && strings.ContainsAny(path, "*?["):
		if paths, err = filepath.Glob(path); err != nil {
			return nil, fmt.Errorf("%s: is not a file, and no pattern: %w", path, err)
		}
		paths = slices.DeleteFunc(paths, func(name string) bool {
			info, err := os.Stat(name)
			other := err != nil || !info.Mode().IsRegular() && !info.IsDir()
			if other {
				others = append(others, name)
			}
			return other || filepath.Base(name)[0] == '.' && filepath.Base(path)[0] != '.'
		})
	case err == nil && info.IsDir():
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := source.CutCompression(e.Name())
			if geolite.IsBlocks(name) {
				return []string{path}, nil
			}
			full := filepath.Join(path, e.Name())
			is := isListName(name) || mmdb.IsName(name) || source.IsArchiveName(name) || isRecordsName(name)
			switch info, err := os.Stat(full); {
			case e.Name()[0] == '.':
			case is && err == nil && info.Mode().IsRegular():
				paths = append(paths, full)
			default:
				others = append(others, full)
			}
		}
		if paths == nil {
			return []string{path}, nil
		}
	default:
		return []string{path}, nil // opening it reports the error
	}
	if len(others) > 0 {
		rep.Note(fmt.Sprintf("%s: %d of its files and folders are not read, such as %s; name those that have address ranges", path, len(others), others[0]))
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no source of address ranges is there or matches; name the files themselves", path)
	}
	return paths, nil
}

// isRecordsName reports whether a file may be of a format with records of addresses, by its name.
func isRecordsName(name string) bool {
	return slices.Contains([]string{".parquet", ".geoparquet", ".xlsx", ".xlsm", ".ods"}, strings.ToLower(filepath.Ext(name)))
}

// dated matches a date in the name of a file, at least its year and month, with the time that may follow.
var dated = regexp.MustCompile(`(?:^|[^0-9])((?:19|20)[0-9]{2}[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?(?:0[1-9]|[12][0-9]|3[01])(?:[-_.T]?[0-9]{4,6})?)?)(?:[^0-9]|$)`)

// newest returns the paths of a folder or pattern without those that differ only by an older date, or by the spelling of
// the same date if they were changed before. The others are told.
func newest(named string, paths []string, rep job.Reporter) (all []string) {
	type candidate struct {
		path, date string
		modified   time.Time
	}
	best := map[string]candidate{} // by the path without its dates
	for _, path := range paths {
		c := candidate{path: path}
		for _, m := range dated.FindAllStringSubmatch(path, -1) {
			c.date += strings.NewReplacer("-", "", "_", "", ".", "", "T", "").Replace(m[1])
		}
		if info, err := os.Stat(path); err == nil {
			c.modified = info.ModTime()
		}
		key := dated.ReplaceAllString(path, "*")
		if other, there := best[key]; !there || cmp.Or(cmp.Compare(c.date, other.date), c.modified.Compare(other.modified)) >= 0 {
			best[key] = c
		}
	}
	for _, c := range best {
		all = append(all, c.path)
	}
	slices.Sort(all)
	for _, path := range paths {
		if _, taken := slices.BinarySearch(all, path); !taken {
			rep.Note(fmt.Sprintf("%s: %s is not read, for %s is newer", named, path, best[dated.ReplaceAllString(path, "*")].path))
		}
	}
	return all
}
