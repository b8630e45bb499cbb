package airports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/places"
	"quadrille/places/internal/members"
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
	Only bool // as in places.NearbyQuery
	// Cursor continues where the page that returned it ended. All the other
	// fields but Limit and Only must be as they were.
	Cursor string
}

// Nearby returns the airports nearest to a point, with the order, the reuse of
// dst, the cursors and the errors of places.Finder.Nearby. Hits have no Class,
// Code and Population; their JSON has the members id, name, country, timezone, type, scheduled, ident, iata, icao,
// local, municipality, region, elevation_m, lat and lon, as far as they are
// known.
func (f *Finder) Nearby(ctx context.Context, q NearbyQuery, dst []places.Hit) (hits []places.Hit, next string, err error) {
	codes, err := q.codes()
	if err != nil {
		return dst[:0], "", err
	}
	hits, next, err = f.geo.Nearby(ctx, places.NearbyQuery{
		Lat: q.Lat, Lon: q.Lon, RadiusM: q.RadiusM, Limit: q.Limit, Codes: codes, Countries: q.Countries, Only: q.Only, Cursor: q.Cursor,
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

// Hit reads an airport by its id over h, whose memory is used again, as Nearby finds it. An
// id without an airport is ErrNotFound.
func (f *Finder) Hit(ctx context.Context, id uint32, h *places.Hit) error {
	err := f.geo.Hit(ctx, id, h)
	if errors.Is(err, places.ErrNotFound) {
		return fmt.Errorf("%w: id %d", ErrNotFound, id)
	}
	if err == nil {
		h.Class, h.Code, h.Population, h.JSON = "", "", 0, strip(h.JSON)
	}
	return err
}

// shown takes out of hits what only package places needs.
func shown(hits []places.Hit) []places.Hit {
	for i := range hits {
		h := &hits[i]
		h.Class, h.Code, h.JSON = "", "", strip(h.JSON)
	}
	return hits
}

// strip removes the members class and code from JSON, in place.
func strip(b []byte) []byte { return members.Cut(members.Cut(b, `,"class":`), `,"code":`) }

var featureStart = []byte(`{"type":"Feature","id":`)

// nextFeature cuts the first off features with commas between them.
func nextFeature(all []byte) (feature, rest []byte) {
	if len(all) == 0 {
		return nil, nil
	}
	if i := bytes.Index(all[1:], featureStart); i >= 0 {
		return all[:i], all[i+1:] // without the comma
	}
	return all, nil
}

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
		var feature []byte
		feature, all = nextFeature(all)
		if closed(members.Text(feature, `,"type":`)) {
			continue
		}
		if len(out) > start {
			out = append(out, ',')
		}
		out = append(out, strip(feature)...)
	}
	return out, nil
}

// closed reports whether a JSON string is the type of closed airports.
func closed(typ []byte) bool { return string(typ) == `"`+Closed+`"` }

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
	features, err := f.geo.AppendTileGeoJSON(ctx, nil, t)
	if err != nil {
		return err
	}
	return f.geo.TilePlaces(ctx, t, func(p places.Shown) error {
		var feature []byte
		feature, features = nextFeature(features)
		code, scheduled := strings.CutSuffix(p.Code, withService)
		at := slices.IndexFunc(kinds, func(k kind) bool { return k.code == code })
		if at < 0 || feature == nil {
			return fmt.Errorf("airports: %w: tile %v: stored features are damaged, ingest the airports again", cellstore.ErrCorrupt, t)
		}
		if kinds[at].typ == Closed {
			return nil
		}
		iata, _ := members.Unquote(members.Text(feature, `,"iata":`))
		icao, _ := members.Unquote(members.Text(feature, `,"icao":`))
		return fn(Shown{
			ID: p.ID, Lat: p.Lat, Lon: p.Lon, Name: p.Name, Type: kinds[at].typ, IATA: iata, ICAO: icao, Scheduled: scheduled,
		})
	})
}
