package geocoder

import (
	"testing"

	"quadrille/places"
	"quadrille/places/names"
)

// TestAddressLevels tests that the names of layers determine the levels of regions. A region of an
// unknown layer is never part of an address, whatever regions are around it.
func TestAddressLevels(t *testing.T) {
	region := func(typ, name string) names.Parent { return names.Parent{Type: typ, ID: "x1", Name: name} }
	country := names.Parent{Type: "country", ID: "ch", Name: "Switzerland"}
	for name, c := range map[string]struct {
		parents []names.Parent
		want    AddressNames
	}{
		"nothing around": {nil, AddressNames{}},
		"a country":      {[]names.Parent{country}, AddressNames{Country: "Switzerland"}},
		"three layers": {
			[]names.Parent{region("Stadtteil", "W"), region("ADM_2", "C"), region("Bundesland", "S"), country},
			AddressNames{District: "W", County: "C", State: "S", Country: "Switzerland"},
		},
		"a municipality": {
			[]names.Parent{region("municipality", "M"), region("state", "S"), country},
			AddressNames{City: "M", State: "S", Country: "Switzerland"},
		},
		"a municipality alone": {[]names.Parent{region("gemeinde", "M"), country}, AddressNames{City: "M", Country: "Switzerland"}},
		"two of one layer": {
			[]names.Parent{region("county", "C"), region("state", "S1"), region("state", "S2"), country},
			AddressNames{County: "C", State: "S2", Country: "Switzerland"},
		},
		"no country": {[]names.Parent{region("county", "C"), region("state", "S")}, AddressNames{County: "C", State: "S"}},
		"unknown layers": {
			[]names.Parent{region("park", "P"), region("county", "C"), region("zone", "Z"), region("state", "S"), country},
			AddressNames{County: "C", State: "S", Country: "Switzerland"},
		},
		"nothing but such": {
			[]names.Parent{region("d", "D"), region("c", "C"), region("marine", "M"), country},
			AddressNames{Country: "Switzerland"},
		},
		"a continent": {
			[]names.Parent{region("state", "S"), country, region("continent", "Europe")},
			AddressNames{State: "S", Country: "Switzerland"},
		},
		"a part of a city": {
			[]names.Parent{region("suburb", "Q"), region("city", "T"), country},
			AddressNames{District: "Q", City: "T", Country: "Switzerland"},
		},
		"regions with provinces": {
			[]names.Parent{region("province", "P"), region("region", "R"), country},
			AddressNames{County: "P", State: "R", Country: "Switzerland"},
		},
		"many layers": {
			[]names.Parent{
				region("quarter", "Q"),
				region("city", "T"),
				region("municipality", "M"),
				region("district", "D"),
				region("canton", "K"),
				region("region", "R"),
				country,
			},
			AddressNames{District: "M", City: "D", County: "K", State: "R", Country: "Switzerland"},
		},
	} {
		if got := AddressNamesOf(c.parents); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	whole := AddressNames{Country: "A", State: "B", County: "C", City: "D", District: "E"}
	for rank, want := range map[int]AddressNames{
		RankCountry: {Country: "X"}, RankState: {Country: "A", State: "X"}, RankCounty: {Country: "A", State: "B", County: "X"},
		RankCity:   {Country: "A", State: "B", County: "C", City: "X"},
		RankHamlet: {Country: "A", State: "B", County: "C", City: "D", District: "X"},
	} {
		if got := whole.WithOwnName(rank, "X"); got != want {
			t.Errorf("rank %d: %+v, want %+v", rank, got, want)
		}
	}
}

// TestCountryOf tests that the code of a result's country is that of the region from which the
// address has its country.
func TestCountryOf(t *testing.T) {
	ch, slug := names.Parent{Type: "country", ID: "ch", Name: "Switzerland"}, names.Parent{Type: "country", ID: "some-land", Name: "Some Land"}
	coded := names.Parent{Type: "country", ID: "x-1", Code: "fr"}
	for name, c := range map[string]struct {
		of   names.Feature
		want string
	}{
		"of a place":                   {names.Feature{Kind: Place, Country: "DE"}, "DE"},
		"of the region around":         {names.Feature{Kind: Place, Country: "LI", Parents: []names.Parent{{Type: "state", ID: "zh"}, ch}}, "CH"},
		"of one with a code":           {names.Feature{Kind: Place, Country: "DE", Parents: []names.Parent{coded}}, "FR"},
		"of a region without a code":   {names.Feature{Kind: Place, Country: "de", Parents: []names.Parent{slug}}, "DE"},
		"a country itself":             {names.Feature{Kind: names.Region, Type: "country", ID: "ch"}, "CH"},
		"a country without a code":     {names.Feature{Kind: names.Region, Type: "country", ID: "some-land"}, ""},
		"unknown":                      {names.Feature{Kind: Position}, ""},
		"a code that is none":          {names.Feature{Kind: Place, Country: "<>"}, ""},
		"a state whose id looks alike": {names.Feature{Kind: names.Region, Type: "state", ID: "by", Country: "DE"}, "DE"},
	} {
		if got := CountryOf(&Result{Feature: c.of}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTagsOf(t *testing.T) {
	for _, c := range []struct {
		class, code string
		people      int64
		want        Tags
	}{
		{"P", "PPLC", 500, Tags{"place", "city", RankCity, ""}}, {"P", "PPLA", 100_000, Tags{"place", "city", RankCity, ""}}, {"P",
			"PPL", 10_000, Tags{"place", "town", RankCity, ""}},
		{"P", "PPL", 0, Tags{"place", "village", RankCity, ""}}, {"P", "PPL", 99, Tags{"place", "hamlet", RankHamlet, ""}}, {"P",
			"PPLL", 0, Tags{"place", "hamlet", RankHamlet, ""}},
		{"P", "PPLF", 200, Tags{"place", "village", RankCity, ""}}, {
			"P",
			"PPLX",
			900_000,
			Tags{"place", "suburb", RankHamlet, ""},
		}, {"", "", 20_000, Tags{"place", "town", RankCity, ""}},
		{
			"A",
			"PCLI",
			1,
			Tags{"boundary", "administrative", RankCountry, "country"},
		}, {"A", "PCLH", 1, Tags{"boundary", "administrative", RankLocality, ""}},
		{
			"A",
			"ADM1",
			1,
			Tags{"boundary", "administrative", RankState, "state"},
		}, {
			"A",
			"ADM1H",
			1,
			Tags{"boundary", "administrative", RankLocality, ""},
		}, {"A", "ADM4", 1, Tags{"boundary", "administrative", RankCity, ""}},
		{"S", "AIRP", 0, Tags{"aeroway", "aerodrome", RankMax, ""}}, {"S", "AIRH", 0,
			Tags{"aeroway", "heliport", RankMax, ""}}, {"S", "RSTN", 0, Tags{"railway", "station", RankMax, ""}},
		{
			"H",
			"STMI",
			0,
			Tags{"waterway", "river", RankLocality, ""},
		}, {"H", "LK", 0, Tags{"natural", "water", RankLocality, ""}}, {"T", "ISLS", 0, Tags{"place", "island", RankLocality, ""}},
		{"X", "Y", 0, Tags{"place", "locality", RankLocality, ""}},
	} {
		r := Result{Feature: names.Feature{Kind: Place}, Place: places.Hit{Class: c.class, Code: c.code, Population: c.people}}
		if got := TagsOf(&r); got != c.want {
			t.Errorf("%s.%s of %d: %+v, want %+v", c.class, c.code, c.people, got, c.want)
		}
	}
	for typ, want := range map[string]Tags{
		"country":    {"boundary", "administrative", RankCountry, "country"},
		"county":     {"boundary", "administrative", RankCounty, ""},
		"land":       {"boundary", "administrative", RankState, "state"},
		"marine":     {"place", "sea", RankLocality, ""},
		"Oceans":     {"place", "sea", RankLocality, ""},
		"lake":       {"natural", "water", RankLocality, ""},
		"continent":  {"place", "continent", RankLocality, ""},
		"park":       {"boundary", "region", RankLocality, ""},
		"urban_area": {"boundary", "region", RankLocality, ""},
		"":           {"boundary", "region", RankLocality, ""},
	} {
		if got := TagsOf(&Result{Feature: names.Feature{Kind: names.Region, Type: typ}}); got != want {
			t.Errorf("region %s: %+v, want %+v", typ, got, want)
		}
	}
}

// TestAround tests that EnclosingRegions leaves out the region that the result itself is: the
// record of a division lies inside the division's own borders.
func TestAround(t *testing.T) {
	state, country := names.Parent{Type: "state", Name: "S"}, names.Parent{Type: "country", Name: "C"}
	all := []names.Parent{{Type: "county", Name: "X"}, state, country}
	for code, want := range map[string]int{"PCLI": 0, "ADM1": 1, "ADM2": 2, "ADM4": 3} {
		r := Result{Feature: names.Feature{Kind: Place, Parents: all}, Place: places.Hit{Class: "A", Code: code}}
		if got := EnclosingRegions(&r); len(got) != want {
			t.Errorf("%s: %v", code, got)
		}
	}
	city := Result{Feature: names.Feature{Kind: Place, Parents: all}, Place: places.Hit{Class: "P", Code: "PPL"}}
	if got := EnclosingRegions(&city); len(got) != len(all) {
		t.Errorf("a city: %v", got)
	}
}
