package ip

import (
	"net/http"
	"slices"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
)

// These parameters are only for the endpoints of this package.
var (
	addrParam   = endpoint.DescribedParam(endpoint.InPath, "addr", "IPv4 or IPv6 address.", endpoint.Schema{"type": "string"}, "8.8.8.8")
	fieldsParam = endpoint.Text("fields", maxFieldsText,
		"Fields of the answer, by their paths; all of them if absent.").WithExample("country.iso_code,city.names.en")
	langParam = endpoint.Text("lang", endpoint.MaxLanguageBytes, endpoint.Lang.Doc).WithBound("pattern",
		endpoint.Lang.Schema["pattern"]).WithExample("de")
	ipParam      = endpoint.DescribedParam(endpoint.InQuery, "ip", "IPv4 or IPv6 address.", endpoint.Schema{"type": "string"}, nil)
	anyPathParam = endpoint.DescribedParam(endpoint.InPath, "path", "Anything: some proxies append the path they ask about.",
		endpoint.Schema{"type": "string"}, nil)
	denyParam = endpoint.New("deny",
		"Countries whose callers are refused with 403, so that the proxy refuses their requests. Only `/ip/headers` itself "+
			"reads it: below it, the query is that of the visitor.", endpoint.Schema{
			"type":     "array",
			"items":    endpoint.Country.Schema,
			"minItems": 1,
			"maxItems": maxDenied,
		}, readCountries)
	rangesCountryParam = endpoint.New("country",
		"Networks located in any of these countries, by their ISO 3166-1 codes, or by codes that sources use for one, such as "+
			"`EU`. One of this, `continent` and `asn` is required; with several, networks that are in each.", endpoint.Schema{
			"type": "array", "items": endpoint.Country.Schema, "minItems": 1, "maxItems": maxDenied,
		}, readCountries).WithExample([]string{"de", "at", "ch"})
	rangesContinentParam = endpoint.Codes("continent", "continents", 2, 2, false,
		"Networks located in countries of any of these continents: AF, AN, AS, EU, NA, OC, SA.")
	rangesASNParam = endpoint.New("asn", "Networks of any of these autonomous systems, by their numbers, with or without `AS` before them.",
		endpoint.Schema{
			"type": "array", "items": endpoint.Schema{"type": "string", "pattern": "^([Aa][Ss])?[0-9]{1,10}$"}, "minItems": 1, "maxItems": maxSystems,
		}, readASNs)
	ipVersionParam    = endpoint.Word("version", "Networks of this version of IP; both if absent.", "4", "6")
	rangesFormatParam = endpoint.Word("format",
		"Form of the answer; without it the Accept header chooses among the first four. text is a network in each line, as "+
			"HAProxy reads with `-f`, ndjson an object in each, csv a table of one column, nft a file for `nft -f` and ipset one for "+
			"`ipset restore`, with a set for each version of IP, nginx lines to include in a block `geo`, "+
			"whose value is 1, and mikrotik commands of RouterOS that add to an address list.",
		"text", "json", "ndjson", "csv", "nft", "ipset", "nginx", "mikrotik")
)

// proxyHeaders are the headers of an answer to a proxy.
var proxyHeaders = []string{"X-Geo-Database-Optional", "X-Geo-Status", "X-Geo-Ip", "X-Geo-Network", "X-Geo-Continent",
	"X-Geo-Country", "X-Geo-Subdivision", "X-Geo-City", "X-Geo-Timezone", "X-Geo-Latitude", "X-Geo-Longitude", "X-Geo-Asn"}

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, slices.Concat(s.addressEndpoints(), s.rangeEndpoints())...)
}

// addressEndpoints returns the endpoints for the record of an address.
func (s *Handlers) addressEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/ip/{addr}",
			ID:   "getAddress", Tag: "addresses", Rank: 1,
			Summary: "What is known of an address",
			Params:  []endpoint.Param{addrParam, fieldsParam, langParam},
			Handle:  s.getAddress, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Address{}}, CachePolicy: endpoint.CacheUntagged,
			Headers:  []string{"X-Geo-Database"},
			Problems: []string{"bad-parameter", "address-reserved", "address-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/ip/8.8.8.8"},
		},
		{
			Path: "/ip/me",
			ID:   "getOwnAddress", Tag: "addresses", Rank: 2,
			Summary: "What is known of the caller's address",
			Params:  []endpoint.Param{fieldsParam, langParam},
			Handle:  s.getOwnAddress, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Address{}}, CachePolicy: endpoint.CacheNever,
			Headers:  []string{"X-Geo-Database"},
			Problems: []string{"bad-parameter", "address-reserved", "address-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/ip/me"},
		},
		{
			Path: "/ip/batch", Methods: []string{http.MethodPost},
			ID: "postAddresses", Tag: "addresses", Rank: 3,
			Summary: "What is known of many addresses",
			Doc: "An address in each line of the body, plain, quoted or as " +
				"`{\"ip\":\"1.2.3.4\",\"fields\":\"country.iso_code\"}`; a line of JSON for each comes back, in order, while " +
				"further lines are sent: read while writing. Members are `ip`, `fields` and `lang`; others are refused, but for " +
				"names that begin with `_`. `fields` and `lang` of the query hold for lines that have none. A line that cannot be " +
				"answered gets an error of its own.",
			Params: []endpoint.Param{fieldsParam, langParam},
			Lines:  []endpoint.Param{ipParam, fieldsParam, langParam},
			Handle: s.postBatch, Cost: endpoint.Streamed,
			Body: true,
			BodyContent: endpoint.Content{"application/x-ndjson": endpoint.Schema{"type": "string"},
				"text/plain": endpoint.Schema{"type": "string"}},
			BodyRequired: true,
			Answers:      endpoint.Content{"application/x-ndjson": AddressBatchLine{}}, CachePolicy: endpoint.CacheNever,
			Headers: []string{"X-Geo-Database"},
			Problems: []string{"bad-parameter", "bad-line", "batch-too-long", "batch-timeout", "unsupported-coding", "unsupported-type",
				"bad-body", "dataset-missing"},
			Example: endpoint.Example{Request: "/ip/batch?fields=country.iso_code", Body: "8.8.8.8\n10.0.0.1\n"},
		},
		{
			Path: headersPath + "/{path}", OtherPaths: []string{headersPath}, Any: true,
			ID: "getAddressHeaders", Tag: "addresses", Rank: 4,
			Summary: "The caller's place as headers, for a proxy",
			Doc: "For the sub-request of a proxy, of any method. It never fails, and is refused by a status only in the " +
				"countries of `deny`: `X-Geo-Status` says what is known, or that the key is missing or wrong, or its limit used " +
				"up. There is no body, and that of the request is not read.",
			Params:        []endpoint.Param{anyPathParam, denyParam},
			IgnoresOthers: true,
			Handle:        s.getHeaders, Cost: endpoint.Light,
			Keys: endpoint.KeysOfProxy, Refuse: s.refuseHeaders,
			Body:        true,
			CachePolicy: endpoint.CacheNever,
			OtherAnswers: []endpoint.OtherAnswer{
				{Status: 200, Text: "Headers that the proxy passes on.", Headers: proxyHeaders},
				{Status: 403, Text: "The same headers; the caller is in a country of `deny`.", Headers: proxyHeaders},
				{Status: 400, Text: "`deny` is no list of country codes.", Content: endpoint.Content{"application/problem+json": web.Problem{}}},
			},
			Example: endpoint.Example{Request: "/ip/headers"},
		},
	}
}

// rangeEndpoints returns the endpoints that list the networks of a country or an autonomous system.
func (s *Handlers) rangeEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/ip/ranges",
			ID:   "getAddressRanges", Tag: "addresses", Rank: 5,
			Summary: "The networks of countries, continents and autonomous systems",
			Doc: "In the order of addresses, IPv4 before IPv6, adjacent ranges joined and written as the fewest networks. " +
				"They are sent while the table is read; an answer that is cut off ends its connection. A country, continent or " +
				"system that nothing is known of adds nothing to the list. If the list is empty and a code is no country's, the answer is 400 " +
				"`bad-parameter`. HEAD does not read the table, and so does not tell that.",
			Params: []endpoint.Param{rangesCountryParam, rangesContinentParam, rangesASNParam, ipVersionParam, rangesFormatParam},
			Handle: s.getRanges, Cost: endpoint.Heavy,
			Answers: endpoint.Content{
				"text/plain": nil, "application/json": Networks{}, "application/x-ndjson": NetworkJSONLine{}, "text/csv": nil,
			},
			CachePolicy: endpoint.CacheTagged,
			Headers:     []string{"X-Geo-Database"},
			Problems:    []string{"bad-parameter", "dataset-missing"},
			Example:     endpoint.Example{Request: "/ip/ranges?country=nu&version=6&format=json"},
		},
	}
}
