// Package raster draws map tiles as PNG images from vector tiles, for clients
// that show pictures only.
//
// A [Renderer] takes the bytes of a vector tile and gives back an image of 256
// pixels, or 512 for screens of double density, transparent where there is
// nothing. What a layer looks like follows from its name by a [Style]: polygons
// of layer T are filled, each feature in a colour made of its id; lines of
// T_line are stroked; points of T_label are names. Points of any other layer
// are dots with names. Where the style gives a type a share, each zoom shows three
// times as many of its points as the one before, by their attribute "rank".
//
// # Tiles meet without a seam
//
// No pixel depends on which tile it is drawn in:
//
//   - Polygons and lines come with a buffer, are drawn with it and cropped, so
//     the coverage of a pixel at the rim is that of the whole shape. Strokes are
//     narrower than the buffer.
//   - Neighbours in a layer are added up before they are laid over what is
//     beneath, since two half-covered pixels laid over one another would let the
//     ground shine through along every border.
//   - A name near an edge is drawn by both tiles. Whether it is drawn at all is
//     decided by a rule that looks no further than a name reaches: it gives way
//     to any name of higher priority it would touch, whether that one is drawn
//     or not. Names reach at most [Reach] pixels from their point, so all that
//     decides about a tile's names lies in the tile and the eight around it.
//
// # Limits
//
// Input may come from anywhere: coordinates are clipped before they are drawn,
// and a tile that would take more than a bounded amount of work is refused with
// [ErrTooComplex]. A tile in the making takes about 8 MiB at double density,
// which is kept for the next; callers bound how many they draw at once.
package raster
