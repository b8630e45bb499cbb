// Package configfile allows to set the flags of a program in a YAML file too, and reports the
// source of each value.
//
// The file is a mapping from the names of flags, without their dashes, to values in the form of the
// command line. A flag that may be repeated takes a list. The flags of a command that is tagged
// config:"" are in a mapping of their own under the command's name, and so are its arguments with
// that tag. JSON is YAML and is read as well. The command line takes precedence over the
// environment, the environment over the file, and the file over the defaults.
package configfile

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"quadrille/cmd/internal/nearest"
	"quadrille/internal/bom"
)

// ErrFile matches every error about a configuration file that was read.
var ErrFile = errors.New("configuration file cannot be used")

// maxSize bounds a file in bytes. It is parsed as a whole.
const maxSize = 1 << 20

// File is a configuration file that has been read.
type File struct {
	path     string
	values   map[key]value
	order    []key          // as in the file
	sections map[string]int // the commands that have settings, and their lines
	lists    map[string]int // the numbers of entries of commands that have lists of settings
	chosen   map[string]int // the entries in use
}

// key names a setting of a command or, if section is "", of the program.
type key struct{ section, name string }

// value is the value of a flag in the file.
type value struct {
	name string   // as it is written, for messages
	text string   // of a scalar
	list []string // of a sequence
	many bool     // whether it is one
	line int
}

// Load reads a configuration file. Only a parser knows the meaning of its names and values, see
// [File.Resolver].
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads the content of a configuration file; path is for messages.
func Parse(path string, data []byte) (*File, error) {
	file := &File{path: path, values: map[key]value{}, sections: map[string]int{}, lists: map[string]int{}, chosen: map[string]int{}}
	if len(data) > maxSize {
		return nil, file.wrong(0, "it is larger than %d bytes: a file of settings is expected", maxSize)
	}
	doc, err := parse(bom.Trim(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w; put values that begin with *, & or another sign in quotes", path, ErrFile, err)
	}
	seen := false
	for _, d := range doc.Docs {
		if d.Body == nil {
			continue
		}
		if seen {
			return nil, file.wrong(line(d.Body), "it has more than one document: remove the ---")
		}
		seen = true
		var found repeats
		if ast.Walk(&found, d.Body); found.first != nil {
			return nil, file.wrong(line(found.first), "anchors, aliases and merges (&, * and <<) are not read: write the settings out, and "+
				"put a value that begins with & or * in quotes")
		}
		if err := file.read(d.Body); err != nil {
			return nil, err
		}
	}
	return file, nil
}

// parse prevents a panic of the YAML parser from ending the program.
func parse(data []byte) (doc *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it is not YAML: %v", p)
		}
	}()
	return parser.ParseBytes(data, 0)
}

func (f *File) read(body ast.Node) error {
	if _, ok := body.(*ast.CommentGroupNode); ok {
		return nil
	}
	entries, ok := mapping(body)
	if !ok {
		return f.wrong(line(body), "write it as lines of SETTING: VALUE, such as data: /srv/quadrille")
	}
	for _, e := range entries {
		name, ok := scalar(e.Key)
		if !ok {
			return f.wrong(line(e.Key), "the name of a setting must be plain text")
		}
		entries, isList := entriesOf(e.Value)
		inner, ok := mapping(e.Value)
		if !ok && !isList {
			if err := f.set(key{"", normal(name)}, name, e); err != nil {
				return err
			}
			continue
		}
		if before, twice := f.sections[name]; twice {
			return f.wrong(line(e.Key), "%s is set in line %d already: remove one", name, before)
		}
		f.sections[name] = line(e.Key)
		if !isList {
			entries = append(entries, inner)
		} else {
			f.lists[name] = len(entries)
		}
		for i, entry := range entries {
			for _, e := range entry {
				of, ok := scalar(e.Key)
				if !ok {
					return f.wrong(line(e.Key), "the name of a setting must be plain text")
				}
				if err := f.set(key{sectionOf(name, i), normal(of)}, of, e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// repeats is the first node, if any, by which YAML repeats another one: an anchor, an alias or a merge key.
type repeats struct{ first ast.Node }

func (r *repeats) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		r.first = n
	}
	if r.first != nil {
		return nil
	}
	return r
}

// mapping returns the entries of a mapping in either form of the YAML parser.
func mapping(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// normal returns a name in the form of flags: with dashes instead of underscores, which mean the
// same, and in the spelling of flags.
func normal(name string) string { return respelled(strings.ReplaceAll(name, "_", "-"), 0) }

// set stores the value of an entry. name is its name in messages.
func (f *File) set(k key, name string, e *ast.MappingValueNode) error {
	if before, twice := f.values[k]; twice {
		return f.wrong(line(e.Key), "%s is set in line %d already: remove one", name, before.line)
	}
	v := value{name: name, line: line(e.Key)}
	if k.section != "" {
		v.name = strings.Replace(k.section, numbered, " entry ", 1) + ": " + name
	}
	switch n := e.Value.(type) {
	case *ast.SequenceNode:
		v.many = true
		for _, item := range n.Values {
			text, ok := scalar(item)
			if !ok {
				return f.wrong(line(item), "%s must be a list of single values", name)
			}
			v.list = append(v.list, text)
		}
	default:
		var ok bool
		if _, inner := mapping(n); inner && k.section != "" {
			return f.wrong(v.line, "%s must be a single value or a list; for several of %s write a list, whose entries begin with a hyphen",
				name, commandOf(k.section))
		}
		if v.text, ok = scalar(n); !ok {
			return f.wrong(v.line, "%s must be a single value or a list: give one, or remove the line for the default", name)
		}
	}
	f.values[k] = v
	f.order = append(f.order, k)
	return nil
}

// scalar returns a single value as it would be written on the command line, so
// that 0755 and 1e3 do not become other numbers.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func line(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// wrong returns an error about a line; 0 means no particular line.
func (f *File) wrong(line int, format string, args ...any) error {
	at := f.path
	if line > 0 {
		at = fmt.Sprintf("%s:%d", f.path, line)
	}
	return fmt.Errorf("%s: %w: %s", at, ErrFile, fmt.Sprintf(format, args...))
}

// Resolver gives a parser the values of the file. It refuses a file with a name that is not a flag
// of the application or its commands. It also refuses a name in except, which lists flags that make
// no sense in a file.
func (f *File) Resolver(app *kong.Application, except ...string) (kong.Resolver, error) {
	except = append(except, "help")
	known := map[string]map[string]*kong.Value{"": {}}
	keys := map[*kong.Flag]key{}
	add := func(section string, flags []*kong.Flag) {
		for _, flag := range flags {
			if !slices.Contains(except, flag.Name) {
				known[section][flag.Name] = flag.Value
				keys[flag] = key{section, flag.Name}
			}
		}
	}
	add("", Flags(app))
	for _, command := range app.Children {
		if !command.Tag.Has("config") {
			continue
		}
		known[command.Name] = map[string]*kong.Value{}
		add(command.Name, command.Flags)
		for _, a := range arguments(command) {
			known[command.Name][a.Name] = a
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(f.sections), func(a, b string) int { return f.sections[a] - f.sections[b] }) {
		line := f.sections[name]
		switch {
		case known[name] != nil && name != "":
		case known[""][normal(name)] != nil:
			return nil, f.wrong(line, "%s must be a single value or a list: give one, or remove the line for the default", name)
		default:
			return nil, f.wrong(line, "there is no command %s with settings%s", name, suggest(name, known))
		}
	}
	for _, k := range f.order {
		v, flag := f.values[k], known[commandOf(k.section)][k.name]
		switch {
		case flag == nil && slices.Contains(except, k.name):
			return nil, f.wrong(v.line, "%s can only be given on the command line: remove it", v.name)
		case flag == nil && k.section == "" && known[k.name] != nil:
			return nil, f.wrong(v.line, "%s is a command: write its settings beneath it, each line indented, or %s: {} for none", v.name, v.name)
		case flag == nil && k.section != "" && known[""][k.name] != nil:
			return nil, f.wrong(v.line, "there is no setting %s: %s is one of every command, write it without indentation", v.name, k.name)
		case flag == nil:
			return nil, f.wrong(v.line, "there is no setting %s%s", v.name, suggest(k.name, known[commandOf(k.section)]))
		case v.many && !flag.IsSlice():
			return nil, f.wrong(v.line, "%s takes one value, not a list", v.name)
		}
	}
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		k, ok := keys[flag]
		if !ok {
			return nil, nil
		}
		if k.section != "" {
			k.section = f.used(k.section)
		}
		v, ok := f.values[k]
		if !ok {
			return nil, nil
		}
		if _, ok := environment(flag); ok {
			return nil, nil
		}
		if v.many && flag.Tag.Sep == -1 { // a value may have any sign in it
			list := make([]any, len(v.list))
			for i, one := range v.list {
				list[i] = one
			}
			return list, nil
		}
		if v.many {
			return kong.JoinEscaped(v.list, flag.Tag.Sep), nil
		}
		return v.text, nil
	}), nil
}

// arguments returns the positional arguments of a command that a configuration file may set.
func arguments(command *kong.Node) []*kong.Value {
	var list []*kong.Value
	for _, a := range command.Positional {
		if a.Tag.Has("config") {
			list = append(list, a)
		}
	}
	return list
}

// Has reports whether the file has settings of a command.
func (f *File) Has(command string) bool {
	if f == nil {
		return false
	}
	_, ok := f.sections[command]
	return ok
}

// Argument returns the values of an argument of a command in the file, or nil if the file does not
// have it.
func (f *File) Argument(command, name string) []string {
	if f == nil {
		return nil
	}
	v, ok := f.values[key{f.used(command), name}]
	switch {
	case !ok:
		return nil
	case v.many:
		return v.list
	}
	return []string{v.text}
}

// Flags returns the flags of an application itself, without those of its commands.
func Flags(app *kong.Application) []*kong.Flag { return app.Flags }

// environment returns the environment variable that sets a flag.
func environment(flag *kong.Flag) (string, bool) {
	for _, name := range flag.Tag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return name, true
		}
	}
	return "", false
}

// suggest returns the name that the user may have meant.
func suggest[T any](name string, known map[string]T) string {
	if meant, ok := nearest.Name(strings.TrimLeft(name, "-_"), slices.Collect(maps.Keys(known))); ok {
		return ": did you mean " + meant + "?"
	}
	return ": --help lists them, write them without the dashes"
}

// Resolve reads the file that the flag --config of a program names, if there is one. Its values are
// used for flags that neither the command line nor the environment sets. onlyFlags are flags that
// make no sense in a file. Without --config there is no file and no error.
func Resolve(ctx *kong.Context, onlyFlags ...string) (*File, error) {
	path := ""
	for _, flag := range ctx.Model.Flags {
		if flag.Name == "config" {
			path, _ = ctx.FlagValue(flag).(string)
		}
	}
	if path == "" {
		return nil, nil
	}
	file, err := Load(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	values, err := file.Resolver(ctx.Model, onlyFlags...)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	ctx.AddResolver(values)
	return file, nil
}
