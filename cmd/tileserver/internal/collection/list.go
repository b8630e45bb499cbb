package collection

import (
	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/listing"
)

// List describes the lists of points of collections.
var List = listing.Spec{
	Layer: ask.PointsPrefix, Path: "/points/{collection}", Name: "points", Open: true,
	Words: listing.Words{Tag: "collections", Rank: 3, IDSuffix: "Collection", Things: "points",
		NearbyText: "The nearest of several collections are one page, each with its `collection`; `cursor` is for one collection."},
	List: listing.OpenPoints{}, Features: listing.OpenFeatures{}, Item: listing.OpenFeature{},
	NoLayer: "collection-not-found", NoFeature: "point-not-found",
	Examples: map[string]string{
		"/nearby":             "/points/shops/nearby?lat=47.377&lon=8.54&limit=1&category=cafe",
		"/within":             "/points/shops/within?bbox=8,47,9,48&fields=name&limit=1",
		"/within/{type}/{id}": "/points/shops/within/country/ch?fields=name&limit=1",
		"/cluster/{cluster}":  "/points/shops/cluster/0-ay?fields=name&limit=1",
		"/count":              "/points/shops/count?region=country:ch&category=cafe",
		"/{id}":               "/points/shops/zh-1",
		"/{id}/track":         "/points/vans/van-7/track",
	},
}
