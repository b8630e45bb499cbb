package tile

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"slices"
	"sync"

	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/mvt"
	"quadrille/tiles/raster"
)

// renderers returns the renderers for the tiles of all handlers, one for each of theme.Themes. A
// test ensures that their styles are valid.
var renderers = sync.OnceValue(func() (all []*raster.Renderer) {
	for _, name := range theme.Themes {
		r, err := raster.New(PictureStyle(theme.GetTokens().Themes[name]))
		if err != nil {
			panic(err)
		}
		all = append(all, r)
	}
	return all
})

// pictureScale is the size of names and dots in pictures relative to the map page. A name in a
// picture has four possible positions around its dot, not eight. It must also avoid names that are
// not drawn, so that neighbouring tiles agree. Smaller names partly compensate for this: at the
// page's size a twentieth of the names would not fit.
const pictureScale = 0.88

// PictureStyle returns the style of pictures in a theme. Their names follow names.json.
func PictureStyle(of *theme.Theme) raster.Style {
	style := raster.PoliticalStyle(pictureColors(of))
	names := theme.GetNames()
	text := func(name string, naming theme.RegionNaming) raster.TextStyle {
		r := names.Looks[name]
		return raster.TextStyle{
			Size: r.Size * pictureScale, Spacing: r.Spacing, Bold: r.Weight >= 600, UpperCase: r.Transform == "uppercase",
			Color: of.Label.Ink(r.Ink).NRGBA, Halo: of.Label.Halo.NRGBA,
			FromZoom: naming.From, ToZoom: naming.To, MaxRanks: naming.Ranks, MinRanks: naming.TooLarge,
		}
	}
	write := func(t *raster.RegionStyle, naming theme.RegionNaming) {
		var all []raster.TextStyle
		for _, name := range naming.Looks {
			all = append(all, text(name, naming))
		}
		t.Text, t.SmallerTexts, t.Turn = all[0], all[1:], 1+naming.Turn
	}
	for typ, t := range style.Types {
		switch {
		case t.Dot.Radius > 0:
			t.Text.Size = names.Looks["town"].Size * pictureScale
			t.Count = raster.TextStyle{Size: countSize * pictureScale, Bold: true, Color: of.Map.PointsCount.NRGBA}
		case !unnamed(typ):
			write(&t, names.Region(typ))
		}
		if typ == "country" { // cities say more than small ones
			t.LateTurn = 2 + names.Places.Turns["town"]
		}
		if typ == "county" {
			t.BordersFromZoom = names.Region(typ).From
			t.Border.GrowsFromZoom, t.Coast.GrowsFromZoom = t.BordersFromZoom, t.BordersFromZoom
		}
		style.Types[typ] = t
	}
	write(&style.Other, names.Region("other"))
	p := &names.Places
	style.Places = raster.PlaceStyle{
		MinGreatCapital: p.MinGreatCapital, GreatCapitalBonus: p.GreatCapitalBonus, MinPopulation: p.MinPopulation,
		MinPopulationOfCapital: p.MinPopulationOfCapital,
		DotDistancePx:          p.DotDistancePx, DotDistanceMaxZoom: p.DotDistanceMaxZoom,
		AroundCity: struct{ People, Times, KM, PX float64 }(p.AroundCity), DotsFrom: p.DotsFrom,
	}
	for _, name := range theme.PlaceTiers {
		style.Places.Tiers = append(style.Places.Tiers, raster.PlaceTier{
			// half of the rim is within on the page
			MinPopulation: p.Tiers[name],
			Turn:          1 + p.Turns[name],
			Text:          text(name, theme.RegionNaming{}),
			Radius:        p.Dots[name]*pictureScale - 0.5,
			DistancePx:    p.TierDistancePx[name],
		})
	}
	return style
}

// pictureColors returns the colours of a theme in the form for pictures.
func pictureColors(of *theme.Theme) *raster.Palette {
	m := &of.Map
	list := func(colors []theme.Color) (out []color.NRGBA) {
		for _, c := range colors {
			out = append(out, c.NRGBA)
		}
		return out
	}
	return &raster.Palette{
		Water: m.Water.NRGBA, Land: list(m.Land), StateTints: list(m.StateTints), StateTintStrength: m.StateTintStrength,
		Lake: m.Lake.NRGBA, River: m.River.NRGBA, Urban: m.Urban.NRGBA,
		Coast:   m.Coast.NRGBA,
		Country: m.Border.Country.NRGBA,
		State:   m.Border.State.NRGBA,
		County:  m.Border.County.NRGBA,
		Other:   m.Border.Other.NRGBA,
		Halo:    of.Label.Halo.NRGBA, Dot: m.Dot.NRGBA, Rim: m.Rim.NRGBA, Airport: m.Airport.NRGBA, Point: m.Points[0].NRGBA,
	}
}

// appendPNG appends a tile drawn as an image. Its names come from the tile and the tiles around it,
// because names near an edge are drawn on both sides.
func (s *Handlers) appendPNG(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile, f web.Format,
	theme uint8, painted *colored) ([]byte, error) {
	b := web.GetScratch()
	defer b.Release()
	v.pictured = true
	picture := raster.Tile{Zoom: int(t.Z), Row: t.Y, PlateCarree: v.inDegrees, Scale: 1, Paint: painted.paintOf(v, set)}
	picture.Land, picture.FillSea = set.ground()
	picture.FillSea = picture.FillSea && v.filters.of[picture.Land] == nil // as around single regions
	if painted == nil && len(set.columns) > 0 {
		bare := *set
		bare.columns, set = nil, &bare
	}
	if f == formPNG2x {
		picture.Scale = 2
	}
	var err error
	shapes := *set
	shapes.points = nil
	b.Body, err = appendLayers(ctx, b.Body, v, &shapes, t, func(r *tiles.Reader, ctx context.Context, dst []byte, t quadkey.Tile,
		of []tiles.Selector, _ ...tiles.LabelNames) ([]byte, error) {
		return r.AppendMVT(ctx, dst, t, of)
	})
	if err != nil {
		return dst, err
	}
	var ends [1 + len(picture.Points)]int // of the pieces of b.body
	ends[0] = len(b.Body)
	for i := range picture.Points {
		if n, ok := v.neighbour(t, i%3-1, i/3-1); ok {
			b.Body, err = appendCut(ctx, b.Body, v, n, func(dst []byte, n quadkey.Tile) ([]byte, error) {
				dst, err := appendRegions(ctx, dst, v, set, n, (*tiles.Reader).AppendLabels)
				if err != nil {
					return dst, err
				}
				return appendTilePoints(ctx, dst, v, set, n)
			}, nil)
			if err != nil {
				return dst, err
			}
		}
		ends[i+1] = len(b.Body)
	}
	picture.Vector = b.Body[:ends[0]]
	for i := range picture.Points {
		picture.Points[i] = b.Body[ends[i]:ends[i+1]]
	}

	err = s.InTurn(ctx, func(context.Context) (err error) {
		dst, err = renderers()[theme].AppendPNG(dst, &picture)
		return err
	})
	if errors.Is(err, mvt.ErrMalformed) {
		err = fmt.Errorf("%w: %w", tiles.ErrCorrupt, err)
	}
	return dst, err
}

// paintOf returns the colours for the renderer; nil for none.
func (of *colored) paintOf(v *view, set *layerSet) *raster.Paint {
	if of == nil {
		return nil
	}
	paint := &raster.Paint{Layer: of.layer, Attribute: of.property, Colors: of.colors(), Class: of.classOf}
	if slices.Contains(set.types, of.layer) && v.isOfLines(of.layer) {
		paint.Layer += "_line"
	}
	return paint
}

// neighbour returns the tile dx columns east and dy rows south of t. Columns continue across ±180°;
// rows end at the poles.
func (v *view) neighbour(t quadkey.Tile, dx, dy int) (n quadkey.Tile, ok bool) {
	side := 1 << t.Z
	rows := side
	if v.inDegrees {
		rows /= 2
	}
	y := int(t.Y) + dy
	if y < 0 || y >= rows {
		return quadkey.Tile{}, false
	}
	return quadkey.Tile{Z: t.Z, X: uint32((int(t.X) + dx + side) % side), Y: uint32(y)}, true
}
