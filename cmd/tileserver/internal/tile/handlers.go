package tile

import (
	"cmp"
	"net/http"

	"quadrille/cmd/tileserver/internal/basemaps"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/bytecache"
	"quadrille/tiles/raster"
)

// Config configures how tiles are served. Zero fields mean the documented defaults.
type Config struct {
	// EmptyTile is the status of an empty vector tile: 204, which is the default, 200 with no
	// bytes, or 404. It can be chosen because clients differ.
	EmptyTile int
	// Glyphs is the address of the glyphs for names on maps, with {fontstack} and
	// {range}, for /style.json. Empty means fonts of the client.
	Glyphs string
	// PinTiles makes TileJSON give permanent addresses of tiles, whose content never changes; see
	// getPinnedTile. Clients can override it with pinned=.
	PinTiles bool
	// CacheBytes bounds the cache of finished tiles. With 0 nothing is cached.
	CacheBytes int64
	// BaseMaps are drawn below the layers in styles.
	BaseMaps basemaps.Maps
}

// Handlers has the handlers of tiles and of documents that describe them.
type Handlers struct {
	*web.Kit
	Config
	kept        *web.ResponseCache[tileKey]
	layerSets   *bytecache.Cache[layerKey, *layerSet]
	classesKept *bytecache.Cache[classesKey, *keptClasses]
}

// New returns the handlers. The handlers cache finished tiles in up to CacheBytes of memory. An
// EmptyTile of 0 means status 204.
func New(k *web.Kit, cfg Config) *Handlers {
	cfg.EmptyTile = cmp.Or(cfg.EmptyTile, http.StatusNoContent)
	s := &Handlers{
		Kit: k, Config: cfg, kept: web.NewResponseCache[tileKey](k, "tiles", cfg.CacheBytes),
		layerSets:   bytecache.NewOfLarge[layerKey, *layerSet](layerSetBytes),
		classesKept: bytecache.NewOfLarge[classesKey, *keptClasses](layerSetBytes),
	}
	s.kept.Total = true
	return s
}

// Kinds are the problems of tile matrix sets and of pictures.
var Kinds = []web.ProblemKind{
	{Err: errNoTileMatrixSet, Status: http.StatusNotFound, Type: "tile-matrix-set-not-found", Title: "There is no such tile matrix set",
		Detail: "Use WebMercatorQuad or WorldCRS84Quad, as /ogc/tileMatrixSets lists them."},
	{Err: raster.ErrTooComplex, Status: http.StatusUnprocessableEntity, Type: "tile-too-complex", Title: "The tile is too complex to be drawn",
		Detail: "Ask for fewer layers, or for the vector tile by .mvt."},
}
