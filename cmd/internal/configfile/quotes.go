package configfile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckValues refuses values with parts that a shell would have removed: quotes around them, blanks
// at their ends, or a comment after them. Files of variables for containers, and lists of
// arguments, keep these parts, and they would become part of a path or a header.
//
// A flag with the tag text:"" takes a text for people, which may have quotes. Its value is refused
// only if it comes from a variable and is in quotes as a whole. The errors do not contain values,
// because these may be secret.
func CheckValues(all []Setting) error {
	var errs []error
	for _, s := range all {
		variable, fromVariable := strings.CutPrefix(s.Source, "environment ")
		values := s.Values
		if fromVariable {
			values = append([]string{os.Getenv(variable)}, values...)
		}
		for _, v := range values {
			wrong := wrapped(v)
			switch {
			case s.text && !(fromVariable && wrong == inQuotes && endsAsItBegins(v)):
				continue
			case wrong == "" && fromVariable && strings.Contains(v, " #"):
				wrong = "has a # behind a blank, and it is no comment there: remove what is behind the value"
			}
			if wrong != "" {
				errs = append(errs, fmt.Errorf("--%s (%s) %s", s.Name, s.Source, wrong))
				break
			}
		}
	}
	return errors.Join(errs...)
}

const inQuotes = "begins or ends with a quotation mark, which would be part of the value: remove the quotes, which " +
	"files of variables and lists of arguments keep; before a file that is called so, write ./"

// quotes are the quotation marks that people and their editors put around a value.
const quotes = "\"'`“”„«»‘’"

// wrapped describes the parts around a value that do not belong to it, or returns "" if there are
// none.
func wrapped(v string) string {
	first, _ := utf8.DecodeRuneInString(v)
	last, _ := utf8.DecodeLastRuneInString(v)
	switch {
	case v == "":
		return ""
	case unicode.IsSpace(first) || unicode.IsSpace(last):
		return "has a blank or the end of a line before or behind the value: remove it"
	case strings.ContainsFunc(v, unicode.IsControl):
		return "has a control character in it: remove it"
	case strings.ContainsRune(quotes, first),
		last == '"' && strings.Count(v, `"`)%2 == 1, // no-cache="x" is no value in quotes
		strings.Contains(v, `/"`):                   // a path that has been made absolute
		return inQuotes
	}
	return ""
}

// endsAsItBegins reports whether a value is in quotes as a whole.
func endsAsItBegins(v string) bool {
	last, _ := utf8.DecodeLastRuneInString(v)
	return len(v) > 1 && strings.ContainsRune(quotes, last)
}
