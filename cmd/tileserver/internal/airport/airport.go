// Package airport serves the endpoints for airports: by code, near a point and within a box.
package airport

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/ask/localtime"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/timezone"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places/airports"
)

// Handlers has the handlers of airports: by code, near a point and within an area.
type Handlers struct {
	*web.Kit
}

// New returns the handlers.
func New(k *web.Kit) *Handlers { return &Handlers{k} }

// Kinds are the problems that codes of airports have.
var Kinds = []web.ProblemKind{
	{Err: airports.ErrBadCode, Status: http.StatusBadRequest, Type: "bad-parameter", Title: "A parameter is not valid",
		Detail: "Give the code of an airport: 1 to 16 letters, digits and hyphens, such as ZRH or LSZH."},
}

// airportRecords has memory that is reused for the record of one answer.
var airportRecords = sync.Pool{New: func() any { return new(airports.Record) }}

// getAirport answers GET /airports/{code}: the record of the airport with an IATA, ICAO or local
// code. With local=true the answer has the airport's current local time, and may not be cached.
// /airports/{code}/offset?at= gives the local time at any instant.
func (s *Handlers) getAirport(c echo.Context, q *endpoint.Params) error {
	code, err := pathCode(c)
	if err != nil {
		return err
	}
	local := localParam.Of(q)
	if q.Err != nil {
		return q.Err
	}
	v := localtime.ViewOf(q.View())
	finder, err := v.Airports.Get()
	if err != nil {
		return err
	}
	from := []uint64{v.Airports.ID}
	if local {
		from = nil
	}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, from, func(ctx context.Context, out *web.Scratch) error {
		record := airportRecords.Get().(*airports.Record)
		defer airportRecords.Put(record)
		if err := finder.Lookup(ctx, code, record); err != nil {
			return badCode(err)
		}
		out.Body = append(out.Body, record.JSON...)
		if local {
			at := q.View().At
			o, err := v.Offset(ctx, record.TimeZone, at)
			if err != nil {
				return err
			}
			out.Body = append(out.Body[:len(out.Body)-1], ',') // the record is an object
			out.Body = append(timezone.AppendOffsetMembers(out.Body, at, o), '}')
		}
		return nil
	})
}

// pathCode returns the first parameter of the path, the code of an airport. Package airports checks
// that it can be a code.
func pathCode(c echo.Context) (string, error) {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return "", err
	}
	return values[0], nil
}

// badCode returns the error about a bad code with the name of the parameter, and any other error
// unchanged.
func badCode(err error) error {
	if errors.Is(err, airports.ErrBadCode) {
		return endpoint.Refuse(endpoint.ErrParameter, "code",
			"Give the code of an airport: 1 to 16 letters, digits and hyphens, such as ZRH or LSZH.")
	}
	return err
}

// airportTypes are the values of the parameter type. The last word of a two-word type may be left
// out.
var airportTypes = func() map[string]string {
	m := map[string]string{}
	for _, t := range airports.Types() {
		m[t] = t
		short, _, _ := strings.Cut(t, "_")
		m[short] = t
	}
	return m
}()

// shortTypes returns the values of the parameter type that are not the names of types.
func shortTypes() (list []string) {
	for word, t := range airportTypes {
		if word != t {
			list = append(list, word)
		}
	}
	slices.Sort(list)
	return list
}

// readTypes reads a list of types.
func readTypes(p *endpoint.Params, name string) (types []string) {
	for _, word := range p.List(name, len(airportTypes)) {
		t, ok := airportTypes[word]
		if !ok {
			p.Refuse(name, "Set type to one of these, or to several with commas between them: "+strings.Join(airports.Types(), ", ")+".")
			return nil
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types
}

// getAirportOffset answers GET /airports/{code}/offset?at= with the local time at an airport at an
// instant.
func (s *Handlers) getAirportOffset(c echo.Context, q *endpoint.Params) error {
	code, err := pathCode(c)
	if err != nil {
		return err
	}
	v := localtime.ViewOf(q.View())
	return timezone.SendOffset(s.Kit, c, q, &v, v.Airports.ID, func(ctx context.Context, dst []byte) ([]byte, string, error) {
		finder, err := v.Airports.Get()
		if err != nil {
			return dst, "", err
		}
		record := airportRecords.Get().(*airports.Record)
		defer airportRecords.Put(record)
		if err := finder.Lookup(ctx, code, record); err != nil {
			return dst, "", badCode(err)
		}
		dst = jsontext.AppendString(append(dst, `{"code":`...), strings.ToUpper(code))
		return jsontext.AppendText(dst, "timezone_source", record.TimeZoneSource), record.TimeZone, nil
	})
}
