package quota

import (
	"errors"
	"strings"
)

// Scope is a right to a collection of points. The right to write includes the right to
// read.
type Scope struct {
	Write      bool
	Collection string // or AnyCollection
}

// AnyCollection means every collection in a Scope.
const AnyCollection = "*"

// String returns the scope as ParseScope reads it.
func (s Scope) String() string {
	if s.Write {
		return "write:" + s.Collection
	}
	return "read:" + s.Collection
}

var errScope = errors.New("write a scope as read:COLLECTION or write:COLLECTION, with * for all collections")

// ParseScope reads a scope such as read:shops or write:*.
func ParseScope(text string) (s Scope, err error) {
	right, collection, _ := strings.Cut(text, ":")
	s = Scope{right == "write", collection}
	if !s.Write && right != "read" || collection != AnyCollection && !isCollection(collection) {
		return Scope{}, errScope
	}
	return s, nil
}

// isCollection reports whether a name is valid for a collection.
func isCollection(name string) bool {
	if CheckName(name) != nil {
		return false
	}
	return name == strings.ToLower(name) && !strings.Contains(name, ".")
}
