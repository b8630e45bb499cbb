package places

import (
	"bytes"
	"cmp"
	"strings"

	"quadrille/feature"
)

// These are the families of tile_places, most important first.
const (
	high = iota
	medium
	low
	tiers
)

var tierNames = [tiers]string{"high", "medium", "low"}

// Places with these populations or more are always in the high or medium tier.
const (
	highPopulation   = 100_000
	mediumPopulation = 5_000
)

// weights give the weight of a place on a map: base + population × percent / 100. Codes that are
// not listed have the weight of their class, under "H." and so on. medium puts a place with few
// people into the medium tier.
var weights = map[string]struct {
	base, percent uint64
	medium        bool
}{
	"P.PPLC":  {100_000, 200, true}, // a capital is of the high tier
	"P.PPLG":  {50_000, 150, true},
	"P.PPLA":  {20_000, 120, true},
	"P.PPLA2": {5_000, 105, true},
	"P.PPLA3": {500, 102, false},
	"P.PPLA4": {200, 101, false},
	"P.PPLX":  {0, 40, false}, // a part of a town that the gazetteer lists as a place of its own
	"P.PPLL":  {0, 80, false},
	"P.PPLQ":  {0, 10, false},
	"P.PPLH":  {0, 10, false},
	"P.PPLW":  {0, 10, false},
	"P.PPLCH": {0, 10, false},
	"P.":      {100, 100, false},

	"L.CONT": {1_000_000, 0, true},
	"H.OCN":  {1_000_000, 0, true},
	"H.SEA":  {200_000, 0, true},
	"S.AIRP": {3_000, 0, true},
	"T.VLC":  {500, 0, false},
	"T.ISL":  {300, 100, false},
	"T.MT":   {200, 0, false},
	"H.LK":   {200, 0, false},
}

// tierOf returns the index in tierNames of the family a place is in.
func tierOf(qualifier []byte, population, weight uint64) int {
	if weight != 0 {
		population = weight
		if isKind(qualifier) {
			qualifier = nil
		}
	}
	switch {
	case population >= highPopulation || string(qualifier) == "P.PPLC":
		return high
	case population >= mediumPopulation || weights[string(qualifier)].medium:
		return medium
	}
	return low
}

func isCapital(p *place) bool { return string(p.qualifier) == "P.PPLC" }

// isPart reports whether a place is no town of today: a section of one, or historical, abandoned or
// destroyed. Such places are in tiles from zoom rollupZoom + 1.
func isPart(qualifier []byte) bool {
	switch string(qualifier) {
	case "P.PPLX", "P.PPLH", "P.PPLCH", "P.PPLQ", "P.PPLW":
		return true
	}
	return false
}

// territories are the codes of ISO 3166-1 for territories that are no countries.
const territories = "AI AS AW AX BL BM BQ BV CC CW CX FK FO GF GG GI GL GP GS GU HK HM IM IO JE KY MF MO MP MQ MS NC NF PF PM PN PR RE " +
	"SH SJ SX TC TF TK UM VG VI WF YT"

// asDrawn returns a place as maps draw it: the seat of a territory is no capital.
func (p *place) asDrawn() *place {
	if !isCapital(p) || !strings.Contains(territories, string(p.country[:])) {
		return p
	}
	seat := *p
	seat.qualifier = []byte("P.PPLG")
	seat.properties = bytes.Replace(p.properties, []byte(`"code":"PPLC"`), []byte(`"code":"PPLG"`), 1)
	return &seat
}

const (
	weightBits = 48
	maxWeight  = 1<<weightBits - 1
	// notArea is set in the importance of everything but administrative areas.
	notArea = 1 << 63
)

// importance orders places for display; greater is more important. Among places that are not of
// class A, a higher tier is always greater. A weight other than 0 replaces the population, and of a point with a kind it
// is used unchanged.
func importance(qualifier []byte, population, weight uint64) uint64 {
	tier := tierOf(qualifier, population, weight)
	if weight == 0 || !isKind(qualifier) {
		weight = weightOf(qualifier, cmp.Or(weight, population))
	}
	n := uint64(tiers-tier)<<weightBits | min(weight, maxWeight)
	if len(qualifier) > 0 && qualifier[0] == 'A' {
		return n
	}
	return n | notArea
}

// isKind reports whether a qualifier has no class.
func isKind(qualifier []byte) bool { return len(qualifier) > 0 && qualifier[0] == '.' }

// Importance returns the importance of a feature of Finder.Tile; greater is more important. It
// ignores the Weight of points with a kind, which features do not have.
func Importance(f *feature.Feature) uint64 {
	number := func(name string) uint64 {
		value, _ := f.Properties.Lookup(name)
		n, _ := value.Integer()
		return uint64(n)
	}
	qualifier := []byte(f.Properties.Text("class") + "." + f.Properties.Text("code"))
	return importance(qualifier, number("population"), number(mapPopulation))
}

func weightOf(qualifier []byte, population uint64) uint64 {
	w, ok := weights[string(qualifier)]
	if !ok && len(qualifier) >= 2 {
		w, ok = weights[string(qualifier[:2])]
	}
	if !ok {
		w.base, w.percent = 10, 10
	}
	return w.base + min(population, maxWeight/1000)*w.percent/100
}
