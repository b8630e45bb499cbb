package catalogue

import (
	"fmt"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
)

// lossTold is the share of a kind's records above which their loss is reported.
const lossTold = 0.1

// Losses lists the kinds of records whose number has fallen by more than a tenth since the
// generation before. For the data set names it returns none, because its records follow those of
// the other data sets.
func Losses(m *dataset.Manifest) []dataset.RecordLoss {
	if m.Dataset == ask.NamesName {
		return nil
	}
	return m.Losses(lossTold)
}

// Warnings returns sentences about the losses of a generation in comparison with the one that it
// replaced, and about sources that are older than before. These are signs of a bad delivery.
func Warnings(m *dataset.Manifest) (list []string) {
	for _, l := range Losses(m) {
		list = append(list, fmt.Sprintf("%d %s in generation %d, %d in generation %d, which replaced it", l.Before, l.Kind,
			m.Predecessor.Generation, l.Now, m.Generation))
	}
	if m.Predecessor != nil && m.Predecessor.OlderSource != "" && m.Dataset != ask.NamesName {
		list = append(list, m.Predecessor.OlderSource)
	}
	return list
}
