package boundaries

import (
	"github.com/paulmach/orb"
)

// usState is a state or territory of the United States: its FIPS 5-2 code, the
// postal code that ISO 3166-2 has taken over as US-XX, its name, and where it lies.
type usState struct {
	fips, postal, name string
	box                box
}

// box is west, south, east and north in whole degrees. A box across ±180° has a west below -180°.
// The zero value holds nothing.
type box [4]float64

// holds reports whether all of a geometry lies in the box, or at most a degree outside of it,
// because some files include waters in the land.
func (b box) holds(g orb.Geometry) bool {
	const waters = 1
	if b == (box{}) {
		return false
	}
	some := false
	for _, p := range polygonsOf(g) {
		for _, r := range p {
			for _, at := range r {
				if at[0] > 100 { // all of them lie west of Greenwich, or just beyond ±180°
					at[0] -= 360
				}
				if at[0] < b[0]-waters || at[0] > b[2]+waters || at[1] < b[1]-waters || at[1] > b[3]+waters {
					return false
				}
				some = true
			}
		}
	}
	return some
}

var usStates = []usState{
	{"01", "AL", "Alabama", box{-89, 30, -84, 36}}, {"02", "AK", "Alaska", box{-188, 51, -129, 72}},
	{"04", "AZ", "Arizona", box{-115, 31, -109, 38}}, {"05", "AR", "Arkansas", box{-95, 33, -89, 37}},
	{"06", "CA", "California", box{-125, 32, -114, 43}}, {"08", "CO", "Colorado", box{-110, 36, -102, 42}},
	{"09", "CT", "Connecticut", box{-74, 40, -71, 43}}, {"10", "DE", "Delaware", box{-76, 38, -75, 40}},
	{"11", "DC", "District of Columbia", box{-78, 38, -76, 39}}, {"12", "FL", "Florida", box{-88, 24, -80, 32}},
	{"13", "GA", "Georgia", box{-86, 30, -80, 36}}, {"15", "HI", "Hawaii", box{-179, 18, -154, 29}},
	{"16", "ID", "Idaho", box{-118, 41, -111, 50}}, {"17", "IL", "Illinois", box{-92, 36, -87, 43}},
	{"18", "IN", "Indiana", box{-89, 37, -84, 42}}, {"19", "IA", "Iowa", box{-97, 40, -90, 44}},
	{"20", "KS", "Kansas", box{-103, 36, -94, 41}}, {"21", "KY", "Kentucky", box{-90, 36, -81, 40}},
	{"22", "LA", "Louisiana", box{-95, 28, -88, 34}}, {"23", "ME", "Maine", box{-72, 43, -66, 48}},
	{"24", "MD", "Maryland", box{-80, 37, -75, 40}}, {"25", "MA", "Massachusetts", box{-74, 41, -69, 43}},
	{"26", "MI", "Michigan", box{-91, 41, -82, 49}}, {"27", "MN", "Minnesota", box{-98, 43, -89, 50}},
	{"28", "MS", "Mississippi", box{-92, 30, -88, 35}}, {"29", "MO", "Missouri", box{-96, 35, -89, 41}},
	{"30", "MT", "Montana", box{-117, 44, -104, 50}}, {"31", "NE", "Nebraska", box{-105, 40, -95, 44}},
	{"32", "NV", "Nevada", box{-121, 35, -114, 43}}, {"33", "NH", "New Hampshire", box{-73, 42, -70, 46}},
	{"34", "NJ", "New Jersey", box{-76, 38, -73, 42}}, {"35", "NM", "New Mexico", box{-110, 31, -103, 38}},
	{"36", "NY", "New York", box{-80, 40, -71, 46}}, {"37", "NC", "North Carolina", box{-85, 33, -75, 37}},
	{"38", "ND", "North Dakota", box{-105, 45, -96, 50}}, {"39", "OH", "Ohio", box{-85, 38, -80, 42}},
	{"40", "OK", "Oklahoma", box{-104, 33, -94, 38}}, {"41", "OR", "Oregon", box{-125, 41, -116, 47}},
	{"42", "PA", "Pennsylvania", box{-81, 39, -74, 43}}, {"44", "RI", "Rhode Island", box{-72, 41, -71, 43}},
	{"45", "SC", "South Carolina", box{-84, 32, -78, 36}}, {"46", "SD", "South Dakota", box{-105, 42, -96, 46}},
	{"47", "TN", "Tennessee", box{-91, 34, -81, 37}}, {"48", "TX", "Texas", box{-107, 25, -93, 37}},
	{"49", "UT", "Utah", box{-115, 36, -109, 43}}, {"50", "VT", "Vermont", box{-74, 42, -71, 46}},
	{"51", "VA", "Virginia", box{-84, 36, -75, 40}}, {"53", "WA", "Washington", box{-125, 45, -116, 50}},
	{"54", "WV", "West Virginia", box{-83, 37, -77, 41}}, {"55", "WI", "Wisconsin", box{-93, 42, -86, 48}},
	{"56", "WY", "Wyoming", box{-112, 40, -104, 46}},
	{"60", "AS", "American Samoa", box{-171, -15, -169, -14}}, {"66", "GU", "Guam", box{-216, 13, -215, 14}},
	{"69", "MP", "Northern Mariana Islands", box{-215, 14, -213, 19}},
	{"72", "PR", "Puerto Rico", box{-68, 17, -65, 19}}, {"74", "UM", "U.S. Minor Outlying Islands", box{}},
	{"78", "VI", "U.S. Virgin Islands", box{-66, 17, -64, 19}},
}

func stateByFIPS(code string) (usState, bool) {
	for _, s := range usStates {
		if s.fips == code {
			return s, true
		}
	}
	return usState{}, false
}

func stateByISO(code string) (usState, bool) {
	for _, s := range usStates {
		if "US-"+s.postal == code {
			return s, true
		}
	}
	return usState{}, false
}
