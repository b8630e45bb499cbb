package enrich

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"quadrille/ask"
	"quadrille/ask/localtime"
	"quadrille/internal/instant"
	"quadrille/places/zones"
	"quadrille/tiles"
)

// zoneSource makes the columns of time zones.
type zoneSource struct {
	view ask.View
	join *tiles.PointJoin // nil without regions
	// zones is the index of the type of time zones in the join, or -1.
	zones int
	times []string // the column of times, if any
	rules bool     // the rules of zones are published
}

// ReasonNoTime is the reason of a cell that is not a time, and ReasonNoOffset that of a zone without rules.
const (
	ReasonNoTime   = "not a time from 1900 to 2100, such as 2026-01-31T12:00:00Z or 2026-01-31"
	ReasonNoOffset = "the offset of the time zone is not known"
)

// TimeZone returns a Source of the columns timezone, the IANA name of the zone at a point as package localtime finds
// it, and utc_offset, such as +01:00, or with seconds as in -00:01:15, the mean time of London before it had a
// standard time. The offset is that at the time in a column of the table, in RFC 3339 or a date in UTC, or at the instant of
// the view if column is "". It is empty where it is not known, as Plan.Notes says if the rules of zones are not published.
// With a column that is an error.
func TimeZone(v ask.View, column string) (Source, error) {
	s := &zoneSource{view: v, zones: -1}
	var err error
	if _, s.rules, err = v.TimeZones.GetIfPublished(); err != nil {
		return nil, err
	}
	if column != "" {
		s.times = []string{column}
		if _, err := v.TimeZones.Get(); err != nil {
			return nil, err
		}
	}
	_, published, err := v.Boundaries.GetIfPublished()
	if err != nil {
		return nil, err
	}
	var types []string
	for _, t := range v.Boundaries.Types() {
		if t.Name == localtime.TimeZoneType || t.Name == localtime.CountryType {
			types = append(types, t.Name)
		}
	}
	if published && len(types) > 0 {
		if s.join, err = pointJoin(&v.Boundaries, types); err != nil {
			return nil, err
		}
		for k, name := range s.join.Types() {
			if name == localtime.TimeZoneType {
				s.zones = k
			}
		}
		return s, nil
	}
	if _, published, err = v.Places.GetIfPublished(); err == nil && !published {
		_, err = v.Airports.Get() // without any of the three there is no answer
	}
	return s, err
}

func (s *zoneSource) Inputs() []string { return s.times }

func (s *zoneSource) notes() []string {
	if s.rules {
		return nil
	}
	return []string{"the data set " + ask.TimeZonesName + " is not published, so utc_offset is empty on land: publish it by ingest timezones"}
}

func (s *zoneSource) Columns() []Column { return []Column{{Name: "timezone"}, {Name: "utc_offset"}} }

// zoneText is the cells of an answer.
type zoneText struct {
	zone, offset string
	fixed        bool // the offset is the same at any time
}

func (s *zoneSource) filler() fill {
	f := &zoneFiller{zoneSource: s, local: localtime.ViewOf(s.view), known: map[int32]zoneText{}}
	if s.join != nil {
		f.found = newFound(s.join)
	}
	return f.fill
}

// zoneFiller belongs to one goroutine.
type zoneFiller struct {
	*zoneSource
	found   found
	local   localtime.View
	regions []tiles.Region
	// known has the zones of answers of the type of time zones that alone decide. All other zones depend on what
	// is near the point.
	known map[int32]zoneText
}

func (f *zoneFiller) fill(ctx context.Context, c *Chunk, out []Cells) error {
	if f.join != nil {
		if err := f.found.find(ctx, c.Points); err != nil {
			return err
		}
	}
	for i, p := range c.Points {
		if c.isFull(out) {
			break
		}
		if !p.Valid() {
			addEmpty(out)
			continue
		}
		answer := int32(0)
		if f.zones >= 0 {
			answer = f.found.answers[f.zones][i]
		}
		t, ok := f.known[answer]
		if !ok {
			f.regions = f.regions[:0]
			for k := range f.found.answers {
				f.regions = append(f.regions, f.join.Regions(k, f.found.answers[k][i])...)
			}
			z, err := f.local.ZoneAt(ctx, p.Lat, p.Lon, localtime.ZoneReachM, f.view.At, f.regions)
			if err != nil {
				return err
			}
			t = zoneText{zone: z.ID, fixed: z.Source == localtime.SourceSea}
			if z.Known {
				t.offset = offsetText(z.Offset.Seconds)
			}
			if z.Match == localtime.MatchInside && answer > 0 {
				f.known[answer] = t
			}
		}
		if len(f.times) > 0 {
			var err error
			if t.offset, err = f.offset(ctx, c, i, t); err != nil {
				return err
			}
		}
		if len(f.times) == 0 && t.zone != "" && t.offset == "" {
			noOffset(c, i, t.zone)
		}
		out[0].Add(t.zone)
		out[1].Add(t.offset)
	}
	return nil
}

// offset returns the offset of the zone at the time of a row, and "" if it is not known.
func (f *zoneFiller) offset(ctx context.Context, c *Chunk, row int, t zoneText) (string, error) {
	text := bytes.TrimSpace(c.Inputs[0].At(row))
	if len(text) == 0 || t.zone == "" {
		return "", nil
	}
	at, ok := instant.Parse(text)
	if ok && t.fixed {
		return t.offset, nil
	}
	reader, published, err := f.view.TimeZones.GetIfPublished()
	if ok && published {
		var offset zones.Offset
		if offset, err = reader.Offset(ctx, t.zone, at); err == nil {
			return offsetText(offset.Seconds), nil
		}
	}
	switch {
	case !ok || errors.Is(err, zones.ErrTimeRange):
		if c.Bad != nil {
			c.Bad(row, ReasonNoTime, string(text))
		}
		return "", nil
	case errors.Is(err, zones.ErrNotFound):
		noOffset(c, row, t.zone)
		return "", nil
	}
	return "", err
}

func noOffset(c *Chunk, row int, zone string) {
	if c.Bad != nil {
		c.Bad(row, ReasonNoOffset, zone)
	}
}

// offsetText returns an offset in seconds as ISO 8601 has it, with the seconds only if there are any, as before
// standard time. Rounded, it would be the offset of another zone.
func offsetText(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	text := fmt.Sprintf("%c%02d:%02d", sign, seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		text += fmt.Sprintf(":%02d", seconds%60)
	}
	return text
}
