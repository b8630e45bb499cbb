package enrich

import (
	"bytes"
	"context"
	"errors"

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
}

// ReasonNoTime is the reason of a cell that is not a time.
const ReasonNoTime = "not a time from 1900 to 2100, such as 2026-01-31T12:00:00Z or 2026-01-31"

// TimeZone returns a Source of the columns timezone, the IANA name of the zone at a point as package localtime finds
// it, and utc_offset, such as +01:00. The offset is that at the time in a column of the table, in RFC 3339 or a date in
// UTC, or at the instant of the view if column is "". It is empty where it is not known.
func TimeZone(v ask.View, column string) (Source, error) {
	s := &zoneSource{view: v, zones: -1}
	if column != "" {
		s.times = []string{column}
		if _, err := v.TimeZones.Get(); err != nil { // the rules of zones
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
				t.offset = z.Local(f.view.At).Format("-07:00")
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
			return (&localtime.LocalZone{Offset: offset}).Local(at).Format("-07:00"), nil
		}
	}
	switch {
	case !ok || errors.Is(err, zones.ErrTimeRange):
		if c.Bad != nil {
			c.Bad(row, ReasonNoTime, string(text))
		}
		return "", nil
	case errors.Is(err, zones.ErrNotFound):
		return "", nil
	}
	return "", err
}
