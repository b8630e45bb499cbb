package geonames

// These types say what answers are, for the description of the interface.

type GeoNamesSearch struct {
	_ struct{} `doc:"Places that GeoNames' search finds, or its error: https://www.geonames.org/export/geonames-search.html"`
}

type GeoNamesNearby struct {
	_ struct{} `doc:"Places nearby as GeoNames has them, or its error: https://www.geonames.org/export/web-services.html#findNearby"`
}

type GeoNamesGet struct {
	_ struct{} `doc:"GeoNames' record of a place, or its error: https://www.geonames.org/export/web-services.html#get"`
}

type GeoNamesTimezone struct {
	_ struct{} `doc:"GeoNames' time zone of a point, or its error: https://www.geonames.org/export/web-services.html#timezone"`
}

type GeoNamesCountryCode struct {
	_ struct{} `doc:"GeoNames' country of a point, or its error: https://www.geonames.org/export/web-services.html#countrycode"`
}

type GeoNamesSubdivision struct {
	_ struct{} `doc:"GeoNames' divisions of a country at a point, or its error: https://www.geonames.org/export/web-services.html#countrysubdiv"`
}

type GeoNamesError struct {
	_      struct{} `doc:"GeoNames' error, which has status 200."`
	Status struct {
		Message string `json:"message"`
		Value   int    `json:"value"`
	} `json:"status"`
}
