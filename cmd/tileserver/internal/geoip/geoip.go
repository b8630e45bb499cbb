// Package geoip imitates the GeoIP2 web service, version 2.1, so that its clients only need another
// host name. It has the same paths, media types, fields and errors. If the web service's answer
// could not be determined, our answer is one that clients tolerate; tests name these cases.
//
// Internal errors are statuses without a body, because every error code of the web service would be
// a statement about the address.
package geoip

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/ipdatabase"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/ipgeo"
)

// Handlers has the handlers that imitate the GeoIP2 web service.
type Handlers struct {
	*web.Kit
	// accounts returns the accounts with access. If it is nil, or returns nil, access is free. It
	// is called for every request.
	accounts  func() *Accounts
	databases ipdatabase.NewestDatabase
}

// New returns the handlers. accounts returns the accounts that currently have access; it is called
// for every request.
func New(k *web.Kit, accounts func() *Accounts) *Handlers {
	return &Handlers{Kit: k, accounts: accounts}
}

// service is one of the GeoIP2 services.
type service struct {
	name   string
	form   web.Format
	fields *ipgeo.Fields // the fields it has; nil if there is no data of that kind
}

// These are the members of a record for each service. Members that only Insights has are omitted.
const (
	countryFields = "continent," +
		"country.geoname_id,country.is_in_european_union,country.iso_code,country.names," +
		"registered_country.geoname_id,registered_country.is_in_european_union,registered_country.iso_code,registered_country.names," +
		"represented_country.geoname_id,represented_country.is_in_european_union,represented_country.iso_code,represented_country.names," +
		"represented_country.type,traits.is_anycast,traits.network"
	cityFields = countryFields + ",city.geoname_id,city.names," +
		"location.accuracy_radius,location.latitude,location.longitude,location.metro_code,location.time_zone," +
		"postal.code,subdivisions.geoname_id,subdivisions.iso_code,subdivisions.names," +
		"traits.autonomous_system_number,traits.autonomous_system_organization,traits.connection_type,traits.domain,traits.isp," +
		"traits.mobile_country_code,traits.mobile_network_code,traits.organization"
)

var services = []service{
	{name: "country", form: formCountry, fields: mustFields(countryFields)},
	{name: "city", form: formCity, fields: mustFields(cityFields)},
	{name: "insights"},
}

func mustFields(list string) *ipgeo.Fields {
	f, err := ipgeo.ParseFields(list)
	if err != nil {
		panic(err) // the lists above are constant
	}
	return &f
}

// refusal is an error answer of the service. Without a code it has no body.
type refusal struct {
	status  int
	code    string
	message string
}

func (e *refusal) Error() string { return "geoip: " + e.message }

var (
	errInvalid = &refusal{http.StatusBadRequest, "IP_ADDRESS_INVALID",
		"The value provided is not an IP address; give one like 1.2.3.4 or 2001:db8::1."}
	errRequired = &refusal{http.StatusBadRequest, "IP_ADDRESS_REQUIRED", "Put an IP address, or me, at the end of the path."}
	errReserved = &refusal{http.StatusBadRequest, "IP_ADDRESS_RESERVED",
		"The address belongs to a reserved or private range; ask for a public one."}
	errNotFound   = &refusal{http.StatusNotFound, "IP_ADDRESS_NOT_FOUND", "The address is not in the database."}
	errPermission = &refusal{http.StatusPaymentRequired, "PERMISSION_REQUIRED",
		"This server has no data for the insights service; use city or country."}
	errNoAccount = &refusal{http.StatusUnauthorized, "ACCOUNT_ID_REQUIRED", "Send an account ID and a license key by Basic authentication."}
	errNoKey     = &refusal{http.StatusUnauthorized, "LICENSE_KEY_REQUIRED",
		"Send a license key with the account ID, by Basic authentication."}
	errNoAuth = &refusal{http.StatusUnauthorized, "AUTHORIZATION_INVALID",
		"Send a valid account ID and license key by Basic authentication."}
	errMediaType = &refusal{status: http.StatusUnsupportedMediaType}
	errCharset   = &refusal{status: http.StatusNotAcceptable}
)

// answer makes the handler of a service.
func (s *Handlers) answer(v *service) endpoint.Handler {
	return func(c echo.Context, q *endpoint.Params) error { return s.geoIP(c, q, v) }
}

// geoIP answers one request.
func (s *Handlers) geoIP(c echo.Context, q *endpoint.Params, v *service) error {
	r := c.Request()
	cache := s.CacheControl
	if s.accounts != nil {
		if keys := s.accounts(); keys != nil {
			if err := keys.check(r); err != nil {
				return s.fail(c, err)
			}
			cache = web.PrivateNoStore // shared caches must not give it to others
		}
	}
	if err := accepts(r, v.name); err != nil {
		return s.fail(c, err)
	}
	addr, own, err := s.address(c)
	if err != nil {
		return s.fail(c, err)
	}
	if own {
		cache = web.PrivateNoStore
	}
	if v.fields == nil {
		return s.fail(c, errPermission)
	}
	from := &q.View().Addresses
	reader, err := from.Get()
	if err != nil {
		return s.fail(c, err)
	}
	s.TraceFrom(r.Context(), from.ID)
	l := ipdatabase.LookupPool.Get().(*ipdatabase.Lookup)
	defer ipdatabase.LookupPool.Put(l)
	if err := reader.Lookup(r.Context(), addr, &l.Res); err != nil {
		return s.fail(c, err)
	}
	// traits is the last member of a record, and network the last member of traits.
	b := l.Res.AppendFields(append(l.Out.Body[:0], '{'), *v.fields, "")
	b = append(b[:len(b)-1], `,"ip_address":"`...)
	b = l.Res.Addr.AppendTo(b)
	l.Out.Body = append(b, `"}}`...)
	c.Response().Header()[ipdatabase.Header] = s.databases.Of(from).Header
	return s.Send(c, web.Answer{Format: v.form, CacheControl: cache, Coding: web.AcceptedCoding(r)}, &l.Out)
}

// address returns the requested address, and whether it is the caller's own.
func (s *Handlers) address(c echo.Context) (addr netip.Addr, own bool, err error) {
	if len(c.ParamValues()) == 0 {
		return addr, false, errRequired
	}
	values, err := endpoint.PathParams(c)
	if err != nil {
		return addr, false, errInvalid
	}
	switch values[0] {
	case "":
		return addr, false, errRequired
	case "me":
		if addr = s.ClientAddr(c.Request()); !addr.IsValid() {
			return addr, true, ipdatabase.ErrNoPeer
		}
		return addr, true, nil
	}
	if addr, err = ipgeo.ParseAddr(values[0]); err != nil {
		return addr, false, errInvalid
	}
	return addr, false, nil
}

// fail answers with an error object, or with a status alone.
func (s *Handlers) fail(c echo.Context, err error) error {
	a := web.Answer{Format: formError, CacheControl: web.NoStore}
	h := c.Response().Header()
	var e *refusal
	switch {
	case errors.As(err, &e):
	case errors.Is(err, ipgeo.ErrReserved):
		e = errReserved
	case errors.Is(err, ipgeo.ErrNotFound):
		e = errNotFound
	default:
		k, _ := s.Judge(c, err)
		// Other endpoints answer 404 for a missing data set. Here that would mean that the address
		// is not found.
		e = &refusal{status: max(k.Status, http.StatusServiceUnavailable)}
		if k.Retry || k.Status < http.StatusInternalServerError {
			web.SetRetryAfter(h, web.RetryAfter)
		}
		if k == &web.InternalProblem {
			e.status = http.StatusInternalServerError
		}
	}
	if e.status == http.StatusUnauthorized {
		h["Www-Authenticate"] = []string{`Basic realm="GeoIP2", charset="UTF-8"`}
	}
	if e.code == "" {
		h["Cache-Control"] = a.CacheControl
		h["Content-Length"] = []string{"0"}
		c.Response().WriteHeader(e.status)
		return nil
	}
	a.Status = e.status
	out := web.GetScratch()
	defer out.Release()
	b := jsontext.AppendString(append(out.Body, `{"code":`...), e.code)
	b = jsontext.AppendString(append(b, `,"error":`...), e.message)
	out.Body = append(b, '}')
	return s.Send(c, a, out)
}

// accepts checks the headers of content negotiation.
func accepts(r *http.Request, service string) error {
	if values := r.Header["Accept"]; len(values) > 0 && !takes(values, func(name, params string) bool {
		switch strings.ToLower(name) {
		case "*/*", "application/*", "application/json", "":
			return true
		case "application/vnd.maxmind.com-" + service + "+json":
			return takesParams(params)
		}
		return false
	}) {
		return errMediaType
	}
	if values := r.Header["Accept-Charset"]; len(values) > 0 && !takes(values, func(name, _ string) bool {
		return name == "*" || name == "" || strings.EqualFold(name, "utf-8") || strings.EqualFold(name, "utf8")
	}) {
		return errCharset
	}
	return nil
}

// takes reports whether the values of a header accept a good item with a weight other than zero.
func takes(values []string, good func(name, params string) bool) bool {
	for _, v := range values {
		for more := true; more; {
			var item string
			item, v, more = strings.Cut(v, ",")
			name, params, _ := strings.Cut(item, ";")
			if good(strings.TrimSpace(name), params) && web.QValue(params) > 0 {
				return true
			}
		}
	}
	return false
}

// takesParams reports whether the parameters of the service's own media type are
// supported here. Versions differ in their first number.
func takesParams(params string) bool {
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

var errQueries = &refusal{http.StatusPaymentRequired, "OUT_OF_QUERIES",
	"The limit of queries is used up; Retry-After tells when to ask again."}

// refusalOf converts an error to a refusal in GeoIP2's format.
func refusalOf(err error) error {
	switch {
	case errors.Is(err, web.ErrRateLimited):
		return errQueries
	case errors.Is(err, web.ErrKeyMissing):
		return errNoKey
	case errors.Is(err, web.ErrKeyUnknown):
		return errNoAuth
	}
	return err
}

// These are the forms of GeoIP2's web service.
var (
	formCountry = web.NewFormat(web.Media{Name: "geoip-country",
		Type: "application/vnd.maxmind.com-country+json; charset=UTF-8; version=2.1"})
	formCity  = web.NewFormat(web.Media{Name: "geoip-city", Type: "application/vnd.maxmind.com-city+json; charset=UTF-8; version=2.1"})
	formError = web.NewFormat(web.Media{Name: "geoip-error", Type: "application/vnd.maxmind.com-error+json; charset=UTF-8; version=2.0"})
)
