package main

import (
	"errors"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/job/names"
	"quadrille/cmd/internal/catalogue"
)

type namesCmd struct{ dryRun }

func (namesCmd) Help() string {
	return `Makes the index of names that search finds besides places: the regions of all layers, the airports, time zones and weather stations that are published, and the points of collections published with --search, with the people and the larger regions of each. It reads no file. The commands that publish one of these run it at their end, so that it is needed by itself only for data published by an older program.

  ingest names`
}

func (c *namesCmd) Run(s *session) error {
	_, err := names.Ingest(s.ctx, s.catalog, c.options(s))
	return err
}

// indexNames publishes the names anew after a command has published what they are made
// from. The command has done its work by then, so a failure here is a warning. The error
// is that of an interruption.
func (s *session) indexNames() error {
	made := func(name string) bool { return slices.Contains(s.toPush, name) }
	if made(catalogue.NameIndex.Name) || !slices.ContainsFunc(catalogue.NameIndex.Uses, made) && !s.searched() {
		return nil
	}
	if _, err := names.Ingest(s.ctx, s.catalog, s.options); err != nil && s.ctx.Err() == nil && !errors.Is(err, names.ErrNoNames) {
		s.reporter.Note("warning: the names for search stay as they were: " + err.Error() + "; run ingest names once that is mended")
	}
	return s.ctx.Err()
}

// searched reports whether a published collection is searched, or was.
func (s *session) searched() bool {
	for _, name := range s.toPush {
		if !strings.HasPrefix(name, catalogue.PointsPrefix) {
			continue
		}
		if yes, err := names.Searched(s.ctx, s.catalog, name); err != nil || yes {
			return true // the job reports what cannot be read
		}
	}
	return false
}
