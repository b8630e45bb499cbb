// Package catalogue has the reports of both programs about data sets and their generations:
// states, credits, losses and warnings.
package catalogue

import (
	"slices"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/credit"
)

// These are the states of a data set that is to be served.
const (
	Serving = "serving" // the published generation
	Stale   = "stale"   // an older one, because the published one does not open
	Damaged = "damaged" // one with damaged files; its intact part is served
	Failed  = "failed"  // nothing, although one is published
	Missing = "missing" // nothing is published
)

// State returns the name of the state that a status describes.
func State(st dataset.Status) string {
	switch {
	case st.Serving == nil && st.Err == nil && st.Published == 0:
		return Missing
	case st.Serving == nil:
		return Failed
	case st.Damage != nil:
		return Damaged
	case st.Err != nil:
		return Stale
	}
	return Serving
}

// AppendCredits adds the required attributions of the sources of layers of generations, or of all
// their layers if none is named, each once. They are HTML, because maps show HTML.
func AppendCredits(credits, layers []string, of ...*dataset.Manifest) []string {
	for _, m := range of {
		for _, src := range m.SourcesOf(layers...) {
			if c, _ := credit.HTMLAndText(src.Attribution); c != "" && !slices.Contains(credits, c) {
				credits = append(credits, c)
			}
		}
	}
	return credits
}

// AppendLayerCredits adds the required attributions of a layer that can be read, as AppendCredits does.
func AppendLayerCredits(credits []string, l *ask.Layer) []string {
	if l.Manifest != nil {
		credits = AppendCredits(credits, []string{l.LayerInfo.Name}, l.Manifest)
	}
	if c, _ := credit.HTMLAndText(l.Info().Attribution); c != "" && !slices.Contains(credits, c) {
		credits = append(credits, c)
	}
	return credits
}
