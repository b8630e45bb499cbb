package photon

import (
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/geocoder"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/quadkey"
)

// feature is a result in Photon's terms.
type feature struct {
	osmType              string
	osmID                uint64
	key, value, layer    string
	name                 string
	district, city       string
	county, state        string
	country, countryCode string
	lat, lon             float64
	bounds               [4]float64
}

// featureOf says a result in Photon's terms.
func featureOf(r *geocoder.Result) (f feature) {
	f = feature{osmID: geocoder.NumberOf(r), name: r.Name, lat: r.Lat, lon: r.Lon, bounds: r.Bounds, countryCode: strings.ToUpper(r.Country)}
	f.address(r.Parents)
	switch r.Kind {
	case geocoder.Place:
		f.osmType = "N"
		f.key, f.value, f.layer = placeTags(&r.Place)
	case names.Airport:
		f.osmType = "W"
		f.key, f.value, f.layer = "aeroway", "aerodrome", layerHouse
		if r.Type == "heliport" {
			f.value = "heliport"
		}
	default:
		f.osmType = "R"
		f.layer = layerOf(r.Type, divisions(r.Parents))
		f.key, f.value = "boundary", "administrative"
		if f.layer == layerCountry || f.layer == layerState {
			f.key, f.value = "place", f.layer
		}
	}
	f.leaveOutSelf(r)
	return f
}

// leaveOutSelf leaves out the member of the address that the feature is itself, and those
// below it, but for the country, which Photon gives of countries too.
func (f *feature) leaveOutSelf(r *geocoder.Result) {
	switch f.layer {
	case layerCountry:
		f.country, f.state, f.county, f.city = f.name, "", "", ""
		if f.countryCode == "" && len(r.ID) == 2 {
			f.countryCode = strings.ToUpper(r.ID)
		}
	case layerState:
		f.state, f.county, f.city = "", "", ""
	case layerCounty:
		f.county, f.city = "", ""
	}
}

// countryLayer is the layer of countries. Its regions have ISO 3166 codes as ids.
const countryLayer = "country"

// municipal are names of layers whose regions are cities, however many layers are around.
var municipal = []string{"city", "commune", "gemeinde", "municipality", "town"}

// layerOf is the layer of a region with so many divisions around it, of one layer each.
func layerOf(typ string, around int) string {
	switch {
	case typ == countryLayer:
		return layerCountry
	case slices.Contains(municipal, typ), around > 1:
		return layerCity
	case around == 1:
		return layerCounty
	}
	return layerState
}

// divisions counts the layers of regions below countries.
func divisions(parents []names.Parent) (n int) {
	for i := range parents {
		if parents[i].Type != countryLayer && (i == 0 || parents[i].Type != parents[i-1].Type) {
			n++
		}
	}
	return n
}

// address fills in the regions around, which come with the smallest first.
func (f *feature) address(parents []names.Parent) {
	n := 0
	for i := len(parents) - 1; i >= 0; i-- {
		p := &parents[i]
		var member *string
		switch layerOf(p.Type, n) {
		case layerCountry:
			if member = &f.country; f.country == "" && f.countryCode == "" && len(p.ID) == 2 {
				f.countryCode = strings.ToUpper(p.ID)
			}
		case layerState:
			member = &f.state
		case layerCounty:
			member = &f.county
		default:
			member = &f.city
		}
		if *member == "" {
			*member = p.Name
		}
		if p.Type != countryLayer && (i == 0 || parents[i-1].Type != p.Type) {
			n++
		}
	}
}

// People that make a place a city or a town in OpenStreetMap's classes.
const (
	cityPeople = 100_000
	townPeople = 10_000
)

// placeTags are the main tag and the layer that OpenStreetMap has for a place of GeoNames.
func placeTags(p *places.Hit) (key, value, layer string) {
	switch p.Class {
	case "P":
		return "place", settlement(p), settlementLayer(p.Code)
	case "A":
		switch {
		case strings.HasPrefix(p.Code, "PCL"):
			return "place", "country", layerCountry
		case p.Code == "ADM1":
			return "place", "state", layerState
		case p.Code == "ADM2":
			return "boundary", "administrative", layerCounty
		case p.Code == "ADM3" || p.Code == "ADM4":
			return "boundary", "administrative", layerCity
		}
		return "boundary", "administrative", layerOther
	case "S":
		switch p.Code {
		case "AIRP", "AIRF", "AIRB":
			return "aeroway", "aerodrome", layerHouse
		case "AIRH":
			return "aeroway", "heliport", layerHouse
		}
		return "building", "yes", layerHouse
	case "R":
		return "highway", "road", layerStreet
	case "H":
		if strings.HasPrefix(p.Code, "STM") {
			return "waterway", "river", layerOther
		}
		return "natural", "water", layerOther
	case "T":
		switch {
		case strings.HasPrefix(p.Code, "ISL"):
			return "place", "island", layerOther
		case p.Code == "MT" || p.Code == "PK" || p.Code == "HLL" || p.Code == "VLC":
			return "natural", "peak", layerOther
		}
		return "natural", "yes", layerOther
	case "V":
		return "natural", "wood", layerOther
	}
	return "place", "locality", layerOther
}

// settlement is the value of the tag place.
func settlement(p *places.Hit) string {
	switch {
	case p.Code == "PPLX":
		return "suburb"
	case p.Code == "PPLL" || p.Code == "PPLF":
		return "hamlet"
	case p.Code == "PPLC" || p.Population >= cityPeople:
		return "city"
	case p.Population >= townPeople:
		return "town"
	}
	return "village"
}

func settlementLayer(code string) string {
	if code == "PPLX" || code == "PPLL" || code == "PPLF" {
		return layerDistrict
	}
	return layerCity
}

// sameKM is how far apart two records of one airport may be.
const sameKM = 20

// doubles reports whether two features are one that two sources have: a division, or an
// airport. Settlements of one name are different ones.
func (f *feature) doubles(o *feature) bool {
	if f.layer != o.layer || f.name != o.name || f.countryCode != o.countryCode {
		return false
	}
	switch f.layer {
	case layerCountry, layerState:
		return true
	case layerCounty:
		return f.state == o.state
	}
	return f.key == "aeroway" && o.key == "aeroway" && quadkey.Distance(f.lon, f.lat, o.lon, o.lat) < 1000*sameKM
}

// append writes the feature, with the members in Photon's order.
func (f *feature) append(dst []byte) []byte {
	dst = append(append(append(dst, `{"type":"Feature","properties":{"osm_type":"`...), f.osmType...), `","osm_id":`...)
	dst = strconv.AppendUint(dst, f.osmID, 10)
	for _, m := range [...]struct{ name, value string }{
		{"osm_key", f.key}, {"osm_value", f.value}, {"type", f.layer}, {"name", f.name}, {"district", f.district}, {"city", f.city},
		{"county", f.county}, {"state", f.state}, {"country", f.country}, {"countrycode", f.countryCode},
	} {
		if m.value != "" {
			dst = append(append(append(dst, `,"`...), m.name...), `":`...)
			dst = jsontext.AppendString(dst, m.value)
		}
	}
	if b := f.bounds; b != [4]float64{} {
		if b[0] > b[2] { // across 180°, which clients do not expect
			b[0], b[2] = -180, 180
		}
		dst = append(dst, `,"extent":[`...)
		dst = append(appendDegrees(dst, b[0]), ',')
		dst = append(appendDegrees(dst, b[3]), ',')
		dst = append(appendDegrees(dst, b[2]), ',')
		dst = append(appendDegrees(dst, b[1]), ']')
	}
	dst = append(dst, `},"geometry":{"type":"Point","coordinates":[`...)
	dst = append(appendDegrees(dst, f.lon), ',')
	return append(appendDegrees(dst, f.lat), "]}}"...)
}

func appendDegrees(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v+0, 'f', -1, 64) }
