package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/catalogue"
)

// reporter shows the user a job's progress: bars on a terminal, otherwise a line from time to time,
// JSON lines on request, and nothing with --quiet. It is safe for concurrent use.
type reporter struct {
	out, err io.Writer
	json     bool
	quiet    bool
	terminal bool

	mu     sync.Mutex
	stage  *stage    // nil: none is at work
	phases []phase   // the stages that have ended, of the job that Published ends
	job    time.Time // start of that job

	published []dataset.Manifest
	warnings  []string // about published data sets
}

var _ job.Reporter = (*reporter)(nil)

func newReporter(c *cli, stdout, stderr io.Writer) *reporter {
	r := &reporter{out: stdout, err: stderr, json: c.JSON, quiet: c.Quiet, job: time.Now()}
	if f, ok := stderr.(*os.File); ok {
		r.terminal = term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	}
	return r
}

// event writes v as a line of JSON.
func (r *reporter) event(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(`{"event":"error","message":"an event cannot be written as JSON"}`)
	}
	_, _ = r.out.Write(append(b, '\n'))
}

// say writes a line past the bar.
func (r *reporter) say(format string, args ...any) {
	r.clearBar()
	fmt.Fprintf(r.err, format+"\n", args...)
}

// BadRecords implements job.Reporter.
func (r *reporter) BadRecords(reason string, count int64, examples []*source.BadRecord) {
	if r.quiet {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.json {
		type example struct {
			File   string `json:"file"`
			Line   int    `json:"line"`
			Detail string `json:"detail,omitempty"`
		}
		list := make([]example, len(examples))
		for i, e := range examples {
			list[i] = example{e.Source, e.Line, e.Detail}
		}
		r.event(struct {
			Event    string    `json:"event"`
			Reason   string    `json:"reason"`
			Count    int64     `json:"count"`
			Examples []example `json:"examples"`
		}{"bad", reason, count, list})
		return
	}
	r.say("%s bad: %s", records(count), reason)
	for _, e := range examples {
		detail := ""
		if e.Detail != "" {
			detail = ": " + e.Detail
		}
		r.say("  %s:%d%s", e.Source, e.Line, detail)
	}
}

func records(n int64) string {
	if n == 1 {
		return "1 record"
	}
	return grouped(n) + " records"
}

// Note implements job.Reporter.
func (r *reporter) Note(text string) {
	if r.quiet {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.json {
		r.event(struct {
			Event string `json:"event"`
			Text  string `json:"text"`
		}{"note", text})
		return
	}
	r.say("%s", text)
}

// Published implements job.Reporter.
func (r *reporter) Published(m dataset.Manifest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endStage()
	took := time.Since(r.job)
	r.job = time.Now()
	r.published = append(r.published, m)
	for _, text := range catalogue.Warnings(&m) {
		r.warnings = append(r.warnings, m.Dataset+": "+text)
	}
	phases, peak := r.phases, peakMemory()
	r.phases = nil
	switch {
	case r.json:
		r.event(struct {
			Event string `json:"event"`
			generation
			Seconds    float64              `json:"seconds"`
			Phases     []phase              `json:"phases,omitempty"`
			PeakMemory int64                `json:"peak_memory_bytes,omitempty"`
			Lost       []dataset.RecordLoss `json:"lost,omitempty"`
		}{"published", describe(m), took.Seconds(), phases, peak, catalogue.Losses(&m)})
	case !r.quiet:
		fmt.Fprintf(r.out, "published %s generation %d: %s, %s, in %s\n", m.Dataset, m.Generation,
			recordCounts(m.Records), byteCount(m.Size()), took.Round(100*time.Millisecond))
		fmt.Fprintln(r.out, "  "+phaseLine(phases, peak))
	}
}

// warn prints warnings about the published data at the end of a run, where users notice them.
func (r *reporter) warn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.json || r.quiet {
		return
	}
	for _, text := range r.warnings {
		r.clearBar()
		fmt.Fprintf(r.out, "warning: %s; if that is not meant, go back by: ingest rollback %s\n", text, text[:strings.IndexByte(text, ':')])
	}
}

// publishedBefore returns the generations that were published since the program began.
func (r *reporter) publishedBefore() []dataset.Manifest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.published)
}

// abandon forgets the stages of a job that failed, so that they do not count for the next job.
func (r *reporter) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endStage()
	r.phases, r.job = nil, time.Now()
}

// failed reports, in JSON, the message that users get on standard error.
func (r *reporter) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endStage()
	if r.json {
		r.event(struct {
			Event   string `json:"event"`
			Message string `json:"message"`
		}{"error", err.Error()})
	}
}

func (r *reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endStage()
}

// recordCounts returns a text such as "254 country, 56 state".
func recordCounts(counts map[string]int64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, grouped(counts[kind])+" "+kind)
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// grouped returns a number with separated thousands: 1,234,567.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// byteCount formats a size in a suitable unit. Units are powers of a thousand.
func byteCount(n int64) string {
	f, unit := float64(n), 0
	for f >= 1000 && unit < 4 {
		f /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %cB", f, "kMGT"[unit-1])
}
