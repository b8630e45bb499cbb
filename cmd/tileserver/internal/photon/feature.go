package photon

import (
	"strconv"

	"quadrille/ask/geocoder"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/places/names"
	"quadrille/quadkey"
)

// feature is a result with the properties of Photon's answers.
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

// featureOf returns a result in Photon's terms.
func featureOf(r *geocoder.Result) feature {
	t := geocoder.TagsOf(r)
	f := feature{
		osmType: "N", osmID: geocoder.NumberOf(r), key: t.Key, value: t.Value, layer: layerOf(t),
		name: r.Name, lat: r.Lat, lon: r.Lon, bounds: r.Bounds, countryCode: geocoder.CountryOf(r),
	}
	if t.Place != "" { // Photon shows the place of a border
		f.key, f.value = "place", t.Place
	}
	switch r.Kind {
	case names.Airport:
		f.osmType = "W"
	case names.Region:
		f.osmType = "R"
	}
	a := geocoder.AddressNamesOf(geocoder.EnclosingRegions(r))
	f.district, f.city, f.county, f.state, f.country = a.District, a.City, a.County, a.State, a.Country
	switch f.layer {
	case layerCountry:
		f.country = f.name
	case layerCity:
		f.district = "" // it is the district around the city's centre
	}
	return f
}

// layerOf returns Photon's layer for tags.
func layerOf(t geocoder.Tags) string {
	switch {
	case t.Key == "highway":
		return layerStreet
	case t.Rank == geocoder.RankMax:
		return layerHouse
	case t.Rank < geocoder.RankLocality:
		return string(geocoder.LevelOf(t.Rank))
	}
	return layerOther
}

// sameKM is the greatest distance between two records of one airport.
const sameKM = 20

// doubles reports whether two features are the same division or airport from two sources.
// Settlements with the same name are different features.
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
	dst = listing.AppendTexts(dst,
		"osm_key", f.key, "osm_value", f.value, "type", f.layer, "name", f.name, "district", f.district, "city", f.city,
		"county", f.county, "state", f.state, "country", f.country, "countrycode", f.countryCode)
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
