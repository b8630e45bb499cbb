// Package voronoi finds the nearest of many positions with one read of a table. The table divides
// the whole world into leaves: no leaf lies in another, and every point is in exactly one. A leaf
// lists each position that is the nearest one to some point of its tile. Comparing their distances
// therefore finds the nearest position to any point there.
//
// # Table
//
// All numbers are big-endian. A [Layout] has the lengths of ids and notes.
//
//	row     quadkey.Key of the tile
//	family  that of the Layout, empty qualifier
//	value   id │ lat (4) │ lon (4) │ note   …, one for each position
//
// lat and lon are int32 of 1e-7 degrees. The row of a leaf that lists nothing says that its list
// would be too long: another index has to answer there. One seek finds the leaf that holds a point:
// the first row at or after the key of the point's cell. See the proof in package quadkey.
//
// # Which positions a leaf lists
//
// On the unit sphere a point p is nearer to position a than to b if and only if (b−a)·p < 0. So a
// makes b superfluous on a tile if the greatest value of that product over the tile is negative. On
// a box of longitudes and latitudes the maximum has a closed form ([ground.maxDot]). Tiles of the
// top and bottom rows extend to the pole. A position is left out only if another is nearer by more
// than rounding could matter. Positions that tie therefore both stay, and the answer equals that of
// comparing [quadkey.Distance] with every position.
//
// Tiles are divided until they list eight positions or fewer, or are of zoom 16. Two kinds are not
// divided so far, because it would not help: tiles with a few positions that stay the same in
// smaller and smaller tiles, and tiles of the top and bottom rows, which become thin and all touch
// the pole.
//
// # Memory
//
// A build holds all positions, 20 bytes each, and the ones around the present tile. Its time is
// bounded too, however the positions lie: see [Division].
package voronoi
