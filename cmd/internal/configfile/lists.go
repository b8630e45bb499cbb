package configfile

import (
	"slices"
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

// ChooseBy chooses of each list the entry of which a setting with one of the names has a value that is among the words of
// a command line, also behind an equals sign.
func (f *File) ChooseBy(words []string, names ...string) {
	if f == nil {
		return
	}
	for command, count := range f.lists {
		for i := range count {
			for _, name := range names {
				v := f.values[key{sectionOf(command, i), name}].text
				if v != "" && slices.ContainsFunc(words, func(word string) bool { return word == v || strings.HasSuffix(word, "="+v) }) {
					f.Choose(command, i)
				}
			}
		}
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
