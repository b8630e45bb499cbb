package endpoint

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"quadrille/cmd/internal/nearest"
)

// ParamNames says which parameters an endpoint takes. A request with any other is refused: otherwise a
// misspelt filter would be ignored and give a wrong answer. Names that begin with _ are always
// accepted, for clients that need a different address for each request.
type ParamNames struct {
	Names   []string
	AnyName bool // others are ignored
	// ExtraNames is set if the handler checks further names with [Params.ExtraParams].
	ExtraNames bool
}

// KeyParameter is the parameter for the key of clients that cannot set headers. A server that
// requires no keys ignores it.
const KeyParameter = "key"

// Check checks the names in a query without decoding the query into a map.
func (q *ParamNames) Check(raw string) error {
	var seen uint64 // bit i is for names[i]; there are fewer than 64 names
	plain := strings.IndexByte(raw, '%') < 0 && strings.IndexByte(raw, '+') < 0 && strings.IndexByte(raw, ';') < 0
	for raw != "" {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if !plain {
			if !decodable(name) || !decodable(value) {
				return errQuery
			}
			name, _ = url.QueryUnescape(name)
		}
		if isFree(name) {
			continue
		}
		i := slices.Index(q.Names, name)
		if i < 0 && q.ExtraNames {
			continue
		}
		if i < 0 {
			return q.Unknown(name)
		}
		if seen&(1<<i) != 0 {
			return errTwice(name)
		}
		seen |= 1 << i
	}
	return nil
}

// isFree reports whether every endpoint accepts a parameter of this name.
func isFree(name string) bool { return strings.HasPrefix(name, "_") || name == KeyParameter }

var errQuery = Refuse(ErrParameter, "", "Write the query as name=value pairs joined by &, with percent-encoding where needed.")

// decodable reports whether url.QueryUnescape accepts a text, and url.ParseQuery accepts the query
// that contains it.
func decodable(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == ';':
			return false
		case s[i] != '%':
		case i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]):
			return false
		default:
			i += 2
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// errTwice returns the error for a repeated parameter, because it is unclear which of the two
// values is meant.
func errTwice(name string) error { return Refuse(ErrParameter, name, "Give "+name+" once.") }

// Unknown returns the error for an unknown parameter, with the most similar name as a suggestion.
func (q *ParamNames) Unknown(name string) error {
	accepted := "This endpoint takes no parameters"
	if len(q.Names) > 0 {
		accepted = "This endpoint takes " + strings.Join(q.Names, ", ")
	}
	shown := Printable(name)
	sign := ". "
	if meant := q.NearestName(name); meant != "" {
		sign = ": did you mean " + meant + "? "
	}
	return Refuse(ErrParameter, shown, "Unknown parameter "+shown+sign+accepted+"; names that begin with _ are ignored.")
}

// NearestName returns the parameter that a misspelt name probably means, or "" if none is similar.
func (q *ParamNames) NearestName(name string) string {
	if strings.EqualFold(name, "lng") && slices.Contains(q.Names, "lon") {
		return "lon" // as GeoNames calls it
	}
	meant, _ := nearest.Name(name, q.Names)
	return meant
}

// maxShown bounds how much of a client's name is repeated to it, in bytes.
const maxShown = 40

// Printable returns a name from a request in a form that is safe to repeat: shortened, and quoted
// unless it consists of letters, digits and marks.
func Printable(name string) string {
	end := ""
	if len(name) > maxShown {
		cut := maxShown
		for cut > 0 && !utf8.RuneStart(name[cut]) {
			cut--
		}
		name, end = name[:cut], "…"
	}
	plain := name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune(`"<>`, r)
	})
	if !plain {
		name = strconv.Quote(name)
	}
	return name + end
}
