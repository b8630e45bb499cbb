// Package mlt writes MapLibre Tiles of version 1, which hold a vector layer as
// columns: a column of each attribute, and one of all geometry, where Mapbox Vector
// Tiles hold features one after another.
//
// The specification is at https://maplibre.org/maplibre-tile-spec. Of its encodings
// this package writes those that every decoder has: plain, delta, run lengths and
// delta of run lengths for integers, each as varints; plain and dictionaries for
// texts; plain and dictionaries for vertices. It leaves out those that are marked as
// experimental, FastPFOR and FSST.
//
// # Shared borders
//
// Neighbours have the vertices of their border in common, which the rings of the one
// pass in the opposite direction to those of the other. A dictionary of vertices in
// the order of their first appearance stores them once: the second ring counts down
// through it, and its offsets are one run of −1.
package mlt
