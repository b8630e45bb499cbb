package ask

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/feature"
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

// These are the names of the data sets that ingest publishes.
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

// Dataset describes a data set to code that manages generations but does not query them.
type Dataset struct {
	Name   string // as ingest publishes it
	Schema int    // version of the row layout: the one written, and the newest read
	// Uses are the data sets that its ingest uses if they are published. They come before it in
	// Datasets.
	Uses []string
}

// DatasetOf is a data set with generations that an R reads. Its fields must not change.
type DatasetOf[R any] struct {
	Dataset
	open func(*dataset.Generation) (R, error)
	// set returns the data set's field of Sets, and in its field of Moment. A data set without such
	// fields is stored by its name.
	set func(*Sets) **dataset.Live[R]
	in  func(*Moment) *Pinned[R]
	// layer returns the data set as a layer. It is nil if the data set is no layer.
	layer func(*Moment) *Layer
	// known is set if the properties of the layer are known at compile time, so that endpoints can
	// have texts for them.
	known bool
}

// The data sets. To add one to the server and all commands of ingest, add it here and to the list
// below.
var (
	Boundaries = &DatasetOf[*tiles.Reader]{
		Dataset: Dataset{Name: BoundariesName, Schema: tiles.SchemaVersion},
		open:    opener(tiles.OpenPublished),
		set:     func(s *Sets) **dataset.Live[*tiles.Reader] { return &s.Boundaries },
		in:      func(m *Moment) *Pinned[*tiles.Reader] { return &m.Boundaries.main },
	}
	Places = layered(&DatasetOf[*places.Finder]{
		Dataset: Dataset{Name: PlacesName, Schema: places.SchemaVersion},
		open:    opener(places.OpenPublished),
		set:     func(s *Sets) **dataset.Live[*places.Finder] { return &s.Places },
		in:      func(m *Moment) *Pinned[*places.Finder] { return &m.Places },
		known:   true,
	})
	TimeZones = &DatasetOf[*zones.Reader]{
		Dataset: Dataset{Name: TimeZonesName, Schema: zones.SchemaVersion},
		open:    opener(zones.OpenPublished),
		set:     func(s *Sets) **dataset.Live[*zones.Reader] { return &s.TimeZones },
		in:      func(m *Moment) *Pinned[*zones.Reader] { return &m.TimeZones },
	}
	Airports = layered(&DatasetOf[*airports.Finder]{
		Dataset: Dataset{Name: AirportsName, Schema: airports.SchemaVersion, Uses: zoned},
		open:    opener(airports.OpenPublished),
		set:     func(s *Sets) **dataset.Live[*airports.Finder] { return &s.Airports },
		in:      func(m *Moment) *Pinned[*airports.Finder] { return &m.Airports },
		known:   true,
	})
	Stations = layered(&DatasetOf[*stations.Finder]{
		Dataset: Dataset{Name: StationsName, Schema: stations.SchemaVersion, Uses: zoned},
		open:    opener(stations.OpenPublished),
		set:     func(s *Sets) **dataset.Live[*stations.Finder] { return &s.Stations },
		in:      func(m *Moment) *Pinned[*stations.Finder] { return &m.Stations },
		known:   true,
	})
	Names = &DatasetOf[*names.Reader]{
		Dataset: Dataset{Name: NamesName, Schema: names.SchemaVersion, Uses: []string{BoundariesName, PlacesName, AirportsName, StationsName}},
		open:    opener(names.OpenPublished),
		set:     func(s *Sets) **dataset.Live[*names.Reader] { return &s.Names },
		in:      func(m *Moment) *Pinned[*names.Reader] { return &m.Names },
	}
	Weather = &DatasetOf[*stations.Weather]{
		Dataset: Dataset{Name: WeatherName, Schema: stations.SchemaVersion, Uses: []string{StationsName}},
		open:    opener(stations.OpenPublishedWeather),
		set:     func(s *Sets) **dataset.Live[*stations.Weather] { return &s.Weather },
		in:      func(m *Moment) *Pinned[*stations.Weather] { return &m.Weather },
	}
	// Addresses is the IP ranges with their index, if there is one, which is faster than
	// AddressTable.
	Addresses = &DatasetOf[AddressReader]{
		Dataset: AddressTable.Dataset,
		open:    openAddresses,
		set:     func(s *Sets) **dataset.Live[AddressReader] { return &s.Addresses },
		in:      func(m *Moment) *Pinned[AddressReader] { return &m.Addresses },
	}
	AddressTable = &DatasetOf[*ipgeo.Reader]{
		Dataset: Dataset{Name: AddressesName, Schema: ipgeo.Layout, Uses: zoned},
		open:    opener(ipgeo.OpenPublished),
	}
)

// builtIn are the data sets of the server, in the order in which they are ingested.
var builtIn = []described{Boundaries, Places, TimeZones, Airports, Stations, Names, Weather, Addresses}

// zoned are the data sets that determine the time zone of a point.
var zoned = []string{BoundariesName, PlacesName, TimeZonesName}

func opener[R any](open func(context.Context, cellstore.Published) (R, error)) func(*dataset.Generation) (R, error) {
	return func(g *dataset.Generation) (R, error) { return open(context.Background(), g) }
}

// layered makes a data set a layer of the same name.
func layered[R feature.Layer](d *DatasetOf[R]) *DatasetOf[R] {
	d.layer = func(m *Moment) *Layer {
		return layerOf(d.PinnedIn(m), d.Name, func(of R) (feature.Layer, error) { return of, nil })
	}
	return d
}

// Datasets lists the data sets in the order in which they are ingested.
var Datasets = func() (list []Dataset) {
	for _, d := range builtIn {
		list = append(list, *d.about())
	}
	return list
}()

// DatasetNames returns the names of data sets, in order.
func DatasetNames(list []Dataset) []string {
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Name
	}
	return names
}

// CollectionPrefix is the prefix of the names of data sets that are collections of points.
const CollectionPrefix = "points-"

// CollectionOf returns the collection with the given name. Collections are data sets with names
// that users choose, so they are not in Datasets.
func CollectionOf(name string) *DatasetOf[*points.Collection] {
	return &DatasetOf[*points.Collection]{
		Dataset: Dataset{Name: CollectionPrefix + name, Schema: points.SchemaVersion},
		open:    opener(points.OpenPublished),
	}
}

// FindDataset returns the description of a data set.
func FindDataset(name string) (d Dataset, ok bool) {
	if collection, found := strings.CutPrefix(name, CollectionPrefix); found && live.CheckName(collection) == nil {
		return CollectionOf(collection).Dataset, true
	}
	if set, found := strings.CutPrefix(name, RegionSetPrefix); found && live.CheckName(set) == nil {
		return RegionSetOf(set).Dataset, true
	}
	i := slices.IndexFunc(Datasets, func(d Dataset) bool { return d.Name == name })
	if i < 0 {
		return d, false
	}
	return Datasets[i], true
}

// described is a data set with readers of any type.
type described interface {
	about() *Dataset
	follow(s *Sets, from *dataset.Generations, notify func(dataset.Status))
	// live returns the dataset.Live that follows it, or nil if there is none.
	live(s *Sets) LiveDataset
	// pin holds the generation with the given number, or the newest one for nil.
	pin(s *Sets, m *Moment, number *uint64)
	// pinned reports whether the generation that pin held is still in service.
	pinned(s *Sets, m *Moment) bool
	// asLayer returns the data set as a layer, or nil if it is not a layer. tiled reports whether
	// it has tiles, encloses reports whether it is a feature.Encloser, and listed reports whether
	// there are endpoints that list it.
	asLayer() func(*Moment) *Layer
	tiled() bool
	encloses() bool
	listed() bool
}

// LiveDataset is a data set in service with readers of any type: a dataset.Live.
type LiveDataset interface {
	Poll(ctx context.Context) error
	Run(ctx context.Context) error
	Status() dataset.Status
	Watch(changed func())
	Close() error
}

// Open opens the reader of a generation.
func (d *DatasetOf[R]) Open(g *dataset.Generation) (R, error) { return d.open(g) }

// Live serves the published generation, once it is polled.
func (d *DatasetOf[R]) Live(from *dataset.Generations) *dataset.Live[R] {
	return dataset.NewLive(from, d.Name, d.open)
}

func (d *DatasetOf[R]) about() *Dataset { return &d.Dataset }

func (d *DatasetOf[R]) follow(s *Sets, from *dataset.Generations, notify func(dataset.Status)) {
	l := d.Live(from)
	l.Notify = notify
	switch {
	case d.set != nil:
		*d.set(s) = l
	case s.others == nil:
		s.others = map[string]any{d.Name: l}
	default:
		s.others[d.Name] = l
	}
}

// of returns the dataset.Live that follows it, or nil if there is none.
func (d *DatasetOf[R]) of(s *Sets) *dataset.Live[R] {
	if d.set != nil {
		return *d.set(s)
	}
	l, _ := s.others[d.Name].(*dataset.Live[R])
	return l
}

func (d *DatasetOf[R]) live(s *Sets) LiveDataset {
	if l := d.of(s); l != nil {
		return l
	}
	return nil
}

// PinnedIn returns the data set's generation in a moment.
func (d *DatasetOf[R]) PinnedIn(m *Moment) *Pinned[R] {
	if d.in != nil {
		return d.in(m)
	}
	return m.others[d.Name].(*Pinned[R])
}

func (d *DatasetOf[R]) pin(s *Sets, m *Moment, number *uint64) {
	if d.in == nil {
		m.others[d.Name] = new(Pinned[R])
	}
	p, l := d.PinnedIn(m), d.of(s)
	if number == nil {
		*p = Pin(l)
	} else {
		*p = PinGeneration(l, *number)
	}
	m.hold(p.Handle != nil, p.Handle)
}

func (d *DatasetOf[R]) pinned(s *Sets, m *Moment) bool {
	l := d.of(s)
	return l == nil || l.Serves(d.PinnedIn(m).Handle)
}

func (d *DatasetOf[R]) asLayer() func(*Moment) *Layer { return d.layer }

func (d *DatasetOf[R]) tiled() bool { return is[feature.Tiler](d) }

func (d *DatasetOf[R]) encloses() bool { return is[feature.Encloser](d) }

// is reports whether a data set is a layer that also implements I, even while it cannot be read.
func is[I, R any](d *DatasetOf[R]) bool {
	return d.layer != nil && reflect.TypeFor[R]().Implements(reflect.TypeFor[I]())
}

func (d *DatasetOf[R]) listed() bool { return d.known }

// IsPoints reports whether a data set is a collection of points.
func IsPoints(name string) bool {
	return strings.HasPrefix(name, CollectionPrefix) || slices.ContainsFunc(builtIn, func(d described) bool {
		_, ok := d.(*DatasetOf[*points.Collection])
		return ok && d.about().Name == name
	})
}

// FollowOptions configures how data sets are followed. PublishedSets uses the zero value.
type FollowOptions struct {
	// Notify is called after every change of the state of a data set; see dataset.Live. It may be nil.
	Notify func(dataset.Status)
	// AddressTable makes addresses answer from their table even if there is an index.
	AddressTable bool
}

// Sets returns the published data sets, except data sets that users name. Each serves its newest
// generation once Poll has run. The caller closes them.
func (f FollowOptions) Sets(from *dataset.Generations) (s Sets) {
	for _, d := range builtIn {
		d.follow(&s, from, f.Notify)
	}
	if f.AddressTable {
		table := *Addresses
		table.open = func(g *dataset.Generation) (AddressReader, error) { return AddressTable.open(g) }
		table.follow(&s, from, f.Notify)
	}
	return s
}

// PublishedSets returns the published data sets, like FollowOptions.Sets with the zero value.
func PublishedSets(from *dataset.Generations) Sets { return FollowOptions{}.Sets(from) }

// datasets returns the data sets of the server and of Sets.ExtraLayers.
func (s *Sets) datasets() []described {
	if len(s.ExtraLayers) == 0 {
		return builtIn
	}
	all := slices.Clone(builtIn)
	for _, kind := range s.ExtraLayers {
		all = append(all, kind.described)
	}
	return all
}

// LiveDatasets returns the followed data sets, in the order of Datasets. It leaves out the groups
// of data sets that users name, and Sets.ExtraLayers.
func (s *Sets) LiveDatasets() (list []LiveDataset) {
	for _, d := range builtIn {
		if l := d.live(s); l != nil {
			list = append(list, l)
		}
	}
	return list
}

// Poll takes the newest generation of each data set into service, as dataset.Live.Poll does.
// If the newest cannot be opened, the generation in service stays.
func (s *Sets) Poll(ctx context.Context) error {
	var errs []error
	for _, l := range s.LiveDatasets() {
		errs = append(errs, l.Poll(ctx))
	}
	return errors.Join(errs...)
}

// Close takes all data sets, except data sets that users name, out of service, and waits until all
// handles to them are released.
func (s *Sets) Close() error {
	var errs []error
	for _, l := range s.LiveDatasets() {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
