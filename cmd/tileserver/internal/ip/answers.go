package ip

import (
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/ipgeo"
)

// These types describe the answers in the OpenAPI document. The handlers write the answers as
// bytes.

// Address is the answer of /ip/{addr} and /ip/me.
type Address struct {
	_      struct{} `doc:"What is known of an address, in GeoIP2's terms. What is not known is absent, and so is what is false."`
	IP     string   `json:"ip" doc:"The address, in its shortest form."`
	Source string   `json:"source,omitempty"`
	ipgeo.Record
	Traits struct {
		ipgeo.Traits
		Network string `json:"network,omitempty"`
	} `json:"traits,omitzero"`
	Quadkey string `json:"quadkey,omitempty" doc:"Of the location, at zoom 16." schema:"pattern=^[0-3]+$"`
}

// AddressBatchLine answers a line of /ip/batch.
type AddressBatchLine struct {
	_      struct{} `name:"AddressLine" doc:"A line of a batch: the answer, or an error." schema:"is"`
	Answer Address
	Error  struct {
		web.LineError
		IP string `json:"ip,omitempty"`
	}
}

// Networks is the answer of /ip/ranges as JSON.
type Networks struct {
	_        struct{} `doc:"Networks in the order of addresses, IPv4 before IPv6, none of which could be joined with another."`
	Networks []string `json:"networks" doc:"In CIDR notation."`
}

// NetworkJSONLine is a line of the answer of /ip/ranges as lines of JSON.
type NetworkJSONLine struct {
	_       struct{} `name:"NetworkLine" doc:"One of the networks."`
	Network string   `json:"network" doc:"In CIDR notation."`
}
