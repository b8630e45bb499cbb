package tiles

import (
	"cmp"

	"quadrille/feature"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// SchemaVersion is the version of the row layouts. Layout 3 keeps ids of regions as published, and
// gives labels ids of their own. Layout 4 has finished answers for lookups. A reader takes all
// layouts from OldestSchemaVersion on.
const (
	SchemaVersion       = 4
	OldestSchemaVersion = 2
)

// MaxZoom is the deepest zoom with rows of its own. Deeper tiles are cut from it.
const MaxZoom = grid.MaxZoom

// Meta describes a data set of boundaries. It is stored in the manifest of the
// generation and given to [Open].
type Meta struct {
	SchemaVersion int        `json:"schema_version"`
	Types         []TypeMeta `json:"types"` // in the order of their bytes
	// TileBudget is the greatest size in bytes of a tile of zooms 0 to 12 after gzip, with all
	// types together. 0 means that no budget was given.
	TileBudget int64 `json:"tile_budget,omitempty"`
	// Stamp is a hash of the borders and names. Finished answers with another stamp are refused. Data
	// sets that older programs built have none, and no finished answers.
	Stamp uint32 `json:"stamp,omitempty"`
}

// TypeMeta describes a region type.
type TypeMeta struct {
	Name    string     `json:"name"`
	KeyByte uint8      `json:"byte"` // prefix of its keys in region_info
	Regions int        `json:"regions"`
	Bounds  [4]float64 `json:"bounds"` // west, south, east, north in degrees; −180 and 180 when it crosses ±180°
	// IsLines is set if the regions are lines and enclose nothing. Vector tiles have them in the
	// layer of lines, with ids and names. A lookup at a point never finds them; a box and a layer's
	// search for the nearest do.
	IsLines bool `json:"lines,omitempty"`
	// LabelOf is the attribute of labels that has the id of their region. It is empty in data sets
	// that older programs built. In these the label's own id, "id", is that of the region.
	LabelOf string `json:"label_of,omitempty"`
	MinZoom int    `json:"min_zoom"`
	MaxZoom int    `json:"max_zoom"`
	// Fields are the attributes of the type's vector-tile features and their
	// types, in TileJSON form.
	Fields map[string]string `json:"fields"`
	// Columns are the properties that the type's polygons and lines have in tiles unless a request
	// names others; see Reader.Columns.
	Columns []string `json:"columns,omitempty"`
	// Schema lists the properties of the type's records, without the bounds. Data sets that
	// older programs built have none. Layer then uses Fields.
	Schema feature.Schema `json:"schema,omitempty"`
	// Generalised lists the zooms whose regions are merged or whose borders are simpler than usual,
	// to keep their tiles within the budget. The zooms with merged regions come first, from 0 on.
	Generalised []Generalisation `json:"generalised,omitempty"`
	// OverBudget is the number of zoom-13 tiles that exceed the budget. Zoom 13
	// stays exact even then.
	OverBudget int `json:"over_budget,omitempty"`
}

// LabelFields returns the attributes of the type's labels in vector tiles and their types, in
// TileJSON form.
func (t *TypeMeta) LabelFields() map[string]string {
	return map[string]string{cmp.Or(t.LabelOf, layout.TagID): "String", layout.TagName: "String", layout.TagRank: "Number"}
}

// MergedBelow returns the first zoom at which no regions of the type are merged, or 0 if no zoom
// has merged regions.
func (t *TypeMeta) MergedBelow() int {
	below := 0
	for _, g := range t.Generalised {
		if g.MergedPolygons > 0 {
			below = max(below, g.Zoom+1)
		}
	}
	return below
}

// MeanExtent returns the area of the layer's bounds divided by the number of its regions, in square
// degrees. A finer layer has a smaller mean extent, even if it covers little of the world.
func (t *TypeMeta) MeanExtent() float64 {
	return (t.Bounds[2] - t.Bounds[0]) * (t.Bounds[3] - t.Bounds[1]) / float64(max(t.Regions, 1))
}

// Generalisation describes the detail of a type at a zoom.
type Generalisation struct {
	Zoom            int `json:"zoom"`
	ShownRegions    int `json:"shown" doc:"Regions with a polygon of their own id."`
	MergedPolygons  int `json:"merged" doc:"Polygons that stand for several regions."`
	SimplifiedZooms int `json:"simplified,omitempty" doc:"By how many zooms borders are simpler than usual."`
}
