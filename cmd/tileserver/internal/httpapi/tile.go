package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

// getTile answers GET /tiles/{layers}/{z}/{x}/{y}.{geojson,mvt,pbf,png} and
// {y}@2x.png.
//
// An empty tile is 204 as a vector tile, an empty FeatureCollection as GeoJSON
// and a transparent image as PNG, since maps show 204 as a broken picture. A
// tile outside the grid is 404, and so is a layer that does not exist; z, x or
// y that are not numbers are 400.
func (s *server) getTile(c echo.Context) error {
	values, err := pathParams(c)
	if err != nil {
		return err
	}
	t, f, err := parseTile(values[1], values[2], values[3])
	if err != nil {
		return err
	}
	v := s.pinTiles()
	defer v.release()
	return s.sendTile(c, &v, values[0], t, f, s.cacheControl)
}

// sendTile answers with a tile of the layers in a list, of the generations in v.
func (s *server) sendTile(c echo.Context, v *view, layers string, t quadkey.Tile, f form, cache []string) error {
	r := c.Request()
	set, err := s.resolveLayers(r.Context(), v, layers)
	if err != nil {
		return err
	}
	key := tileKey{
		layers: set.canonical,
		tile:   uint64(t.Z)<<58 | t.Packed(),
		form:   f,
		coding: acceptedKept(r),
	}
	if f.picture() {
		key.coding = identity
	}
	if len(set.selectors) > 0 {
		key.boundaries = v.boundaries.id
	}
	if set.places {
		key.places = v.places.id
	}
	if set.airports {
		key.airports = v.airports.id
	}
	absent := f == formMVT && s.emptyTile == http.StatusNotFound // if it is empty
	etag := s.tileTag(&key, set, absent)
	s.traceFrom(r.Context(), key.boundaries, key.places, key.airports)
	if matches(r, &etag, !absent) {
		return s.notModified(c, answer{form: f, tag: &etag, cache: cache})
	}
	res := s.responses.get(key)
	s.traceCache(r.Context(), res != nil)
	if res == nil {
		res, err = s.makeTile(r.Context(), v, set, t, key, etag)
		if errors.Is(err, errCompressionBusy) {
			// A large tile is better sent as it is than refused.
			key.coding = identity
			etag = s.tileTag(&key, set, absent)
			res, err = s.makeTile(r.Context(), v, set, t, key, etag)
		}
		if err != nil {
			return err
		}
	}
	if absent && res.body != nil && matches(r, &etag, true) {
		return s.notModified(c, answer{form: f, tag: &etag, cache: cache}) // "*"
	}
	return s.sendKept(c, res, cache)
}

// errCompressionBusy says that a tile is too large to be compressed without a heavy
// place, and that there is none.
var errCompressionBusy = errors.New("no place to compress a large tile")

// tileTag returns the entity tag of a tile; absent says that it is 404 if it is
// empty. A tile that is 404 must not have the tag that an empty tile has in the
// other modes, or that tag would be answered 304 for 404.
func (s *server) tileTag(key *tileKey, set *layerSet, absent bool) tag {
	start := s.tagStart
	if absent {
		start = start.number(http.StatusNotFound)
	}
	return start.number(uint64(set.hash)).number(key.boundaries).number(key.places).number(key.airports).
		number(key.tile).number(uint64(key.form)<<8 | uint64(key.coding)).tag()
}

// parseTile reads the part of a tile's address after the layers.
func parseTile(z, x, file string) (quadkey.Tile, form, error) {
	dot := strings.LastIndexByte(file, '.')
	if dot < 0 {
		return quadkey.Tile{}, 0, errFormat
	}
	var f form
	switch file[dot+1:] {
	case "mvt", "pbf":
		f = formMVT
	case "geojson":
		f = formGeoJSON
	case "png":
		f = formPNG
		if base, ok := strings.CutSuffix(file[:dot], "@2x"); ok {
			f, dot = formPNG2x, len(base)
		}
	default:
		return quadkey.Tile{}, 0, errFormat
	}
	if strings.Contains(file[:dot], "@") {
		return quadkey.Tile{}, 0, errFormat
	}
	zn, ok := whole(z)
	if !ok {
		return quadkey.Tile{}, 0, notWhole("z")
	}
	xn, ok := whole(x)
	if !ok {
		return quadkey.Tile{}, 0, notWhole("x")
	}
	yn, ok := whole(file[:dot])
	if !ok {
		return quadkey.Tile{}, 0, notWhole("y")
	}
	t, err := quadkey.NewTile(zn, xn, yn)
	if err != nil {
		return quadkey.Tile{}, 0, errTileOutside
	}
	return t, f, nil
}

func notWhole(name string) error {
	return refuse(errParameter, name, "Set "+name+" to a whole number, as in /tiles/all/3/4/2.mvt.")
}

// whole reads a decimal whole number. One too large for any tile comes back
// as a number outside every grid.
func whole(s string) (int, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" {
		return 0, false
	}
	n := 0
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = min(n*10+int(d), 1<<24)
	}
	if len(digits) != len(s) && n != 0 {
		n = -n
	}
	return n, true
}

// makeTile reads a tile and keeps the finished response. Requests for the same
// tile share one reading, so it goes on when the client that caused it leaves.
func (s *server) makeTile(ctx context.Context, v *view, set *layerSet, t quadkey.Tile, key tileKey, etag tag) (*finished, error) {
	wait, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.responses.do(wait, key, func() (*finished, error) {
		read, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
		defer cancel()
		read, end := s.traceRead(read)
		defer end()
		b := getScratch()
		defer b.release()
		var err error
		switch key.form {
		case formMVT:
			b.body, err = appendMVT(read, b.body, v, set, t)
		case formPNG, formPNG2x:
			if !s.beginHeavy() {
				return nil, errBusy
			}
			defer s.heavy.Add(-1)
			b.body, err = s.appendPNG(read, b.body, v, set, t, key.form)
		default:
			b.body, err = appendGeoJSON(read, b.body, v, set, t)
		}
		if err != nil {
			return nil, err
		}
		if key.coding != identity && len(b.body) > lightBody {
			if !s.beginHeavy() {
				return nil, errCompressionBusy
			}
			defer s.heavy.Add(-1)
		}
		return finish(b.body, key.form, key.coding, &etag), nil
	})
}

// lightBody is the largest kept answer, in bytes, that is compressed without a heavy
// place. Compressing a vector tile takes 90 ms per MB.
const lightBody = 192 << 10

// appendMVT appends the layers of a vector tile, which are joined by being
// written one after another.
func appendMVT(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile) ([]byte, error) {
	if len(set.selectors) > 0 {
		b, err := v.boundaries.get()
		if err != nil {
			return dst, err
		}
		if dst, err = b.AppendMVT(ctx, dst, t, set.selectors); err != nil {
			return dst, err
		}
	}
	if set.places {
		p, err := v.places.get()
		if err != nil {
			return dst, err
		}
		if dst, err = appendPlacesLayer(ctx, dst, p, t); err != nil {
			return dst, err
		}
	}
	if set.airports {
		return appendAirportsLayer(ctx, dst, v, t)
	}
	return dst, nil
}

var placeLayers = sync.Pool{New: func() any { return new(mvt.Layer) }}

// placeFields describes the attributes of the places layer, for TileJSON.
var placeFields = map[string]string{
	"id":         "Number",
	"name":       "String",
	"code":       "String",
	"population": "Number",
}

// appendPlacesLayer appends the vector layer of the places in a tile.
func appendPlacesLayer(ctx context.Context, dst []byte, p Places, t quadkey.Tile) ([]byte, error) {
	l := placeLayers.Get().(*mvt.Layer)
	defer placeLayers.Put(l)
	l.Reset(placesLayer)
	n := float64(uint64(1) << t.Z)
	err := p.TilePlaces(ctx, t, func(id uint32, lon, lat float64, name, code string, population int64) error {
		x, y := quadkey.Project(lon, lat)
		l.Begin(uint64(id), mvt.Point)
		l.TagInt("id", int64(id))
		l.TagString("name", name)
		if code != "" {
			l.TagString("code", code)
		}
		if population > 0 {
			l.TagInt("population", population)
		}
		l.Point(mvt.XY{X: unit(x*n - float64(t.X)), Y: unit(y*n - float64(t.Y))})
		l.End()
		return nil
	})
	if err != nil {
		return dst, err
	}
	return l.AppendTo(dst), nil
}

// unit turns a fraction of a tile into its integer coordinate. Points belong
// to one tile only, so the coordinate never reaches the far edge, not even for
// those beyond the edge of the grid, which live in its last row.
func unit(f float64) int32 {
	return int32(min(max(math.Floor(f*mvt.Extent), 0), mvt.Extent-1))
}

const (
	collectionHead = `{"type":"FeatureCollection","features":[`
	collectionTail = `]}`
)

// appendGeoJSON appends a FeatureCollection: the fragments as they are stored.
func appendGeoJSON(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile) ([]byte, error) {
	dst = append(dst, collectionHead...)
	start := len(dst)
	if len(set.selectors) > 0 {
		b, err := v.boundaries.get()
		if err != nil {
			return dst, err
		}
		if dst, err = b.AppendGeoJSON(ctx, dst, t, set.selectors); err != nil {
			return dst, err
		}
	}
	if set.places {
		p, err := v.places.get()
		if err != nil {
			return dst, err
		}
		if dst, err = appendFeatures(ctx, dst, start, t, p.AppendTileGeoJSON); err != nil {
			return dst, err
		}
	}
	if set.airports {
		a, err := v.airports.get()
		if err != nil {
			return dst, err
		}
		if dst, err = appendFeatures(ctx, dst, start, t, a.AppendTileGeoJSON); err != nil {
			return dst, err
		}
	}
	return append(dst, collectionTail...), nil
}

// appendFeatures appends the features of a tile that features gives, after a
// comma if there are some since start.
func appendFeatures(ctx context.Context, dst []byte, start int, t quadkey.Tile,
	features func(context.Context, []byte, quadkey.Tile) ([]byte, error)) ([]byte, error) {
	if len(dst) > start {
		dst = append(dst, ',')
	}
	comma := len(dst)
	dst, err := features(ctx, dst, t)
	if err == nil && len(dst) == comma && comma > start {
		dst = dst[:comma-1]
	}
	return dst, err
}
