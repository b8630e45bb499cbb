// Package mvt writes and reads Mapbox Vector Tiles of specification version
// 2.1. It decodes only what a caller asks for.
//
// A tile is a concatenation of layers, so tiles are joined by appending: a
// [Layer] appends itself to a buffer, and a reader walks a buffer layer by
// layer. Coordinates are integers in the layer's extent (4096 here, unless a
// layer says otherwise). The origin is the tile's north-west corner, with x to
// the east and y to the south. The buffer around a tile has coordinates below 0
// and above the extent.
//
// Exterior rings have a positive area by the shoelace formula in these axes (clockwise on a
// screen), interior rings a negative one. The writer closes rings but does not check them: the
// caller must pass valid rings.
package mvt
