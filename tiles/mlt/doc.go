// Package mlt writes MapLibre Tiles of version 1. They hold a vector layer as columns, one per
// attribute and one for all geometry, where Mapbox Vector Tiles hold features one after another.
//
// The specification is at https://maplibre.org/maplibre-tile-spec. Of its encodings this package
// writes those that every decoder has: plain, delta, run lengths and delta of run lengths for
// integers, each as varints; plain and dictionaries for texts; plain and dictionaries for vertices.
// It leaves out the experimental ones, FastPFOR and FSST.
//
// # Shared borders
//
// Neighbours share the vertices of their border, and their rings pass them in opposite directions.
// A dictionary of vertices in the order of their first appearance stores them once: the second ring
// counts down through it, and its offsets are one run of −1.
package mlt
