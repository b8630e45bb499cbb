package listing

import (
	"quadrille/places"
	"quadrille/places/airports"
)

// Types of answers that are written as bytes, for the description of the interface.

type Latitude struct {
	_     struct{} `doc:"Degrees WGS84, north positive." schema:"is"`
	Value float64  `schema:"min=-90,max=90"`
}

type Longitude struct {
	_     struct{} `doc:"Degrees WGS84, east positive." schema:"is"`
	Value float64  `schema:"min=-180,max=180"`
}

type Distance struct {
	_     struct{} `doc:"Metres from the point that was asked about, along the ground." schema:"is"`
	Value float64  `schema:"min=0"`
}

type Next struct {
	_     struct{} `doc:"The cursor of the next page; absent on the last." schema:"is"`
	Value string
}

type BBox struct {
	_     struct{} `doc:"West, south, east, north in degrees. West greater than east means across 180 degrees." schema:"is"`
	Value [4]float64
}

type Position struct {
	_     struct{} `doc:"Longitude, latitude in degrees." schema:"is"`
	Value [2]float64
}

// ring is a closed line.
type ring struct {
	_     struct{}   `schema:"is"`
	Value []Position `schema:"minItems=4"`
}

type Area struct {
	_            struct{} `doc:"A GeoJSON polygon or multipolygon." schema:"is"`
	Polygon      Polygon
	MultiPolygon MultiPolygon
}

type Point struct {
	_           struct{} `doc:"A GeoJSON point."`
	Type        string   `json:"type" schema:"const=Point"`
	Coordinates Position `json:"coordinates"`
}

type Polygon struct {
	_           struct{} `doc:"A GeoJSON polygon."`
	Type        string   `json:"type" schema:"const=Polygon"`
	Coordinates []ring   `json:"coordinates"`
}

type MultiPolygon struct {
	_           struct{} `doc:"A GeoJSON multipolygon."`
	Type        string   `json:"type" schema:"const=MultiPolygon"`
	Coordinates [][]ring `json:"coordinates"`
}

// Feature is a GeoJSON feature without an id, Identified one with it.
type Feature[G, P any] struct {
	Type       string `json:"type" schema:"const=Feature"`
	Geometry   G      `json:"geometry"`
	Properties P      `json:"properties"`
}

type Identified[ID, G, P any] struct {
	Feature[G, P]
	ID ID `json:"id"`
}

type Features[F any] struct {
	Type     string `json:"type" schema:"const=FeatureCollection"`
	Features []F    `json:"features"`
}

// RegionName is what tells a region apart.
type RegionName struct {
	Type string `json:"type" doc:"The region type, such as country."`
	ID   string `json:"id" doc:"Unique within its type." schema:"example=ch"`
	Name string `json:"name,omitempty"`
}

type Match struct {
	_         struct{} `doc:"How a place was found."`
	Kind      string   `json:"kind" schema:"enum=exact|prefix|word|typo|part"`
	Name      string   `json:"name,omitempty" doc:"The name that matched, where it is not that of the place."`
	Lang      string   `json:"lang,omitempty" doc:"Its language."`
	Highlight [2]int   `json:"highlight,omitzero" doc:"Start and end of what matched, in UTF-16 code units." schema:"min=0"`
	Historic  bool     `json:"historic,omitempty" doc:"A name matched that is no longer used."`
}

type Place struct {
	_ struct{} `doc:"A place. What is not known is absent."`
	places.Hit
	Distance Distance `json:"distance_m,omitzero"`
}

type Airport struct {
	_ struct{} `doc:"An airport." schema:"without=gps|timezone_source|keywords|home|wikipedia"`
	airports.Airport
	Distance Distance `json:"distance_m,omitzero"`
}

type Station struct {
	_          struct{}  `doc:"A weather station."`
	ID         string    `json:"id" doc:"USAF and WBAN numbers." schema:"pattern=^[0-9A-Z]{11}$"`
	USAF       string    `json:"usaf,omitempty"`
	WBAN       string    `json:"wban,omitempty"`
	Name       string    `json:"name"`
	Country    string    `json:"country,omitempty"`
	State      string    `json:"state,omitempty"`
	ICAO       string    `json:"icao,omitempty"`
	ElevationM float64   `json:"elevation_m,omitempty"`
	Begin      string    `json:"begin,omitempty" schema:"format=date"`
	End        string    `json:"end,omitempty" schema:"format=date"`
	Lat        Latitude  `json:"lat"`
	Lon        Longitude `json:"lon"`
	Distance   Distance  `json:"distance_m,omitzero"`
}
