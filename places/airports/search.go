package airports

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"quadrille/places"
	"quadrille/quadkey"
)

// Filter says which airports a search finds. The zero Filter finds all that
// are not closed.
type Filter struct {
	Types     []string // of Types; empty: all but Closed
	Countries []string // ISO 3166-1 alpha-2, in either case; empty: all
	Scheduled bool     // only those with scheduled service
	Closed    bool     // closed ones too
}

// codes are the codes in package places of what passes; nil means all.
func (f *Filter) codes() (codes []string, err error) {
	for _, t := range f.Types {
		if kindOf(t) < 0 {
			return nil, fmt.Errorf("%w: airport type %.20q: give one of %s", places.ErrQuery, t, strings.Join(Types(), ", "))
		}
	}
	if len(f.Types) == 0 && f.Closed && !f.Scheduled {
		return nil, nil
	}
	for i := range kinds {
		k := &kinds[i]
		if len(f.Types) > 0 && !slices.Contains(f.Types, k.typ) && (k.typ != Closed || !f.Closed) ||
			len(f.Types) == 0 && k.typ == Closed && !f.Closed {
			continue
		}
		if codes = append(codes, k.code+withService); !f.Scheduled {
			codes = append(codes, k.code)
		}
	}
	return codes, nil
}

// NearbyQuery asks for the airports nearest to a point.
type NearbyQuery struct {
	Lat, Lon float64 // degrees WGS84
	RadiusM  float64 // metres; 0 means no bound
	Limit    int     // airports per page, 1 to places.MaxLimit; 0 means places.DefaultLimit
	Filter
	// Cursor continues where the page that returned it ended. All the other
	// fields but Limit must be as they were.
	Cursor string
}

// Nearby returns the airports nearest to a point, with the order, the reuse of
// dst, the cursors and the errors of places.Finder.Nearby. A hit's JSON has
// the members id, name, country, timezone, type, scheduled, ident, iata, icao,
// local, municipality, region, elevation_m, lat and lon, as far as they are
// known.
func (f *Finder) Nearby(ctx context.Context, q NearbyQuery, dst []places.Hit) (hits []places.Hit, next string, err error) {
	codes, err := q.codes()
	if err != nil {
		return dst[:0], "", err
	}
	hits, next, err = f.geo.Nearby(ctx, places.NearbyQuery{
		Lat: q.Lat, Lon: q.Lon, RadiusM: q.RadiusM, Limit: q.Limit, Codes: codes, Countries: q.Countries, Cursor: q.Cursor,
	}, dst)
	return shown(hits), next, err
}

// WithinQuery asks for the airports in a box.
type WithinQuery struct {
	Box   quadkey.Box // edges included; west > east crosses ±180°
	Limit int         // airports per page, as in NearbyQuery
	Filter
	Cursor string // as in NearbyQuery
}

// Within returns the airports in a box, the most important first and by id
// where they are equally important. Otherwise it is as Nearby.
func (f *Finder) Within(ctx context.Context, q WithinQuery, dst []places.Hit) (hits []places.Hit, next string, err error) {
	codes, err := q.codes()
	if err != nil {
		return dst[:0], "", err
	}
	hits, next, err = f.geo.Within(ctx, places.WithinQuery{
		Box: q.Box, Limit: q.Limit, Codes: codes, Countries: q.Countries, Cursor: q.Cursor,
	}, dst)
	return shown(hits), next, err
}

// shown takes out of hits what only package places needs.
func shown(hits []places.Hit) []places.Hit {
	for i := range hits {
		hits[i].JSON = strip(hits[i].JSON)
	}
	return hits
}

// Inside a JSON string there is no bare quote, so these are found only where
// they are members.
var (
	classMember = []byte(`,"class":"`)
	codeMember  = []byte(`,"code":"`)
	quote       = []byte{'"'}
)

// strip removes the members class and code from JSON, in place.
func strip(b []byte) []byte { return without(without(b, classMember), codeMember) }

func without(b, member []byte) []byte {
	at := bytes.Index(b, member)
	if at < 0 {
		return b
	}
	n := bytes.Index(b[at+len(member):], quote)
	if n < 0 {
		return b
	}
	return append(b[:at], b[at+len(member)+n+1:]...)
}

var (
	featureStart = []byte(`{"type":"Feature","id":`)
	closedMember = []byte(`,"code":"CLOSED`)
)

// AppendTileGeoJSON appends the airports that a tile shows, the most important
// first, as GeoJSON features separated by commas, and nothing when it shows
// none: as places.Finder.AppendTileGeoJSON does, with the members of a hit as
// properties. Closed airports are not shown.
func (f *Finder) AppendTileGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile) ([]byte, error) {
	start := len(dst)
	dst, err := f.geo.AppendTileGeoJSON(ctx, dst, t)
	if err != nil {
		return dst[:start], err
	}
	// Features only shrink, so they can be moved down where they are.
	all := dst[start:]
	out := dst[:start]
	for len(all) > 0 {
		feature := all
		all = nil
		if i := bytes.Index(feature[1:], featureStart); i >= 0 {
			feature, all = feature[:i], feature[i+1:] // without the comma
		}
		if bytes.Contains(feature, closedMember) {
			continue
		}
		if len(out) > start {
			out = append(out, ',')
		}
		out = append(out, strip(feature)...)
	}
	return out, nil
}

// Shown is an airport in a tile.
type Shown struct {
	ID         uint32
	Lat, Lon   float64 // degrees
	Name       string
	Type       string
	IATA, ICAO string
	Scheduled  bool
}

// Rank orders airports by importance: 0 for large ones with scheduled service, and
// greater for others in inverse proportion to their importance, which is about
// what their places in a list of all would be.
func (s *Shown) Rank() int {
	if kindOf(s.Type) < 0 {
		return math.MaxInt32
	}
	return int(weightOf(Large, true, true)/weightOf(s.Type, s.Scheduled, s.IATA != "")) - 1
}

// TileAirports calls fn for each airport that AppendTileGeoJSON shows, in the
// same order, and stops at its first error.
func (f *Finder) TileAirports(ctx context.Context, t quadkey.Tile, fn func(Shown) error) error {
	features, err := f.AppendTileGeoJSON(ctx, []byte{'['}, t)
	if err != nil {
		return err
	}
	var list []struct {
		ID         uint32
		Geometry   struct{ Coordinates [2]float64 }
		Properties struct {
			Name, Type, IATA, ICAO string
			Scheduled              bool
		}
	}
	if err := json.Unmarshal(append(features, ']'), &list); err != nil {
		return fmt.Errorf("airports: tile %v: stored features are damaged, ingest the airports again: %w", t, err)
	}
	for i := range list {
		p := &list[i].Properties
		err := fn(Shown{
			ID: list[i].ID, Lat: list[i].Geometry.Coordinates[1], Lon: list[i].Geometry.Coordinates[0],
			Name: p.Name, Type: p.Type, IATA: p.IATA, ICAO: p.ICAO, Scheduled: p.Scheduled,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
