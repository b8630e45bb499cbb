package servertest

import (
	"sync"

	"github.com/paulmach/orb"

	"quadrille/internal/tilestest"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/tiles/build"
)

// small is a world of three countries and three places. Some of its texts need escaping.
var small = sync.OnceValue(func() map[string]*Rows {
	return byDataset(
		Regions(
			build.Layer{Type: "country", Features: []build.Feature{
				Region("us", `The "States" <b>&`, -125, 24, -66, 50),
				Region("fr", "France", -4.7, 42.4, 5.9, 51),
				Region("fj", "Fiji", 177.25, -18.5, 180.25, 0),
			}},
			build.Layer{Type: "state", Features: []build.Feature{
				Region("us-ks", "Kansas", -102, 37, -94.6, 40),
				Region("nameless", "", -0.000001, 1, 2, 3),
				Region("next", "Next", 0.5, 0.5, 2, 1),
			}},
		),
		Places([]places.Place{
			{ID: 2988507, Name: "Paris", Class: "P", Code: "PPLC", Country: "FR", Population: 2_138_551, Lat: 48.85341, Lon: 2.3488},
			{ID: 3, Name: "Ω", Class: "T", Lat: -1, Lon: 1e-7},
			{ID: 7, Name: `<i>"P"</i>`, Class: "P", Code: "PPL", Country: "FR", Population: 5, Lat: 48.85, Lon: 2.35},
		}, nil, places.Gazetteer{}),
		Ranges(
			IPRange("1.0.0.0/24", ipgeo.Record{Country: ipgeo.Country{ISOCode: "DE"}}),
			IPRange("1.2.0.0/16", ipgeo.Record{Country: ipgeo.Country{ISOCode: "NL"}}),
			IPRange("2a00::/120", ipgeo.Record{Traits: ipgeo.Traits{ISP: "Nobody's"}}),
		),
	)
})

func byDataset(list ...*Rows) map[string]*Rows {
	all := map[string]*Rows{}
	for _, r := range list {
		all[r.Name] = r
	}
	return all
}

// Region returns a region whose border is a box.
func Region(id, name string, west, south, east, north float64, properties ...build.Property) build.Feature {
	return build.Feature{ID: id, Name: name, Geometry: orb.Geometry(tilestest.Square(west, south, east, north)), Properties: properties}
}
