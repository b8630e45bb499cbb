package tile

import (
	"cmp"
	"context"

	"quadrille/ask"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"
)

// A knownLayer is a layer of points with tiles and a look of its own. Those of other layers
// follow from their descriptions.
type knownLayer struct {
	description string
	fields      map[string]string // of vector tiles, for TileJSON
	write       func(ctx context.Context, from feature.Tiler, l *pointLayer) error
	// Names are placed after the names of regions, majorNames before the names of small regions.
	dots              func(p *palette) []styleLayer
	names, majorNames func(p *palette) styleLayer
}

var known = map[string]*knownLayer{
	ask.PlacesLayer: {
		description: "Populated and other places, the most important first",
		fields:      map[string]string{"id": "Number", "name": "String", "code": "String", "population": "Number"},
		write:       writePlaces,
		dots:        func(p *palette) []styleLayer { return []styleLayer{p.places(), p.capitals()} },
		names:       func(p *palette) styleLayer { return p.placeNames("_label", []any{"!", major}) },
		majorNames:  func(p *palette) styleLayer { return p.placeNames("_major_label", major) },
	},
	ask.AirportsLayer: {
		description: "Airports that are not closed, the most important first; rank 0 is for large ones with scheduled service",
		fields: map[string]string{
			"id": "Number", "name": "String", "type": "String", "iata": "String", "icao": "String", "scheduled": "Boolean", "rank": "Number",
		},
		write: writeAirports,
		dots:  func(p *palette) []styleLayer { return []styleLayer{p.airports()} },
		names: (*palette).airportNames,
	},
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
	return from.(ask.Places).TilePlaces(ctx, l.tile, func(p places.Shown) error {
		l.begin(p.ID, p.Lon, p.Lat, p.Name)
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

// fieldTypes are TileJSON's names of kinds of properties. Properties of other kinds are not in
// vector tiles.
var fieldTypes = map[feature.Kind]string{
	feature.Text: "String", feature.Time: "String", feature.Number: "Number", feature.Integer: "Number", feature.Boolean: "Boolean", feature.Any: "Mixed",
}

// describePoints is the vector layer of a layer of points in TileJSON.
func describePoints(name string, about *feature.Info) vectorLayer {
	l := vectorLayer{ID: name, collection: name, MaxZoom: dataZoom}
	if k := known[name]; k != nil {
		l.Fields, l.Description = k.fields, k.description
		return l
	}
	l.Fields = map[string]string{"id": "String", "cluster": "Boolean", "point_count": "Number"}
	for _, f := range about.Schema {
		if _, own := l.Fields[f.Name]; !own && fieldTypes[f.Kind] != "" {
			l.Fields[f.Name] = fieldTypes[f.Kind]
		}
	}
	l.MaxZoom = pointsZoom
	l.Description = cmp.Or(about.Title, "Points") + "; where there are many, clusters, of which point_count tells how many points they stand for"
	return l
}
