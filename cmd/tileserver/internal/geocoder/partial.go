package geocoder

import (
	"errors"
	"slices"
	"strings"

	"quadrille/places"
)

const (
	// A text of so many words may have one that the names here lack.
	leastLeavable = 3
	mostLeavable  = 8
)

// leaveOut finds by all words but one what nothing was found for by all of them:
// "Godthaab / Nuuk Airport" is Nuuk Airport where no name has both words.
func (f *finding) leaveOut() error {
	words := slices.DeleteFunc(strings.Fields(f.q.Text), func(w string) bool { return strings.Trim(w, "/|&+-–—,;:()") == "" })
	if len(words) < leastLeavable || len(words) > mostLeavable {
		return nil
	}
	exact := f.q.Exact
	f.q.Exact = true
	defer func() { f.q.Exact = exact }()
	for i := range words {
		rest := slices.Concat(words[:i], words[i+1:])
		err := f.share(readingSeeks, func() error { return f.match(strings.Join(rest, " "), f.q.Limit, nil, 2*contextPenalty) })
		if err != nil && !errors.Is(err, places.ErrQuery) {
			return err
		}
	}
	return nil
}
