package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job/renew"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/version"
)

type refreshCmd struct {
	Commands []string `arg:"" optional:"" name:"command" help:"The data sets of the file to do, such as boundaries or points-shops, or commands such as points; all when none is named."`
	Force    bool     `help:"Ingest also what has not changed."`

	publishing
}

func (refreshCmd) Help() string {
	last := len(refreshed) - 1
	return `Does what the configuration file says: each of the commands ` + strings.Join(refreshed[:last], ", ") + ` and ` +
		refreshed[last] + ` that has its settings there, in that order. One whose files, settings and program are those its published generation was made of is passed over. One that fails leaves its data set as it is published, and the others go on; the exit code is then 1.

  # /etc/quadrille/ingest.yaml
  data: /var/lib/quadrille
  boundaries:
    layer: [country=/srv/geo/countries.gpkg, "ward=/srv/geo/wards.geojson:WARD_NO"]
  world:
    only: [places, timezones, airports]
    downloads: /var/cache/quadrille
  ip:
    file: [/srv/ip/offices.csv, /srv/ip/GeoLite2-City.mmdb]
    max-change: 10%
  points:
    collection: shops
    file: [/srv/shops/shops.csv]
    type: [price=number]

  ingest config check --config /etc/quadrille/ingest.yaml
  ingest refresh --config /etc/quadrille/ingest.yaml --dry-run
  ingest refresh --config /etc/quadrille/ingest.yaml

A command may have a list of such settings, with an entry for each collection or data set (points: and below it "- collection: shops").

With --dry-run each command that has something to do says what it would change, and world lists its files.
What one would publish the next does not see.`
}

// reader is a command that reads files.
type reader interface{ reads() []string }

func (c *boundariesCmd) reads() []string {
	var files []string
	for _, l := range slices.Concat(c.Layer, c.Patch) {
		file, _ := source.SplitLayer(l.file)
		files = append(files, file)
	}
	return files
}

func (c *placesCmd) reads() []string {
	files := slices.Clone(c.Files)
	for _, as := range c.As {
		files = append(files, as.file)
	}
	return files
}

func (c *ipCmd) reads() []string { return withoutLayers(c.Files) }

// withoutLayers returns the files of paths that may name layers.
func withoutLayers(paths []string) (files []string) {
	for _, path := range paths {
		file, _ := source.SplitLayer(path)
		files = append(files, file)
	}
	return files
}

func (c *timezonesCmd) reads() []string {
	if c.File == "" {
		return nil
	}
	file, _ := source.SplitLayer(c.File)
	return []string{file}
}

func (c *worldCmd) reads() []string { return c.IPFile }

// refreshed are the commands that a refresh runs, in order: the commands of the data sets, with
// world after boundaries and places so that the others use its results, and then points.
var refreshed = append(slices.Insert(ask.DatasetNames(slices.DeleteFunc(slices.Clone(ask.Datasets), func(d ask.Dataset) bool {
	return d.Name == ask.Names.Name // it is built from the others
})), 2, "world"), "points")

// step is one command of a refresh.
type step struct {
	name string
	cli  *cli
	ctx  *kong.Context
}

// dataset returns the data set that the command publishes. It must not be called for world.
func (st *step) dataset() string {
	switch st.name {
	case "points":
		return st.cli.Points.of().Name
	case ask.BoundariesName:
		return st.cli.Boundaries.of().Name
	}
	return st.name
}

// publishes returns the data set that the command publishes, or "world".
func (st *step) publishes() string {
	if st.name == "world" {
		return st.name
	}
	return st.dataset()
}

// named returns the steps that a name means: that which publishes the data set of this name, or else all those of the
// command.
func named(steps []step, name string) (of []step) {
	for _, by := range []func(st *step) string{(*step).publishes, func(st *step) string { return st.name }} {
		for _, st := range steps {
			if by(&st) == name {
				of = append(of, st)
			}
		}
		if of != nil {
			break
		}
	}
	return of
}

// own returns the sort key of a step: 1 for layers in a separate data set, which come after the
// data sets that they use, and 0 for all others.
func (st *step) own() int {
	if st.name == ask.BoundariesName && st.cli.Boundaries.Set != "" {
		return 1
	}
	return 0
}

// refreshes returns the commands of the file, ready to run.
func refreshes(s *session) ([]step, error) {
	var steps []step
	publishes := map[string]bool{}
	for _, name := range refreshed {
		for entry := range s.cli.file.Entries(name) {
			st, err := stepOf(s, name, entry, steps)
			if err != nil {
				return nil, err
			}
			if publishes[st.publishes()] {
				return nil, fmt.Errorf("two entries of %s publish %s: give each a name of its own", name, st.publishes())
			}
			steps = append(steps, st)
			publishes[st.publishes()] = true
		}
	}
	// Layers in a separate data set use the data sets that the other steps publish.
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.own(), b.own()) })
	if publishes["world"] {
		for _, st := range steps {
			if st.name != "world" {
				continue
			}
			for _, name := range st.cli.World.publishes() {
				if publishes[name] {
					return nil, fmt.Errorf("world and %s both publish %s: leave %s out of only: beneath world:, or remove %s:", name, name, name, name)
				}
			}
		}
	}
	return steps, nil
}

// stepOf returns the step of a command, or of an entry of its list, with the settings of the file. before are the steps
// that come before it.
func stepOf(s *session, name string, entry int, before []step) (step, error) {
	c, ctx, err := configured(s.cli.Config, name, entry)
	if err != nil {
		return step{}, err
	}
	entryName := c.entryName(name, entry)
	if name == ask.TimeZones.Name && c.Timezones.File != "" && slices.ContainsFunc(before, dropsZones) {
		return step{}, fmt.Errorf("boundaries leaves out the layer that timezones publishes: beneath boundaries: write keep: "+
			"true, or timezone=%s as a layer", c.Timezones.File)
	}
	if of, ok := target(ctx).(reader); ok && slices.ContainsFunc(of.reads(), source.IsStream) {
		return step{}, fmt.Errorf("%s has standard input or a pipe as a file: name files only, since each refresh reads them", entryName)
	}
	if name == "points" && c.Points.IntoLive != "" {
		return step{}, fmt.Errorf("%s has into-live: remove it, since refresh publishes what has changed, or run ingest points itself", entryName)
	}
	if len(c.Boundaries.Remove) > 0 {
		return step{}, fmt.Errorf("%s has remove: take it out, since a region can be removed only once, and run "+
			"ingest boundaries --remove yourself", entryName)
	}
	return step{name, c, ctx}, nil
}

// dropsZones reports whether a step publishes the boundaries without zones, even if
// another command has added them.
func dropsZones(st step) bool {
	return st.name == ask.Boundaries.Name && st.cli.Boundaries.Set == "" && !st.cli.Boundaries.keeps("timezone") && !st.cli.Boundaries.namesZones()
}

func (c *refreshCmd) Run(s *session) error {
	if s.cli.file == nil {
		return &usageError{errors.New("refresh does what a configuration file says: name it by --config FILE")}
	}
	steps, err := refreshes(s)
	if err != nil {
		return &usageError{err}
	}
	if len(steps) == 0 {
		return &usageError{fmt.Errorf("%s has no command to refresh: write one of %s: into it, with its settings beneath",
			s.cli.Config, strings.Join(refreshed, ":, "))}
	}
	chosen := map[string]bool{} // by what a step publishes
	for _, name := range c.Commands {
		of := named(steps, name)
		if of == nil {
			var names []string
			for _, st := range steps {
				names = append(names, st.publishes())
			}
			return &usageError{fmt.Errorf("refresh %s: %s has no %s: with its settings beneath, but those of %s", name, s.cli.Config, name, strings.Join(names, ", "))}
		}
		for _, st := range of {
			chosen[st.publishes()] = true
		}
	}
	c.noteOthers(s, steps, chosen)
	s.options = c.options(s)
	var failed []string
	var errs []error
	for _, st := range steps {
		if len(c.Commands) > 0 && !chosen[st.publishes()] {
			continue
		}
		err := st.run(s, c.Force)
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err != nil {
			name := st.name
			if s.cli.file.Entries(name) > 1 {
				name = st.publishes()
			}
			failed, errs = append(failed, name), append(errs, err)
			s.reporter.abandon()
			s.reporter.Note(fmt.Sprintf("%s stays as it is: %v", name, err))
		}
	}
	return renew.NotRenewed(failed, errs)
}

// noteOthers tells which entries of a list a name leaves out that is also the name of their command.
func (c *refreshCmd) noteOthers(s *session, steps []step, chosen map[string]bool) {
	var others []string
	for _, st := range steps {
		if !chosen[st.publishes()] && slices.Contains(c.Commands, st.name) {
			others = append(others, st.publishes())
		}
	}
	if others != nil {
		s.reporter.Note("not refreshed, since they are data sets of their own: " + strings.Join(others, ", ") + "; name them too")
	}
}

// run runs the command, unless the published generation has the same basis.
func (st step) run(s *session, force bool) error {
	if st.name == "world" { // it finds its own changes
		st.cli.World.Force = st.cli.World.Force || force
		st.cli.World.DryRun = st.cli.World.DryRun || s.options.DryRun
		return st.ctx.Run(s)
	}
	basis, err := st.basis(s)
	if err != nil {
		return err
	}
	if st.name == ask.Boundaries.Name {
		st.cli.Boundaries.keepZones = true
	}
	return basis.Renew(s.ctx, s.catalog, st.dataset(), refreshRecord(s, st.dataset()), force, s.reporter,
		func() error { return st.ctx.Run(s) })
}

// refreshRecord returns the path of the record of a data set's basis.
func refreshRecord(s *session, name string) string {
	return filepath.Join(s.catalog.Dir(), name, "REFRESHED")
}

// basis returns the inputs of the result.
func (st step) basis(s *session) (renew.Basis, error) {
	of := []string{"program " + version.String(), fmt.Sprint("max-bad ", s.options.MaxBad)}
	for _, setting := range configfile.CommandSettings(st.ctx, st.cli.file, append(onlyFlags, "max-change")...) {
		of = append(of, fmt.Sprintf("%s %q", setting.Name, setting.Values))
	}
	var files []string
	if r, ok := target(st.ctx).(reader); ok {
		files = r.reads()
	}
	return renew.BasisOf(s.ctx, s.catalog, st.dataset(), of, files)
}
