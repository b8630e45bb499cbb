package nominatim

// Answers are the types of the room's answers, which are those of Nominatim. They are for the
// description of the interface.
var Answers = []any{NominatimResults{}, NominatimResult1{}, NominatimStatus{}, NominatimError{}}

type NominatimResults struct{}

func (NominatimResults) Schema() map[string]any {
	return map[string]any{"type": []any{"array", "object"}, "description": "Results in Nominatim's terms, as a list or a FeatureCollection: https://nominatim.org/release-docs/latest/api/Output/. No osm_id is an id of OpenStreetMap."}
}

type NominatimResult1 struct {
	_ struct{} `doc:"A result in Nominatim's terms, alone or as a FeatureCollection, or an error with status 200: https://nominatim.org/release-docs/latest/api/Output/. No osm_id is an id of OpenStreetMap."`
}

type NominatimStatus struct {
	_ struct{} `doc:"Status 0 says that all is well: https://nominatim.org/release-docs/latest/api/Status/"`
}

type NominatimError struct {
	_     struct{} `doc:"Nominatim's error."`
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}
