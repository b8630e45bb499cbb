package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"quadrille/cmd/ingest/internal/job"
)

// These are the intervals of progress reports: on a terminal, and otherwise. A stage that reports
// no progress itself is reported as often, so that the program is never silent for longer.
const (
	barEvery  = 100 * time.Millisecond
	tellEvery = 2 * time.Second
)

// stage is the current stage of a job.
type stage struct {
	last    job.Progress
	began   time.Time
	printed time.Time                // time of the last line or event
	bar     *progressbar.ProgressBar // nil: no terminal
}

// phase is the record of a stage that has ended.
type phase struct {
	Stage   string  `json:"stage"`
	Seconds float64 `json:"seconds"`
	Done    int64   `json:"done,omitempty"`
	Unit    string  `json:"unit,omitempty"`
}

// Progress implements job.Reporter.
func (r *reporter) Progress(p job.Progress) {
	if r.quiet {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.stage == nil || r.stage.last.Stage != p.Stage {
		r.endStage()
		r.stage = &stage{last: p, began: now, printed: now}
		r.beginStage()
		return
	}
	r.stage.last = p
	if b := r.stage.bar; b != nil {
		if p.Total > 0 {
			b.ChangeMax64(p.Total)
		}
		_ = b.Set64(p.Done)
		return
	}
	r.tell(now)
}

// beginStage is called with the lock held.
func (r *reporter) beginStage() {
	switch s := r.stage; {
	case r.json:
		r.event(s.event(s.began))
	case r.terminal:
		s.bar = newBar(r.err, s.last)
		_ = s.bar.RenderBlank()
	default:
		fmt.Fprintln(r.err, s.last.Stage)
	}
}

// tell reports the progress of the stage, unless it has done so just before. The caller holds the
// lock.
func (r *reporter) tell(now time.Time) {
	s := r.stage
	if now.Sub(s.printed) < tellEvery {
		return
	}
	s.printed = now
	if r.json {
		r.event(s.event(now))
		return
	}
	fmt.Fprintln(r.err, "  "+progressLine(s.last, now.Sub(s.began)))
}

// endStage is called with the lock held.
func (r *reporter) endStage() {
	s := r.stage
	if s == nil {
		return
	}
	if s.bar != nil {
		_ = s.bar.Finish()
	}
	r.phases = append(r.phases, phase{s.last.Stage, time.Since(s.began).Seconds(), s.last.Done, s.last.Unit})
	r.stage = nil
}

// clearBar removes a drawn bar to make room for a line. The caller holds the lock.
func (r *reporter) clearBar() {
	if r.stage != nil && r.stage.bar != nil {
		_ = r.stage.bar.Clear()
	}
}

// keepTelling repeatedly reports stages without progress reports, until stop is called.
func (r *reporter) keepTelling() (stop func()) {
	if r.quiet {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		t := time.NewTicker(tellEvery / 4)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-t.C:
				r.tick(now)
			}
		}
	}()
	return func() { close(done) }
}

func (r *reporter) tick(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stage == nil:
	case r.stage.bar != nil:
		_ = r.stage.bar.Set64(r.stage.last.Done) // draws the time that has passed
	default:
		r.tell(now)
	}
}

// event returns the stage in a form for programs. Rates are per second.
func (s *stage) event(now time.Time) any {
	p := s.last
	rate, left := pace(p, now.Sub(s.began))
	return struct {
		Event   string  `json:"event"`
		Stage   string  `json:"stage"`
		Done    int64   `json:"done"`
		Total   int64   `json:"total,omitempty"`
		Unit    string  `json:"unit,omitempty"`
		Seconds float64 `json:"seconds"`
		Rate    float64 `json:"rate,omitempty"`
		Left    float64 `json:"seconds_left,omitempty"`
	}{"progress", p.Stage, p.Done, p.Total, p.Unit, now.Sub(s.began).Seconds(), rate, left.Seconds()}
}

// pace returns the work done per second, and the time that the rest takes at that pace. They are 0
// if they are not known.
func pace(p job.Progress, took time.Duration) (rate float64, left time.Duration) {
	if took <= 0 || p.Done <= 0 {
		return 0, 0
	}
	rate = float64(p.Done) / took.Seconds()
	if p.Total > p.Done {
		left = time.Duration(float64(p.Total-p.Done) / rate * float64(time.Second))
	}
	return rate, left
}

func newBar(w io.Writer, p job.Progress) *progressbar.ProgressBar {
	total := p.Total
	if total == 0 {
		total = -1
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(p.Stage),
		progressbar.OptionThrottle(barEvery),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
	}
	switch p.Unit {
	case "bytes":
		options = append(options, progressbar.OptionShowBytes(true))
	case "":
	default:
		options = append(options, progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(p.Unit))
	}
	return progressbar.NewOptions64(total, options...)
}

// progressLine returns progress as text: "61%, 3.2 MB/s, 12s left". If the amount is not known, it
// returns the elapsed time.
func progressLine(p job.Progress, took time.Duration) string {
	rate, left := pace(p, took)
	var parts []string
	switch {
	case p.Total > 0:
		parts = append(parts, fmt.Sprintf("%d%%", 100*min(p.Done, p.Total)/p.Total))
	case p.Done > 0:
		parts = append(parts, amount(p.Done, p.Unit))
	default:
		parts = append(parts, "at work for "+took.Round(time.Second).String())
	}
	if rate > 0 && p.Unit != "" {
		parts = append(parts, amount(int64(rate), p.Unit)+"/s")
	}
	if left > 0 {
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	return strings.Join(parts, ", ")
}

// amount formats a number of units: "3.2 MB", "1,000 places".
func amount(n int64, unit string) string {
	if unit == "bytes" {
		return byteCount(n)
	}
	return strings.TrimSpace(grouped(n) + " " + unit)
}

// phaseLine sums up the phases of a job: "reading ip 3s, writing ranges 9.1s; peak memory 812 MB".
// Stages that took no time are left out. The times of stages that occurred several times are added
// up.
func phaseLine(phases []phase, peak int64) string {
	var names []string
	seconds := map[string]float64{}
	for _, p := range phases {
		if _, ok := seconds[p.Stage]; !ok {
			names = append(names, p.Stage)
		}
		seconds[p.Stage] += p.Seconds
	}
	var parts []string
	for _, name := range names {
		if took := time.Duration(seconds[name] * float64(time.Second)).Round(100 * time.Millisecond); took > 0 {
			parts = append(parts, name+" "+took.String())
		}
	}
	text := strings.Join(parts, ", ")
	if text == "" {
		text = "at once"
	}
	if peak > 0 {
		text += "; peak memory " + byteCount(peak)
	}
	return text
}
