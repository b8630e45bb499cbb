package raster

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"quadrille/tiles/mvt"
)

// Style gives layers their look by region type. The type is the layer's name
// without its ending "_line" or "_label".
type Style struct {
	Types map[string]RegionStyle
	// Other is the look of all other types.
	Other RegionStyle
	// Places is the look of points with a population.
	Places PlaceStyle
	// Land is the fill of the type that is a tile's land.
	Land FillStyle
	// Water lies beneath the land of tiles with FillSea set. It may be transparent.
	Water color.NRGBA
}

// PlaceStyle describes the look of points in layers of the type places. The look depends on their
// population, and on their attribute code, which is PPLC for capitals. Zooms are those of tiles of
// 256 pixels.
type PlaceStyle struct {
	// Tiers are the looks, from great capitals down. The last one is for all remaining points.
	// Without tiers, points have the look of their type.
	Tiers []PlaceTier
	// MinGreatCapital is the least population of a great capital. Its priority counts GreatCapitalBonus more
	// people, so that it wins against its neighbours, but not against the world's great cities.
	MinGreatCapital, GreatCapitalBonus float64
	// MinPopulation and MinPopulationOfCapital are the least population of a shown point, by zoom. Beyond the end
	// of a list, all points are shown.
	MinPopulation, MinPopulationOfCapital []float64
	// DotDistancePx is the least distance of the dots of two points, in pixels, up to the zoom DotDistanceMaxZoom. The
	// more important one is shown, and capitals always are.
	DotDistancePx      float64
	DotDistanceMaxZoom int
	// AroundCity also hides points around a city, up to the zoom DotDistanceMaxZoom: those within KM kilometres
	// and PX pixels of a point that has at least People, and more than Times their population.
	AroundCity struct{ People, Times, KM, PX float64 }
	// DotsFrom is the first zoom at which a dot is drawn even if its name does not fit.
	DotsFrom int
}

// PlaceTier is the look of points of at least a population. Capitals have a ring
// instead of a disc.
type PlaceTier struct {
	MinPopulation float64
	Turn          int
	Text          TextStyle
	Radius        float64
	// DistancePx is PlaceStyle.DotDistancePx of these points if it is more.
	DistancePx float64
}

// RegionStyle is the look of a region type. Lengths are pixels of a tile of 256.
type RegionStyle struct {
	// Order sorts fills from bottom to top, and lines from top to bottom. Countries
	// lie beneath states, but their borders come first.
	Order int
	// Turn orders names: a lower turn comes first. 0 means the value of Order.
	Turn   int
	Fill   FillStyle
	Border LineStyle // between two regions of the type
	Coast  LineStyle // where no region of the type lies beyond
	Text   TextStyle
	// SmallerTexts are the looks of the names of smaller regions. A region has the last one at the first
	// two zooms with its name. With each further zoom it has the one before, and in the end TextStyle.
	SmallerTexts []TextStyle
	// Count is the look of the numbers of clusters, which stand on their discs.
	Count TextStyle
	// LateTurn replaces Turn for the names that are new at a zoom, unless Turn is later.
	LateTurn int
	Dot      DotStyle // marks the points of layers that are not labels of regions
	// OnlyAsLand is set if the type's fill, coast and names are drawn only in tiles in which the type is
	// the land. In other tiles only its borders are drawn.
	OnlyAsLand bool
	// NoCoastOnLand is set if the type's coast is not drawn in tiles in which another type is the land.
	// Otherwise sources that draw the shore differently would show it twice.
	NoCoastOnLand bool
	// BordersFromZoom is the first zoom that draws the type's borders, unless the type is the land.
	BordersFromZoom int
	// KeepDotsClear is set if no name may cover the type's dots.
	KeepDotsClear bool
}

// FillStyle is a set of colours. A feature's attribute map_color chooses one of them. Without that
// attribute the feature's id chooses the colour.
type FillStyle struct {
	Colors  []color.NRGBA // opaque; none for a type that is not filled
	Opacity float64       // 0, not drawn, to 1
}

// LineStyle is a stroke and a wider stroke below it.
type LineStyle struct {
	Width       float64 // 0 draws none
	Color       color.NRGBA
	Casing      float64 // width on either side, 0 for none
	CasingColor color.NRGBA
	// GrowsFromZoom is the zoom where the line starts to grow. Over five zooms it grows from half its width
	// and strength to the full ones.
	GrowsFromZoom int
	// Dashed draws five pixels of eight.
	Dashed bool
	// LightFromZoom is the first zoom where the line is half as heavy, or 0 for none.
	LightFromZoom int
}

// TextStyle is the look of names.
type TextStyle struct {
	Size    float64 // 0 writes none
	Spacing float64 // between letters, in ems
	Bold    bool
	Color   color.NRGBA
	Halo    color.NRGBA
	// UpperCase writes capital letters.
	UpperCase bool
	// FromZoom and ToZoom are the first and the last zoom with names; a ToZoom of 0 is no bound.
	FromZoom, ToZoom int
	// MaxRanks are bounds by zoom: a zoom shows the names with a rank below its bound, and all names
	// beyond the list. A point without a shown name has no dot either.
	MaxRanks []float64
	// MinRanks are bounds by zoom: a zoom shows no names with a rank below its bound.
	MinRanks []float64
}

// DotStyle is a disc with a rim.
type DotStyle struct {
	Radius float64 // 0 draws none
	Color  color.NRGBA
	Rim    color.NRGBA
}

// These bound strokes and letters. Strokes must stay within the buffers of
// tiles, 1/64 of a tile.
const (
	maxColors = 64
	maxStroke = 7
	maxText   = 20
	maxDot    = 6
)

// ErrStyle is matched by errors about styles that cannot be drawn.
var ErrStyle = errors.New("the style cannot be drawn")

func (s *Style) check() error {
	for name, t := range s.Types {
		if err := t.check(); err != nil {
			return fmt.Errorf("type %s: %w", name, err)
		}
	}
	land := RegionStyle{Fill: s.Land}
	for _, t := range s.Places.Tiers {
		if err := (&RegionStyle{Text: t.Text, Dot: DotStyle{Radius: t.Radius}}).check(); err != nil {
			return fmt.Errorf("places: %w", err)
		}
	}
	return errors.Join(s.Other.check(), land.check())
}

func (t *RegionStyle) check() error {
	within := func(what string, v, most float64) error {
		if v >= 0 && v <= most {
			return nil
		}
		return fmt.Errorf("%w: set the %s to 0 to %v, not %v", ErrStyle, what, most, v)
	}
	for _, s := range append(slices.Clip(t.SmallerTexts), t.Count) {
		if err := errors.Join(within("size of text", s.Size, maxText), within("spacing of text", s.Spacing, 1)); err != nil {
			return err
		}
	}
	return errors.Join(
		within("opacity", t.Fill.Opacity, 1), within("number of colours", float64(len(t.Fill.Colors)), maxColors),
		within("border with its casing", t.Border.Width+2*t.Border.Casing, maxStroke), within("border's casing", t.Border.Casing, maxStroke),
		within("coast with its casing", t.Coast.Width+2*t.Coast.Casing, maxStroke), within("coast's casing", t.Coast.Casing, maxStroke),
		within("size of text", t.Text.Size, maxText), within("spacing of text", t.Text.Spacing, 1), within("radius of dots",
			t.Dot.Radius, maxDot),
	)
}

// typeOf returns the region type of a layer, and whether the layer holds the type's
// labels. The type of points:shops is points, the part before the colon.
func typeOf(layer []byte) (name string, label bool) {
	s := string(layer)
	if group, _, ok := strings.Cut(s, ":"); ok {
		return group, false
	}
	if t, ok := strings.CutSuffix(s, "_label"); ok {
		return t, true
	}
	return strings.TrimSuffix(s, "_line"), false
}

// rgb is a colour without alpha.
type rgb [3]uint8

// palette holds the colours of a fill.
type palette []rgb

func (f *FillStyle) palette() (p palette) {
	for _, c := range f.Colors {
		p = append(p, rgb{c.R, c.G, c.B})
	}
	return p
}

// choose returns the colour of a feature, the same in every tile and every run.
func (p palette) choose(v *mvt.LayerView, f mvt.Feature) (rgb, error) {
	var id []byte
	number := -1.0
	err := v.EachTag(f, func(key, value []byte) bool {
		switch string(key) {
		case "id":
			id, _ = mvt.StringValue(value)
		case "map_color":
			if n, ok := mvt.NumberValue(value); ok {
				number = n
			}
		}
		return true
	})
	if number >= 0 && number < 1<<20 && number == math.Trunc(number) {
		return p[int(number)%len(p)], err
	}
	return p[hash(id, f.ID)%uint64(len(p))], err
}

// hash spreads features over the colours by their ids, or by their numbers if they have none.
func hash(id []byte, number uint64) uint64 {
	h := number
	if len(id) > 0 {
		h = 14695981039346656037 // FNV-1a
		for _, c := range id {
			h = (h ^ uint64(c)) * 1099511628211
		}
	}
	// The hashes of consecutive ids differ little. The finaliser of splitmix64
	// spreads them.
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return h ^ h>>31
}
