package theme

import (
	"fmt"
	"slices"
	"sync"

	"quadrille/static"
)

// Names defines which names a map shows at which zoom, and their style. Zooms are those of tiles of
// 256 pixels. It is shared and must not be changed.
type Names struct {
	Fonts   []string                `json:"fonts"`
	Looks   map[string]NameLook     `json:"looks"`
	Regions map[string]RegionNaming `json:"regions"` // by type; "other" is for all types without a key
	Places  PlaceNaming             `json:"places"`
}

// NameLook is the style of the names of a rank.
type NameLook struct {
	Size      float64 `json:"size"`      // CSS pixels
	Weight    int     `json:"weight"`    // 100 to 900
	Spacing   float64 `json:"spacing"`   // between letters, in em
	Transform string  `json:"transform"` // none or uppercase
	Slant     string  `json:"slant"`     // normal or italic
	Ink       string  `json:"ink"`       // the name of a colour of LabelColors
}

// RegionNaming describes the names of regions of a type.
type RegionNaming struct {
	Looks []string `json:"looks"` // of Names.Looks, the largest first
	Turn  int      `json:"turn"`  // names of a lower turn are placed first
	From  int      `json:"from"`  // the first zoom with names
	To    int      `json:"to"`    // the last one
	// Ranks are bounds by zoom: only regions of a lower rank are named. Beyond the end of the list
	// all regions are named.
	Ranks []float64 `json:"ranks"`
	// TooLarge are bounds by zoom too: regions of a lower rank are not named, because they are wider than
	// a view.
	TooLarge []float64 `json:"too-large"`
}

// PlaceNaming describes the names of places.
type PlaceNaming struct {
	MinGreatCapital        float64            `json:"great-capital"` // people that make a capital a great one
	GreatCapitalBonus      float64            `json:"bonus"`         // people that are added to those of a great capital
	Tiers                  map[string]float64 `json:"tiers"`         // the least people of each
	Turns                  map[string]int     `json:"turns"`         // by tier, as in RegionNaming
	Dots                   map[string]float64 `json:"dots"`          // radius by tier, CSS pixels
	MinPopulation          []float64          `json:"least"`         // people that a name needs, by zoom; beyond the list none
	MinPopulationOfCapital []float64          `json:"least-of-capital"`
	DotDistancePx          float64            `json:"apart"`      // CSS pixels between the dots of two cities
	TierDistancePx         map[string]float64 `json:"tier-apart"` // the same between a dot of a tier and that of a more important place
	DotDistanceMaxZoom     int                `json:"apart-to"`   // the last zoom that keeps them apart
	AroundCity             AroundCity         `json:"around-city"`
	DotsFrom               int                `json:"dots-from"` // the first zoom at which a dot without a name is useful
}

// AroundCity defines which places are not named, up to the zoom DotDistanceMaxZoom, because a larger city is
// near.
type AroundCity struct {
	People float64 `json:"people"` // the least population of such a city
	Times  float64 `json:"times"`  // the city has more than Times times the place's people
	KM     float64 `json:"km"`     // the place is within KM kilometres
	PX     float64 `json:"px"`     // and within PX CSS pixels
}

// Region returns the naming of regions of a type.
func (n *Names) Region(typ string) RegionNaming {
	if one, ok := n.Regions[typ]; ok {
		return one
	}
	return n.Regions["other"]
}

// GetNames returns the embedded table of names, which is read once. A test ensures that it is
// valid.
var GetNames = sync.OnceValue(func() *Names {
	n, err := parseNames(static.Names)
	if err != nil {
		panic(err)
	}
	return n
})

// PlaceTiers are the ranks of places, the most important first. Each has a style, a position in the order of
// names (turn) and a dot.
var PlaceTiers = []string{"capital", "metropolis", "major", "city", "town", "village"}

func parseNames(text []byte) (*Names, error) {
	n := new(Names)
	if err := strictly(text, n); err != nil {
		return nil, fmt.Errorf("names: %w: what names.json has, package theme must have too", err)
	}
	label := &GetTokens().Themes[Themes[0]].Label
	for name, rank := range n.Looks {
		if !slices.Contains([]string{"none", "uppercase"}, rank.Transform) || !slices.Contains([]string{"normal", "italic"}, rank.Slant) ||
			label.Ink(rank.Ink) == (Color{}) || rank.Size <= 0 {
			return nil, fmt.Errorf("names: the look %s needs a size, a transform, a slant and the name of an ink", name)
		}
	}
	for typ, naming := range n.Regions {
		if len(naming.Looks) == 0 || naming.From > naming.To ||
			slices.ContainsFunc(naming.Looks, func(name string) bool { return n.Looks[name].Size == 0 }) {
			return nil, fmt.Errorf("names: regions of the type %s need looks that there are, and zooms from low to high", typ)
		}
	}
	for _, tier := range PlaceTiers {
		_, turn := n.Places.Turns[tier]
		if n.Looks[tier].Size == 0 || n.Places.Dots[tier] <= 0 || !turn {
			return nil, fmt.Errorf("names: the tier %s needs a look, a turn and a dot", tier)
		}
	}
	if _, ok := n.Regions["other"]; !ok || len(n.Fonts) == 0 || len(n.Places.MinPopulation) == 0 ||
		len(n.Places.MinPopulationOfCapital) == 0 {
		return nil, fmt.Errorf("names: give fonts, the people that places need by zoom, and how regions of other types are named")
	}
	return n, nil
}
