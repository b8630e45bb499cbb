package iprecord

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"quadrille/cmd/ingest/internal/source/geolite"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/ipgeo"
)

type fields = map[string]any

func degree(f float64) *float64 { return &f }

var (
	europe      = ipgeo.Continent{Code: "EU", Names: ipgeo.Names{"en": "Europe"}}
	america     = ipgeo.Continent{Code: "NA", Names: ipgeo.Names{"en": "North America"}}
	switzerland = ipgeo.Country{ISOCode: "CH", Names: ipgeo.Names{"en": "Switzerland"}}
	states      = ipgeo.Country{ISOCode: "US", Names: ipgeo.Names{"en": "United States"}}
)

// said is an option to compare records without the list of implied fields.
var said = cmpopts.IgnoreFields(ipgeo.Record{}, "ImpliedFields")

// Implied distinguishes the fields of a source from those that its country code implies.
func TestImplied(t *testing.T) {
	for _, tc := range []struct {
		in   fields
		want []string
	}{
		{fields{"country": fields{"iso_code": "GB"}}, []string{"country", "continent"}},
		{fields{"country": fields{"iso_code": "GB", "geoname_id": uint64(1)}}, []string{"continent"}},
		{fields{"country": fields{"iso_code": "GB", "names": fields{"en": "Britain"}}, "continent": fields{"code": "EU"}}, nil},
		{fields{"country": fields{"iso_code": "GB"}, "continent": fields{"code": "EU"}}, []string{"country"}},
		{fields{"postal": fields{"code": "1"}}, nil},
	} {
		if r, err := geoip2.Record(tc.in); err != nil || !slices.Equal(r.ImpliedFields, tc.want) {
			t.Errorf("%v: %q, %v", tc.in, r.ImpliedFields, err)
		}
	}
}

func TestSchemas(t *testing.T) {
	for _, tc := range []struct {
		name, typ, schema string
		in                fields
		want              ipgeo.Record
	}{
		{
			"ip-location-db country",
			"geo-asn-country",
			"ip-location-db",
			fields{"country_code": "CH"},
			ipgeo.Record{Country: switzerland, Continent: europe},
		},
		{"lower case", "x", "ip-location-db", fields{"country_code": "ch"}, ipgeo.Record{Country: switzerland, Continent: europe}},
		{"no country", "x", "ip-location-db", fields{"country_code": "ZZ"}, ipgeo.Record{}},
		{"ip-location-db city", "ip-location-db", "ip-location-db", fields{
			"country_code": "CH",
			"state1":       "Zurich",
			"state2":       "",
			"city":         "Zürich",
			"postcode":     "8001",
			"latitude":     float64(float32(47.5)),
			"longitude":    8.5,
			"timezone":     "Europe/Zurich",
		},
			ipgeo.Record{Country: switzerland,
				Continent:    europe,
				Subdivisions: []ipgeo.Subdivision{{Names: ipgeo.Names{"en": "Zurich"}}},
				City:         ipgeo.City{Names: ipgeo.Names{"en": "Zürich"}},
				Postal:       ipgeo.Postal{Code: "8001"},
				Location:     ipgeo.Location{Latitude: degree(47.5), Longitude: degree(8.5), TimeZone: "Europe/Zurich"}}},
		{"ASN", "whatever", "GeoIP2", fields{"autonomous_system_number": uint64(13335), "autonomous_system_organization": "Cloudflare"},
			ipgeo.Record{Traits: ipgeo.Traits{AutonomousSystemNumber: 13335, AutonomousSystemOrganization: "Cloudflare"}}},
		{"IPinfo Lite", "ipinfo generic_bundle_lite.mmdb", "IPinfo", fields{
			"asn":            "AS15169",
			"as_name":        "Google LLC",
			"as_domain":      "google.com",
			"continent":      "North America",
			"continent_code": "NA",
			"country":        "United States",
			"country_code":   "US",
		},
			ipgeo.Record{
				Country:   states,
				Continent: america,
				Traits:    ipgeo.Traits{AutonomousSystemNumber: 15169, AutonomousSystemOrganization: "Google LLC"},
				Extra:     fields{"as_domain": "google.com"},
			}},
		{"IPinfo country, older", "ipinfo country.mmdb", "IPinfo", fields{
			"continent":      "NA",
			"continent_name": "North America",
			"country":        "US",
			"country_name":   "United States",
		},
			ipgeo.Record{Country: states, Continent: america}},
		{"IPinfo location", "ipinfo standard_location.mmdb", "IPinfo", fields{
			"city":        "Bern",
			"region":      "Bern",
			"country":     "CH",
			"lat":         "46.5",
			"lng":         "7.5",
			"postal_code": "3000",
			"timezone":    "Europe/Zurich",
		},
			ipgeo.Record{Country: switzerland,
				Continent:    europe,
				Subdivisions: []ipgeo.Subdivision{{Names: ipgeo.Names{"en": "Bern"}}},
				City:         ipgeo.City{Names: ipgeo.Names{"en": "Bern"}},
				Postal:       ipgeo.Postal{Code: "3000"},
				Location:     ipgeo.Location{Latitude: degree(46.5), Longitude: degree(7.5), TimeZone: "Europe/Zurich"}}},
		{"IPinfo systems", "ipinfo asn.mmdb", "IPinfo", fields{"asn": "AS64500", "domain": "example.net", "name": "Example", "type": "isp"},
			ipgeo.Record{
				Traits: ipgeo.Traits{AutonomousSystemNumber: 64500, AutonomousSystemOrganization: "Example"},
				Extra:  fields{"domain": "example.net", "type": "isp"},
			}},
		{"IPinfo companies", "x", "IPinfo", fields{"as_name": "Example", "asn": "AS64500", "name": "A Shop", "country": "CH"},
			ipgeo.Record{
				Country:   switzerland,
				Continent: europe,
				Traits:    ipgeo.Traits{AutonomousSystemNumber: 64500, AutonomousSystemOrganization: "Example", Organization: "A Shop"},
			}},
		{"IPinfo carriers", "x", "IPinfo", fields{"mcc": "228", "mnc": "01", "name": "Carrier"},
			ipgeo.Record{Traits: ipgeo.Traits{MobileCountryCode: "228", MobileNetworkCode: "01", ISP: "Carrier"}}},
		{"IPinfo privacy", "ipinfo privacy.mmdb", "IPinfo", fields{
			"hosting": "true",
			"vpn":     "",
			"tor":     "false",
			"proxy":   true,
			"relay":   "",
			"service": "S",
			"name":    "N",
		},
			ipgeo.Record{Traits: ipgeo.Traits{IsHostingProvider: true, IsPublicProxy: true}, Extra: fields{"service": "S", "name": "N"}}},
		{"IPinfo extended location", "ipinfo extended.mmdb", "IPinfo", fields{
			"city":        "Bern",
			"region":      "BE",
			"region_name": "Canton of Bern",
			"country":     "CH",
			"geoname_id":  "2661552",
			"radius":      "5",
			"lat":         "46.5",
			"lng":         "7.5",
			"dma_code":    "",
		},
			ipgeo.Record{Country: switzerland,
				Continent:    europe,
				Subdivisions: []ipgeo.Subdivision{{ISOCode: "BE", Names: ipgeo.Names{"en": "Canton of Bern"}}},
				City:         ipgeo.City{GeoNameID: 2661552, Names: ipgeo.Names{"en": "Bern"}},
				Location:     ipgeo.Location{Latitude: degree(46.5), Longitude: degree(7.5), AccuracyRadius: 5}}},
		{"DB-IP Lite", "DBIP-City-Lite (compat=City)", "GeoIP2", fields{"city": fields{"names": fields{"en": "Bern"}},
			"continent":    fields{"code": "EU", "geoname_id": uint64(1), "names": fields{"en": "Europe", "de": "Europa"}},
			"country":      fields{"iso_code": "CH", "is_in_european_union": false, "names": fields{"en": "Switzerland", "fr": "Suisse"}},
			"location":     fields{"latitude": 46.5, "longitude": 7.5},
			"subdivisions": []any{fields{"names": fields{"en": "Bern"}}}},
			ipgeo.Record{City: ipgeo.City{Names: ipgeo.Names{"en": "Bern"}},
				Continent:    ipgeo.Continent{Code: "EU", GeoNameID: 1, Names: ipgeo.Names{"en": "Europe", "de": "Europa"}},
				Country:      ipgeo.Country{ISOCode: "CH", Names: ipgeo.Names{"en": "Switzerland", "fr": "Suisse"}},
				Location:     ipgeo.Location{Latitude: degree(46.5), Longitude: degree(7.5)},
				Subdivisions: []ipgeo.Subdivision{{Names: ipgeo.Names{"en": "Bern"}}}}},
		{"Enterprise", "GeoIP2-Enterprise", "GeoIP2", fields{"city": fields{"confidence": uint64(40), "geoname_id": uint64(2)},
			"country":   fields{"confidence": uint64(99), "iso_code": "US", "names": fields{"en": "United States"}},
			"continent": fields{"code": "NA"},
			"location": fields{
				"accuracy_radius": uint64(20),
				"metro_code":      uint64(501),
				"latitude":        0.0,
				"longitude":       math.Copysign(0, -1),
			},
			"postal":              fields{"code": "10001", "confidence": uint64(5)},
			"represented_country": fields{"iso_code": "DE", "type": "military"},
			"subdivisions":        []any{fields{"iso_code": "NY", "confidence": uint64(90), "new": true}},
			"traits": fields{
				"isp":                "A",
				"organization":       "B",
				"user_type":          "business",
				"connection_type":    "Corporate",
				"static_ip_score":    0.5,
				"is_anonymous_proxy": true,
				"user_count":         uint64(3),
				"is_anycast":         true,
			}},
			ipgeo.Record{City: ipgeo.City{Confidence: 40, GeoNameID: 2},
				Country:            ipgeo.Country{Confidence: 99, ISOCode: "US", Names: ipgeo.Names{"en": "United States"}},
				Continent:          america,
				Location:           ipgeo.Location{AccuracyRadius: 20, MetroCode: 501, Latitude: degree(0), Longitude: degree(0)},
				Postal:             ipgeo.Postal{Code: "10001", Confidence: 5},
				RepresentedCountry: ipgeo.RepresentedCountry{Country: ipgeo.Country{ISOCode: "DE"}, Type: "military"},
				Subdivisions:       []ipgeo.Subdivision{{ISOCode: "NY", Confidence: 90}},
				Traits: ipgeo.Traits{
					ISP:            "A",
					Organization:   "B",
					UserType:       "business",
					ConnectionType: "Corporate",
					StaticIPScore:  0.5,
					UserCount:      3,
					IsAnycast:      true,
				},
				Extra: fields{"traits": fields{"is_anonymous_proxy": true}, "subdivisions": []any{fields{"new": true}}}}},
		{
			"unknown fields of a known publisher",
			"GeoIP2-User-Count",
			"GeoIP2",
			fields{"ipv4_24": uint64(4)},
			ipgeo.Record{Extra: fields{"ipv4_24": uint64(4)}},
		},
		{
			"a zone that is an offset",
			"x",
			"ip-location-db",
			fields{"country_code": "CH", "timezone": "+01:00"},
			ipgeo.Record{Country: switzerland, Continent: europe, Extra: fields{"time_zone": "+01:00"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Detect(tc.typ, []map[string]any{tc.in})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Record(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got, said); d != "" || s.Name != tc.schema {
				t.Error(s.Name, d)
			}
		})
	}
	var unknown *ErrSchema
	if _, err := Detect("Mine", []map[string]any{{"a": 1, "b": fields{"c": 2}}}); !errors.As(err, &unknown) ||
		!strings.Contains(err.Error(), "a, b") {
		t.Error(err)
	}
}

// Impossible values of a source are refused. The error names the value and the reason.
func TestAbsurd(t *testing.T) {
	for _, tc := range []struct {
		in     fields
		reason string
	}{
		{fields{"country": "CH"}, ReasonType},
		{fields{"country": fields{"iso_code": uint64(3)}}, ReasonType},
		{fields{"country": fields{"iso_code": "Germany"}}, ReasonCountry},
		{fields{"country": fields{"iso_code": "CH", "names": "Switzerland"}}, ReasonType},
		{fields{"country": fields{"iso_code": "CH", "names": fields{"en": 1.5}}}, ReasonType},
		{fields{"country": fields{"geoname_id": "x"}}, ReasonType},
		{fields{"country": fields{"geoname_id": int64(-1)}}, ReasonNumber},
		{fields{"country": fields{"confidence": uint64(256)}}, ReasonNumber},
		{fields{"country": fields{"is_in_european_union": "maybe"}}, ReasonType},
		{fields{"continent": fields{"code": "XY"}}, "not a continent code"},
		{fields{"location": fields{"latitude": 90.1, "longitude": 0.0}}, ReasonLatitude},
		{fields{"location": fields{"latitude": math.NaN(), "longitude": 0.0}}, ReasonLatitude},
		{fields{"location": fields{"latitude": 0.0, "longitude": math.Inf(1)}}, ReasonLongitude},
		{fields{"location": fields{"latitude": 0.0}}, ReasonHalf},
		{fields{"location": fields{"longitude": 0.0}}, ReasonHalf},
		{fields{"location": fields{"latitude": "north", "longitude": 0.0}}, ReasonType},
		{fields{"location": fields{"latitude": []any{}, "longitude": 0.0}}, ReasonType},
		{fields{"location": []any{}}, ReasonType},
		{fields{"subdivisions": fields{}}, ReasonType},
		{fields{"subdivisions": []any{"ZH"}}, ReasonType},
		{fields{"subdivisions": make([]any, 1000)}, ReasonType},
		{fields{"subdivisions": []any{fields{"iso_code": true}}}, ReasonType},
		{fields{"traits": fields{"autonomous_system_number": "ASX"}}, ReasonNumber},
		{fields{"traits": fields{"autonomous_system_number": uint64(1 << 32)}}, ReasonNumber},
		{fields{"traits": fields{"static_ip_score": math.NaN()}}, ReasonNumber},
		{fields{"traits": fields{"user_count": 1.5}}, ReasonNumber},
		{fields{"postal": fields{"code": uint64(8001)}}, ReasonType},
	} {
		_, err := geoip2.Record(tc.in)
		var r *Refusal
		if !errors.As(err, &r) || r.Reason != tc.reason || len(r.Error()) > 300 {
			t.Errorf("%v: %v, want %s", tc.in, err, tc.reason)
		}
	}
}

func TestColumns(t *testing.T) {
	const all = "network,country,country_code,continent,region,city,postal,latitude,longitude,timezone,asn,as_name,is_anycast,extra.shop"
	for _, tc := range []struct {
		row    string
		want   ipgeo.Record
		reason string
	}{
		{",,,,,,,,,,,,,", ipgeo.Record{}, ""},
		{",-,-,-,-,-,-,-,-,-,-,-,-,-", ipgeo.Record{}, ""},
		{",CH,,,,,,,,,,,,", ipgeo.Record{Country: switzerland, Continent: europe}, ""},
		{
			",Schweiz,CH,Europa,,,,,,,,,,",
			ipgeo.Record{
				Country:   ipgeo.Country{ISOCode: "CH", Names: ipgeo.Names{"en": "Schweiz"}},
				Continent: ipgeo.Continent{Names: ipgeo.Names{"en": "Europa"}},
			},
			"",
		},
		{",Schweiz,,,,,,,,,,,,", ipgeo.Record{}, ReasonCountry},
		{",CH,,,CH-ZH,Zürich,8001,47.4,8.5,Europe/Zurich,AS64512,X,1,7", ipgeo.Record{Country: switzerland,
			Continent:    europe,
			Subdivisions: []ipgeo.Subdivision{{ISOCode: "ZH"}},
			City:         ipgeo.City{Names: ipgeo.Names{"en": "Zürich"}},
			Postal:       ipgeo.Postal{Code: "8001"},
			Location:     ipgeo.Location{Latitude: degree(47.4), Longitude: degree(8.5), TimeZone: "Europe/Zurich"},
			Traits:       ipgeo.Traits{AutonomousSystemNumber: 64512, AutonomousSystemOrganization: "X", IsAnycast: true},
			Extra:        fields{"shop": "7"}}, ""},
		{
			",CH,,,Zurich,,,,,,,,,",
			ipgeo.Record{Country: switzerland, Continent: europe, Subdivisions: []ipgeo.Subdivision{{Names: ipgeo.Names{"en": "Zurich"}}}},
			"",
		},
		{",CH,,,US-NY,,,,,,,,,", ipgeo.Record{Country: switzerland, Continent: europe}, ReasonRegion},
		{",hk,,,cn-hk,Mong Kok,,,,,,,,", ipgeo.Record{Country: ipgeo.Country{ISOCode: "HK", Names: ipgeo.Names{"en": "Hong Kong"}},
			Continent: ipgeo.Continent{Code: "AS", Names: ipgeo.Names{"en": "Asia"}},
			City:      ipgeo.City{Names: ipgeo.Names{"en": "Mong Kok"}}}, ReasonRegion},
		{",ch,,,ch-zh,,,,,,,,,", ipgeo.Record{Country: switzerland, Continent: europe, Subdivisions: []ipgeo.Subdivision{{ISOCode: "ZH"}}}, ""},
		{",CH,,,ZH,,,,,,,,,", ipgeo.Record{Country: switzerland, Continent: europe, Subdivisions: []ipgeo.Subdivision{{ISOCode: "ZH"}}}, ""},
		{",,,,-Q,,,,,,,,,", ipgeo.Record{Subdivisions: []ipgeo.Subdivision{{Names: ipgeo.Names{"en": "-Q"}}}}, ""},
		{",QQ,,,,,,,,,,,,", ipgeo.Record{}, ReasonCountry},
		{",OC,,,,,,,,,,,,", ipgeo.Record{}, ReasonCountry},
		{",CH,,,,,,91,8,,,,,", ipgeo.Record{}, ReasonLatitude},
		{",CH,,,,,,1,181,,,,,", ipgeo.Record{}, ReasonLongitude},
		{",CH,,,,,,NaN,8,,,,,", ipgeo.Record{}, ReasonLatitude},
		{",CH,,,,,,1,,,,,,", ipgeo.Record{}, ReasonHalf},
		{",CH,,,,,,a,1,,,,,", ipgeo.Record{}, ReasonType},
		{",None,,,,,,,,,0,Not routed,,", ipgeo.Record{}, ""},
		{",,,,,,,,,,99999999999,,,", ipgeo.Record{}, ReasonNumber},
		{",,,,,,,,,,,,maybe,", ipgeo.Record{}, ReasonType},
	} {
		columns, err := ipcsv.ParseColumns(all)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewColumns(columns, nil)
		if err != nil {
			t.Fatal(err)
		}
		var row [][]byte
		for f := range strings.SplitSeq(tc.row, ",") {
			row = append(row, []byte(f))
		}
		got, err := c.Record(row)
		var r *Refusal
		var lost Loss
		if errors.As(err, &lost) {
			r = lost[0]
		} else {
			errors.As(err, &r)
		}
		if (r == nil) != (tc.reason == "") || r != nil && r.Reason != tc.reason {
			t.Errorf("%s: %v, want %q", tc.row, err, tc.reason)
		} else if d := cmp.Diff(tc.want, got, said); d != "" {
			t.Errorf("%s: %s", tc.row, d)
		}
	}
}

// A region code has the same meaning in a list and in a database, with or without its country, in
// any order of columns.
func TestRegionCode(t *testing.T) {
	for _, tc := range []struct {
		columns, row string
		in           fields
		want         []ipgeo.Subdivision
	}{
		{"network,region_code", ",CH-ZH", fields{"region_code": "CH-ZH"}, []ipgeo.Subdivision{{ISOCode: "ZH"}}},
		{"network,region_code", ",ch-zh", fields{"region_code": "ch-zh"}, []ipgeo.Subdivision{{ISOCode: "ZH"}}},
		{"network,subdivision_1_iso_code", ",ZH", fields{"region_code": "ZH"}, []ipgeo.Subdivision{{ISOCode: "ZH"}}},
		{
			"network,region_name,region_code",
			",Zurich,CH-ZH",
			fields{"region_name": "Zurich", "region_code": "CH-ZH"},
			[]ipgeo.Subdivision{{ISOCode: "ZH", Names: ipgeo.Names{"en": "Zurich"}}},
		},
		{
			"network,region_name,region_code",
			",Zurich,none",
			fields{"region_name": "Zurich", "region_code": "none"},
			[]ipgeo.Subdivision{{Names: ipgeo.Names{"en": "Zurich"}}},
		},
		{
			"network,region_code,region_name",
			",none,Zurich",
			fields{"region_name": "Zurich", "region_code": "none"},
			[]ipgeo.Subdivision{{Names: ipgeo.Names{"en": "Zurich"}}},
		},
	} {
		columns, err := ipcsv.ParseColumns(tc.columns)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewColumns(columns, nil)
		if err != nil {
			t.Fatal(err)
		}
		var row [][]byte
		for f := range strings.SplitSeq(tc.row, ",") {
			row = append(row, []byte(f))
		}
		listed, err := c.Record(row)
		stored, errDB := ipinfo.Record(tc.in)
		if err != nil || errDB != nil {
			t.Fatal(err, errDB)
		}
		for _, got := range []ipgeo.Record{listed, stored} {
			if d := cmp.Diff(ipgeo.Record{Subdivisions: tc.want}, got, said); d != "" {
				t.Errorf("%s: %s", tc.row, d)
			}
		}
	}
}

// TestEveryColumn tests that NewColumns has a setter for every column that a list may have.
func TestEveryColumn(t *testing.T) {
	for _, list := range []string{"network,continent,continent_code,continent_name,country,country_code,country_name,region,region_code,region_name,subdivision_2_iso_code,subdivision_2_name,city,postal,latitude,longitude,accuracy_radius,metro_code,timezone,asn,as_name,geoname_id,registered_country_geoname_id,represented_country_geoname_id",
		"network,connection_type,domain,isp,mobile_country_code,mobile_network_code,organization,static_ip_score,user_count,user_type,is_anonymous,is_anonymous_vpn,is_anycast,is_hosting_provider,is_legitimate_proxy,is_public_proxy,is_residential_proxy,is_satellite_provider,is_tor_exit_node"} {
		columns, err := ipcsv.ParseColumns(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, places := range []*geolite.Places{nil, geolite.NewPlaces()} {
			if _, err := NewColumns(columns, places); err != nil {
				t.Error(err)
			}
		}
	}
}

func FuzzColumns(f *testing.F) {
	f.Add("CH", "CH-ZH", "47", "8", "AS1", "Europe/Zurich")
	f.Add("", "x", "NaN", "1e999", "-", "\xff")
	columns, err := ipcsv.ParseColumns("network,country,region,latitude,longitude,asn,timezone")
	if err != nil {
		f.Fatal(err)
	}
	c, err := NewColumns(columns, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, country, region, lat, lon, asn, zone string) {
		r, err := c.Record([][]byte{nil, []byte(country), []byte(region), []byte(lat), []byte(lon), []byte(asn), []byte(zone)})
		var refused *Refusal
		var lost Loss
		if err != nil && !errors.As(err, &refused) && !errors.As(err, &lost) {
			t.Fatal(err)
		}
		if l := r.Location; l.Latitude != nil && !(math.Abs(*l.Latitude) <= 90 && math.Abs(*l.Longitude) <= 180) {
			t.Fatalf("%+v", l)
		}
	})
}
