package nominatim

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/ask/geocoder"
	"quadrille/internal/jsontext"
	"quadrille/places/names"
	"quadrille/quadkey"
)

// zoomRanks gives the finest address rank of results for each zoom. Zooms 3 and 4 give countries, 5
// to 7 states, 8 and 9 counties, and higher zooms cities, towns and villages.
var zoomRanks = [...]int{4, 4, 4, 4, 4, 8, 10, 10, 12, 12, 17, 17, 18, 19, 22, 25, 26, 27, 30}

// reverse answers /reverse with the place at a point.
func (q *request) reverse(ctx context.Context) error {
	lat, err := q.number("lat")
	if err != nil {
		return err
	}
	lon, err := q.number("lon")
	if err != nil {
		return err
	}
	zoom, err := q.integer("zoom", len(zoomRanks)-1)
	if err != nil {
		return err
	}
	layers, err := q.layers()
	if err != nil {
		return err
	}
	q.text = "lat=" + number(lat) + "&lon=" + number(lon) + "&format=xml"
	if q.get("zoom") != "" {
		q.text += "&zoom=" + strconv.Itoa(zoom)
	}
	if !(quadkey.Position{Lat: lat, Lon: lon}).Valid() || len(layers) > 0 && !slices.Contains(layers, "address") {
		return nil // nothing is there
	}
	r, ok, err := q.at(ctx, lat, lon, zoomRanks[min(max(zoom, 0), len(zoomRanks)-1)])
	if err != nil || !ok {
		return err
	}
	e := newEntry(&r)
	if err := q.complete(ctx, &e); err != nil {
		return err
	}
	q.found = append(q.found, e)
	return nil
}

// nearest is the number of places that are examined to find one whose rank is not too fine.
const nearest = 30

// at returns the best result at a point, not finer than a rank.
func (q *request) at(ctx context.Context, lat, lon float64, most int) (best geocoder.Result, ok bool, err error) {
	query := geocoder.ReverseQuery{Lat: lat, Lon: lon, Langs: q.langs, Kinds: []names.Kind{geocoder.Place, names.Region}}
	if most < geocoder.RankLocality {
		query.Limit = nearest
	}
	found, err := q.Reverse(ctx, query)
	if err != nil {
		return best, false, err
	}
	bestRank := 0
	for i := range found {
		r := &found[i]
		e := newEntry(r)
		rank := e.rank
		if r.Kind == names.Region && rank >= geocoder.RankLocality && rank <= most {
			rank = geocoder.RankCountry + 1 // a lake or park says less than the county around it
		}
		if !r.AcrossBorder && rank <= most && rank > bestRank && (best.Kind != geocoder.Place || r.Kind != geocoder.Place) {
			best, bestRank, ok = *r, rank, true
		}
	}
	if !ok || best.Kind == geocoder.Place {
		return best, ok, nil
	}
	// A reverse query finds only the names of regions, so the whole feature is read here.
	whole, known, err := q.Feature(ctx, geocoder.NumberOf(&best))
	if err != nil || !known {
		return best, ok, err
	}
	whole.Parents, whole.Name, whole.Label = best.Parents, best.Name, best.Label
	return whole, true, nil
}

// lookup answers /lookup with the features that have the ids of a list.
func (q *request) lookup(ctx context.Context) error {
	var ids []string
	for id := range strings.SplitSeq(q.get("osm_ids"), ",") {
		if id = strings.ToUpper(strings.TrimSpace(id)); len(id) > 1 && strings.Contains("NWR", id[:1]) {
			if slices.Contains(ids, id) {
				continue
			}
			if ids = append(ids, id); len(ids) > maxLookup {
				return refuse("Too many object IDs.")
			}
		}
	}
	for _, id := range ids {
		n, err := strconv.ParseUint(id[1:], 10, 64)
		if err != nil {
			continue
		}
		var r geocoder.Result
		var ok bool
		switch {
		case id[0] != 'N':
			r, ok, err = q.Feature(ctx, n)
		case n <= math.MaxUint32:
			r, ok, err = q.Place(ctx, uint32(n))
		}
		if err != nil {
			return err
		}
		if !ok || r.Kind == names.Zone {
			continue
		}
		if err := q.Localize(ctx, &r, q.langs); err != nil {
			return err
		}
		e := newEntry(&r)
		if e.object != id[0] {
			continue
		}
		if err := q.complete(ctx, &e); err != nil {
			return err
		}
		q.found = append(q.found, e)
	}
	return nil
}

// status answers /status with whether there is data to search.
func (q *request) status(ctx context.Context) error {
	built := q.Built()
	if q.Ready(ctx) != nil {
		built = time.Time{} // a search would fail
	}
	switch {
	case q.format == formatText && built.IsZero():
		return &failure{500, "No database"}
	case q.format == formatText:
		q.body = append(q.body, "OK"...)
	case built.IsZero():
		q.body = append(q.body, `{"status":700,"message":"No database","software_version":"`+version+`"}`...)
	default:
		q.body = append(q.body, `{"status":0,"message":"OK","data_updated":`...)
		q.body = jsontext.AppendString(q.body, built.UTC().Format("2006-01-02T15:04:05+00:00"))
		q.body = append(q.body, `,"software_version":"`+version+`","database_version":"`+version+`"}`...)
	}
	return nil
}

// version is the version of Nominatim that these answers imitate.
const version = "5.1.0-0"

// timestamp returns the time in XML. It is the time of the data, so that the answer does not change
// while the data do not change.
func (q *request) timestamp() string {
	return q.Built().UTC().Format(time.RFC1123[:len(time.RFC1123)-3] + "-07:00")
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
