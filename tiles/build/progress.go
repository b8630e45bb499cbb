package build

import (
	"sync"
	"time"
)

// progress calls Options.Progress at the start of a phase, at its end, and every reportEvery in
// between. Any number of goroutines may add to it.
type progress struct {
	report func(phase string, done, total int64, unit string)

	mu          sync.Mutex
	phase, unit string
	done, total int64
}

const reportEvery = 500 * time.Millisecond

// run reports progress until the caller calls stop.
func (p *progress) run() (stop func()) {
	if p.report == nil {
		return func() {}
	}
	done := make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.tell()
			case <-done:
				p.tell()
				return
			}
		}
	})
	return func() {
		close(done)
		g.Wait()
	}
}

// begin begins a phase and ends the previous one.
func (p *progress) begin(phase string, total int64, unit string) {
	p.mu.Lock()
	p.done = p.total // only an estimate, so it need not have been reached
	p.mu.Unlock()
	p.tell()
	p.mu.Lock()
	p.phase, p.done, p.total, p.unit = phase, 0, total, unit
	p.mu.Unlock()
	p.tell()
}

func (p *progress) add(done int64) {
	p.mu.Lock()
	p.done = min(p.done+done, p.total)
	p.mu.Unlock()
}

func (p *progress) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.report != nil && p.phase != "" {
		p.report(p.phase, p.done, p.total, p.unit)
	}
}
