package geonames

import (
	"context"
	"errors"
	"strings"
	"time"

	"quadrille/ask/localtime"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/sun"
	"quadrille/internal/jsontext"
	"quadrille/places/zones"
	"quadrille/tiles"
)

// maxDates is the number of days for which one answer gives the sunrise.
const maxDates = 31

// minuteForm is GeoNames' format of times.
const minuteForm = "2006-01-02 15:04"

// timezone answers /timezoneJSON: the time zone of a point, its offsets in hours and the times of
// the sun today, or on the days of date as well. At sea there is no timezoneId, and the offsets are
// those of nautical time.
func (g *request) timezone(ctx context.Context) error {
	lat, lng, radius, err := g.params.around(-1)
	if err != nil {
		return err
	}
	dates, err := g.dates()
	if err != nil {
		return err
	}
	country, err := g.countryAt(ctx, lat, lng, max(radius, 0)*1000)
	if err != nil {
		return err
	}
	reach := float64(localtime.ZoneReachM)
	if radius >= 0 && country.Code == "" {
		reach = radius * 1000
	}
	z, err := g.zoneAt(ctx, lat, lng, reach, country.Code)
	if err != nil {
		return err
	}
	if z.ID == "" {
		return g.nothing("no timezone information found for lat/lng")
	}
	jan, jul, raw := z.Offset.Seconds, z.Offset.Seconds, z.Offset.Seconds
	if z.Source != localtime.SourceSea {
		var ok bool
		if jan, jul, raw, ok, err = g.yearOffsets(ctx, z.ID); err != nil {
			return err
		}
		if !ok || !z.Known {
			return g.withoutZones(&z)
		}
	}
	g.open()
	if country.Code != "" {
		if _, err := g.countryMembers(ctx, &country); err != nil {
			return err
		}
	}
	g.float("lat", lat)
	g.float("lng", lng)
	if !g.offshore(&z, country.Code) {
		g.text("timezoneId", z.ID)
	}
	g.hours("gmtOffset", jan)
	g.hours("dstOffset", jul)
	g.hours("rawOffset", raw)
	today := zones.Local(g.now, z.Offset)
	g.text("time", today.Format(minuteForm))
	g.sun(lat, lng, today, z.Offset.Seconds)
	if len(dates) > 0 {
		if err := g.days(ctx, lat, lng, dates, &z); err != nil {
			return err
		}
	}
	g.close()
	return nil
}

// zoneAt returns the zone of a point. If no region has one, it looks for one within
// reach metres. The country, if there is one, counts as a region that holds the point.
func (g *request) zoneAt(ctx context.Context, lat, lon, reach float64, country string) (z localtime.LocalZone, err error) {
	regions, err := g.timeZoneRegions(ctx, lat, lon)
	if err != nil {
		return z, err
	}
	if country != "" && localtime.CountryRegion(regions) == "" {
		regions = append(regions, tiles.Region{Type: localtime.CountryType, ID: strings.ToLower(country)})
	}
	return g.view.ZoneAt(ctx, lat, lon, reach, g.now, regions)
}

// offshore reports whether a zone is nautical: a zone by longitude, or a zone over the sea in a map
// of time zones.
func (g *request) offshore(z *localtime.LocalZone, country string) bool {
	if country != "" || z.Source != "region" {
		return z.Source == localtime.SourceSea
	}
	b, ok, _ := g.view.Boundaries.GetIfPublished() // the data set that the zone is from
	return strings.HasPrefix(z.ID, "Etc/") || z.Match == localtime.MatchDerived && ok && b.Has(localtime.CountryType)
}

// yearOffsets returns the offsets of a zone on 1 January and 1 July of this
// year, and its standard offset, in seconds. ok is false if they are unknown.
func (g *request) yearOffsets(ctx context.Context, zone string) (jan, jul, raw int, ok bool, err error) {
	r, ok, err := g.view.TimeZones.GetIfPublished()
	if !ok {
		return 0, 0, 0, false, err
	}
	jan, jul, raw, err = r.YearOffsets(ctx, zone, g.now.Year())
	if errors.Is(err, zones.ErrNotFound) || errors.Is(err, zones.ErrTimeRange) {
		return 0, 0, 0, false, nil
	}
	return jan, jul, raw, err == nil, err
}

// withoutZones returns the error for a zone whose offsets are not known.
func (g *request) withoutZones(z *localtime.LocalZone) error {
	if _, err := g.view.TimeZones.Get(); err != nil {
		return err
	}
	return refuse(noResult, "no offsets are known of the time zone "+z.ID)
}

// timeZoneRegions returns the regions that hold a point.
func (g *request) timeZoneRegions(ctx context.Context, lat, lon float64) ([]tiles.Region, error) {
	b, ok, err := g.view.Boundaries.GetIfPublished()
	if !ok {
		return nil, err
	}
	return b.At(ctx, lat, lon)
}

// days writes the member dates.
func (g *request) days(ctx context.Context, lat, lon float64, days []time.Time, z *localtime.LocalZone) error {
	g.name("dates")
	g.b = append(g.b, '[')
	for _, day := range days {
		g.b = jsontext.Next(g.b)
		if err := g.day(ctx, lat, lon, day, z); err != nil {
			return err
		}
	}
	g.b = append(g.b, ']')
	return nil
}

// day writes the offset and the times of the sun on a day.
func (g *request) day(ctx context.Context, lat, lon float64, day time.Time, z *localtime.LocalZone) error {
	offset := z.Offset
	if z.Source != localtime.SourceSea {
		r, err := g.view.TimeZones.Get()
		if err != nil {
			return err
		}
		// The offset is taken at noon in the zone, after a possible change of clocks on that day.
		if offset, err = r.Offset(ctx, z.ID, day.Add(12*time.Hour-time.Duration(offset.Seconds)*time.Second)); err != nil {
			return err
		}
	}
	g.open()
	g.text("date", day.Format(time.DateOnly))
	g.hours("offsetToGmt", offset.Seconds)
	g.sun(lat, lon, day, offset.Seconds)
	g.close()
	return nil
}

// sun writes sunrise and sunset. In polar day and night there are none.
func (g *request) sun(lat, lon float64, day time.Time, offset int) {
	rise, set, state := sun.Times(lat, lon, day, offset)
	if state != sun.RisesAndSets {
		return
	}
	ahead := time.Duration(offset) * time.Second
	g.text("sunrise", rise.UTC().Add(ahead).Format(minuteForm))
	g.text("sunset", set.UTC().Add(ahead).Format(minuteForm))
}

// dates reads date, a list of days.
func (g *request) dates() ([]time.Time, error) {
	var days []time.Time
	for _, v := range g.params.values["date"] {
		for _, text := range strings.Split(v, ",") {
			text = strings.TrimSpace(text)
			if text == "" {
				continue
			}
			day, err := time.Parse(time.DateOnly, text)
			if err != nil || day.Before(endpoint.FirstInstant) || !day.Before(endpoint.AfterInstant) {
				return nil, refuse(badParameter, "invalid date; give days of the years 1900 to 2100 such as 2026-07-01")
			}
			if days = append(days, day); len(days) > maxDates {
				return nil, refuse(badParameter, "too many dates; give at most 31")
			}
		}
	}
	return days, nil
}
