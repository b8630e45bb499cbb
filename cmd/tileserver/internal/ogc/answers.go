package ogc

import (
	"time"

	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/ogcapi"
)

// Types of answers. If an answer is written as bytes, its type is only for the OpenAPI description.

// Landing is the landing page.
type Landing struct {
	_           struct{}      `name:"OGCLanding" doc:"What there is."`
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Links       []ogcapi.Link `json:"links"`
}

// Conformance lists the conformance classes.
type Conformance struct {
	_          struct{} `name:"OGCConformance" doc:"The classes of standards that are met."`
	ConformsTo []string `json:"conformsTo"`
}

// Description is the description of the interface, in OpenAPI 3.0.
type Description struct {
	_       struct{} `name:"OGCDescription" doc:"An OpenAPI document." schema:"open"`
	OpenAPI string   `json:"openapi"`
}

// Collections lists the collections of features.
type Collections struct {
	_           struct{}      `name:"OGCCollections" doc:"The collections there are."`
	Links       []ogcapi.Link `json:"links"`
	Collections []*Collection `json:"collections"`
}

// Queryables is the JSON schema of the properties of a collection.
type Queryables struct {
	_          struct{}            `name:"OGCQueryables" doc:"A JSON schema."`
	Schema     string              `json:"$schema"`
	ID         string              `json:"$id"`
	Type       string              `json:"type" schema:"const=object"`
	Title      string              `json:"title"`
	Properties map[string]property `json:"properties"`
	Additional bool                `json:"additionalProperties" schema:"const=false"`
}

type property struct {
	Title  string `json:"title,omitempty"`
	Type   string `json:"type,omitempty"`
	Format string `json:"format,omitempty"`
	Role   string `json:"x-ogc-role,omitempty"`
}

// Feature is one feature as GeoJSON.
type Feature struct {
	_ struct{} `name:"OGCFeature" doc:"A feature; only a feature requested alone has links."`
	listing.Identified[string, any, map[string]any]
	Geometry *struct {
		Type        string `json:"type" schema:"enum=Point|Polygon|MultiPolygon|LineString|MultiLineString"`
		Coordinates []any  `json:"coordinates"`
	} `json:"geometry" schema:"type=object|null"`
	BBox  []float64     `json:"bbox,omitempty" schema:"minItems=4,maxItems=4"`
	Links []ogcapi.Link `json:"links,omitempty"`
}

// Features is a page of features as GeoJSON.
type Features struct {
	_ struct{} `name:"OGCFeatures" doc:"A page of features."`
	listing.Features[Feature]
	NumberReturned int           `json:"numberReturned"`
	NumberMatched  int           `json:"numberMatched,omitempty"`
	TimeStamp      time.Time     `json:"timeStamp"`
	Links          []ogcapi.Link `json:"links"`
}
