package ogc

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	datasets "quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/feature"
	"quadrille/places/points"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Ids of collections that are not named by the data. The others are the layers of regions,
// and pointsPrefix with the name of a collection of points: the names of the layers of tiles.
const (
	placesID     = "places"
	airportsID   = "airports"
	stationsID   = "stations"
	pointsPrefix = "points:"
)

// collection is one that is there for a request. Release it.
type collection struct {
	id, title, description, attribution string
	bounds                              quadkey.Box
	count                               int64 // of features, 0 if it is not known
	fields                              []field
	live                                bool   // answers are of the moment
	history                             bool   // datetime says when
	lasting                             bool   // its features have a begin and an end
	seen                                string // the one property that is a time
	from                                []uint64
	source                              source
	release                             func()
}

// field is a property that features have, with its type as JSON schemas name it.
type field struct{ Name, Type string }

var text, numeric = "string", "number"

// The members of the records that searches give.
var (
	placeFields = []field{
		{"id", "integer"}, {"name", text}, {"country", text}, {"class", text}, {"code", text}, {"population", "integer"}, {"admin1", text}, {"admin1_name", text},
		{"timezone", text}, {"lat", numeric}, {"lon", numeric},
	}
	airportFields = []field{
		{"id", "integer"}, {"name", text}, {"country", text}, {"timezone", text}, {"type", text}, {"scheduled", "boolean"}, {"ident", text}, {"iata", text},
		{"icao", text}, {"municipality", text}, {"elevation_m", numeric}, {"lat", numeric}, {"lon", numeric},
	}
	stationFields = []field{
		{"id", text}, {"usaf", text}, {"wban", text}, {"name", text}, {"country", text}, {"state", text}, {"icao", text}, {"elevation_m", numeric},
		{"begin", text}, {"end", text}, {"lat", numeric}, {"lon", numeric},
	}
)

// names lists the collections that are published, those that all may see.
func (s *Room) names() (all []string) {
	p := datasets.Pin(s.Boundaries)
	if b, err := p.Get(); err == nil {
		for _, t := range b.Types() {
			all = append(all, t.Name)
		}
	}
	p.Release()
	for _, one := range []struct {
		id        string
		published bool
	}{{placesID, isPublished(s.Places)}, {airportsID, isPublished(s.Airports)}, {stationsID, isPublished(s.Stations)}} {
		if one.published {
			all = append(all, one.id)
		}
	}
	for _, name := range s.Collections.Names() {
		if c, err := s.takePoints(pointsPrefix+name, name); err == nil {
			all = append(all, c.id)
			c.release()
		}
	}
	return all
}

func isPublished[T any](live *dataset.Live[T]) bool {
	p := datasets.Pin(live)
	defer p.Release()
	return !errors.Is(p.Err, datasets.ErrMissing)
}

// open takes a collection. The error of one that is not there lists those that are.
func (s *Room) open(id string) (*collection, error) {
	c, err := s.take(id)
	if err == nil {
		return c, nil
	}
	if errors.Is(err, datasets.ErrMissing) || errors.Is(err, points.ErrNoCollection) {
		err = s.noCollection()
	}
	return nil, err
}

func (s *Room) take(id string) (*collection, error) {
	switch id {
	case placesID:
		return pinned(s.Places, func(f datasets.Places, c *collection) {
			*c = collection{id: id, title: "Places", description: "Cities, towns, villages and other named places.", fields: placeFields, source: placeSource{Places: f}}
		})
	case airportsID:
		return pinned(s.Airports, func(f datasets.Airports, c *collection) {
			*c = collection{id: id, title: "Airports", description: "Airports, closed ones too.", fields: airportFields, source: airportSource{Airports: f}}
		})
	case stationsID:
		return pinned(s.Stations, func(f datasets.Stations, c *collection) {
			*c = collection{id: id, title: "Weather stations", description: "Stations that observe the weather, with the days of their first and last observation.",
				fields: stationFields, lasting: true, source: stationSource{Stations: f}}
		})
	}
	if name, ok := strings.CutPrefix(id, pointsPrefix); ok {
		return s.takePoints(id, name)
	}
	var of *tiles.TypeMeta
	c, err := pinned(s.Boundaries, func(b datasets.Boundaries, c *collection) {
		i := slices.IndexFunc(b.Types(), func(t tiles.TypeMeta) bool { return t.Name == id })
		if i < 0 {
			return
		}
		of = &b.Types()[i]
		c.id, c.title, c.description = id, title(id), "Regions of the layer "+id+"."
		c.bounds, c.count = quadkey.Box{West: of.Bounds[0], South: of.Bounds[1], East: of.Bounds[2], North: of.Bounds[3]}, int64(of.Regions)
		c.fields = regionFields(of)
		c.source = &regions{Boundaries: b, layer: id}
	})
	if err == nil && of == nil {
		c.release()
		return nil, s.noCollection()
	}
	return c, err
}

// pinned takes a data set as a collection.
func pinned[T any](live *dataset.Live[T], describe func(T, *collection)) (*collection, error) {
	p := datasets.Pin(live)
	of, err := p.Get()
	if err != nil {
		p.Release()
		return nil, err
	}
	c := &collection{bounds: quadkey.World}
	describe(of, c)
	if c.bounds == (quadkey.Box{}) {
		c.bounds = quadkey.World
	}
	if p.Handle != nil {
		c.attribution = attribution(p.Handle.Manifest())
	}
	c.from, c.release = []uint64{p.ID}, p.Release
	return c, nil
}

func (s *Room) takePoints(id, name string) (*collection, error) {
	p := s.Collections.Pin(name)
	of, err := p.Get()
	if err == nil && of.Meta().Private || datasets.OfPrivate(err) {
		err = points.ErrNoCollection
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	m := of.Meta()
	c := &collection{
		id: id, title: cmp.Or(m.Title, title(name)), description: "Points of the collection " + name + ".", attribution: m.Attribution, bounds: quadkey.World,
		count: m.Points, live: p.Live != nil || m.Expiring, history: p.Live != nil && m.History > 0, from: p.From(), source: collectionSource{Collection: of}, release: p.Release,
	}
	if m.Expiring {
		c.count = 0
	}
	if m.Bounds != [4]float64{} {
		c.bounds = quadkey.Box{West: m.Bounds[0], South: m.Bounds[1], East: m.Bounds[2], North: m.Bounds[3]}
	}
	types := map[feature.Kind]string{feature.Text: text, feature.Number: numeric, feature.Boolean: "boolean", feature.Time: text, feature.Texts: "array"}
	times := 0
	for _, f := range m.Schema {
		c.fields = append(c.fields, field{f.Name, types[f.Kind]})
		if f.Kind == feature.Time {
			c.seen = f.Name
			times++
		}
	}
	if times != 1 {
		c.seen = ""
	}
	return c, nil
}

// regionFields are those of the tiles of a layer, the most usual first.
func regionFields(of *tiles.TypeMeta) []field {
	all := []field{{"id", text}, {"name", text}}
	types := map[string]string{"String": text, "Number": numeric, "Boolean": "boolean"}
	for _, name := range slices.Sorted(maps.Keys(of.Fields)) {
		if name != "id" && name != "name" && name != "type" && name != "merged" { // which tiles alone have
			all = append(all, field{name, types[of.Fields[name]]})
		}
	}
	return all
}

// title makes one of a name such as time_zone.
func title(name string) string {
	words := strings.NewReplacer("_", " ", "-", " ").Replace(name)
	return strings.ToUpper(words[:1]) + words[1:]
}

// attribution joins those of the sources of a generation.
func attribution(m *dataset.Manifest) string {
	if m == nil {
		return ""
	}
	var all []string
	for _, source := range m.Sources {
		if source.Attribution != "" && !slices.Contains(all, source.Attribution) {
			all = append(all, source.Attribution)
		}
	}
	return strings.Join(all, " · ")
}

// links are those of the description of a collection.
func (s *Room) links(base string, c *collection) []ogcapi.Link {
	here := ogcapi.Collection(base, c.id)
	all := []ogcapi.Link{
		{Href: here + "?f=json", Rel: "self", Type: ogcapi.TypeJSON, Title: "This document"},
		{Href: here + "?f=html", Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This document as a page"},
		{Href: here + "/items?f=json", Rel: "items", Type: ogcapi.TypeGeoJSON, Title: "The features"},
		{Href: here + "/items?f=html", Rel: "items", Type: ogcapi.TypeHTML, Title: "The features as a table"},
		{Href: here + "/queryables?f=json", Rel: ogcapi.RelQueryables, Type: ogcapi.TypeSchema, Title: "The properties that filters may name"},
	}
	for _, p := range s.parts {
		if p.Collection != nil {
			all = append(all, p.Collection(base, c.id)...)
		}
	}
	return all
}
