package choropleth

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"quadrille/cmd/tileserver/internal/theme"
)

type lab [3]float64

func (a lab) distance(b lab) float64 { return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]) }

// simulations are how people with two kinds of colour blindness see linear sRGB, by Viénot, Brettel
// and Mollon 1999, and how others do.
var simulations = map[string][3][3]float64{
	"usual":        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.1124, 0.8876, 0}, {0.1124, 0.8876, 0}, {0.0040, -0.0040, 1}},
	"deuteranopia": {{0.2928, 0.7072, 0}, {0.2928, 0.7072, 0}, {-0.0223, 0.0223, 1}},
}

// seen returns a colour in Oklab as somebody sees it.
func seen(t *testing.T, color string, as [3][3]float64) lab {
	t.Helper()
	var b [3]int
	if _, err := fmt.Sscanf(color, "#%02x%02x%02x", &b[0], &b[1], &b[2]); err != nil {
		t.Fatal(color, err)
	}
	var linear, rgb [3]float64
	for i, n := range b {
		v := float64(n) / 255
		if linear[i] = v / 12.92; v > 0.04045 {
			linear[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	for i := range rgb {
		for j := range linear {
			rgb[i] += as[i][j] * linear[j]
		}
	}
	l := math.Cbrt(0.4122214708*rgb[0] + 0.5363325363*rgb[1] + 0.0514459929*rgb[2])
	m := math.Cbrt(0.2119034982*rgb[0] + 0.6806995451*rgb[1] + 0.1073969566*rgb[2])
	s := math.Cbrt(0.0883024619*rgb[0] + 0.2817188376*rgb[1] + 0.6299787005*rgb[2])
	return lab{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

// Everybody can tell classes of a map apart, and from what has no value: colours of sequential
// schemes become darker from one to the next, those of diverging ones lighter towards the middle.
func TestEverybodySeesClasses(t *testing.T) {
	for _, scheme := range Schemes {
		for _, dark := range []bool{false, true} {
			n := 7
			if scheme == categorical {
				n = 8
			}
			c := Classes{Numeric: true, List: make([]Class, n)}
			if err := c.Color(scheme, dark); err != nil {
				t.Fatal(err)
			}
			named := "political"
			if dark {
				named = "dark"
			}
			missing := theme.GetTokens().Themes[named].Map.Missing.CSS()
			for who, as := range simulations {
				var all []lab
				for _, class := range c.List {
					all = append(all, seen(t, class.Color, as))
				}
				for i, a := range all {
					for j, b := range all[:i] {
						if d := a.distance(b); d < 0.055 {
							t.Errorf("%s, dark %v, %s: classes %d and %d are %.3f apart", scheme, dark, who, j, i, d)
						}
					}
					if d := a.distance(seen(t, missing, as)); d < 0.04 && scheme != "grey" && (scheme == categorical || slices.Contains(sequential, scheme)) {
						t.Errorf("%s, dark %v, %s: class %d is %.3f from no value", scheme, dark, who, i, d)
					}
					if i > 0 && slices.Contains(sequential, scheme) && (a[0] > all[i-1][0]) != dark {
						t.Errorf("%s, dark %v, %s: class %d has another order", scheme, dark, who, i)
					}
				}
			}
		}
	}
	if err := (&Classes{}).Color("rainbow", false); !errors.Is(err, ErrClasses) {
		t.Error(err)
	}
}
