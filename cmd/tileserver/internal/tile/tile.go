// Package tile serves tiles as vectors, GeoJSON and images, and the TileJSON and the styles that
// describe them.
package tile

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/layertile"
)

// getTile answers GET /tiles/{layers}/{z}/{x}/{y}.{geojson,mlt,mvt,pbf,png} and {y}@2x.png, and {y}
// in the form that the Accept header prefers. Pictures have the parameter theme.
//
// An empty vector tile is answered with 204, empty GeoJSON with an empty FeatureCollection, and an
// empty PNG with an image of water, because maps show 204 as a broken picture. A tile outside the
// grid and an unknown layer give 404. If z, x or y is not a number, the status is 400.
func (s *Handlers) getTile(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	t, f, byAccept, err := parseTile(c.Request(), values[1:])
	if err != nil {
		return err
	}
	v := viewOf(q.View())
	defer v.release()
	v.double = doubledBy(q, f.IsPicture(), t.Z)
	return s.sendTile(c, q, v, values[0], t, f, manner{cache: s.CacheControl, byAccept: byAccept})
}

// manner is the way in which an endpoint answers with tiles.
type manner struct {
	cache []string // Cache-Control
	// byAccept is set if the Accept header selected the form.
	byAccept bool
	// ofTileset is set if the tile belongs to a tileset of OGC API. A tile outside the
	// limits of the tileset does not exist, and an empty one is never 404.
	ofTileset bool
}

// sendTile answers with a tile of the layers in a list, of the generations in v.
func (s *Handlers) sendTile(c echo.Context, q *endpoint.Params, v *view, layers string, t quadkey.Tile, f web.Format, how manner) error {
	r := c.Request()
	v.naming = layertile.Names{Lang: langOf(q, endpoint.Names), Instead: f.IsPicture()}
	v.color = coloringOf(q, f.IsPicture())
	if !f.IsPicture() {
		v.fields = chosenFields(q)
	}
	look, err := pictureTheme(q, f)
	if err != nil {
		return err
	}
	set, err := s.resolveLayers(r.Context(), v, layers)
	if err != nil {
		return err
	}
	set = set.colored(v)
	if how.ofTileset && int(t.Z) > set.deepest(f.IsPicture()) {
		return errBeyondLimits
	}
	if err := v.filter(q, set); err != nil {
		return err
	}
	v.spare(set, f)
	var memory [4]uint64
	key, from, live := s.keyOf(v, set, t, f, memory[:0])
	key.theme = look
	if live {
		how.cache = web.NoStore
		return s.sendLive(c, v, set, t, &key, how)
	}
	if !f.IsPicture() {
		key.coding = web.AcceptedCacheCoding(r)
	}
	for {
		a := web.Answer{Format: f, Tag: key.tag(), Coding: key.coding, CacheControl: how.cache, ByAccept: how.byAccept,
			EmptyStatus: s.empty(f, how)}
		err = s.kept.Send(c, key, &a, from, func(ctx context.Context, out *web.Scratch) (*web.CachedResponse, error) {
			return s.makeTile(ctx, out, v, set, t, &key, &a)
		})
		if !errors.Is(err, errCompressionBusy) {
			return err
		}
		key.coding = web.Identity // a large tile is better sent as it is than refused
	}
}

// empty returns the status of an empty tile.
func (s *Handlers) empty(f web.Format, how manner) int {
	if s.EmptyTile == http.StatusNotFound && (how.ofTileset || !vectors(f)) {
		return http.StatusNoContent
	}
	return s.EmptyTile
}

// keyOf returns the key of a tile in its current state, appends its generations to ids, and reports
// whether the tile must not be cached.
func (s *Handlers) keyOf(v *view, set *layerSet, t quadkey.Tile, f web.Format, ids []uint64) (key tileKey, from []uint64, live bool) {
	from, live = v.from(set, ids)
	from, joinsLive := v.joinedFrom(v.joined, from)
	from, filtersLive := v.joinedFrom(v.filters.joins(), from)
	live = live || joinsLive || filtersLive
	if v.naming.Lang != "" && len(set.selectors) > 0 {
		from = append(from, v.Names.ID)
	}
	h := s.ETagSeed
	// A vector tile that is 404 when it is empty must not have the ETag of an empty tile in the
	// other modes. Otherwise a request with this ETag would get 304 instead of 404.
	if vectors(f) && s.EmptyTile == http.StatusNotFound {
		h = h.Number(http.StatusNotFound)
	}
	h = h.Number(uint64(set.hash))
	for _, id := range from {
		h = h.Number(id)
	}
	if v.naming.Lang != "" {
		h = h.Bytes("names").Bytes(v.naming.Lang)
	}
	if v.double {
		h = h.Number(512) // no generation has this number
	}
	if v.inDegrees {
		h = h.Number(84)
	}
	return tileKey{
		lang:   v.naming.Lang,
		filter: v.filters.key(set),
		layers: set.canonical,
		fields: set.fieldsText(),
		color:  v.color.query(),
		from:   h,
		tile:   uint64(t.Z)<<58 | t.Packed(),
		form:   f,
		coding: web.Identity,
	}, from, live
}

// errCompressionBusy is matched if a tile is too large to be compressed without a heavy place, and
// no such place is free.
var errCompressionBusy = errors.New("no place to compress a large tile")

// vectors reports whether a form is one of vector tiles. Such tiles can be concatenated.
func vectors(f web.Format) bool { return f == web.FormatMVT || f == web.FormatMLT }

// acceptable lists the forms among which an Accept header selects. If it prefers none, the first
// one is used. MapLibre Tiles also have an older name.
var acceptable = []ogcapi.Format{
	mvtFormat,
	mltFormat,
	{Type: "application/vnd.maplibre-vector-tile", Format: web.FormatMLT},
	geojsonFormat,
	pngFormat,
}

// parseTile reads the part of a tile's address after the layers: z, x and y, with the
// extension of a form or without one.
func parseTile(r *http.Request, values []string) (t quadkey.Tile, f web.Format, byAccept bool, err error) {
	z, x, file := values[0], values[1], values[2]
	dot := strings.LastIndexByte(file, '.')
	if dot < 0 {
		if t, err = endpoint.ParseGridTile(z, x, file); err != nil {
			return t, 0, false, err
		}
		return t, ogcapi.AcceptedFormat(r, acceptable).Format, true, nil
	}
	switch file[dot+1:] {
	case "mvt", "pbf":
		f = web.FormatMVT
	case "mlt":
		f = web.FormatMLT
	case "geojson":
		f = web.FormatGeoJSON
	case "png":
		f = web.FormatPNG
		if base, ok := strings.CutSuffix(file[:dot], "@2x"); ok {
			f, dot = formPNG2x, len(base)
		}
	default:
		return t, 0, false, web.ErrFormat
	}
	if strings.Contains(file[:dot], "@") {
		return t, 0, false, web.ErrFormat
	}
	t, err = endpoint.ParseGridTile(z, x, file[:dot])
	return t, f, false, err
}

// makeTile reads a tile and finishes it.
func (s *Handlers) makeTile(ctx context.Context, out *web.Scratch, v *view, set *layerSet, t quadkey.Tile, key *tileKey,
	a *web.Answer) (*web.CachedResponse, error) {
	var err error
	if out.Body, err = s.appendTile(ctx, out.Body, v, set, t, key); err != nil {
		return nil, err
	}
	var res *web.CachedResponse
	if s.RunHeavy(ctx, a.Coding != web.Identity && len(out.Body) > lightBody, func() error {
		res = web.NewCachedResponse(a, out.Body)
		return nil
	}) != nil {
		return nil, errCompressionBusy
	}
	return res, nil
}

// appendTile appends a tile in the form and the theme of a key.
func (s *Handlers) appendTile(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile, key *tileKey) ([]byte, error) {
	left := mostNames
	v.naming.Left = &left
	painted, err := s.color(ctx, v, set, v.color, theme.Themes[key.theme], false)
	if err != nil {
		return dst, err
	}
	ctx = s.withHeavy(ctx, v, set, key.form)
	vector := func(dst []byte) ([]byte, error) {
		err := s.RunHeavy(ctx, v.inDegrees, func() (err error) {
			dst, err = appendLayers(ctx, dst, v, set, t, (*tiles.Reader).AppendMVT)
			return err
		})
		return dst, err
	}
	switch key.form {
	case web.FormatMVT:
		return vector(dst)
	case web.FormatMLT:
		return appendMLT(dst, vector)
	case web.FormatPNG, formPNG2x:
		err = s.RunHeavy(ctx, true, func() (err error) {
			dst, err = s.appendPNG(ctx, dst, v, set, t, key.form, key.theme, painted)
			return err
		})
		return dst, err
	}
	return appendGeoJSON(ctx, dst, v, set, t)
}

// sendLive answers with a tile that is valid only at this moment and may not be cached.
func (s *Handlers) sendLive(c echo.Context, v *view, set *layerSet, t quadkey.Tile, key *tileKey, how manner) error {
	r, f := c.Request(), key.form
	ctx, cancel := context.WithTimeout(s.WithClientOf(r.Context(), c), s.Timeout)
	defer cancel()
	b := web.GetScratch()
	defer b.Release()
	read, end := s.TraceRead(ctx)
	var err error
	b.Body, err = s.appendLive(read, b.Body, v, set, t, key)
	end()
	if err != nil {
		return err
	}
	a := web.Answer{Format: f, CacheControl: how.cache, ByAccept: how.byAccept, EmptyStatus: s.empty(f, how)}
	if !f.IsPicture() {
		a.Coding = web.AcceptedCoding(r)
	}
	return s.Send(c, a, b)
}

// appendLive appends a tile with live collections. Its other layers come from the tile without
// these collections, which may be cached. Pictures are drawn as a whole.
func (s *Handlers) appendLive(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile, asked *tileKey) ([]byte, error) {
	f := asked.form
	kept, live := v.divide(set)
	ids, joinsLive := v.joinedFrom(v.joined, nil)
	if _, filtersLive := v.joinedFrom(v.filters.joins(), ids); filtersLive || f.IsPicture() || kept.canonical == "" || joinsLive {
		return s.appendTile(ctx, dst, v, set, t, asked)
	}
	key, _, _ := s.keyOf(v, kept, t, f, nil)
	a := web.Answer{Format: f, Tag: key.tag()}
	res, err := s.kept.Get(ctx, key, func(ctx context.Context, out *web.Scratch) (*web.CachedResponse, error) {
		return s.makeTile(ctx, out, v, kept, t, &key, &a)
	})
	if err != nil {
		return dst, err
	}
	dst = append(dst, res.Body...)
	switch f {
	case web.FormatMVT:
		return appendPoints(s.withHeavy(ctx, v, set, f), dst, v, live, t)
	case web.FormatMLT:
		return appendMLT(dst, func(layers []byte) ([]byte, error) {
			return appendPoints(s.withHeavy(ctx, v, set, f), layers, v, live, t)
		})
	}
	dst = dst[:len(dst)-len(listing.CollectionTail)]
	return appendPointFeatures(s.withHeavy(ctx, v, set, f), dst, v, live, t)
}

// lightBody is the largest cached answer, in bytes, that is compressed without a heavy place.
// Compressing a vector tile takes 90 ms per MB.
const lightBody = 192 << 10

// appendGeoJSON appends a FeatureCollection: first the regions, unchanged as stored, then points.
func appendGeoJSON(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile) ([]byte, error) {
	dst = append(dst, listing.CollectionHead...)
	if len(set.selectors) > 0 {
		b, err := v.Boundaries.ReaderOf(set.types...)
		if err != nil {
			return dst, err
		}
		selectors, err := set.withColumns(ctx, v, b)
		if err != nil {
			return dst, err
		}
		if dst, err = b.AppendGeoJSON(ctx, dst, t, selectors); err != nil {
			return dst, err
		}
	}
	return appendPointFeatures(ctx, dst, v, set, t)
}

// appendPointFeatures appends the features of the layers of points behind those
// that are there, and the end of the FeatureCollection.
func appendPointFeatures(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile) ([]byte, error) {
	for _, p := range v.of(set) {
		l, err := v.tiler(p)
		if err != nil {
			return dst, err
		}
		if dst, err = appendTileGeoJSON(ctx, dst, p.LayerInfo.Drawing, l, t, v.filters.of[p.LayerInfo.Name], v.naming, set.fields); err != nil {
			return dst, err
		}
	}
	return append(dst, listing.CollectionTail...), nil
}
