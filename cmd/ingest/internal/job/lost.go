package job

import (
	"fmt"

	"quadrille/cmd/ingest/internal/source"
)

// NoteFew notes at most the given number of texts. If there are more, it notes how many are left.
func NoteFew(rep Reporter, most int, more string, texts []string) {
	for i, text := range texts {
		if i == most {
			rep.Note(fmt.Sprintf(more, len(texts)-most))
			return
		}
		rep.Note(text)
	}
}

// LostProperties counts the properties of a file that are dropped.
type LostProperties struct {
	properties, features int
	example              string
}

// Add counts the dropped properties of a feature.
func (l *LostProperties) Add(path string, line int, lost source.Lost) {
	if lost.Count == 0 {
		return
	}
	if l.features == 0 {
		l.example = fmt.Sprintf("%s:%d: %s", path, line, source.Excerpt(lost.First))
	}
	l.properties += lost.Count
	l.features++
}

// Note notes the dropped properties, if there are any.
func (l *LostProperties) Note(rep Reporter) {
	if l.features > 0 {
		rep.Note(fmt.Sprintf("warning: %d properties of %d features are not kept; the first is %s", l.properties, l.features, l.example))
	}
}
