package stations

import (
	"encoding/binary"

	"quadrille/cellstore"
	"quadrille/places/internal/near"
	"quadrille/places/internal/voronoi"
)

// SchemaVersion is the version of the row layouts in the package documentation.
// Open and OpenWeather read it and older ones.
const SchemaVersion = 1

// These are the tables and their families.
const (
	tableInfo         = "station_info"
	tableTiles        = "station_tiles"
	tableIndex        = "station_index"
	tableObservations = "observations"
	tableWeather      = "weather_tiles"

	famJSON        = "json"
	famTiles       = "tiles"
	famNear        = "near"
	famIndex       = "index"
	famObservation = "o"
	famWeather     = "w"
)

func stationSchemas() []cellstore.Schema {
	return []cellstore.Schema{
		{Table: tableInfo, Families: []cellstore.Family{{Name: famJSON}, {Name: famTiles}}},
		leaves.Schema(tableTiles),
		{Table: tableIndex, Families: []cellstore.Family{{Name: famIndex, Bloom: cellstore.BloomNone}}},
	}
}

func weatherSchemas() []cellstore.Schema {
	return []cellstore.Schema{
		{Table: tableObservations, Families: []cellstore.Family{
			{Name: famObservation, Bloom: cellstore.BloomNone, Compression: cellstore.CompressionZstd},
		}},
		{Table: tableWeather, Families: []cellstore.Family{
			{Name: famWeather, Compression: cellstore.CompressionZstd},
		}},
	}
}

// maxShared bounds the stations of a position that a leaf counts.
const maxShared = 1<<16 - 1

// leaves is the layout of station_tiles. Its notes are the numbers of stations.
var leaves = voronoi.Layout{Table: tableTiles, Family: famNear, ID: len(ID{}), Note: 2}

// entry is a station in station_index.
type entry struct {
	id         ID
	at         position
	begin, end int32 // days
	country    near.Country
}

const (
	entrySize  = 11 + 4 + 4 + 4 + 4 + 2
	indexChunk = 4096 // entries per row
)

func (e *entry) append(dst []byte) []byte {
	dst = append(dst, e.id[:]...)
	for _, v := range [...]int32{e.at.Lat, e.at.Lon, e.begin, e.end} {
		dst = binary.BigEndian.AppendUint32(dst, uint32(v))
	}
	return append(dst, e.country[:]...)
}

func parseEntry(b []byte) entry {
	_ = b[entrySize-1]
	number := func(i int) int32 { return int32(binary.BigEndian.Uint32(b[i:])) }
	return entry{
		id: ID(b), at: position{Lat: number(11), Lon: number(15)}, begin: number(19), end: number(23), country: near.Country(b[27:]),
	}
}

// These are the parts of a value in the tiles table.
const (
	tilesListed = 't'
	tilesShared = 's'
	tilesChunk  = 1 << 16 // keys per cell
)
