package httpapi

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/internal/jsontext"
	"quadrille/ipgeo"
)

// geoipRoom answers as the GeoIP2 web service does.
type geoipRoom struct {
	*kit
	addresses *dataset.Live[Addresses]
	// accounts returns those that may ask; nil, or a nil answer, lets everybody. It
	// is called for every request.
	accounts  func() *GeoIPKeys
	databases databaseNow
}

func newGeoIPRoom(k *kit, addresses *dataset.Live[Addresses], accounts func() *GeoIPKeys) *geoipRoom {
	return &geoipRoom{kit: k, addresses: addresses, accounts: accounts}
}

// The endpoints of this file answer as the GeoIP2 web service, version 2.1,
// does, so that its clients work with another host name: its paths, media
// types, fields and errors. What it could not be established how it answers
// is chosen to be kind to clients; tests name it.
//
// Failures of ours are statuses without a body: every code there is would say
// something about the address.

// gipService is one of the services.
type gipService struct {
	name   string
	form   form
	fields *ipgeo.Fields // those it has; nil where there is no data of that kind
}

// What the services have of a record; what is only insights' is none of them.
const (
	gipCountryFields = "continent," +
		"country.geoname_id,country.is_in_european_union,country.iso_code,country.names," +
		"registered_country.geoname_id,registered_country.is_in_european_union,registered_country.iso_code,registered_country.names," +
		"represented_country.geoname_id,represented_country.is_in_european_union,represented_country.iso_code,represented_country.names," +
		"represented_country.type,traits.is_anycast,traits.network"
	gipCityFields = gipCountryFields + ",city.geoname_id,city.names," +
		"location.accuracy_radius,location.latitude,location.longitude,location.metro_code,location.time_zone," +
		"postal.code,subdivisions.geoname_id,subdivisions.iso_code,subdivisions.names," +
		"traits.autonomous_system_number,traits.autonomous_system_organization,traits.connection_type,traits.domain,traits.isp," +
		"traits.mobile_country_code,traits.mobile_network_code,traits.organization"
)

var gipServices = []gipService{
	{name: "country", form: formGeoIPCountry, fields: mustFields(gipCountryFields)},
	{name: "city", form: formGeoIPCity, fields: mustFields(gipCityFields)},
	{name: "insights"},
}

func mustFields(list string) *ipgeo.Fields {
	f, err := ipgeo.ParseFields(list)
	if err != nil {
		panic(err) // the lists above are constant
	}
	return &f
}

// routes are the endpoints of the services. They ignore unknown parameters,
// as the web service does.
func (s *geoipRoom) routes() (list []route) {
	keys := keysAsked
	if s.accounts != nil {
		keys = keysOfOthers
	}
	for i := range gipServices {
		v := &gipServices[i]
		for _, end := range []string{"", "/", "/:addr"} {
			list = append(list, route{
				path: "/geoip/v2.1/" + v.name + end, handle: func(c echo.Context) error { return s.geoIP(c, v) }, cost: light, query: anything,
				keys: keys, refuse: func(c echo.Context, err error) { _ = s.failGeoIP(c, gipRefusal(err)) },
			})
		}
	}
	return list
}

// gipError is a refusal in the service's terms; without a code it has no body.
type gipError struct {
	status  int
	code    string
	message string
}

func (e *gipError) Error() string { return "geoip: " + e.message }

var (
	gipInvalid    = &gipError{http.StatusBadRequest, "IP_ADDRESS_INVALID", "The value provided is not an IP address; give one like 1.2.3.4 or 2001:db8::1."}
	gipRequired   = &gipError{http.StatusBadRequest, "IP_ADDRESS_REQUIRED", "Put an IP address, or me, at the end of the path."}
	gipReserved   = &gipError{http.StatusBadRequest, "IP_ADDRESS_RESERVED", "The address belongs to a reserved or private range; ask for a public one."}
	gipNotFound   = &gipError{http.StatusNotFound, "IP_ADDRESS_NOT_FOUND", "The address is not in the database."}
	gipPermission = &gipError{http.StatusPaymentRequired, "PERMISSION_REQUIRED", "This server has no data for the insights service; use city or country."}
	gipNoAccount  = &gipError{http.StatusUnauthorized, "ACCOUNT_ID_REQUIRED", "Send an account ID and a license key by Basic authentication."}
	gipNoKey      = &gipError{http.StatusUnauthorized, "LICENSE_KEY_REQUIRED", "Send a license key with the account ID, by Basic authentication."}
	gipNoAuth     = &gipError{http.StatusUnauthorized, "AUTHORIZATION_INVALID", "Send a valid account ID and license key by Basic authentication."}
	gipMediaType  = &gipError{status: http.StatusUnsupportedMediaType}
	gipCharset    = &gipError{status: http.StatusNotAcceptable}
)

// geoIP answers one request.
func (s *geoipRoom) geoIP(c echo.Context, v *gipService) error {
	r := c.Request()
	cache := s.cacheControl
	if s.accounts != nil {
		if keys := s.accounts(); keys != nil {
			if err := keys.check(r); err != nil {
				return s.failGeoIP(c, err)
			}
			cache = privateNoStore // shared caches must not answer others with it
		}
	}
	if err := gipAccepts(r, v.name); err != nil {
		return s.failGeoIP(c, err)
	}
	addr, own, err := s.gipAddress(c)
	if err != nil {
		return s.failGeoIP(c, err)
	}
	if own {
		cache = privateNoStore
	}
	if v.fields == nil {
		return s.failGeoIP(c, gipPermission)
	}
	p := pin(s.addresses)
	defer p.release()
	reader, err := p.get()
	if err != nil {
		return s.failGeoIP(c, err)
	}
	s.traceFrom(r.Context(), p.id)
	l := lookups.Get().(*lookup)
	defer lookups.Put(l)
	if err := reader.Lookup(r.Context(), addr, &l.res); err != nil {
		return s.failGeoIP(c, err)
	}
	// The last member is traits, the last of which is network.
	b := l.res.AppendFields(append(l.out.body[:0], '{'), *v.fields, "")
	b = append(b[:len(b)-1], `,"ip_address":"`...)
	b = l.res.Addr.AppendTo(b)
	l.out.body = append(b, `"}}`...)
	c.Response().Header()[databaseHeader] = s.databases.of(&p).header
	return s.send(c, answer{form: v.form, cache: cache, coding: accepted(r)}, &l.out)
}

// gipAddress is the address asked about, and whether it is the caller's own.
func (s *geoipRoom) gipAddress(c echo.Context) (addr netip.Addr, own bool, err error) {
	if len(c.ParamValues()) == 0 {
		return addr, false, gipRequired
	}
	values, err := pathParams(c)
	if err != nil {
		return addr, false, gipInvalid
	}
	switch values[0] {
	case "":
		return addr, false, gipRequired
	case "me":
		if addr = s.clientAddr(c.Request()); !addr.IsValid() {
			return addr, true, errNoPeer
		}
		return addr, true, nil
	}
	if addr, err = ipgeo.ParseAddr(values[0]); err != nil {
		return addr, false, gipInvalid
	}
	return addr, false, nil
}

// failGeoIP answers with an error object, or with a status alone.
func (s *geoipRoom) failGeoIP(c echo.Context, err error) error {
	a := answer{form: formGeoIPError, cache: noStore}
	h := c.Response().Header()
	var e *gipError
	switch {
	case errors.As(err, &e):
	case errors.Is(err, ipgeo.ErrReserved):
		e = gipReserved
	case errors.Is(err, ipgeo.ErrNotFound):
		e = gipNotFound
	default:
		err = s.replaced(err)
		k := s.kindOf(err)
		if k.status >= http.StatusInternalServerError && !k.expected {
			s.logFailure(c, err)
		}
		// A data set that is missing is 404 elsewhere, and would be read as
		// an address that is not found.
		e = &gipError{status: max(k.status, http.StatusServiceUnavailable)}
		if k.retry || k.status < http.StatusInternalServerError {
			h["Retry-After"] = []string{retryAfter}
		}
		if k == &internal {
			e.status = http.StatusInternalServerError
		}
	}
	if e.status == http.StatusUnauthorized {
		h["Www-Authenticate"] = []string{`Basic realm="GeoIP2", charset="UTF-8"`}
	}
	if e.code == "" {
		s.commonHeaders(h, a, false)
		h["Content-Length"] = []string{"0"}
		c.Response().WriteHeader(e.status)
		return nil
	}
	out := getScratch()
	defer out.release()
	b := jsontext.AppendString(append(out.body, `{"code":`...), e.code)
	b = jsontext.AppendString(append(b, `,"error":`...), e.message)
	out.body = append(b, '}')
	return s.sendStatus(c, e.status, a, out)
}

// gipAccepts judges the headers of negotiation.
func gipAccepts(r *http.Request, service string) error {
	if values := r.Header["Accept"]; len(values) > 0 && !gipTakes(values, func(name, params string) bool {
		switch strings.ToLower(name) {
		case "*/*", "application/*", "application/json", "":
			return true
		case "application/vnd.maxmind.com-" + service + "+json":
			return gipParams(params)
		}
		return false
	}) {
		return gipMediaType
	}
	if values := r.Header["Accept-Charset"]; len(values) > 0 && !gipTakes(values, func(name, _ string) bool {
		return name == "*" || name == "" || strings.EqualFold(name, "utf-8") || strings.EqualFold(name, "utf8")
	}) {
		return gipCharset
	}
	return nil
}

// gipTakes reports whether one of the items of a header's values is taken with
// any weight but zero.
func gipTakes(values []string, good func(name, params string) bool) bool {
	for _, v := range values {
		for more := true; more; {
			var item string
			item, v, more = strings.Cut(v, ",")
			name, params, _ := strings.Cut(item, ";")
			if good(strings.TrimSpace(name), params) && weight(params) > 0 {
				return true
			}
		}
	}
	return false
}

// gipParams reports whether the parameters of the service's own media type are
// those it has here. Versions differ in their first number.
func gipParams(params string) bool {
	for more := true; more; {
		var p string
		p, params, more = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "charset":
			if !strings.EqualFold(value, "utf-8") {
				return false
			}
		case "version":
			if value != "2" && !strings.HasPrefix(value, "2.") {
				return false
			}
		}
	}
	return true
}

var gipQueries = &gipError{http.StatusPaymentRequired, "OUT_OF_QUERIES", "The limit of queries is used up; Retry-After tells when to ask again."}

// gipRefusal says a refusal in the terms of GeoIP2.
func gipRefusal(err error) error {
	switch {
	case errors.Is(err, errRateLimited):
		return gipQueries
	case errors.Is(err, errKeyMissing):
		return gipNoKey
	case errors.Is(err, errKeyUnknown):
		return gipNoAuth
	}
	return err
}
