package geoip

// Answers are the types of the room's answers, which are those of GeoIP2. They are for the
// description of the interface.
var Answers = []any{GeoIP2{}, GeoIP2Error{}}

type GeoIP2 struct {
	_ struct{} `doc:"GeoIP2's record of an address: https://dev.maxmind.com/geoip/docs/web-services/responses/"`
}

type GeoIP2Error struct {
	_     struct{} `doc:"GeoIP2's error."`
	Code  string   `json:"code" schema:"example=IP_ADDRESS_NOT_FOUND"`
	Error string   `json:"error"`
}
