package main

import (
	"fmt"
	"strings"

	"quadrille/cmd/ingest/internal/job"
)

// publishing has the flags of the commands that build and publish.
type publishing struct {
	DryRun    bool   `help:"Read, build and compare with what is published, say what would change, and publish nothing."`
	MaxChange *share `placeholder:"SHARE" help:"Publish nothing when more than this share is other than what is published, such as 10%: of the records of a kind, or of all rows; of ip of the addresses, by their answers. The exit code is then 3."`
}

// options returns the options of a job. A refresh sets these flags for all its commands, but a
// share that a command sets itself takes precedence.
func (f publishing) options(s *session) job.Options {
	o := s.options
	o.DryRun = o.DryRun || f.DryRun
	if f.MaxChange != nil {
		o.MaxChange = (*float64)(f.MaxChange)
	}
	return o
}

// positioned are the flags of the commands whose records have positions.
type positioned struct {
	DropZero bool `help:"Leave out positions of exactly 0, 0, which many programs write for an unknown one. Without it they are taken, and counted in a line."`

	publishing
}

// options returns the options of a job.
func (p positioned) options(s *session) job.Options {
	o := p.publishing.options(s)
	o.DropZero = p.DropZero
	return o
}

// Rehearsed implements job.Reporter.
func (r *reporter) Rehearsed(d job.Rehearsal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endStage()
	r.phases = nil
	var before map[string]int64
	var generation uint64
	if d.Published != nil {
		before, generation = d.Published.Records, d.Published.Generation
	}
	if r.json {
		why := ""
		if d.Err != nil {
			why = d.Err.Error()
		}
		r.event(struct {
			Event     string            `json:"event"`
			Dataset   string            `json:"dataset"`
			Published uint64            `json:"published,omitempty"`
			Before    map[string]int64  `json:"published_records,omitempty"`
			Records   map[string]int64  `json:"records"`
			Tables    []job.TableChange `json:"tables,omitempty"`
			Why       string            `json:"not_compared,omitempty"`
		}{"rehearsed", d.Planned.Dataset, generation, before, d.Planned.Records, d.Tables, why})
		return
	}
	r.clearBar()
	say := func(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }
	say("%s would have: %s", d.Planned.Dataset, recordCounts(d.Planned.Records))
	stays := "none is published yet"
	if d.Published != nil {
		stays = fmt.Sprintf("generation %d stays", generation)
		say("  generation %d, which is published, has: %s", generation, recordCounts(before))
	}
	if d.Err != nil {
		say("  the rows cannot be compared with those published: %v", d.Err)
	}
	var same []string
	for _, t := range d.Tables {
		if t.Added+t.Removed+t.Changed == 0 {
			same = append(same, t.Table)
			continue
		}
		say("  table %s: %s rows added, %s removed, %s changed, %s the same", t.Table, grouped(t.Added), grouped(t.Removed),
			grouped(t.Changed), grouped(t.Same))
	}
	if len(same) > 0 {
		say("  no row differs in %s", strings.Join(same, ", "))
	}
	say("nothing was published: of %s %s; run it again without --dry-run to publish", d.Planned.Dataset, stays)
}
