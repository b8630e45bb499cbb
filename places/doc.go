// Package places answers questions about named points: which are nearest, which
// a map tile shows, what is known of one. It is fed with the columns of the
// GeoNames gazetteer, though any source of points with ids will do.
//
// # Tables
//
// Build writes four tables. All numbers in keys and values are big-endian.
//
// tile_places holds every place once, in the order of quadkeys:
//
//	row        cell (4) │ id (4)         quadkey.Cell of the place; geonames id
//	family     high, medium or low       its tier, see Importance below
//	qualifier  class.code                "P.PPLC"; a class is the prefix "P."
//	value      lat (4) │ lon (4) │ population (8) │ country (2) │ split (2) │ members
//
// lat and lon are int32 of 1e-7 degrees: places are kept, measured and shown at
// that precision, about a centimetre. country is two letters or two zero bytes.
// members are finished JSON, the members of the place's object without braces;
// the first split bytes of them are what a GeoJSON feature has as properties,
// the rest is lat and lon. So a reader compares numbers and copies bytes; it
// decodes nothing.
//
//	"id":2657896,"name":"Zürich","country":"CH",…,"lat":47.36667,"lon":8.55
//	├──────────────────── split ────────────────┤
//
// place_info holds the whole record: row id (4), family json, empty qualifier,
// value a JSON object.
//
// place_rollup holds, for each tile of zoom 0 to 10 that has places, what a map
// shows of it: row quadkey.Key of the tile, family counts (qualifier a class,
// value a counter of its places), family geojson (the features shown, finished
// and comma-separated, the most important first) and family points (the same
// places in binary, for encoders of vector tiles):
//
//	id (4) │ lat (4) │ lon (4) │ population (8) │ length of code (1) │ code
//	       │ length of name (2) │ name
//
// place_index holds what a [Finder] keeps in memory to search without reading
// in vain: every 16th cell of each family, and for each feature code and each
// country of a family how many places it has, the largest population and the
// zoom-6 tiles they lie in. 13 million places come to about 5 MB.
//
// Cell timestamps are the places' own modification dates, and in place_rollup
// and place_index the newest of them: the same places give the same bytes.
//
// # Importance
//
// Places are ranked by tier, then by weight: population, more for seats of
// government, less for parts and ruins of towns. Features without population
// have a weight by their code. Administrative areas (class A) rank below
// everything else: on a map their seat stands for them.
//
// A tile shows the most important place of each of its 4×4 parts. A place that
// is shown at one zoom is therefore shown at every deeper one. From zoom 15 on
// a tile shows all its places, at most 1000.
//
// # Concurrency and memory
//
// A [Finder] may be used by any number of goroutines. It holds no resources of
// its own and ends with the store it reads from.
package places
