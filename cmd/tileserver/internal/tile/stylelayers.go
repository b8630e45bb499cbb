package tile

import (
	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/look"
)

// fill draws the regions of a type: the land in the colours of the map, its parts
// as shades of it.
func (p *palette) fill(typ string) styleLayer {
	l := of(typ, typ, "fill")
	m := &p.Map
	switch {
	case typ == "lake":
		l.Paint["fill-color"] = m.Lake.CSS()
	case typ == "urban":
		l.Paint["fill-color"], l.Paint["fill-opacity"] = m.Urban.CSS(), 0.6
		l.MinZoom = 3
	case typ == p.land || typ == "country":
		l.Paint["fill-color"] = byNumber(m.Land)
	case typ == "state":
		l.Paint["fill-color"], l.Paint["fill-opacity"] = byNumber(m.Shade), m.ShadeStrength
		l.MinZoom = 2
	case typ == "county":
		l.Paint["fill-color"], l.Paint["fill-opacity"] = byNumber(m.Shade), m.ShadeStrength/2
		l.MinZoom = 5
	default:
		l.Paint["fill-color"], l.Paint["fill-opacity"] = byNumber(m.Land), 0.4
	}
	// Neighbours meet exactly: smoothing their edges would show the water
	// between them.
	l.Paint["fill-antialias"] = false
	return p.shown(l, typ)
}

// shown hides layers that cover the land and are seldom wanted: clients can show them.
func (p *palette) shown(l styleLayer, typ string) styleLayer {
	if typ == "timezone" && typ != p.land {
		if l.Layout == nil {
			l.Layout = map[string]any{}
		}
		l.Layout["visibility"] = "none"
	}
	return l
}

// line draws the borders of a type: borders between two of its regions, and
// stronger ones where no region of the type lies beyond. There it is mostly a
// coast.
func (p *palette) line(typ string) styleLayer {
	l := of(typ+"_line", typ+"_line", "line")
	l.Layout = map[string]any{"line-join": "round", "line-cap": "round"}
	m := &p.Map
	color, thin, thick := m.Border.Other, 0.4, 1.2
	switch typ {
	case "continent", "country":
		color, thin, thick = m.Border.Country, 0.6, 1.8
	case "state":
		color, thin, thick = m.Border.State, 0.4, 1.3
		l.MinZoom = 2
	case "county":
		color, thin, thick = m.Border.County, 0.3, 1
		l.MinZoom = 5
	case "lake":
		color = m.Coast
	}
	between := []any{"all", []any{"has", "left"}, []any{"has", "right"}}
	either := func(border, coast any) []any { return []any{"case", between, border, coast} }
	if typ != p.land && (typ == "state" || typ == "county") {
		l.Filter = between // the shore belongs to the land that these divide
	}
	l.Paint["line-color"] = either(color.CSS(), m.Coast.CSS())
	l.Paint["line-width"] = byZoom(2, either(thin, thin+0.4), 10, either(thick, thick+0.4))
	return p.shown(l, typ)
}

// These are expressions about a feature of the places layer.
var (
	population = []any{"to-number", []any{"get", "population"}, 0}
	capital    = []any{"==", []any{"get", "code"}, "PPLC"}
	// weight is how much a place counts beside others. A capital of 200,000 people
	// counts like a city with two million more, but not like the greatest of the
	// world.
	weight = []any{"+", population, []any{"case", []any{"all", capital, []any{">=", population, 200000}}, 2000000, 0}}
	// major are the places that come before the names of states.
	major = []any{">=", weight, 1000000}
	// worthShowing leaves out the many small places while the map shows half the
	// world: the tiles fill empty stretches with whatever is there.
	worthShowing = []any{">=", weight, []any{"step", []any{"zoom"}, 500000, 2, 150000, 3, 50000, 4, 5000, 5, 0}}
)

func (p *palette) places() styleLayer {
	l := of(ask.PlacesLayer, ask.PlacesLayer, "circle")
	l.Filter = []any{"all", []any{"!", capital}, worthShowing}
	// From a village to a city of ten million.
	size := func(small, large float64) []any {
		return []any{"interpolate", []any{"linear"}, []any{"log10", []any{"max", population, 1}}, 3, small, 7, large}
	}
	l.Paint["circle-radius"] = byZoom(1, size(0.6, 2.2), 9, size(2, 5))
	l.Paint["circle-color"] = p.Map.Dot.CSS()
	l.Paint["circle-stroke-color"] = p.Map.Rim.CSS()
	l.Paint["circle-stroke-width"] = byZoom(2, 0.4, 8, 1)
	return l
}

// capitals have a ring.
func (p *palette) capitals() styleLayer {
	l := of(ask.PlacesLayer, ask.PlacesLayer+"_capital", "circle")
	l.Filter = []any{"all", capital, worthShowing}
	l.Paint["circle-radius"] = byZoom(1, 1.6, 9, 4)
	l.Paint["circle-color"] = p.Map.Rim.CSS()
	l.Paint["circle-stroke-color"] = p.Label.Capital.CSS()
	l.Paint["circle-stroke-width"] = byZoom(1, 1, 9, 2)
	return l
}

func (p *palette) airports() styleLayer {
	l := of(ask.AirportsLayer, ask.AirportsLayer, "circle")
	l.MinZoom = 5
	l.Paint["circle-radius"] = byZoom(5, 1.5, 10, 4)
	l.Paint["circle-color"] = p.Map.Rim.CSS()
	l.Paint["circle-stroke-color"] = p.Map.Airport.CSS()
	l.Paint["circle-stroke-width"] = byZoom(5, 1, 10, 2)
	return l
}

// text writes names in the look of a rank.
func (p *palette) text(layer, id, rank string) styleLayer {
	l := of(layer, id, "symbol")
	r := look.GetNames().Looks[rank]
	l.Layout = map[string]any{"text-field": []any{"get", "name"}, "text-size": r.Size, "text-max-width": 8}
	if r.Spacing > 0 {
		l.Layout["text-letter-spacing"] = r.Spacing
	}
	if r.Transform != "none" {
		l.Layout["text-transform"] = r.Transform
	}
	l.Paint = map[string]any{"text-color": p.Label.Ink(r.Ink).CSS(), "text-halo-color": p.Label.Halo.CSS(), "text-halo-width": 1.4}
	return l
}

// names writes the names of regions, beginning with large regions.
func (p *palette) names(typ string) styleLayer {
	rank := map[string]string{"continent": "country-large", "country": "country", "state": "state", "lake": "water"}[typ]
	if rank == "" {
		rank = "county"
	}
	l := p.text(typ+"_label", typ+"_label", rank)
	ranks := look.GetNames().Looks
	switch typ {
	case "country":
		small, middle, large := ranks["country-small"], ranks["country"], ranks["country-large"]
		// Large countries have large names, and islets none until they are seen.
		bySize := func(most, least float64) []any { return []any{"step", []any{"get", "rank"}, most, 60, least} }
		l.Layout["text-size"] = []any{"interpolate", []any{"linear"}, []any{"zoom"},
			1, bySize(middle.Size, small.Size), 4, bySize(large.Size, middle.Size), 6, large.Size}
		l.Filter = []any{"<", []any{"get", "rank"}, []any{"step", []any{"zoom"}, 140, 3, 190, 4, 210, 5, 1000000}}
		l.Layout["text-transform"] = []any{"step", []any{"zoom"}, small.Transform, 3, large.Transform}
		l.Layout["text-letter-spacing"] = []any{"step", []any{"zoom"}, small.Spacing, 3, middle.Spacing, 5, large.Spacing}
	case "state":
		l.MinZoom = 3
		l.Filter = []any{"<", []any{"get", "rank"}, []any{"step", []any{"zoom"}, 40, 4, 200, 5, 1000000}}
	case "lake":
		l.MinZoom = 4
	case "county", "urban":
		l.MinZoom = 7
	}
	l.Layout["symbol-sort-key"] = []any{"get", "rank"}
	return p.shown(l, typ)
}

// placeNames writes the names of some places below their dots. Those of large
// cities are larger.
func (p *palette) placeNames(ending string, which []any) styleLayer {
	l := p.text(ask.PlacesLayer, ask.PlacesLayer+ending, "major")
	ranks := look.GetNames().Looks
	l.MinZoom = 2
	l.Filter = []any{"all", which, worthShowing}
	rise := []any{"step", weight, ranks["town"].Size, 20000, ranks["city"].Size, 500000, ranks["major"].Size, 5000000, ranks["capital"].Size}
	l.Layout["text-size"] = byZoom(2, []any{"*", rise, 0.85}, 8, rise)
	l.Paint["text-color"] = []any{"case", capital, p.Label.Capital.CSS(), []any{"<", weight, 20000}, p.Label.Quiet.CSS(), p.Label.City.CSS()}
	l.Layout["text-variable-anchor"] = []string{"left", "right", "top", "bottom"}
	l.Layout["text-radial-offset"] = 0.5
	l.Layout["text-justify"] = "auto"
	l.Layout["symbol-sort-key"] = []any{"-", weight}
	return l
}

// airportNames writes the names of airports below their dots.
func (p *palette) airportNames() styleLayer {
	l := p.text(ask.AirportsLayer, ask.AirportsLayer+"_label", "town")
	l.MinZoom = 7
	l.Layout["text-anchor"], l.Layout["text-offset"], l.Layout["text-optional"] = "top", []float64{0, 0.5}, true
	l.Layout["symbol-sort-key"] = []any{"get", "rank"}
	l.Paint["text-color"] = p.Map.Airport.CSS()
	return l
}

// A knownLook is how styles draw a knownLayer. Names are placed after those of regions,
// majorNames before those of small ones.
type knownLook struct {
	dots              func(p *palette) []styleLayer
	names, majorNames func(p *palette) styleLayer
}

var knownLooks = map[string]*knownLook{
	ask.PlacesLayer: {
		dots:       func(p *palette) []styleLayer { return []styleLayer{p.places(), p.capitals()} },
		names:      func(p *palette) styleLayer { return p.placeNames("_label", []any{"!", major}) },
		majorNames: func(p *palette) styleLayer { return p.placeNames("_major_label", major) },
	},
	ask.AirportsLayer: {
		dots:  func(p *palette) []styleLayer { return []styleLayer{p.airports()} },
		names: (*palette).airportNames,
	},
}
