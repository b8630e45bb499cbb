package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job/names"
)

type namesCmd struct{ publishing }

func (namesCmd) Help() string {
	return `Makes the index of names that search finds besides places: the regions of all layers, the airports,
time zones and weather stations that are published, and the points of collections published with --search,
with the people and the larger regions of each. It reads no file. The commands that publish one of these run
it at their end, and so do rollback and drop, so that it is needed by itself only for data published by an
older program.

  ingest names`
}

func (c *namesCmd) Run(s *session) error {
	_, err := names.Ingest(s.ctx, s.catalog, c.options(s))
	return err
}

// indexNames publishes the names again after a command has changed a data set with names. If no
// data set with names is left, it drops them. The command itself is done by then, so a failure here
// is a warning. The only error is an interruption.
func (s *session) indexNames() error {
	made := func(name string) bool { return slices.Contains(s.changed, name) }
	if made(ask.Names.Name) || !slices.ContainsFunc(ask.Names.Uses, made) && !s.searched() {
		return nil
	}
	o := s.options
	o.MaxChange = nil // it applies to the data sets, not to their names
	_, err := names.Ingest(s.ctx, s.catalog, o)
	if errors.Is(err, names.ErrNoNames) {
		if _, err = s.catalog.Unpublish(s.ctx, ask.Names.Name); errors.Is(err, dataset.ErrNoGeneration) {
			return nil // there were none
		}
		if err == nil {
			s.reporter.Note("dropped the names for search too: nothing is left that has some besides places")
		}
	}
	if err != nil && s.ctx.Err() == nil {
		s.reporter.Note("warning: the names for search stay as they were: " + err.Error() + "; run ingest names once that is mended")
	}
	return s.ctx.Err()
}

// republished records that a command has published another generation of a data set, or has dropped
// it. The names for search are then published again. Those in --store are made from --data, which
// has not changed.
func (s *session) republished(name string) {
	if s.depot == nil {
		s.changed = append(s.changed, name)
		return
	}
	if slices.Contains(ask.Names.Uses, name) || strings.HasPrefix(name, ask.CollectionPrefix) {
		s.reporter.Note(fmt.Sprintf("the names for search in %s stay as they are: to let them follow, run this without "+
			"--store too, then ingest push %s",
			s.depot.Name(), ask.Names.Name))
	}
}

// searched reports whether a published collection is or was included in searches.
func (s *session) searched() bool {
	for _, name := range s.changed {
		if !strings.HasPrefix(name, ask.CollectionPrefix) {
			continue
		}
		if yes, err := names.IsSearched(s.ctx, s.catalog, name); err != nil || yes {
			return true // the job reports unreadable collections
		}
	}
	return false
}
