package places

import (
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// Bounds of queries.
const (
	DefaultLimit = near.DefaultLimit
	MaxLimit     = near.MaxLimit
	// MaxFilter is how many classes, codes or countries a filter may name.
	MaxFilter = near.MaxFilter
	// MaxExamined is how many places a search looks at before it gives up with
	// ErrTooMuchWork. Only filters that few places pass get that far.
	MaxExamined = 4_000_000
)

// NearbyQuery asks for the places nearest to a point.
type NearbyQuery struct {
	Lat, Lon float64 // degrees WGS84
	RadiusM  float64 // metres; 0 means no bound
	Limit    int     // places per page, 1 to MaxLimit; 0 means DefaultLimit
	// Filters, applied before the limit. A place passes a list if it has one
	// of its elements; an empty list lets every place pass. Letters may be of
	// either case. A list has at most MaxFilter elements.
	Classes       []string // feature classes: "P"
	Codes         []string // feature codes: "PPLC"
	Countries     []string // ISO 3166-1 alpha-2
	MinPopulation int64
	// JSONOnly leaves the texts of the hits unset: Name, Country, Class, Code, Admin1,
	// Admin1Name and TimeZone. It saves time where only their JSON is wanted.
	JSONOnly bool
	// Only says that no page follows. It saves the search for the place that would begin
	// it, which is a large part of a search for one place.
	Only bool
	// Cursor continues where the page that returned it ended. All the other
	// fields but Limit, JSONOnly and Only must be as they were.
	Cursor string
}

// WithinQuery asks for the places in a box or a tile.
type WithinQuery struct {
	// Box is in degrees, edges included; its West is greater than its East
	// when it crosses ±180°.
	Box quadkey.Box
	// Tile, if set, is asked about instead of Box: the places that belong to
	// it, as they do to exactly one tile of each zoom.
	Tile  *quadkey.Tile
	Limit int // places per page, 1 to MaxLimit; 0 means DefaultLimit
	// Filters, as those of NearbyQuery.
	Classes       []string
	Codes         []string
	Countries     []string
	MinPopulation int64
	// Keep, if set, is one more filter. It is called with the country and the
	// first-level division of a place that passes the others; they are "" where
	// they are unknown.
	Keep func(country, admin1 string) bool
	// Examine, if set, is about how many places are looked at. A search that has
	// not found enough by then answers what it has found, which are the most
	// important places of where it has looked, and without a next page unless it
	// has a page of them.
	Examine int
	// JSONOnly leaves the texts of the hits unset: Name, Country, Class, Code, Admin1,
	// Admin1Name and TimeZone. It saves time where only their JSON is wanted.
	JSONOnly bool
	// Cursor continues where the page that returned it ended. All the other
	// fields but Limit and JSONOnly must be as they were.
	Cursor string
}
