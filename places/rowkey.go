package places

import (
	"encoding/binary"
	"fmt"
	"math"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// SchemaVersion is the version of the row layouts in the package
// documentation, the newest that [Open] reads.
const SchemaVersion = 1

// The tables and, but for the tiers of tile_places, their families.
const (
	tableTiles  = "tile_places"
	tableInfo   = "place_info"
	tableRollup = "place_rollup"
	tableIndex  = "place_index"

	famJSON    = "json"
	famCounts  = "counts"
	famGeoJSON = "geojson"
	famPoints  = "points"
	famSummary = "summary"
)

func schemas() []cellstore.Schema {
	return []cellstore.Schema{
		{Table: tableTiles, Families: []cellstore.Family{
			// Read by range, never by get: a filter would only cost.
			{Name: tierNames[high], Bloom: cellstore.BloomNone},
			{Name: tierNames[medium], Bloom: cellstore.BloomNone},
			{Name: tierNames[low], Bloom: cellstore.BloomNone},
		}},
		{Table: tableInfo, Families: []cellstore.Family{{Name: famJSON}}},
		{Table: tableRollup, Families: []cellstore.Family{
			{Name: famCounts}, {Name: famGeoJSON}, {Name: famPoints},
		}},
		{Table: tableIndex, Families: []cellstore.Family{{Name: famSummary, Bloom: cellstore.BloomNone}}},
	}
}

// tileKeySize is the length of a tile_places row: cell, id.
const tileKeySize = 8

func appendTileKey(dst []byte, c quadkey.Cell, id uint32) []byte {
	return binary.BigEndian.AppendUint32(c.AppendKey(dst), id)
}

func appendInfoKey(dst []byte, id uint32) []byte { return binary.BigEndian.AppendUint32(dst, id) }

// cellRange returns the row keys [from, to) of the cells first to last; to is
// empty at the end of the table. dst provides the memory.
func cellRange(dst []byte, first, last quadkey.Cell) (from, to []byte) {
	dst = first.AppendKey(dst[:0])
	if last == math.MaxUint32 {
		return dst, nil
	}
	dst = (last + 1).AppendKey(dst)
	return dst[:4:4], dst[4:8:8]
}

// The fixed part of a tile_places value.
const (
	atLat        = 0
	atLon        = 4
	atPopulation = 8
	atCountry    = 16
	atSplit      = 18
	atMembers    = 20
)

// country is an ISO 3166-1 alpha-2 code; the zero value is unknown.
type country [2]byte

// place is a tile_places row without its cell, over the memory of the row it
// was taken from.
type place struct {
	id         uint32
	lat, lon   int32 // 1e-7 degrees
	population uint64
	country    country
	qualifier  []byte // class.code
	properties []byte // JSON members, the first of them the id, but for lat and lon
	members    []byte // all of them
}

func parsePlace(row *cellstore.Row) (p place, err error) {
	if len(row.Key) != tileKeySize || len(row.Cells) != 1 {
		return p, corrupt(tableTiles, row.Key, "has another layout")
	}
	v := row.Cells[0].Value
	if len(v) < atMembers {
		return p, corrupt(tableTiles, row.Key, "is cut short")
	}
	split := int(binary.BigEndian.Uint16(v[atSplit:]))
	if split > len(v)-atMembers {
		return p, corrupt(tableTiles, row.Key, "is cut short")
	}
	return place{
		id:         binary.BigEndian.Uint32(row.Key[4:]),
		lat:        int32(binary.BigEndian.Uint32(v[atLat:])),
		lon:        int32(binary.BigEndian.Uint32(v[atLon:])),
		population: binary.BigEndian.Uint64(v[atPopulation:]),
		country:    country(v[atCountry:]),
		qualifier:  row.Cells[0].Qualifier,
		properties: v[atMembers : atMembers+split],
		members:    v[atMembers:],
	}, nil
}

func corrupt(table string, key []byte, what string) error {
	return fmt.Errorf("%w: table %s, row %x %s: build the data set again", cellstore.ErrCorrupt, table, key, what)
}

// degreesPerUnit turns stored coordinates into degrees.
const unitsPerDegree = 1e7

func toUnits(degrees float64) int32 { return int32(math.Round(degrees * unitsPerDegree)) }

func toDegrees(units int32) float64 { return float64(units) / unitsPerDegree }
