package stations

import (
	"encoding/binary"

	"quadrille/cellstore"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
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
		// The table is read by seeks, never by get, so a filter would only
		// cost.
		{Table: tableTiles, Families: []cellstore.Family{{Name: famNear, Bloom: cellstore.BloomNone}}},
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

// candidate is a position in the list of a leaf.
type candidate struct {
	id     ID // the least id at the position
	at     position
	shared int // how many stations are there
}

const (
	candidateSize = 11 + 4 + 4 + 2
	maxShared     = 1<<16 - 1
)

func (c *candidate) append(dst []byte) []byte {
	dst = append(dst, c.id[:]...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.at.lat))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.at.lon))
	return binary.BigEndian.AppendUint16(dst, uint16(min(c.shared, maxShared)))
}

// parseCandidate reads the first candidateSize bytes of b.
func parseCandidate(b []byte) candidate {
	_ = b[candidateSize-1]
	return candidate{
		id:     ID(b),
		at:     position{int32(binary.BigEndian.Uint32(b[11:])), int32(binary.BigEndian.Uint32(b[15:]))},
		shared: int(binary.BigEndian.Uint16(b[19:])),
	}
}

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
	for _, v := range [...]int32{e.at.lat, e.at.lon, e.begin, e.end} {
		dst = binary.BigEndian.AppendUint32(dst, uint32(v))
	}
	return append(dst, e.country[:]...)
}

func parseEntry(b []byte) entry {
	_ = b[entrySize-1]
	number := func(i int) int32 { return int32(binary.BigEndian.Uint32(b[i:])) }
	return entry{
		id: ID(b), at: position{number(11), number(15)}, begin: number(19), end: number(23), country: near.Country(b[27:]),
	}
}

// cellKey returns the key for the seek to the leaf of a point in cell c.
func cellKey(c quadkey.Cell) quadkey.Key { return c.Tile().Key() }

// These are the parts of a value in the tiles table.
const (
	tilesListed = 't'
	tilesShared = 's'
	tilesChunk  = 1 << 16 // keys per cell
)
