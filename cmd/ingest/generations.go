package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/internal/catalogue"
)

// generation is a generation in JSON, with the same members as in the server's /status.
type generation struct {
	Dataset    string           `json:"dataset"`
	Generation uint64           `json:"generation"`
	Built      time.Time        `json:"built,omitzero"`
	Records    map[string]int64 `json:"records,omitempty"`
	Bad        map[string]int64 `json:"bad,omitempty"`
	Bytes      int64            `json:"bytes"`
	Sources    []dataset.Source `json:"sources,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
}

func describe(m dataset.Manifest) generation {
	return generation{m.Dataset, m.Generation, m.Built, m.Records, m.Bad, m.Size(), m.Sources, catalogue.Warnings(&m)}
}

// told is an event about a data set in JSON.
type told struct {
	Event      string `json:"event"`
	Dataset    string `json:"dataset"`
	Generation uint64 `json:"generation,omitempty"`
	Path       string `json:"path,omitempty"`
	Error      string `json:"error,omitempty"`
}

// tell prints an event as JSON with --json. Otherwise it prints a line, unless --quiet is set.
func (s *session) tell(event any, format string, args ...any) {
	switch {
	case s.json:
		s.reporter.event(event)
	case !s.quiet:
		fmt.Fprintf(s.stdout, format+"\n", args...)
	}
}

type listCmd struct{}

func (listCmd) Help() string {
	return `The published generation of each data set is marked with an asterisk. Those before it can be
published again with ingest rollback. That is also how a data set comes back which ingest drop took out of
service; list says which those are.`
}

func (listCmd) Run(s *session) error {
	infos, err := s.generations().List(s.ctx)
	if err != nil {
		return err
	}
	if s.json {
		for _, in := range infos {
			event := struct {
				Event string `json:"event"`
				generation
				Current bool   `json:"current"`
				Dropped bool   `json:"dropped,omitempty"`
				Error   string `json:"error,omitempty"`
			}{Event: "generation", generation: describe(in.Manifest), Current: in.Current, Dropped: in.Dropped}
			event.Dataset, event.Generation = in.Dataset, in.Generation
			if in.Err != nil {
				event.Error = in.Err.Error()
			}
			s.reporter.event(event)
		}
		return nil
	}
	if len(infos) == 0 {
		if s.depot != nil {
			fmt.Fprintf(s.stdout, "nothing in %s yet; ingest push fills it\n", s.depot.Name())
		} else {
			fmt.Fprintf(s.stdout, "nothing in %s yet; ingest demo fills it\n", s.catalog.Dir())
		}
		return nil
	}
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DATASET\tGENERATION\tBUILT\tSIZE\tRECORDS\tSOURCES")
	for _, in := range infos {
		mark := " "
		if in.Current {
			mark = "*"
		}
		if in.Err != nil {
			fmt.Fprintf(w, "%s\t%d%s\tdamaged: %v\n", in.Dataset, in.Generation, mark, in.Err)
			continue
		}
		m := in.Manifest
		fmt.Fprintf(w, "%s\t%d%s\t%s\t%s\t%s\t%s\n", in.Dataset, in.Generation, mark,
			m.Built.Local().Format("2006-01-02 15:04"), byteCount(m.Size()), recordCounts(m.Records), sourceNames(m.Sources))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, in := range infos {
		if in.Current {
			for _, text := range catalogue.Warnings(&in.Manifest) {
				fmt.Fprintf(s.stdout, "%s: %s\n", in.Dataset, text)
			}
		}
		if in.Dropped {
			fmt.Fprintf(s.stdout, "%s is dropped; ingest rollback %s publishes generation %d again, ingest prune %s removes its files\n",
				in.Dataset, in.Dataset, in.Generation, in.Dataset)
		}
	}
	return nil
}

func sourceNames(sources []dataset.Source) string {
	var names []string
	seen := map[string]bool{}
	for _, s := range sources {
		if !seen[s.Name] {
			seen[s.Name] = true
			names = append(names, s.Name)
		}
	}
	const most = 4
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}

type verifyCmd struct {
	Datasets   []string `arg:"" optional:"" name:"dataset" help:"The data sets to check; all when none is named."`
	Generation uint64   `placeholder:"GENERATION" help:"The generation to check, as ingest list shows it; the published one when not given."`
	Checksums  bool     `help:"Compare checksums only, and do not look into the tiles of boundaries and the rows of collections."`
}

func (verifyCmd) Help() string {
	return `Reads every file of a generation and compares it with the checksum its manifest has kept since it was
published. A running tileserver is not disturbed. Files that others have put there, such as .DS_Store, are no
damage; their names are printed, and they can be removed. With --store it reads every row of the tables there
and compares them with the counts and checksums of the push, and does nothing else.

Of boundaries it then checks every tile: that vector tiles are valid and polygons too, that neighbours share
each edge of their border and neither overlap nor leave gaps, that no region is lost at any zoom, that the
pieces of a region add up to it, that labels lie in their regions, that GeoJSON and vector tiles agree, and
that points are in the regions they are in by the source, as the build noted before it computed anything. It
prints what it counted and what it found.

Of a collection of points it then reads every row: that each point has its id and each id its point, that
points are where their rows say, that properties are valid and have their types, and that counts agree with
the points.

  ingest verify
  ingest verify --checksums
  ingest verify boundaries --generation 7`
}

func (c *verifyCmd) Run(s *session) error {
	names := c.Datasets
	if len(names) == 0 {
		infos, err := s.generations().List(s.ctx)
		if err != nil {
			return err
		}
		for _, in := range infos {
			if in.Current || in.Generation == 0 { // its CURRENT is lost or damaged
				names = append(names, in.Dataset)
			}
		}
	}
	var errs []error
	for _, name := range names {
		stage := "comparing checksums of " + name
		s.reporter.Progress(job.Progress{Stage: stage, Unit: "bytes"})
		err := s.generations().Verify(s.ctx, name, c.Generation, func(p dataset.PushProgress) {
			s.reporter.Progress(job.Progress{Stage: stage, Done: p.Bytes, Total: p.Total, Unit: "bytes"})
		})
		if err == nil && s.depot == nil && isRegions(name) && !c.Checksums {
			err = verifyTiles(s, name, c.Generation)
		}
		if err == nil && s.depot == nil && ask.IsPoints(name) && !c.Checksums {
			err = verifyPoints(s, name, c.Generation)
		}
		s.reporter.close()
		if err == nil && s.depot == nil {
			err = remarkForeign(s, name, c.Generation)
		}
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			if s.json {
				s.reporter.event(told{Event: "verified", Dataset: name, Error: err.Error()})
			}
			continue
		}
		s.tell(told{Event: "verified", Dataset: name}, "%s is intact", name)
	}
	return errors.Join(errs...)
}

// seeList adds the advice to run ingest list to an error about a generation that does not exist.
func seeList(err error) error {
	if errors.Is(err, dataset.ErrNoGeneration) {
		return fmt.Errorf("%w; ingest list shows what there is", err)
	}
	return err
}

type rollbackCmd struct {
	Dataset string `arg:"" help:"The data set: ${datasets}, boundaries-SET or points-COLLECTION."`
	To      uint64 `placeholder:"GENERATION" help:"The generation to publish, as ingest list shows it; the one that was published before this one when not given. It may be a later one."`
}

func (rollbackCmd) Help() string {
	return `A running tileserver follows. The generation rolled back from stays, and ingest rollback --to
publishes it again. Later rollbacks pass it over: after a second bad delivery they go to the good one that was
served before both.

  ingest rollback boundaries
  ingest rollback boundaries --to 7`
}

func (c *rollbackCmd) Run(s *session) error {
	var m dataset.Manifest
	var err error
	if c.To != 0 {
		m, err = s.generations().Activate(s.ctx, c.Dataset, c.To)
	} else {
		m, err = s.generations().Rollback(s.ctx, c.Dataset)
	}
	if err != nil {
		return seeList(err)
	}
	s.tell(struct {
		Event string `json:"event"`
		generation
	}{"rolled back", describe(m)}, "published %s generation %d again, built %s", m.Dataset, m.Generation,
		m.Built.Local().Format("2006-01-02 15:04"))
	if s.depot == nil && isRegions(c.Dataset) {
		if err := boundaries.CheckUniqueLayers(s.ctx, s.catalog, &m); err != nil {
			s.reporter.Note("warning: one of two layers of one name is not served: " + err.Error())
		}
	}
	s.republished(c.Dataset)
	return nil
}

type dropCmd struct {
	Dataset string `arg:"" help:"The data set: ${datasets}, boundaries-SET or points-COLLECTION."`
}

func (dropCmd) Help() string {
	return `Nothing of the data set is published any more: a running tileserver answers as if it had never been.
Its generations stay until ingest prune removes them, all of them; until then ingest rollback publishes the
same generation again. With --store the data set is dropped there, and stays published in --data: world and
refresh leave it dropped there until its sources change, and ingest push publishes it again.

The next ingest publishes the data set anew, and so do world and refresh as long as they are told to. The
names for search follow: they are made anew without those of the data set.

  ingest drop points-shops
  ingest rollback points-shops    # undo
  ingest prune points-shops       # for good`
}

func (c *dropCmd) Run(s *session) error {
	generation, err := s.generations().Unpublish(s.ctx, c.Dataset)
	if err != nil {
		return seeList(err)
	}
	s.tell(told{Event: "dropped", Dataset: c.Dataset, Generation: generation},
		"dropped %s, which was generation %d; ingest rollback %s publishes it again, ingest prune %s removes its files", c.Dataset,
		generation, c.Dataset, c.Dataset)
	s.republished(c.Dataset)
	return nil
}

type pruneCmd struct {
	Datasets []string      `arg:"" optional:"" name:"dataset" help:"The data sets to prune; all when none is named."`
	Keep     int           `env:"QUADRILLE_PRUNE_KEEP" default:"2" placeholder:"N" help:"How many of the newest generations of each data set to keep."`
	Grace    time.Duration `env:"QUADRILLE_PRUNE_GRACE" default:"10m" help:"With --store: for how long a generation stays that another has replaced, as servers anywhere may still read it."`
}

func (pruneCmd) Help() string {
	return `The published generation is never deleted, nor with --keep 2 or more the one that ingest rollback
would publish, nor one that a tileserver on this machine still serves, nor in --store one that was replaced
less than --grace ago. What killed builds and pushes left behind goes as well. A generation whose manifest is
missing or damaged stays, and a line says what to do. Of a data set that was dropped everything goes that
nobody reads, whatever --keep says.

  ingest prune
  ingest prune --keep 1 places`
}

func (c *pruneCmd) Run(s *session) error {
	if c.Keep < 1 {
		return &usageError{fmt.Errorf("--keep must be at least 1, not %d", c.Keep)}
	}
	if c.Grace < 0 {
		return &usageError{fmt.Errorf("--grace must not be negative, such as 10m, not %v", c.Grace)}
	}
	pruned, err := s.generations().Prune(s.ctx, c.Keep, c.Grace, c.Datasets...)
	tell := func(event, text string, infos []dataset.GenerationInfo) {
		for _, in := range infos {
			s.tell(told{Event: event, Dataset: in.Dataset, Generation: in.Generation}, "%s %s generation %d", text, in.Dataset, in.Generation)
		}
	}
	tell("removed", "removed", pruned.Removed)
	kept := "kept, still in use:"
	if s.depot != nil {
		kept = "kept, replaced less than --grace ago:"
	}
	tell("in use", kept, pruned.InUse)
	tell("leftover", "removed what was left unfinished of", pruned.Leftovers)
	for _, in := range pruned.Unreadable {
		if s.json {
			s.reporter.event(told{Event: "unread", Dataset: in.Dataset, Generation: in.Generation, Error: in.Err.Error()})
		} else {
			fmt.Fprintf(s.stdout, "kept, not listed: %v\n", in.Err)
		}
	}
	for _, name := range pruned.EmptiedDatasets {
		s.tell(told{Event: "gone", Dataset: name}, "nothing is left of %s", name)
	}
	if err == nil && !s.json && !s.quiet &&
		len(pruned.Removed)+len(pruned.InUse)+len(pruned.EmptiedDatasets)+len(pruned.Leftovers)+len(pruned.Unreadable) == 0 {
		fmt.Fprintln(s.stdout, "nothing to remove")
	}
	return err
}
