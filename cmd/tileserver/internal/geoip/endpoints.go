package geoip

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// Parameters of this room alone.
var (
	addrParam = endpoint.Described(endpoint.InPath, "addr", "IPv4 or IPv6 address, or me for that of the caller.", endpoint.Schema{"type": "string"}, "8.8.8.8")
)

// manual is MaxMind's own description of its web services.
const manual = "https://dev.maxmind.com/geoip/docs/web-services"

// refused are refusals as the web service has them.
var refused = slices.Concat(
	endpoint.Refused(endpoint.Content{"application/vnd.maxmind.com-error+json": GeoIP2Error{}}, map[int]string{
		http.StatusBadRequest:      "The address is missing, not one, or reserved.",
		http.StatusUnauthorized:    "The account or key is missing or not valid.",
		http.StatusPaymentRequired: "The limit of queries is used up, or there is no data for the service.",
		http.StatusNotFound:        "Nothing is known about the address.",
	}),
	endpoint.Refused(nil, map[int]string{
		http.StatusNotAcceptable:        "The Accept-Charset header does not take UTF-8.",
		http.StatusUnsupportedMediaType: "The Accept header takes no form that is offered.",
		http.StatusInternalServerError:  "The server failed.",
		http.StatusServiceUnavailable:   "The data cannot be read right now, or is not published.",
	}))

// Endpoints are those of the room. They ignore unknown parameters, as the web service does.
func (s *Room) Endpoints() []endpoint.Endpoint {
	keys := endpoint.KeysAsked
	if s.accounts != nil {
		keys = endpoint.KeysOfOthers
	}
	refuse := func(c echo.Context, err error) { _ = s.fail(c, refusalOf(err)) }
	return []endpoint.Endpoint{
		{
			Path: "/geoip/v2.1/country/{addr}", Also: []string{"/geoip/v2.1/country", "/geoip/v2.1/country/"},
			ID: "geoip2Country", Tag: "geoip2", Rank: 1,
			Summary: "GeoIP2's country service",
			Params:  []endpoint.Param{addrParam},
			Loose:   true,
			Handle:  s.answer(&services[0]), Cost: endpoint.Light, Keys: keys, Refuse: refuse, Elsewhere: manual,
			Answers: endpoint.Content{"application/vnd.maxmind.com-country+json": GeoIP2{}}, Keeps: endpoint.Varies,
			Headers: []string{"X-Geo-Database"},
			Others:  refused,
			Example: endpoint.Example{Request: "/geoip/v2.1/country/8.8.8.8"},
			Dearest: []string{"/geoip/v2.1/country/{address}", "/geoip/v2.1/country", "/geoip/v2.1/country/"},
		},
		{
			Path: "/geoip/v2.1/city/{addr}", Also: []string{"/geoip/v2.1/city", "/geoip/v2.1/city/"},
			ID: "geoip2City", Tag: "geoip2", Rank: 2,
			Summary: "GeoIP2's city service",
			Params:  []endpoint.Param{addrParam},
			Loose:   true,
			Handle:  s.answer(&services[1]), Cost: endpoint.Light, Keys: keys, Refuse: refuse, Elsewhere: manual,
			Answers: endpoint.Content{"application/vnd.maxmind.com-city+json": GeoIP2{}}, Keeps: endpoint.Varies,
			Headers: []string{"X-Geo-Database"},
			Others:  refused,
			Example: endpoint.Example{Request: "/geoip/v2.1/city/8.8.8.8"},
			Dearest: []string{"/geoip/v2.1/city/{address}", "/geoip/v2.1/city", "/geoip/v2.1/city/"},
		},
		{
			Path: "/geoip/v2.1/insights/{addr}", Also: []string{"/geoip/v2.1/insights", "/geoip/v2.1/insights/"},
			ID: "geoip2Insights", Tag: "geoip2", Rank: 3,
			Summary: "GeoIP2's insights service, which there is no data for",
			Params:  []endpoint.Param{addrParam},
			Loose:   true,
			Handle:  s.answer(&services[2]), Cost: endpoint.Light, Keys: keys, Refuse: refuse, Elsewhere: manual,
			Keeps:   endpoint.Varies,
			Others:  slices.DeleteFunc(slices.Clone(refused), func(o endpoint.Other) bool { return o.Status == http.StatusNotFound }),
			Example: endpoint.Example{Request: "/geoip/v2.1/insights/8.8.8.8"},
			Dearest: []string{"/geoip/v2.1/insights/{address}", "/geoip/v2.1/insights", "/geoip/v2.1/insights/"},
		},
	}
}
