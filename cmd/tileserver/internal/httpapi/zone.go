package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/internal/jsontext"
	"quadrille/places/zones"
)

var errNoTimeZone = errors.New("time zone is not known")

var localTimeKinds = []kind{
	{err: errNoTimeZone, status: http.StatusNotFound, typ: "timezone-unknown", title: "The time zone is not known",
		detail: "There is no time zone on record here, so no offset can be told."},
	{err: zones.ErrNotFound, status: http.StatusNotFound, typ: "timezone-unknown", title: "The time zone is not known",
		detail: "The published time zones do not have the one on record here; ask the operator to ingest them again."},
	{err: zones.ErrRange, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Give a time from 1900 to 2100."},
}

// zoneOf returns the zone of a place whose record has none, and how it was found:
// that of its country where it has only one, else that of the nearest airport,
// in its country if that is known. Not every gazetteer tells zones.
func (v *zoned) zoneOf(ctx context.Context, doc *placeDoc) (zone, source string, err error) {
	if zone, err = countryZone(ctx, &v.timeZones, doc.Country); zone != "" || err != nil {
		return zone, "country", err
	}
	lat, err := doc.Lat.Float64()
	if err != nil {
		return "", "", fmt.Errorf("%w: the record of a place has no latitude: ingest the places again", cellstore.ErrCorrupt)
	}
	lon, err := doc.Lon.Float64()
	if err != nil {
		return "", "", fmt.Errorf("%w: the record of a place has no longitude: ingest the places again", cellstore.ErrCorrupt)
	}
	reach := float64(zoneReach)
	if doc.Country != "" {
		reach = anywhere
	}
	zone, _, err = zoneOfAirports(ctx, &v.airports, lat, lon, reach, doc.Country)
	return zone, matchNearest, err
}

// sendOffset answers what clocks show at the instant of the parameter at, or
// now. of writes the begin of the answer, which says where, and gives the time
// zone; generation is that of what it reads.
//
// With at= the answer depends on nothing else and may be kept; without, it must
// not be.
func sendOffset(s *kit, c echo.Context, v *zoned, generation uint64, of func(ctx context.Context, dst []byte) ([]byte, string, error)) error {
	r := c.Request()
	q := queryParams(r)
	at, fixed := q.instant("at")
	switch {
	case q.has("at") && !fixed:
		q.refuse("at", "Set at to a time such as 2026-07-01T12:00:00Z, or leave it out for now.")
	case !fixed:
		at = s.clock()
	}
	if q.err != nil {
		return q.err
	}
	if _, err := v.timeZones.get(); err != nil {
		return err
	}
	var from []uint64
	if fixed {
		from = []uint64{generation, v.timeZones.id, v.airports.id}
	}
	return s.reply(c, answer{form: formJSON}, from, func(ctx context.Context, out *scratch) error {
		body, zone, err := of(ctx, out.body)
		if err != nil {
			return err
		}
		o, err := v.offset(ctx, zone, at)
		if err != nil {
			return err
		}
		body = jsontext.AppendString(append(body, `,"timezone":`...), zone)
		body = at.AppendFormat(append(body, `,"at":"`...), time.RFC3339Nano)
		out.body = append(appendClock(append(body, `",`...), at, o), '}')
		return nil
	})
}

// appendClock writes the members of an offset: hours and minutes, the same in
// seconds, whether daylight saving time is in force, the abbreviation, since
// when it is so, and the local time.
func appendClock(dst []byte, at time.Time, o zones.Offset) []byte {
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

// zoned is what a request for local time sees.
type zoned struct {
	places    pinned[Places]
	airports  pinned[Airports]
	timeZones pinned[TimeZones]
}

// pinZoned takes a generation of each. Whoever calls it releases them.
func pinZoned(p *dataset.Live[Places], a *dataset.Live[Airports], z *dataset.Live[TimeZones]) zoned {
	return zoned{pin(p), pin(a), pin(z)}
}

func (v *zoned) release() {
	v.places.release()
	v.airports.release()
	v.timeZones.release()
}

// offset reads what clocks in a zone show.
func (v *zoned) offset(ctx context.Context, zone string, at time.Time) (zones.Offset, error) {
	if zone == "" {
		return zones.Offset{}, errNoTimeZone
	}
	r, err := v.timeZones.get()
	if err != nil {
		return zones.Offset{}, err
	}
	return r.Offset(ctx, zone, at)
}
