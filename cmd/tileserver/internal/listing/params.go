package listing

import (
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/places"
)

// Parameters of several kinds of lists.
var (
	Limit         = endpoint.Integer("limit", 1, places.MaxLimit, "Most entries of a page.").Or(places.DefaultLimit)
	Types         = endpoint.List("types", endpoint.MaxList, "Region types; all of them if absent.").Like([]string{"country"})
	Class         = endpoint.Codes("class", "one letter of GeoNames' feature classes, such as P", 1, 1, false, "GeoNames' feature classes.").Like([]string{"P"})
	Code          = endpoint.Codes("code", "a GeoNames feature code, such as PPLC", 1, 10, true, "GeoNames' feature codes.").Like([]string{"PPLC"})
	MinPopulation = endpoint.Integer("min_population", 0, 1<<53, "Fewest inhabitants.").Or(0)

	// SkipGeometry is that of OGC API – Features.
	SkipGeometry = endpoint.Flag("skipGeometry", "Without geometries.")

	// OrBox and OrTile are an area that may be given in either way.
	OrBox  = endpoint.BBox.As(endpoint.BBox.Doc + " Either this or `tile`.").May()
	OrTile = endpoint.Tile.As(endpoint.Tile.Doc + " Either this or `bbox`.")
)
