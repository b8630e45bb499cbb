// Package basemaps has the descriptions of base maps for the endpoints. Base maps are third-party
// maps that are drawn below the layers. Package basemap makes the descriptions: only it needs to
// know how the maps are stored.
package basemaps

import "time"

// Maps returns the maps in service, the lowest first. A nil Maps means that there are no maps.
type Maps func() []Map

// All returns the maps in service.
func (m Maps) All() []Map {
	if m == nil {
		return nil
	}
	return m()
}

// Map is a map in service, with the state for /status.
type Map struct {
	ID          uint64     `json:"-"` // changes with the file
	Name        string     `json:"name" schema:"pattern=^[a-z0-9][a-z0-9_-]{0,63}$"`
	State       string     `json:"state" doc:"stale: the file has been replaced by one that cannot be served, and the one before is; damaged: the file in service is damaged, or has been changed in place." schema:"enum=serving|stale|damaged"`
	Title       string     `json:"title,omitempty"`
	Format      string     `json:"format" schema:"enum=pbf|png|jpg|webp|avif|mlt"`
	TileCount   int64      `json:"tiles,omitempty" doc:"How many tiles there are, where the archive tells."`
	MinZoom     uint8      `json:"minzoom"`
	MaxZoom     uint8      `json:"maxzoom"`
	TileSize    int        `json:"tile_size,omitempty" doc:"Pixels a side of a picture."`
	Bounds      [4]float64 `json:"bounds" schema:"ref=BBox"`
	Bytes       int64      `json:"bytes"`
	Modified    time.Time  `json:"modified"`
	Since       time.Time  `json:"since"`
	Attribution string     `json:"attribution,omitempty" doc:"Text, with the addresses of links."`
	Layers      []Layer    `json:"-"` // of vector tiles only
}

// Layer is a layer of vector tiles.
type Layer struct {
	ID      string
	MinZoom uint8
}

// MLT is the format of MapLibre Tiles.
const MLT = "mlt"

// IsPicture reports whether the tiles are pictures.
func (m *Map) IsPicture() bool { return m.Format != MLT && m.Format != "pbf" }
