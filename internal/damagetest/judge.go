package damagetest

import (
	"maps"
	"slices"
	"testing"
)

// Judge knows about each of many things, by its id, what was acknowledged: its value, or
// that it is gone. It also knows what was tried since and may have been done.
type Judge struct {
	acked map[string]string   // "" is gone
	maybe map[string][]string // tried without an answer since
}

// NewJudge returns a judge of nothing.
func NewJudge() *Judge { return &Judge{map[string]string{}, map[string][]string{}} }

// Clone returns a judge who knows the same.
func (j *Judge) Clone() *Judge { return &Judge{maps.Clone(j.acked), maps.Clone(j.maybe)} }

// Done tells what was acknowledged.
func (j *Judge) Done(id, value string) {
	j.acked[id] = value
	delete(j.maybe, id)
}

// Tried tells what may have been done.
func (j *Judge) Tried(id, value string) { j.maybe[id] = append(slices.Clip(j.maybe[id]), value) }

// Unsure reports whether something was tried that may have been done.
func (j *Judge) Unsure(id string) bool { return len(j.maybe[id]) > 0 }

// Acked returns how many things were acknowledged, including those that are gone.
func (j *Judge) Acked() int { return len(j.acked) }

// Check compares what is there with what must be. From then on, what is there is the truth.
func (j *Judge) Check(t testing.TB, when string, there map[string]string) {
	t.Helper()
	ids := maps.Clone(there)
	maps.Copy(ids, j.acked)
	for id := range j.maybe {
		ids[id] = ""
	}
	for id := range ids {
		got := there[id]
		if got != j.acked[id] && !slices.Contains(j.maybe[id], got) {
			t.Errorf("%s: %s is %q, acknowledged was %q, tried %q", when, id, got, j.acked[id], j.maybe[id])
		}
		j.Done(id, got)
	}
}
