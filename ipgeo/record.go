package ipgeo

// Record is the data about a range of addresses. The fields and their JSON names are those of
// GeoIP2. Unknown fields have their zero value and are absent from every answer, never null or
// empty.
type Record struct {
	City               City               `json:"city,omitzero"`
	Continent          Continent          `json:"continent,omitzero"`
	Country            Country            `json:"country,omitzero"`
	Location           Location           `json:"location,omitzero"`
	Postal             Postal             `json:"postal,omitzero"`
	RegisteredCountry  Country            `json:"registered_country,omitzero"`
	RepresentedCountry RepresentedCountry `json:"represented_country,omitzero"`
	Subdivisions       []Subdivision      `json:"subdivisions,omitempty" doc:"The largest first."`
	Traits             Traits             `json:"traits,omitzero"`

	// Extra holds the source's other fields under the source's own names:
	// strings, bool, int64, uint64, float64, []any and map[string]any.
	Extra map[string]any `json:"extra,omitempty" doc:"What the sources tell besides."`

	// DerivedFields names the fields that were filled from other data sets:
	// "country", "subdivisions", "location.time_zone", "continent",
	// "registered_country", "city", "location" (its coordinates),
	// "location.metro_code" or "postal". A name has no effect if its field is
	// empty, or comes from another source when sources are merged.
	DerivedFields []string `json:"derived,omitempty" doc:"Fields that no source had: they follow from others."`

	// ImpliedFields names the fields that follow from the code of the country alone: its names and its
	// continent. It uses the names of DerivedFields. A field that another source states takes
	// precedence. Answers do not list these fields.
	ImpliedFields []string `json:"-"`
}

// Names holds the names of one thing by language, "en" or "pt-BR".
type Names map[string]string

// City is the city of an address.
type City struct {
	Confidence uint8  `json:"confidence,omitempty"` // percent
	GeoNameID  uint32 `json:"geoname_id,omitempty"`
	Names      Names  `json:"names,omitempty" doc:"By language."`
}

// Continent is the continent of an address.
type Continent struct {
	Code      string `json:"code,omitempty"` // AF AN AS EU NA OC SA
	GeoNameID uint32 `json:"geoname_id,omitempty"`
	Names     Names  `json:"names,omitempty" doc:"By language."`
}

// Country is the country of an address.
type Country struct {
	Confidence        uint8  `json:"confidence,omitempty"` // percent
	GeoNameID         uint32 `json:"geoname_id,omitempty"`
	IsInEuropeanUnion bool   `json:"is_in_european_union,omitempty"`
	ISOCode           string `json:"iso_code,omitempty"` // ISO 3166-1 alpha-2, upper case
	Names             Names  `json:"names,omitempty" doc:"By language."`
}

// RepresentedCountry is the country whose installation abroad uses an
// address.
type RepresentedCountry struct {
	Country
	Type string `json:"type,omitempty"` // "military"
}

// Subdivision is a state, province or county.
type Subdivision struct {
	Confidence uint8  `json:"confidence,omitempty"` // percent
	GeoNameID  uint32 `json:"geoname_id,omitempty"`
	ISOCode    string `json:"iso_code,omitempty"` // the part of ISO 3166-2 after the country
	Names      Names  `json:"names,omitempty" doc:"By language."`
}

// Location is the position of an address, in WGS84.
type Location struct {
	AccuracyRadius    uint16   `json:"accuracy_radius,omitempty" doc:"Kilometres."`
	AverageIncome     uint32   `json:"average_income,omitempty"`                   // US dollars a year
	Latitude          *float64 `json:"latitude,omitempty" schema:"ref=Latitude"`   // degrees, nil where unknown
	Longitude         *float64 `json:"longitude,omitempty" schema:"ref=Longitude"` // degrees, nil where unknown
	MetroCode         uint16   `json:"metro_code,omitempty"`
	PopulationDensity uint32   `json:"population_density,omitempty"` // people per square kilometre
	TimeZone          string   `json:"time_zone,omitempty" doc:"IANA."`
}

// Postal is the postal code of an address.
type Postal struct {
	Code       string `json:"code,omitempty"`
	Confidence uint8  `json:"confidence,omitempty"` // percent
}

// Traits describes the kind of an address, and its user.
type Traits struct {
	AutonomousSystemNumber       uint32  `json:"autonomous_system_number,omitempty"`
	AutonomousSystemOrganization string  `json:"autonomous_system_organization,omitempty"`
	ConnectionType               string  `json:"connection_type,omitempty"`
	Domain                       string  `json:"domain,omitempty"`
	IsAnonymous                  bool    `json:"is_anonymous,omitempty"`
	IsAnonymousVPN               bool    `json:"is_anonymous_vpn,omitempty"`
	IsAnycast                    bool    `json:"is_anycast,omitempty"`
	IsHostingProvider            bool    `json:"is_hosting_provider,omitempty"`
	IsLegitimateProxy            bool    `json:"is_legitimate_proxy,omitempty"`
	IsPublicProxy                bool    `json:"is_public_proxy,omitempty"`
	IsResidentialProxy           bool    `json:"is_residential_proxy,omitempty"`
	IsSatelliteProvider          bool    `json:"is_satellite_provider,omitempty"`
	IsTorExitNode                bool    `json:"is_tor_exit_node,omitempty"`
	ISP                          string  `json:"isp,omitempty"`
	MobileCountryCode            string  `json:"mobile_country_code,omitempty"`
	MobileNetworkCode            string  `json:"mobile_network_code,omitempty"`
	Organization                 string  `json:"organization,omitempty"`
	StaticIPScore                float64 `json:"static_ip_score,omitempty"`
	UserCount                    uint32  `json:"user_count,omitempty"`
	UserType                     string  `json:"user_type,omitempty"`
}
