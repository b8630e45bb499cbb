package damagetest

import (
	"maps"
	"slices"
	"testing"
)

// Judge checks the durability of writes, by id. It knows the acknowledged value of each id, or that
// it was deleted, and the values of later unacknowledged writes, which may have taken effect.
type Judge struct {
	acked map[string]string   // "" means deleted
	maybe map[string][]string // tried since, without an answer
}

// NewJudge returns a judge without writes.
func NewJudge() *Judge { return &Judge{map[string]string{}, map[string][]string{}} }

// Clone returns a copy.
func (j *Judge) Clone() *Judge { return &Judge{maps.Clone(j.acked), maps.Clone(j.maybe)} }

// RecordAcked records an acknowledged write.
func (j *Judge) RecordAcked(id, value string) {
	j.acked[id] = value
	delete(j.maybe, id)
}

// RecordTried records a write that may have taken effect.
func (j *Judge) RecordTried(id, value string) { j.maybe[id] = append(slices.Clip(j.maybe[id]), value) }

// IsUnsure reports whether an id has writes that may have taken effect.
func (j *Judge) IsUnsure(id string) bool { return len(j.maybe[id]) > 0 }

// AckedCount returns the number of ids with acknowledged writes, including deleted ones.
func (j *Judge) AckedCount() int { return len(j.acked) }

// Check compares the present values with the possible ones. From then on, the present values count
// as acknowledged.
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
		j.RecordAcked(id, got)
	}
}
