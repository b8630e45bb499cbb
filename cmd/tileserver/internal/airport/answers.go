package airport

import (
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/timezone"
	"quadrille/places/airports"
)

// These types describe the answers in the OpenAPI document. The handlers write the answers as
// bytes.

// AirportList is a page of airports as JSON.
type AirportList struct {
	_        struct{}          `doc:"A page of airports."`
	Airports []listing.Airport `json:"airports"`
	Next     listing.Next      `json:"next,omitzero"`
}

type identified = listing.Identified[int, listing.Point, listing.Airport]

// AirportFeature is one airport as GeoJSON.
type AirportFeature struct {
	_ struct{} `doc:"An airport as GeoJSON."`
	identified
}

// AirportFeatures is a page of airports as GeoJSON.
type AirportFeatures struct {
	_ struct{} `doc:"A page of airports as GeoJSON."`
	listing.Features[identified]
	Next listing.Next `json:"next,omitzero"`
}

// AirportRecord is the answer of /airports/{code}.
type AirportRecord struct {
	_ struct{} `doc:"What is known of an airport; with local=true also what clocks show."`
	airports.Airport
	*timezone.LocalTime
}

// AirportOffset is the answer of /airports/{code}/offset.
type AirportOffset struct {
	_      struct{} `doc:"What clocks show at an airport."`
	Code   string   `json:"code"`
	Source string   `json:"timezone_source,omitempty" doc:"How the time zone is known when the source of the airport does not tell it." schema:"enum=region|country|nearest"`
	timezone.ZoneAt
}
