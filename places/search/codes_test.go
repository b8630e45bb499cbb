package search

import (
	"fmt"
	"testing"
)

// TestCodesAreNotFolded tests that a text matches a code only without folding and without wrong
// letters.
func TestCodesAreNotFolded(t *testing.T) {
	r := build(t, []Entry{
		{ID: 1, Name: "Zayed", Class: 'S', Names: []Name{{Text: "OMAA", Lang: "icao"}}},
		{ID: 2, Name: "Muscat", Class: 'P', Population: 1e6, Names: []Name{{Text: "Oma", Lang: "pt"}}},
		{ID: 3, Name: "Omaha", Class: 'P', Population: 4e5, Names: []Name{{Text: "OMX"}}},
		{ID: 4, Name: "Kansas", Class: 'A', Names: []Name{{Text: "US-KS", Lang: CodeLang}}},
		{ID: 5, Name: "uaf", Class: 'S', Names: []Name{{Text: "UAF", Lang: CodeLang}}},
	})
	for text, want := range map[string]string{
		"omaa":  "[1] true",
		"OMAA ": "[1] true",
		"oma":   "[2 3] false",
		"omab":  "[2 3] false",
		"omx":   "[3] true",
		"omxx":  "[] false",
		"ömx":   "[] false",
		"us-ks": "[4] true", "us ks": "[] false", "uaf": "[5] true", "ua": "[5] false",
	} {
		hits := find(t, r, Query{Text: text})
		if got := fmt.Sprint(ids(hits), len(hits) > 0 && hits[0].Match.IsCode); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
