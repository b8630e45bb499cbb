package geoip

// Types of answers, for the description of the interface.

type GeoIP2 struct {
	_ struct{} `doc:"GeoIP2's record of an address: https://dev.maxmind.com/geoip/docs/web-services/responses/"`
}

type GeoIP2Error struct {
	_     struct{} `doc:"GeoIP2's error."`
	Code  string   `json:"code" schema:"example=IP_ADDRESS_NOT_FOUND"`
	Error string   `json:"error"`
}
