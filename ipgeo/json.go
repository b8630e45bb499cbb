package ipgeo

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"quadrille/internal/jsontext"
)

// objectWriter appends the members of JSON objects and leaves out zero values. Its output has no
// white space; the scanner of scan.go depends on that. Equal values give equal bytes; joining rows
// depends on that.
type objectWriter struct{ b []byte }

func (w *objectWriter) key(name string) {
	w.b = append(append(append(jsontext.Next(w.b), '"'), name...), '"', ':') // names need no escapes
}

// open begins an object and returns its start, for close.
func (w *objectWriter) open(name string) (at int) {
	at = len(w.b)
	w.key(name)
	w.b = append(w.b, '{')
	return at
}

// close ends the object that starts at offset at, or removes it if it has no members.
func (w *objectWriter) close(at int) {
	if w.b[len(w.b)-1] == '{' {
		w.b = w.b[:at]
		return
	}
	w.b = append(w.b, '}')
}

func (w *objectWriter) string(name, v string) {
	if v != "" {
		w.key(name)
		w.b = jsontext.AppendString(w.b, v)
	}
}

func (w *objectWriter) number(name string, v uint32) {
	if v != 0 {
		w.key(name)
		w.b = strconv.AppendUint(w.b, uint64(v), 10)
	}
}

func (w *objectWriter) flag(name string, v bool) {
	if v {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

// names writes the languages sorted, so that equal records have equal bytes.
func (w *objectWriter) names(names Names) {
	type entry struct{ lang, name string }
	var array [16]entry
	list := array[:0]
	for lang, name := range names {
		if lang == "" || name == "" {
			continue
		}
		list = append(list, entry{lang, name})
		if len(list) > len(array) {
			continue // sorted below
		}
		// There are usually eight names, so insertion sort is fastest.
		for i := len(list) - 1; i > 0 && list[i].lang < list[i-1].lang; i-- {
			list[i], list[i-1] = list[i-1], list[i]
		}
	}
	if len(list) == 0 {
		return
	}
	if len(list) > len(array) {
		slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.lang, b.lang) })
	}
	w.key("names")
	w.b = append(w.b, '{')
	for i := range list {
		w.b = append(jsontext.AppendString(jsontext.Next(w.b), list[i].lang), ':')
		w.b = jsontext.AppendString(w.b, list[i].name)
	}
	w.b = append(w.b, '}')
}

// appendNumber appends a finite float in the fewest digits that read back as
// the same float, in the format of ECMAScript and encoding/json.
func appendNumber(dst []byte, v float64) []byte {
	if v == 0 {
		return append(dst, '0') // -0 too
	}
	if abs := math.Abs(v); abs < 1e-6 || abs >= 1e21 {
		dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
		if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' { // e-09 is e-9
			dst = append(dst[:n-2], dst[n-1])
		}
		return dst
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}
