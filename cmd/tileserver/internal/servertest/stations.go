package servertest

import (
	"sync"
	"testing"
	"time"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/places/stations"
)

// NewStations serves the named data sets of invented stations and weather.
func NewStations(t testing.TB, published ...string) *Server {
	t.Helper()
	return serve(t, StationRows(), func(c *httpapi.Config) { c.ResponseCacheBytes = 0 }, published)
}

// StationRows returns the rows of invented stations and weather, by their data sets.
var StationRows = sync.OnceValue(func() map[string]*Rows {
	return byDataset(Stations(toyStations()...), Weather(toyStations(), toyWeather()))
})

func toyStations() []stations.Station {
	id := func(s string) stations.ID {
		id, err := stations.ParseID(s)
		if err != nil {
			panic(err)
		}
		return id
	}
	high := 431.9
	day := func(y int) time.Time { return time.Date(y, 1, 2, 0, 0, 0, 0, time.UTC) }
	return []stations.Station{
		{
			ID:         id("066600-99999"),
			Name:       "ZÜRICH <b>",
			Country:    "CH",
			ICAO:       "LSZX",
			Lat:        47.383,
			Lon:        8.567,
			ElevationM: &high,
			Begin:      day(1949),
			End:        day(2025),
		},
		{ID: id("066700-99999"), Name: "KLOTEN", Country: "CH", Lat: 47.48, Lon: 8.536, Begin: day(1931), End: day(1990)},
		{ID: id("916900-99999"), Name: "SUVA", Country: "FJ", Lat: -18.05, Lon: 178.567},
		{ID: id("A00001-00001"), Name: "DATE LINE", Lat: -17, Lon: -179.9},
		{ID: id("ARM00087544"), Name: "PEHUAJO", Country: "AR", WMO: "87544", Lat: -35.87, Lon: -61.9},
	}
}

func toyWeather() []stations.Observation {
	var list []stations.Observation
	for i, s := range toyStations()[:2] {
		for h := range 30 {
			o := stations.Observation{Station: s.ID, Time: time.Date(2024, 1, 1, h, 0, 0, 0, time.UTC)}
			if err := o.Set(stations.Temperature, 10*h+i); err != nil {
				panic(err)
			}
			list = append(list, o)
		}
	}
	return list
}
