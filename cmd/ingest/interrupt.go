package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/world"
)

// interruptedError is the error of a command stopped by a signal. It describes the state that the
// command left.
type interruptedError struct {
	left  string
	cause error // nil where stopping alone was the reason
}

func (e *interruptedError) Error() string {
	if e.cause != nil {
		return "interrupted: " + e.left + ": " + e.cause.Error()
	}
	return "interrupted: " + e.left
}

func (e *interruptedError) Unwrap() error { return context.Canceled }

// interrupted adds the names of the unchanged data sets to the error of a stopped command.
func (s *session) interrupted(command *kong.Context, err error) error {
	var usage *usageError
	if err == nil || s.ctx.Err() == nil || errors.As(err, &usage) {
		return err
	}
	left := "nothing was changed"
	if c, ok := target(command).(interface{ left(*session) string }); ok {
		left = c.left(s)
	} else if node := command.Selected(); node != nil {
		if d, ok := ask.FindDataset(node.Name); ok { // the command has the name of its data set
			left = s.unpublished(d.Name)
		}
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return &interruptedError{left, err}
}

// unpublished describes what a command has published, and which of its data sets are unchanged.
func (s *session) unpublished(names ...string) string {
	var published, before []string
	for _, m := range s.reporter.publishedBefore() {
		published = append(published, fmt.Sprintf("%s generation %d", m.Dataset, m.Generation))
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == m.Dataset })
	}
	for _, name := range names {
		generation := "none yet"
		if m, err := s.catalog.Current(context.WithoutCancel(s.ctx), name); err == nil {
			generation = fmt.Sprintf("generation %d", m.Generation)
		}
		before = append(before, fmt.Sprintf("%s is as before (%s)", name, generation))
	}
	text := "nothing was published"
	if len(published) > 0 {
		text = "published was " + strings.Join(published, ", ")
	}
	if len(before) > 0 {
		text += "; the data set " + strings.Join(before, ", ")
	}
	if unpushed := s.unpushed(); unpushed != "" {
		text += "; " + unpushed
	}
	return text
}

// unpushed lists the data sets that are published in --data but not in --store.
func (s *session) unpushed() string {
	names := slices.DeleteFunc(slices.Clone(s.toPush), func(name string) bool { return slices.Contains(s.pushed, name) })
	if len(names) == 0 {
		return ""
	}
	return "not pushed to --store was " + strings.Join(names, ", ") + ", which is there as before; ingest push goes on where it stopped"
}

func (*demoCmd) left(s *session) string { return s.unpublished(world.Datasets...) }

func (c *worldCmd) left(s *session) string {
	return s.unpublished(c.publishes()...) + "; the next run goes on with what is downloaded already"
}

func (c *refreshCmd) left(s *session) string {
	var names []string
	steps, err := refreshes(s)
	for _, st := range steps {
		switch {
		case len(c.Commands) > 0 && !slices.Contains(c.Commands, st.name):
		case st.name == "world":
			names = append(names, st.cli.World.publishes()...)
		default:
			names = append(names, st.dataset())
		}
	}
	if err != nil {
		names = nil // the refresh did not begin
	}
	return s.unpublished(names...)
}

func (*pushCmd) left(s *session) string {
	if text := s.unpushed(); text != "" {
		return text
	}
	return "what is published in --store is as before; ingest push goes on where it stopped"
}

func (c *exportTilesCmd) left(*session) string { return c.File + " is as before" }

func (c *exportIPCmd) left(*session) string { return c.File + " is as before" }

func (*verifyCmd) left(*session) string {
	return "nothing was changed; data sets that are not named as intact were not checked to the end"
}

func (*pruneCmd) left(*session) string {
	return "generations that are not named as removed are there as before"
}

func (*rollbackCmd) left(s *session) string {
	if s.depot != nil {
		return "ingest list tells which generation is published"
	}
	return "nothing was changed"
}
