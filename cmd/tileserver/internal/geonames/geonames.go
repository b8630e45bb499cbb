// Package geonames answers as the web services of GeoNames do, so that their clients
// work with another host name.
package geonames

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/localtime"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/zones"
)

// Room answers as the web services of GeoNames do.
type Room struct {
	*web.Kit
	sets datasets.Sets
}

func New(k *web.Kit, sets datasets.Sets) *Room { return &Room{k, sets} }

// The endpoints of this file and its siblings answer as the web services of
// GeoNames do, so that their clients work with another host name. Names, types
// and quirks are theirs: numbers that are strings, errors with status 200,
// parameters that are ignored when they mean nothing, kilometres. What could
// not be established is chosen to be kind to clients; tests name it.
//
// Any user name is taken, and none. XML is not offered.

// Values of GeoNames' error objects that are used here.
const (
	gnNoRecord    = 11 // no such record
	gnOther       = 12
	gnTimeout     = 13
	gnParameter   = 14 // invalid parameter
	gnNoResult    = 15
	gnInput       = 21 // invalid input
	gnOverloaded  = 22
	gnNotOffered  = 23 // not implemented
	gnRadius      = 24 // radius too large
	gnTooManyRows = 27 // maxRows too large
)

// gnError is an error object.
type gnError struct {
	value   int
	message string
}

func (e *gnError) Error() string { return "geonames: " + e.message }

func gnRefuse(value int, message string) error { return &gnError{value, message} }

// gnErrorOf gives an error of the domain packages its object.
func gnErrorOf(err error) *gnError {
	var own *gnError
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, datasets.ErrMissing):
		return &gnError{gnOther, "a data set this needs is not published on this server; ask its operator to ingest it, /status lists what there is"}
	case errors.Is(err, datasets.ErrFailed), unreadable(err):
		return &gnError{gnOther, "the data set cannot be read right now, try again in a moment"}
	case errors.Is(err, web.ErrBusy):
		return &gnError{gnOverloaded, "the server is overloaded, try again in a moment"}
	case errors.Is(err, places.ErrTooMuchWork):
		return &gnError{gnInput, "the search is too wide; add a radius or drop a filter"}
	case errors.Is(err, places.ErrQuery):
		return &gnError{gnParameter, "invalid parameter"}
	case errors.Is(err, zones.ErrRange):
		return &gnError{gnParameter, "invalid date; give one of the years 1900 to 2100"}
	case errors.Is(err, context.DeadlineExceeded):
		return &gnError{gnTimeout, "the answer took too long; ask for less"}
	}
	return &gnError{gnOther, "the server failed; its operator will find the reason in the log"}
}

// gnRequest is one request in GeoNames' manner and the answer being written.
type gnRequest struct {
	params gnParams
	view   localtime.View
	now    time.Time
	plain  bool // the answer is plain text
	object
}

// gnEndpoint is one of the endpoints. It is reached by its name with JSON at
// the end, and without, when the parameter type says what to answer.
type gnEndpoint struct {
	name   string
	write  func(g *gnRequest, ctx context.Context) error
	moment bool // the answer depends on the time of day
	text   bool // without a type the answer is plain text
	cost   web.Cost
}

var gnEndpoints = []gnEndpoint{
	{name: "search", write: (*gnRequest).search, cost: web.Heavy},
	{name: "findNearby", write: (*gnRequest).findNearby, cost: web.Heavy},
	{name: "findNearbyPlaceName", write: (*gnRequest).findNearbyPlaceName, cost: web.Heavy},
	{name: "get", write: (*gnRequest).get, cost: web.Light},
	{name: "timezone", write: (*gnRequest).timezone, moment: true, cost: web.Light},
	{name: "countryCode", write: (*gnRequest).countryCode, text: true, cost: web.Light},
	{name: "countrySubdivision", write: (*gnRequest).countrySubdivision, cost: web.Light},
}

// Routes are the endpoints, each with JSON at the end and without. They
// ignore unknown parameters, as GeoNames does.
func (s *Room) Routes() (list []web.Route) {
	for i := range gnEndpoints {
		e := &gnEndpoints[i]
		for _, end := range []string{"", "JSON"} {
			list = append(list, web.Route{
				Path: "/" + e.name + end, Handle: s.geonames(e), Cost: e.cost, Query: web.Anything,
				Keys: web.KeysOfGeonames, Refuse: func(c echo.Context, err error) { s.refuseGeonames(c, e, err) },
			})
		}
	}
	return list
}

// geonames makes the handler of an endpoint.
func (s *Room) geonames(e *gnEndpoint) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		g := &gnRequest{params: readGeonames(r), now: s.Now().UTC()}
		a := web.Answer{Form: web.FormGeoNames, Cache: s.CacheControl, Coding: web.Accepted(r)}
		callback, err := g.formOf(&a, e.text, strings.HasSuffix(r.URL.Path, "JSON"))
		if err != nil {
			return s.failGeonames(c, g, a, "", err)
		}
		g.view = localtime.Pin(&s.sets)
		defer g.view.Release()
		if e.moment {
			a.Cache = web.NoStore
		} else {
			// Time zones are given with the offsets of the year.
			etag := s.RequestTag(r, a, g.view.Boundaries.ID, g.view.Places.ID, g.view.TimeZones.ID, uint64(g.now.Year()))
			a.Tag = &etag
			if web.Matches(r, a.Tag, false) {
				return s.NotModified(c, a)
			}
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
		defer cancel()
		out := web.GetScratch()
		defer out.Release()
		g.b = append(out.Body, callback...)
		s.TraceFrom(ctx, g.view.Boundaries.ID, g.view.Places.ID, g.view.TimeZones.ID)
		ctx, end := s.TraceRead(ctx)
		err = e.write(g, ctx)
		end()
		out.Body = g.b
		if err != nil {
			out.Body = out.Body[:0]
			return s.failGeonames(c, g, a, callback, err)
		}
		if callback != "" {
			out.Body = append(out.Body, ");"...)
		}
		return s.Send(c, a, out)
	}
}

// formOf reads type and callback: the form of the answer, and what JSONP puts
// before it.
func (g *gnRequest) formOf(a *web.Answer, text, isJSON bool) (callback string, err error) {
	typ := strings.ToLower(g.params.text("type"))
	switch {
	case isJSON || typ == "json":
	case typ != "":
		return "", gnRefuse(gnNotOffered, "type "+strconv.Quote(clip(typ, 20))+" is not implemented, use type=json")
	case text:
		g.plain, a.Form = true, web.FormText
		return "", nil
	}
	callback = g.params.text("callback")
	if callback == "" {
		return "", nil
	}
	if !isCallback(callback) {
		return "", gnRefuse(gnParameter, "invalid callback; give the name of a JavaScript function")
	}
	a.Form = web.FormScript
	// The comment keeps what the caller chose from being the first bytes of
	// the answer, which other programs than browsers might run.
	return "/**/" + callback + "(", nil
}

// isCallback reports whether a JSONP callback is a name, or names joined by
// dots, and nothing else.
func isCallback(s string) bool {
	if len(s) > 80 {
		return false
	}
	for _, part := range strings.Split(s, ".") {
		for i := range len(part) {
			c := part[i]
			if letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$'; !letter && (i == 0 || c < '0' || c > '9') {
				return false
			}
		}
		if part == "" {
			return false
		}
	}
	return true
}

// unreadable reports whether the store did not answer.
func unreadable(err error) bool {
	return errors.Is(err, cellstore.ErrUnavailable) || errors.Is(err, cellstore.ErrUnknownOutcome)
}

// failGeonames answers with an error object. The status is 200 even so, but
// for a server at its limit, or whose store does not answer: proxies and clients
// know what 503 means.
func (s *Room) failGeonames(c echo.Context, g *gnRequest, a web.Answer, callback string, err error) error {
	err = s.Replaced(err)
	if k, _ := s.Classify(err); k.Status >= http.StatusInternalServerError && !k.Expected {
		if own := (*gnError)(nil); !errors.As(err, &own) {
			s.LogFailure(c, err)
		}
	}
	e := gnErrorOf(err)
	out := web.GetScratch()
	defer out.Release()
	b := out.Body
	if g.plain {
		b = append(strconv.AppendInt(append(b, "ERR:"...), int64(e.value), 10), ':')
		b = append(append(b, e.message...), '\n')
	} else {
		b = jsontext.AppendString(append(append(b, callback...), `{"status":{"message":`...), e.message)
		b = strconv.AppendInt(append(b, `,"value":`...), int64(e.value), 10)
		b = append(b, `}}`...)
		if callback != "" {
			b = append(b, ");"...)
		}
	}
	out.Body = b
	a.Tag, a.Cache = nil, web.NoStore
	if errors.Is(err, web.ErrBusy) || unreadable(err) {
		h := c.Response().Header()
		h["Retry-After"] = []string{web.RetryAfter}
		return s.SendStatus(c, http.StatusServiceUnavailable, a, out)
	}
	return s.Send(c, a, out)
}

// gnParams are query parameters as GeoNames reads them: of one that may not be
// repeated the first counts, and what is not known is ignored.
type gnParams struct{ values url.Values }

func readGeonames(r *http.Request) gnParams {
	// What cannot be read is ignored, too; the rest is returned.
	values, _ := url.ParseQuery(r.URL.RawQuery)
	return gnParams{values}
}

// text returns a parameter without the space around it, "" when it is absent.
func (p gnParams) text(name string) string { return strings.TrimSpace(p.values.Get(name)) }

// flag reports whether a parameter is set to true.
func (p gnParams) flag(name string) bool { return strings.EqualFold(p.text(name), "true") }

// maxRepeated is how often a parameter may be repeated.
const maxRepeated = places.MaxFilter

// codes returns a parameter that may be repeated, or list its values with
// commas between them, in upper case. Values that cannot be a code are refused.
func (p gnParams) codes(name string, min, max int, digits bool) ([]string, error) {
	var codes []string
	for _, v := range p.values[name] {
		for v != "" {
			var code string
			code, v, _ = strings.Cut(v, ",")
			if code = strings.ToUpper(strings.TrimSpace(code)); code == "" {
				continue
			}
			if !web.IsCode(code, min, max, digits) {
				return nil, gnRefuse(gnParameter, "invalid "+name)
			}
			if codes = append(codes, code); len(codes) > maxRepeated {
				return nil, gnRefuse(gnParameter, "too many values of "+name+", give at most "+strconv.Itoa(maxRepeated))
			}
		}
	}
	return codes, nil
}

// integer returns a whole number that is not negative, or absent.
func (p gnParams) integer(name string, absent int) (int, error) {
	v := p.text(name)
	if v == "" {
		return absent, nil
	}
	n, ok := web.Whole(v)
	if !ok || n < 0 {
		return 0, gnRefuse(gnParameter, "invalid "+name+"; give a whole number")
	}
	return n, nil
}

// number returns a decimal number within ±most, and whether it was given.
func (p gnParams) number(name string, most float64) (float64, bool, error) {
	v := p.text(name)
	if v == "" {
		return 0, false, nil
	}
	n, ok := web.Decimal(v)
	if !ok || !(n >= -most && n <= most) {
		return 0, false, gnRefuse(gnParameter, "invalid "+name+"; give a number from "+web.Bound(-most)+" to "+web.Bound(most))
	}
	return n + 0, true, nil // -0 is 0
}

// position reads lat and lng.
func (p gnParams) position() (lat, lng float64, err error) {
	lat, hasLat, err := p.number("lat", 90)
	if err != nil {
		return 0, 0, err
	}
	lng, hasLng, err := p.number("lng", 180)
	if err == nil && !hasLng {
		lng, hasLng, err = p.number("lon", 180)
	}
	if err == nil && !(hasLat && hasLng) {
		err = gnRefuse(gnParameter, "missing parameter; give lat and lng in degrees")
	}
	return lat, lng, err
}

// maxGeonamesRadius is the largest radius, in kilometres.
const maxGeonamesRadius = 300

// radius returns the radius in kilometres, or absent.
func (p gnParams) radius(absent float64) (float64, error) {
	v, given, err := p.number("radius", 1e9)
	switch {
	case err != nil:
		return 0, err
	case !given:
		return absent, nil
	case v < 0:
		return 0, gnRefuse(gnParameter, "invalid radius; give kilometres")
	case v > maxGeonamesRadius:
		return 0, gnRefuse(gnRadius, "the radius is too large; give at most "+strconv.Itoa(maxGeonamesRadius)+" km")
	}
	return v, nil
}

// Limits of lists.
const (
	maxRows     = 1000
	maxStartRow = 5000
)

func (p gnParams) rows(absent int) (int, error) {
	n, err := p.integer("maxRows", absent)
	if err == nil && n > maxRows {
		err = gnRefuse(gnTooManyRows, "maxRows is too large; give at most "+strconv.Itoa(maxRows))
	}
	return n, err
}

// style is how much a toponym says.
type style uint8

const (
	styleShort style = iota
	styleMedium
	styleLong
	styleFull
)

// style reads the parameter; what is none of the four is the usual one.
func (p gnParams) style() style {
	switch strings.ToUpper(p.text("style")) {
	case "SHORT":
		return styleShort
	case "LONG":
		return styleLong
	case "FULL":
		return styleFull
	}
	return styleMedium
}

// language returns the language of names, "" for the places' own.
func (p gnParams) language(absent string) string {
	v := p.text("lang")
	switch {
	case v == "":
		return absent
	case strings.EqualFold(v, "local") || len(v) > web.MaxLanguage:
		return ""
	}
	return v
}

// minPopulation reads cities: cities1000 and so on.
func (p gnParams) minPopulation() (int64, error) {
	v := strings.ToLower(p.text("cities"))
	if v == "" {
		return 0, nil
	}
	n, ok := web.Whole(strings.TrimPrefix(v, "cities"))
	if !ok || n < 0 || !strings.HasPrefix(v, "cities") {
		return 0, gnRefuse(gnParameter, "invalid cities; give one such as cities1000")
	}
	return int64(n), nil
}

// clip shortens a text that is repeated in a message.
func clip(s string, n int) string { return s[:min(len(s), n)] }

// object writes JSON objects: it sets the commas and leaves out what is
// unknown.
type object struct{ b []byte }

func (o *object) open()  { o.b = append(o.b, '{') }
func (o *object) close() { o.b = append(o.b, '}') }

// name begins a member.
func (o *object) name(name string) {
	if last := o.b[len(o.b)-1]; last != '{' && last != '[' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

// text writes a string unless it is empty.
func (o *object) text(name, value string) {
	if value != "" {
		o.name(name)
		o.b = jsontext.AppendString(o.b, value)
	}
}

func (o *object) int(name string, value int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, value, 10)
}

func (o *object) float(name string, value float64) {
	o.name(name)
	o.b = strconv.AppendFloat(o.b, value+0, 'f', -1, 64)
}

// quoted writes a number as a string.
func (o *object) quoted(name string, value float64) {
	o.name(name)
	o.b = append(strconv.AppendFloat(append(o.b, '"'), value, 'f', -1, 64), '"')
}

// hours writes seconds as hours.
func (o *object) hours(name string, seconds int) { o.float(name, float64(seconds)/3600) }

// refuseGeonames answers as GeoNames does: in the body of a 200.
func (s *Room) refuseGeonames(c echo.Context, e *gnEndpoint, err error) {
	r := c.Request()
	g := &gnRequest{params: readGeonames(r)}
	a := web.Answer{Form: web.FormGeoNames, Cache: web.NoStore, Coding: web.Accepted(r)}
	switch {
	case errors.Is(err, web.ErrKeyMissing), errors.Is(err, web.ErrKeyUnknown):
		err = &gnError{value: 10, message: "user does not exist: send the key of this server as username."}
	case errors.Is(err, web.ErrRateLimited):
		var said *web.Refusal
		own := &gnError{value: 19, message: "the limit of requests is used up"}
		if errors.As(err, &said) {
			own.message = said.Detail
		}
		if strings.Contains(own.message, "per day") {
			own.value = 18
		}
		err = own
	}
	callback, ferr := g.formOf(&a, e.text, strings.HasSuffix(r.URL.Path, "JSON"))
	if ferr != nil {
		callback = ""
	}
	_ = s.failGeonames(c, g, a, callback, err)
}
