package geonames

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"quadrille/cmd/tileserver/internal/localtime"
	"quadrille/places"
	"quadrille/places/search"
)

// stateID is the id of a region of type state that has an ISO 3166-2 code.
var stateID = regexp.MustCompile(`^[a-z]{2}-[a-z0-9]{1,3}$`)

// isoOf returns what follows the country in the ISO 3166-2 code of a region of
// type state, or "".
func isoOf(region, country string) string {
	iso, ok := strings.CutPrefix(region, strings.ToLower(country)+"-")
	if !ok || !stateID.MatchString(region) {
		return ""
	}
	return strings.ToUpper(iso)
}

// isoDivision returns the ISO 3166-2 code, without the country, of a place's
// first-level division: GeoNames' own code where that is one, and otherwise
// that of the region of type state that holds the place, if it has the name of
// the division. A division that was found once is not looked for again.
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
	if iso := g.divisions[key]; iso != "" {
		return iso, nil
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
		if iso == "" || !sameName(r.Name, t.Admin1Name) {
			continue
		}
		if g.divisions == nil {
			g.divisions = map[string]string{}
		}
		g.divisions[key] = iso
		return iso, nil
	}
	return "", nil
}

// sameName reports whether one name is the other with words around it, without
// regard to case and accents.
func sameName(a, b string) bool {
	x := append(search.Fold([]byte{' '}, a), ' ')
	y := append(search.Fold([]byte{' '}, b), ' ')
	return len(x) > 2 && len(y) > 2 && (bytes.Contains(x, y) || bytes.Contains(y, x))
}

// equalNames compares names without regard to case and accents.
func equalNames(a, b string) bool {
	x, y := search.Fold(nil, a), search.Fold(nil, b)
	return len(x) > 0 && bytes.Equal(x, y)
}
