package geonames

import (
	"bytes"
	"context"

	"quadrille/cmd/tileserver/internal/hierarchy"
	"quadrille/cmd/tileserver/internal/localtime"
	"quadrille/places"
	"quadrille/places/search"
)

// isoOf returns what follows the country in the ISO 3166-2 code of a region of
// type state, or "".
func isoOf(region, country string) string {
	if of, iso := hierarchy.Division(region); of == country {
		return iso
	}
	return ""
}

// knownDivision is what an answer has learnt of a first-level division.
type knownDivision struct {
	iso    string
	misses int // places of the division whose region has another name
}

// mostMisses is how many places of a division are looked up in vain.
const mostMisses = 3

// isoDivision returns the ISO 3166-2 code, without the country, of a place's
// first-level division: GeoNames' own code where that is one, and otherwise
// that of the region of type state that holds the place, if it has the name of
// the division. A division that was found, or missed a few times, is not looked
// for again. One name within the other counts for the place alone: Santiago and
// Santiago Rodríguez are neighbours.
func (g *request) isoDivision(ctx context.Context, t *toponym) (string, error) {
	if t.Country == "" || t.Admin1 == "" {
		return "", nil
	}
	if iso, known := places.ISODivision(t.Country, t.Admin1); known {
		return iso, nil
	}
	if t.Admin1Name == "" {
		return "", nil
	}
	key := t.Country + "." + t.Admin1
	d := g.divisions[key]
	if d.iso != "" || d.misses == mostMisses {
		return d.iso, nil
	}
	b, ok, err := localtime.Have(&g.view.Boundaries)
	if err != nil || !ok || !localtime.HasType(b, localtime.StateType) {
		return "", err
	}
	at, err := b.At(ctx, t.Lat, t.Lon, localtime.StateType)
	if err != nil {
		return "", err
	}
	for _, r := range at {
		iso := isoOf(r.ID, t.Country)
		switch {
		case iso == "":
		case hierarchy.EqualNames(r.Name, t.Admin1Name):
			d.iso = iso
		case sameName(r.Name, t.Admin1Name):
			return iso, nil
		}
	}
	if d.iso == "" {
		d.misses++
	}
	if g.divisions == nil {
		g.divisions = map[string]knownDivision{}
	}
	g.divisions[key] = d
	return d.iso, nil
}

// sameName reports whether one name is the other with words around it, without
// regard to case and accents.
func sameName(a, b string) bool {
	x := append(search.Fold([]byte{' '}, a), ' ')
	y := append(search.Fold([]byte{' '}, b), ' ')
	return len(x) > 2 && len(y) > 2 && (bytes.Contains(x, y) || bytes.Contains(y, x))
}
