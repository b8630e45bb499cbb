// Package places searches named points: it finds the nearest ones, those on a map tile, and the
// record of one place. Its input has the columns of the GeoNames gazetteer, but any source of
// points with ids will do.
//
// # Tables
//
// Build writes six tables, and the tables of name search. All numbers in keys and values are
// big-endian. With BuildOptions.Prefix "airport_" the six are called airport_tiles, airport_info,
// airport_rollup, airport_index, airport_codes and airport_nearest.
//
// tile_places holds every place once, in the order of quadkeys:
//
//	row        cell (4) │ id (4)         quadkey.Cell of the place; geonames id
//	family     high, medium or low       its tier, see Importance below
//	qualifier  class.code                "P.PPLC"; a class is the prefix "P.", a kind ".large_airport"
//	value      lat (4) │ lon (4) │ population (8) │ country (2) │ split (2) │ members
//
// lat and lon are int32 of 1e-7 degrees: places are stored, measured and shown at that precision,
// about a centimetre. country is two letters or two zero bytes. A place with a weight of its own
// has the highest bit of population set and the weight (8) before the members, in family points of
// place_rollup after the population. members are
// finished JSON, the members of the place's object without braces. Their first split bytes are
// the properties of a GeoJSON feature, and the rest is lat and lon. So a reader compares numbers
// and copies bytes; it decodes nothing.
//
//	"id":2657896,"name":"Zürich","country":"CH",…,"lat":47.36667,"lon":8.55
//	├──────────────────── split ────────────────┤
//
// place_info holds the whole record by row id (4). Family json has the members of tile_places under
// the empty qualifier. Under "more" it has the further members of the record, the first with a
// comma before it. If alternate names were given, family names has the name to display in each
// language, with the language as qualifier.
//
// place_rollup holds, for each tile of zoom 0 to 10 that has places, its content on a map: row
// quadkey.Key of the tile, family counts (qualifier a class, value a counter of its places),
// family geojson (the features shown, finished and comma-separated, the most important first) and
// family points (the same places in binary, for encoders of vector tiles):
//
//	id (4) │ lat (4) │ lon (4) │ population (8) │ length of code (1) │ code
//	       │ length of name (2) │ name
//
// place_index holds the index that a [Finder] keeps in memory to avoid useless reads. The places of
// a family, in the order of their cells, are cut into blocks of 128. For each block it has the
// largest population and importance. For each feature code and country it has the blocks with such
// places, with and without population. It has the cells of the places, in the low tier only of
// every 16th. So a query with filters reads only blocks that have a place with the class or code
// and country, and a place (perhaps another one) with the population. 13 million places take about
// 12 MB.
//
// gazetteer holds the meaning of codes, as JSON: rows c/ and a country's code, d/ and a
// division's (family admin2 for the second level), f/ and a feature's.
//
// place_nearest finds the nearest of the places that BuildOptions.Nearest selects, the populated ones
// if it is nil. It divides the world into leaves. A leaf lists each position of such places that is
// the nearest to some point of its tile:
//
//	row     quadkey.Key of the tile
//	family  near, empty qualifier
//	value   id (4) │ lat (4) │ lon (4) │ tier (1)   …, one for each position
//
// If several places have one position, the leaf lists the one with the least id. A tier is the index
// of a family of tile_places: 0 is high. So a query for the one nearest place is a seek of the leaf and
// a get of the place. A leaf that lists nothing would list too many: the search answers there, as in
// older data sets, which lack the table. Package voronoi has the details. There is about one leaf for
// each place, and it lists five on average.
//
// Cell timestamps are the places' own modification dates, and in place_rollup, place_index,
// place_nearest and gazetteer the newest of them: equal places give equal bytes.
//
// # Importance
//
// Places are ranked by tier, then by weight: population, more for seats of government, less for
// parts and ruins of towns. Features without population have a weight by their code. Place.Weight
// replaces the population, also in the choice of the tier, and all of it for a point with a kind. Administrative areas (class A) rank below
// everything else: on a map their seat represents them.
//
// A tile shows the most important place of each of its 4×4 parts. From zoom 11 it also shows the most
// important one that is no town of today: a section of a town, or a historical, abandoned or destroyed
// place (PPLX, PPLH, PPLCH, PPLQ, PPLW). Coarser tiles have none of these. The seat of a territory that is
// no country has the code PPLG in tiles, where its record says PPLC. Up to zoom 9 a tile also shows the
// most important place of another quarter of the part, if that place is a great city. It always
// shows the part's two most important capitals. A place that is shown at one zoom is therefore
// shown at every deeper one. From zoom 15 on a tile shows all its places, at most 1000.
//
// # Concurrency and memory
//
// A [Finder] may be used by any number of goroutines, until the store that it reads is closed. It
// has no resources of its own to release.
package places
