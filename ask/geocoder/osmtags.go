package geocoder

import (
	"quadrille/ask/hierarchy"
	"quadrille/places"
	"quadrille/places/names"
)

// Tags are the main tag that OpenStreetMap would give to something.
type Tags struct {
	Key, Value string
	// Rank is the address rank. Place is the value of the additional tag "place" that borders have.
	Rank  int
	Place string
}

const (
	airports  = "aeroway"
	aerodrome = "aerodrome"
	heliport  = "heliport"
)

// osmTags are the tags of GeoNames' features by code, by the first three letters of a code, or by
// class. Settlements depend on their population: see settlement.
var osmTags = map[string]Tags{
	"AIRP": {airports, aerodrome, RankMax, ""},
	"AIRF": {airports, aerodrome, RankMax, ""},
	"AIRB": {airports, aerodrome, RankMax, ""},
	"AIRH": {airports, heliport, RankMax, ""},
	"RSTN": {"railway", "station", RankMax, ""},
	"MT":   {"natural", "peak", RankLocality, ""},
	"PK":   {"natural", "peak", RankLocality, ""},
	"HLL":  {"natural", "peak", RankLocality, ""},
	"VLC":  {"natural", "volcano", RankLocality, ""},
	"ISL":  {"place", "island", RankLocality, ""}, "STM": {"waterway", "river", RankLocality, ""},
	"PCLH": border(RankLocality, ""), "PCL": border(RankCountry, "country"), "TERR": border(RankCountry, "country"),
	"ADM1": border(RankState, "state"),
	"ADM2": border(RankCounty, ""),
	"ADM3": border(RankMunicipality, ""),
	"ADM4": border(RankCity, ""),
	"ADM5": border(RankBorough, ""),
	"A":    border(RankLocality, ""),
	"H":    {"natural", "water", RankLocality, ""},
	"L":    {"place", "locality", RankLocality, ""},
	"R":    {"highway", "road", RankLocality, ""},
	"S":    {"building", "yes", RankMax, ""},
	"T":    {"natural", "yes", RankLocality, ""},
	"U":    {"natural", "yes", RankLocality, ""},
	"V":    {"natural", "wood", RankLocality, ""},
}

// kindTags are the tags of regions that are no division of a country.
var kindTags = map[hierarchy.Kind]Tags{
	hierarchy.Lakes:      {"natural", "water", RankLocality, ""},
	hierarchy.Seas:       {"place", "sea", RankLocality, ""},
	hierarchy.Continents: {"place", "continent", RankLocality, ""},
}

func border(rank int, place string) Tags { return Tags{"boundary", "administrative", rank, place} }

// prefix is the number of letters that codes of one kind share: streams are STM, STMI and STMX.
const prefix = 3

// TagsOf returns the tags of a result.
func TagsOf(r *Result) Tags {
	switch r.Kind {
	case names.Region:
		if t, ok := kindTags[hierarchy.KindOf(r.Type)]; ok {
			return t
		}
		t := border(RankOf(r.Type), "")
		if t.Rank == RankLocality {
			t.Value = "region"
		}
		if s := LevelOf(t.Rank); s == Country || s == State {
			t.Place = string(s)
		}
		return t
	case names.Airport:
		t := osmTags["AIRP"]
		if r.Type == heliport {
			t.Value = heliport
		}
		return t
	}
	return placeTags(&r.Place)
}

func placeTags(p *places.Hit) Tags {
	if p.Class == "P" || p.Class == "" {
		return settlement(p)
	}
	if t, ok := osmTags[p.Code]; ok {
		return t
	}
	if len(p.Code) > prefix {
		if t, ok := osmTags[p.Code[:prefix]]; ok {
			return t
		}
	}
	if t, ok := osmTags[p.Class]; ok {
		return t
	}
	return osmTags["L"] // a class that GeoNames lacks
}

// These are the least populations of a city, a town and a village.
const (
	cityPeople    = 100_000
	townPeople    = 10_000
	villagePeople = 100
)

// settlement returns the tags of a city, town, village or hamlet.
func settlement(p *places.Hit) Tags {
	switch {
	case p.Code == "PPLX":
		return Tags{"place", "suburb", RankHamlet, ""}
	case p.Code == "PPLC" || p.Population >= cityPeople:
		return Tags{"place", "city", RankCity, ""}
	case p.Population >= townPeople:
		return Tags{"place", "town", RankCity, ""}
	case p.Population > 0 && p.Population < villagePeople, p.Population == 0 && (p.Code == "PPLL" || p.Code == "PPLF"):
		return Tags{"place", "hamlet", RankHamlet, ""}
	}
	return Tags{"place", "village", RankCity, ""}
}

// EnclosingRegions returns the regions around a result, the smallest first. It leaves out the
// result itself and finer regions, because the gazetteer's record of a division lies in some of
// them.
func EnclosingRegions(r *Result) []names.Parent {
	t := TagsOf(r)
	if r.Kind != Place || t.Key != "boundary" {
		return r.Parents
	}
	for i := range r.Parents {
		if RankOf(r.Parents[i].Type) < t.Rank {
			return r.Parents[i:]
		}
	}
	return nil
}
