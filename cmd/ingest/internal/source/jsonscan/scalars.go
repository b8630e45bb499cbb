package jsonscan

import (
	"math"
	"strconv"
)

// Bounds on what Scalars keeps of one object.
const (
	maxMembers = 1000
	maxText    = 32 << 10
)

// Scalars reads an object and returns those of its members that are strings,
// numbers or booleans: string, int64 for a number written without fraction or
// exponent that fits, else float64, and bool. What it leaves out: nulls,
// arrays, objects, numbers that are not finite, strings over 32 KiB and
// members after the thousandth. A null in place of the object gives nil.
func (s *Scanner) Scalars() (map[string]any, error) {
	k, err := s.Kind()
	if err != nil {
		return nil, err
	}
	if k == Null {
		return nil, s.Null()
	}
	m := map[string]any{}
	err = s.Object(func(n []byte) error {
		if len(m) >= maxMembers {
			return s.Skip()
		}
		name := string(n)
		v, err := s.scalar()
		if v != nil {
			m[name] = v
		}
		return err
	})
	return m, err
}

// scalar reads any value; nil is one that is not a scalar worth keeping.
func (s *Scanner) scalar() (any, error) {
	k, err := s.Kind()
	if err != nil {
		return nil, err
	}
	switch k {
	case String:
		text, whole, err := s.Text(maxText)
		if err != nil || !whole {
			return nil, err
		}
		return string(text), nil
	case Number:
		f, err := s.Float()
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, err
		}
		if i, err := strconv.ParseInt(string(s.number), 10, 64); err == nil {
			return i, nil
		}
		return f, nil
	case True, False:
		b, err := s.Bool()
		return b, err
	}
	return nil, s.Skip()
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
