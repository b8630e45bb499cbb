package tile

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"quadrille/ask"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/quadkey"
)

// A knownLayer is a layer of points with tiles of its own, and a look in knownLooks. Tiles and
// looks of other layers follow from their descriptions.
type knownLayer struct {
	description string
	fields      map[string]string // of vector tiles, for TileJSON
	write       func(ctx context.Context, from feature.Tiler, l *pointLayer) error
}

var known = map[string]*knownLayer{
	ask.PlacesLayer: {
		description: "Populated and other places, the most important first",
		fields:      map[string]string{"id": "Number", "name": "String", "code": "String", "population": "Number"},
		write:       writePlaces,
	},
	ask.AirportsLayer: {
		description: "Airports that are not closed, the most important first; rank 0 is for large ones with scheduled service",
		fields: map[string]string{
			"id": "Number", "name": "String", "type": "String", "iata": "String", "icao": "String", "scheduled": "Boolean", "rank": "Number",
		},
		write: writeAirports,
	},
}

// placeTiler is what tiles of places are made from: a *places.Finder, or doubled.
type placeTiler interface {
	feature.Tiler
	TilePlaces(ctx context.Context, t quadkey.Tile, fn func(places.Shown) error) error
	NameIn(ctx context.Context, id uint32, lang string) (string, bool, error)
}

// doubled are places for maps that draw tiles twice as large: a tile shows what the four tiles in
// it show. No place is in two of them.
type doubled struct{ *places.Finder }

func (d doubled) Tile(ctx context.Context, t quadkey.Tile) iter.Seq2[*feature.Feature, error] {
	return feature.Answer(func(fn func(*feature.Feature) error) error {
		var all []feature.Feature
		for _, part := range t.Children() {
			for f, err := range d.Finder.Tile(ctx, part) {
				if err != nil {
					return err
				}
				all = append(all, f.Clone())
			}
		}
		slices.SortStableFunc(all, func(a, b feature.Feature) int { return cmp.Compare(places.Importance(&b), places.Importance(&a)) })
		for i := range all {
			if err := fn(&all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d doubled) TilePlaces(ctx context.Context, t quadkey.Tile, fn func(places.Shown) error) error {
	return feature.Each(d.Tile(ctx, t), func(f *feature.Feature) error {
		population, _ := f.Properties.Lookup("population")
		people, _ := population.Integer()
		return fn(places.Shown{ID: uint32(f.Number), Lat: f.Lat, Lon: f.Lon, Name: f.Name(), Code: f.Properties.Text("code"), Population: people})
	})
}

// known divides the layers of points of a set into those with a knownLayer and the others.
func (set *layerSet) known() (well, others []string) {
	for _, name := range set.points {
		if known[name] != nil {
			well = append(well, name)
		} else {
			others = append(others, name)
		}
	}
	return well, others
}

func writePlaces(ctx context.Context, from feature.Tiler, l *pointLayer) error {
	return from.(placeTiler).TilePlaces(ctx, l.tile, func(p places.Shown) error {
		local, err := l.names.of(ctx, from, p.ID)
		if err != nil {
			return err
		}
		if local != "" && l.names.instead {
			p.Name, local = local, ""
		}
		l.begin(p.ID, p.Lon, p.Lat, p.Name)
		l.text(l.names.key(), shorten(local))
		l.text("code", p.Code)
		if p.Population > 0 {
			l.TagInt("population", p.Population)
		}
		l.End()
		return nil
	})
}

func writeAirports(ctx context.Context, from feature.Tiler, l *pointLayer) error {
	for a, err := range from.Tile(ctx, l.tile) {
		if err != nil {
			return err
		}
		typ, iata := a.Properties.Text("type"), a.Properties.Text("iata")
		service, _ := a.Properties.Lookup("scheduled")
		scheduled, _ := service.Boolean()
		l.begin(uint32(a.Number), a.Lon, a.Lat, a.Name())
		l.TagString("type", typ)
		l.text("iata", iata)
		l.text("icao", a.Properties.Text("icao"))
		l.TagBool("scheduled", scheduled)
		l.TagInt("rank", int64(airports.Rank(typ, scheduled, iata)))
		l.End()
	}
	return nil
}

// pointsZoom is the deepest zoom of tiles of layers without a knownLayer. Their clusters
// dissolve zoom by zoom, so clients must ask for deep tiles and not enlarge others.
const pointsZoom = 22

// dataZoom is the deepest zoom that is stored. Beyond it clients enlarge its
// tiles, although the server would cut them too.
const dataZoom = 13

// deepest is the deepest zoom of a tileset. Clients enlarge vector tiles of stored data, as
// TileJSON tells them too. Pictures are drawn anew with their names.
func (set *layerSet) deepest(drawn bool) int {
	if drawn {
		return quadkey.MaxZoom
	}
	if slices.ContainsFunc(set.points, func(name string) bool { return known[name] == nil }) {
		return pointsZoom
	}
	return dataZoom
}
