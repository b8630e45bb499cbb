// Package mvt writes and reads Mapbox Vector Tiles, version 2.1 of the
// published specification, without decoding what it does not need.
//
// A tile is a concatenation of layers, so tiles are joined by appending: a
// [Layer] appends itself to a buffer, and a reader walks a buffer layer by
// layer. Coordinates are integers in the layer's extent (4096 here, unless a
// layer says otherwise) with the origin in the tile's north-west corner, x to
// the east and y to the south; the buffer around a tile has coordinates below
// 0 and above the extent.
//
// Exterior rings have a positive area by the surveyor's formula in these axes
// (clockwise on a screen), interior rings a negative one. The writer takes
// rings as they are and closes them; producing valid rings is the caller's
// part.
package mvt
