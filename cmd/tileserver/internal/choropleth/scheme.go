package choropleth

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Schemes lists the names of colour schemes: sequential ones, diverging ones, and one for values
// without an order.
var Schemes = append(append(slices.Clone(sequential), diverging...), categorical)

const categorical = "many"

var (
	sequential = []string{"blue", "green", "orange", "purple", "red", "grey", "sea", "heat"}
	diverging  = []string{"blue-red", "purple-green", "brown-teal"}
)

// hues are the hues of schemes in degrees of Oklch, from their light to their dark end.
var hues = map[string][2]float64{
	"blue": {235, 262}, "green": {135, 152}, "orange": {75, 45}, "purple": {320, 300}, "red": {35, 22},
	"sea": {115, 255}, "heat": {100, 18}, "brown": {70, 55}, "teal": {190, 195},
}

// unordered are colours that people with any common kind of colour blindness can tell apart, by Okabe
// and Ito 2008, and darker and lighter ones for more values.
var unordered = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#5c5c5c",
	"#004166", "#7a4d00", "#8ff0d0", "#6b2d52"}

// Color gives classes the colours of a scheme; "" chooses one. On a dark map the greatest numbers are
// the lightest, so that they stand out. Names outside of Schemes are an error that matches
// ErrClasses.
func (c *Classes) Color(scheme string, dark bool) error {
	if scheme == "" {
		if scheme = sequential[0]; !c.Numeric {
			scheme = categorical
		}
	}
	if !slices.Contains(Schemes, scheme) {
		return fmt.Errorf("%w: there is no scheme %.40q: use one of %q", ErrClasses, scheme, Schemes)
	}
	n := len(c.List)
	for i := range c.List {
		c.List[i].Color = colorAt(scheme, i, n, dark)
	}
	return nil
}

func colorAt(scheme string, i, n int, dark bool) string {
	if scheme == categorical {
		return unordered[i%len(unordered)]
	}
	at := 0.5
	if n > 1 {
		at = float64(i) / float64(n-1)
	}
	if slices.Contains(diverging, scheme) {
		low, high, _ := strings.Cut(scheme, "-")
		side, strength := high, 2*at-1
		if strength < 0 {
			side, strength = low, -strength
		}
		l, most := 0.95-0.5*strength, 0.155
		if dark {
			l = 0.3 + 0.45*strength
		}
		return oklch(l, most*math.Sin(strength*math.Pi/2), hueAt(side, 0.7))
	}
	l := 0.945 - 0.575*at
	if dark {
		l = 0.43 + 0.5*at
	}
	share := at // towards the dark end
	if dark {
		share = 1 - at
	}
	chroma := 0.06 + 0.12*math.Sin(math.Pi*(0.15+0.6*share))
	if scheme == "grey" {
		chroma = 0
	}
	return oklch(l, chroma, hueAt(scheme, share))
}

func hueAt(name string, at float64) float64 {
	h := hues[name]
	return h[0] + at*(h[1]-h[0])
}

// oklch returns a colour of Oklch, by Ottosson 2020, as #rrggbb. Its chroma is reduced until it is in
// sRGB.
func oklch(l, chroma, hue float64) string {
	sin, cos := math.Sincos(hue * math.Pi / 180)
	for ; ; chroma *= 0.97 {
		a, b := chroma*cos, chroma*sin
		lms := [3]float64{l + 0.3963377774*a + 0.2158037573*b, l - 0.1055613458*a - 0.0638541728*b, l - 0.0894841775*a - 1.2914855480*b}
		for i, v := range lms {
			lms[i] = v * v * v
		}
		rgb := [3]float64{
			4.0767416621*lms[0] - 3.3077115913*lms[1] + 0.2309699292*lms[2],
			-1.2684380046*lms[0] + 2.6097574011*lms[1] - 0.3413193965*lms[2],
			-0.0041960863*lms[0] - 0.7034186147*lms[1] + 1.7076147010*lms[2],
		}
		inside := true
		var bytes [3]int
		for i, v := range rgb {
			inside = inside && v > -0.0005 && v < 1.0005
			if v = min(max(v, 0), 1); v <= 0.0031308 {
				v *= 12.92
			} else {
				v = 1.055*math.Pow(v, 1/2.4) - 0.055
			}
			bytes[i] = int(math.Round(v * 255))
		}
		if inside || chroma < 0.001 {
			return fmt.Sprintf("#%02x%02x%02x", bytes[0], bytes[1], bytes[2])
		}
	}
}
