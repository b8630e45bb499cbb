package feature

import (
	"bytes"
	"strconv"

	"github.com/paulmach/orb"
)

// readPolygons reads a Polygon or a MultiPolygon in the form in which data sets have it: no white
// space, two coordinates a position, no exponents. Package json takes eight times as long for
// borders. It returns nil for anything else, valid or not.
func readPolygons(text []byte) orb.Geometry {
	if in, ok := bytes.CutPrefix(text, []byte(`{"type":"Polygon","coordinates":`)); ok {
		r := coordinates{in, false}
		if p := r.polygon(); r.end() {
			return p
		}
		return nil
	}
	if in, ok := bytes.CutPrefix(text, []byte(`{"type":"MultiPolygon","coordinates":`)); ok {
		r := coordinates{in, false}
		if m := listOf(&r, r.polygon); r.end() {
			return orb.MultiPolygon(m)
		}
	}
	return nil
}

// coordinates reads arrays from the beginning of a text.
type coordinates struct {
	text  []byte
	wrong bool // the text has another form
}

func (r *coordinates) polygon() orb.Polygon { return listOf(r, r.ring) }

func (r *coordinates) ring() orb.Ring { return listOf(r, r.point) }

// listOf reads an array of at least one element.
func listOf[T any](r *coordinates, element func() T) []T {
	var list []T
	r.take('[')
	for !r.wrong {
		list = append(list, element())
		if !r.starts(',') {
			break
		}
		r.take(',')
	}
	r.take(']')
	return list
}

func (r *coordinates) point() (p orb.Point) {
	r.take('[')
	p[0] = r.number()
	r.take(',')
	p[1] = r.number()
	r.take(']')
	return p
}

func (r *coordinates) number() float64 {
	n := 0
	for n < len(r.text) && (r.text[n] >= '0' && r.text[n] <= '9' || r.text[n] == '.' || r.text[n] == '-') {
		n++
	}
	digits := bytes.TrimPrefix(r.text[:n], []byte{'-'})
	isDigit := func(i int) bool { return i < len(digits) && digits[i] >= '0' && digits[i] <= '9' }
	// JSON has a digit on either side of the point, and no zeros before others.
	if !isDigit(0) || !isDigit(len(digits)-1) || digits[0] == '0' && isDigit(1) {
		r.wrong = true
		return 0
	}
	v, err := strconv.ParseFloat(string(r.text[:n]), 64)
	r.wrong = r.wrong || err != nil
	r.text = r.text[n:]
	return v
}

func (r *coordinates) starts(c byte) bool { return len(r.text) > 0 && r.text[0] == c }

func (r *coordinates) take(c byte) {
	if r.wrong = r.wrong || !r.starts(c); !r.wrong {
		r.text = r.text[1:]
	}
}

// end reports whether the object ends here, and the text with it.
func (r *coordinates) end() bool {
	r.take('}')
	return !r.wrong && len(r.text) == 0
}
