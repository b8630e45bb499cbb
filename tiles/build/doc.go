// Package build makes the rows of region borders that package tiles reads.
//
// [Run] puts every border on one integer grid, the world 2²⁵ units wide, so that a
// zoom-13 tile is 4096 units across, and lays the borders of all regions of all
// layers into one arrangement of lines that meet at vertices only. A border that two
// regions share, of one type or of two, is one line. Rings that cross or overlap are
// mended. For each zoom above 13 the arcs between junctions are simplified without
// moving a line across another, and the arrangement is rounded to the zoom's grid,
// 4096 steps a tile, with a vertex wherever it crosses a tile line (levels.go).
// Neighbours therefore neither gap nor overlap at any zoom, in a tile or across
// tiles. The arithmetic is that of internal/grid.
//
// A region is then a chain of directed edges whose winding number says what is
// inside, and the quadtree is walked depth first with only the edges that meet each
// tile (node.go).
package build
