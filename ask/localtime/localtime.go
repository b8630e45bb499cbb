// Package localtime finds the time zone at a point and its local time, from regions, places and
// airports.
//
// Positions are degrees and distances metres. A data set that is not published has no answer, and
// is no error. A data set that cannot be read is an error, because it may hold the answer.
package localtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/places/zones"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// These region types determine the country and the time zone.
const (
	CountryType  = hierarchy.Country
	TimeZoneType = "timezone"
)

const (
	// ZoneReachM is the greatest distance, in metres, at which a place or an airport determines the
	// time zone of a point in no known country. Within this distance, a place or airport also takes
	// precedence over an area of one offset.
	ZoneReachM = 300_000
	// anywhere is the longest distance on Earth, in metres.
	anywhere = quadkey.EarthRadius * math.Pi
	// territorialSea is the breadth of the sea off a coast in which the country's
	// time holds by law, in metres: twelve nautical miles.
	territorialSea = 12 * 1852
	// antarctica is not a country: each station keeps the time of its supplier, which may differ
	// from the next station's.
	antarctica = "AQ"
)

// View is a view for questions about local time, or about points. It caches its last result, so
// each goroutine needs one of its own.
type View struct {
	ask.View
	near nearest
}

// ViewOf returns the View of local times in a view of the data sets.
func ViewOf(v ask.View) View { return View{View: v} }

// nearest are the populated places nearest to a point, of any country and at any distance. It owns
// their memory.
type nearest struct {
	hits     []places.Hit
	lat, lon float64
	known    bool
}

// NearestFound returns the populated places nearest to a point, if the search for the point's time zone
// has found them. They are valid until the next search.
func (v *View) NearestFound(lat, lon float64) (hits []places.Hit, known bool) {
	n := &v.near
	return n.hits, n.known && n.lat == lat && n.lon == lon
}

// GenerationIDs returns the generations on which answers depend.
func (v *View) GenerationIDs() []uint64 {
	return append(hierarchy.GenerationIDs(v.View), v.Airports.ID, v.TimeZones.ID, v.Stations.ID)
}

// Ways in which a part of an answer about a point was found.
const (
	MatchInside  = "inside"  // a region holds the point
	MatchNearest = "nearest" // it is nearest to the point
	MatchDerived = "derived" // it follows from something else
)

// LocalZone is the time zone at a point, and how it was found. Its id is "" if none is known.
type LocalZone struct {
	ID     string // of the IANA database
	Source string // "region", "country", "place", "airport" or SourceSea
	Match  string // one of those above
	// DistanceM is the distance of the place or airport in metres, if Match is MatchNearest.
	DistanceM float64
	Offset    zones.Offset
	// Known is set if Offset is known. Otherwise the zones are not published, or lack this one.
	Known bool
	// Nautical is set if the point is at sea and the zone is one of ships' clocks.
	Nautical bool
	// OtherZones are the other zones that hold the point. Where people use two times, as in Xinjiang,
	// zones overlap.
	OtherZones []string
}

// SourceSea is the source of nautical time.
const SourceSea = "longitude"

// seaZones begins the names of nautical zones, which are polygons in the releases
// of timezone-boundary-builder with oceans.
const seaZones = "Etc/GMT"

// Zone does the same as ZoneAt with ZoneReachM, for a point whose regions are not known yet.
func (v *View) Zone(ctx context.Context, lat, lon float64, at time.Time) (LocalZone, error) {
	b, ok, err := v.Boundaries.GetIfPublished()
	if err != nil {
		return LocalZone{}, err
	}
	var regions []tiles.Region
	if ok {
		if regions, err = b.At(ctx, lat, lon); err != nil {
			return LocalZone{}, err
		}
	}
	return v.ZoneAt(ctx, lat, lon, ZoneReachM, at, regions)
}

// Local converts an instant to the local time of the zone. Known must be set.
func (z *LocalZone) Local(at time.Time) time.Time {
	return at.In(time.FixedZone(z.Offset.Abbreviation, z.Offset.Seconds))
}

// ZoneAt finds the time zone of a point, in degrees, at an instant. regions are all regions
// that hold the point.
//
// A region of type timezone that holds the point comes first. Without one, the country determines
// the zone on land: see [zoneQuery.onLand].
//
// At sea, outside of all countries and their territorial waters, the zone follows the longitude, as
// ships' clocks do. Zones of the whole world cover territorial waters too. So a point in none of
// these zones is at sea, even if the map of countries shows land, or it is on uninhabited land: in
// Antarctica, or where nothing is known about the country. There, too, the zone follows the
// longitude.
//
// While no countries are published, land and sea are not distinguished. Then no zone is nautical,
// and the longitude determines one only if zones of the whole world are published. Otherwise the
// point has the zone of the nearest place or airport within reach, in metres.
//
// Natural Earth's zones are areas of one offset. Each has the name of one of the many zones in it:
// Lima lies in America/New_York there. Such a region counts only if nothing of the country is near.
func (v *View) ZoneAt(ctx context.Context, lat, lon, reach float64, at time.Time, regions []tiles.Region) (LocalZone, error) {
	b, ok, err := v.Boundaries.GetIfPublished()
	if err != nil {
		return LocalZone{}, err
	}
	countries := ok && b.Has(CountryType)
	land := CountryRegion(regions)
	z, rough, err := v.zoneOfRegions(ctx, at, regions)
	if err != nil || z.ID != "" {
		z.Nautical = countries && land == "" && strings.HasPrefix(z.ID, seaZones)
		return z, err
	}
	outside := ok && outsideZones(b, regions)
	if outside && (land == "" || codeOf(land) == antarctica) {
		z = nauticalZone(lon)
		z.Nautical = countries && land == ""
		return z, nil
	}
	q := zoneQuery{view: v, lat: lat, lon: lon, at: at}
	if q.hierarchy, err = hierarchy.ViewOf(v.View); err != nil {
		return z, err
	}
	if !countries {
		if z, err = q.nearest(ctx, reach, "", nil); err == nil && z.ID == "" {
			z = rough
		}
		return z, err
	}
	if land == "" {
		if land, err = q.shore(ctx); err != nil {
			return z, err
		}
	}
	if land == "" {
		return nauticalZone(lon), nil
	}
	z, err = q.onLand(ctx, land)
	switch {
	case err != nil:
	case rough.ID != "" && (z.ID == "" || z.DistanceM > ZoneReachM):
		z = rough
	case z.ID == "" && outside:
		z = nauticalZone(lon)
		z.Nautical = false
	}
	return z, err
}

// CountryRegion returns the id of the country among the regions at a point,
// preferably one with an ISO code, and "" if there is no country.
func CountryRegion(regions []tiles.Region) (id string) {
	for i := range regions {
		if r := &regions[i]; r.Type == CountryType && (id == "" || len(id) != 2 && len(r.ID) == 2) {
			id = r.ID
		}
	}
	return id
}

// codeOf returns the ISO code of the country of a region. It returns "" for a
// disputed area, whose id is not a code.
func codeOf(region string) string {
	if len(region) != 2 {
		return ""
	}
	return strings.ToUpper(region)
}

// zoneQuery is a query for the time zone of a point.
type zoneQuery struct {
	view      *View
	hierarchy hierarchy.View
	lat, lon  float64
	at        time.Time
}

// shore returns the id of the country whose time holds at a point outside of all countries. This is
// the country whose territorial waters hold the point. Otherwise it is the country of a very near
// place: the map must have drawn its coast too coarsely or left out its island. At sea shore
// returns "".
func (q *zoneQuery) shore(ctx context.Context) (string, error) {
	found, _, err := q.hierarchy.AddNearestRegion(ctx, q.lat, q.lon, territorialSea, CountryType, nil)
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return found[0].ID, nil
	}
	near, err := q.hierarchy.PlacesNear(ctx, q.lat, q.lon, hierarchy.ShoreReachM, "")
	for i := range near {
		if near[i].Country != "" {
			return strings.ToLower(near[i].Country), err
		}
	}
	return "", err
}

// onLand finds the zone of a point in a region of type country: the zone of the country if it has a
// single one, or else the zone of the nearest place or airport of the country. The distance does
// not matter, except in Antarctica, where it must be within ZoneReachM. If nothing of the country is
// known, there is no zone, because a guess from a neighbour or the longitude would look certain. On
// land of no country, near places determine the zone.
func (q *zoneQuery) onLand(ctx context.Context, region string) (LocalZone, error) {
	near, err := q.hierarchy.PlacesNear(ctx, q.lat, q.lon, anywhere, "")
	if err != nil {
		return LocalZone{}, err
	}
	q.view.near = nearest{near, q.lat, q.lon, true}
	country, home, err := homeOf(ctx, &q.hierarchy, region, near)
	if err != nil {
		return LocalZone{}, err
	}
	if country == "" {
		return q.nearest(ctx, ZoneReachM, "", near)
	}
	z := LocalZone{Source: "country", Match: MatchDerived}
	if z.ID, err = countryZone(ctx, &q.view.TimeZones, country); err != nil {
		return z, err
	}
	if z.ID != "" {
		exists, err := q.view.clock(ctx, &z, q.at)
		if exists || err != nil {
			return z, err
		}
	}
	tells := func(p places.Hit) bool { return p.TimeZone != "" }
	if len(near) == hierarchy.MaxNearPlaces && len(home) < hierarchy.MaxNearPlaces && !slices.ContainsFunc(home, tells) {
		home = nil // farther places may have zones, which these lack
	}
	reach := anywhere
	if country == antarctica {
		reach = ZoneReachM
	}
	return q.nearest(ctx, reach, country, home)
}

// homeOf returns the country of a point on land, and the places near the point that lie in that
// country, nearest first. The country is that of the region. The exception is ground with a code of
// its own in the gazetteer and no region on the map: Svalbard is drawn as Norway and Cayenne as
// France. There, and in disputed areas, the nearest place in the same region determines the
// country.
func homeOf(ctx context.Context, h *hierarchy.View, region string, near []places.Hit) (country string, home []places.Hit, err error) {
	code := codeOf(region)
	for i := range near {
		p := &near[i]
		if p.Country == "" {
			continue
		}
		if p.Country != code {
			of := []names.Parent{{Type: CountryType, ID: region}}
			is, err := h.RelateByRow(ctx, p, of)
			in := !is.AcrossBorder()
			if in && err == nil && p.DistanceM > hierarchy.PlaceReachM { // off all coasts only a place close by counts as home
				in, err = h.InRegions(ctx, p, of)
			}
			if err != nil {
				return "", nil, err
			}
			if !in {
				continue
			}
		}
		if country == "" {
			country = p.Country
		}
		// The zone of a neighbour with another code counts only if the neighbour is close.
		if p.Country == country || p.DistanceM <= hierarchy.PlaceReachM {
			home = append(home, *p)
		}
	}
	return cmp.Or(country, code), home, nil
}

// countryZone returns the time zone of a country with a single one, else "".
func countryZone(ctx context.Context, p *ask.Pinned[*zones.Reader], country string) (string, error) {
	r, ok, err := p.GetIfPublished()
	if !ok {
		return "", err
	}
	return r.CountryZone(ctx, country)
}

// nearest returns the zone of the nearest populated place or airport that has an existing zone,
// within reach, in metres. A country that is not "" restricts the search. near are the places,
// nearest first; if near is nil, nearest searches for them.
func (q *zoneQuery) nearest(ctx context.Context, reach float64, country string, near []places.Hit) (place LocalZone, err error) {
	v := q.view
	if near == nil {
		if near, err = q.hierarchy.PlacesNear(ctx, q.lat, q.lon, reach, country); err != nil {
			return place, err
		}
	}
	for i := range near {
		if near[i].TimeZone == "" || near[i].DistanceM > reach {
			continue
		}
		z := LocalZone{ID: near[i].TimeZone, Source: "place", Match: MatchNearest, DistanceM: near[i].DistanceM}
		exists, err := v.clock(ctx, &z, q.at)
		if err != nil {
			return z, err
		}
		if exists {
			place, reach = z, z.DistanceM
			break
		}
	}
	airport := LocalZone{Source: "airport", Match: MatchNearest}
	airport.ID, airport.DistanceM, err = zoneOfAirports(ctx, &v.Airports, q.lat, q.lon, reach, country)
	if err != nil || airport.ID == "" || place.ID != "" && airport.DistanceM >= place.DistanceM {
		return place, err
	}
	exists, err := v.clock(ctx, &airport, q.at)
	if err != nil || exists {
		return airport, err
	}
	return place, nil
}

// airportHits is a pool of memory for zoneOfAirports.
var airportHits = sync.Pool{New: func() any { return new([]places.Hit) }}

// zoneOfAirports returns the zone of the nearest airport within reach that has one, and its
// distance; "" if there is none. Airports help because places may lack zones.
func zoneOfAirports(
	ctx context.Context, p *ask.Pinned[*airports.Finder], lat, lon, reach float64, country string,
) (zone string, metres float64, err error) {
	r, ok, err := p.GetIfPublished()
	if !ok || reach <= 0 {
		return "", 0, err
	}
	var f airports.Filter
	if country != "" {
		f.Countries = []string{country}
	}
	q := feature.Query{Near: feature.NearTo(lat, lon, reach), Limit: hierarchy.MaxNearPlaces}
	if q.Filter, err = f.FeatureFilter(); err != nil {
		return "", 0, err
	}
	memory := airportHits.Get().(*[]places.Hit)
	defer airportHits.Put(memory)
	hits, err := places.CollectHits(*memory, r.Features(ctx, &q))
	if err != nil {
		return "", 0, err
	}
	*memory = hits
	for i := range hits {
		if hits[i].TimeZone != "" {
			return hits[i].TimeZone, hits[i].DistanceM, nil
		}
	}
	return "", 0, nil
}

// clock sets the offset of a zone at an instant. exists is false only if there is certainly no such
// zone.
func (v *View) clock(ctx context.Context, z *LocalZone, at time.Time) (exists bool, err error) {
	r, ok, err := v.TimeZones.GetIfPublished()
	if !ok {
		return err == nil, err
	}
	z.Offset, err = r.Offset(ctx, z.ID, at)
	if errors.Is(err, zones.ErrNotFound) {
		return false, nil
	}
	z.Known = err == nil
	return z.Known, err
}

// ZoneOf returns the zone of a place whose record has none, as in some gazetteers, and the source
// of the zone. If the country of the place has a single zone, it is that zone. Otherwise it is the
// zone of the nearest airport, in the same country if the country is known.
func (v *View) ZoneOf(ctx context.Context, p *places.Hit) (zone, source string, err error) {
	if zone, err = countryZone(ctx, &v.TimeZones, p.Country); zone != "" || err != nil {
		return zone, "country", err
	}
	reach := float64(ZoneReachM)
	if p.Country != "" {
		reach = anywhere
	}
	zone, _, err = zoneOfAirports(ctx, &v.Airports, p.Lat, p.Lon, reach, p.Country)
	return zone, MatchNearest, err
}

// ErrUnknown is returned when no time zone is known, and so no offset.
var ErrUnknown = errors.New("time zone is not known")

// Offset returns the offset of a zone at an instant. The error matches ErrUnknown if zone is "",
// zones.ErrNotFound if the published zones lack it, and zones.ErrTimeRange if the instant is
// outside the years of the zones.
func (v *View) Offset(ctx context.Context, zone string, at time.Time) (zones.Offset, error) {
	if zone == "" {
		return zones.Offset{}, ErrUnknown
	}
	r, err := v.TimeZones.Get()
	if err != nil {
		return zones.Offset{}, err
	}
	return r.Offset(ctx, zone, at)
}

// nauticalZone returns the zone that ships keep within 7.5 degrees of a
// meridian. In the names of the IANA database the sign is POSIX's: Etc/GMT-2 is
// two hours ahead of UTC.
func nauticalZone(lon float64) LocalZone {
	if lon == 180 {
		lon = -180 // the same meridian
	}
	hours := int(math.Floor((lon + 7.5) / 15))
	z := LocalZone{ID: seaZones, Source: SourceSea, Match: MatchDerived, Known: true, Nautical: true}
	z.Offset.Seconds = hours * 3600
	switch {
	case hours > 0:
		z.ID += "-" + strconv.Itoa(hours)
		z.Offset.Abbreviation = fmt.Sprintf("+%02d", hours)
	case hours < 0:
		z.ID += "+" + strconv.Itoa(-hours)
		z.Offset.Abbreviation = fmt.Sprintf("-%02d", -hours)
	default:
		z.Offset.Abbreviation = "GMT"
	}
	return z
}
