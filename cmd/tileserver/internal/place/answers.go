package place

import (
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/timezone"
	"quadrille/places"
)

// These types describe the answers in the OpenAPI document. The handlers write the answers as
// bytes.

// PlaceList is a page of places as JSON.
type PlaceList struct {
	_      struct{}        `doc:"A page of places."`
	Places []listing.Place `json:"places"`
	Next   listing.Next    `json:"next,omitzero"`
	Counts map[string]int  `json:"counts,omitempty" doc:"Of a tile: places by feature class, whatever the filters."`
}

type identified = listing.Identified[int, listing.Point, listing.Place]

// PlaceFeature is one place as GeoJSON.
type PlaceFeature struct {
	_ struct{} `doc:"A place as GeoJSON."`
	identified
}

// PlaceFeatures is a page of places as GeoJSON.
type PlaceFeatures struct {
	_ struct{} `doc:"A page of places as GeoJSON."`
	listing.Features[identified]
	Next   listing.Next   `json:"next,omitzero"`
	Counts map[string]int `json:"counts,omitempty" doc:"Of a tile: places by feature class, whatever the filters."`
}

// FoundPlace is a place among the results of a search.
type FoundPlace struct {
	_ struct{} `doc:"A place that was searched for."`
	places.Hit
	Match listing.Match `json:"match"`
}

// FoundAirport is an airport among the results of a search.
type FoundAirport struct {
	_    struct{} `doc:"An airport whose code was searched for." schema:"without=id|ident|scheduled|elevation_m|distance_m"`
	Kind string   `json:"kind" schema:"const=airport"`
	listing.Airport
	Class string        `json:"class,omitempty" schema:"const=S"`
	Code  string        `json:"code,omitempty" schema:"const=AIRP"`
	Match listing.Match `json:"match"`
}

// Found is a result of a search.
type Found struct {
	_       struct{} `doc:"What was found." schema:"is"`
	Place   FoundPlace
	Airport FoundAirport
}

// FoundList is the answer of a search as JSON.
type FoundList struct {
	_      struct{} `doc:"Places, the best first."`
	Places []Found  `json:"places"`
}

// FoundFeatures is the answer of a search as GeoJSON.
type FoundFeatures struct {
	_ struct{} `doc:"Places as GeoJSON, the best first."`
	listing.Features[FoundFeature]
}

// FoundFeature is a result of a search as GeoJSON.
type FoundFeature struct {
	_ struct{} `doc:"A place or an airport as GeoJSON."`
	listing.Feature[listing.Point, Found]
	ID int `json:"id,omitempty" doc:"Of a place."`
}

// PlaceRecord is the answer of /places/{id}.
type PlaceRecord struct {
	_ struct{} `doc:"What is known of a place."`
	places.Record
	CC2         []string       `json:"cc2,omitempty" doc:"Further countries that claim it."`
	CountryName string         `json:"country_name,omitempty"`
	Modified    string         `json:"modified,omitempty" schema:"format=date"`
	Parents     []any          `json:"parents,omitempty" doc:"The places it belongs to." schema:"type=integer|object"`
	Names       map[string]any `json:"names,omitempty" doc:"By language." schema:"type=string|array|object"`
	Codes       map[string]any `json:"codes,omitempty"`
	Wikidata    string         `json:"wikidata,omitempty"`
}

// PlaceOffset is the answer of /places/{id}/offset.
type PlaceOffset struct {
	_      struct{} `doc:"What clocks show at a place."`
	ID     int      `json:"id" doc:"GeoNames id."`
	Source string   `json:"timezone_source,omitempty" doc:"How the time zone is known when the record does not tell it: as the only one of the country, or from the nearest airport." schema:"enum=country|nearest"`
	timezone.ZoneAt
}
