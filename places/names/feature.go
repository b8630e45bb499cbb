package names

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"quadrille/internal/lang"
	"quadrille/places/search"
)

// SchemaVersion is the version of the row layout.
const SchemaVersion = 2

// ErrFeature is matched when a feature cannot be stored.
var ErrFeature = errors.New("feature is not valid")

// Kind is the kind of a feature.
type Kind string

// These are the kinds of features.
const (
	Region  Kind = "region"
	Airport Kind = "airport"
	Zone    Kind = "timezone"
	Station Kind = "station" // of the weather
	Point   Kind = "point"   // of a user's collection
)

var kinds = []Kind{Region, Airport, Zone, Station, Point}

// Admin1Type is the Type of a first-level division of a country that is only in the gazetteer and
// in no layer. Its ID is the gazetteer's code, "DE.02".
const Admin1Type = "admin1"

// Feature is a named feature in the index.
type Feature struct {
	Kind Kind `json:"kind"`
	// Type is the layer of a region or time zone, the type of an airport, the collection of
	// a point.
	Type string `json:"type,omitempty"`
	// ID is the id of the feature in the data set that it comes from: the id of a region, a time
	// zone's region, an airport, a station or a point.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Title is the usual name if it is longer than Name: "Rice County".
	Title string `json:"title,omitempty"`
	// Country is an ISO 3166-1 alpha-2 code. Code is an ISO 3166-2 code or the code of an airport.
	Country string `json:"country,omitempty"`
	Code    string `json:"code,omitempty"`
	// Lat and Lon are degrees. For a region they are a point inside it.
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
	// Bounds of a region are west, south, east and north in degrees. Those of a country may
	// leave out parts that lie far from its main part. A region that no layer draws has
	// none: only the rows of places say which places are in it.
	Bounds [4]float64 `json:"bbox,omitzero"`
	// Population is the population according to a source, or 0 if it is unknown.
	Population uint64 `json:"inhabitants,omitempty"`
	// PlacesPopulation is the known population of the places in a region. It ranks the region in
	// searches, and is not its population. Its JSON name is older: the value was once shown as the
	// population. Population has a new JSON name, so that values of older tables are not read as
	// facts.
	PlacesPopulation uint64 `json:"population,omitempty"`
	// Parents are the regions of the coarser layers around the feature, the smallest first.
	Parents []Parent `json:"parents,omitempty"`
	// Level is 0 for the coarsest layer of regions, and greater for finer ones.
	Level int `json:"level,omitempty"`
	// Names are further names for search. Reader.NameIn returns a region's names by language.
	Names []search.Name `json:"-"`
}

// Parent is a region that contains a feature.
type Parent struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
	Code string `json:"code,omitempty"`
}

// check returns an error that matches ErrFeature, or nil.
func (f *Feature) check() error {
	switch {
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("%w: its kind is %.20q: give one of %q", ErrFeature, f.Kind, kinds)
	case f.ID == "" || f.Name == "":
		return fmt.Errorf("%w: %s %.60q %.60q: give an id and a name", ErrFeature, f.Kind, f.ID, f.Name)
	}
	return nil
}

// airportPeople gives an airport of each type the importance of a city with this number of people.
// A closed airport comes last.
var airportPeople = map[string]uint64{"large_airport": 300_000, "medium_airport": 20_000, "closed": 0}

const (
	otherAirport  = 500
	zonePeople    = 100
	stationPeople = 20
	pointPeople   = 200
	// statePeople is a factor: the people of a drawn first-level region count this many times as
	// much as in package search. So Delaware is the state and not a town in Ohio.
	statePeople = 4
)

// Class returns the class of a kind for the filters of package search.
func Class(kind Kind) string {
	switch kind {
	case Region:
		return "A"
	case Zone:
		return "L"
	}
	return "S"
}

// Weight returns the number of people that a feature ranks by.
func (f *Feature) Weight() uint64 { return cmp.Or(f.PlacesPopulation, f.Population) }

// entry returns the feature as an entry of package search.
func (f *Feature) entry(id uint32) search.Entry {
	e := search.Entry{
		ID: id, Name: f.Name, Names: f.Names, Country: f.Country, Population: f.Weight(),
		Lat: units(f.Lat), Lon: units(f.Lon),
	}
	for i := range e.Names {
		n := &e.Names[i]
		// The shorter names of an airport are the names of its town.
		n.Main = n.Main || n.Lang == "" && f.Kind != Airport || lang.IsLocal(n.Lang, f.Country)
	}
	e.Class = Class(f.Kind)[0]
	switch f.Kind {
	case Airport:
		people, known := airportPeople[f.Type]
		if !known {
			people = otherAirport
		}
		e.Importance, e.Population = people, 0
	case Zone:
		e.Importance = zonePeople
	case Station:
		e.Importance = stationPeople
	case Point:
		e.Importance = pointPeople
	case Region:
		switch {
		case f.Level == 0:
			e.Code = "PCLI"
		case f.Level <= 4:
			e.Code = string([]byte{'A', 'D', 'M', '0' + byte(f.Level)})
			if f.Level == 1 && f.Bounds != [4]float64{} {
				e.Population *= statePeople
			}
		default:
			e.Code = "ADM4"
		}
	}
	return e
}

func units(degrees float64) int32 { return int32(degrees * 1e7) }
