package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"quadrille/cmd/ingest/internal/source"
)

// Bounds on what Properties keeps of one object.
const (
	maxMembers = 1000
	maxText    = 64 << 10
)

// Why a property is lost.
var (
	tooMany = fmt.Sprintf("it is behind the first %d", maxMembers)
	tooLong = fmt.Sprintf("it is longer than %d bytes", maxText)
)

const (
	notANumber = "a number that no program reads"
	notJSON    = "a value in it is no JSON"
)

// Properties reads an object and returns its members: string, int64 for a number written
// without fraction or exponent that fits, float64 for other numbers, bool, and as
// json.RawMessage lists, objects and whole numbers that do not fit. Nulls are left out.
// Whatever else cannot be kept is lost. A null in place of the object gives nil.
func (s *Scanner) Properties() (m map[string]any, lost source.Lost, err error) {
	k, err := s.Kind()
	if err != nil {
		return nil, lost, err
	}
	if k == Null {
		return nil, lost, s.Null()
	}
	m = map[string]any{}
	err = s.Object(func(n []byte) error {
		name, why := string(n), tooMany
		var v any
		var err error
		if len(m) < maxMembers {
			v, why, err = s.Property()
		} else {
			err = s.Skip()
		}
		if v != nil {
			m[name] = v
		}
		if why != "" {
			lost.Add(name, why)
		}
		return err
	})
	return m, lost, err
}

// Property reads any value; nil is one that is null, or cannot be kept for the reason why.
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
		// Read, and not only looked at: a number in it may be one that no program reads.
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
