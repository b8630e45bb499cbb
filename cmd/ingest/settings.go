package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// settings reads flags from the JSON file of --config. Flags of all commands
// are members by their names, with - or _; those of one command are members of
// a member named for it. A name that is no flag is an error, since a misspelt
// one would otherwise be silently without effect.
type settings struct {
	loaded bool
	values map[string]any
}

// Validate does nothing: the file is known only once the flags have been read.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve returns the file's value for a flag that neither the command line,
// which the parser sees to, nor the environment sets.
func (s *settings) Resolve(ctx *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	if err := s.load(ctx); err != nil || s.values == nil {
		return nil, err
	}
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	values := s.values
	if parent.Command != nil {
		values, _ = values[parent.Command.Name].(map[string]any)
	}
	v, ok := values[flag.Name]
	if !ok {
		v = values[strings.ReplaceAll(flag.Name, "-", "_")]
	}
	switch v := v.(type) {
	case json.Number:
		return v.String(), nil
	case bool:
		if flag.IsBool() {
			return v, nil
		}
		return nil, errors.New("is true or false in the configuration file; a text or number is needed")
	default:
		return v, nil
	}
}

func (s *settings) load(ctx *kong.Context) error {
	if s.loaded {
		return nil
	}
	s.loaded = true
	path := os.Getenv(envPrefix + "_CONFIG")
	for _, f := range ctx.Flags() {
		if f.Name == "config" {
			if v, ok := ctx.FlagValue(f).(string); ok && v != "" {
				path = v
			}
		}
	}
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	const most = 1 << 20
	d := json.NewDecoder(io.LimitReader(file, most))
	d.UseNumber()
	if err := d.Decode(&s.values); err != nil {
		return fmt.Errorf("%s: not a JSON object of flags: %w", path, err)
	}
	return check(path, s.values, ctx.Model.Node)
}

// check compares the names in the file with the flags there are.
func check(path string, values map[string]any, node *kong.Node) error {
	for name, v := range values {
		if hasFlag(node, strings.ReplaceAll(name, "_", "-")) {
			continue
		}
		i := 0
		for i < len(node.Children) && node.Children[i].Name != name {
			i++
		}
		inner, ok := v.(map[string]any)
		if i == len(node.Children) || !ok {
			return fmt.Errorf("%s: %q is not a flag of %s", path, name, node.FullPath())
		}
		if err := check(path, inner, node.Children[i]); err != nil {
			return err
		}
	}
	return nil
}

func hasFlag(node *kong.Node, name string) bool {
	for _, f := range node.Flags {
		if f.Name == name && name != "help" && name != "version" && name != "config" {
			return true
		}
	}
	return false
}
