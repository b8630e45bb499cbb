package nominatim

// These types of answers are for the description of the interface.

// NominatimResults is the answer of a search.
type NominatimResults struct {
	_ struct{} `doc:"Results in Nominatim's terms, as a list or a FeatureCollection: https://nominatim.org/release-docs/latest/api/Output/. No osm_id is an id of OpenStreetMap." schema:"type=array|object"`
}

// NominatimResult1 is the answer of a reverse search.
type NominatimResult1 struct {
	_ struct{} `doc:"A result in Nominatim's terms, alone or as a FeatureCollection, or an error with status 200: https://nominatim.org/release-docs/latest/api/Output/. No osm_id is an id of OpenStreetMap."`
}

// NominatimStatus is the answer of /status.
type NominatimStatus struct {
	_ struct{} `doc:"Status 0 says that all is well: https://nominatim.org/release-docs/latest/api/Status/"`
}

// NominatimError is a problem in Nominatim's form.
type NominatimError struct {
	_     struct{} `doc:"Nominatim's error."`
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}
