package points

import (
	"encoding/json"
	mathbits "math/bits"
	"slices"
	"sync"
)

// summary knows which members have few different texts. Of those, the nodes of a tree
// have a bit for each value; the texts of others would only set them all.
type summary struct {
	mu      sync.RWMutex // one goroutine adds, others ask
	members map[string]*values
}

// values says which hashes the texts of a member have had.
type values struct {
	seen [4]uint64
	many bool // for good
}

// fewValues is how many hashes of 256 make many values.
const fewValues = 64

func newSummary() *summary { return &summary{members: map[string]*values{}} }

// add returns the signature of a point, and learns its values.
func (s *summary) add(object []byte) (set uint64) {
	for w := (walker{object}); ; {
		name, value, ok := w.next()
		if !ok {
			return set
		}
		switch {
		case isText(value) || isBoolean(value):
			set |= s.value(name, value)
		case isList(value):
			for elements := (lister{value}); ; {
				element, ok := elements.next()
				if !ok {
					break
				}
				if isText(element) {
					set |= s.value(name, element)
				}
			}
		}
	}
}

// value returns the bit of a value, and none if the member has many.
func (s *summary) value(name, value []byte) uint64 {
	if len(value) > maxSignedValue {
		return 0
	}
	v := s.members[string(name)]
	if v == nil {
		if len(s.members) == MaxFields {
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

// few reports whether the nodes have bits of all values of a member, whose name is in
// compact form.
func (s *summary) few(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v := s.members[name]
	return v == nil && len(s.members) < MaxFields || v != nil && !v.many
}

// MarshalJSON writes the members that have many values, and whether there are others
// that nothing is known of.
func (s *summary) MarshalJSON() ([]byte, error) {
	many := []string{}
	for name, v := range s.members {
		if v.many {
			many = append(many, name)
		}
	}
	slices.Sort(many)
	return json.Marshal(struct {
		Many []string `json:"many"`
		Full bool     `json:"full"`
	}{many, len(s.members) == MaxFields})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *summary) UnmarshalJSON(b []byte) error {
	var stored struct {
		Many []string `json:"many"`
		Full bool     `json:"full"`
	}
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	for _, name := range stored.Many {
		s.members[name] = &values{many: true}
	}
	return nil
}
