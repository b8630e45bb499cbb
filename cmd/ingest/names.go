package main

import (
	"errors"
	"fmt"
	"slices"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/internal/catalogue"
)

type namesCmd struct{}

func (namesCmd) Help() string {
	return `Makes the index of names that search finds besides places: the regions of all layers and the airports that are published, with the people and the larger regions of each. It reads no file. The commands that publish boundaries, places or airports run it at their end, so that it is needed by itself only for data published by an older program.

  ingest names`
}

func (namesCmd) Run(s *session) error {
	_, err := job.Names(s.ctx, s.catalog, s.options)
	return err
}

// indexNames publishes the names anew once a command has published what they are made of.
func (s *session) indexNames() error {
	made := func(name string) bool { return slices.Contains(s.toPush, name) }
	if !slices.ContainsFunc(catalogue.NameIndex.Uses, made) || made(catalogue.NameIndex.Name) {
		return nil
	}
	_, err := job.Names(s.ctx, s.catalog, s.options)
	if err == nil || errors.Is(err, job.ErrNoNames) || s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	return fmt.Errorf("the names for search stay as they are: %w; run ingest names once that is mended", err)
}
