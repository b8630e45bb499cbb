package catalogue

import (
	"fmt"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
)

// lossTold is the share of a kind of records above which its loss is told.
const lossTold = 0.1

// Losses lists the kinds of records of which a generation has more than a tenth fewer than the
// one it replaced. The names of the others' regions and points go with them, and are no loss.
func Losses(m *dataset.Manifest) []dataset.Loss {
	if m.Dataset == ask.NamesName {
		return nil
	}
	return m.Losses(lossTold)
}

// Warnings are sentences about what a generation lost against the one it replaced, and about
// sources that are older than those of that one. A bad delivery looks like this.
func Warnings(m *dataset.Manifest) (list []string) {
	for _, l := range Losses(m) {
		list = append(list, fmt.Sprintf("%d %s in generation %d, %d in generation %d, which replaced it", l.Before, l.Kind, m.Replaced.Generation, l.Now, m.Generation))
	}
	if m.Replaced != nil && m.Replaced.Older != "" && m.Dataset != ask.NamesName {
		list = append(list, m.Replaced.Older)
	}
	return list
}
