package listing

import (
	"strconv"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
	"quadrille/places"
)

// Parameters of several kinds of lists.
var (
	Limit         = endpoint.Integer("limit", 1, places.MaxLimit, "Most entries of a page.").Or(places.DefaultLimit)
	Types         = endpoint.List("types", endpoint.MaxList, "Region types; all of them if absent.").Like([]string{"country"})
	Class         = endpoint.Codes("class", "one letter of GeoNames' feature classes, such as P", 1, 1, false, "GeoNames' feature classes.").Like([]string{"P"})
	Code          = endpoint.Codes("code", "a GeoNames feature code, such as PPLC", 1, 10, true, "GeoNames' feature codes.").Like([]string{"PPLC"})
	MinPopulation = endpoint.Integer("min_population", 0, 1<<53, "Fewest inhabitants.").Or(0)

	// SkipGeometry and Properties are those of OGC API – Features.
	SkipGeometry = endpoint.Flag("skipGeometry", "Without geometries: GeoJSON has null in their place.")
	Properties   = PropertiesParam("properties", "Properties of the answer, with commas between them; all of them if absent.")

	// OrBox and OrTile are an area that may be given in either way.
	OrBox  = endpoint.BBox.As(endpoint.BBox.Doc + " Either this or `tile`.").May()
	OrTile = endpoint.Tile.As(endpoint.Tile.Doc + " Either this or `bbox`.")
)

// maxProperties bounds the properties that may be chosen.
const maxProperties = 64

// PropertiesParam declares a parameter that names properties. Whoever reads it checks that they
// are there.
func PropertiesParam(name, doc string) *endpoint.Value[[]string] {
	of := endpoint.Schema{"type": "array", "items": endpoint.Schema{"type": "string"}, "minItems": 1, "maxItems": maxProperties}
	return endpoint.New(name, doc, of, func(q *endpoint.Params, name string) []string {
		names := feature.SplitValues(q.Text(name, endpoint.MaxListText))
		switch {
		case len(names) > maxProperties:
			q.Refuse(name, "Shorten "+name+" to at most "+strconv.Itoa(maxProperties)+" entries.")
		case len(names) == 1 && names[0] == "":
			q.Refuse(name, "List at least one entry in "+name+", or leave it out.")
		}
		return names
	}).Like([]string{"name"})
}
