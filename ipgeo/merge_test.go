package ipgeo

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"quadrille/internal/must"
)

// mergeRecords is the reference for merger. It merges field by field, as documented.
func mergeRecords(records []Record) Record {
	var out Record
	records = slices.Clone(records)
	code := oneCountryOf(records)
	onePlaceOf(records, code)
	number := uint32(0)
	for _, r := range records {
		number = stdcmp.Or(number, r.Traits.AutonomousSystemNumber)
	}
	isZero := func(v any) bool { return cmp.Equal(v, zeroOf(v), equal) }
	founded := map[string]int{} // 1 stated, 2 implied, 3 derived
	for _, r := range records {
		here := r.Country.ISOCode == "" || r.Country.ISOCode == code
		// takes reports whether a field comes from this source. Stated values take precedence over
		// derived ones.
		takes := func(name string, empty, has bool) bool {
			how := 1
			if slices.Contains(r.DerivedFields, name) {
				how = 3
			} else if slices.Contains(r.ImpliedFields, name) {
				how = 2
			}
			if !has || !empty && how >= founded[name] {
				return false
			}
			founded[name] = how
			return true
		}
		if r.Country.ISOCode == code && takes("country", isZero(out.Country), !isZero(r.Country)) {
			out.Country = r.Country
		}
		if isZero(out.RegisteredCountry) {
			out.RegisteredCountry = r.RegisteredCountry
		}
		if isZero(out.RepresentedCountry) {
			out.RepresentedCountry = r.RepresentedCountry
		}
		if here {
			if takes("continent", isZero(out.Continent), !isZero(r.Continent)) {
				out.Continent = r.Continent
			}
			if isZero(out.City) {
				out.City = r.City
			}
			if isZero(out.Postal) {
				out.Postal = r.Postal
			}
			if takes("subdivisions", len(out.Subdivisions) == 0, len(r.Subdivisions) > 0) {
				out.Subdivisions = r.Subdivisions
			}
			if out.Location.Latitude == nil && r.Location.Latitude != nil {
				out.Location.Latitude, out.Location.Longitude, out.Location.AccuracyRadius = r.Location.Latitude, r.Location.Longitude, r.Location.AccuracyRadius
			}
			if takes("location.time_zone", out.Location.TimeZone == "", r.Location.TimeZone != "") {
				out.Location.TimeZone = r.Location.TimeZone
			}
			if out.Location.MetroCode == 0 {
				out.Location.MetroCode = r.Location.MetroCode
			}
		}
		if out.Traits.AutonomousSystemNumber == 0 {
			out.Traits.AutonomousSystemNumber = r.Traits.AutonomousSystemNumber
		}
		if n := r.Traits.AutonomousSystemNumber; n == number && out.Traits.AutonomousSystemOrganization == "" {
			out.Traits.AutonomousSystemOrganization = r.Traits.AutonomousSystemOrganization
		}
		if out.Traits.ISP == "" {
			out.Traits.ISP = r.Traits.ISP
		}
		out.Traits.IsAnycast = out.Traits.IsAnycast || r.Traits.IsAnycast
		for k, v := range r.Extra {
			if _, ok := out.Extra[k]; !ok {
				if out.Extra == nil {
					out.Extra = map[string]any{}
				}
				out.Extra[k] = v
			}
		}
	}
	for _, d := range derivable {
		if founded[d.name] == 3 {
			out.DerivedFields = append(out.DerivedFields, d.name)
		}
	}
	return out
}

// oneCountryOf is the reference for oneCountry, for records with names in English only and without
// ids and codes of subdivisions.
func oneCountryOf(records []Record) (code string) {
	elsewhere := func(a, b *Record) bool {
		if a.Country.ISOCode != "" && b.Country.ISOCode != "" {
			return a.Country.ISOCode != b.Country.ISOCode
		}
		if x, y := a.Continent.Code, b.Continent.Code; x != "" && y != "" && x != y {
			return true
		}
		if a.Location.Latitude != nil && b.Location.Latitude != nil {
			const metresPerDegree = 111e3 // of latitude; the points have one longitude
			far := 500e3
			for _, r := range []*Record{a, b} {
				if r.Country.ISOCode != "" && len(r.City.Names)+len(r.Subdivisions) == 0 && r.Postal.Code == "" {
					far = 5000e3
				}
			}
			return math.Abs(*a.Location.Latitude-*b.Location.Latitude)*metresPerDegree > far
		}
		x, y := a.City.Names["en"], b.City.Names["en"]
		return x != "" && y != "" && x != y
	}
	for i := range records {
		r := &records[i]
		for j := range i {
			if elsewhere(&records[j], r) {
				r.Continent, r.Country, r.City, r.Subdivisions, r.Postal, r.Location = Continent{}, Country{}, City{}, nil, Postal{}, Location{}
			}
		}
		code = stdcmp.Or(code, r.Country.ISOCode)
	}
	return code
}

// onePlaceOf is the reference for onePlace, for records with names only in English.
func onePlaceOf(records []Record, code string) {
	here := func(r *Record) bool { return r.Country.ISOCode == "" || r.Country.ISOCode == code }
	precise := func(r *Record) bool { return r.Location.Latitude != nil || r.Postal.Code != "" }
	city := func(r *Record) string { return r.City.Names["en"] }
	division := func(r *Record) string {
		if len(r.Subdivisions) == 0 {
			return ""
		}
		return r.Subdivisions[0].Names["en"]
	}
	placed := func(r *Record) bool { return here(r) && (precise(r) || city(r) != "" || division(r) != "") }
	first := slices.IndexFunc(records, func(r Record) bool { return placed(&r) })
	if first < 0 {
		return
	}
	itsCity, itsDivision, isPrecise := city(&records[first]), division(&records[first]), precise(&records[first])
	for i := range records {
		r := &records[i]
		same := i == first
		switch {
		case i <= first || !here(r):
		case itsCity != "":
			same = city(r) == itsCity
		case !isPrecise:
			same = division(r) == itsDivision
		}
		if same {
			itsCity, itsDivision, isPrecise = stdcmp.Or(itsCity, city(r)), stdcmp.Or(itsDivision, division(r)), isPrecise || precise(r)
			continue
		}
		r.City, r.Subdivisions, r.Postal = City{}, nil, Postal{}
		r.Location = Location{TimeZone: r.Location.TimeZone}
	}
}

func zeroOf(v any) any {
	switch v.(type) {
	case Country:
		return Country{}
	case RepresentedCountry:
		return RepresentedCountry{}
	case Continent:
		return Continent{}
	case City:
		return City{}
	case Postal:
		return Postal{}
	}
	panic(fmt.Sprintf("%T", v))
}

// drawPartial draws a record with few fields and few values, so that sources complete and
// contradict each other.
func drawPartial(t *rapid.T) Record {
	var r Record
	some := func() bool { return rapid.IntRange(0, 2).Draw(t, "some") == 0 }
	code := rapid.SampledFrom([]string{"", "AA", "BB"})
	name := func() Names { return Names{"en": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")} }
	if rapid.Bool().Draw(t, "country") {
		r.Country.ISOCode = code.Draw(t, "code")
		if some() {
			r.Country.Names = name()
		}
	}
	if some() {
		r.Continent.Code = code.Draw(t, "continent")
	}
	if some() {
		r.RegisteredCountry.ISOCode = code.Draw(t, "registered")
	}
	if some() {
		r.RepresentedCountry.Type = "military"
	}
	if some() {
		r.City.Names = name()
	}
	if some() {
		r.Subdivisions = []Subdivision{{Names: name()}}
	}
	if some() {
		r.Postal.Code = rapid.SampledFrom([]string{"1", "2"}).Draw(t, "postal")
	}
	if some() {
		r.Location.Latitude, r.Location.Longitude = ptr(rapid.SampledFrom([]float64{0, 1, 2, 40, 80}).Draw(t, "lat")), ptr(1.5)
		r.Location.AccuracyRadius = rapid.Uint16Range(0, 1).Draw(t, "radius")
	}
	if some() {
		r.Location.TimeZone = rapid.SampledFrom([]string{"A/B", "C/D"}).Draw(t, "zone")
	}
	if some() {
		r.Location.MetroCode = rapid.Uint16Range(0, 2).Draw(t, "metro")
	}
	if some() {
		r.Traits.AutonomousSystemNumber = rapid.Uint32Range(0, 2).Draw(t, "asn")
	}
	if some() {
		r.Traits.AutonomousSystemOrganization = rapid.SampledFrom([]string{"o", "p"}).Draw(t, "organization")
	}
	if some() {
		r.Traits.ISP = rapid.SampledFrom([]string{"i", "j"}).Draw(t, "isp")
	}
	r.Traits.IsAnycast = some()
	if some() {
		r.Extra = rapid.MapOfN(rapid.SampledFrom([]string{"k", "k\"", "k!", ""}),
			rapid.Map(rapid.Int64Range(0, 2), func(i int64) any { return i }), 1, 3).Draw(t, "extra")
	}
	r.ImpliedFields = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"country", "continent"}), 0, 2, rapid.ID[string]).Draw(t, "implied")
	r.DerivedFields = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"country", "subdivisions", "location.time_zone"}), 0, 3,
		rapid.ID[string]).Draw(t, "derived")
	if _, err := new(encoder).encode(&r); err != nil {
		r.Traits.IsAnycast = true
	}
	return r
}

func TestMergeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []Record
		for range rapid.IntRange(1, 4).Draw(t, "sources") {
			records = append(records, drawPartial(t))
		}
		want := mergeRecords(records)
		got, err := merged(t, records...).Record()
		must.Do(t, err)
		if d := cmp.Diff(want, got, equal); d != "" {
			t.Fatal(d)
		}
	})
}

func TestMerge(t *testing.T) {
	asn := Record{Traits: Traits{AutonomousSystemNumber: 7, ISP: "seven"}}
	for _, tc := range []struct {
		name    string
		records []Record
		want    string
	}{
		{"country and network", []Record{country("FR"), asn},
			`"country":{"iso_code":"FR","names":{"en":"Land of FR"}},"traits":{"autonomous_system_number":7,"isp":"seven","network":"8.8.8.0/24"}`},
		{"another country's city is no city", []Record{
			country("FR"),
			{Country: Country{ISOCode: "DE"}, City: City{GeoNameID: 1}, Traits: Traits{ISP: "i"}},
		},
			`"country":{"iso_code":"FR","names":{"en":"Land of FR"}},"traits":{"isp":"i","network":"8.8.8.0/24"}`},
		{"a city without a country is anybody's", []Record{{City: City{GeoNameID: 1}}, country("FR")},
			`"country":{"iso_code":"FR","names":{"en":"Land of FR"}},"city":{"geoname_id":1},"traits":{"network":"8.8.8.0/24"}`},
		{"a country of another continent", []Record{
			{Continent: Continent{Code: "EU"}},
			{
				Country:   Country{ISOCode: "US"},
				Continent: Continent{Code: "NA"},
				Location:  Location{TimeZone: "America/Chicago"},
				Traits:    Traits{ISP: "i"},
			},
		},
			`"continent":{"code":"EU"},"traits":{"isp":"i","network":"8.8.8.0/24"}`},
		{"a continent that a country is not on", []Record{
			{Country: Country{ISOCode: "US"}, Continent: Continent{Code: "NA"}, ImpliedFields: []string{"continent"}},
			{Continent: Continent{Code: "EU", GeoNameID: 1}},
		},
			`"continent":{"code":"NA"},"country":{"iso_code":"US"},"traits":{"network":"8.8.8.0/24"}`},
		{"continents by name", []Record{
			{Continent: Continent{Names: Names{"en": "Europe"}}},
			{Country: Country{ISOCode: "US"}, Continent: Continent{Code: "NA", Names: Names{"en": "North America"}}},
		},
			`"continent":{"names":{"en":"Europe"}},"traits":{"network":"8.8.8.0/24"}`},
		{"a country that is told to lie on two continents", []Record{
			{Country: Country{ISOCode: "RU"}, Continent: Continent{Code: "EU"}},
			{Country: Country{ISOCode: "RU"}, Continent: Continent{Code: "AS"}, City: City{GeoNameID: 1}},
		},
			`"continent":{"code":"EU"},"country":{"iso_code":"RU"},"city":{"geoname_id":1},"traits":{"network":"8.8.8.0/24"}`},
		{"a place without a country, and another far away", []Record{
			{
				City:     City{Names: Names{"en": "Berlin"}},
				Location: at(52.52, 13.405),
			}, {Country: Country{ISOCode: "GB"}, City: City{Names: Names{"en": "London"}}, Location: zoned(at(51.5, -0.1), "Europe/London")}},
			`"city":{"names":{"en":"Berlin"}},"location":{"latitude":52.52,"longitude":13.405},"traits":{"network":"8.8.8.0/24"},"quadkey":"1202102332221200"`},
		{"the same in another order", []Record{
			{
				Country: Country{ISOCode: "GB"},
				City:    City{Names: Names{"en": "London"}},
			}, {City: City{Names: Names{"en": "Berlin"}}, Location: zoned(at(52.52, 13.405), "Europe/Berlin")}},
			`"country":{"iso_code":"GB"},"city":{"names":{"en":"London"}},"traits":{"network":"8.8.8.0/24"}`},
		{"and one near it", []Record{
			{
				City:     City{Names: Names{"en": "Potsdam"}},
				Location: at(52.4, 13.06),
			}, {Country: Country{ISOCode: "DE"}, City: City{Names: Names{"en": "Berlin"}}, Location: zoned(at(52.52, 13.405), "Europe/Berlin")}},
			`"country":{"iso_code":"DE"},"city":{"names":{"en":"Potsdam"}},"location":{"latitude":52.4,"longitude":13.06,"time_zone":"Europe/Berlin"},"traits":{"network":"8.8.8.0/24"},"quadkey":"1202120101023001"`},
		{"one of the same name far away", []Record{
			{
				City:     City{Names: Names{"en": "Berlin"}},
				Location: at(52.52, 13.405),
			}, {Country: Country{ISOCode: "US"}, City: City{Names: Names{"en": "Berlin"}}, Location: at(44.47, -71.18)}},
			`"city":{"names":{"en":"Berlin"}},"location":{"latitude":52.52,"longitude":13.405},"traits":{"network":"8.8.8.0/24"},"quadkey":"1202102332221200"`},
		{"one of the same id far away", []Record{
			{City: City{GeoNameID: 7}, Location: at(52.52, 13.405)}, {
				Country:  Country{ISOCode: "DE"},
				City:     City{GeoNameID: 7},
				Location: at(44, 11),
			}},
			`"country":{"iso_code":"DE"},"city":{"geoname_id":7},"location":{"latitude":52.52,"longitude":13.405},"traits":{"network":"8.8.8.0/24"},"quadkey":"1202102332221200"`},
		{"a place far from the middle of its country", []Record{
			{
				City:     City{Names: Names{"en": "Seattle"}},
				Location: at(47.6, -122.3),
			}, {Country: Country{ISOCode: "US"}, Location: Location{Latitude: ptr(37.751), Longitude: ptr(-97.822), AccuracyRadius: 1000}}},
			`"country":{"iso_code":"US"},"city":{"names":{"en":"Seattle"}},"location":{"latitude":47.6,"longitude":-122.3},"traits":{"network":"8.8.8.0/24"},"quadkey":"0212300302202113"`},
		{"a place beside names alone", []Record{
			{City: City{Names: Names{"en": "Munich", "de": "München"}}}, {
				Country: Country{ISOCode: "DE"},
				City:    City{Names: Names{"en": "München"}},
			}, {Country: Country{ISOCode: "FR"}, City: City{Names: Names{"en": "Paris"}}}},
			`"country":{"iso_code":"DE"},"city":{"names":{"de":"München","en":"Munich"}},"traits":{"network":"8.8.8.0/24"}`},
		{"names without their code give way", []Record{{Country: Country{Names: Names{"en": "Nowhere"}}}, country("FR")},
			`"country":{"iso_code":"FR","names":{"en":"Land of FR"}},"traits":{"network":"8.8.8.0/24"}`},
		{"of another place neither city nor coordinates nor code", []Record{
			{Country: Country{ISOCode: "GB"}, City: City{Names: Names{"en": "Edinburgh"}}, Subdivisions: []Subdivision{{ISOCode: "EDH"}}},
			{
				Country:      Country{ISOCode: "GB"},
				City:         City{Names: Names{"en": "London"}},
				Subdivisions: []Subdivision{{ISOCode: "ENG"}},
				Location:     at(51.5, 0),
				Postal:       Postal{Code: "E1"},
			}},
			`"country":{"iso_code":"GB"},"city":{"names":{"en":"Edinburgh"}},"subdivisions":[{"iso_code":"EDH"}],"traits":{"network":"8.8.8.0/24"}`},
		{"of the same place all", []Record{
			{City: City{Names: Names{"en": "ZURICH (Kreis 1)"}}}, {
				City:   City{Names: Names{"de": "Zürich", "en": "Zurich"}},
				Postal: Postal{Code: "8001"},
			}, {City: City{GeoNameID: 7}, Location: at(1, 1)}},
			`"city":{"names":{"en":"ZURICH (Kreis 1)"}},"postal":{"code":"8001"},"traits":{"network":"8.8.8.0/24"}`},
		{"the same by its id", []Record{
			{City: City{GeoNameID: 7, Names: Names{"en": "A"}}}, {City: City{GeoNameID: 7, Names: Names{"en": "B"}}, Postal: Postal{Code: "8001"}}},
			`"city":{"geoname_id":7,"names":{"en":"A"}},"postal":{"code":"8001"},"traits":{"network":"8.8.8.0/24"}`},
		{"cities of one name in two states", []Record{
			{
				City:         City{Names: Names{"en": "Springfield"}},
				Subdivisions: []Subdivision{{ISOCode: "IL"}},
			}, {City: City{Names: Names{"en": "Springfield"}}, Subdivisions: []Subdivision{{ISOCode: "MO"}}, Postal: Postal{Code: "1"}}},
			`"city":{"names":{"en":"Springfield"}},"subdivisions":[{"iso_code":"IL"}],"traits":{"network":"8.8.8.0/24"}`},
		{"a city in the state that alone is named", []Record{
			{Subdivisions: []Subdivision{{ISOCode: "CA"}}}, {City: City{Names: Names{"en": "Reno"}}, Subdivisions: []Subdivision{{ISOCode: "NV"}}},
			{
				City:         City{Names: Names{"en": "Fresno"}},
				Subdivisions: []Subdivision{{ISOCode: "CA"}},
			}, {City: City{Names: Names{"en": "Fresno"}}, Postal: Postal{Code: "9"}}},
			`"city":{"names":{"en":"Fresno"}},"postal":{"code":"9"},"subdivisions":[{"iso_code":"CA"}],"traits":{"network":"8.8.8.0/24"}`},
		{"a subdivision of the second level is that of two levels", []Record{
			{City: City{Names: Names{"en": "Edinburgh"}}, Subdivisions: []Subdivision{{ISOCode: "EDH"}}},
			{
				City:         City{Names: Names{"en": "Edinburgh"}},
				Subdivisions: []Subdivision{{ISOCode: "SCT"}, {ISOCode: "EDH"}},
				Postal:       Postal{Code: "EH1"},
			}},
			`"city":{"names":{"en":"Edinburgh"}},"postal":{"code":"EH1"},"subdivisions":[{"iso_code":"EDH"}],"traits":{"network":"8.8.8.0/24"}`},
		{"two levels without a code in common", []Record{
			{City: City{Names: Names{"en": "Newport"}}, Subdivisions: []Subdivision{{ISOCode: "ENG"}, {ISOCode: "IOW"}}},
			{
				City:         City{Names: Names{"en": "Newport"}},
				Subdivisions: []Subdivision{{ISOCode: "WLS"}, {ISOCode: "NWP"}},
				Postal:       Postal{Code: "NP1"},
			}},
			`"city":{"names":{"en":"Newport"}},"subdivisions":[{"iso_code":"ENG"},{"iso_code":"IOW"}],"traits":{"network":"8.8.8.0/24"}`},
		{"what is derived tells no city from another", []Record{
			{City: City{Names: Names{"en": "Paris"}}, Subdivisions: []Subdivision{{ISOCode: "75"}}},
			{
				City:          City{Names: Names{"en": "Paris"}},
				Subdivisions:  []Subdivision{{ISOCode: "IDF"}},
				Postal:        Postal{Code: "75001"},
				DerivedFields: []string{"subdivisions"},
			}},
			`"city":{"names":{"en":"Paris"}},"postal":{"code":"75001"},"subdivisions":[{"iso_code":"75"}],"traits":{"network":"8.8.8.0/24"}`},
		{"what is stated tells it after what is derived", []Record{
			{City: City{Names: Names{"en": "Springfield"}}, Subdivisions: []Subdivision{{ISOCode: "X"}},
				DerivedFields: []string{"subdivisions"}},
			{City: City{Names: Names{"en": "Springfield"}}, Subdivisions: []Subdivision{{ISOCode: "IL"}}},
			{City: City{Names: Names{"en": "Springfield"}}, Subdivisions: []Subdivision{{ISOCode: "MO"}}, Postal: Postal{Code: "1"}}},
			`"city":{"names":{"en":"Springfield"}},"subdivisions":[{"iso_code":"IL"}],"traits":{"network":"8.8.8.0/24"}`},
		{"an organization is that of its number", []Record{
			{Traits: Traits{AutonomousSystemNumber: 7}}, {Traits: Traits{
				AutonomousSystemNumber:       8,
				AutonomousSystemOrganization: "eight",
			}}, {Traits: Traits{AutonomousSystemNumber: 7, AutonomousSystemOrganization: "seven"}}},
			`"traits":{"autonomous_system_number":7,"autonomous_system_organization":"seven","network":"8.8.8.0/24"}`},
		{"what follows from a code gives way to what is stated", []Record{
			{
				Country:       Country{ISOCode: "GB", Names: Names{"en": "by code"}},
				Continent:     Continent{Code: "EU"},
				ImpliedFields: []string{"country", "continent"},
			},
			{Country: Country{ISOCode: "GB", GeoNameID: 9, Names: Names{"en": "stated"}}, Continent: Continent{Code: "EU", GeoNameID: 8}}},
			`"continent":{"code":"EU","geoname_id":8},"country":{"geoname_id":9,"iso_code":"GB","names":{"en":"stated"}},"traits":{"network":"8.8.8.0/24"}`},
		{"a radius gives way to coordinates", []Record{{Location: Location{AccuracyRadius: 9}}, {Location: at(0, 0)}},
			`"location":{"latitude":0,"longitude":0},"traits":{"network":"8.8.8.0/24"},"quadkey":"3000000000000000"`},
		{"extra by key", []Record{{Extra: map[string]any{"b": "1", "c": "1"}}, {Extra: map[string]any{"a": "2", "b": "2"}}},
			`"traits":{"network":"8.8.8.0/24"},"extra":{"a":"2","b":"1","c":"1"}`},
		{"extra in one order, of however many sources", []Record{{Extra: map[string]any{"k!": "1", "k": "1"}}},
			`"traits":{"network":"8.8.8.0/24"},"extra":{"k!":"1","k":"1"}`},
	} {
		if got := merged(t, tc.records...); string(got.JSON) != tc.want {
			t.Errorf("%s: got\n%s, want\n%s", tc.name, got.JSON, tc.want)
		}
	}
}

func zoned(l Location, zone string) Location {
	l.TimeZone = zone
	return l
}

// The cache of answers is bounded, and evictions change no answer.
func TestMergeForgets(t *testing.T) {
	var a, b fakeStore
	if _, _, err := Build(t.Context(), &a, seqOf(manySources()), BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := build(t.Context(), &b, seqOf(manySources()), BuildOptions{}, budget{
		sort:    1 << 20,
		records: 1 << 20,
		answers: 1 << 14,
		nested:  1 << 20,
	}); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(a.keys, a.values) != fmt.Sprint(b.keys, b.values) {
		t.Error("rows differ")
	}
	m := merger{records: newRecordSet(1 << 30), limit: 1}
	for i := range 9 {
		e := encoder{}
		r := country(codes[2*i : 2*i+2])
		s, err := e.encode(&r)
		must.Do(t, err)
		m.answer([]recordRef{refOf(m.records, s)})
		if len(m.kept) != 1 {
			t.Errorf("%d answers kept", len(m.kept))
		}
	}
}

// drawSources draws ranges like drawRanges, with records of all kinds.
func drawSources(t *rapid.T) []Range {
	ranges := drawRanges(t)
	records := []Record{drawPartial(t), drawPartial(t), drawPartial(t)}
	for i := range ranges {
		ranges[i].Source = rapid.Uint16Range(0, 3).Draw(t, "source")
		ranges[i].Record = records[rapid.IntRange(0, 2).Draw(t, "record")]
	}
	return ranges
}

// winners returns the records that answer for an address, one per source. For a private address
// only sources that keep accepts count.
func winners(ranges []Range, a netip.Addr, keep func(uint16) bool) (out []Record) {
	bySource := map[uint16]reference{}
	for _, r := range ranges {
		if b, ok := SpecialBlockOf(a); ok && b.private() && !keep(r.Source) {
			continue
		}
		bySource[r.Source] = append(bySource[r.Source], r)
	}
	for _, s := range slices.Sorted(maps.Keys(bySource)) {
		if r := bySource[s].at(a); r != nil {
			out = append(out, r.Record)
		}
	}
	return out
}

// Several sources give the same answers as scanning all their ranges and merging field by field.
// The range of an answer extends as far as the answer stays the same.
func TestSourcesAgainstReference(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ranges := drawSources(t)
		kept := rapid.SliceOfN(rapid.Bool(), 4, 4).Draw(t, "may locate private networks")
		keep := func(source uint16) bool { return kept[source] }
		f := &fakeStore{}
		meta, _, err := build(context.Background(), f, seqOf(ranges), BuildOptions{TempDir: dir, KeepPrivate: keep}, drawBudget(t))
		must.Do(t, err)
		r, err := Open(context.Background(), f, meta)
		must.Do(t, err)
		reserved := func(a netip.Addr) bool {
			b, ok := SpecialBlockOf(a)
			return !a.IsValid() || resolve(a) != a || ok && !b.Global && !b.private()
		}
		var res Result
		for _, a := range probes(ranges) {
			if reserved(a) {
				continue
			}
			all := winners(ranges, a, keep)
			err := r.Lookup(context.Background(), a, &res)
			if len(all) == 0 {
				if b, ok := SpecialBlockOf(a); err == nil || errors.Is(err, ErrReserved) != (ok && !b.Global) {
					t.Fatalf("%s: %s, %v; want nothing", a, res.JSON, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", a, err)
			}
			want := mergeRecords(all)
			got, err := res.Record()
			must.Do(t, err)
			if d := cmp.Diff(want, got, equal); d != "" {
				t.Fatalf("%s: %s", a, d)
			}
			for _, b := range []netip.Addr{res.First.Prev(), res.Last.Next()} {
				if !reserved(b) && len(winners(ranges, b, keep)) > 0 && cmp.Equal(mergeRecords(winners(ranges, b, keep)), want, equal) {
					t.Fatalf("%s: range %s–%s, but %s answers alike", a, res.First, res.Last, b)
				}
			}
		}
	})
}
