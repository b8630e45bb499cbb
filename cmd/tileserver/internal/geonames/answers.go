package geonames

// These types of answers are for the description of the interface.

type answer struct {
	_ struct{} `doc:"An answer in GeoNames' words, or its error: https://www.geonames.org/export/web-services.html"`
}

type GeoNamesSearch answer      // of /searchJSON
type GeoNamesNearby answer      // of /findNearbyJSON and /findNearbyPlaceNameJSON
type GeoNamesGet answer         // of /getJSON
type GeoNamesTimezone answer    // of /timezoneJSON
type GeoNamesCountryCode answer // of /countryCodeJSON
type GeoNamesSubdivision answer // of /countrySubdivisionJSON

// GeoNamesError is a problem in GeoNames' form.
type GeoNamesError struct {
	_      struct{} `doc:"GeoNames' error, which has status 200."`
	Status struct {
		Message string `json:"message"`
		Value   int    `json:"value"`
	} `json:"status"`
}
