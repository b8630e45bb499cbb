// Package timezone writes local times and zones in the form that several packages share.
package timezone

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask/localtime"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/zones"
)

// Kinds are the problems of requests for local time.
var Kinds = []web.ProblemKind{
	{Err: localtime.ErrUnknown, Status: http.StatusNotFound, Type: "timezone-unknown", Title: "The time zone is not known",
		Detail: "There is no time zone on record here, so its offset is not known."},
	{Err: zones.ErrNotFound, Status: http.StatusNotFound, Type: "timezone-unknown", Title: "The time zone is not known",
		Detail: "The published time zones do not have the one on record here; ask the operator to ingest them again."},
	{Err: zones.ErrTimeRange, Status: http.StatusBadRequest, Type: "bad-parameter", Title: "A parameter is not valid",
		Detail: "Give a time from 1900 to 2100."},
}

// SendOffset answers with the local time at the instant of the parameter at, or now. of writes the
// beginning of the answer with the place, and returns the time zone. generation is the generation
// of its data. With at= the answer depends only on the data and may be cached; otherwise it must
// not be cached.
func SendOffset(s *web.Kit, c echo.Context, q *endpoint.Params, v *localtime.View, generation uint64,
	of func(ctx context.Context, dst []byte) ([]byte, string, error)) error {
	at := endpoint.At.Of(q)
	fixed := !at.IsZero()
	switch {
	case endpoint.At.Given(q) && !fixed:
		q.Refuse("at", "Set at to a time such as 2026-07-01T12:00:00Z, or leave it out for now.")
	case !fixed:
		at = q.View().At
	}
	if q.Err != nil {
		return q.Err
	}
	if _, err := v.TimeZones.Get(); err != nil {
		return err
	}
	var from []uint64
	if fixed {
		from = []uint64{generation, v.TimeZones.ID, v.Airports.ID}
	}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, from, func(ctx context.Context, out *web.Scratch) error {
		body, zone, err := of(ctx, out.Body)
		if err != nil {
			return err
		}
		o, err := v.Offset(ctx, zone, at)
		if err != nil {
			return err
		}
		body = jsontext.AppendString(append(body, `,"timezone":`...), zone)
		body = at.AppendFormat(append(body, `,"at":"`...), time.RFC3339Nano)
		out.Body = append(AppendOffsetMembers(append(body, `",`...), at, o), '}')
		return nil
	})
}

// AppendOffsetMembers writes the members of an offset: hours and minutes, the same in seconds, whether
// daylight saving time is in force, the abbreviation, the time since which the offset applies, and
// the local time.
func AppendOffsetMembers(dst []byte, at time.Time, o zones.Offset) []byte {
	dst = zones.AppendOffset(append(dst, `"offset":"`...), o.Seconds)
	dst = strconv.AppendInt(append(dst, `","offset_s":`...), int64(o.Seconds), 10)
	dst = strconv.AppendBool(append(dst, `,"dst":`...), o.DST)
	dst = jsontext.AppendString(append(dst, `,"abbreviation":`...), o.Abbreviation)
	if !o.Since.IsZero() {
		dst = o.Since.AppendFormat(append(dst, `,"since":"`...), time.RFC3339)
		dst = append(dst, '"')
	}
	dst = zones.AppendLocal(append(dst, `,"local_time":"`...), at, o)
	return append(dst, '"')
}

// AppendZone writes a zone as an object, with the local time at an instant.
func AppendZone(dst []byte, z *localtime.LocalZone, at time.Time) []byte {
	dst = jsontext.AppendString(append(dst, `{"id":`...), z.ID)
	if z.Known {
		dst = zones.AppendOffset(append(dst, `,"offset":"`...), z.Offset.Seconds)
		dst = strconv.AppendInt(append(dst, `","offset_s":`...), int64(z.Offset.Seconds), 10)
		dst = strconv.AppendBool(append(dst, `,"dst":`...), z.Offset.DST)
		dst = jsontext.AppendString(append(dst, `,"abbreviation":`...), z.Offset.Abbreviation)
		dst = zones.AppendLocal(append(dst, `,"local_time":"`...), at, z.Offset)
		dst = append(dst, '"')
	}
	dst = jsontext.AppendString(append(dst, `,"source":`...), z.Source)
	dst = jsontext.AppendString(append(dst, `,"match":`...), z.Match)
	switch {
	case z.Nautical:
		dst = append(dst, `,"nautical":true`...)
	case z.Match == localtime.MatchNearest:
		dst = feature.AppendDistance(append(dst, ','), z.DistanceM)
	}
	if len(z.OtherZones) > 0 {
		dst = append(dst, `,"also":[`...)
		for _, id := range z.OtherZones {
			dst = jsontext.AppendString(jsontext.Next(dst), id)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}
