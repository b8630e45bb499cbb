package format

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/geoparquet"
	"quadrille/cmd/ingest/internal/source/workbook"
)

// HasRecords reports whether a file is of a format of the table that may have records of addresses. Of a file that cannot
// be read its reader says why.
func HasRecords(name string) bool {
	if is, err := source.IsArchive(name); err != nil || is {
		a, err := source.OpenArchive(name)
		if err != nil {
			return false
		}
		defer func() { _ = a.Close() }() // only read
		return workbook.Is(a.Names())
	}
	f, err := source.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := f.Reader().Peek(len(geoparquet.Magic))
	return string(head) == geoparquet.Magic
}

// Members returns those of all members of an archive that are read together, sorted: those of one extension. It
// returns nil for a zip archive of which Open reads the one member, or says why it does not.
func Members(name string, want source.Want, all []string, tarred bool) (members []string, err error) {
	f := &File{Options: Options{Want: want, Said: &geojson.Said{}}, Path: name, OnDisk: name}
	var a *source.Archive
	if !tarred {
		if a, err = source.OpenArchive(name); err != nil {
			return nil, err
		}
		defer func() { _ = a.Close() }() // only read
	}
	if err := f.choose(a, all); err != nil {
		return nil, err
	}
	if tarred && f.Format != nil {
		return nil, fmt.Errorf("%s: is a tar archive of %s, which is read from a zip archive or unpacked: unpack it by tar xf, and name what comes out",
			name, f.Format.Name)
	}
	if f.Format != nil {
		return nil, nil
	}
	ends := map[string]string{} // a member of each
	for _, member := range all {
		if f.match(member) {
			members = append(members, member)
			ends[strings.ToLower(path.Ext(source.CutCompression(member)))] = source.Excerpt(member)
		}
	}
	slices.Sort(members)
	members = slices.Compact(members)
	switch {
	case len(ends) == 1 && (tarred || len(members) > 1 || source.CutCompression(members[0]) != members[0]):
		return members, nil
	case tarred && len(ends) == 0:
		return nil, fmt.Errorf("%s: is a tar archive, and no member of it is of a format expected here; unpack it and name the file inside", name)
	case len(ends) > 1:
		if a != nil {
			err = a.Refuse()
		}
		two := slices.Sorted(maps.Values(ends))
		return nil, cmp.Or(err, fmt.Errorf("%s: archive holds both %s and %s; name one member as FILE#MEMBER", name, two[0], two[1]))
	}
	return nil, nil
}
