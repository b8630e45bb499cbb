package ask

import (
	"context"
	"errors"
	"io"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/places/stations"
	"quadrille/places/zones"
	"quadrille/tiles"
)

// Names of the data sets, as ingest publishes them.
const (
	BoundariesName = "boundaries"
	PlacesName     = "places"
	AddressesName  = "ip"
	AirportsName   = "airports"
	NamesName      = "names"
	TimeZonesName  = "timezones"
	StationsName   = "stations"
	WeatherName    = "weather"
)

// Published returns the data sets that are published, without collections of points: the
// newest generation of each, once Poll has run. The caller closes them.
func Published(from *dataset.Generations) Sets {
	return Sets{
		Boundaries: follow[Boundaries](from, BoundariesName, tiles.OpenPublished),
		Places:     follow[Places](from, PlacesName, places.OpenPublished),
		Addresses:  follow[Addresses](from, AddressesName, ipgeo.OpenPublished),
		Airports:   follow[Airports](from, AirportsName, airports.OpenPublished),
		Names:      follow[Names](from, NamesName, names.OpenPublished),
		TimeZones:  follow[TimeZones](from, TimeZonesName, zones.OpenPublished),
		Stations:   follow[Stations](from, StationsName, stations.OpenPublished),
		Weather:    follow[Weather](from, WeatherName, stations.OpenPublishedWeather),
	}
}

// follow makes the Live of a data set that R reads. R implements I.
func follow[I, R any](from *dataset.Generations, name string, open func(context.Context, cellstore.Published) (R, error)) *dataset.Live[I] {
	return dataset.NewLive(from, name, func(g *dataset.Generation) (i I, err error) {
		r, err := open(context.Background(), g)
		if err != nil {
			return i, err
		}
		return any(r).(I), nil
	})
}

// polled is a dataset.Live of any kind.
type polled interface {
	Poll(ctx context.Context) error
	Status() dataset.Status
	io.Closer
}

// all are the data sets that there are, in the order of the fields, without collections of points.
func (s *Sets) all() (list []polled) {
	list = appendSet(list, s.Boundaries)
	list = appendSet(list, s.Places)
	list = appendSet(list, s.Addresses)
	list = appendSet(list, s.Airports)
	list = appendSet(list, s.Names)
	list = appendSet(list, s.TimeZones)
	list = appendSet(list, s.Stations)
	return appendSet(list, s.Weather)
}

func appendSet[T any](list []polled, live *dataset.Live[T]) []polled {
	if live == nil {
		return list
	}
	return append(list, live)
}

// Poll takes the newest generation of each data set into service, as dataset.Live.Poll does.
// If the newest cannot be opened, the generation in service stays.
func (s *Sets) Poll(ctx context.Context) error {
	var errs []error
	for _, l := range s.all() {
		errs = append(errs, l.Poll(ctx))
	}
	return errors.Join(errs...)
}

// Close takes all data sets except collections of points out of service, and waits until all
// pins have been released.
func (s *Sets) Close() error {
	var errs []error
	for _, l := range s.all() {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
