// Package stations answers questions about weather stations and their
// observations: which station is nearest to a point, for which tiles a station
// is the nearest, what it measured, and what the weather was on a tile of the
// map. There are two data sets, because stations change with the seasons and
// observations by the hour. Build writes the stations and BuildWeather the
// observations.
//
// # Tables of stations
//
// All numbers in keys and values are big-endian. A station's id is its USAF and
// WBAN numbers or its GHCN id, eleven letters and digits.
//
// station_info holds the record of each station. The row is the id (11). Family
// json holds the members of a JSON object without its braces. Family tiles
// lists the leaves that list the station, in cells of at most 65536:
//
//	qualifier  number of the cell (2)
//	value      't' │ quadkey.Key (5) …     the leaves, in their order
//	           's' │ id (11)               those of another station at the same place
//
// station_tiles divides the whole world into leaves. A leaf lists each position of stations that is
// the nearest to some point of its tile:
//
//	row     quadkey.Key of the tile
//	family  near, empty qualifier
//	value   id (11) │ lat (4) │ lon (4) │ stations (2)   …, one for each position
//
// lat and lon are int32 of 1e-7 degrees. Stations are stored, measured and
// shown at that precision, about a centimetre. If several stations have stood
// at one position, the leaf lists the one with the least id and the number of
// stations. Package voronoi has the details. NOAA's 28,094 stations give 27,298
// leaves that list five positions on average.
//
// station_index is the table that a [Finder] keeps in memory for searches that
// the leaves cannot answer. It has every station in 29 bytes, in the order of
// quadkeys.
//
//	row    number of the first (4)
//	value  id (11) │ lat (4) │ lon (4) │ begin (4) │ end (4) │ country (2)   …
//
// begin and end are int32 days since 1970, or the least and the greatest int32
// if unknown. 30,000 stations take 1 MB. No data set has more than MaxStations.
//
// # Tables of weather
//
// observations holds the reports of each station, newest first:
//
//	row     id (11) │ ^time (4)      time: minutes since 1970 plus 2³¹
//	family  o, empty qualifier
//	value   which are there (2) │ int16 of each that is: see Observation
//
// weather_tiles holds the reports of all stations in a tile in an hour, for
// zooms 0 to 6, so that a map needs one read per tile:
//
//	row     quadkey.Key (5) │ ^hour (4)   hour: hours since 1970 plus 2³¹
//	family  w, empty qualifier
//	value   parts (2) │ sums of each part that is there
//
// A tile is divided into 4×4 parts, numbered west to east and then north to
// south. Bit i of parts says that part i has observations. A tile shows the sum
// of its parts. Sums and counts are stored instead of means, so they add up
// exactly in any order. Zooms 7 and 8 are answered from some parts of the
// zoom-6 row above them.
//
// The timestamp of a cell is the time of its observation, or the end of its
// station's record. Equal input gives equal bytes.
//
// # Concurrency and memory
//
// Any number of goroutines may use a [Finder] or a [Weather]. They hold no
// resources of their own and end with their store.
package stations
