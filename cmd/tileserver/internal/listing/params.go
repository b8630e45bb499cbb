package listing

import (
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/tiles"
)

// These are parameters of several kinds of lists.
var (
	Limit = endpoint.Integer("limit", 1, places.MaxLimit, "Most entries of a page.").WithDefault(places.DefaultLimit)
	Types = endpoint.List("types", endpoint.MaxListEntries, "Region types; all of them if absent.").WithExample([]string{"country"})
	Class = endpoint.Codes("class", "one letter of GeoNames' feature classes, such as P", 1, 1, false,
		"GeoNames' feature classes.").WithExample([]string{"P"})
	Code = endpoint.Codes("code", "a GeoNames feature code, such as PPLC", 1, 10, true,
		"GeoNames' feature codes.").WithExample([]string{"PPLC"})
	MinPopulation = endpoint.Integer("min_population", 0, 1<<53, "Fewest inhabitants.").WithDefault(0)

	// SkipGeometry and Properties are the parameters of OGC API – Features.
	SkipGeometry = endpoint.Flag("skipGeometry", "Without geometries: GeoJSON has null in their place.")
	Properties   = PropertiesParam("properties", "Properties of the answer, with commas between them; all of them if absent.")

	// BBoxUnlessTile and TileUnlessBBox are alternative parameters for an area.
	BBoxUnlessTile = endpoint.BBox.WithDoc(endpoint.BBox.Doc + " Either this or `tile`.").AsOptional()
	TileUnlessBBox = endpoint.Tile.WithDoc(endpoint.Tile.Doc + " Either this or `bbox`.")
)

// Region is the parameter for a region as an area.
var Region = endpoint.New("region", "A region: its type, a colon and its id.", endpoint.Schema{
	"type":      "string",
	"minLength": 1,
	"maxLength": endpoint.MaxListBytes,
},
	func(q *endpoint.Params, name string) (of tiles.Selector) {
		if of.Type, of.ID, _ = strings.Cut(q.Text(name, endpoint.MaxListBytes), ":"); of.Type == "" || of.ID == "" {
			q.Refuse(name, "Set region to a region type and an id such as country:ch.")
		}
		return of
	}).WithExample("country:ch")

// maxProperties bounds the properties that may be chosen.
const maxProperties = 64

// PropertiesParam declares a parameter that names properties. The handler checks that these exist.
func PropertiesParam(name, doc string) *endpoint.Value[[]string] {
	of := endpoint.Schema{"type": "array", "items": endpoint.Schema{"type": "string"}, "minItems": 1, "maxItems": maxProperties}
	return endpoint.New(name, doc, of, func(q *endpoint.Params, name string) []string {
		names := feature.SplitValues(q.Text(name, endpoint.MaxListBytes))
		switch {
		case len(names) > maxProperties:
			q.Refuse(name, "Shorten "+name+" to at most "+strconv.Itoa(maxProperties)+" entries.")
		case len(names) == 1 && names[0] == "":
			q.Refuse(name, "List at least one entry in "+name+", or leave it out.")
		}
		return names
	}).WithExample([]string{"name"})
}
