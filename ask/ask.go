// Package ask answers questions that need several data sets. It has the data sets and their
// readers. Each question takes a view of all data sets, so that an answer never mixes two
// generations of one data set. The packages below it give the answers. Package hierarchy finds the
// regions around a place, geocoder the features that a text names and the features at a point,
// localtime the local time, pointinfo everything about a point, and fence the borders that a move
// crosses.
//
// Positions are degrees, latitude before longitude, and distances metres, unless a name says
// another order. Errors of the data sets are returned unchanged: the errors of package cellstore if
// a store fails, ErrMissing if a data set is not published, and ErrFailed if it cannot be read.
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

// Sets are the data sets of a program. A nil one counts as not published. PublishedSets makes the Sets
// of a directory. dataset.NewFixedLive makes one data set of a single reader. Sets must not change after
// their first use, and may be used concurrently.
type Sets struct {
	Boundaries *dataset.Live[*tiles.Reader]
	Places     *dataset.Live[*places.Finder]
	Addresses  *dataset.Live[AddressReader]
	Airports   *dataset.Live[*airports.Finder]
	Names      *dataset.Live[*names.Reader]
	TimeZones  *dataset.Live[*zones.Reader]
	Stations   *dataset.Live[*stations.Finder]
	Weather    *dataset.Live[*stations.Weather]
	// RegionSets are the region layers that users publish.
	RegionSets *DatasetGroup[*RegionSet]
	// Collections are users' own collections of points.
	Collections *Collections
	// ExtraLayers are the caller's own layers. Every interface of features shows them.
	ExtraLayers []LayerKind
	// CountryByMap makes the map decide in which country a place is, instead of the place's
	// source.
	CountryByMap bool

	others map[string]any // a *dataset.Live for each data set without a field
}

// States returns the state of every data set, in the order of shown. It leaves out private
// collections: a caller without access must not learn their names and bounds.
func (s *Sets) States() []dataset.Status { return s.states(false) }

// AllStates does the same as States, but includes private collections.
func (s *Sets) AllStates() []dataset.Status { return s.states(true) }

func (s *Sets) states(private bool) (all []dataset.Status) {
	for _, l := range s.LiveDatasets() {
		all = append(all, l.Status())
	}
	slices.SortStableFunc(all, func(a, b dataset.Status) int { return cmp.Compare(placeOf(a.Dataset), placeOf(b.Dataset)) })
	return s.Collections.appendStates(append(all, s.RegionSets.publishedStates()...), private)
}

// shown is the order of the data sets in reports. The others follow in the order of Datasets.
var shown = []string{BoundariesName, PlacesName, AddressesName, AirportsName, NamesName, TimeZonesName, StationsName, WeatherName}

func placeOf(name string) int {
	if i := slices.Index(shown, name); i >= 0 {
		return i
	}
	return len(shown)
}

// NotFoundAsDamage turns "not found" into damage, for a record that the same generation refers to.
func NotFoundAsDamage(err error) error {
	if errors.Is(err, places.ErrNotFound) || errors.Is(err, stations.ErrNotFound) {
		return fmt.Errorf("%w: what was found has no record: %s", cellstore.ErrCorrupt, err.Error())
	}
	return err
}
