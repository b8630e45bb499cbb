// Package geonames imitates the web services of GeoNames, so that their clients only need another
// host name. Names, types and quirks are those of GeoNames: numbers as strings, errors with status
// 200, ignored parameters if they are meaningless, and kilometres. If GeoNames' answer could not be
// determined, our answer is one that clients tolerate; tests name these cases.
//
// Any user name is accepted, and also a missing one. XML is not supported.
package geonames

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/ask/localtime"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/zones"
	"quadrille/quadkey"
)

// Handlers has the handlers that imitate the web services of GeoNames.
type Handlers struct {
	*web.Kit
}

// New returns the handlers.
func New(k *web.Kit) *Handlers { return &Handlers{k} }

// These are the values of GeoNames' error objects that are used here.
const (
	noRecord       = 11 // no such record
	otherFault     = 12
	tooSlow        = 13
	badParameter   = 14 // invalid parameter
	noResult       = 15
	badInput       = 21 // invalid input
	overloaded     = 22
	notOffered     = 23 // not implemented
	radiusTooLarge = 24 // radius too large
	tooManyRows    = 27 // maxRows too large
)

// refusal is an error object.
type refusal struct {
	value   int
	message string
}

func (e *refusal) Error() string { return "geonames: " + e.message }

func refuse(value int, message string) error { return &refusal{value, message} }

// refusalOf returns GeoNames' error object for an error of the domain packages.
func refusalOf(err error) *refusal {
	var own *refusal
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, ask.ErrMissing):
		return &refusal{otherFault,
			"a data set this needs is not published on this server; ask its operator to ingest it, /status lists what there is"}
	case errors.Is(err, ask.ErrFailed), unreadable(err):
		return &refusal{otherFault, "the data set cannot be read right now, try again in a moment"}
	case errors.Is(err, web.ErrBusy):
		return &refusal{overloaded, "the server is overloaded, try again in a moment"}
	case errors.Is(err, places.ErrTooMuchWork):
		return &refusal{badInput, "the search is too wide; add a radius or drop a filter"}
	case errors.Is(err, places.ErrQuery):
		return &refusal{badParameter, "invalid parameter"}
	case errors.Is(err, zones.ErrTimeRange):
		return &refusal{badParameter, "invalid date; give one of the years 1900 to 2100"}
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{tooSlow, "the answer took too long; ask for less"}
	}
	return &refusal{otherFault, "the server failed; its operator will find the reason in the log"}
}

// request is one GeoNames request, with the answer that is being written.
type request struct {
	params params
	view   localtime.View
	now    time.Time
	plain  bool // the answer is plain text
	object
}

// question describes the answers of an endpoint. If its path does not end with JSON, the parameter
// type selects the format of the answer.
type question struct {
	write  func(g *request, ctx context.Context) error
	moment bool // the answer depends on the time of day
	text   bool // without a type the answer is plain text
}

// geonames makes the handler of an endpoint.
func (s *Handlers) geonames(e question) endpoint.Handler {
	return func(c echo.Context, q *endpoint.Params) error {
		r := c.Request()
		g := &request{params: readParams(r), now: s.Now().UTC()}
		a := web.Answer{Format: formGeoNames, Coding: web.AcceptedCoding(r)}
		callback, err := g.formOf(&a, e.text, isJSON(c))
		if err != nil {
			return s.fail(c, g, a, "", err)
		}
		g.view = localtime.ViewOf(q.View())
		from := append(g.view.GenerationIDs(), uint64(g.now.Year())) // time zones are given with the offsets of the year
		if e.moment {
			s.TraceFrom(r.Context(), from...)
			from = nil
		}
		err = s.Reply(c, a, from, func(ctx context.Context, out *web.Scratch) error {
			g.b = append(out.Body, callback...)
			err := e.write(g, ctx)
			out.Body = g.b
			if callback != "" {
				out.Body = append(out.Body, ");"...)
			}
			return err
		})
		if err != nil {
			return s.fail(c, g, a, callback, err)
		}
		return nil
	}
}

// formOf reads the parameters type and callback: the format of the answer, and the name of the
// JSONP function.
func (g *request) formOf(a *web.Answer, text, isJSON bool) (callback string, err error) {
	typ := strings.ToLower(g.params.text("type"))
	switch {
	case isJSON || typ == "json":
	case typ != "":
		return "", refuse(notOffered, "type "+strconv.Quote(clip(typ, 20))+" is not implemented, use type=json")
	case text:
		g.plain, a.Format = true, web.FormatText
		return "", nil
	}
	callback = g.params.text("callback")
	if callback == "" {
		return "", nil
	}
	if !web.IsCallback(callback) {
		return "", refuse(badParameter, "invalid callback; give the name of a JavaScript function")
	}
	a.Format = web.FormatScript
	// The comment keeps the caller's own text from being the first bytes of the
	// answer, which programs other than browsers might run.
	return "/**/" + callback + "(", nil
}

// unreadable reports whether an error means that the store did not answer.
func unreadable(err error) bool {
	return errors.Is(err, cellstore.ErrUnavailable) || errors.Is(err, cellstore.ErrUnknownOutcome)
}

// fail answers with an error object. Its status is 200, except when the server
// is at its limit or its store does not answer: proxies and clients know what
// 503 means.
func (s *Handlers) fail(c echo.Context, g *request, a web.Answer, callback string, err error) error {
	err = s.Translate(err)
	if k, _ := s.Classify(err); k.Status >= http.StatusInternalServerError && !k.IsExpected {
		if own := (*refusal)(nil); !errors.As(err, &own) {
			s.LogFailure(c, err)
		}
	}
	e := refusalOf(err)
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
	a.CacheControl = web.NoStore
	if errors.Is(err, web.ErrBusy) || unreadable(err) {
		web.SetRetryAfter(c.Response().Header(), web.RetryAfter)
		a.Status = http.StatusServiceUnavailable
	}
	return s.Send(c, a, out)
}

// params are query parameters with the rules of GeoNames: of a repeated parameter only the first
// value counts, unless repetition is allowed, and unknown parameters are ignored.
type params struct{ values url.Values }

func readParams(r *http.Request) params {
	// Unreadable parameters are also ignored; the rest is returned.
	values, _ := url.ParseQuery(r.URL.RawQuery)
	return params{values}
}

// text returns a parameter without surrounding white space, or "" if it is absent.
func (p params) text(name string) string { return strings.TrimSpace(p.values.Get(name)) }

// flag reports whether a parameter is set to true.
func (p params) flag(name string) bool { return strings.EqualFold(p.text(name), "true") }

// maxRepeated bounds how often a parameter may be repeated.
const maxRepeated = places.MaxFilterValues

// codes returns the values of a parameter in upper case. The parameter may be repeated, or have
// several values that are separated by commas. Values that cannot be a code are refused.
func (p params) codes(name string, min, max int, digits bool) ([]string, error) {
	var codes []string
	for _, v := range p.values[name] {
		for v != "" {
			var code string
			code, v, _ = strings.Cut(v, ",")
			if code = strings.ToUpper(strings.TrimSpace(code)); code == "" {
				continue
			}
			ok := endpoint.IsCode(code, min, max, digits)
			if ok && name == "country" {
				code, ok = endpoint.ParseCountryCode(code)
			}
			if !ok {
				return nil, refuse(badParameter, "invalid "+name)
			}
			if codes = append(codes, code); len(codes) > maxRepeated {
				return nil, refuse(badParameter, "too many values of "+name+", give at most "+strconv.Itoa(maxRepeated))
			}
		}
	}
	return codes, nil
}

// integer returns a whole number that is not negative, or absent.
func (p params) integer(name string, absent int) (int, error) {
	v := p.text(name)
	if v == "" {
		return absent, nil
	}
	n, ok := endpoint.ParseWhole(v)
	if !ok || n < 0 {
		return 0, refuse(badParameter, "invalid "+name+"; give a whole number")
	}
	return n, nil
}

// number returns a decimal number between -most and most, and whether it was given.
func (p params) number(name string, most float64) (float64, bool, error) {
	v := p.text(name)
	if v == "" {
		return 0, false, nil
	}
	n, ok := quadkey.ParseNumber(v)
	if !ok || !(n >= -most && n <= most) {
		return 0, false, refuse(badParameter, "invalid "+name+"; give a number from "+
			endpoint.FormatBound(-most)+" to "+endpoint.FormatBound(most))
	}
	return n + 0, true, nil // -0 is 0
}

// position reads lat and lng.
func (p params) position() (lat, lng float64, err error) {
	lat, hasLat, err := p.number("lat", 90)
	if err != nil {
		return 0, 0, err
	}
	lng, hasLng, err := p.number("lng", 180)
	if err == nil && !hasLng {
		lng, hasLng, err = p.number("lon", 180)
	}
	if err == nil && !(hasLat && hasLng) {
		err = refuse(badParameter, "missing parameter; give lat and lng in degrees")
	}
	return lat, lng, err
}

// around returns a point and the radius around it in kilometres, or absent.
func (p params) around(absent float64) (lat, lng, radius float64, err error) {
	if lat, lng, err = p.position(); err == nil {
		radius, err = p.radius(absent)
	}
	return lat, lng, radius, err
}

// maxGeonamesRadius is the greatest radius in kilometres.
const maxGeonamesRadius = 300

// radius returns the radius in kilometres, or absent.
func (p params) radius(absent float64) (float64, error) {
	v, given, err := p.number("radius", 1e9)
	switch {
	case err != nil:
		return 0, err
	case !given:
		return absent, nil
	case v < 0:
		return 0, refuse(badParameter, "invalid radius; give kilometres")
	case v > maxGeonamesRadius:
		return 0, refuse(radiusTooLarge, "the radius is too large; give at most "+strconv.Itoa(maxGeonamesRadius)+" km")
	}
	return v, nil
}

// These are limits of lists.
const (
	maxRows     = 1000
	maxStartRow = 5000
)

func (p params) rows(absent int) (int, error) {
	n, err := p.integer("maxRows", absent)
	if err == nil && n > maxRows {
		err = refuse(tooManyRows, "maxRows is too large; give at most "+strconv.Itoa(maxRows))
	}
	return n, err
}

// style is the amount of detail of a toponym.
type style uint8

const (
	styleShort style = iota
	styleMedium
	styleLong
	styleFull
)

// style reads the parameter style. An unknown value means the usual style.
func (p params) style() style {
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

// language returns the language of names, or "" for the places' own.
func (p params) language(absent string) string {
	v := p.text("lang")
	switch {
	case v == "":
		return absent
	case strings.EqualFold(v, "local") || len(v) > endpoint.MaxLanguageBytes:
		return ""
	}
	return v
}

// minPopulation reads the parameter cities, such as cities1000.
func (p params) minPopulation() (int64, error) {
	v := strings.ToLower(p.text("cities"))
	if v == "" {
		return 0, nil
	}
	n, ok := endpoint.ParseWhole(strings.TrimPrefix(v, "cities"))
	if !ok || n < 0 || !strings.HasPrefix(v, "cities") {
		return 0, refuse(badParameter, "invalid cities; give one such as cities1000")
	}
	return int64(n), nil
}

// clip shortens a text that is repeated in a message.
func clip(s string, n int) string { return s[:min(len(s), n)] }

// object writes JSON objects: it adds the commas and omits unknown values.
type object struct{ b []byte }

func (o *object) open()  { o.b = append(o.b, '{') }
func (o *object) close() { o.b = append(o.b, '}') }

// name writes the name of a member.
func (o *object) name(name string) {
	o.b = append(append(append(jsontext.Next(o.b), '"'), name...), '"', ':')
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

// isJSON reports whether the path of a request selects JSON.
func isJSON(c echo.Context) bool { return strings.HasSuffix(c.Path(), "JSON") }

// refusing returns the function that answers refused requests. text is set if the endpoint answers
// with plain text unless type is given.
func (s *Handlers) refusing(text bool) func(c echo.Context, err error) {
	return func(c echo.Context, err error) { s.refuse(c, text, err) }
}

// refuse answers like GeoNames, with an error in the body of a 200.
func (s *Handlers) refuse(c echo.Context, text bool, err error) {
	r := c.Request()
	g := &request{params: readParams(r)}
	a := web.Answer{Format: formGeoNames, CacheControl: web.NoStore, Coding: web.AcceptedCoding(r)}
	switch {
	case errors.Is(err, web.ErrKeyMissing), errors.Is(err, web.ErrKeyUnknown):
		err = &refusal{value: 10, message: "user does not exist: send the key of this server as username."}
	case errors.Is(err, web.ErrRateLimited):
		own := &refusal{value: 19, message: cmp.Or(endpoint.DetailOf(err), "the limit of requests is used up")}
		if strings.Contains(own.message, "per day") {
			own.value = 18
		}
		err = own
	}
	callback, ferr := g.formOf(&a, text, isJSON(c))
	if ferr != nil {
		callback = ""
	}
	_ = s.fail(c, g, a, callback, err)
}

// formGeoNames is JSON with GeoNames' media type.
var formGeoNames = web.NewFormat(web.Media{Name: "geonames", Type: "application/json;charset=UTF-8"})
