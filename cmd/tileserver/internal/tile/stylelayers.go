package tile

import (
	"slices"

	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/feature"
)

// fill draws the regions of a type: the land in the colours of the map, and its parts as shades of
// these. It draws nothing for seas, roads and rivers.
func (p *palette) fill(typ string) []styleLayer {
	l := p.of(typ, "", "fill")
	m := &p.Map
	switch {
	case typ == "marine", typ == "road", typ == "river":
		return nil
	case typ == "lake":
		l.Paint["fill-color"] = m.Lake.CSS()
	case typ == "urban":
		l.Paint["fill-color"], l.Paint["fill-opacity"] = m.Urban.CSS(), 0.6
	case typ == p.land || typ == "country":
		l.Paint["fill-color"] = byNumber(m.Land)
	case typ == "state":
		l.Paint["fill-color"], l.Paint["fill-opacity"] = byNumber(m.StateTints), m.StateTintStrength
	case typ == "county":
		l.Paint["fill-color"], l.Paint["fill-opacity"] = byNumber(m.StateTints), m.StateTintStrength/2
	default:
		l.Paint["fill-color"], l.Paint["fill-opacity"] = byNumber(m.Land), 0.4
	}
	// Neighbours meet exactly: smoothing their edges would show the water
	// between them.
	l.Paint["fill-antialias"] = false
	return []styleLayer{l}
}

// lines draws the borders between two regions of a type. Disputed borders and the borders of states
// are dashed. Where no region of the type lies on the other side, which is mostly a coast, the line
// is stronger.
func (p *palette) lines(typ string) []styleLayer {
	m := &p.Map
	line := func(ending string, color theme.Color, filter []any, width []any) styleLayer {
		l := p.of(typ, "_line", "line")
		l.ID, l.Filter = typ+ending, filter
		l.Layout["line-join"], l.Layout["line-cap"] = "round", "round"
		l.Paint["line-color"], l.Paint["line-width"] = color.CSS(), width
		return l
	}
	dashed := func(l styleLayer, dashes ...float64) styleLayer {
		l.Layout["line-cap"], l.Paint["line-dasharray"] = "butt", dashes
		return l
	}
	between := []any{"all", []any{"has", "left"}, []any{"has", "right"}}
	disputed := []any{"to-boolean", []any{"get", "disputed"}}
	color, width := m.Border.Other, byZoom(2, 0.4, 10, 1.2)
	switch typ {
	case "marine", "urban":
		return nil
	case "river":
		return []styleLayer{line("_line", m.River, nil, byZoom(3, 0.5, 10, 2))}
	case "road":
		return []styleLayer{line("_line", m.Border.State, nil, byZoom(5, 0.4, 12, 1.6))}
	case "lake":
		return []styleLayer{line("_line", m.Coast, nil, byZoom(2, 0.3, 10, 1))}
	case "continent", "country":
		color, width = m.Border.Country, byZoom(2, 0.6, 10, 1.8)
	case "state":
		color, width = m.Border.State, byZoom(3, 0.5, 10, 1.3)
	case "county":
		color, width = m.Border.County, byZoom(7, 0.5, 10, 1)
	}
	border := line("_line", color, []any{"all", between, []any{"!", disputed}}, width)
	if typ == "state" {
		border = dashed(border, 4, 2)
	}
	all := []styleLayer{border, dashed(line("_disputed", m.Border.Disputed, disputed, width), 3, 2)}
	if typ == p.land || typ != "state" && typ != "county" { // the shore belongs to the land that these divide
		// At close zooms the coast is drawn only as the edge of the land.
		all = append(all, line("_coast", m.Coast, []any{"all", []any{"!", between}, []any{"!", disputed}},
			[]any{"interpolate", []any{"linear"}, []any{"zoom"}, 2, 0.8, 5, 1.2, 6, 0.7, 10, 1}))
	}
	return all
}

// These are expressions about a settlement.
var (
	population   = []any{"to-number", []any{"coalesce", []any{"get", "map_population"}, []any{"get", "population"}}, 0}
	capital      = []any{"==", []any{"get", "code"}, "PPLC"}
	greatCapital = []any{"all", capital, []any{">=", population, theme.GetNames().Places.MinGreatCapital}}
	// importance is an expression for the importance of a place relative to others. A great capital
	// equals a city with more people, but not the greatest cities of the world. A part of a town is
	// less important than the town.
	importance = []any{
		"case",
		greatCapital,
		[]any{"+", population, theme.GetNames().Places.GreatCapitalBonus},
		[]any{"==", []any{"get", "code"}, "PPLX"},
		[]any{"/", population, 4},
		population,
	}
)

// byTable returns an expression whose values come from a list by zoom, and are beyond at deeper
// zooms. As in all tables, the zooms are those of tiles of 256 pixels; zooms of a style are lower
// by one.
func byTable(list []float64, beyond float64) any {
	return byStep(len(list), func(zoom int) any { return atZoom(list, zoom, beyond) })
}

func byStep(last int, at func(zoom int) any) any {
	e := []any{"step", []any{"zoom"}, at(1)}
	for zoom := 2; zoom <= last; zoom++ {
		e = append(e, zoom-1, at(zoom))
	}
	if len(e) == 3 {
		return e[2]
	}
	return e
}

func atZoom(list []float64, zoom int, beyond float64) float64 {
	switch {
	case zoom < 0:
		return 0
	case zoom < len(list):
		return list[zoom]
	}
	return beyond
}

// placeTiers lists the tiers of places that have layers, the most important first. All capitals
// except small ones, and places of the tiers above it, are in the first tier.
var placeTiers = []string{"major", "city", "town", "village"}

// settlements returns the layers of the dots of settlements with their names, for each tier. At far
// zooms a dot and its name are placed or omitted together, so that no name covers a dot.
func (p *palette) settlements(name string) (all []styleLayer) {
	table, looks := &theme.GetNames().Places, theme.GetNames().Looks
	enough := []any{
		"case",
		capital,
		[]any{">=", population, byTable(table.MinPopulationOfCapital, 0)},
		[]any{">=", population, byTable(table.MinPopulation, 0)},
	}
	byTier := func(of func(tier string) any) []any {
		return []any{
			"case",
			greatCapital, of("capital"),
			[]any{">=", population, table.Tiers["metropolis"]}, of("metropolis"),
			[]any{">=", population, table.Tiers["major"]}, of("major"),
			[]any{">=", population, table.Tiers["city"]}, of("city"),
			[]any{">=", population, table.Tiers["town"]}, of("town"),
			of("village"),
		}
	}
	higher := any(false)
	for _, tier := range placeTiers {
		l := p.of(name, "", "symbol")
		l.ID += "_" + tier
		within := []any{">=", population, table.Tiers[tier]}
		if tier == "major" {
			within = []any{"any", within, []any{"all", capital, []any{">=", population, table.Tiers["city"]}}}
		}
		l.Filter = []any{"all", within, []any{"!", higher}, enough}
		higher = within
		p.write(&l, tier)
		l.Layout["text-size"] = byTier(func(tier string) any { return looks[tier].Size })
		l.Layout["text-font"] = byTier(func(tier string) any { return []any{"literal", p.fonts(looks[tier])} })
		l.Paint["text-color"] = byTier(func(tier string) any { return p.Label.Ink(looks[tier].Ink).CSS() })
		l.Layout["text-variable-anchor"] = []string{"left", "right", "bottom", "top", "bottom-left", "top-left", "bottom-right", "top-right"}
		l.Layout["text-radial-offset"] = byTier(func(tier string) any { return (table.Dots[tier] + 3) / looks[tier].Size })
		l.Layout["text-justify"] = "auto"
		l.Layout["text-optional"] = []any{"step", []any{"zoom"}, false, table.DotsFrom - 1, true}
		// The distance between two dots includes their paddings and the space in their pictures. At
		// farther zooms names of regions need this space.
		room := table.Dots[tier] / spriteRadius * spriteSide
		l.Layout["icon-image"], l.Layout["icon-padding"] = spriteDot, []any{
			"step",
			[]any{"zoom"},
			0,
			6,
			max(0, (max(table.DotDistancePx, table.TierDistancePx[tier])-room)/2),
			table.DotDistanceMaxZoom,
			0,
		}
		l.Layout["icon-size"] = byTier(func(tier string) any { return table.Dots[tier] / spriteRadius })
		l.Layout["symbol-sort-key"] = []any{"-", importance}
		// Every capital has a ring.
		l.Paint["icon-color"] = []any{"case", capital, p.Map.Rim.CSS(), p.Map.Dot.CSS()}
		l.Paint["icon-halo-color"] = []any{"case", capital, p.Label.Capital.CSS(), p.Map.Rim.CSS()}
		l.Paint["icon-halo-width"] = []any{"case", capital, 1.5, 1}
		all = append(all, l)
	}
	return all
}

// airfields returns the layers of airports, which are also dots with names.
func (p *palette) airfields(name string) []styleLayer {
	l := p.of(name, "", "symbol")
	p.write(&l, "town")
	l.Layout["text-anchor"], l.Layout["text-offset"] = "top", []float64{0, 0.5}
	l.Layout["symbol-sort-key"] = rank
	l.Layout["icon-image"], l.Layout["icon-padding"], l.Layout["icon-size"] = spriteDot, 0, 2.5/spriteRadius
	l.Paint["icon-color"], l.Paint["icon-halo-color"], l.Paint["icon-halo-width"] = p.Map.Rim.CSS(), p.Map.Airport.CSS(), 1.2
	l.Paint["text-color"] = p.Map.Airport.CSS()
	return []styleLayer{l}
}

// write sets the text of a layer to names in the style of a rank.
func (p *palette) write(l *styleLayer, name string) {
	r := theme.GetNames().Looks[name]
	l.Layout["text-field"], l.Layout["text-size"], l.Layout["text-max-width"], l.Layout["text-font"] = p.name, r.Size, 8, p.fonts(r)
	if r.Spacing > 0 {
		l.Layout["text-letter-spacing"] = r.Spacing
	}
	if r.Transform != "none" {
		l.Layout["text-transform"] = r.Transform
	}
	l.Paint["text-color"], l.Paint["text-halo-color"], l.Paint["text-halo-width"] = p.Label.Ink(r.Ink).CSS(), p.Label.Halo.CSS(), 1.4
}

// fonts returns the text-font of the labels of a rank. With a glyph server it is a single font,
// which the server must have. Without a glyph server it lists local fonts, and the client uses the
// first that it has. MapLibre takes weight and slant from the name of the first font, even if the
// client does not have this font.
func (p *palette) fonts(r theme.NameLook) []string {
	all := theme.GetNames().Fonts
	switch {
	case p.glyphs:
		return []string{"Noto Sans Regular"}
	case r.Slant == "italic":
		return append([]string{all[0] + " Italic"}, all...)
	case r.Weight > 600:
		return append([]string{all[0] + " Bold"}, all...)
	case r.Weight > 500:
		return append([]string{all[0] + " SemiBold"}, all...)
	case r.Weight > 400:
		return append([]string{all[0] + " Medium"}, all...)
	}
	return all
}

// names returns layers with the names of the regions of a type, beginning with large regions. Names
// of countries have three layers.
func (p *palette) names(typ string) []styleLayer {
	if unnamed(typ) {
		return nil
	}
	naming := theme.GetNames().Region(typ)
	l := p.of(typ, "_label", "symbol")
	p.write(&l, naming.Looks[0])
	l.MinZoom = max(l.MinZoom, float64(naming.From-1))
	if naming.To < deepestNamed {
		l.MaxZoom = float64(naming.To)
	}
	l.Filter = []any{"<", rank, byTable(naming.Ranks, allRanks)}
	l.Layout["symbol-sort-key"] = rank
	// A name moves aside for dots and names that are already placed. If countries are small, it
	// moves only a little.
	aside := []any{}
	for _, by := range [][]float64{
		{0, 0}, {0.8, 0}, {-0.8, 0}, {0, 0.8}, {0, -0.8},
		{0.8, 0.8}, {-0.8, 0.8}, {0.8, -0.8}, {-0.8, -0.8}, {0, 1.5}, {0, 2.3},
		{0, -1.5}, {0, -2.3},
	} {
		aside = append(aside, "center", by)
	}
	l.Layout["text-variable-anchor-offset"] = []any{
		"step", []any{"zoom"},
		[]any{"literal", aside[:2*5]},
		2, []any{"literal", aside[:2*11]},
		3, []any{"literal", aside},
	}
	l.Layout["text-padding"] = 1
	small := len(naming.Looks) - 1
	if small == 0 {
		return []styleLayer{l}
	}
	for key, of := range map[string]func(r theme.NameLook) any{
		"text-size":           func(r theme.NameLook) any { return r.Size },
		"text-letter-spacing": func(r theme.NameLook) any { return r.Spacing },
		"text-font":           func(r theme.NameLook) any { return []any{"literal", p.fonts(r)} },
	} {
		l.Layout[key] = byLook(naming, of)
	}
	if typ != "country" {
		return []styleLayer{l}
	}
	fits := []any{">=", rank, byTable(naming.TooLarge, 0)}
	// At far zooms the largest countries come first, because their names then cover no city. Names
	// that did not appear at the previous zoom come last.
	largest := byTable(slices.Concat(make([]float64, 3), naming.Ranks[:min(2, len(naming.Ranks))]), 0)
	before := byTable(slices.Concat(make([]float64, 1), naming.Ranks), allRanks)
	all := []styleLayer{l, l, l}
	all[0].ID, all[0].Filter = l.ID+"_large", []any{"<", rank, largest}
	all[1].Filter = []any{"all", []any{">=", rank, largest}, []any{"<", rank, before}, fits}
	all[2].ID, all[2].Filter = l.ID+"_small", []any{"all", l.Filter, []any{">=", rank, before}, fits}
	return all
}

// unnamed reports whether regions of a type need no names, because names of places identify them.
func unnamed(typ string) bool { return typ == "urban" || typ == "road" || typ == "river" }

var rank = []any{"get", "rank"}

// allRanks is above the rank of every region.
const allRanks = 1e6

// byLook returns an expression for the styles of names of regions. A region has the smallest style
// at the first two zooms that name it, and then a larger style at each zoom.
func byLook(naming theme.RegionNaming, of func(r theme.NameLook) any) any {
	looks, small := theme.GetNames().Looks, len(naming.Looks)-1
	return byStep(len(naming.Ranks)+small+1, func(zoom int) any {
		e := []any{"case"}
		for i, name := range naming.Looks[:small] {
			if least := atZoom(naming.Ranks, zoom-small-1+i, allRanks); least > 0 {
				e = append(e, []any{"<", rank, least}, of(looks[name]))
			}
		}
		last := of(looks[naming.Looks[small]])
		if len(e) == 1 {
			return last
		}
		return append(e, last)
	})
}

// deepestNamed is the last zoom of the table. It also applies to all deeper zooms.
const deepestNamed = 18

// look is the way in which styles draw a layer of points with a Drawing.
type look struct {
	first  float64 // zoom of a style
	layers func(p *palette, name string) []styleLayer
	tiers  []string // those of its first layers, whose names have turns; others come last
}

// look returns the look of a layer of points, or nil if it has none.
func (set *layerSet) look(name string) *look {
	d := set.drawings[name]
	switch {
	case d == nil:
	case d.Look == feature.LookSettlements:
		return &look{layers: (*palette).settlements, tiers: placeTiers}
	case d.Look == feature.LookAirfields:
		return &look{layers: (*palette).airfields, first: 7}
	}
	return nil
}
