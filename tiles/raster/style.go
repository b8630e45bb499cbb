package raster

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"strings"
)

// Style gives layers their look by region type. The type is the layer's name
// without its ending "_line" or "_label".
type Style struct {
	Types map[string]Type
	// Other is the look of all other types.
	Other Type
}

// Type is the look of a region type. Lengths are pixels of a tile of 256.
type Type struct {
	// Order sorts fills from bottom to top, and lines and names from top to
	// bottom. Countries lie beneath states, but their borders and names come
	// first.
	Order  int
	Fill   Fill
	Border Line // between two regions of the type
	Coast  Line // where nothing of the type lies beyond
	Text   Text
	Dot    Dot // marks the points of layers that are not labels of regions
}

// Fill is a range of OKLCH colours. A feature's id chooses one of them.
type Fill struct {
	Hue, Spread float64 // middle and width of the range of hues, degrees
	Lightness   float64 // 0 to 1
	Chroma      float64 // 0 to about 0.3
	Opacity     float64 // 0, not drawn, to 1
}

// Line is a stroke and a wider one beneath it.
type Line struct {
	Width  float64 // 0 draws none
	Color  color.NRGBA
	Casing float64 // width on either side, 0 for none
	Around color.NRGBA
	// From is the zoom where the line starts to grow. Over five zooms it grows
	// from half its width and strength to the whole.
	From int
}

// Text is the look of names.
type Text struct {
	Size  float64 // 0 writes none
	Bold  bool
	Color color.NRGBA
	Halo  color.NRGBA
	// Share is how many names of regions a one-tile map of the world may show:
	// those whose rank is below it. Each zoom shows three times as many. 0 is
	// no limit.
	Share float64
}

// Dot is a disc with a rim.
type Dot struct {
	Radius float64 // 0 draws none
	Color  color.NRGBA
	Rim    color.NRGBA
	// Share is like that of Text. Points whose rank is not below it have
	// neither a dot nor a name.
	Share float64
}

// These bound strokes and letters. Strokes must stay within the buffers of
// tiles, 1/64 of a tile.
const (
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
	return s.Other.check()
}

func (t *Type) check() error {
	within := func(what string, v, most float64) error {
		if v >= 0 && v <= most {
			return nil
		}
		return fmt.Errorf("%w: set the %s to 0 to %v, not %v", ErrStyle, what, most, v)
	}
	return errors.Join(
		within("opacity", t.Fill.Opacity, 1), within("lightness", t.Fill.Lightness, 1), within("chroma", t.Fill.Chroma, 0.5),
		within("hue", t.Fill.Hue, 360), within("spread of hues", t.Fill.Spread, 360),
		within("border with its casing", t.Border.Width+2*t.Border.Casing, maxStroke), within("border's casing", t.Border.Casing, maxStroke),
		within("coast with its casing", t.Coast.Width+2*t.Coast.Casing, maxStroke), within("coast's casing", t.Coast.Casing, maxStroke),
		within("size of text", t.Text.Size, maxText), within("share of names", t.Text.Share, 1e9), within("radius of dots", t.Dot.Radius, maxDot), within("share of dots", t.Dot.Share, 1e9),
	)
}

// typeOf returns the region type of a layer and whether the layer holds its
// labels. Of a name with a colon, such as points:shops, the type is what is before it.
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

// DefaultStyle is a quiet political map: pale land, thin borders, dark names.
// States and smaller regions tint what lies beneath them.
func DefaultStyle() Style {
	ink := color.NRGBA{0x4a, 0x43, 0x5c, 0xff}
	soft := color.NRGBA{0x6b, 0x64, 0x7c, 0xff}
	paper := color.NRGBA{0xff, 0xff, 0xff, 0xd8}
	faint := color.NRGBA{0xff, 0xff, 0xff, 0x80}
	flight := color.NRGBA{0x2f, 0x6f, 0x8f, 0xff}
	own := color.NRGBA{0xb3, 0x26, 0x1e, 0xff}
	sea := color.NRGBA{0x86, 0xa3, 0xb8, 0xff}
	line := func(width float64, c color.NRGBA, casing float64, from int) Line {
		return Line{Width: width, Color: c, Casing: casing, Around: faint, From: from}
	}
	return Style{
		Types: map[string]Type{
			"continent": {
				Order: 0, Fill: Fill{60, 360, 0.93, 0.03, 1}, Border: line(1.6, ink, 1, 0), Coast: line(0.8, sea, 0, 0),
				Text: Text{Size: 14, Bold: true, Color: ink, Halo: paper},
			},
			"country": {
				Order: 1, Fill: Fill{85, 360, 0.93, 0.036, 1}, Border: line(1.3, color.NRGBA{0x86, 0x78, 0x9c, 0xff}, 1, 0), Coast: line(0.8, sea, 0, 0),
				Text: Text{Size: 12, Bold: true, Color: ink, Halo: paper, Share: 6},
			},
			"timezone": {
				Order: 2, Fill: Fill{280, 360, 0.8, 0.06, 0.3}, Border: line(0.9, color.NRGBA{0x7d, 0x8c, 0xb0, 0xff}, 0, 0), Coast: line(0.6, sea, 0, 0),
				Text: Text{Size: 11, Color: soft, Halo: paper, Share: 4},
			},
			"state": {
				Order: 3, Fill: Fill{85, 360, 0.85, 0.06, 0.25}, Border: line(0.9, color.NRGBA{0xa3, 0x99, 0xb4, 0xff}, 0.6, 2), Coast: line(0.6, sea, 0, 2),
				Text: Text{Size: 11, Color: soft, Halo: paper, Share: 0.6},
			},
			"county": {
				Order: 4, Fill: Fill{85, 360, 0.84, 0.06, 0.2}, Border: line(0.6, color.NRGBA{0xb4, 0xac, 0xc0, 0xff}, 0, 5), Coast: line(0.5, sea, 0, 5),
				Text: Text{Size: 10, Color: soft, Halo: paper, Share: 0.15},
			},
			"urban": {
				Order: 7, Fill: Fill{60, 0, 0.8, 0.03, 0.55},
				Text: Text{Size: 10, Color: soft, Halo: paper, Share: 0.15},
			},
			"lake": {
				Order: 8, Fill: Fill{235, 0, 0.85, 0.05, 1}, Border: line(0.6, sea, 0, 3), Coast: line(0.6, sea, 0, 3),
				Text: Text{Size: 10, Color: color.NRGBA{0x3f, 0x6a, 0x8c, 0xff}, Halo: paper, Share: 0.1},
			},
			"places": {
				Order: 9, Text: Text{Size: 10.5, Color: color.NRGBA{0x2b, 0x28, 0x36, 0xff}, Halo: paper},
				Dot: Dot{Radius: 2, Color: color.NRGBA{0x5d, 0x55, 0x70, 0xff}, Rim: color.NRGBA{0xff, 0xff, 0xff, 0xff}},
			},
			"airports": {
				Order: 10, Text: Text{Size: 9.5, Color: flight, Halo: paper},
				Dot: Dot{Radius: 2, Color: color.NRGBA{0xff, 0xff, 0xff, 0xff}, Rim: flight, Share: 1},
			},
			"points": {
				Order: 11, Text: Text{Size: 9.5, Color: own, Halo: paper},
				Dot: Dot{Radius: 3, Color: own, Rim: color.NRGBA{0xff, 0xff, 0xff, 0xff}},
			},
		},
		Other: Type{
			Order: 6, Fill: Fill{200, 360, 0.82, 0.07, 0.4}, Border: line(0.9, color.NRGBA{0x6f, 0x86, 0xa4, 0xff}, 0.5, 1), Coast: line(0.8, sea, 0, 1),
			Text: Text{Size: 11, Color: soft, Halo: paper, Share: 1},
			Dot:  Dot{Radius: 2, Color: color.NRGBA{0x5d, 0x55, 0x70, 0xff}, Rim: color.NRGBA{0xff, 0xff, 0xff, 0xff}},
		},
	}
}

// The colours of a fill are hues, each in three slightly different lightnesses.
const (
	hues      = 24
	lightStep = 0.022
)

// rgb is a colour without alpha.
type rgb [3]uint8

// palette holds the colours of a fill.
type palette [hues * 3]rgb

func (f *Fill) palette() (p palette) {
	for i := range p {
		hue := f.Hue + f.Spread*(float64(i%hues)/hues-0.5)
		light := f.Lightness + lightStep*float64(i/hues-1)
		p[i] = oklch(light, f.Chroma, hue)
	}
	return p
}

// choose returns the colour of a feature, the same in every tile and every run.
func (p *palette) choose(id []byte, number uint64) rgb {
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
	h ^= h >> 31
	return p[h%uint64(len(p))]
}

// oklch converts a colour of the OKLCH space, hue in degrees, to sRGB, with the
// matrices of Björn Ottosson's definition of OKLab.
func oklch(light, chroma, hue float64) rgb {
	sin, cos := math.Sincos(hue * math.Pi / 180)
	a, b := chroma*cos, chroma*sin
	l := cube(light + 0.3963377774*a + 0.2158037573*b)
	m := cube(light - 0.1055613458*a - 0.0638541728*b)
	s := cube(light - 0.0894841775*a - 1.2914855480*b)
	return rgb{
		srgb(4.0767416621*l - 3.3077115913*m + 0.2309699292*s),
		srgb(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s),
		srgb(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s),
	}
}

func cube(v float64) float64 { return v * v * v }

// srgb applies the transfer curve of sRGB to a linear channel.
func srgb(v float64) uint8 {
	v = min(max(v, 0), 1)
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return uint8(math.Round(v * 255))
}
