package httpapi

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore"
	"quadrille/internal/jsontext"
	"quadrille/places/zones"
)

// clock is the instant of a request that names none.
func (s *server) clock() time.Time { return s.now().UTC().Truncate(time.Second) }

// getPlaceOffset answers GET /places/{id}/offset?at=: what clocks at a place
// show at an instant.
func (s *server) getPlaceOffset(c echo.Context) error {
	if runsOn(c) {
		return errNoRoute
	}
	values, err := pathParams(c)
	if err != nil {
		return err
	}
	id, err := strconv.ParseUint(values[0], 10, 32)
	if err != nil {
		return refuse(errParameter, "id", "Give a GeoNames id, a whole number such as 2988507.")
	}
	v := s.pinZoned()
	defer v.release()
	return s.sendOffset(c, &v, v.places.id, func(ctx context.Context, dst []byte) ([]byte, string, error) {
		finder, err := v.places.get()
		if err != nil {
			return dst, "", err
		}
		record, err := finder.Place(ctx, uint32(id))
		if err != nil {
			return dst, "", err
		}
		doc, err := readPlace(record)
		if err != nil {
			return dst, "", err
		}
		dst = strconv.AppendUint(append(dst, `{"id":`...), id, 10)
		if doc.TimeZone == "" {
			var source string
			if doc.TimeZone, source, err = v.zoneOf(ctx, &doc); err != nil {
				return dst, "", err
			}
			dst = jsontext.AppendString(append(dst, `,"timezone_source":`...), source)
		}
		return dst, doc.TimeZone, nil
	})
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
func (s *server) sendOffset(c echo.Context, v *zoned, generation uint64, of func(ctx context.Context, dst []byte) ([]byte, string, error)) error {
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
