package geonames

// Types of answers, for the description of the interface.

type answer struct {
	_ struct{} `doc:"An answer in GeoNames' words, or its error: https://www.geonames.org/export/web-services.html"`
}

type GeoNamesSearch answer
type GeoNamesNearby answer
type GeoNamesGet answer
type GeoNamesTimezone answer
type GeoNamesCountryCode answer
type GeoNamesSubdivision answer

type GeoNamesError struct {
	_      struct{} `doc:"GeoNames' error, which has status 200."`
	Status struct {
		Message string `json:"message"`
		Value   int    `json:"value"`
	} `json:"status"`
}
