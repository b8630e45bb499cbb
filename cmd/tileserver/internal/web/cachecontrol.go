package web

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/internal/nearest"
)

// argument is the kind of argument of a directive of Cache-Control.
type argument uint8

const (
	noArgument argument = iota
	seconds             // a number of them, always
	fieldNames          // in quotes, if the directive is about some headers alone
)

// directives are the directives of RFC 9111, 5861 and 8246 that answers can have.
var directives = map[string]argument{
	"public": noArgument, "private": fieldNames, "no-cache": fieldNames, "no-store": noArgument, "no-transform": noArgument,
	"must-revalidate": noArgument, "proxy-revalidate": noArgument, "must-understand": noArgument, "immutable": noArgument,
	"max-age": seconds, "s-maxage": seconds, "stale-while-revalidate": seconds, "stale-if-error": seconds,
}

// CheckCacheControl refuses a value of Cache-Control that caches would misunderstand, because they
// ignore unknown directives.
func CheckCacheControl(value string) error {
	if strings.TrimSpace(value) == "" {
		return errors.New("it is empty: leave the setting out for the default, or write no-store or no-cache")
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(value, ",") {
		name, arg, given := strings.Cut(strings.TrimSpace(part), "=")
		name = strings.ToLower(name)
		takes, known := directives[name]
		switch {
		case !known:
			return unknownDirective(name)
		case seen[name]:
			return fmt.Errorf("%s is there twice: remove one", name)
		case takes == noArgument && given:
			return fmt.Errorf("%s takes no value: write it alone", name)
		case takes == seconds && !isSeconds(arg):
			return fmt.Errorf("%s takes a whole number of seconds, such as %s=300", name, name)
		case takes == fieldNames && given && !isQuotedName(arg):
			return fmt.Errorf("%s takes the name of one header in quotes, or nothing", name)
		}
		seen[name] = true
	}
	if seen["public"] && seen["private"] {
		return errors.New("public and private contradict each other: remove one")
	}
	return nil
}

func unknownDirective(name string) error {
	if meant, ok := nearest.Name(name, slices.Sorted(maps.Keys(directives))); ok {
		return fmt.Errorf("%.40q is no directive: did you mean %s?", name, meant)
	}
	return fmt.Errorf("%.40q is no directive: write some of %s, joined by commas", name,
		strings.Join(slices.Sorted(maps.Keys(directives)), ", "))
}

// isSeconds reports whether a text has only digits, and the number is within the range.
func isSeconds(text string) bool {
	_, err := strconv.ParseUint(text, 10, 31)
	return err == nil && text[0] != '+'
}

// isQuotedName reports whether a text is the name of a header in quotes. A list of several headers
// contains commas and is not accepted.
func isQuotedName(text string) bool {
	return len(text) > 2 && text[0] == '"' && text[len(text)-1] == '"' && !strings.ContainsAny(text[1:len(text)-1], "\" \\\t\r\n\x00")
}
