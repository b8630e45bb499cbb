package geoip

// These types of answers are for the description of the interface.

// GeoIP2 is an answer in GeoIP2's form. GeoIP2's documentation describes it.
type GeoIP2 struct {
	_ struct{} `doc:"GeoIP2's record of an address: https://dev.maxmind.com/geoip/docs/web-services/responses/"`
}

// GeoIP2Error is a problem in GeoIP2's form.
type GeoIP2Error struct {
	_     struct{} `doc:"GeoIP2's error."`
	Code  string   `json:"code" schema:"example=IP_ADDRESS_NOT_FOUND"`
	Error string   `json:"error"`
}
