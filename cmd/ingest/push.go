package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/internal/hbasedepot"
)

type pushCmd struct {
	Datasets []string `arg:"" optional:"" name:"dataset" help:"The data sets to push; all that are published when none is named."`
	Check    bool     `default:"true" negatable:"" help:"Read everything back and compare it before it is published. --no-check takes half the time."`
	Parallel int      `default:"4" placeholder:"N" help:"How many parts of tables to load at once, ${default} if not given."`
}

func (pushCmd) Help() string {
	return `Copies the published generation of each data set into tables of their own in the cluster, compares
them with what they were made from, and publishes them there in one step. Servers that run with the same
--store follow within seconds. One that is there already is published again without being copied.

A push that was interrupted goes on where it was when it is started again. While one runs, a second one of the
same data set is refused; after a kill, for up to a minute.

Commands that publish, such as ingest places, push what they have published when --store is given; so this is
needed when that failed, or for data that was ingested without.

  ingest push --store hbase://gateway:9090/quadrille
  ingest push --store hbase://gateway:9090/quadrille places boundaries`
}

func (c *pushCmd) Run(s *session) error {
	if s.depot == nil {
		return &usageError{errors.New("push needs a cluster to push to: name it by --store hbase://host:port/namespace")}
	}
	if c.Parallel < 1 || c.Parallel > 64 {
		return &usageError{fmt.Errorf("--parallel must be 1 to 64, not %d", c.Parallel)}
	}
	names := c.Datasets
	if len(names) == 0 {
		var err error
		if names, err = s.catalog.Datasets(s.ctx); err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("nothing is published in %s: ingest something first, or name its directory by --data", s.catalog.Dir())
		}
	}
	return s.push(names, dataset.PushOptions{Workers: c.Parallel, NoCheck: !c.Check})
}

// openDepot opens the depot at the address in --store.
func (s *session) openDepot() error {
	if s.cli.Store == "" {
		return nil
	}
	var err error
	if s.depot, err = hbasedepot.Open(s.cli.Store, hbasedepot.Options{Data: s.cli.Data}); err != nil {
		return fmt.Errorf("--store: %w", err)
	}
	return nil
}

func (s *session) closeDepot() error {
	if s.depot == nil {
		return nil
	}
	return s.depot.Close()
}

// published records what jobs publish, for the work after the command.
type published struct {
	job.Reporter
	session *session
}

// Published implements job.Reporter.
func (p *published) Published(m dataset.Manifest) {
	p.Reporter.Published(m)
	p.session.toPush = append(p.session.toPush, m.Dataset)
	p.session.changed = append(p.session.changed, m.Dataset)
}

// pushPublished pushes what a command has published. After world and refresh it also pushes
// published data sets that were never pushed: these commands skip data sets that have not changed,
// but an earlier push of such a data set may have failed. It leaves alone a data set that was
// rolled back in the store.
func (s *session) pushPublished(command *kong.Context) error {
	if s.depot == nil {
		return nil
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	errs := []error{s.push(s.toPush, dataset.PushOptions{})}
	if node := command.Selected(); node != nil && (node.Name == "world" || node.Name == "refresh") && !s.cli.World.DryRun &&
		!s.options.DryRun {
		names, err := s.catalog.Datasets(s.ctx)
		errs = append(errs, err, s.push(slices.DeleteFunc(names, func(name string) bool { return slices.Contains(s.toPush, name) }),
			dataset.PushOptions{OnlyNew: true}))
	}
	return errors.Join(errs...)
}

// push pushes data sets one after the other. A failure does not stop the
// others.
func (s *session) push(names []string, o dataset.PushOptions) error {
	var errs []error
	for _, name := range names {
		if err := s.pushOne(name, o); err != nil {
			errs = append(errs, err)
		}
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("not everything was pushed; what is published in %s is there, ingest push tries again: %w",
			s.catalog.Dir(), errors.Join(errs...))
	}
	return nil
}

func (s *session) pushOne(name string, o dataset.PushOptions) error {
	g, err := s.catalog.OpenCurrent(s.ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }() // opened for reading only
	o.Progress = func(p dataset.PushProgress) {
		stage := fmt.Sprintf("pushing %s: %s", name, p.Stage)
		// The sizes of parts not yet loaded are unknown. All parts have about the same size.
		var total int64
		if p.Stage == "loading" && p.Done > 0 {
			total = max(p.Bytes, p.Bytes/int64(p.Done)*int64(p.Parts))
		}
		s.reporter.Progress(job.Progress{Stage: stage, Done: p.Bytes, Total: total, Unit: "bytes"})
	}
	done, err := s.depot.Push(s.ctx, g, o)
	s.reporter.close()
	if err != nil {
		return err
	}
	s.pushed = append(s.pushed, name)
	s.reporter.pushed(done, o.OnlyNew)
	return nil
}

// pushed reports a successful push. It is silent if there was nothing to push and the user did
// not ask for a push.
func (r *reporter) pushed(p dataset.PushResult, unasked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seconds := max(p.Took.Seconds(), 0.001)
	switch {
	case unasked && p.AlreadyThere:
	case r.json:
		r.event(struct {
			Event      string  `json:"event"`
			Dataset    string  `json:"dataset"`
			Generation uint64  `json:"generation"`
			Already    bool    `json:"already,omitempty"`
			Resumed    bool    `json:"resumed,omitempty"`
			Rows       int64   `json:"rows"`
			Bytes      int64   `json:"bytes"`
			Seconds    float64 `json:"seconds"`
		}{"pushed", p.Manifest.Dataset, p.Manifest.Generation, p.AlreadyThere, p.Resumed, p.Rows, p.Bytes, p.Took.Seconds()})
	case r.quiet:
	case p.AlreadyThere:
		fmt.Fprintf(r.out, "%s generation %d is in the store already, and published\n", p.Manifest.Dataset, p.Manifest.Generation)
	default:
		fmt.Fprintf(r.out, "pushed %s generation %d: %s rows, %s, in %s, %s rows/s\n", p.Manifest.Dataset, p.Manifest.Generation,
			grouped(p.Rows), byteCount(p.Bytes), p.Took.Round(100*time.Millisecond), grouped(int64(float64(p.Rows)/seconds)))
	}
}

// generations returns the generations that the commands act on: those in --data or, with --store,
// those in the store.
func (s *session) generations() *dataset.Generations {
	if s.depot != nil {
		return s.depot.Generations
	}
	return s.catalog.Generations
}
