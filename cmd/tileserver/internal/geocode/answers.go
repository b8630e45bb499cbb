package geocode

import (
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
)

// These types describe the answers in the OpenAPI document. The handlers write the answers as
// bytes.

// Geocoded is one result.
type Geocoded struct {
	_          struct{}          `doc:"What a name stands for."`
	Kind       string            `json:"kind" schema:"enum=place|region|airport|timezone|station|point|position|ip"`
	Type       string            "json:\"type,omitempty\" doc:\"The feature class and code of a place, the layer of a region, the type of an airport, the collection of a point, or how a position was written: `swapped` says that latitude and longitude were taken for each other.\""
	ID         string            "json:\"id\" doc:\"Finds a place at `/places/{id}`, a region at `/regions/{type}/{id}`, an airport at `/airports/{id}`, a station at `/stations/{id}`, a point at `/points/{type}/{id}`.\""
	Name       string            `json:"name"`
	Label      string            `json:"label" doc:"The name with the regions that tell it apart."`
	Country    string            `json:"country,omitempty" doc:"ISO 3166-1 alpha-2."`
	Code       string            `json:"code,omitempty" doc:"ISO 3166-2 of a region, or the code of an airport."`
	Population int               `json:"population,omitempty" doc:"What a source says: of a country GeoNames, of another region its own record. Absent where none does."`
	Lat        listing.Latitude  `json:"lat"`
	Lon        listing.Longitude `json:"lon"`
	BBox       listing.BBox      `json:"bbox,omitzero"`
	Parents    []struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"parents,omitempty" doc:"The regions around it, the smallest first."`
	Match    listing.Match    `json:"match,omitzero"`
	Distance listing.Distance `json:"distance_m,omitzero"`
}

// GeocodeList is the answer of /geocode and /reverse as JSON.
type GeocodeList struct {
	_       struct{}   `doc:"Results, the likeliest first."`
	Results []Geocoded `json:"results"`
}

// GeocodeFeatures is the answer of /geocode and /reverse as GeoJSON.
type GeocodeFeatures struct {
	_ struct{} `doc:"Results as GeoJSON, the likeliest first."`
	listing.Features[GeocodeFeature]
}

// GeocodeFeature is a result as GeoJSON.
type GeocodeFeature struct {
	_ struct{} `doc:"A result as GeoJSON."`
	listing.Feature[listing.Point, Geocoded]
}

// GeocodeLine answers a line of a batch.
type GeocodeLine struct {
	_      struct{} `doc:"A line of a batch: the answer, or an error." schema:"is"`
	Answer GeocodeList
	Error  web.LineError
}
