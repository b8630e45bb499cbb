package geoip

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// These parameters are only for the endpoints of this package.
var (
	addrParam = endpoint.DescribedParam(endpoint.InPath, "addr", "IPv4 or IPv6 address, or me for that of the caller.",
		endpoint.Schema{"type": "string"}, "8.8.8.8")
)

// manual is the address of MaxMind's documentation of its web services.
const manual = "https://dev.maxmind.com/geoip/docs/web-services"

// refused lists the refusals of the web service.
var refused = slices.Concat(
	endpoint.RefusedAnswers(endpoint.Content{"application/vnd.maxmind.com-error+json": GeoIP2Error{}}, map[int]string{
		http.StatusBadRequest:      "The address is missing, not one, or reserved.",
		http.StatusUnauthorized:    "The account or key is missing or not valid.",
		http.StatusPaymentRequired: "The limit of queries is used up, or there is no data for the service.",
		http.StatusNotFound:        "Nothing is known about the address.",
	}),
	endpoint.RefusedAnswers(nil, map[int]string{
		http.StatusNotAcceptable:        "The Accept-Charset header does not take UTF-8.",
		http.StatusUnsupportedMediaType: "The Accept header takes no form that is offered.",
		http.StatusInternalServerError:  "The server failed.",
		http.StatusServiceUnavailable:   "The data cannot be read right now, or is not published.",
	}))

// Endpoints returns the GeoIP2 endpoints. They ignore unknown parameters, like the web service.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	keys := endpoint.KeysRequired
	if s.accounts != nil {
		keys = endpoint.KeysOfOthers
	}
	refuse := func(c echo.Context, err error) { _ = s.fail(c, refusalOf(err)) }
	list := make([]endpoint.Endpoint, len(services))
	for i := range services {
		v, path := &services[i], "/geoip/v2.1/"+services[i].name
		list[i] = endpoint.Endpoint{
			Path: path + "/{addr}", OtherPaths: []string{path, path + "/"},
			ID: "geoip2" + strings.ToUpper(v.name[:1]) + v.name[1:], Tag: "geoip2", Rank: i + 1,
			Summary: "GeoIP2's " + v.name + " service",
			Params:  []endpoint.Param{addrParam}, IgnoresOthers: true,
			Handle: s.answer(v), Cost: endpoint.Light, Keys: keys, Refuse: refuse, DocsURL: manual,
			Answers: endpoint.Content{"application/vnd.maxmind.com-" + v.name + "+json": GeoIP2{}}, CachePolicy: endpoint.CacheVaries,
			Headers:      []string{"X-Geo-Database"},
			OtherAnswers: refused,
			Example:      endpoint.Example{Request: path + "/8.8.8.8"},
		}
		if v.fields == nil {
			list[i].Summary += ", which there is no data for"
			list[i].Answers, list[i].Headers = nil, nil
			list[i].OtherAnswers = slices.DeleteFunc(slices.Clone(refused),
				func(o endpoint.OtherAnswer) bool { return o.Status == http.StatusNotFound })
		}
	}
	return list
}
