package tiles

import "quadrille/tiles/internal/grid"

// SchemaVersion is the version of the row layouts. A reader refuses others.
const SchemaVersion = 2

// MaxZoom is the deepest zoom with rows of its own. Deeper tiles are cut from it.
const MaxZoom = grid.MaxZoom

// Meta describes a data set of boundaries. It is stored in the manifest of the
// generation and given to [Open].
type Meta struct {
	SchemaVersion int        `json:"schema_version"`
	Types         []TypeMeta `json:"types"` // in the order of their bytes
}

// TypeMeta describes a region type.
type TypeMeta struct {
	Name    string     `json:"name"`
	Byte    uint8      `json:"byte"` // prefix of its keys in region_info
	Regions int        `json:"regions"`
	Bounds  [4]float64 `json:"bounds"` // west, south, east, north in degrees; −180 and 180 when it crosses ±180°
	MinZoom int        `json:"min_zoom"`
	MaxZoom int        `json:"max_zoom"`
	// Fields are the attributes of the type's vector-tile features and their
	// types, in TileJSON form.
	Fields map[string]string `json:"fields"`
}
