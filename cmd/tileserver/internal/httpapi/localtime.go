package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/zones"
	"quadrille/tiles"
)

// Region types that say more than that they are there.
const (
	countryType  = "country"
	stateType    = "state"
	timeZoneType = "timezone"
)

const (
	// zoneReach is how far a place lends its time zone, in metres.
	zoneReach = 300_000
	// zonePlaces is how many places are asked for one, since some have none.
	zonePlaces = 10
)

// pointView is what a request about one point sees: a generation of each data
// set. Those it does not need may stay unpinned.
type pointView struct {
	boundaries pinned[Boundaries]
	places     pinned[Places]
	airports   pinned[Airports]
	timeZones  pinned[TimeZones]
	stations   pinned[Stations]
}

func (s *server) pinPoint() pointView {
	return pointView{pin(s.boundaries), pin(s.places), pin(s.airports), pin(s.timeZones), pin(s.stations)}
}

func (v *pointView) release() {
	v.boundaries.release()
	v.places.release()
	v.airports.release()
	v.timeZones.release()
	v.stations.release()
}

// have returns the reader of a generation, or false when the data set is not
// published. One that cannot be read is an error: it may hold the answer.
func have[T any](p *pinned[T]) (v T, ok bool, err error) {
	v, err = p.get()
	if errors.Is(err, errDatasetMissing) {
		return v, false, nil
	}
	return v, err == nil, err
}

// placeDoc is what is read of a place's members or record.
type placeDoc struct {
	ID             uint32      `json:"id"`
	Name           string      `json:"name"`
	Country        string      `json:"country"`
	CountryName    string      `json:"country_name"`
	Class          string      `json:"class"`
	Code           string      `json:"code"`
	Population     int64       `json:"population"`
	Admin1         string      `json:"admin1"`
	Admin1Name     string      `json:"admin1_name"`
	TimeZone       string      `json:"timezone"`
	Lat            json.Number `json:"lat"`
	Lon            json.Number `json:"lon"`
	ASCIIName      string      `json:"ascii_name"` // from here on in records only
	AlternateNames []string    `json:"alternate_names"`
	Admin2         string      `json:"admin2"`
	Admin2Name     string      `json:"admin2_name"`
	Admin3         string      `json:"admin3"`
	Admin4         string      `json:"admin4"`
	Admin5         string      `json:"admin5"`
	Elevation      *int64      `json:"elevation_m"`
	DEM            *int64      `json:"dem_m"`
	Alternates     []struct {
		Name       string `json:"name"`
		Lang       string `json:"lang"`
		Preferred  bool   `json:"preferred"`
		Short      bool   `json:"short"`
		Colloquial bool   `json:"colloquial"`
		Historic   bool   `json:"historic"`
	} `json:"alternates"`
}

// readPlace decodes a place's record.
func readPlace(record []byte) (d placeDoc, err error) {
	if err := json.Unmarshal(record, &d); err != nil {
		return d, fmt.Errorf("%w: the record of a place cannot be read: ingest the places again", cellstore.ErrCorrupt)
	}
	return d, nil
}

// readMembers decodes a place's members, which have no braces.
func readMembers(members []byte) (placeDoc, error) {
	b := make([]byte, 0, len(members)+2)
	return readPlace(append(append(append(b, '{'), members...), '}'))
}

// How a part of an answer about a point was found.
const (
	matchInside  = "inside"  // a region holds the point
	matchNearest = "nearest" // it is the nearest one to the point
	matchDerived = "derived" // it follows from something else
)

// localZone is the time zone at a point, and how it was found.
type localZone struct {
	id     string // of the IANA database
	source string // "region", "place", "airport" or "longitude"
	match  string // one of those above
	offset zones.Offset
	// known says that offset is; otherwise the zones are not published, or
	// do not have this one.
	known bool
}

// countryOf returns the country code among the regions at a point, upper case,
// or "" when there is none.
func countryOf(regions []tiles.Region) string {
	for i := range regions {
		if r := &regions[i]; r.Type == countryType && len(r.ID) == 2 {
			return strings.ToUpper(r.ID)
		}
	}
	return ""
}

// zoneAt finds the time zone of a point at an instant: that of the region of
// type timezone that holds it, else that of the nearest place within reach (in
// metres) that has one, in the country of the point where that is known, else
// that of the nearest airport on the same terms, else what ships use, by
// longitude. Where no place of the country is within reach one close by lends
// its zone whatever its country: borders draw Svalbard as Norway and Cayenne as
// France, and places have codes of their own there.
//
// Natural Earth's zones are areas of one offset, each called after one of the
// many zones in it: Lima lies in America/New_York there. Such a region is
// asked only after the places.
func (v *pointView) zoneAt(ctx context.Context, lat, lon, reach float64, at time.Time, regions []tiles.Region) (localZone, error) {
	var rough localZone
	for i := range regions {
		if regions[i].Type != timeZoneType {
			continue
		}
		z := localZone{id: regions[i].Name, source: "region", match: matchInside}
		exists, err := v.clock(ctx, &z, at)
		if err != nil {
			return z, err
		}
		if !exists || !strings.Contains(z.id, "/") {
			continue
		}
		exact, err := v.exactZone(ctx, regions[i].ID)
		if err != nil || exact {
			return z, err
		}
		rough, rough.match = z, matchDerived
	}
	country := countryOf(regions)
	z, err := v.zoneOfPlaces(ctx, lat, lon, reach, at, country)
	if err == nil && z.id == "" && country != "" {
		z, err = v.zoneOfPlaces(ctx, lat, lon, min(reach, placeReach), at, "")
	}
	if err == nil && z.id == "" && rough.id == "" {
		if z.id, err = zoneOfAirports(ctx, &v.airports, lat, lon, reach, country); err == nil && z.id != "" {
			z.source, z.match = "airport", matchNearest
			_, err = v.clock(ctx, &z, at)
		}
	}
	switch {
	case err != nil || z.id != "":
		return z, err
	case rough.id != "":
		return rough, nil
	}
	return nauticalZone(lon), nil
}

// exactZone reports whether a region of type timezone is a zone and not an
// area of one offset, whose record says which.
func (v *pointView) exactZone(ctx context.Context, id string) (bool, error) {
	b, err := v.boundaries.get()
	if err != nil {
		return false, err
	}
	record, err := b.Region(ctx, timeZoneType, id, false)
	if errors.Is(err, tiles.ErrNotFound) {
		return false, fmt.Errorf("%w: a region that holds a point has no record: %s", cellstore.ErrCorrupt, err.Error())
	}
	if err != nil {
		return false, err
	}
	var doc struct {
		Offset *string `json:"utc_offset"`
	}
	if err := json.Unmarshal(record, &doc); err != nil {
		return false, fmt.Errorf("%w: the record of a region cannot be read: ingest the boundaries again", cellstore.ErrCorrupt)
	}
	return doc.Offset == nil, nil
}

// placesNear returns the nearest populated places within reach, in metres, of
// one country if it is named.
func (v *pointView) placesNear(ctx context.Context, lat, lon, reach float64, country string) ([]placeDoc, error) {
	finder, ok, err := have(&v.places)
	if !ok || reach <= 0 {
		return nil, err
	}
	q := places.NearbyQuery{Lat: lat, Lon: lon, RadiusM: reach, Limit: zonePlaces, Classes: []string{"P"}}
	if country != "" {
		q.Countries = []string{country}
	}
	memory := nearbyHits.Get().(*[]places.Hit)
	defer nearbyHits.Put(memory)
	hits, _, err := finder.Nearby(ctx, q, (*memory)[:0])
	if err != nil {
		return nil, err
	}
	*memory = hits
	docs := make([]placeDoc, len(hits))
	for i := range hits {
		if docs[i], err = readMembers(hits[i].JSON); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// zoneOfPlaces is the zone of the nearest populated place that has one there is;
// its id is "" when there is none.
func (v *pointView) zoneOfPlaces(ctx context.Context, lat, lon, reach float64, at time.Time, country string) (localZone, error) {
	docs, err := v.placesNear(ctx, lat, lon, reach, country)
	if err != nil {
		return localZone{}, err
	}
	for i := range docs {
		if docs[i].TimeZone == "" {
			continue
		}
		z := localZone{id: docs[i].TimeZone, source: "place", match: matchNearest}
		if exists, err := v.clock(ctx, &z, at); exists || err != nil {
			return z, err
		}
	}
	return localZone{}, nil
}

// zoneOfAirports returns the zone of the nearest airport within reach that has
// one, "" when there is none: places need not say what zone they are in.
func zoneOfAirports(ctx context.Context, p *pinned[Airports], lat, lon, reach float64, country string) (string, error) {
	r, ok, err := have(p)
	if !ok || reach <= 0 {
		return "", err
	}
	q := airports.NearbyQuery{Lat: lat, Lon: lon, RadiusM: reach, Limit: zonePlaces}
	if country != "" {
		q.Countries = []string{country}
	}
	memory := nearbyHits.Get().(*[]places.Hit)
	defer nearbyHits.Put(memory)
	hits, _, err := r.Nearby(ctx, q, (*memory)[:0])
	if err != nil {
		return "", err
	}
	*memory = hits
	for i := range hits {
		zone, err := airportZone(hits[i].JSON)
		if err != nil || zone != "" {
			return zone, err
		}
	}
	return "", nil
}

// airportZone reads the time zone among an airport's members. They are not all
// as a place's of the same name: elevations have decimals.
func airportZone(members []byte) (string, error) {
	var doc struct {
		TimeZone string `json:"timezone"`
	}
	if err := json.Unmarshal(slices.Concat([]byte{'{'}, members, []byte{'}'}), &doc); err != nil {
		return "", fmt.Errorf("%w: the record of an airport cannot be read: ingest the airports again", cellstore.ErrCorrupt)
	}
	return doc.TimeZone, nil
}

// clock reads what clocks in a zone show. exists is false only if it is known
// that there is no such zone.
func (v *pointView) clock(ctx context.Context, z *localZone, at time.Time) (exists bool, err error) {
	r, ok, err := have(&v.timeZones)
	if !ok {
		return err == nil, err
	}
	z.offset, err = r.Offset(ctx, z.id, at)
	if errors.Is(err, zones.ErrNotFound) {
		return false, nil
	}
	z.known = err == nil
	return z.known, err
}

// nauticalZone is the zone of 15 degrees around a meridian that ships keep. In
// the names of the IANA database the sign is that of POSIX: Etc/GMT-2 is two
// hours ahead of UTC.
func nauticalZone(lon float64) localZone {
	if lon == 180 {
		lon = -180 // one meridian, whatever it is called
	}
	hours := int(math.Floor((lon + 7.5) / 15))
	z := localZone{id: "Etc/GMT", source: "longitude", match: matchDerived, known: true}
	z.offset.Seconds = hours * 3600
	switch {
	case hours > 0:
		z.id += "-" + strconv.Itoa(hours)
		z.offset.Abbreviation = fmt.Sprintf("+%02d", hours)
	case hours < 0:
		z.id += "+" + strconv.Itoa(-hours)
		z.offset.Abbreviation = fmt.Sprintf("-%02d", -hours)
	default:
		z.offset.Abbreviation = "GMT"
	}
	return z
}

// append writes the zone as an object, with the local time at an instant.
func (z *localZone) append(dst []byte, at time.Time) []byte {
	dst = appendString(append(dst, `{"id":`...), z.id)
	if z.known {
		dst = zones.AppendOffset(append(dst, `,"offset":"`...), z.offset.Seconds)
		dst = strconv.AppendInt(append(dst, `","offset_s":`...), int64(z.offset.Seconds), 10)
		dst = strconv.AppendBool(append(dst, `,"dst":`...), z.offset.DST)
		dst = appendString(append(dst, `,"abbreviation":`...), z.offset.Abbreviation)
		dst = zones.AppendLocal(append(dst, `,"local_time":"`...), at, z.offset)
		dst = append(dst, '"')
	}
	dst = appendString(append(dst, `,"source":`...), z.source)
	dst = appendString(append(dst, `,"match":`...), z.match)
	return append(dst, '}')
}

// wanted reports whether a type is among those asked for; none means all.
func wanted(types []string, typ string) bool {
	return len(types) == 0 || slices.Contains(types, typ)
}
