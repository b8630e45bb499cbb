// Package build writes the rows of region borders that package tiles reads.
//
// [Run] puts every border on one integer grid. The world is 2²⁵ units wide, so
// a zoom-13 tile is 4096 units across. The borders of all regions of all layers
// become one arrangement of lines that meet at vertices only. A border that two
// regions share is one line, even if the regions are of two types. Rings that
// cross or overlap are repaired. For each of zooms 0 to 12 the arcs between
// junctions are simplified without moving one line across another. The
// arrangement is then rounded to the zoom's grid, 4096 steps a tile, with a
// vertex wherever it crosses a tile line (levels.go). Neighbours therefore
// neither gap nor overlap at any zoom, in a tile or across tiles. The
// arithmetic is in internal/grid.
//
// Regions that share a border get different colours for maps (colors.go).
//
// A region is then a chain of directed edges. A point is inside if its winding number is positive.
// The quadtree is walked depth first, and each tile gets only the edges that meet it (node.go).
package build
