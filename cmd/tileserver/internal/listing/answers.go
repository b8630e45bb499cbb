package listing

import (
	"reflect"
	"time"

	"quadrille/places"
	"quadrille/places/airports"
)

// These types describe the answers in the OpenAPI document. The handlers write the answers as
// bytes.

// Latitude is in degrees, north positive.
type Latitude struct {
	_     struct{} `doc:"Degrees WGS84, north positive." schema:"is"`
	Value float64  `schema:"min=-90,max=90"`
}

// Longitude is in degrees, east positive.
type Longitude struct {
	_     struct{} `doc:"Degrees WGS84, east positive." schema:"is"`
	Value float64  `schema:"min=-180,max=180"`
}

// Distance is in metres along the ground.
type Distance struct {
	_     struct{} `doc:"Metres from the point that was asked about, along the ground." schema:"is"`
	Value float64  `schema:"min=0"`
}

// Next is the cursor of the next page. It is absent on the last page.
type Next struct {
	_     struct{} `doc:"The cursor of the next page; absent on the last." schema:"is"`
	Value string
}

// BBox is west, south, east, north in degrees. West may be greater than east, across ±180°.
type BBox struct {
	_     struct{} `doc:"West, south, east, north in degrees. West greater than east means across 180 degrees." schema:"is"`
	Value [4]float64
}

// Position is longitude, latitude in degrees.
type Position struct {
	_     struct{} `doc:"Longitude, latitude in degrees." schema:"is"`
	Value [2]float64
}

// ring is a closed line.
type ring struct {
	_     struct{}   `schema:"is"`
	Value []Position `schema:"minItems=4"`
}

// line is a LineString, which need not be closed.
type line struct {
	_     struct{}   `schema:"is"`
	Value []Position `schema:"minItems=2"`
}

// Area is one of the geometry types of regions.
type Area struct {
	_               struct{} `doc:"A GeoJSON polygon or multipolygon; of a layer of lines a line string or several." schema:"is"`
	Polygon         Polygon
	MultiPolygon    MultiPolygon
	LineString      LineString
	MultiLineString MultiLineString
}

// Point is the geometry of a point in GeoJSON.
type Point struct {
	_           struct{} `doc:"A GeoJSON point."`
	Type        string   `json:"type" schema:"const=Point"`
	Coordinates Position `json:"coordinates"`
}

// Polygon is the geometry of a region in GeoJSON.
type Polygon struct {
	_           struct{} `doc:"A GeoJSON polygon."`
	Type        string   `json:"type" schema:"const=Polygon"`
	Coordinates []ring   `json:"coordinates"`
}

// MultiPolygon is the geometry of a region of several parts in GeoJSON.
type MultiPolygon struct {
	_           struct{} `doc:"A GeoJSON multipolygon."`
	Type        string   `json:"type" schema:"const=MultiPolygon"`
	Coordinates [][]ring `json:"coordinates"`
}

// LineString is the geometry of a line in GeoJSON.
type LineString struct {
	_           struct{} `doc:"A GeoJSON line string."`
	Type        string   `json:"type" schema:"const=LineString"`
	Coordinates line     `json:"coordinates"`
}

// MultiLineString is the geometry of several lines in GeoJSON.
type MultiLineString struct {
	_           struct{} `doc:"A GeoJSON multi line string."`
	Type        string   `json:"type" schema:"const=MultiLineString"`
	Coordinates []line   `json:"coordinates"`
}

// Feature is a GeoJSON feature without an id. Identified is one with an id.
type Feature[G, P any] struct {
	Type       string `json:"type" schema:"const=Feature"`
	Geometry   G      `json:"geometry"`
	Properties P      `json:"properties"`
}

// Identified is a GeoJSON feature with an id.
type Identified[ID, G, P any] struct {
	Feature[G, P]
	ID ID `json:"id"`
}

// Features is a GeoJSON FeatureCollection.
type Features[F any] struct {
	Type     string `json:"type" schema:"const=FeatureCollection"`
	Features []F    `json:"features"`
}

// RegionName identifies a region.
type RegionName struct {
	Type string `json:"type" doc:"The region type, such as country."`
	ID   string `json:"id" doc:"Unique within its type." schema:"example=ch"`
	Name string `json:"name,omitempty"`
}

// Match describes how a search found its result.
type Match struct {
	_         struct{} `doc:"How a place was found."`
	Kind      string   `json:"kind" schema:"enum=exact|prefix|word|typo|part"`
	Name      string   `json:"name,omitempty" doc:"The name that matched, where it is not that of the place."`
	Lang      string   `json:"lang,omitempty" doc:"Its language."`
	Highlight [2]int   `json:"highlight,omitzero" doc:"Start and end of what matched, in UTF-16 code units." schema:"min=0"`
	Historic  bool     `json:"historic,omitempty" doc:"A name matched that is no longer used."`
}

// Place is a place in a list.
type Place struct {
	_ struct{} `doc:"A place. What is not known is absent."`
	places.Hit
	Distance Distance `json:"distance_m,omitzero"`
}

// Airport is an airport in a list.
type Airport struct {
	_ struct{} `doc:"An airport." schema:"without=gps|timezone_source|keywords|home|wikipedia"`
	airports.Airport
	Distance Distance `json:"distance_m,omitzero"`
}

// Station is a weather station in a list.
type Station struct {
	_          struct{}  `doc:"A weather station."`
	ID         string    `json:"id" doc:"USAF and WBAN numbers, or the GHCN id." schema:"pattern=^[0-9A-Z]{11}$"`
	USAF       string    `json:"usaf,omitempty"`
	WBAN       string    `json:"wban,omitempty"`
	WMO        string    `json:"wmo,omitempty"`
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

// told has the members of a point of an open layer that are the same in lists and in GeoJSON.
type told struct {
	Collection string         `json:"collection,omitempty" doc:"Only in answers over several collections."`
	Distance   Distance       `json:"distance_m,omitzero"`
	Version    int            `json:"version" doc:"Rises with every write of the point: milliseconds since 1970."`
	Expires    time.Time      `json:"expires,omitzero" doc:"When the point goes by itself; absent if it does not."`
	Properties map[string]any `json:"properties" doc:"The point's own properties, as they were written."`
}

// OpenPoint is a feature of an open layer in a list.
type OpenPoint struct {
	_   struct{}  `name:"CollectionPoint" doc:"A point of a collection."`
	ID  string    `json:"id"`
	Lat Latitude  `json:"lat"`
	Lon Longitude `json:"lon"`
	told
}

// OpenPoints is a page of the features of an open layer.
type OpenPoints struct {
	_      struct{}    `name:"CollectionPoints" doc:"A page of points."`
	Points []OpenPoint `json:"points"`
	Next   Next        `json:"next,omitzero"`
}

// OpenFeature is a feature of an open layer as GeoJSON.
type OpenFeature struct {
	_ struct{} `name:"CollectionFeature" doc:"A point of a collection as GeoJSON."`
	told
	Identified[string, Point, any]
}

// OpenFeatures is a page of the features of an open layer as GeoJSON.
type OpenFeatures struct {
	_ struct{} `name:"CollectionFeatures" doc:"A page of points as GeoJSON."`
	Features[OpenFeature]
	Next Next `json:"next,omitzero"`
}

// Count is the number of features of open layers.
type Count struct {
	_            struct{}       `name:"CollectionCount" doc:"How many points there are."`
	Count        int            `json:"count" schema:"min=0"`
	ByCollection map[string]int `json:"collections,omitempty" doc:"Of each collection, in answers over several."`
	Groups       []CountGroup   `json:"groups,omitempty" doc:"With by: those with the most points first."`
	Others       others         `json:"others,omitzero" doc:"The groups beyond limit, and their points."`
	Skipped      map[string]int `json:"skipped,omitempty" doc:"Of each measured property, values that are no numbers."`
	measures
}

type others struct {
	Groups int `json:"groups"`
	Count  int `json:"count"`
}

// CountGroup is a group of features.
type CountGroup struct {
	Group map[string]any `json:"group" doc:"The value of each grouping, null where there is none; of an area its id, and its name as NAME_name."`
	Count int            `json:"count" schema:"min=0"`
	measures
}

// CountFeatures are groups of features as GeoJSON.
type CountFeatures struct {
	_               struct{}       `name:"CountFeatures" doc:"A Feature for each group."`
	Count           int            `json:"count" schema:"min=0" doc:"How many points there are in all."`
	ByCollection    map[string]int `json:"collections,omitempty" doc:"Of each collection, in answers over several."`
	Others          others         `json:"others,omitzero" doc:"The groups beyond limit, and their points."`
	Skipped         map[string]int `json:"skipped,omitempty" doc:"Of each measured property, values that are no numbers."`
	WithoutGeometry int            `json:"without_geometry,omitempty" doc:"Groups of areas whose geometry would make the answer too large."`
	Features[CountFeature]
}

// CountFeature is a group of features as GeoJSON.
type CountFeature struct {
	ID string `json:"id,omitempty" doc:"Of the tile or the region, if it is the only group."`
	Feature[any, map[string]any]
	Geometry *struct {
		Type        string `json:"type" schema:"enum=Polygon|MultiPolygon"`
		Coordinates []any  `json:"coordinates"`
	} `json:"geometry" schema:"type=object|null"`
	BBox []float64 `json:"bbox,omitempty" schema:"minItems=4,maxItems=4"`
}

// measures are what a count tells of properties, by their names.
type measures struct {
	Sum      map[string]*float64 `json:"sum,omitempty"`
	Mean     map[string]*float64 `json:"mean,omitempty"`
	Min      map[string]any      `json:"min,omitempty"`
	Max      map[string]any      `json:"max,omitempty"`
	Distinct map[string]int      `json:"distinct,omitempty"`
}

// Track is the positions of a feature of an open layer, in the order of time.
type Track struct {
	_     struct{} `doc:"Where a point was, oldest first."`
	ID    string   `json:"id"`
	Track []struct {
		Time time.Time `json:"time" doc:"From when on it was here."`
		Lat  Latitude  `json:"lat,omitzero"`
		Lon  Longitude `json:"lon,omitzero"`
		Gone bool      `json:"gone,omitempty" doc:"It was not there any more; without a position."`
	} `json:"track"`
	Next time.Time `json:"next,omitzero" doc:"Where the next page begins; absent on the last one."`
}

// OpenPointsAs returns a description of OpenPoints with another name for the member with the features.
// title is the name of the type in the description.
func OpenPointsAs(name, title string) any {
	of := reflect.TypeFor[OpenPoints]()
	about, list, next := of.Field(0), of.Field(1), of.Field(2)
	about.Tag = reflect.StructTag(`name:"` + title + `" doc:"A page of points."`)
	list.Tag = reflect.StructTag(`json:"` + name + `"`)
	return reflect.Zero(reflect.StructOf([]reflect.StructField{about, list, next})).Interface()
}
