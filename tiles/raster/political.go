package raster

import "image/color"

// Palette has the colours of a political map.
type Palette struct {
	Water color.NRGBA // transparent for a map over another one
	Land  []color.NRGBA
	// Shades are blended over the land to distinguish its parts, with a strength of 0 to 1.
	Shades             []color.NRGBA
	ShadeStrength      float64
	Lake, River, Urban color.NRGBA
	// These are the colours of lines: coasts, and borders by the type of the regions that they
	// separate.
	Coast, Country, State, County, Other color.NRGBA
	Halo, Dot, Rim, Airport, Point       color.NRGBA
}

// PoliticalStyle returns the style of a quiet political map. Land has muted colours. Coasts are
// stronger than borders, and borders of countries are stronger than borders within them. States
// shade the land beneath them. It has no names: set the text sizes of its types to get them.
func PoliticalStyle(p *Palette) Style {
	casing := p.Halo
	casing.A /= 3
	line := func(width float64, c color.NRGBA, casingWidth float64, from int) Line {
		return Line{Width: width, Color: c, Casing: casingWidth, Around: casing, From: from}
	}
	land := Fill{p.Land, 1}
	one := func(c color.NRGBA, opacity float64) Fill { return Fill{[]color.NRGBA{c}, opacity} }
	return Style{
		Land:  land,
		Water: p.Water,
		Types: map[string]RegionStyle{
			"continent": {Order: 0, Fill: land, Border: line(1.4, p.Country, 0.8, 0), Coast: line(1.2, p.Coast, 0, 0)},
			"country":   {Order: 1, Fill: land, Border: line(1.2, p.Country, 0.8, 0), Coast: Line{Width: 1, Color: p.Coast, From: -4, Light: 7}},
			"timezone":  {Order: 2, Lands: true, Fill: Fill{p.Land, 0.3}, Border: line(0.6, p.County, 0, 2), Coast: line(0.6, p.Coast, 0, 0)},
			"state": {
				Order:  3,
				Parts:  true,
				Fill:   Fill{p.Shades, p.ShadeStrength},
				Border: Line{Width: 0.9, Color: p.State, From: 2, Dashed: true},
				Coast:  line(0.7, p.Coast, 0, 2),
			},
			"county": {Order: 4, Parts: true, First: 8, Border: line(0.6, p.County, 0, 8), Coast: line(0.5, p.Coast, 0, 8)},
			"urban":  {Order: 7, Fill: one(p.Urban, 0.55)}, // places have their names
			// Layers of lines have nothing on either side, so they are drawn as coasts.
			"river":    {Order: 8, Coast: line(1.2, p.River, 0, 3)},
			"road":     {Order: 7, Coast: line(0.8, p.Other, 0, 5)},
			"marine":   {Order: 4},
			"lake":     {Order: 8, Fill: one(p.Lake, 1), Border: line(0.6, p.Coast, 0, 3), Coast: line(0.8, p.Coast, 0, 3)},
			"places":   {Order: 9, Dot: Dot{Radius: 2, Color: p.Dot, Rim: p.Rim}},
			"airports": {Order: 10, Text: Text{Color: p.Airport, Halo: p.Halo, From: 8}, Dot: Dot{Radius: 2, Color: p.Rim, Rim: p.Airport}},
			"points":   {Order: 11, Marker: true, Text: Text{Color: p.Point, Halo: p.Halo}, Dot: Dot{Radius: 3, Color: p.Point, Rim: p.Rim}},
		},
		Other: RegionStyle{
			Order:  6,
			Fill:   Fill{p.Land, 0.4},
			Border: line(0.9, p.Other, 0.5, 1),
			Coast:  line(0.8, p.Coast, 0, 1),
			Dot:    Dot{Radius: 2, Color: p.Dot, Rim: p.Rim},
		},
	}
}
