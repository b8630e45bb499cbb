package job

import (
	"fmt"

	"quadrille/cmd/ingest/internal/source"
)

// noteFew passes on at most so many of texts, and with more how many others
// there are.
func noteFew(rep Reporter, most int, more string, texts []string) {
	for i, text := range texts {
		if i == most {
			rep.Note(fmt.Sprintf(more, len(texts)-most))
			return
		}
		rep.Note(text)
	}
}

// lostProperties counts the properties of a file that are not kept.
type lostProperties struct {
	properties, features int
	example              string
}

// add counts those of a feature.
func (l *lostProperties) add(path string, line int, lost source.Lost) {
	if lost.Count == 0 {
		return
	}
	if l.features == 0 {
		l.example = fmt.Sprintf("%s:%d: %s", path, line, source.Excerpt(lost.First))
	}
	l.properties += lost.Count
	l.features++
}

// note tells of them, if there are any.
func (l *lostProperties) note(rep Reporter) {
	if l.features > 0 {
		rep.Note(fmt.Sprintf("warning: %d properties of %d features are not kept; the first is %s", l.properties, l.features, l.example))
	}
}
