// Package configfile lets the flags of a program be set in a YAML file too, and
// says where each of their values comes from.
//
// The file is one mapping from the names of flags, without their dashes, to
// values as they would be given on the command line; a flag that may be repeated
// takes a list. JSON is YAML and is read as well. The command line wins over the
// environment, the environment over the file, the file over the defaults.
package configfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ErrFile matches every error about a configuration file that was read.
var ErrFile = errors.New("configuration file cannot be used")

// maxSize bounds a file in bytes. It is parsed as a whole.
const maxSize = 1 << 20

// File is a configuration file that has been read.
type File struct {
	path   string
	values map[string]value
	order  []string // as in the file
}

// value is what the file says about a flag.
type value struct {
	text string   // of a scalar
	list []string // of a sequence
	many bool     // whether it is one
	line int
}

// Load reads a configuration file. What its names and values mean is only known
// to a parser, see [File.Resolver].
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
	file := &File{path: path, values: map[string]value{}}
	if len(data) > maxSize {
		return nil, file.wrong(0, "it is larger than %d bytes: a file of settings is expected", maxSize)
	}
	doc, err := parse(data)
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
		if err := file.read(d.Body); err != nil {
			return nil, err
		}
	}
	return file, nil
}

// parse keeps a fault of the parser from becoming one of the program.
func parse(data []byte) (doc *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it is not YAML: %v", p)
		}
	}()
	return parser.ParseBytes(data, 0)
}

func (f *File) read(body ast.Node) error {
	var entries []*ast.MappingValueNode
	switch n := body.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	case *ast.CommentGroupNode:
		return nil
	default:
		return f.wrong(line(body), "write it as lines of SETTING: VALUE, such as listen: :8080")
	}
	for _, e := range entries {
		name, ok := scalar(e.Key)
		if !ok {
			return f.wrong(line(e.Key), "the name of a setting must be plain text")
		}
		if before, twice := f.values[name]; twice {
			return f.wrong(line(e.Key), "%s is set in line %d already: remove one", name, before.line)
		}
		v := value{line: line(e.Key)}
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
			if v.text, ok = scalar(n); !ok {
				return f.wrong(v.line, "%s must be a single value or a list: give one, or remove the line for the default", name)
			}
		}
		f.values[name] = v
		f.order = append(f.order, name)
	}
	return nil
}

// scalar is the text of a single value as it would be given on the command line,
// so that 0755 and 1e3 are not turned into other numbers on the way.
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

// wrong is an error about a line, 0 for none in particular.
func (f *File) wrong(line int, format string, args ...any) error {
	at := f.path
	if line > 0 {
		at = fmt.Sprintf("%s:%d", f.path, line)
	}
	return fmt.Errorf("%s: %w: %s", at, ErrFile, fmt.Sprintf(format, args...))
}

// Resolver gives a parser the values of the file. It refuses a file with names
// that are not among the flags of the application, or are in except: those that
// make no sense in a file.
func (f *File) Resolver(app *kong.Application, except ...string) (kong.Resolver, error) {
	except = append(except, "help")
	known := map[string]*kong.Flag{}
	for _, flag := range Flags(app) {
		if !slices.Contains(except, flag.Name) {
			known[flag.Name] = flag
		}
	}
	for _, name := range f.order {
		v, flag := f.values[name], known[name]
		switch {
		case flag == nil && slices.Contains(except, name):
			return nil, f.wrong(v.line, "%s can only be given on the command line: remove it", name)
		case flag == nil:
			return nil, f.wrong(v.line, "there is no setting %s%s", name, suggest(name, known))
		case v.many && !flag.IsSlice():
			return nil, f.wrong(v.line, "%s takes one value, not a list", name)
		}
	}
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		v, ok := f.values[flag.Name]
		if !ok || known[flag.Name] == nil {
			return nil, nil
		}
		if _, ok := environment(flag); ok {
			return nil, nil
		}
		if v.many {
			return kong.JoinEscaped(v.list, flag.Tag.Sep), nil
		}
		return v.text, nil
	}), nil
}

// Flags are the flags of an application itself, without those of its commands.
func Flags(app *kong.Application) []*kong.Flag { return app.Flags }

// UnsetEmpty removes the empty ones of the environment variables that set flags:
// compose files produce them, and mean none. A program calls it before anything
// else.
func UnsetEmpty(prefix string) {
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); value == "" && strings.HasPrefix(name, prefix+"_") {
			_ = os.Unsetenv(name) // fails for invalid names only, and this one is set
		}
	}
}

// environment is the variable that sets a flag.
func environment(flag *kong.Flag) (string, bool) {
	for _, name := range flag.Tag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return name, true
		}
	}
	return "", false
}

// suggest says which setting may have been meant.
func suggest(name string, known map[string]*kong.Flag) string {
	normal := func(s string) string { return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(s, "-")), "_", "-") }
	best, distance := "", 3
	for k := range known {
		if d := edits(normal(name), k); d < distance || d == distance && k < best {
			best, distance = k, d
		}
	}
	if best == "" {
		return ": --help lists them, write them without the dashes"
	}
	return ": did you mean " + best + "?"
}

// edits is the number of letters to insert, remove or replace to turn a into b.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
