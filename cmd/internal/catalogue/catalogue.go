// Package catalogue lists the data sets. Both programs read the list, so that
// a new data set is a descriptor here, a job that ingests it and the handlers
// that ask it.
package catalogue

import (
	"context"
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/credit"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/live"
	"quadrille/places/names"
	"quadrille/places/points"
	"quadrille/places/stations"
	"quadrille/places/zones"
	"quadrille/tiles"
)

// Dataset describes a data set to code that manages generations and does not query
// them.
type Dataset struct {
	Name   string // as ingest publishes it
	Schema int    // version of the row layout: the one written, and the newest read
	// Uses are the data sets that its ingest uses if they are published. They come
	// before it in All.
	Uses []string
}

// Of is a data set whose generations are read by an R.
type Of[R any] struct {
	Dataset
	// Open makes the reader of a generation.
	Open func(*dataset.Generation) (R, error)
}

// The data sets.
var (
	Boundaries = of("boundaries", tiles.SchemaVersion, tiles.OpenPublished)
	Places     = of("places", places.SchemaVersion, places.OpenPublished)
	TimeZones  = of("timezones", zones.SchemaVersion, zones.OpenPublished)
	Airports   = of("airports", airports.SchemaVersion, airports.OpenPublished, zoned...)
	Stations   = of("stations", stations.SchemaVersion, stations.OpenPublished, zoned...)
	NameIndex  = of("names", names.SchemaVersion, names.OpenPublished, "boundaries", "places", "airports", "stations")
	Weather    = of("weather", stations.SchemaVersion, stations.OpenPublishedWeather, "stations")
	IPTable    = of("ip", ipgeo.Layout, ipgeo.OpenPublished, zoned...)
	// IP is the data set of IPTable, but answered from its index if it has one,
	// which is faster.
	IP = Of[Addresses]{IPTable.Dataset, openIP}
)

// zoned are the data sets that give a point its time zone.
var zoned = []string{"boundaries", "places", "timezones"}

// All lists the data sets in the order in which they are ingested.
var All = []Dataset{
	Boundaries.Dataset, Places.Dataset, TimeZones.Dataset, Airports.Dataset, Stations.Dataset, NameIndex.Dataset, Weather.Dataset, IP.Dataset,
}

// PointsPrefix begins the data sets that are collections of points.
const PointsPrefix = "points-"

// Points returns the collection of a name. Collections are data sets of their own,
// which users name, so they are not in All.
func Points(name string) Of[*points.Collection] {
	return of(PointsPrefix+name, points.SchemaVersion, points.OpenPublished)
}

func of[R any](name string, schema int, open func(context.Context, cellstore.Published) (R, error), uses ...string) Of[R] {
	return Of[R]{
		Dataset: Dataset{Name: name, Schema: schema, Uses: uses},
		Open:    func(g *dataset.Generation) (R, error) { return open(context.Background(), g) },
	}
}

// Find returns the descriptor of a data set.
func Find(name string) (d Dataset, ok bool) {
	if collection, found := strings.CutPrefix(name, PointsPrefix); found && live.CheckName(collection) == nil {
		return Points(collection).Dataset, true
	}
	i := slices.IndexFunc(All, func(d Dataset) bool { return d.Name == name })
	if i < 0 {
		return d, false
	}
	return All[i], true
}

// Names are those of data sets, in order.
func Names(list []Dataset) []string {
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Name
	}
	return names
}

// Live serves the published generation of a data set as an I. I is R, or an
// interface that R implements with the methods that the caller uses.
func Live[I, R any](from *dataset.Generations, d Of[R]) *dataset.Live[I] {
	return dataset.NewLive(from, d.Name, func(g *dataset.Generation) (i I, err error) {
		r, err := d.Open(g)
		if err != nil {
			return i, err
		}
		return any(r).(I), nil
	})
}

// States of a data set that is to be served.
const (
	Serving = "serving" // the published generation
	Stale   = "stale"   // an older one, because the published one does not open
	Damaged = "damaged" // one whose files turned out damaged; what is whole of it is served
	Failed  = "failed"  // nothing, although one is published
	Missing = "missing" // nothing is published
)

// State names the state that a status describes.
func State(st dataset.Status) string {
	switch {
	case st.Serving == nil && st.Err == nil && st.Published == 0:
		return Missing
	case st.Serving == nil:
		return Failed
	case st.Damage != nil:
		return Damaged
	case st.Err != nil:
		return Stale
	}
	return Serving
}

// AppendCredits adds the attributions that the sources of a generation ask for,
// each once. They are HTML, because maps show HTML.
func AppendCredits(credits []string, m *dataset.Manifest) []string {
	for _, src := range m.Sources {
		if c, _ := credit.Of(src.Attribution); c != "" && !slices.Contains(credits, c) {
			credits = append(credits, c)
		}
	}
	return credits
}
