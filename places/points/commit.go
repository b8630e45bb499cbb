package points

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
)

// commit makes the writes of requests, in steps of maxCommit. Its error is that of a step.
func (c *LiveCollection) commit(batch []*request) (err error) {
	batch = slices.DeleteFunc(batch, func(r *request) bool { return !r.take() })
	k := newCommit(c)
	for _, r := range batch {
		if r.alone != nil {
			err = cmp.Or(k.end(), err)
			r.alone(k)
			err = cmp.Or(k.end(), err)
			continue
		}
		for i := range r.writes {
			c.turn.Step()
			k.write(&r.writes[i], &r.ready[i], &r.outcomes[i])
			if len(k.outcomes) >= maxCommit || k.bytes >= maxCommitBytes {
				err = cmp.Or(k.end(), err)
			}
		}
	}
	err = cmp.Or(k.end(), err)
	c.committed <- committed{slices.Clone(batch), c.last}
	return err
}

// commit is one atomic step of several writes.
type commit struct {
	c         *LiveCollection
	now       int64
	mutations []cellstore.Mutation
	outcomes  []*Outcome
	arrived   []counted
	left      []counted
	moved     [][2]position    // within their keys: from, to
	states    map[string]state // of points that the step has changed
	meta      *liveMeta
	// undescribe makes the learner forget the types of meta.
	undescribe func()
	values     []tallied // that the learner has counted
	seq        uint64    // of the last event
	floor      int64     // the greatest version of a point that is gone
	bytes      int       // of the properties that it writes
}

// state is a point within a step: version is 0 if it is not there, and last is the last
// version that it had.
type state struct {
	record
	last int64
}

// tallied are the values of a point that the step adds, or removes if the count is -1.
type tallied struct {
	object []byte
	by     int64
}

// count has the learner count values, until the step fails.
func (k *commit) count(object []byte, by int64) {
	k.c.learner.Count(object, by)
	k.values = append(k.values, tallied{object, by})
	k.bytes += len(object)
}

func newCommit(c *LiveCollection) *commit {
	k := &commit{c: c, now: c.clock.Now(), states: map[string]state{}, seq: c.last, floor: c.floor}
	if k.ahead(k.floor) {
		// A clock was wrong. New points must not be dated by it before that time comes.
		k.floor = k.now
	}
	return k
}

// ahead reports whether a time, in milliseconds, can only be that of a clock that was wrong.
func (k *commit) ahead(at int64) bool { return at > k.c.clock.Limit() }

// state reads a point as it is after the writes of this step, without its properties.
func (k *commit) state(id string) (s state, err error) {
	if s, known := k.states[id]; known {
		return s, nil
	}
	return k.read(id)
}

// read reads a point as it is stored, without its properties.
func (k *commit) read(id string) (s state, err error) {
	found, err := k.c.table.Get(context.Background(), appendIDKey(nil, id), selectID, &k.c.row)
	if err != nil || !found {
		return s, wrap(err)
	}
	s.last = k.c.row.Cells[0].Timestamp
	if len(k.c.row.Cells[0].Value) == 0 {
		return s, nil // deleted, with history
	}
	return s, s.parseID(&k.c.row)
}

// write adds a write to the step, or says why not.
func (k *commit) write(w *Write, given *ready, o *Outcome) {
	if *o = (Outcome{Err: given.err}); o.Err != nil {
		return
	}
	old, err := k.state(w.ID)
	if err != nil {
		o.Err = err
		return
	}
	there := old.version != 0 && !old.over(k.now)
	if o.Err = k.refused(w, &old.record, there); o.Err != nil {
		return
	}
	if old.version != 0 && !there {
		if old = k.expire(w.ID, &old); w.Kind == expire {
			o.Version = old.last
			k.outcomes = append(k.outcomes, o)
			return
		}
	}
	next := record{version: max(k.now, old.last+1)}
	if old.last == 0 { // the versions of a point that had the id are not known
		next.version = max(next.version, k.floor+1)
	}
	if w.Kind == Put || w.Kind == Patch {
		if next, err = k.next(w, given, &old.record, next.version); err != nil {
			o.Err = err
			return
		}
	}
	o.Version, o.Created = next.version, w.Kind == Put && !there
	k.change(w, &old.record, &next, w.Kind == Put || w.Kind == Patch)
	k.outcomes = append(k.outcomes, o)
}

// expire adds to the step that a point was gone from the time it expired, and returns its
// state. The event so comes whichever is first, a write of the id or the search for
// expired points.
func (k *commit) expire(id string, old *state) state {
	gone := record{version: max(old.expires, old.last+1)}
	k.change(&Write{Kind: expire, ID: id}, &old.record, &gone, false)
	return k.states[id]
}

// refused checks the conditions of a write.
func (k *commit) refused(w *Write, old *record, there bool) error {
	switch {
	case w.Kind == expire:
		if old.version == 0 || there || old.expires != expiresOf(w.Expires) {
			return ErrNotFound
		}
	case w.IfAbsent && there:
		return fmt.Errorf("point %q: %w: leave out the condition to replace it", w.ID, ErrExists)
	case w.Kind == Put && w.IfPresent && !there, len(w.IfVersions) > 0 && !(there && slices.Contains(w.IfVersions, old.version)):
		return fmt.Errorf("point %q: %w: read it again and repeat the change", w.ID, ErrChanged)
	case w.Kind != Put && !there:
		return fmt.Errorf("%w: %.60q", ErrNotFound, w.ID)
	}
	return nil
}

// next returns the point that a Put or Patch makes.
func (k *commit) next(w *Write, given *ready, old *record, version int64) (next record, err error) {
	next = *old
	next.version, next.properties = version, given.properties
	types := k.c.Declared()
	if w.Kind == Put || w.Move {
		next.position = given.at
	}
	if w.Kind == Put || w.Expire {
		next.expires = expiresOf(w.Expires)
	}
	if w.Kind == Put {
		if !same(types, given.types) { // others were declared meanwhile
			next.properties, err = typed(types, next.properties)
		}
		return next, err
	}
	if next.properties, err = k.properties(w.ID, old); err != nil || len(w.Properties) == 0 {
		return next, err
	}
	patch := feature.PatchProperties
	if w.Merge {
		patch = feature.MergeProperties
	}
	if next.properties, err = patch(nil, next.properties, w.Properties); err == nil {
		next.properties, err = typed(types, next.properties)
	}
	return next, err
}

// same reports whether two schemas are the same one, without looking at all of them.
func same(a, b feature.Schema) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// properties reads the properties of a point whose state is known.
func (k *commit) properties(id string, old *record) ([]byte, error) {
	if old.properties != nil {
		return old.properties, nil // written in this step
	}
	found, err := k.c.table.Get(context.Background(), appendPointKey(nil, old.key, id), selectPoint, &k.c.row)
	if err != nil {
		return nil, wrap(err)
	}
	var r record
	if found {
		if _, err = r.parse(&k.c.row); err != nil {
			return nil, err
		}
	}
	if r.properties == nil {
		return nil, fmt.Errorf("points: %w: the point %q is not where its id says", cellstore.ErrCorrupt, id)
	}
	old.properties = slices.Clone(r.properties)
	return old.properties, nil
}

// change adds the rows of a change to the step. It leads from old, whose version is 0
// if there was no point, to next, or to no point.
func (k *commit) change(w *Write, old, next *record, stays bool) {
	id := w.ID
	history := k.c.meta.Load().History > 0
	idRow := cellstore.Mutation{Row: appendIDKey(nil, id)}
	leaves := old.version != 0 && (!stays || old.key != next.key)
	if old.version != 0 {
		// Those of a point that cannot be read count until the collection is opened again.
		was, _ := k.properties(id, old)
		k.count(was, -1)
	}
	if stays {
		idRow.Ops = append(idRow.Ops, cellstore.PutAt(famID, nil, next.version, next.appendIDValue(nil)))
		value := next.appendValue(nil)
		k.put(rowPoint, famPoint, &next.position, id, next.version, value)
		if history {
			k.put(rowPast, famPast, &next.position, id, next.version, value)
		}
		bits := k.c.summary.add(next.properties)
		if old.version == 0 || leaves {
			k.arrived = append(k.arrived, counted{next.position, bits})
		} else {
			k.c.tree.mark(&counted{next.position, bits})
			k.moved = append(k.moved, [2]position{old.position, next.position})
		}
		k.count(next.properties, 1)
	} else if history {
		idRow.Ops = append(idRow.Ops, cellstore.PutAt(famID, nil, next.version, nil))
	} else {
		idRow.Ops = append(idRow.Ops, cellstore.DeleteColumn(famID, nil, cellstore.All))
	}
	k.mutations = append(k.mutations, idRow)
	if leaves {
		k.mutations = append(k.mutations, removal(famPoint, appendPointKey(nil, old.key, id)))
		if history {
			k.put(rowPast, famPast, &old.position, id, next.version, nil)
		}
		k.left = append(k.left, counted{position: old.position})
	}
	k.changeEnd(id, old.expires, next.expires)
	k.event(w, old, next, stays)
	now := state{*next, next.version}
	if !stays {
		now.version = 0
		k.floor = max(k.floor, next.version)
	}
	k.states[id] = now
}

// put adds a row of a point to the step.
func (k *commit) put(kind byte, family string, at *position, id string, version int64, value []byte) {
	key := appendPointKey(nil, at.key, id)
	key[0] = kind
	k.mutations = append(k.mutations, cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.PutAt(family, nil, version, value)}})
}

// removal removes a row of one family.
func removal(family string, key []byte) cellstore.Mutation {
	return cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.DeleteColumn(family, nil, cellstore.All)}}
}

// changeEnd moves the row that says when a point expires.
func (k *commit) changeEnd(id string, old, next int64) {
	if old == next {
		return
	}
	if old != 0 {
		k.mutations = append(k.mutations, removal(famEnd, endKey(old, id)))
	}
	if next != 0 {
		k.mutations = append(k.mutations, cellstore.Mutation{Row: endKey(next, id), Ops: []cellstore.Op{cellstore.Put(famEnd, nil, nil)}})
	}
}

// end writes the step and begins another one.
func (k *commit) end() error {
	c := k.c
	c.turn.Pause() // the disk may make the step wait
	if len(k.outcomes) == 0 {
		return nil
	}
	if k.meta != nil || c.learner.Changes() != c.learned {
		m := *cmp.Or(k.meta, c.meta.Load())
		m.Schema = c.learner.Schema()
		k.meta = &m
		k.mutations = append(k.mutations, m.mutation())
	}
	c.step++
	seq := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, k.seq), uint64(k.floor))
	seq = binary.BigEndian.AppendUint64(seq, c.step)
	k.mutations = append(k.mutations, cellstore.Mutation{Row: sequenceRow, Ops: []cellstore.Op{cellstore.PutAt(famMeta, nil, metaTime, seq)}})
	for i := range k.mutations {
		k.mutations[i].Durability = cellstore.Async // until acknowledge
	}
	c.tree.expect(k.arrived)
	full, err := k.apply()
	for _, o := range k.outcomes {
		if err != nil {
			*o = Outcome{Err: c.refused(err)}
		}
	}
	c.views.sweep()
	c.divide(full)
	*k = *newCommit(c)
	return err
}

// apply writes the step, and tells the collection what it has changed. It returns the
// tiles of full leaves.
func (k *commit) apply() (full []quadkey.Tile, err error) {
	c := k.c
	c.views.agree.Lock()
	defer c.views.agree.Unlock()
	if err = c.table.Apply(context.Background(), k.mutations...); err == nil {
		return k.settle(), nil
	}
	if k.visible() {
		return k.settle(), unknown(err)
	}
	c.tree.forget(k.arrived)
	for _, v := range k.values {
		c.learner.Count(v.object, -v.by)
	}
	if k.undescribe != nil {
		k.undescribe()
	}
	return nil, err
}

// visible reports whether a step that failed is visible all the same: it may only be
// missing on the disk. The tree must then know the points, although the writers get the
// error.
func (k *commit) visible() bool {
	c := k.c
	found, err := c.table.Get(context.Background(), sequenceRow, &cellstore.Selection{Families: []string{famMeta}}, &c.row)
	return err == nil && found && len(c.row.Cells[0].Value) == sequenceValue && binary.BigEndian.Uint64(c.row.Cells[0].Value[16:]) == c.step
}

// settle tells the collection what the step has changed.
func (k *commit) settle() (full []quadkey.Tile) {
	c := k.c
	if k.meta != nil {
		c.meta.Store(k.meta)
		c.learned = c.learner.Changes()
	}
	c.floor, c.last = k.floor, k.seq
	c.tree.shift(k.moved)
	full = c.tree.settle(k.arrived, k.left, nil)
	c.views.committed(k.left)
	return full
}

// divide gives children to leaves that have become full.
func (c *LiveCollection) divide(tiles []quadkey.Tile) {
	s := &search{from: reading{Reader: c.table}, sel: *selectPoint, kind: rowPoint}
	for _, tile := range tiles {
		b := c.tree.find(tile)
		if !b.leaf || b.tile != tile || b.count <= leafPoints {
			continue // several points of the commit have filled it, or left it again
		}
		var list []counted
		s.rangeOf(tile)
		err := s.rows(context.Background(), s.key, s.until, 0, func() (bool, error) {
			if s.record.properties != nil {
				list = append(list, counted{s.record.position, c.summary.add(s.record.properties)})
			}
			return true, nil
		})
		if err == nil { // otherwise the leaf stays as it is, which is only slower
			c.views.divide(&b, list)
		}
	}
}
