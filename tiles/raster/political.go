package raster

import "image/color"

// Palette has the colours of a political map.
type Palette struct {
	Water color.NRGBA // transparent for a map over another one
	Land  []color.NRGBA
	// StateTints are blended over the land to distinguish its parts, with a strength of 0 to 1.
	StateTints         []color.NRGBA
	StateTintStrength  float64
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
	line := func(width float64, c color.NRGBA, casingWidth float64, from int) LineStyle {
		return LineStyle{Width: width, Color: c, Casing: casingWidth, CasingColor: casing, GrowsFromZoom: from}
	}
	land := FillStyle{p.Land, 1}
	one := func(c color.NRGBA, opacity float64) FillStyle { return FillStyle{[]color.NRGBA{c}, opacity} }
	return Style{
		Land:  land,
		Water: p.Water,
		Types: map[string]RegionStyle{
			"continent": {Order: 0, Fill: land, Border: line(1.4, p.Country, 0.8, 0), Coast: line(1.2, p.Coast, 0, 0)},
			"country": {Order: 1, Fill: land, Border: line(1.2, p.Country, 0.8, 0),
				Coast: LineStyle{Width: 1, Color: p.Coast, GrowsFromZoom: -4, LightFromZoom: 7}},
			"timezone": {Order: 2, OnlyAsLand: true, Fill: FillStyle{p.Land, 0.3}, Border: line(0.6, p.County, 0, 2),
				Coast: line(0.6, p.Coast, 0, 0)},
			"state": {
				Order:         3,
				NoCoastOnLand: true,
				Fill:          FillStyle{p.StateTints, p.StateTintStrength},
				Border:        LineStyle{Width: 0.9, Color: p.State, GrowsFromZoom: 2, Dashed: true},
				Coast:         line(0.7, p.Coast, 0, 2),
			},
			"county": {Order: 4, NoCoastOnLand: true, BordersFromZoom: 8, Border: line(0.6, p.County, 0, 8),
				Coast: line(0.5, p.Coast, 0, 8)},
			"urban": {Order: 7, Fill: one(p.Urban, 0.55)}, // places have their names
			// Layers of lines have nothing on either side, so they are drawn as coasts.
			"river":  {Order: 8, Coast: line(1.2, p.River, 0, 3)},
			"road":   {Order: 7, Coast: line(0.8, p.Other, 0, 5)},
			"marine": {Order: 4},
			"lake":   {Order: 8, Fill: one(p.Lake, 1), Border: line(0.6, p.Coast, 0, 3), Coast: line(0.8, p.Coast, 0, 3)},
			"places": {Order: 9, Dot: DotStyle{Radius: 2, Color: p.Dot, Rim: p.Rim}},
			"airports": {Order: 10, Text: TextStyle{Color: p.Airport, Halo: p.Halo, FromZoom: 8},
				Dot: DotStyle{Radius: 2, Color: p.Rim, Rim: p.Airport}},
			"points": {Order: 11, KeepDotsClear: true, Text: TextStyle{Color: p.Point, Halo: p.Halo},
				Dot: DotStyle{Radius: 3, Color: p.Point, Rim: p.Rim}},
		},
		Other: RegionStyle{
			Order:  6,
			Fill:   FillStyle{p.Land, 0.4},
			Border: line(0.9, p.Other, 0.5, 1),
			Coast:  line(0.8, p.Coast, 0, 1),
			Dot:    DotStyle{Radius: 2, Color: p.Dot, Rim: p.Rim},
		},
	}
}
