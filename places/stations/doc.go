// Package stations answers questions about weather stations and what they
// observed: which station is nearest to a point, which tiles one serves, what
// it measured, and what the weather was on a tile of the map. Two data sets
// have their own life: Build writes the stations, which change with the seasons,
// and BuildWeather the observations, which change by the hour.
//
// # Tables of stations
//
// All numbers in keys and values are big-endian. A station's id is its USAF and
// WBAN numbers, eleven letters and digits.
//
// station_info holds the record of each: row id (11), family json, value the
// members of a JSON object without its braces; and family tiles, which leaves
// list the station, in cells of at most 65536:
//
//	qualifier  number of the cell (2)
//	value      't' │ quadkey.Key (5) …     the leaves, in their order
//	           's' │ id (11)               those of another station at the same place
//
// station_tiles divides the whole world into leaves: no leaf lies in another,
// and every point is in exactly one. A leaf lists the positions of stations of
// which one is nearest to some point of its tile, so that comparing their
// distances finds the nearest station of any point there:
//
//	row     quadkey.Key of the tile
//	family  near, empty qualifier
//	value   id (11) │ lat (4) │ lon (4) │ stations (2)   …, one for each position
//
// lat and lon are int32 of 1e-7 degrees: stations are kept, measured and shown
// at that precision, about a centimetre. Where several stations have stood at
// one position the leaf lists the one with the least id, and says how many
// there are.
//
// Which leaf holds a point is one seek: the first row at or after the key of
// the point's cell. See the proof in package quadkey.
//
// station_index is what a [Finder] keeps in memory for searches that the
// leaves cannot answer: every station in 29 bytes, in the order of quadkeys.
//
//	row    number of the first (4)
//	value  id (11) │ lat (4) │ lon (4) │ begin (4) │ end (4) │ country (2)   …
//
// begin and end are int32 days since 1970, the least and the greatest int32
// where they are not known. 30,000 stations take 1 MB there, and no data set
// has more than MaxStations.
//
// # Which stations a leaf lists
//
// On the unit sphere a point p is nearer to station a than to b if and only if
// (b−a)·p < 0, so a makes b superfluous on a tile if the greatest value of that
// product over the tile is negative. On a box of longitudes and latitudes the
// maximum has a closed form ([ground.maxDot]). Tiles of the top and bottom rows
// reach to the pole. A station is left out only where another is nearer by more
// than rounding could matter, so stations that tie stay side by side, and the
// answer is that of comparing [quadkey.Distance] with every station there is.
//
// Tiles are divided until they list eight positions or fewer, or are of zoom 16.
// Two kinds are not divided so far, because it would be in vain: those whose few
// positions stay the same however small the tile, and those of the top and
// bottom rows, which shrink to slivers that all reach the pole. Of NOAA's 28,094
// stations come 27,247 leaves that list five positions on average.
//
// # Tables of weather
//
// observations holds what a station reported, newest first:
//
//	row     id (11) │ ^time (4)      time: minutes since 1970 plus 2³¹
//	family  o, empty qualifier
//	value   which are there (2) │ int16 of each that is: see Observation
//
// weather_tiles holds what all stations in a tile reported in an hour, for
// zooms 0 to 6, so that a map is drawn from one read per tile:
//
//	row     quadkey.Key (5) │ ^hour (4)   hour: hours since 1970 plus 2³¹
//	family  w, empty qualifier
//	value   parts (2) │ sums of each part that is there
//
// A tile is divided into 4×4 parts, numbered west to east and then north to
// south; bit i of parts says that part i has observations. What a tile shows is
// the sum of its parts: sums and counts are kept rather than means, so they add
// up exactly, in any order, and zooms 7 and 8 are answered by some of the parts
// of the zoom-6 row above them.
//
// Cell timestamps are those of the observations, and of stations the end of
// their record: the same input gives the same bytes.
//
// # Concurrency and memory
//
// A [Finder] and a [Weather] may be used by any number of goroutines. They hold
// no resources of their own and end with the store they read from.
package stations
