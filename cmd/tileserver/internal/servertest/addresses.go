package servertest

import (
	"context"
	"encoding/json"
	"net/netip"
	"path/filepath"
	"reflect"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/ipgeo"
)

const (
	GeoIPCountry = "application/vnd.maxmind.com-country+json; charset=UTF-8; version=2.1"
	GeoIPCity    = "application/vnd.maxmind.com-city+json; charset=UTF-8; version=2.1"
	GeoIPError   = "application/vnd.maxmind.com-error+json; charset=UTF-8; version=2.0"
)

// IPRange returns the range of a network.
func IPRange(network string, r ipgeo.Record) ipgeo.Range {
	p := netip.MustParsePrefix(network)
	last := p.Addr().AsSlice()
	for i := p.Bits(); i < len(last)*8; i++ {
		last[i/8] |= 0x80 >> (i % 8)
	}
	end, _ := netip.AddrFromSlice(last)
	return ipgeo.Range{First: p.Addr(), Last: end, Record: r}
}

func coordinate(v float64) *float64 { return &v }

// These are the addresses in tests. All are invented.
const (
	CityIP    = "81.2.69.160" // everything the city service has
	InsightIP = "82.3.4.5"    // and more
	CountryIP = "2a00:1::1"
	ASNIP     = "9.9.9.9"
	GapIP     = "99.1.2.3"
)

func IPRanges() []ipgeo.Range {
	zurich := ipgeo.Record{
		City:              ipgeo.City{GeoNameID: 2657896, Names: ipgeo.Names{"de": "Zürich", "en": "Zurich", "fr": "Zurich <i>", "ja": "チューリッヒ"}},
		Continent:         ipgeo.Continent{Code: "EU", GeoNameID: 6255148, Names: ipgeo.Names{"en": "Europe"}},
		Country:           ipgeo.Country{GeoNameID: 2658434, ISOCode: "CH", Names: ipgeo.Names{"de": "Schweiz", "en": "Switzerland"}},
		RegisteredCountry: ipgeo.Country{GeoNameID: 2921044, ISOCode: "DE", IsInEuropeanUnion: true, Names: ipgeo.Names{"en": "Germany"}},
		Location: ipgeo.Location{
			AccuracyRadius: 20,
			Latitude:       coordinate(47.3682),
			Longitude:      coordinate(8.5671),
			TimeZone:       "Europe/Zurich",
		},
		Postal: ipgeo.Postal{Code: "8001"},
		Subdivisions: []ipgeo.Subdivision{
			{GeoNameID: 2657895, ISOCode: "ZH", Names: ipgeo.Names{"de": "Kanton Zürich", "en": "Zurich"}},
			{ISOCode: "112"},
		},
		Traits: ipgeo.Traits{
			AutonomousSystemNumber:       559,
			AutonomousSystemOrganization: "SWITCH",
			ISP:                          "S & W",
			IsAnycast:                    true,
			MobileCountryCode:            "228",
		},
	}
	more := zurich
	more.City = ipgeo.City{Confidence: 80, GeoNameID: 7, Names: ipgeo.Names{"de": "Nur Deutsch 100%"}}
	more.Country.Confidence = 99
	more.Postal.Confidence = 3
	more.Subdivisions = []ipgeo.Subdivision{{ISOCode: "ZH", Confidence: 50}}
	more.Location.AverageIncome, more.Location.PopulationDensity = 50000, 3000
	more.Traits.UserType, more.Traits.UserCount, more.Traits.IsTorExitNode, more.Traits.StaticIPScore = "business", 3, true, 1.5
	return []ipgeo.Range{
		IPRange("81.2.69.0/24", zurich),
		IPRange("82.3.0.0/16", more),
		IPRange("2a00:1::/32", ipgeo.Record{Country: ipgeo.Country{ISOCode: "DE", IsInEuropeanUnion: true}}),
		IPRange("9.9.9.0/24", ipgeo.Record{Country: ipgeo.Country{ISOCode: "US"}, Traits: ipgeo.Traits{AutonomousSystemNumber: 19281}}),
	}
}

// PublishIP builds a generation of ranges, with an index if index is set.
func PublishIP(t testing.TB, c *dataset.Catalog, index bool, ranges ...ipgeo.Range) {
	t.Helper()
	ctx := context.Background()
	b, err := c.Begin(ctx, ask.Addresses.Name)
	if err != nil {
		t.Fatal(err)
	}
	seq := func(yield func(ipgeo.Range, error) bool) {
		for _, r := range ranges {
			if !yield(r, nil) {
				return
			}
		}
	}
	meta, _, err := ipgeo.Build(ctx, b.Store(), seq, ipgeo.BuildOptions{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	if index {
		r, err := ipgeo.Open(ctx, b.Store(), meta)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ipgeo.BuildIndex(ctx, r, filepath.Join(b.Dir(), ipgeo.IndexFileName), ipgeo.IndexOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(ctx, dataset.Manifest{SchemaVersion: ipgeo.Layout, Meta: raw, Built: BuildDate, Sources: []dataset.Source{
		{Name: `Made-up "City"`, License: "CC0-1.0", Modified: toyworld.Modified}, {Name: "Zürich", License: "CC0-1.0"},
	}}); err != nil {
		t.Fatal(err)
	}
}

// NewAddresses returns a server with real, built data of the ranges above.
func NewAddresses(t testing.TB, change func(*httpapi.Config)) *Server {
	t.Helper()
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	f := &Server{T: t, Catalog: c}
	f.Config = httpapi.Config{
		Sets: ask.Sets{
			Addresses: ask.Addresses.Live(c.Generations),
		},
		Config: web.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("1.2.0.0/24")}}, ResponseCacheBytes: 1 << 20,
	}
	if change != nil {
		change(&f.Config)
	}
	t.Cleanup(func() {
		if err := f.Config.Addresses.Close(); err != nil {
			t.Error(err)
		}
	})
	PublishIP(t, c, true, IPRanges()...)
	if err := f.Config.Addresses.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Serve()
	return f
}

// SameJSON compares JSON texts. Members of objects may be in any order.
func SameJSON(t testing.TB, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%v: %s", err, want)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
