package collection

import (
	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/listing"
)

// List describes the lists of points of collections.
var List = listing.Set{
	Layer: ask.PointsPrefix, Path: "/points/{collection}", Name: "points", Open: true,
	Words: listing.Words{Tag: "collections", Rank: 3, IDs: "Collection", Things: "points",
		Nearby: "The nearest of several collections are one page, each with its `collection`; `cursor` is for one collection."},
	List: listing.OpenPoints{}, Features: listing.OpenFeatures{}, One: listing.OpenFeature{},
	NoLayer: "collection-not-found", NoFeature: "point-not-found",
	Requests: map[string]listing.Requests{
		"/nearby": {Example: "/points/shops/nearby?lat=47.377&lon=8.54&limit=1&category=cafe", Dearest: []string{
			"/points/shops/nearby?lat=52&lon=5&limit=100",
			"/points/shops/nearby?lat=-80&lon=170&limit=100",
			"/points/shops/nearby?lat=52&lon=5&limit=1000",
			"/points/shops/nearby?lat=52&lon=5&price=7",
			"/points/shops/nearby?lat=52&lon=5&min_radius=500000",
			"/points/shops/nearby?lat=-80&lon=170&limit=1000&price=7000",
		}},
		"/within": {Example: "/points/shops/within?bbox=8,47,9,48&fields=name&limit=1", Dearest: []string{
			"/points/shops/within?bbox=-180,-90,180,90&limit=1000&sort=price",
			"/points/shops/within?tile=0/0/0&format=ndjson",
		}},
		"/within/{type}/{id}": {Example: "/points/shops/within/country/ch?fields=name&limit=1", Dearest: []string{
			"/points/shops/within/country/{region}?limit=1000&sort=-price",
			"/points/shops/within/country/{region}?format=ndjson",
		}},
		"/cluster/{cluster}": {Example: "/points/shops/cluster/0-ay?fields=name&limit=1", Dearest: []string{
			"/points/shops/cluster/{cluster}?limit=1000&sort=-price",
			"/points/shops/cluster/{cluster}?format=ndjson",
		}},
		"/count":      {Example: "/points/shops/count?region=country:ch&category=cafe", Dearest: []string{"/points/shops/count?price=7", "/points/shops/count?region=country:{region}"}},
		"/{id}":       {Example: "/points/shops/zh-1", Dearest: []string{"/points/shops/s-7"}},
		"/{id}/track": {Example: "/points/vans/van-7/track", Dearest: []string{"/points/shops/s-7/track"}},
	},
}
