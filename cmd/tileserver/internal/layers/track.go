package layers

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
)

// These are limits of the stops on a page of a track.
const (
	defaultStops = 1000
	maxStops     = 10_000
)

// getTrack answers GET …/{id}/track with the past positions of a feature, oldest first. The layer
// must have a history.
func (l *list) getTrack(c echo.Context, p *endpoint.Params) error {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return err
	}
	id := values[len(values)-1]
	from, to := trackFromParam.Of(p), trackToParam.Of(p)
	if p.Err == nil && !from.IsZero() && !to.IsZero() && to.Before(from) {
		p.Refuse("to", "Set to to an instant that is not before from.")
	}
	limit := int(trackLimitParam.Of(p))
	form := trackForms[trackFormParam.Of(p)]
	q, err := l.begin(c, p, asking{})
	if err != nil {
		return err
	}
	tracker, ok := q.layer().Layer.Layer.(feature.Tracker)
	if !ok || !q.layer().LayerInfo.History {
		return endpoint.Refuse(ask.ErrNoLayer, "", "Only live collections with a history have tracks; ask for the point itself.")
	}
	return q.reply(web.Answer{Format: form.Format}, func(ctx context.Context, out *web.Scratch) error {
		stops, next, err := tracker.Track(ctx, id, from, to, limit)
		if err != nil {
			return err
		}
		if !next.IsZero() && form.append != nil {
			l.handlers.LinkNext(c, trackFromParam.Name, next.Format(time.RFC3339Nano), trackFormParam.Of(p))
		}
		if form.append != nil {
			out.Body = form.append(out.Body, id, stops)
			return nil
		}
		dst := append(jsontext.AppendString(append(out.Body, `{"id":`...), id), `,"track":[`...)
		for i := range stops {
			dst = appendStop(jsontext.Next(dst), &stops[i])
		}
		dst = append(dst, ']')
		if !next.IsZero() {
			dst = append(next.AppendFormat(append(dst, `,"next":"`...), time.RFC3339Nano), '"')
		}
		out.Body = append(dst, '}')
		return nil
	})
}

func appendStop(dst []byte, s *feature.Stop) []byte {
	dst = append(appendTime(append(dst, `{"time":"`...), s), '"')
	if s.Gone {
		return append(dst, `,"gone":true}`...)
	}
	return append(feature.AppendLatLon(append(dst, ','), s.Position), '}')
}

// trackForm is a form of tracks. JSON has no append, and the beginning of the next page in itself.
type trackForm struct {
	web.Format
	append func(dst []byte, id string, stops []feature.Stop) []byte
}

var formatGPX = web.NewFormat(web.Media{Name: "gpx", Type: "application/gpx+xml", NoSniff: true, Filename: "track.gpx"})

var trackForms = map[string]trackForm{
	"json":    {Format: web.FormatJSON},
	"geojson": {web.FormatGeoJSON, appendTrackLine},
	"csv":     {web.FormatCSV, appendTrackTable},
	"gpx":     {formatGPX, appendTrackGPX},
}

// TrackLine is a track as a Feature.
type TrackLine struct {
	_          struct{} `doc:"Where a point was: a line, or several where it was gone in between."`
	Type       string   `json:"type" schema:"const=Feature"`
	ID         string   `json:"id"`
	Properties struct {
		Times [][]time.Time `json:"coordTimes" doc:"A time for each position of each line."`
	} `json:"properties"`
	Geometry listing.MultiLineString `json:"geometry"`
}

// eachRun calls fn with the stops between those at which a feature was gone.
func eachRun(stops []feature.Stop, fn func([]feature.Stop)) {
	from := 0
	for i := range len(stops) + 1 {
		if i < len(stops) && !stops[i].Gone {
			continue
		}
		if i > from {
			fn(stops[from:i])
		}
		from = i + 1
	}
}

func appendTime(dst []byte, s *feature.Stop) []byte {
	return time.UnixMilli(s.Version).UTC().AppendFormat(dst, time.RFC3339Nano)
}

// appendTrackLine appends a Feature: a line, or several where the feature was gone in between. The
// property coordTimes has a time for each position, in the same nesting, as other programs write it. A
// run of one stop is a line of two equal positions, since a line has two.
func appendTrackLine(dst []byte, id string, stops []feature.Stop) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":"Feature","id":`...), id)
	var times, lines []byte
	eachRun(stops, func(run []feature.Stop) {
		if len(run) == 1 {
			run = []feature.Stop{run[0], run[0]}
		}
		times, lines = append(jsontext.Next(times), '['), append(jsontext.Next(lines), '[')
		for i := range run {
			times = append(appendTime(append(jsontext.Next(times), '"'), &run[i]), '"')
			lines = append(jsontext.Next(lines), '[')
			lines = append(strconv.AppendFloat(lines, run[i].Lon, 'f', -1, 64), ',')
			lines = append(strconv.AppendFloat(lines, run[i].Lat, 'f', -1, 64), ']')
		}
		times, lines = append(times, ']'), append(lines, ']')
	})
	dst = append(append(dst, `,"properties":{"coordTimes":[`...), times...)
	dst = append(append(dst, `]},"geometry":{"type":"MultiLineString","coordinates":[`...), lines...)
	return append(dst, "]}}"...)
}

// appendTrackTable appends a table with a row for each stop. Positions are empty where the feature was
// gone.
func appendTrackTable(dst []byte, _ string, stops []feature.Stop) []byte {
	dst = append(dst, "time,lat,lon\r\n"...)
	for i := range stops {
		s := &stops[i]
		dst = append(appendTime(dst, s), ',')
		if !s.Gone {
			dst = append(strconv.AppendFloat(dst, s.Lat, 'f', -1, 64), ',')
			dst = strconv.AppendFloat(dst, s.Lon, 'f', -1, 64)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// appendTrackGPX appends GPX 1.1 with one track, in segments where the feature was gone in between.
func appendTrackGPX(dst []byte, id string, stops []feature.Stop) []byte {
	dst = append(dst, xml.Header+`<gpx version="1.1" creator="Quadrille" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>`...)
	dst = append(dst, escapeXML(id)...)
	dst = append(dst, "</name>"...)
	eachRun(stops, func(run []feature.Stop) {
		dst = append(dst, "\n<trkseg>"...)
		for i := range run {
			dst = strconv.AppendFloat(append(dst, "\n<trkpt lat=\""...), run[i].Lat, 'f', -1, 64)
			dst = strconv.AppendFloat(append(dst, "\" lon=\""...), run[i].Lon, 'f', -1, 64)
			dst = append(appendTime(append(dst, "\"><time>"...), &run[i]), "</time></trkpt>"...)
		}
		dst = append(dst, "\n</trkseg>"...)
	})
	return append(dst, "</trk></gpx>\n"...)
}

// escapeXML returns a text for the content of an element.
func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}
