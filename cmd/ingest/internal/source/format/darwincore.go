package format

import (
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source"
)

// darwinCore is the description of a Darwin Core archive, its meta.xml. The archive has a table, the core, and others
// that extend it.
type darwinCore struct {
	XMLName    xml.Name      `xml:"archive"`
	Core       darwinTable   `xml:"core"`
	Extensions []darwinTable `xml:"extension"`
}

type darwinTable struct {
	Separator   string        `xml:"fieldsTerminatedBy,attr"`
	HeaderLines string        `xml:"ignoreHeaderLines,attr"`
	Files       []string      `xml:"files>location"`
	ID          darwinField   `xml:"id"`
	CoreID      darwinField   `xml:"coreid"`
	Fields      []darwinField `xml:"field"`
}

type darwinField struct {
	Index string `xml:"index,attr"` // from 0; "" for a value that all rows have
	Term  string `xml:"term,attr"`
}

// name returns the name of a column by its term, the last part of an address.
func (f darwinField) name() string { return f.Term[strings.LastIndexAny(f.Term, "/#")+1:] }

// darwinCoreOf reads the description of an archive that is one, and returns its path.
func darwinCoreOf(a *source.Archive) (d *darwinCore, file string) {
	const most = 1 << 20
	if a == nil {
		return nil, ""
	}
	for _, m := range a.Members {
		if path.Base(m.Name) != "meta.xml" {
			continue
		}
		in, err := a.Open(m)
		if err != nil {
			continue
		}
		d := &darwinCore{}
		err = xml.NewDecoder(io.LimitReader(in, most)).Decode(d)
		if _ = in.Close(); err == nil && len(d.Core.Files) > 0 {
			return d, m.Name
		}
	}
	return nil, ""
}

// darwinPoints returns the table with positions of a Darwin Core archive, and sets how it is read. It returns "" for
// another archive. members are the names in it.
func (f *File) darwinPoints(a *source.Archive, members []string) (table string) {
	d, file := darwinCoreOf(a)
	if d == nil {
		return ""
	}
	t := &d.Core
	if !t.hasPositions() {
		if i := slices.IndexFunc(d.Extensions, func(e darwinTable) bool { return e.hasPositions() && len(e.Files) > 0 }); i >= 0 {
			t = &d.Extensions[i]
			f.note(fmt.Sprintf("its core %s has no positions, so that its extension %s is read", d.Core.Files[0], t.Files[0]))
		}
	}
	table = path.Join(path.Dir(file), strings.TrimSpace(t.Files[0]))
	if !slices.Contains(members, table) {
		return ""
	}
	if len(t.Files) > 1 {
		f.note(fmt.Sprintf("%d more files of its table are not read, such as %s", len(t.Files)-1, t.Files[1]))
	}
	switch separator := strings.ReplaceAll(t.Separator, `\t`, "\t"); separator {
	case ",", ";", "\t", "|":
		f.Columns.Separator = separator[0]
	}
	if t.HeaderLines == "0" && !f.Headless {
		f.Headless, f.ColumnNames = true, t.names()
		f.note("the table has no line of names, and its meta.xml gives those of its columns")
	}
	return table
}

// hasPositions reports whether the table has columns of positions.
func (t *darwinTable) hasPositions() bool {
	has := func(name string) bool {
		return slices.ContainsFunc(t.Fields, func(f darwinField) bool { return f.Index != "" && strings.EqualFold(f.name(), name) })
	}
	return has("decimalLatitude") && has("decimalLongitude")
}

// names returns the names of the columns: id, and those of the terms. A column without a name of its own is called by
// its number, from 1.
func (t *darwinTable) names() (names []string) {
	const most = 10_000
	for _, field := range append([]darwinField{{t.ID.Index, "id"}, {t.CoreID.Index, "id"}}, t.Fields...) {
		i, err := strconv.Atoi(field.Index)
		if err != nil || i < 0 || i >= most {
			continue
		}
		for len(names) <= i {
			names = append(names, strconv.Itoa(len(names)+1))
		}
		if name := field.name(); names[i] == strconv.Itoa(i+1) && name != "" && !slices.Contains(names, name) {
			names[i] = name
		}
	}
	return names
}
