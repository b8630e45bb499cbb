package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/feature"
	"quadrille/quadkey"
)

// thing is a feature of the model.
type thing struct {
	lat, lon   float64
	properties map[string]any
	expires    int64
	version    int64
}

// world is a State, and the model of the effects of writes on it.
type world struct {
	things map[string]thing
	last   map[string]int64 // versions of ids, including those of removed features
	floor  int64
	seq    uint64
}

func (w *world) Find(id string, f *feature.Feature) (int64, error) {
	if it, is := w.things[id]; is {
		f.Lat, f.Lon, f.Version = it.lat, it.lon, it.version
		if it.expires != 0 {
			f.Expires = time.UnixMilli(it.expires).UTC()
		}
	}
	return w.last[id], nil
}

func (w *world) AppendProperties(dst []byte, f *feature.Feature) ([]byte, error) {
	object, err := json.Marshal(w.things[f.ID].properties)
	return append(dst, object...), err
}

// fate is the outcome of a write in the model.
type fate struct {
	err     error
	version int64
	created bool
}

// gone removes a feature at a version.
func (w *world) gone(id string, version int64) {
	delete(w.things, id)
	w.floor = max(w.floor, version)
	w.last[id] = version
}

// tell makes a write at the time now by the documented rules, and returns its expected outcome.
func (w *world) tell(in *Write, now int64) (f fate, moves int) {
	it, is := w.things[in.ID]
	lies, there := is, is && (it.expires == 0 || it.expires > now)
	switch matches := func() bool {
		for _, v := range in.IfVersions {
			if there && v == it.version {
				return true
			}
		}
		return len(in.IfVersions) == 0
	}(); {
	case in.IfAbsent && there:
		return fate{err: ErrExists}, 0
	case in.Kind == Put && in.IfPresent && !there, !matches:
		return fate{err: ErrChanged}, 0
	case in.Kind != Put && !there:
		return fate{err: ErrNotFound}, 0
	}
	// Within a step all versions are known, including those of just removed features.
	last := w.last[in.ID]
	if lies && !there {
		moves++
		last = max(it.expires, last+1)
		w.gone(in.ID, last)
	}
	f.version = max(now, last+1)
	if last == 0 {
		f.version = max(f.version, w.floor+1)
	}
	if f.created = in.Kind == Put && !there; in.Kind == Delete {
		moves++
		w.gone(in.ID, f.version)
		return f, moves
	}
	next := thing{properties: map[string]any{}, version: f.version}
	if there && in.Kind == Patch {
		next = it
		next.properties, next.version = maps.Clone(it.properties), f.version
	}
	if in.Kind == Put || in.Move {
		if !there || it.lat != in.Lat || it.lon != in.Lon {
			moves++
		}
		next.lat, next.lon = in.Lat, in.Lon
	}
	if in.Kind == Put || in.SetExpires {
		if next.expires = 0; !in.Expires.IsZero() {
			next.expires = in.Expires.UnixMilli()
		}
	}
	var given map[string]any
	_ = json.Unmarshal(in.Properties, &given)
	for name, v := range given {
		if v == nil && in.Kind == Patch {
			delete(next.properties, name)
		} else {
			next.properties[name] = v
		}
	}
	w.things[in.ID], w.last[in.ID] = next, f.version
	return f, moves
}

// For any writes in any order, the changes lead from the earlier state to the state of the model,
// and the outcomes are the outcomes of the model.
func TestDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := int64(1_700_000_000_000)
		is := &world{things: map[string]thing{}, last: map[string]int64{}}
		forgets := rapid.Bool().Draw(t, "forgets") // whether the state forgets versions of removed ids after each step
		d := &decision{redraw: &redraw{Now: Edition{Number: 7}}}
		versions := []int64{1}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			now += rapid.Int64Range(-2000, 5000).Draw(t, "passes")
			before := &world{things: maps.Clone(is.things), last: maps.Clone(is.last)}
			d.state, d.now, d.limit, d.settled, d.seq, d.floor = before, now, now+60_000, true, is.seq, is.floor
			d.begin()
			moves := 0
			for range rapid.IntRange(1, 6).Draw(t, "writes") {
				w := drawWrite(t, now, versions)
				want, moved := is.tell(&w, now)
				moves += moved
				var got Outcome
				given := ready{at: quadkey.Position{Lat: w.Lat, Lon: w.Lon}, properties: w.Properties}
				if w.Kind == Put && len(w.Properties) == 0 {
					given.properties = []byte("{}")
				}
				d.write(&w, &given, &got)
				if !errors.Is(got.Err, want.err) || got.Version != want.version || got.Created != want.created {
					t.Fatalf("%+v: %+v, want %+v", w, got, want)
				}
				if got.Err == nil {
					versions = append(versions, got.Version)
				}
			}
			compare(t, before, is, d, moves)
			if is.seq, is.floor = d.seq, d.floor; forgets {
				maps.DeleteFunc(is.last, func(id string, _ int64) bool { _, there := is.things[id]; return !there })
			}
		}
	})
}

func drawWrite(t *rapid.T, now int64, versions []int64) Write {
	w := Write{
		Kind: rapid.SampledFrom([]WriteKind{Put, Put, Patch, Delete}).Draw(t, "kind"),
		ID:   rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"),
		Lat:  float64(rapid.IntRange(0, 2).Draw(t, "lat")), Move: rapid.Bool().Draw(t, "move"), SetExpires: rapid.Bool().Draw(t, "expire"),
	}
	if rapid.IntRange(0, 2).Draw(t, "expires") == 0 {
		w.Expires = time.UnixMilli(now + rapid.Int64Range(1, 8000).Draw(t, "in")).UTC()
	}
	switch rapid.IntRange(0, 3).Draw(t, "properties") {
	case 0:
		w.Properties = []byte(`{"n":1}`)
	case 1:
		w.Properties = []byte(`{"m":"x"}`)
	case 2:
		if w.Kind == Patch {
			w.Properties = []byte(`{"n":null,"m":2}`)
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "condition") {
	case 0:
		w.IfAbsent = true
	case 1:
		w.IfPresent = true
	case 2:
		w.IfVersions = []int64{rapid.SampledFrom(versions).Draw(t, "version")}
	}
	return w
}

// compare replays the changes on the earlier state, and compares the result with the model.
func compare(t *rapid.T, from, want *world, d *decision, moves int) {
	at, last, numbered := from.things, uint64(0), 0
	for i := range d.changes {
		c := &d.changes[i]
		was, there := at[c.ID]
		if there != (c.Was != nil) || there && !reflect.DeepEqual(was, thingOf(t, c.Was)) {
			t.Fatalf("change %d is from %+v, and there is %+v", i, c.Was, was)
		}
		if there && c.Version <= was.version {
			t.Fatalf("version %d after %d", c.Version, was.version)
		}
		delete(at, c.ID)
		if c.Is != nil {
			if at[c.ID] = thingOf(t, c.Is); c.Is.Version != c.Version || c.Is.ID != c.ID || c.Expired {
				t.Fatalf("%+v: %+v", c, c.Is)
			}
		}
		if c.Seq != 0 {
			if numbered++; c.Seq <= c.Before || c.Seq <= last || last != 0 && c.Before != last || c.Edition != 7 {
				t.Fatalf("%+v after %d", c, last)
			}
			last = c.Seq
		}
	}
	if !reflect.DeepEqual(at, want.things) || numbered != moves || last != 0 && last != d.seq {
		t.Fatalf("there is %+v, want %+v; %d of %d changes move", at, want.things, numbered, moves)
	}
	if d.floor != want.floor {
		t.Fatalf("the floor is %d, want %d", d.floor, want.floor)
	}
}

func thingOf(t *rapid.T, f *feature.Feature) thing {
	it := thing{lat: f.Lat, lon: f.Lon, version: f.Version, properties: map[string]any{}}
	if !f.Expires.IsZero() {
		it.expires = f.Expires.UnixMilli()
	}
	if err := json.Unmarshal(fmt.Appendf(nil, "{%s}", f.Properties.AppendMembers(nil)), &it.properties); err != nil {
		t.Fatal(err)
	}
	return it
}
