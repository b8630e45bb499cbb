package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"quadrille/cmd/ingest/internal/source"
)

// These bound the members of one object in Members, and one member in Decode.
const (
	maxMembers = 1000
	maxValue   = 256 << 10 // bytes of a value as written
	maxValues  = 16 << 20  // bytes of all values
	maxText    = 64 << 10
)

// These are the reasons why a property is lost.
var (
	tooMany = fmt.Sprintf("it is behind the first %d", maxMembers)
	tooLong = fmt.Sprintf("it is longer than %d bytes", maxText)
)

const (
	notANumber = "a number that no program reads"
	notJSON    = "a value in it is no JSON"
)

// Members reads the members of an object, each as written. If they are too many or too long, they
// are lost. A value other than an object has no members. The members are valid until the next
// call, or for good after KeepMembers.
func (s *Scanner) Members() (members []source.Member, lost source.Lost, err error) {
	if k, err := s.Kind(); err != nil {
		return nil, lost, err
	} else if k != Object {
		return nil, lost, s.Skip()
	}
	members, values := s.members[:0], s.values[:0]
	err = s.Object(func(n []byte) error {
		name, ok := s.names[string(n)]
		if !ok {
			if name = string(n); s.names == nil {
				s.names = map[string]string{}
			}
			if len(s.names) < maxMembers {
				s.names[name] = name
			}
		}
		if len(members) == maxMembers {
			lost.Add(name, tooMany)
			return s.Skip()
		}
		from := len(values)
		var whole bool
		var err error
		if values, whole, err = s.Raw(values, min(maxValue, maxValues-from)); err == nil && !whole {
			lost.Add(name, tooLong)
		} else if err == nil {
			members = append(members, source.Member{Name: name, Value: values[from:]})
		}
		return err
	})
	s.members, s.values = members, values
	return members, lost, err
}

// KeepMembers keeps the last Members valid during further reads.
func (s *Scanner) KeepMembers() { s.members, s.values = nil, nil }

// Decode returns the values of members: string, bool, int64 for a number without fraction or
// exponent that fits, float64 for other numbers, and json.RawMessage for lists, objects and whole
// numbers that do not fit. Nulls are left out. Values that cannot be kept are lost. The Scanner
// must not be used at the same time.
func (s *Scanner) Decode(members []source.Member, lost *source.Lost) map[string]any {
	m := make(map[string]any, len(members))
	var r bytes.Reader
	for _, member := range members {
		r.Reset(member.Value)
		s.Reset(&r)
		v, why, err := s.Property()
		if err != nil {
			why = notJSON
		}
		if v != nil {
			m[member.Name] = v
		}
		if why != "" {
			lost.Add(member.Name, why)
		}
	}
	return m
}

// Property reads any value. It returns nil for null, and for a value that cannot be kept, with
// the reason.
func (s *Scanner) Property() (v any, why string, err error) {
	k, err := s.Kind()
	if err != nil {
		return nil, "", err
	}
	switch k {
	case String:
		text, whole, err := s.Text(maxText)
		if err != nil || !whole {
			return nil, tooLong, err
		}
		return string(text), "", nil
	case Number:
		f, err := s.Float()
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, notANumber, err
		}
		if i, err := strconv.ParseInt(string(s.number), 10, 64); err == nil {
			return i, "", nil
		}
		if !bytes.ContainsAny(s.number, ".eE") {
			return json.RawMessage(bytes.Clone(s.number)), "", nil
		}
		return f, "", nil
	case True, False:
		b, err := s.Bool()
		return b, "", err
	case Array, Object:
		raw, whole, err := s.Raw(nil, maxText)
		if err != nil || !whole {
			return nil, tooLong, err
		}
		// The value is decoded, because it may contain a number that no program can read.
		if raw = bytes.ToValidUTF8(raw, []byte("\ufffd")); json.Unmarshal(raw, &v) != nil {
			return nil, notJSON, nil //nolint:nilerr // what is lost is told
		}
		return json.RawMessage(raw), "", nil
	}
	return nil, "", s.Skip()
}

// ID reads an identifier: the text of a string or of a number as written. Any
// other value, and a string over 1 KiB, gives "".
func (s *Scanner) ID() (string, error) {
	k, err := s.Kind()
	if err != nil {
		return "", err
	}
	switch k {
	case String:
		text, whole, err := s.Text(1 << 10)
		if err != nil || !whole {
			return "", err
		}
		return string(text), nil
	case Number:
		f, err := s.Float()
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return "", err
		}
		return string(s.number), nil
	}
	return "", s.Skip()
}
