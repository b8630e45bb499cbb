// Package raster draws map tiles as PNG images from vector tiles, for clients
// that cannot draw vectors.
//
// A [Renderer] turns the bytes of a vector tile into an image of 256 pixels, or 512 for screens of
// double density. Pixels without a shape are transparent, or water if the tile has FillSea set. A
// [Style] gives each layer its look by the layer's name. Polygons of layer T are filled, each
// feature in the colour of its number map_color, or else one derived from its id. Lines of T_line
// are stroked. Points of T_label are names. Points of any other layer are dots with names. The
// style decides by their attribute "rank" which of them a zoom shows.
//
// # Tiles meet without a seam
//
// No pixel depends on which tile it is drawn in:
//
//   - Polygons and lines come with a buffer. They are drawn with it and then
//     cropped, so a pixel at the rim has the coverage of the whole shape.
//     Strokes are narrower than the buffer.
//   - Shapes of a layer are added up before they are blended with what is
//     beneath. Two half-covered pixels blended one after the other would let
//     the ground shine through along every border.
//   - A name near an edge is drawn by both tiles, which must agree whether to
//     draw it. It is not drawn if it would touch any name of higher priority,
//     whether that name is drawn or not. Names extend at most [MaxNameReachPx] pixels
//     from their point, so only names in the tile and the eight around it count.
//
// # Limits
//
// Input may come from anywhere. Coordinates are clipped before they are drawn,
// and a tile that would take too much work is refused with [ErrTooComplex].
// Drawing a tile takes about 8 MiB at double density, which is reused for the
// next tile. Callers bound how many tiles they draw at once.
package raster
