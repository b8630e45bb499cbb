package geocoder

import (
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places"
)

// A source also has links and codes, which are not names in a language. PlaceLinks returns those of
// Wikidata and Wikipedia.
func TestPlaceLinks(t *testing.T) {
	c := must.Get(dataset.Open(t.TempDir(), openStore)).In(t)
	publish(t, c, placesSet, func(s cellstore.Store) (places.Meta, error) {
		meta, _, err := places.Build(t.Context(), s, places.Source{
			Places: buildtest.SeqOf([]places.Place{
				{ID: 1, Name: "Town", Class: "P", Code: "PPL", Country: "AA", Lat: 1, Lon: 1},
				{ID: 2, Name: "Other", Class: "P", Code: "PPL", Country: "AA", Lat: 2, Lon: 1},
			}),
			Names: buildtest.SeqOf([]places.AlternateName{
				{PlaceID: 1, Lang: "fr", Name: "Ville"}, {PlaceID: 1, Lang: "wkdt", Name: "Q12"}, {PlaceID: 1, Lang: "post",
					Name: "0100"}, {PlaceID: 1, Lang: "unlc", Name: "AATWN"},
				{
					PlaceID: 1,
					Lang:    "link",
					Name:    "https://ru.wikipedia.org/wiki/%D0%93",
				}, {PlaceID: 1, Lang: "link", Name: "https://en.wikipedia.org/wiki/Town_%28AA%29"},
				{PlaceID: 2, Lang: "wkdt", Name: "not an id"}, {PlaceID: 2, Lang: "link", Name: "https://example.org/wiki/Other"},
			}),
		}, places.BuildOptions{})
		return meta, err
	})
	s := follow(t, c)
	for id, want := range map[uint32]string{1: "Q12 en:Town (AA) fr=Ville", 2: "  "} {
		wikidata, wikipedia, err := s.PlaceLinks(t.Context(), id)
		must.Do(t, err)
		var list []string
		must.Do(t, s.PlaceNames(t.Context(), id, func(lang, name string) { list = append(list, lang+"="+name) }))
		if got := strings.Join([]string{wikidata, wikipedia, strings.Join(list, " ")}, " "); got != want {
			t.Errorf("%d: %q, want %q", id, got, want)
		}
	}
}
