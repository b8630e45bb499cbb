package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"quadrille/cellstore"
)

// step is one atomic commit of several writes.
type step struct {
	decision
	c        *Collection
	outcomes []*Outcome
	next     *description // the description that the step writes
	// undescribe makes the learner forget the types of the description next.
	undescribe func()
	rows       []cellstore.Mutation
}

// begin begins another step.
func (k *step) begin(c *Collection) {
	clear(k.outcomes)
	k.c, k.outcomes, k.next, k.undescribe = c, k.outcomes[:0], nil, nil
	m := c.meta.Load()
	k.state, k.types, k.redraw, k.whole = c.index, m.Declared, &m.RedrawProgress, c.store.kind.WholeLog
	k.now, k.limit, k.settled = c.store.clock.Now(), c.store.clock.Limit(), c.store.clock.Settled()
	k.seq, k.floor = c.end.Seq, c.end.Floor
	k.decision.begin()
}

// commit makes the writes of requests, in steps of maxCommit writes. It returns the error of a
// step.
func (c *Collection) commit(batch []*request) (err error) {
	batch = slices.DeleteFunc(batch, func(r *request) bool { return !r.take() })
	k := &c.step
	k.begin(c)
	for _, r := range batch {
		if r.alone != nil {
			err = cmp.Or(k.finish(), err)
			if c.behind != nil {
				r.outcomes[0].Err = refuse(c.behind)
				continue
			}
			if r.outcomes[0].Err = r.alone(k); r.outcomes[0].Err == nil {
				k.outcomes = append(k.outcomes, &r.outcomes[0])
				err = cmp.Or(k.finish(), err)
			}
			k.begin(c)
			continue
		}
		for i := range r.writes {
			if c.behind != nil { // the index cannot decide writes
				if r.ready[i].err == nil {
					r.outcomes[i].Err = refuse(c.behind)
				}
				continue
			}
			c.turn.Step()
			k.write(&r.writes[i], &r.ready[i], &r.outcomes[i])
			if k.outcomes = append(k.outcomes, &r.outcomes[i]); len(k.outcomes) >= maxCommit || k.bytes >= maxCommitBytes {
				err = cmp.Or(k.finish(), err)
			}
		}
	}
	err = cmp.Or(k.finish(), err)
	c.committed <- committed{slices.Clone(batch), c.end.Seq, c.behind != nil}
	return err
}

// finish writes the step and begins another one.
func (k *step) finish() error {
	c := k.c
	c.turn.Pause() // the disk may make the step wait
	var err error
	if len(k.changes) > 0 || k.next != nil {
		err = k.apply()
	}
	for _, o := range k.outcomes {
		if err != nil && o.Err == nil {
			*o = Outcome{Err: c.refused(err)}
		}
	}
	k.begin(c)
	return err
}

// apply writes the step to the log, applies it to the index, and updates the collection.
func (k *step) apply() error {
	c := k.c
	k.learn(1)
	k.rows = k.rows[:0]
	if k.next != nil || c.learner.Changes() != c.learned {
		m := *cmp.Or(k.next, c.meta.Load())
		m.Schema = c.learner.Schema()
		k.next = &m
		k.rows = append(k.rows, m.mutation())
	}
	for i := range k.changes {
		k.rows = k.changes[i].expiry(k.rows)
	}
	own := len(k.rows)
	var told error // the error of a step that is in the log nevertheless
	end := LogEnd{k.seq, k.floor, c.end.Step + 1}
	write := func(rows []cellstore.Mutation) error {
		s := LogStep{LogEnd: end, Changes: k.changes, Rows: append(k.rows[:own], rows...)}
		err := c.log.Append(context.Background(), &s)
		if err != nil && !errors.Is(err, ErrOtherWriter) {
			// The step may be in the log, and only not on the disk yet. Then the index must have
			// the changes, although the writers get the error.
			if now, failed := c.log.End(context.Background()); failed == nil && now == end {
				told, err = unknown(err), nil
			}
		}
		clear(s.Rows)
		k.rows = s.Rows[:0]
		return err
	}
	err := c.make(k.changes, write)
	if err != nil {
		k.learn(-1)
		if k.undescribe != nil {
			k.undescribe()
		}
		return err
	}
	if c.end = end; k.next != nil {
		c.meta.Store(k.next)
		c.learned = c.learner.Changes()
	}
	return told
}

// make applies changes to the index, and calls write to write them.
func (c *Collection) make(changes []Change, write func(rows []cellstore.Mutation) error) error {
	if len(changes) > 0 && changes[0].redrawn() {
		return write(nil) // only the areas around the features have changed
	}
	if index, is := c.index.(TableIndex); is {
		return index.ApplyWith(changes, write)
	}
	// The index may be on another disk. It must not have changes that the log could lose.
	if err := write(nil); err != nil {
		return err
	}
	if err := c.log.Sync(context.Background()); err != nil {
		c.behind = err
		return unknown(err)
	}
	if err := c.index.Apply(changes); err != nil {
		c.behind = fmt.Errorf("the index does not take what its log has, and is opened again: %w", err)
	}
	return nil
}

// learn counts the values of the changes, or undoes that.
func (k *step) learn(by int64) {
	for i := range k.changes {
		ch := &k.changes[i]
		if ch.was != nil {
			k.c.learner.Count(ch.was, -by)
		}
		if ch.is != nil {
			k.c.learner.Count(ch.is, by)
		}
	}
}

// run makes writes until the collection is closed, even while the disk has trouble. Only run
// changes the collection.
func (c *Collection) run() {
	defer close(c.ended)
	e := NewExpirer(c.store.clock)
	for {
		if c.refusing() == nil && !c.session(e) {
			c.answer()
			return
		}
		if !c.mend() {
			return
		}
	}
}

// session makes writes until the collection is closed, or until its table has to be opened again.
// In that case it returns true.
func (c *Collection) session(e *Expirer) (broken bool) {
	c.committed = make(chan committed, maxUnsynced)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.acknowledge()
	}()
	broken = c.write(e)
	close(c.committed)
	<-done
	return broken
}

// write commits all waiting writes together.
func (c *Collection) write(e *Expirer) (broken bool) {
	expiry := time.NewTimer(time.Second)
	defer expiry.Stop()
	var batch []*request
	for {
		batch, full := batch[:0], false
		select {
		case r := <-c.requests:
			batch = append(batch, r)
		case <-c.failed:
			return true
		case <-expiry.C:
			c.step.rows = nil
			c.step.trim()
			if s, is := c.index.(Sweeper); is {
				s.Sweep()
			}
			if c.refusing() != nil { // background work of the store may have failed
				return true
			}
			if gone := e.ExpiredWrites(c.rows, maxCommit); len(gone) > 0 {
				batch, full = append(batch, newRequest(gone, make([]Outcome, len(gone)))), len(gone) == maxCommit
			}
			expiry.Reset(time.Second)
		case <-c.quit:
			for {
				select {
				case r := <-c.requests:
					_ = c.commit([]*request{r}) // the writers get the error
				default:
					return false
				}
			}
		}
		for n := 0; n < maxCommit && len(batch) > 0; {
			n += len(batch[len(batch)-1].writes)
			select {
			case r := <-c.requests:
				batch = append(batch, r)
				continue
			default:
			}
			break
		}
		if len(batch) == 0 {
			continue
		}
		switch err := c.commit(batch); {
		case c.behind != nil, err != nil && (c.refusing() != nil || errors.Is(err, ErrOtherWriter)):
			return true
		case err == nil && full:
			expiry.Reset(0) // more have expired
		}
		clear(batch)
	}
}

// committed has requests whose writes are visible, but not yet on the disk.
type committed struct {
	requests []*request
	seq      uint64 // of the last event
	behind   bool   // only the log has the last step
}

// acknowledge syncs all waiting commits at once, and answers their requests. Meanwhile further
// writes are made. Requests that the disk refuses, or whose changes the index lacks, are answered
// once the collection shows the state of the log.
func (c *Collection) acknowledge() {
	var batch []committed
	for first := range c.committed {
		batch = append(batch[:0], first)
		for more := true; more; {
			select {
			case next, open := <-c.committed:
				if more = open; open {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		err := c.refused(c.log.Sync(context.Background()))
		if err != nil {
			err = unknown(err) // they may have been applied, even if the store's error for this row denies it
		}
		if last := batch[len(batch)-1]; err == nil && !last.behind && last.seq != c.seq.Load() {
			c.seq.Store(last.seq)
			c.announce()
		}
		broken := err != nil && c.refusing() != nil
		for _, b := range batch {
			for _, r := range b.requests {
				if err != nil {
					r.fail(err)
				}
				if broken || b.behind {
					close(r.judged)
					c.unanswered = append(c.unanswered, r)
				} else {
					close(r.done)
				}
			}
		}
		if broken {
			c.disturbed()
		}
		clear(batch)
	}
}

// unknown returns the error for writes that may have been made. It matches ErrUnknownOutcome.
func unknown(err error) error {
	if errors.Is(err, cellstore.ErrUnknownOutcome) {
		return err
	}
	return fmt.Errorf("live: %w: %w", cellstore.ErrUnknownOutcome, err)
}
