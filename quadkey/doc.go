// Package quadkey divides the world into square Web-Mercator tiles and numbers them so that near
// points have near keys. It answers the geometric questions of an ordered store of such numbers:
// which tile holds a point, which key ranges cover a box or a circle, how far a tile is from a
// point.
//
// # Axes and units
//
// Coordinates are WGS84 degrees, always longitude before latitude in Go calls.
// Distances are metres along great circles of a sphere of [EarthRadius]. Tile
// columns (x) grow eastwards from ±180°, rows (y) grow southwards from
// [MaxLatitude]. Zoom z has 2^z columns and as many rows; zooms run from 0 (one
// tile, the world) to [MaxZoom].
//
// # Which tile a point is in
//
// Tiles are half-open: west and north edges belong to a tile, so every point is
// in one tile of each zoom. 180° is the same meridian as −180°. Points beyond
// ±MaxLatitude belong to the row at that edge. The tiles of that row therefore
// extend to the pole in every question about places, but are drawn only to
// MaxLatitude. Formally, a point is in the tile given by the integer part of
// its [Project] coordinates times 2^z. Project is rounded so that this agrees,
// to the last bit, with comparing the point's degrees to those of [Tile.Bound]:
//
//	West ≤ lon < East  and  South < lat ≤ North
//
// where North is 90 in the top row, and South is −90 and included in the bottom
// row.
//
// # Digits, packed quadkeys and cells
//
// A tile's quadkey has one base-4 digit per zoom, from the outermost inwards.
// A digit is 2·(bit of y) + (bit of x):
//
//	0 1      NW NE
//	2 3      SW SE
//
// The digits are thus the bits of x and y interleaved, y the higher of each
// pair: tile 3/6/1, with x = 110₂ and y = 001₂, is "112". [Tile.Packed] is the
// same as a number; "12301230" packs to 27756. A [Cell] is the packed number of
// a zoom-16 tile, about 611 m wide at the equator. It fills a uint32:
//
//	bit  31 30 29 28            3  2  1  0
//	     y  x  y  x   …         y  x  y  x
//	     └─┬─┘ └─┬─┘            └─┬─┘ └─┬─┘
//	     digit 1 digit 2       digit 15 digit 16
//
// Cells sort as their digit strings do. A tile at zoom z ≤ 16 with packed number
// p has exactly the cells that start with its digits, which is one contiguous
// range: first = p·4^(16−z), last = first + 4^(16−z) − 1.
//
// # Tile keys
//
// A [Key] names a tile of any zoom up to 16 in five bytes:
//
//	byte  0      1      2      3      4
//	     ├── last cell, big-endian ──┤ 255 − zoom
//
// Byte order then has the two properties that row layouts rely on. Let first(T)
// and last(T) be the ends of T's cell range.
//
// Descendants sort before their ancestor. Let D be a proper descendant of T.
// D's cells are among T's, so last(D) ≤ last(T). If it is less, D sorts first
// by the first four bytes. If it is equal, D's zoom is greater and its fifth
// byte less, so D sorts first again.
//
// A subtree is one contiguous key range: the keys from that of first(T), as a
// zoom-16 tile, to that of T itself are exactly the keys of T and its
// descendants. For a descendant D, first(T) ≤ last(D) ≤ last(T). If D meets an
// end, the fifth byte decides: no key of cell first(T) is below its zoom-16
// key, and D sorts before T as shown. Any other tile U is either disjoint from
// T, so last(U) is outside first(T)…last(T), or a proper ancestor of T, which
// sorts after T as shown.
//
// In a table keyed by tile, the first key at or after Key(T) is therefore T's
// own row if there is one. Otherwise it is the row of an ancestor that ends
// where T ends, or the row of a tile that ends further on. That tile is an
// ancestor of T or disjoint from it, never a descendant.
//
// # Concurrency and memory
//
// Everything here is a pure function of its arguments and safe for concurrent
// use. Only covers, strings, range keys and errors allocate.
package quadkey
