package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/world"
	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/variables"
	"quadrille/cmd/internal/version"
)

// onlyFlags have no place in a configuration file. A dry run that stays there would prevent every
// refresh from publishing.
var onlyFlags = []string{"config", "version", "dry-run"}

// BeforeResolve is the parser's hook after it has read the command line and the environment.
func (c *cli) BeforeResolve(ctx *kong.Context) error {
	file, err := configfile.Resolve(ctx, onlyFlags...)
	if c.file = file; err != nil || file == nil {
		return err
	}
	if node := ctx.Selected(); node != nil {
		return c.choose(ctx, node)
	}
	return nil
}

// layerFlags are the flags of boundaries that say which layers are published.
var layerFlags = []string{"layer", "patch", "remove", "keep"}

// choose tells the file which entry of the command's list is used: that of the data set that the command line and the
// environment name. A command line that only patches takes no layers from it.
func (c *cli) choose(ctx *kong.Context, node *kong.Node) error {
	given := map[string]bool{}
	name, value := "", ""
	switch target(ctx).(type) {
	case *pointsCmd:
		name = "collection"
	case *boundariesCmd:
		name = "set"
	}
	for _, p := range ctx.Path {
		if p.Flag != nil {
			given[p.Flag.Name] = true
		}
		if p.Positional != nil && p.Positional.Name == name {
			value = ctx.Value(p).String()
		}
	}
	for _, flag := range node.Flags {
		if text, ok := ctx.FlagValue(flag).(string); ok && flag.Name == name {
			value = text
		}
	}
	switch count := c.file.Entries(node.Name); {
	case name == "" && count > 1:
		return fmt.Errorf("%s has %d entries of %s: join them, since only points: and boundaries: may have several", c.Config, count, node.Name)
	case c.entry != nil:
		c.file.Choose(node.Name, *c.entry)
		return nil
	}
	// Layers on the command line without a name are those of boundaries themselves, of which the file may have nothing.
	complete := name == "set" && slices.ContainsFunc(layerFlags, func(flag string) bool { return given[flag] })
	err := c.file.ChooseBy(node.Name, name, value, !complete)
	if name == "set" && (given["patch"] || given["remove"]) && !given["layer"] {
		c.file.Omit(node.Name, layerFlags...)
	}
	return err
}

// entryName returns the name of an entry, counted from 0, in messages.
func (c *cli) entryName(command string, entry int) string {
	if c.file.Entries(command) > 1 {
		return fmt.Sprintf("%s, entry %d", command, entry+1)
	}
	return command
}

// newParser makes a parser of the command line into c.
func newParser(c *cli, stdout, stderr io.Writer) (*kong.Kong, error) {
	for _, command := range added {
		c.Plugins = append(c.Plugins, command())
	}
	return kong.New(c,
		kong.Name("ingest"),
		kong.Description(description),
		kong.DefaultEnvars(variables.Prefix),
		configfile.Spellings(),
		kong.Vars{
			"version":  version.String(),
			"datasets": strings.Join(ask.DatasetNames(ask.Datasets), ", "),
			"world":    strings.Join(world.Datasets, ", "),
		},
		kong.Writers(stdout, stderr),
		kong.ExplicitGroups(groups),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Exit(func(code int) { panic(exited(code)) }),
	)
}

// configured parses a command from the environment and an entry of it in the file at path, without a
// command line. The caller owns the returned cli.
func configured(path, command string, entry int) (*cli, *kong.Context, error) {
	c := &cli{entry: &entry}
	parser, err := newParser(c, io.Discard, io.Discard)
	if err != nil {
		return nil, nil, err
	}
	args := []string{command}
	if path != "" {
		args = append(args, "--config", path)
	}
	ctx, err := parser.Parse(args)
	if err == nil {
		err = c.complete(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.entryName(command, entry), err)
	}
	return c, ctx, nil
}

// complete takes the input files from the configuration file if the command line names none. The
// parser itself takes only flags from that file.
func (c *cli) complete(ctx *kong.Context) error {
	node := ctx.Selected()
	if node == nil {
		return nil
	}
	for _, arg := range node.Positional {
		if !arg.Tag.Has("config") || !arg.Target.IsZero() {
			continue
		}
		if files := c.file.Argument(node.Name, arg.Name); len(files) > 0 {
			if err := arg.Parse(kong.Scan(files...), arg.Target); err != nil {
				return err
			}
		}
		if arg.Target.IsZero() && !arg.Tag.Has("extra") {
			return fmt.Errorf("no %s to read: name it, or write it as %s: beneath %s: into the file of --config", arg.Name, arg.Name, node.Name)
		}
	}
	if reads, ok := target(ctx).(reader); ok {
		var words []string
		if node.Name != "weather" { // names tell its files
			words = append(words, "ingest")
			for _, word := range ctx.Args {
				words = append(words, crs.ShellQuoted(word))
			}
		}
		for _, path := range reads.reads() {
			if err := source.RefuseAddress(path, words); err != nil {
				return err
			}
		}
	}
	return c.checked(ctx)
}

// checked refuses values of flags that are in quotes, have blanks at their ends, or have a comment
// after them. It checks the flags of the program and of the command.
func (c *cli) checked(ctx *kong.Context) error {
	return errors.Join(configfile.CheckValues(configfile.Settings(ctx, c.file, onlyFlags...)),
		configfile.CheckValues(configfile.CommandFlags(ctx, c.file, onlyFlags...)))
}

// target returns the parsed command with its fields set.
func target(ctx *kong.Context) any { return ctx.Selected().Target.Addr().Interface() }

type configCmd struct {
	Print configPrintCmd `cmd:"" help:"Print every setting and where it comes from, as a file for --config."`
	Check configCheckCmd `cmd:"" help:"Check every setting, that the files they name can be read, and the environment, without ingesting."`
}

type configPrintCmd struct {
	Commands []string `arg:"" optional:"" name:"command" help:"Commands to print besides those that are in the file, such as world."`
}

func (c *configPrintCmd) Run(s *session) error {
	if err := configfile.Print(s.stdout, s.settings); err != nil {
		return err
	}
	for _, name := range s.commands {
		if !s.cli.file.Has(name) && !slices.Contains(c.Commands, name) {
			continue
		}
		var entries [][]configfile.Setting
		for i := range max(s.cli.file.Entries(name), 1) {
			own, ctx, err := configured(s.cli.Config, name, i)
			if err != nil {
				return &usageError{err}
			}
			entries = append(entries, configfile.CommandSettings(ctx, own.file, onlyFlags...))
		}
		if err := configfile.PrintCommand(s.stdout, name, entries...); err != nil {
			return err
		}
	}
	for _, name := range c.Commands {
		if !slices.Contains(s.commands, name) {
			return &usageError{fmt.Errorf("config print %s: there is no such command with settings; there are %s", name,
				strings.Join(s.commands, ", "))}
		}
	}
	return nil
}

type configCheckCmd struct{}

func (configCheckCmd) Run(s *session) error {
	errs := variables.Unknown(os.Environ())
	for _, name := range s.commands {
		for i := range s.cli.file.Entries(name) {
			_, ctx, err := configured(s.cli.Config, name, i)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			reads, ok := target(ctx).(reader)
			if !ok {
				continue
			}
			for _, path := range reads.reads() {
				if source.IsStream(path) {
					continue // refreshes refuses it
				}
				if err := readable(path); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", s.cli.entryName(name, i), err))
				}
			}
		}
	}
	if len(errs) == 0 {
		_, err := refreshes(s)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return &usageError{err}
	}
	_, err := fmt.Fprintln(s.stdout, "The configuration can be used.")
	return err
}

// readable returns an error if a file or folder, or the first file of a pattern, cannot be opened for reading.
func readable(path string) error {
	if names, _, err := source.Files(path); err != nil {
		return err
	} else if len(names) > 0 {
		path = names[0]
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}
