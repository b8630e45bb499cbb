package main

import "quadrille/cmd/ingest/internal/job"

type namesCmd struct{}

func (namesCmd) Help() string {
	return `Makes the index of names that search finds besides places: the regions of all layers and the airports that are published, with the people and the larger regions of each. It reads no file. The commands that publish boundaries, places or airports run it at their end, so that it is needed by itself only for data published by an older program.

  ingest names`
}

func (namesCmd) Run(s *session) error {
	_, err := job.Names(s.ctx, s.catalog, s.options)
	return err
}
