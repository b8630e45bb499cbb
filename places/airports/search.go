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

// Hit reads an airport by its id over h, whose memory is used again. An id without
// an airport is ErrNotFound.
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
