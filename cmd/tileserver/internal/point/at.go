// Package point serves everything about one point: regions, local time and the nearest place,
// airport and weather station.
package point

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask/localtime"
	"quadrille/ask/pointinfo"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/timezone"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Handlers has the handlers of /at.
type Handlers struct {
	*web.Kit
	batch web.BatchLimits
}

// New returns the handlers. batch has the limits for requests with many questions.
func New(k *web.Kit, batch web.BatchLimits) *Handlers {
	return &Handlers{Kit: k, batch: batch}
}

// read returns the question about a point. fixed reports whether the request gives the instant.
func read(q *endpoint.Params) (p pointinfo.Query, fixed bool) {
	p.Lat, p.Lon = endpoint.Position(q)
	p.Types = listing.Types.Of(q)
	p.Lang = endpoint.Lang.Of(q)
	p.At = endpoint.At.Of(q)
	if fixed = !p.At.IsZero(); !fixed {
		p.At = q.View().At
	}
	return p, fixed
}

// postAt answers POST /at, with a point in each line of the body.
func (s *Handlers) postAt(c echo.Context, q *endpoint.Params) error {
	// Each goroutine uses a separate view, because a view caches the last result.
	views := sync.Pool{New: func() any { own := localtime.ViewOf(q.View()); return &own }}
	return s.AnswerLines(c, q, &web.Questions{
		BatchLimits: s.batch, AllowPoints: true, Check: func(q *endpoint.Params) { read(q) },
		Answer: func(ctx context.Context, q *endpoint.Params, dst []byte) ([]byte, error) {
			own := views.Get().(*localtime.View)
			defer views.Put(own)
			p, _ := read(q)
			if q.Err != nil {
				return dst, q.Err
			}
			return answer(ctx, own, &p, dst)
		},
	})
}

// getAt answers GET /at?lat=&lon= with everything about a point in one call: the regions that
// contain it, its time zone and local time, and the nearest place, airport and weather station,
// each with the kind of match. A data set that is not published is omitted and listed in "missing";
// an unknown time zone is omitted.
//
// The answer is about an instant. With at= the answer depends on nothing else and may be cached.
// Otherwise the instant is now, and the answer must not be cached.
func (s *Handlers) getAt(c echo.Context, q *endpoint.Params) error {
	v := localtime.ViewOf(q.View())
	p, fixed := read(q)
	if q.Err != nil {
		return q.Err
	}
	var from []uint64
	if fixed {
		from = v.WithAreas(v.GenerationIDs(), p.Types...)
	}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, from, func(ctx context.Context, out *web.Scratch) (err error) {
		out.Body, err = answer(ctx, &v, &p, out.Body)
		return err
	})
}

// answers has memory that is reused.
var answers = sync.Pool{New: func() any { return new(pointinfo.Answer) }}

// answer appends the answer about a point.
func answer(ctx context.Context, v *localtime.View, q *pointinfo.Query, dst []byte) ([]byte, error) {
	a := answers.Get().(*pointinfo.Answer)
	defer answers.Put(a)
	err := a.Ask(ctx, v, *q)
	if errors.Is(err, tiles.ErrUnknownType) {
		if g, failed := v.Ground(); failed == nil {
			err = cmp.Or(problems.CheckTypes(g, "types", q.Types...), err) // with words for the client
		}
	}
	if err != nil {
		return dst, err
	}
	return appendAnswer(dst, q, a), nil
}

func appendAnswer(dst []byte, q *pointinfo.Query, a *pointinfo.Answer) []byte {
	dst = feature.AppendLatLon(append(dst, '{'), quadkey.Position{Lat: q.Lat, Lon: q.Lon})
	dst = a.Cell.Tile().AppendQuadkey(append(dst, `,"quadkey":"`...))
	dst = q.At.AppendFormat(append(dst, `","at":"`...), time.RFC3339)
	dst = append(dst, '"')
	if !a.LacksRegions() {
		dst = append(dst, `,"regions":[`...)
		for i := range a.Regions {
			dst = append(listing.AppendRegion(jsontext.Next(dst), &a.Regions[i]), `,"match":"`+localtime.MatchInside+`"}`...)
		}
		dst = append(dst, ']')
	}
	if a.Zone.ID != "" {
		dst = timezone.AppendZone(append(dst, `,"timezone":`...), &a.Zone, q.At)
	}
	if a.Place != nil {
		dst = places.AppendNamed(append(dst, `,"place":{`...), a.Place.JSON, a.PlaceName)
		dst = endNearest(dst, a.Place.DistanceM)
	}
	if a.Airport != nil {
		dst = append(append(dst, `,"airport":{`...), a.Airport.JSON...)
		dst = endNearest(dst, a.Airport.DistanceM)
	}
	if a.Station != nil {
		dst = append(append(dst, `,"station":{`...), a.Station.JSON...)
		dst = endNearest(dst, a.Station.DistanceM)
	}
	if len(a.Missing) > 0 {
		dst = append(dst, `,"missing":[`...)
		for _, name := range a.Missing {
			dst = jsontext.AppendString(jsontext.Next(dst), name)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// endNearest closes an object that is the nearest to the point.
func endNearest(dst []byte, metres float64) []byte {
	return append(feature.AppendDistance(append(dst, ','), metres), `,"match":"`+localtime.MatchNearest+`"}`...)
}
