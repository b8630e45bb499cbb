package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/quadkey"
	"quadrille/tiles/raster"
)

// TileConfig says how tiles are served. Zero fields mean the defaults named.
type tileConfig struct {
	Boundaries *dataset.Live[Boundaries]
	Places     *dataset.Live[Places]
	Airports   *dataset.Live[Airports]
	// EmptyTile is the status of a vector tile that has nothing in it, 204, 200
	// with no bytes, or 404: clients differ. 204.
	EmptyTile int
	// Glyphs is the address of the glyphs that names on maps are drawn with,
	// with {fontstack} and {range}, for /style.json. Empty means fonts that the
	// client has.
	Glyphs string
	// PinTiles makes TileJSON name tiles by addresses that never change; see
	// getPinnedTile. Clients choose by pinned=.
	PinTiles bool
	// CacheBytes bounds the cache of finished tiles. 0 keeps none.
	CacheBytes int64
}

// tileRoom answers with tiles, and with what describes them.
type tileRoom struct {
	*kit
	tileConfig
	responses *responseCache[tileKey]
	layerSets layerCache
}

func newTileRoom(k *kit, cfg tileConfig) *tileRoom {
	s := &tileRoom{kit: k, tileConfig: cfg, responses: newResponseCache[tileKey](cfg.CacheBytes)}
	watchCache(k, "tiles", s.responses)
	return s
}

func (s *tileRoom) routes() []route {
	return []route{
		{path: "/tiles/:layers/:z/:x/:file", handle: s.getTile, cost: mixed},
		{path: "/tiles/:file", handle: s.getTileJSON, cost: light, query: takes("pinned")},
		{path: "/g/:generations/tiles/:layers/:z/:x/:file", handle: s.getPinnedTile, cost: mixed},
		{path: "/style.json", handle: s.getStyle, cost: light, query: takes("layers", "theme", "names")},
	}
}

var errTileEmpty = errors.New("tile is empty")

var tileKinds = []kind{
	{err: errTileEmpty, status: http.StatusNotFound, typ: "tile-empty", title: "There is nothing in this tile",
		detail: "Show nothing here; the server can answer 204 or an empty 200 instead, by --empty-tile."},
	{err: raster.ErrTooComplex, status: http.StatusUnprocessableEntity, typ: "tile-too-complex", title: "The tile is too complex to be drawn",
		detail: "Ask for fewer layers, or for the vector tile by .mvt."},
}

// getTile answers GET /tiles/{layers}/{z}/{x}/{y}.{geojson,mvt,pbf,png} and
// {y}@2x.png.
//
// An empty tile is 204 as a vector tile, an empty FeatureCollection as GeoJSON
// and a transparent image as PNG, since maps show 204 as a broken picture. A
// tile outside the grid is 404, and so is a layer that does not exist; z, x or
// y that are not numbers are 400.
func (s *tileRoom) getTile(c echo.Context) error {
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
func (s *tileRoom) sendTile(c echo.Context, v *view, layers string, t quadkey.Tile, f form, cache []string) error {
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
	absent := f == formMVT && s.EmptyTile == http.StatusNotFound // if it is empty
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
	if res.body == nil {
		return s.sendEmptyTile(c, res, cache)
	}
	return s.sendKept(c, res, cache)
}

// sendEmptyTile answers with a kept tile that has nothing in it.
func (s *tileRoom) sendEmptyTile(c echo.Context, f *finished, cache []string) error {
	if s.EmptyTile == http.StatusNotFound {
		return errTileEmpty
	}
	h := c.Response().Header()
	s.keptHeaders(h, f, cache)
	status := http.StatusNoContent
	if s.EmptyTile == http.StatusOK {
		h["Content-Type"] = contentTypes[f.form]
		h["Content-Length"] = lengthHeader(0)
		status = http.StatusOK
	}
	c.Response().WriteHeader(status)
	return nil
}

// errCompressionBusy says that a tile is too large to be compressed without a heavy
// place, and that there is none.
var errCompressionBusy = errors.New("no place to compress a large tile")

// tileTag returns the entity tag of a tile; absent says that it is 404 if it is
// empty. A tile that is 404 must not have the tag that an empty tile has in the
// other modes, or that tag would be answered 304 for 404.
func (s *tileRoom) tileTag(key *tileKey, set *layerSet, absent bool) tag {
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
	t, err := gridTile(z, x, file[:dot])
	return t, f, err
}

// makeTile reads a tile and keeps the finished response. Requests for the same
// tile share one reading, so it goes on when the client that caused it leaves.
func (s *tileRoom) makeTile(ctx context.Context, v *view, set *layerSet, t quadkey.Tile, key tileKey, etag tag) (*finished, error) {
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

// view is what a request for tiles sees: one generation of each data set they
// are made from.
type view struct {
	boundaries pinned[Boundaries]
	places     pinned[Places]
	airports   pinned[Airports]
}

// pinTiles pins all, since a list of layers may name any. Whoever calls it
// releases the view.
func (s *tileRoom) pinTiles() view {
	return view{boundaries: pin(s.Boundaries), places: pin(s.Places), airports: pin(s.Airports)}
}

func (v *view) release() {
	v.boundaries.release()
	v.places.release()
	v.airports.release()
}
