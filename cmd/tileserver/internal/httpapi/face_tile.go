package httpapi

import "quadrille/cmd/tileserver/internal/tile"

func init() {
	register(Face{
		Name: "tile", Order: 10, Kinds: tile.Kinds,
		New: func(p *Parts) Handlers {
			return tile.New(p.Kit, tile.Config{
				EmptyTile: p.Config.EmptyTile, Glyphs: p.Config.Glyphs, PinTiles: p.Config.PinTiles,
				CacheBytes: p.Config.tileBytes(), BaseMaps: p.Config.BaseMaps,
			})
		},
	})
}
