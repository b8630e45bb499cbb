package tile

import (
	"cmp"
	_ "embed"
	"errors"
	"html"
	"html/template"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
)

// This file serves OGC API – Tiles 1.0. The tiles are the same as those below /tiles, but have
// other addresses, with the row before the column.

// These parameters select the format of a tile.
var (
	fVectorTileParam = ogcapi.FormatParam("The format, instead of by `Accept`; json is GeoJSON.", vectorTiles.formats).WithExample("json")
	fMapTileParam    = ogcapi.FormatParam("The format, instead of by `Accept`.", mapTiles.formats)
)

// tiledBy returns the collections and layers that a tileset request names in its path, or else in
// the parameter collections.
func (s *Handlers) tiledBy(c echo.Context, q *endpoint.Params, v *view) (of tiled, err error) {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return of, err
	}
	if strings.Contains(c.Path(), "/collections/:") {
		of.collection, of.rest = values[0], values[1:]
		of.layers = of.collection
		return of, v.isTiled(of.collection)
	}
	of.rest = values
	of.selection = tiledCollectionsParam.Of(q)
	if tiledCollectionsParam.Given(q) && of.selection == "" {
		q.Refuse("collections", "List at least one collection in collections, or leave it out for all.")
	}
	if q.Err != nil {
		return of, q.Err
	}
	if of.selection == "" {
		of.layers = v.whole()
		return of, nil
	}
	names := strings.Split(of.selection, ",")
	for i, name := range names {
		// The standard also allows addresses of collections here.
		names[i] = name[strings.LastIndexByte(name, '/')+1:]
		if err := v.isTiled(names[i]); err != nil {
			return of, err
		}
	}
	of.selection = strings.Join(names, ",")
	of.layers = of.selection
	return of, nil
}

// isTiled returns an error if a collection has no tiles.
func (v *view) isTiled(collection string) (err error) {
	if name, ok := strings.CutPrefix(collection, ask.PointsPrefix); ok {
		_, err = v.TiledCollection(name)
	} else if p := v.single(collection); p != nil {
		err = p.Err
	} else if b, berr := v.Boundaries.ReaderOf(collection); berr != nil || !b.Has(collection) {
		err = cmp.Or(berr, ask.ErrNoLayer)
	}
	if ask.IsNoLayer(err) {
		return ogcapi.ErrNoCollection
	}
	return err
}

// whole returns the layers of the tilesets of all data: "all" or, if there are no other data, the
// collections of points.
func (v *view) whole() string {
	if _, _, err := v.all(); errors.Is(err, ask.ErrMissing) {
		if names := v.addPublic(); names != nil {
			return strings.Join(names, ",")
		}
	}
	return allLayers
}

// tile reads the tile matrix, the row and the column of a tile. It returns the tile of Web Mercator with
// these numbers, or the one that package platecarree names by them.
func (set *TileMatrixSet) tile(values []string) (quadkey.Tile, error) {
	var numbers [3]int
	for i, name := range [...]string{"tileMatrix", "tileRow", "tileCol"} {
		n, ok := endpoint.ParseGridNumber(values[i])
		if !ok {
			return quadkey.Tile{}, endpoint.Refuse(endpoint.ErrParameter, name,
				"Set "+name+" to a whole number, as in /ogc/tiles/WebMercatorQuad/3/2/4.")
		}
		numbers[i] = n
	}
	z, y, x := numbers[0], numbers[1], numbers[2]
	if z < 0 || z >= len(set.TileMatrices) || y >= set.TileMatrices[z].MatrixHeight {
		return quadkey.Tile{}, errBeyondLimits
	}
	t, err := quadkey.NewTile(z+set.deeper, x, y)
	if err != nil {
		return quadkey.Tile{}, errBeyondLimits
	}
	return t, nil
}

// formatsIn returns the formats of the tiles in a tile matrix set. GeoJSON is as exact as the data, which
// tiles that are cut from others are not.
func (k *tilesetKind) formatsIn(set *TileMatrixSet) []ogcapi.Format {
	if set.deeper == 0 {
		return k.formats
	}
	return k.inDegrees
}

// choose does the same as ogcapi.ChooseFormat, for tiles. Addresses from the templates of tilesets have
// only f, which needs no decoding.
func (k *tilesetKind) choose(q *endpoint.Params, r *http.Request, set *TileMatrixSet) (f ogcapi.Format, byAccept bool, err error) {
	if name, ok := strings.CutPrefix(r.URL.RawQuery, "f="); ok {
		for _, f := range k.formatsIn(set) {
			if f.Name == name {
				return f, false, nil
			}
		}
	}
	return ogcapi.ChooseFormat(q, r, k.formatsIn(set))
}

// getTileOf answers GET …/tiles/{tileMatrixSet}/{tileMatrix}/{tileRow}/{tileCol} with the same tile
// as getTile for the same layers.
func (s *Handlers) getTileOf(k *tilesetKind) endpoint.Handler {
	return func(c echo.Context, q *endpoint.Params) error {
		v := viewOf(q.View())
		defer v.release()
		of, err := s.tiledBy(c, q, v)
		if err != nil {
			return err
		}
		set, err := matrixSetOf(of.rest[0])
		if err != nil {
			return err
		}
		t, err := set.tile(of.rest[1:])
		if err != nil {
			return err
		}
		v.inDegrees = set == worldCRS84()
		format, byAccept, err := k.choose(q, c.Request(), set)
		if err != nil {
			return err
		}
		return s.sendTile(c, q, v, of.layers, t, format.Format, manner{cache: s.CacheControl, byAccept: byAccept, ofTileset: true})
	}
}

//go:embed tilesets.html
var tilesetsText string

var tilesetsTemplates = template.Must(template.New("").Funcs(template.FuncMap{"text": html.UnescapeString}).Parse(tilesetsText))

// document returns a document that browsers get as an HTML page, made from a part of tilesets.html.
func document(part, title string, json, data any) *ogcapi.Document {
	return &ogcapi.Document{Title: title, JSON: json, Format: web.FormatJSON, Templates: tilesetsTemplates, Template: part, Data: data}
}

// Tilesets is the list of the tilesets of one kind.
type Tilesets struct {
	_        struct{}      `doc:"A list of tilesets."`
	Links    []ogcapi.Link `json:"links"`
	Tilesets []*Tileset    `json:"tilesets"`
}

// getTilesets answers GET …/tiles with the list of tilesets, one for each tile matrix set.
func (s *Handlers) getTilesets(k *tilesetKind) endpoint.Handler {
	return s.describeTileset(k, func(all []*Tileset, of *tiled, base string) *ogcapi.Document {
		for _, t := range all {
			t.Layers = nil // the tileset itself has them
		}
		at := of.address(base, k)
		list := &Tilesets{Tilesets: all, Links: []ogcapi.Link{
			{Href: at + of.ask("json"), Rel: "self", Type: ogcapi.TypeJSON, Title: "This list"},
			{Href: at + of.ask("html"), Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This list as a page"},
		}}
		return document("tilesets", all[0].Title, list, map[string]any{"Title": all[0].Title, "Tilesets": all})
	})
}

// getTileset answers GET …/tiles/{tileMatrixSet} with the metadata of a tileset.
func (s *Handlers) getTileset(k *tilesetKind) endpoint.Handler {
	return s.describeTileset(k, func(all []*Tileset, of *tiled, base string) *ogcapi.Document {
		return document("tileset", all[0].Title, all[0], all[0].page(of, base))
	})
}

// describeTileset answers with a document about the tilesets of the tile matrix set in the path, or of all.
func (s *Handlers) describeTileset(k *tilesetKind, describe func([]*Tileset, *tiled, string) *ogcapi.Document) endpoint.Handler {
	return func(c echo.Context, q *endpoint.Params) error {
		v := viewOf(q.View())
		defer v.release()
		of, err := s.tiledBy(c, q, v)
		if err != nil {
			return err
		}
		matrices := matrixSets()
		if len(of.rest) > 0 {
			one, err := matrixSetOf(of.rest[0])
			if err != nil {
				return err
			}
			matrices = []*TileMatrixSet{one}
		}
		set, err := s.resolveLayers(c.Request().Context(), v, of.layers)
		if err != nil {
			return err
		}
		base, err := s.BaseURL(c.Request())
		if err != nil {
			return err
		}
		if v.naming.Lang = langOf(q, endpoint.Names); q.Err != nil {
			return q.Err
		}
		if k == mapTiles {
			if v.color = coloringOf(q, true); q.Err != nil {
				return q.Err
			}
			set = set.colored(v)
		}
		if err := v.filter(q, set); err != nil {
			return err
		}
		v.spare(set, web.FormatMVT)
		of.names, of.filter = v.naming.Lang, v.query()
		if _, err := s.color(s.WithClientOf(c.Request().Context(), c), v, set, v.color, theme.Themes[0], false); err != nil {
			return err // as tiles would be refused
		}
		var all []*Tileset
		for _, m := range matrices {
			t, err := newTileset(c.Request().Context(), v, set, m, k, &of, base)
			if err != nil {
				return err
			}
			all = append(all, t)
		}
		h, _, live := s.describedBy(v, set, base)
		return ogcapi.Send(s.Kit, c, q, []uint64{uint64(h)}, live, describe(all, &of, base))
	}
}

// TileMatrixSets is the list of tile matrix sets.
type TileMatrixSets struct {
	_              struct{}         `doc:"The list of tile matrix sets."`
	Links          []ogcapi.Link    `json:"links"`
	TileMatrixSets []*matrixSetItem `json:"tileMatrixSets"`
}

type matrixSetItem struct {
	ID    string        `json:"id"`
	Title string        `json:"title"`
	URI   string        `json:"uri" schema:"format=uri"`
	CRS   string        `json:"crs" schema:"format=uri"`
	Links []ogcapi.Link `json:"links"`
}

// getTileMatrixSets answers GET /ogc/tileMatrixSets.
func (s *Handlers) getTileMatrixSets(c echo.Context, q *endpoint.Params) error {
	base, err := s.BaseURL(c.Request())
	if err != nil {
		return err
	}
	at := base + "/ogc/tileMatrixSets"
	list := &TileMatrixSets{
		Links: []ogcapi.Link{
			{Href: at + "?f=json", Rel: "self", Type: ogcapi.TypeJSON, Title: "This list"},
			{Href: at + "?f=html", Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This list as a page"},
		},
	}
	for _, set := range matrixSets() {
		list.TileMatrixSets = append(list.TileMatrixSets, &matrixSetItem{ID: set.ID, Title: set.Title, URI: set.URI, CRS: set.CRS,
			Links: []ogcapi.Link{{Href: at + "/" + set.ID + "?f=json", Rel: "self", Type: ogcapi.TypeJSON, Title: set.ID}}})
	}
	return ogcapi.Send(s.Kit, c, q, nil, false, document("matrixSets", "Tile matrix sets", list, list.TileMatrixSets))
}

// getTileMatrixSet answers GET /ogc/tileMatrixSets/{tileMatrixSet}.
func (s *Handlers) getTileMatrixSet(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	set, err := matrixSetOf(values[0])
	if err != nil {
		return err
	}
	return ogcapi.Send(s.Kit, c, q, nil, false, document("matrixSet", set.ID, set, set))
}
