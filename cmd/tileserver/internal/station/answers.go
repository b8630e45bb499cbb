package station

import (
	"time"

	"quadrille/cmd/tileserver/internal/listing"
)

// These types describe the answers in the OpenAPI document. The handlers write the answers as
// bytes.

// NearestStation is the answer of /stations/nearest.
type NearestStation struct {
	_       struct{}        `doc:"The nearest station."`
	Station listing.Station `json:"station"`
}

type identified = listing.Identified[string, listing.Point, listing.Station]

// StationFeature is one station as GeoJSON.
type StationFeature struct {
	_ struct{} `doc:"A station as GeoJSON."`
	identified
}

// StationList is a page of stations as JSON.
type StationList struct {
	_        struct{}          `doc:"Weather stations."`
	Stations []listing.Station `json:"stations"`
	BBox     listing.BBox      `json:"bbox,omitzero"`
	Next     listing.Next      `json:"next,omitzero"`
}

// StationFeatures is a page of stations as GeoJSON.
type StationFeatures struct {
	_ struct{} `doc:"Weather stations as GeoJSON."`
	listing.Features[identified]
	BBox listing.BBox `json:"bbox,omitzero"`
	Next listing.Next `json:"next,omitzero"`
}

// StationTiles lists the tiles of a station.
type StationTiles struct {
	_     struct{} `doc:"The tiles in which a station may be the nearest, as z/x/y."`
	ID    string   `json:"id"`
	Tiles []string `json:"tiles" schema:"pattern=^[0-9]+/[0-9]+/[0-9]+$"`
}

// Observation has the measurements of a station at one time.
type Observation struct {
	_                    struct{}  `doc:"What a station measured. What it did not is absent."`
	Time                 time.Time `json:"time"`
	TemperatureC         float64   `json:"temperature_c,omitempty"`
	DewPointC            float64   `json:"dew_point_c,omitempty"`
	PressureHPa          float64   `json:"pressure_hpa,omitempty" doc:"At sea level."`
	WindSpeedMS          float64   `json:"wind_speed_ms,omitempty"`
	WindDirectionDeg     int       `json:"wind_direction_deg,omitempty" doc:"Where it blows from."`
	SkyCode              int       `json:"sky_code,omitempty"`
	CloudOkta            int       `json:"cloud_okta,omitempty" schema:"min=0,max=8"`
	Precipitation1hMM    float64   `json:"precipitation_1h_mm,omitempty"`
	Precipitation1hTrace bool      `json:"precipitation_1h_trace,omitempty"`
	Precipitation6hMM    float64   `json:"precipitation_6h_mm,omitempty"`
	Precipitation6hTrace bool      `json:"precipitation_6h_trace,omitempty"`
}

// Observations is a page of the observations of a station.
type Observations struct {
	_            struct{}      `doc:"Observations, the newest first."`
	Station      string        `json:"station"`
	Observations []Observation `json:"observations"`
	Next         listing.Next  `json:"next,omitzero"`
}

type means struct {
	Observations       int     `json:"observations" schema:"min=0"`
	TemperatureC       float64 `json:"temperature_c,omitempty"`
	TemperatureMinC    float64 `json:"temperature_min_c,omitempty"`
	TemperatureMaxC    float64 `json:"temperature_max_c,omitempty"`
	DewPointC          float64 `json:"dew_point_c,omitempty"`
	PressureHPa        float64 `json:"pressure_hpa,omitempty"`
	WindSpeedMS        float64 `json:"wind_speed_ms,omitempty"`
	WindSpeedMaxMS     float64 `json:"wind_speed_max_ms,omitempty"`
	WindDirectionDeg   int     `json:"wind_direction_deg,omitempty" schema:"min=0,max=359"`
	PrecipitationMM    float64 `json:"precipitation_mm,omitempty"`
	PrecipitationMaxMM float64 `json:"precipitation_max_mm,omitempty"`
	CloudOkta          float64 `json:"cloud_okta,omitempty"`
}

// Weather is the weather of a tile in an hour.
type Weather struct {
	_    struct{}  `doc:"What the stations of a tile measured in an hour: means, with extremes, of the tile and of its parts."`
	Tile string    `json:"tile"`
	Hour time.Time `json:"hour"`
	means
	Side  int `json:"side" doc:"Parts along each side."`
	Parts []struct {
		X int `json:"x"`
		Y int `json:"y"`
		means
	} `json:"parts"`
}
