package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"quadrille/cmd/bench/judged"
)

// claim is a country, state or county that an answer names. Some of id, name and division are
// empty.
type claim struct {
	level    judged.Level
	id       string // as the server numbers regions: us, us-mi, 26163
	name     string
	division string // GeoNames' code: US, US.MI, US.MI.163
}

func (c claim) String() string {
	for _, text := range []string{c.name, c.id, c.division} {
		if text != "" {
			return text
		}
	}
	return "nothing"
}

// answer is the answer of a face (an endpoint) about a point.
type answer struct {
	text   string   // the answer in few words, for people
	point  []claim  // where the point is
	place  int      // the id of the place that is named; 0 if there is none
	beside []claim  // the regions that the face names for the named place
	lakes  []string // among the parents
	parts  []string // of an address, which may be lakes
	nested []string // regions in one of their own kind
	own    []claim  // codes that the face gives as the place's own, in GeoNames' faces
}

// face is an endpoint that says where a point is.
type face struct {
	name   string
	path   string // with %v for latitude and longitude
	levels int    // the number of levels that the face names at a point: 1 is countries alone
	read   func(body []byte) (answer, error)
}

var faces = []face{
	{"/regions/at", "/regions/at?lat=%v&lon=%v", 3, readRegions},
	{"/reverse", "/reverse?lat=%v&lon=%v", 3, readReverse},
	{"/at", "/at?lat=%v&lon=%v", 3, readRegions},
	{"/photon/reverse", "/photon/reverse?lat=%v&lon=%v", 3, readPhoton},
	{"/nominatim/reverse", "/nominatim/reverse?lat=%v&lon=%v&format=jsonv2", 3, readNominatim},
	{"/countryCodeJSON", "/countryCodeJSON?lat=%v&lng=%v", 1, readGeoNames},
	{"/countrySubdivisionJSON", "/countrySubdivisionJSON?lat=%v&lng=%v&level=2", 3, readGeoNames},
	{"/timezoneJSON", "/timezoneJSON?lat=%v&lng=%v", 1, readGeoNames},
	{"/findNearbyPlaceNameJSON", "/findNearbyPlaceNameJSON?lat=%v&lng=%v&style=FULL&maxRows=1", 0, readNearby},
	{"/findNearbyJSON", "/findNearbyJSON?lat=%v&lng=%v&style=FULL&maxRows=1&featureClass=P", 0, readNearby},
}

type region struct{ Type, ID, Name string }

// levelOf returns the level of a type of regions, and false for types that are not judged.
func levelOf(kind string) (judged.Level, bool) {
	for level := range judged.Levels {
		if kind == judged.Level(level).String() {
			return judged.Level(level), true
		}
	}
	return 0, false
}

// claims returns the claims of regions, and of lakes among them.
func claims(regions []region) (list []claim, lakes []string) {
	for _, r := range regions {
		if level, ok := levelOf(r.Type); ok {
			list = append(list, claim{level: level, id: r.ID, name: r.Name})
		} else if r.Type == "lake" {
			lakes = append(lakes, r.Name)
		}
	}
	return list, lakes
}

// firstOfEach keeps only the first claim of each level: an answer may list larger regions of the
// same level after it.
func firstOfEach(list []claim) []claim {
	var seen [judged.Levels]bool
	var first []claim
	for _, c := range list {
		if !seen[c.level] {
			first = append(first, c)
		}
		seen[c.level] = true
	}
	return first
}

// readRegions reads /regions/at and /at. The place of /at has the codes of its own row.
func readRegions(body []byte) (a answer, err error) {
	var in struct {
		Regions []region
		Place   struct {
			ID            int
			Name, Country string
			Admin1        string
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return a, err
	}
	list, _ := claims(in.Regions)
	a.point, a.place = firstOfEach(list), in.Place.ID
	if a.place != 0 {
		a.own = []claim{{level: judged.Country, division: in.Place.Country}, division(judged.State, in.Place.Country, in.Place.Admin1)}
	}
	a.text = fmt.Sprint(a.point, " ", in.Place.Name)
	return a, nil
}

// division returns a claim from GeoNames codes. A code without the code of the level above claims
// nothing.
func division(level judged.Level, codes ...string) claim {
	for _, code := range codes {
		if code == "" || code == "00" {
			return claim{level: level}
		}
	}
	return claim{level: level, division: strings.Join(codes, ".")}
}

func readReverse(body []byte) (a answer, err error) {
	var in struct {
		Results []struct {
			Kind, Type, ID, Name, Label, Country string
			Parents                              []region
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return a, err
	}
	for _, r := range in.Results {
		parents, lakes := claims(r.Parents)
		a.lakes = append(a.lakes, lakes...)
		if a.text == "" {
			a.text = r.Label
		}
		switch {
		case r.Kind == "place":
			a.place, _ = strconv.Atoi(r.ID)
			a.beside = parents
			if r.Country != "" {
				a.beside = append(a.beside, claim{level: judged.Country, id: strings.ToLower(r.Country)})
			}
		case r.Kind == "region":
			if level, ok := levelOf(r.Type); ok {
				a.point = append(a.point, claim{level: level, id: r.ID, name: r.Name})
				for _, p := range parents {
					if p.level >= level {
						a.nested = append(a.nested, r.Name+" in "+p.String())
					}
				}
			}
		}
	}
	a.point = firstOfEach(a.point)
	return a, nil
}

func readPhoton(body []byte) (a answer, err error) {
	var in struct {
		Features []struct {
			Properties struct {
				OSMType                                                         string `json:"osm_type"`
				OSMID                                                           int    `json:"osm_id"`
				Type, Name, City, District, County, State, Country, CountryCode string
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil || len(in.Features) == 0 {
		return a, err
	}
	p := in.Features[0].Properties
	names := [judged.Levels]string{p.Country, p.State, p.County}
	if level, ok := levelOf(p.Type); ok { // the feature is the region itself
		names[level] = p.Name
	}
	a.say(p.OSMType == "N", p.OSMID, strings.ToLower(p.CountryCode), "", names)
	a.parts = []string{p.District, p.County, p.State}
	a.text = strings.Join([]string{p.Name, p.District, p.City, p.County, p.State, p.Country, p.CountryCode}, ", ")
	return a, nil
}

// say adds the claims of an address. They are about the point. If the answer names a place, they
// are also about that place.
func (a *answer) say(named bool, place int, country, state string, names [judged.Levels]string) {
	for level, name := range names {
		if c := (claim{level: judged.Level(level), name: name, id: [...]string{country, state, ""}[level]}); c.name+c.id != "" {
			a.point = append(a.point, c)
		}
	}
	if named {
		a.place, a.beside = place, a.point
	}
}

func readNominatim(body []byte) (a answer, err error) {
	var in struct {
		OSMType     string `json:"osm_type"`
		PlaceID     int    `json:"place_id"`
		DisplayName string `json:"display_name"`
		Address     map[string]string
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return a, err
	}
	var names [judged.Levels]string
	for level := range names {
		names[level] = in.Address[judged.Level(level).String()]
	}
	a.say(in.OSMType == "node", in.PlaceID, in.Address["country_code"], strings.ToLower(in.Address["ISO3166-2-lvl4"]), names)
	a.text = in.DisplayName
	a.parts = strings.Split(in.DisplayName, ", ")[1:] // the first is the place itself
	return a, nil
}

// readGeoNames reads the claims about a point from an answer in the form of GeoNames.
func readGeoNames(body []byte) (a answer, err error) {
	var in struct {
		CountryCode, CountryName, AdminCode1, AdminName1, AdminCode2, AdminName2 string
		Codes                                                                    []struct{ Code, Level string }
		Status                                                                   struct {
			Message string
			Value   int
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return a, err
	}
	const nothingFound = 15
	if in.CountryCode == "" {
		if in.Status.Value != 0 && in.Status.Value != nothingFound {
			err = errors.New(in.Status.Message)
		}
		return a, err
	}
	a.point = []claim{{level: judged.Country, id: strings.ToLower(in.CountryCode), name: in.CountryName}}
	state, county := division(judged.State, in.CountryCode, in.AdminCode1), division(judged.County, in.CountryCode, in.AdminCode1,
		in.AdminCode2)
	state.name, county.name = in.AdminName1, in.AdminName2
	for _, code := range in.Codes {
		if code.Level == "1" {
			state.id = strings.ToLower(in.CountryCode + "-" + code.Code)
		}
	}
	for _, c := range []claim{state, county} {
		if c.id+c.name+c.division != "" {
			a.point = append(a.point, c)
		}
	}
	a.text = fmt.Sprintf("%s %s %s, %s %s", in.CountryCode, in.AdminCode1, in.AdminName1, in.AdminCode2, in.AdminName2)
	return a, nil
}

// readNearby reads the nearest place from the endpoints in the form of GeoNames. The codes are from
// the place's own row.
func readNearby(body []byte) (a answer, err error) {
	var in struct {
		GeoNames []struct {
			GeoNameID                                 int
			Name, CountryCode, AdminCode1, AdminCode2 string
		}
	}
	if err := json.Unmarshal(body, &in); err != nil || len(in.GeoNames) == 0 {
		return a, err
	}
	p := in.GeoNames[0]
	a.place, a.text = p.GeoNameID, fmt.Sprint(p.Name, " ", p.CountryCode, " ", p.AdminCode1, " ", p.AdminCode2)
	a.own = []claim{
		{level: judged.Country, division: p.CountryCode}, division(judged.State, p.CountryCode, p.AdminCode1),
		division(judged.County, p.CountryCode, p.AdminCode1, p.AdminCode2),
	}
	return a, nil
}
