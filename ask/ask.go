// Package ask is for questions that take several data sets: what is read of each,
// the sets themselves, and the view of all of them that a question takes, so that an
// answer never mixes two generations of one. The packages below it answer:
// hierarchy what a place is in, geocoder what a text names and what is at a point, localtime
// what clocks show there, about everything about a point, fence which borders a move crosses.
//
// Positions are degrees, latitude before longitude, and distances metres, unless a name says
// another order. Errors of the sets come through: those of package cellstore of a store that
// fails, ErrMissing of a set that is not published, ErrFailed of one that cannot be read.
package ask

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/places/stations"
	"quadrille/places/zones"
	"quadrille/tiles"
)

// Sets are the data sets that can be asked. A nil one counts as not published.
// Published makes the sets of a directory, and dataset.Fixed a set of a single reader.
// Sets are not changed once they are used, and may be used concurrently.
type Sets struct {
	Boundaries *dataset.Live[*tiles.Reader]
	Places     *dataset.Live[*places.Finder]
	Addresses  *dataset.Live[AddressReader]
	Airports   *dataset.Live[*airports.Finder]
	Names      *dataset.Live[*names.Reader]
	TimeZones  *dataset.Live[*zones.Reader]
	Stations   *dataset.Live[*stations.Finder]
	Weather    *dataset.Live[*stations.Weather]
	// RegionSets are the layers of regions that users keep by themselves.
	RegionSets *Family[*RegionSet]
	// Collections are those of users' own points.
	Collections *Collections
	// More are the caller's own layers. Every interface of features shows them.
	More []LayerKind
	// CountryByMap makes the map decide in which country a place is, instead of the place's
	// source.
	CountryByMap bool

	others map[string]any // a *dataset.Live for each data set without a field
}

// States returns the state of every data set, in the order of shown. Private
// collections are left out: who may not ask for them must not learn their names and bounds.
func (s *Sets) States() []dataset.Status { return s.states(false) }

// AllStates is States with private collections.
func (s *Sets) AllStates() []dataset.Status { return s.states(true) }

func (s *Sets) states(private bool) (all []dataset.Status) {
	for _, l := range s.Followed() {
		all = append(all, l.Status())
	}
	slices.SortStableFunc(all, func(a, b dataset.Status) int { return cmp.Compare(placeOf(a.Dataset), placeOf(b.Dataset)) })
	return s.Collections.appendStates(append(all, s.RegionSets.publishedStates()...), private)
}

// shown is the order of the data sets in reports. Others follow in the order of Datasets.
var shown = []string{BoundariesName, PlacesName, AddressesName, AirportsName, NamesName, TimeZonesName, StationsName, WeatherName}

func placeOf(name string) int {
	if i := slices.Index(shown, name); i >= 0 {
		return i
	}
	return len(shown)
}

// Inside turns the lack of something that the same generation has named into
// damage.
func Inside(err error) error {
	if errors.Is(err, places.ErrNotFound) || errors.Is(err, stations.ErrNotFound) {
		return fmt.Errorf("%w: what was found has no record: %s", cellstore.ErrCorrupt, err.Error())
	}
	return err
}
