package ip

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geolite"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/cmd/ingest/internal/source/mmdb"
)

// NamedColumns are the columns of the lists of a name.
type NamedColumns struct {
	File string
	List []ipcsv.Column
}

// ErrUnnamed is matched by the error for columns of a file that is not read.
var ErrUnnamed = errors.New("no file of this name is read")

// names reports whether the columns are those of a file, or of a member of an archive: by its path, by the end of it, or by
// a pattern of either. named is the input that it is of.
func (c *NamedColumns) names(named, path string) bool {
	if c.File == named {
		return true
	}
	given, path := filepath.ToSlash(c.File), filepath.ToSlash(path)
	for end := path; ; {
		if is, _ := filepath.Match(given, end); is || given == end { // a bad pattern is the name of a file
			return true
		}
		_, rest, more := strings.Cut(end, "/")
		if end = rest; !more {
			return false
		}
	}
}

// eachFile returns an input for each file that the inputs name. Of the files of a folder or a pattern that are one list of
// several dates, only the newest is one. The folder of a GeoLite2 CSV set is one input.
func eachFile(files *features.Files, inputs []Input, columns []NamedColumns, rep job.Reporter) (all []Input, err error) {
	used := make([]bool, len(columns))
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
				one.Columns = in.Columns
				for i := range columns {
					if columns[i].names(in.Path, one.Path) {
						one.Columns, used[i] = columns[i].List, true
					}
				}
				all = append(all, one)
			}
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		read := make([]string, min(len(all), 3))
		for k := range read {
			read[k] = all[k].Path
		}
		return nil, fmt.Errorf("--columns %s=…: %w; name one of the %d that are, such as %s", columns[i].File, ErrUnnamed, len(all), strings.Join(read, ", "))
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

// dated matches a date at the beginning of a text: with a year, a month and maybe a day with lines between them, or in digits
// alone, with the time that may follow.
var dated = regexp.MustCompile(`^((20[0-9]{2})(?:[-_](?:0[1-9]|1[0-2])(?:[-_](?:0[1-9]|[12][0-9]|3[01]))?|` +
	`(?:0[1-9]|1[0-2])(?:(?:0[1-9]|[12][0-9]|3[01])(?:[-_T][0-9]{4}(?:[0-9]{2})?)?)?))(?:[^0-9]|$)`)

// undated returns the dates of a path in digits, and the path without them, in lower case and without an ending of
// compression. A date has no letter or digit before it, because numbers of systems and postal codes may look like one, and
// for the same reason its year is not long ago.
func undated(path string) (rest, dates string) {
	const first = 2015
	from := 0
	for i := 0; i < len(path); i++ {
		if i > 0 && (path[i-1]|0x20 >= 'a' && path[i-1]|0x20 <= 'z' || path[i-1] >= '0' && path[i-1] <= '9') {
			continue
		}
		if m := dated.FindStringSubmatch(path[i:]); m != nil {
			if year, _ := strconv.Atoi(m[2]); year >= first && year <= time.Now().Year()+1 {
				dates += strings.NewReplacer("-", "", "_", "", "T", "").Replace(m[1])
				rest += strings.TrimRight(path[from:i], "-_.") + "*"
				i += len(m[1]) - 1
				from = i + 1
			}
		}
	}
	return strings.ToLower(source.CutCompression(rest + path[from:])), dates
}

// newest returns the paths of a folder or pattern without those that differ only by an older date, or by the spelling of
// the same date if they were changed before. The others are told.
func newest(named string, paths []string, rep job.Reporter) (all []string) {
	type candidate struct {
		path, date string
		modified   time.Time
	}
	best := map[string]candidate{} // by the path without its dates
	for _, path := range paths {
		key, date := undated(path)
		c := candidate{path: path, date: date}
		if info, err := os.Stat(path); err == nil {
			c.modified = info.ModTime()
		}
		if date == "" {
			key = path // it differs in more than a date
		}
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
			key, _ := undated(path)
			rep.Note(fmt.Sprintf("%s: %s is not read, for %s is newer", named, path, best[key].path))
		}
	}
	return all
}
