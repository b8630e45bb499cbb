package configfile

import (
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// spellings are the words that English spells in two ways. The name of a flag has the first
// spelling of a pair, which help and documents show. The second one is accepted wherever a name is
// read.
var spellings = [...][2]string{{"license", "licence"}, {"color", "colour"}, {"center", "centre"}}

// respelled returns a name, whose words are separated by dashes, with another spelling. It replaces
// each word of a pair in spellings by the word of this pair that has the index `to`.
func respelled(name string, to int) string {
	words := strings.Split(name, "-")
	for i, word := range words {
		for _, pair := range spellings {
			if word == pair[1-to] {
				words[i] = pair[to]
			}
		}
	}
	return strings.Join(words, "-")
}

// Spellings makes the command line accept each flag of a program and its commands in the other
// spelling too.
func Spellings() kong.Option {
	return kong.PostBuild(func(k *kong.Kong) error {
		return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
			if flag, ok := node.(*kong.Flag); ok {
				if other := respelled(flag.Name, 1); other != flag.Name {
					flag.Aliases = append(flag.Aliases, other)
				}
			}
			return next(nil)
		})
	})
}

// Environment prepares the environment variables that set flags. A program calls it before anything
// else. Empty variables are removed, because compose files produce them without any intention. A
// variable in the other spelling is renamed to the spelling that is read, unless that one is set
// too.
func Environment(prefix string) {
	var set []string
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case !strings.HasPrefix(name, prefix+"_"):
		case value == "":
			_ = os.Unsetenv(name) // fails for invalid names only, and this one is set
		default:
			set = append(set, name)
		}
	}
	for _, name := range set {
		read := strings.ToUpper(strings.ReplaceAll(respelled(strings.ToLower(strings.ReplaceAll(name, "_", "-")), 0), "-", "_"))
		if read == strings.ToUpper(name) || os.Getenv(read) != "" {
			continue
		}
		if os.Setenv(read, os.Getenv(name)) == nil {
			_ = os.Unsetenv(name) // else it would be told as one that sets nothing
		}
	}
}
