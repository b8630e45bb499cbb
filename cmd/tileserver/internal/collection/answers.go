package collection

import (
	"time"

	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/webhook"
)

// Types of answers. Of what is written as bytes they are for the description of the interface.

type CollectionName struct {
	_      struct{}         `doc:"The name of a collection that is there now."`
	Name   string           `json:"name"`
	Others map[string]int64 `json:"other_types,omitempty" doc:"How many values of a property have not the type that is declared for it now." schema:"min=1"`
}

type HookList struct {
	_     struct{}        `name:"Hooks" doc:"The webhooks of a collection, by name."`
	Hooks []webhook.State `json:"hooks"`
}

// told is what lists and features tell of a point.
type told struct {
	Collection string           `json:"collection,omitempty" doc:"Only where several are asked."`
	Distance   listing.Distance `json:"distance_m,omitzero"`
	Version    int              `json:"version" doc:"Rises with every write of the point: milliseconds since 1970."`
	Expires    time.Time        `json:"expires,omitzero" doc:"When the point goes by itself; absent if it does not."`
	Properties map[string]any   `json:"properties" doc:"The point's own properties, as they were written."`
}

type CollectionPoint struct {
	_   struct{}          `doc:"A point of a collection."`
	ID  string            `json:"id"`
	Lat listing.Latitude  `json:"lat"`
	Lon listing.Longitude `json:"lon"`
	told
}

type CollectionPoints struct {
	_      struct{}          `doc:"A page of points."`
	Points []CollectionPoint `json:"points"`
	Next   listing.Next      `json:"next,omitzero"`
}

type CollectionFeature struct {
	_ struct{} `doc:"A point of a collection as GeoJSON."`
	told
	listing.Identified[string, listing.Point, any]
}

type CollectionFeatures struct {
	_ struct{} `doc:"A page of points as GeoJSON."`
	listing.Features[CollectionFeature]
	Next listing.Next `json:"next,omitzero"`
}

type CollectionCount struct {
	_           struct{}       `doc:"How many points there are."`
	Count       int            `json:"count" schema:"min=0"`
	Collections map[string]int `json:"collections,omitempty" doc:"Of each collection, where several are asked."`
}

type Track struct {
	_     struct{} `doc:"Where a point was, oldest first."`
	ID    string   `json:"id"`
	Track []struct {
		Time time.Time         `json:"time" doc:"From when on it was here."`
		Lat  listing.Latitude  `json:"lat,omitzero"`
		Lon  listing.Longitude `json:"lon,omitzero"`
		Gone bool              `json:"gone,omitempty" doc:"It was not there any more; without a position."`
	} `json:"track"`
	Next time.Time `json:"next,omitzero" doc:"Where the next page begins; absent on the last one."`
}

type WrittenPoint struct {
	_       struct{} "doc:\"A point that has been written. `version` is in the `ETag`, too.\""
	ID      string   `json:"id"`
	Version int      `json:"version"`
}

type WrittenLine struct {
	_       struct{} `doc:"What has become of a line: a version, or the type and detail of a problem." schema:"is"`
	Written written
	Refused refused
}

type written struct {
	Line    int    `json:"line" schema:"min=1"`
	ID      string `json:"id"`
	Status  int    `json:"status" schema:"enum=200|201|204"`
	Version int    `json:"version"`
}

type refused struct {
	Line   int    `json:"line" schema:"min=1"`
	ID     string `json:"id,omitempty"`
	Status int    `json:"status" schema:"min=400"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}
