package configfile

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A command that can publish several data sets may have a list of settings in the file, with an entry for each:
//
//	points:
//	- collection: shops
//	  file: shops.csv
//	- collection: cafes
//	  file: cafes.csv

// numbered separates the number of an entry from its command in a section. No name in a file has it.
const numbered = "\x00"

// sectionOf returns the section of an entry, counted from 0.
func sectionOf(command string, entry int) string {
	if entry == 0 {
		return command
	}
	return command + numbered + strconv.Itoa(entry+1)
}

// commandOf returns the command of a section.
func commandOf(section string) string {
	command, _, _ := strings.Cut(section, numbered)
	return command
}

// entriesOf returns the entries of a list of mappings.
func entriesOf(n ast.Node) (all [][]*ast.MappingValueNode, ok bool) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	for _, item := range list.Values {
		entry, ok := mapping(item)
		if !ok {
			return nil, false
		}
		all = append(all, entry)
	}
	return all, len(all) > 0
}

// Entries returns how many entries a command has in the file: 0 if it has no settings there, and 1 if they are no list.
func (f *File) Entries(command string) int {
	if !f.Has(command) {
		return 0
	}
	return max(f.lists[command], 1)
}

// Choose makes an entry of a command, counted from 0, the one whose settings are used. Of a list of several none is used
// before.
func (f *File) Choose(command string, entry int) { f.chosen[command] = entry }

// ChooseBy chooses of a command's list the entry in which a setting has a value; "" is that of an entry without it. It
// returns an error that names the entries if there are several, or none; with "" there may be none unless one is needed.
// An only entry is used with "".
func (f *File) ChooseBy(command, name, value string, needed bool) error {
	if f.lists[command] == 0 {
		return nil
	}
	var all []string
	found := 0
	for i := range f.lists[command] {
		v := f.values[key{sectionOf(command, i), name}].text
		if v == value {
			f.Choose(command, i)
			found++
		}
		if v != "" {
			all = append(all, v)
		}
	}
	names := strings.Join(all, ", ")
	switch {
	case found > 1:
		return f.wrong(f.sections[command], "%d entries of %s have %s: give each a %s of its own", found, command,
			cmp.Or(value, "no "+name), name)
	case found == 1 || value == "" && (f.lists[command] == 1 || !needed):
		return nil
	case value == "":
		return fmt.Errorf("%s:%d: %s has %d entries: name the %s of one (%s), or run ingest refresh", f.path, f.sections[command],
			command, f.lists[command], name, names)
	}
	return fmt.Errorf("%s:%d: %s has no entry for %s, but for %s: correct the name, or add the entry \"- %s: %[4]s\"", f.path,
		f.sections[command], command, value, cmp.Or(names, "none with a "+name), name)
}

// Omit removes settings of the entry of a command that is used.
func (f *File) Omit(command string, names ...string) {
	for _, name := range names {
		delete(f.values, key{f.used(command), name})
	}
}

// used returns the section of a command whose settings are used.
func (f *File) used(command string) string {
	entry, ok := f.chosen[command]
	if !ok && f.lists[command] > 1 {
		return numbered // none
	}
	return sectionOf(command, entry)
}
