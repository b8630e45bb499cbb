package hierarchy

import "strings"

// Kind is the kind of regions in a layer, judged by the layer's name.
type Kind int

// The kinds. Those in an address come first, from the largest to the smallest. Other is a layer
// with an unknown name, such as parks: its regions hold places, but are no part of an address.
const (
	Other Kind = iota
	Countries
	Groups // of states
	States
	Counties
	Municipalities
	Cities
	Boroughs
	Quarters
	Lakes
	Seas
	Continents
	zones
)

// words are the usual names of layers of a kind, in small letters and without marks between words.
var words = map[Kind]string{
	Countries: "country countries nation nations admin0 adm0",
	Groups:    "region regions",
	States: "state states admin1 adm1 province provinces provincia provincias provinz provinzen bundesland länder laender land" +
		" provincie provincies" + //nolint:misspell // Dutch
		" canton cantons kanton kantone territory territories oblast prefecture prefectures voivodeship wojewodztwo fylke " +
		"fylker län governorate emirate",
	Counties: "county counties admin2 adm2 district districts landkreis landkreise kreis kreise bezirk bezirke " +
		"departement departements département" +
		" départements department departments departamento departamentos arrondissement arrondissements powiat okres raion comarca",
	Municipalities: "municipality municipalities commune communes gemeinde gemeinden gemeente gemeenten comune comuni " +
		"municipio municipios kommune kommuner gmina" +
		" lau localauthority admin3 adm3",
	Cities:   "city cities town towns village villages locality localities admin4 adm4",
	Boroughs: "borough boroughs",
	Quarters: "suburb suburbs neighbourhood neighbourhoods neighborhood neighborhoods quarter quarters quartier " +
		"quartiers stadtteil ward wards",
	Lakes:      "lake lakes water waters reservoir reservoirs",
	Seas:       "sea seas ocean oceans marine",
	Continents: "continent continents",
	zones:      zone,
}

var kinds = func() map[string]Kind {
	all := map[string]Kind{}
	for kind, list := range words {
		for word := range strings.FieldsSeq(list) {
			all[word] = kind
		}
	}
	return all
}()

var unmarked = strings.NewReplacer("_", "", "-", "", " ", "")

// KindOf returns the kind of a layer, Other if its name is unknown.
func KindOf(layer string) Kind {
	if kind, ok := kinds[layer]; ok {
		return kind
	}
	return kinds[unmarked.Replace(strings.ToLower(layer))]
}

// addressed reports whether the regions of a layer may be around a place in an address. Lakes and
// seas are not around places, and a country is more specific than its continent.
func addressed(layer string) bool { return KindOf(layer) < Lakes }

// municipal reports whether a layer has municipalities, judged by its name. A source's numbered
// levels are municipalities in some countries only, so they do not count.
func municipal(layer string) bool {
	kind := KindOf(layer)
	return (kind == Municipalities || kind == Cities) && !strings.HasPrefix(strings.ToLower(layer), "adm")
}
