package live

import (
	"fmt"
	"slices"

	"quadrille/feature"
)

// State is the state on which the outcomes of writes depend.
type State interface {
	// Find overwrites f with the feature that has the id, as the last change left it, even if it
	// has expired. If there is none, f.Version is 0. Properties are left out. last is the last
	// version of the id, or 0 if that is unknown.
	Find(id string, f *feature.Feature) (last int64, err error)
	// AppendProperties appends the properties of a feature that Find found, as a compact object.
	AppendProperties(dst []byte, f *feature.Feature) ([]byte, error)
}

// decision turns the writes of one step and a State into changes. It reads nothing else, and
// writes nothing.
type decision struct {
	state   State
	types   feature.Schema // the declared types
	redraw  *redraw
	whole   bool  // every change has a number, also where nothing has moved
	now     int64 // by the clock, in milliseconds
	limit   int64 // later times can only come from a wrong clock
	settled bool  // the clock is settled

	seq     uint64 // of the last numbered change
	floor   int64  // the greatest version of a feature that is gone
	changes []Change
	bytes   int              // size of the properties of changes
	known   map[string]found // features that the step has changed

	used  int
	slab  []*feature.Feature // memory for features, the first of them in use
	arena []byte             // memory of properties
}

// found is a feature within a step.
type found struct {
	*feature.Feature        // Version is 0 if it is not there
	last             int64  // version that it had
	object           []byte // its properties; nil if they have not been read
}

// begin discards the changes, and prepares for another step.
func (d *decision) begin() {
	clear(d.changes)
	if clear(d.known); d.known == nil {
		d.known = map[string]found{}
	}
	for _, f := range d.slab[:d.used] {
		*f = feature.Feature{}
	}
	d.changes, d.used, d.bytes, d.arena = d.changes[:0], 0, 0, d.arena[:0]
	if d.ahead(d.floor) {
		// The clock was wrong. The floor must not give its time to new features before that time
		// has come.
		d.floor = d.now
	}
}

// trim releases the memory of steps, between two of them.
func (d *decision) trim() {
	d.slab, d.changes, d.arena, d.known, d.used = nil, nil, nil, nil, 0
}

// ahead reports whether a time, in milliseconds, is so far in the future that it can only come from
// a wrong clock.
func (d *decision) ahead(at int64) bool { return at > d.limit }

// feature returns memory for a feature of the step.
func (d *decision) feature() *feature.Feature {
	if d.used == len(d.slab) {
		d.slab = append(d.slab, new(feature.Feature))
	}
	d.used++
	return d.slab[d.used-1]
}

// find returns a feature as the earlier writes of this step leave it.
func (d *decision) find(id string) (f found, err error) {
	if f, is := d.known[id]; is {
		return f, nil
	}
	f.Feature = d.feature()
	f.last, err = d.state.Find(id, f.Feature)
	f.ID = id
	return f, err
}

// fill reads the properties of a feature.
func (d *decision) fill(f *found) error {
	if f.object != nil || f.Version == 0 {
		return nil
	}
	from := len(d.arena)
	all, err := d.state.AppendProperties(d.arena, f.Feature)
	if err != nil {
		return err
	}
	d.arena, f.object = all, all[from:len(all):len(all)]
	f.Feature.Properties = objectOf(f.object)
	return nil
}

// write decides a write. It adds the resulting change, or sets the error in o.
func (d *decision) write(w *Write, given *ready, o *Outcome) {
	if *o = (Outcome{Err: given.err}); o.Err != nil {
		return
	}
	was, err := d.find(w.ID)
	if err != nil {
		o.Err = err
		return
	}
	there := was.Version != 0 && !over(was.Feature, d.now)
	if o.Err = d.refused(w, was.Feature, there); o.Err != nil {
		return
	}
	if was.Version != 0 && !there {
		// The event has the expiry time. So it is the same whether a write of the id or the search
		// for expired features comes first.
		was = d.change(Change{ID: w.ID, Version: max(was.Expires.UnixMilli(), was.last+1), Expired: true}, was, found{})
		if w.Kind == expire {
			o.Version = was.last
			return
		}
	}
	version := max(d.now, was.last+1)
	if was.last == 0 { // versions of an earlier feature with the id are unknown
		version = max(version, d.floor+1)
	}
	var is found
	if w.Kind == Put || w.Kind == Patch {
		if is, err = d.next(w, given, &was, version); err != nil {
			o.Err = err
			return
		}
	}
	o.Version, o.Created = version, w.Kind == Put && !there
	d.change(Change{ID: w.ID, Version: version}, was, is)
}

// refused checks the conditions of a write.
func (d *decision) refused(w *Write, was *feature.Feature, there bool) error {
	switch {
	case w.Kind == expire:
		if was.Version == 0 || there || ExpiryMillis(was.Expires) != ExpiryMillis(w.Expires) {
			return ErrNotFound
		}
	case w.IfAbsent && there:
		return fmt.Errorf("point %q: %w: leave out the condition to replace it", w.ID, ErrExists)
	case w.Kind == Put && w.IfPresent && !there, len(w.IfVersions) > 0 && !(there && slices.Contains(w.IfVersions, was.Version)):
		return fmt.Errorf("point %q: %w: read it again and repeat the change", w.ID, ErrChanged)
	case w.Kind != Put && !there:
		return fmt.Errorf("%w: %.60q", ErrNotFound, w.ID)
	}
	return nil
}

// next returns the feature that a Put or Patch makes.
func (d *decision) next(w *Write, given *ready, was *found, version int64) (next found, err error) {
	next.Feature, next.object = d.feature(), given.properties
	if w.Kind == Patch {
		if err := d.fill(was); err != nil {
			return next, err
		}
		*next.Feature, next.object = *was.Feature, was.object
	}
	next.ID, next.Version = w.ID, version
	if w.Kind == Put || w.Move {
		next.Position = given.at
	}
	if w.Kind == Put || w.SetExpires {
		next.Expires = ExpiryTime(ExpiryMillis(w.Expires))
	}
	switch {
	case w.Kind == Put:
		if !same(d.types, given.types) { // other types were declared meanwhile
			next.object, err = typed(d.types, next.object)
		}
	case len(w.Properties) > 0:
		patch := feature.PatchProperties
		if w.MergePatch {
			patch = feature.MergeProperties
		}
		if next.object, err = patch(nil, next.object, w.Properties); err == nil {
			next.object, err = typed(d.types, next.object)
		}
	}
	if err == nil {
		next.Feature.Properties = objectOf(next.object)
	}
	return next, err
}

// same reports whether two schemas are the same slice, without comparing all fields.
func same(a, b feature.Schema) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// typed converts properties to their declared types.
func typed(declared feature.Schema, object []byte) ([]byte, error) {
	if len(declared) == 0 {
		return object, nil
	}
	return declared.Convert(nil, object)
}

// change adds a change from one state to another, which is zero if the feature is gone. It
// returns the state after the change.
func (d *decision) change(c Change, was, is found) found {
	if was.Version != 0 {
		// Properties that cannot be read remain in the counts until the collection is opened again.
		_ = d.fill(&was)
		c.Was, c.was = was.Feature, was.object
	}
	c.Is, c.is = is.Feature, is.object
	by := d.redraw.by(c.ID)
	if c.Edition, c.EditionSuffix = by.Number, by.Suffix; c.moved() || d.whole {
		d.number(&c)
	}
	d.bytes += len(c.was) + len(c.is)
	d.changes = append(d.changes, c)
	if is.last = c.Version; is.Feature == nil {
		is.Feature = d.feature()
		d.floor = max(d.floor, c.Version)
	}
	d.known[c.ID] = is
	return is
}

// number sets the number of a change, and the time of its event.
func (d *decision) number(c *Change) {
	c.Before = d.seq
	d.seq = max(d.seq+1, uint64(max(d.now, 0))*1000)
	c.Seq, c.date = d.seq, int64(d.seq/1000)
	if d.ahead(c.date) && d.settled { // otherwise the clock may be late for a moment
		c.date = d.now
	}
}
