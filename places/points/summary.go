package points

import (
	"encoding/json"
	mathbits "math/bits"
	"slices"
	"sync"

	"quadrille/feature"
)

// summary records which members have few different texts. For these, the nodes of a tree have a bit
// for each value. The texts of other members are left out, because they would set all bits.
type summary struct {
	mu      sync.RWMutex // one goroutine writes, others read
	members map[string]*values
	// full is set if there are further members, with nothing recorded about them.
	full bool
}

// values has the hashes of a member's texts.
type values struct {
	seen [4]uint64
	many bool // for good
}

// fewValues is the number of hashes, of 256 possible ones, at which a property counts as one with
// many values.
const fewValues = 64

func newSummary() *summary { return &summary{members: map[string]*values{}} }

// add returns the signature of a point, and learns its values.
func (s *summary) add(object []byte) (set uint64) {
	for name, value := range feature.Members(object) {
		switch {
		case feature.IsText(value) || feature.IsBoolean(value):
			set |= s.value(name, value)
		case feature.IsList(value):
			for element := range feature.Elements(value) {
				if feature.IsText(element) {
					set |= s.value(name, element)
				}
			}
		}
	}
	return set
}

// value returns the bit of a value, or no bit if the member has many values.
func (s *summary) value(name, value []byte) uint64 {
	if len(value) > maxSignedValue {
		return 0
	}
	v := s.members[string(name)]
	if v == nil {
		if len(s.members) == feature.MaxFields {
			s.overflow()
			return 0
		}
		v = &values{}
		s.mu.Lock()
		s.members[string(name)] = v
		s.mu.Unlock()
	}
	if v.many {
		return 0
	}
	h := valueHash(name, value)
	v.seen[h>>62] |= 1 << (h >> 56 & 63)
	var n int
	for _, part := range v.seen {
		n += mathbits.OnesCount64(part)
	}
	if n > fewValues {
		s.mu.Lock()
		v.many = true
		s.mu.Unlock()
	}
	return bitOf(h)
}

// few reports whether the nodes have bits for all values of a member. name is in compact form.
func (s *summary) few(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v := s.members[name]
	return v == nil && !s.full || v != nil && !v.many
}

// overflow records that there are unlisted members.
func (s *summary) overflow() {
	if !s.full {
		s.mu.Lock()
		s.full = true
		s.mu.Unlock()
	}
}

// storedSummary is the stored form of a summary. A member in neither list has no values.
type storedSummary struct {
	Many []string `json:"many"`
	Few  []string `json:"few"`
	Full bool     `json:"full"`
}

// MarshalJSON writes the members with many values, and those with few.
func (s *summary) MarshalJSON() ([]byte, error) {
	stored := storedSummary{Many: []string{}, Few: []string{}, Full: s.full}
	for name, v := range s.members {
		if v.many {
			stored.Many = append(stored.Many, name)
		} else {
			stored.Few = append(stored.Few, name)
		}
	}
	slices.Sort(stored.Many)
	slices.Sort(stored.Few)
	return json.Marshal(stored)
}

// UnmarshalJSON reads the output of MarshalJSON.
func (s *summary) UnmarshalJSON(b []byte) error {
	var stored storedSummary
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	s.full = stored.Full
	for _, name := range stored.Many {
		s.members[name] = &values{many: true}
	}
	for _, name := range stored.Few {
		s.members[name] = &values{}
	}
	return nil
}
