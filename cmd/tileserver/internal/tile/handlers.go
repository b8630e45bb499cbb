package tile

import (
	"cmp"
	"net/http"

	"quadrille/cmd/tileserver/internal/basemaps"
	"quadrille/cmd/tileserver/internal/bytecache"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/tiles/raster"
)

// Config says how tiles are served. Zero fields mean the defaults named.
type Config struct {
	// EmptyTile is the status of a vector tile that has nothing in it, since
	// clients differ: 204, which is the default, 200 with no bytes, or 404.
	EmptyTile int
	// Glyphs is the address of the glyphs for names on maps, with {fontstack} and
	// {range}, for /style.json. Empty means fonts of the client.
	Glyphs string
	// PinTiles makes TileJSON name tiles by addresses that never change; see
	// getPinnedTile. Clients choose by pinned=.
	PinTiles bool
	// CacheBytes bounds the cache of finished tiles. With 0 nothing is cached.
	CacheBytes int64
	// BaseMaps lie under the layers in styles.
	BaseMaps basemaps.Maps
}

// Handlers answers with tiles and with documents that describe them.
type Handlers struct {
	*web.Kit
	Config
	kept      *web.ResponseCache[tileKey]
	layerSets *bytecache.Cache[layerKey, *layerSet]
}

// New returns the handlers. An EmptyTile of 0 means status 204. It keeps finished tiles in up to
// CacheBytes of memory.
func New(k *web.Kit, cfg Config) *Handlers {
	cfg.EmptyTile = cmp.Or(cfg.EmptyTile, http.StatusNoContent)
	s := &Handlers{
		Kit: k, Config: cfg, kept: web.NewResponseCache[tileKey](k, "tiles", cfg.CacheBytes),
		layerSets: bytecache.NewOfLarge[layerKey, *layerSet](layerSetBytes),
	}
	s.kept.Total = true
	return s
}

// Kinds are the problems of tile matrix sets and of pictures.
var Kinds = []web.ProblemKind{
	{Err: errNoTileMatrixSet, Status: http.StatusNotFound, Type: "tile-matrix-set-not-found", Title: "There is no such tile matrix set",
		Detail: "Use WebMercatorQuad, the one that /ogc/tileMatrixSets lists."},
	{Err: raster.ErrTooComplex, Status: http.StatusUnprocessableEntity, Type: "tile-too-complex", Title: "The tile is too complex to be drawn",
		Detail: "Ask for fewer layers, or for the vector tile by .mvt."},
}
