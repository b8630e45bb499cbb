package configfile

import (
	"encoding"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// A Setting is the value of a flag and the source of the value.
type Setting struct {
	Name   string
	Values []string // empty if it is not set; several only for a list
	List   bool     // it may have several values
	Secret bool     // Values must not be shown
	Source string   // "default", "command line", "environment NAME", "FILE:LINE"
	text   bool     // tagged text:"", for people to read
}

// Derive changes the value of a setting that the user has not set, and records the reason in
// source. If the user has set it, Derive does nothing and returns false. target is the variable of
// the flag.
func Derive[T any](all []Setting, name string, target *T, value T, source string) bool {
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if i < 0 || all[i].Source != "default" {
		return false
	}
	*target = value
	all[i].Values, all[i].Source = texts(reflect.ValueOf(value)), source
	return true
}

// Settings lists the flags of an application after parsing, in the order of the help. file may be
// nil. Values of flags with the tag secret:"" must not be shown, and neither must the user and
// password in an address.
func Settings(ctx *kong.Context, file *File, except ...string) []Setting {
	return settings(ctx, file, "", nil, Flags(ctx.Model), append(except, "help"))
}

// CommandFlags does the same as Settings for the flags of the parsed command.
func CommandFlags(ctx *kong.Context, file *File, except ...string) []Setting {
	return settings(ctx, file, ctx.Selected().Name, nil, ctx.Selected().Flags, append(except, "help"))
}

// CommandSettings does the same as Settings for the parsed command: it lists its flags, and the
// arguments that a file may have.
func CommandSettings(ctx *kong.Context, file *File, except ...string) []Setting {
	command := ctx.Selected()
	if command == nil {
		return nil
	}
	return settings(ctx, file, command.Name, arguments(command), command.Flags, append(except, "help"))
}

func settings(ctx *kong.Context, file *File, section string, arguments []*kong.Value, flags []*kong.Flag, except []string) []Setting {
	given := map[*kong.Flag]bool{}
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			given[p.Flag] = true
		}
	}
	inFile := func(name string) (string, bool) {
		if file == nil {
			return "", false
		}
		v, ok := file.values[key{file.used(section), name}]
		return fmt.Sprintf("%s:%d", file.path, v.line), ok
	}
	var all []Setting
	for _, a := range arguments {
		s := Setting{Name: a.Name, Source: "command line", List: a.IsSlice(), Values: texts(a.Target)}
		fromFile := file.Argument(section, a.Name)
		if at, ok := inFile(a.Name); ok && slices.Equal(fromFile, s.Values) {
			s.Source = at
		} else if len(s.Values) == 0 {
			s.Source = "default" // nobody has emptied what takes files
		}
		all = append(all, s)
	}
	for _, flag := range flags {
		if slices.Contains(except, flag.Name) {
			continue
		}
		s := Setting{Name: flag.Name, Source: "default", List: flag.IsSlice(), Secret: flag.Tag.Has("secret"), text: flag.Tag.Has("text")}
		s.Values = texts(flag.Target)
		env, set := environment(flag)
		at, ok := inFile(flag.Name)
		switch {
		case given[flag]:
			s.Source = "command line"
		case set:
			s.Source = "environment " + env
		case ok:
			s.Source = at
		}
		if slices.ContainsFunc(s.Values, hasPassword) {
			s.Secret = true
		}
		all = append(all, s)
	}
	return all
}

// hasPassword reports whether a value is an address with a user in it.
func hasPassword(text string) bool {
	_, rest, ok := strings.Cut(text, "://")
	authority, _, _ := strings.Cut(rest, "/")
	return ok && strings.Contains(authority, "@")
}

// texts returns the values of a flag in the form of the command line.
func texts(v reflect.Value) []string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		if _, ok := v.Interface().(fmt.Stringer); !ok {
			v = v.Elem()
		}
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 {
		var list []string
		for i := range v.Len() {
			list = append(list, texts(v.Index(i))...)
		}
		return list
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		if text, err := m.MarshalText(); err == nil {
			return []string{string(text)}
		}
	}
	if text := fmt.Sprint(v.Interface()); text != "" {
		return []string{text}
	}
	return nil
}

// emptied reports whether the user has set a value to empty, which is not its default.
func (s *Setting) emptied() bool { return len(s.Values) == 0 && !s.List && s.Source != "default" }

// Print writes settings as an equivalent configuration file, each with its source in a comment. A
// setting that is not set, or must not be shown, is written as a comment.
func Print(w io.Writer, settings []Setting) error {
	width := 0
	lines := make([]string, len(settings))
	for i, s := range settings {
		switch {
		case len(s.Values) == 0 && s.emptied():
			lines[i] = s.Name + `: ""`
		case len(s.Values) == 0:
			lines[i] = "# " + s.Name + ":"
		case s.Secret:
			lines[i] = "# " + s.Name + ": (not shown)"
		default:
			text, err := inline(s)
			if err != nil {
				return err
			}
			lines[i] = s.Name + ": " + text
		}
		width = max(width, min(len(lines[i]), 48))
	}
	for i, s := range settings {
		source := s.Source
		if len(s.Values) == 0 && !s.emptied() {
			source = "not set"
		}
		if _, err := fmt.Fprintf(w, "%-*s  # %s\n", width, lines[i], source); err != nil {
			return err
		}
	}
	return nil
}

// PrintCommand writes the settings of a command as Print does those of a program, or those of the entries of its list.
func PrintCommand(w io.Writer, command string, entries ...[]Setting) error {
	if len(entries) > 1 {
		text := command + ":\n"
		for _, settings := range entries {
			var lines strings.Builder
			if err := Print(&lines, settings); err != nil {
				return err
			}
			text += "-\n"
			for line := range strings.Lines(lines.String()) {
				text += "  " + line
			}
		}
		_, err := io.WriteString(w, text)
		return err
	}
	settings := entries[0]
	if len(settings) == 0 {
		_, err := fmt.Fprintf(w, "%s: {}\n", command)
		return err
	}
	var lines strings.Builder
	if err := Print(&lines, settings); err != nil {
		return err
	}
	text := command + ":\n"
	if !slices.ContainsFunc(settings, func(s Setting) bool { return len(s.Values) > 0 && !s.Secret }) {
		text = command + ": {}\n" // what follows are comments alone
	}
	for line := range strings.Lines(lines.String()) {
		text += "  " + line
	}
	_, err := io.WriteString(w, text)
	return err
}

// inline returns the value of a setting in one line of YAML. Numbers, durations and the like are
// written without quotes. All other values are put in quotes if necessary.
func inline(s Setting) (string, error) {
	var v any = s.Values[0]
	if s.List {
		v = s.Values
	}
	b, err := yaml.MarshalWithOptions(v, yaml.Flow(true), yaml.JSON())
	if err != nil {
		return "", fmt.Errorf("setting %s: %w", s.Name, err)
	}
	text := strings.TrimSpace(string(b))
	if !s.List && plain(s.Values[0]) {
		return s.Values[0], nil
	}
	return text, nil
}

// plain reports whether both YAML and a person read a text correctly without quotes.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			(i == 0 && c != '.' && c != '/' || strings.IndexByte("-_./+", c) < 0) {
			return false
		}
	}
	return s != "" && !slices.Contains([]string{"null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s))
}
