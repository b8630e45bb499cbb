package raster

import "image/color"

// Palette is the colours of a political map.
type Palette struct {
	Water color.NRGBA // transparent for a map over another one
	Land  []color.NRGBA
	// Shades are laid over the land to distinguish its parts, with a strength of 0
	// to 1.
	Shades             []color.NRGBA
	ShadeStrength      float64
	Lake, River, Urban color.NRGBA
	// Lines: coasts, and borders by the type of the regions that they separate.
	Coast, Country, State, County, Other color.NRGBA
	// Names by what they name.
	CountryName, StateName, CountyName, PlaceName, WaterName, Halo color.NRGBA
	Dot, Rim, Airport, Point                                       color.NRGBA
}

// PoliticalStyle is a quiet political map. Land has muted colours. Coasts are
// stronger than borders, and borders of countries are stronger than borders
// within them. States shade the land beneath them.
func PoliticalStyle(p *Palette) Style {
	casing := p.Halo
	casing.A /= 3
	line := func(width float64, c color.NRGBA, casingWidth float64, from int) Line {
		return Line{Width: width, Color: c, Casing: casingWidth, Around: casing, From: from}
	}
	dashed := func(l Line) Line {
		l.Dashed = true
		return l
	}
	light := func(l Line) Line {
		l.Light = 7
		return l
	}
	text := func(size float64, c color.NRGBA, share float64) Text {
		return Text{Size: size, Color: c, Halo: p.Halo, Share: share}
	}
	bold := func(t Text) Text {
		t.Bold = true
		return t
	}
	land := Fill{p.Land, 1}
	one := func(c color.NRGBA, opacity float64) Fill { return Fill{[]color.NRGBA{c}, opacity} }
	return Style{
		Land:  land,
		Water: p.Water,
		Types: map[string]Type{
			"continent": {
				Order: 0, Fill: land, Border: line(1.4, p.Country, 0.8, 0), Coast: line(1.5, p.Coast, 0, 0),
				Text: bold(text(14, p.CountryName, 0)),
			},
			"country": {
				Order: 1, Fill: land, Border: line(1.2, p.Country, 0.8, 0), Coast: light(line(1.2, p.Coast, 0, -4)),
				Text: bold(text(12, p.CountryName, 6)),
			},
			"timezone": {
				Order: 2, Lands: true, Fill: Fill{p.Land, 0.3}, Border: line(0.6, p.County, 0, 2), Coast: line(0.6, p.Coast, 0, 0),
				Text: text(11, p.StateName, 4),
			},
			"state": {
				Order: 3, Parts: true, Fill: Fill{p.Shades, p.ShadeStrength}, Border: dashed(line(0.9, p.State, 0, 2)), Coast: line(0.7, p.Coast, 0, 2),
				Text: text(11, p.StateName, 0.6),
			},
			"county": {
				Order: 4, Parts: true, First: 5, Border: line(0.6, p.County, 0, 5), Coast: line(0.5, p.Coast, 0, 5),
				Text: text(10, p.CountyName, 0.15),
			},
			"urban": {Order: 7, Fill: one(p.Urban, 0.55)}, // places name them
			// Lines have nothing on either side, as coasts have on one.
			"river":  {Order: 8, Coast: line(1.2, p.River, 0, 3)},
			"road":   {Order: 7, Coast: line(0.8, p.Other, 0, 5)},
			"marine": {Order: 4, Text: text(11, p.WaterName, 0)},
			"lake": {
				Order: 8, Fill: one(p.Lake, 1), Border: line(0.6, p.Coast, 0, 3), Coast: line(0.8, p.Coast, 0, 3),
				Text: text(10, p.WaterName, 0.1),
			},
			"places": {Order: 9, Text: text(10.5, p.PlaceName, 0), Dot: Dot{Radius: 2, Color: p.Dot, Rim: p.Rim}},
			"airports": {
				Order: 10, Text: text(9.5, p.Airport, 0), Dot: Dot{Radius: 2, Color: p.Rim, Rim: p.Airport, Share: 1},
			},
			"points": {Order: 11, Marker: true, Text: text(9.5, p.Point, 0), Dot: Dot{Radius: 3, Color: p.Point, Rim: p.Rim}},
		},
		Other: Type{
			Order: 6, Fill: Fill{p.Land, 0.4}, Border: line(0.9, p.Other, 0.5, 1), Coast: line(0.8, p.Coast, 0, 1),
			Text: text(11, p.StateName, 1), Dot: Dot{Radius: 2, Color: p.Dot, Rim: p.Rim},
		},
	}
}
