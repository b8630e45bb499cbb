package places

import (
	"encoding/binary"
	"math"

	"quadrille/cellstore"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// SchemaVersion is the version of the row layouts in the package
// documentation, the only one that [Open] reads.
const SchemaVersion = 2

// These are the names of the tables in errors; see tableName.
const (
	tableTiles  = "tiles"
	tableInfo   = "info"
	tableRollup = "rollup"
	tableIndex  = "index"
	tableCodes  = "codes"
	// tableNearest is absent in older generations.
	tableNearest = "nearest"
)

// These are families other than the tiers of tile_places, and qualifiers.
const (
	famJSON    = "json"
	famNames   = "names"
	famCounts  = "counts"
	famGeoJSON = "geojson"
	famPoints  = "points"
	famSummary = "summary"
	famAdmin2  = "admin2"
	famNear    = "near"

	qualMore = "more"
	// qualNames is the qualifier of a country's alternate names.
	qualNames = "names"
)

// tableName returns the name a table has in the store.
func tableName(prefix, table string) string {
	switch {
	case prefix != "":
		return prefix + table
	case table == tableTiles:
		return "tile_places"
	case table == tableCodes:
		return "gazetteer"
	}
	return "place_" + table
}

func schemas(prefix string) []cellstore.Schema {
	tables := []struct {
		table    string
		bloom    cellstore.Bloom
		families []string
	}{
		// Get reads only rows of this table that exist, so a filter would only cost.
		{tableTiles, cellstore.BloomNone, tierNames[:]},
		{tableInfo, cellstore.BloomRow, []string{famJSON, famNames}},
		{tableRollup, cellstore.BloomRow, []string{famCounts, famGeoJSON, famPoints}},
		{tableIndex, cellstore.BloomNone, []string{famSummary}},
		{tableCodes, cellstore.BloomRow, []string{famJSON, famAdmin2}},
	}
	var list []cellstore.Schema
	for _, t := range tables {
		schema := cellstore.Schema{Table: tableName(prefix, t.table)}
		for _, name := range t.families {
			// No cell is written twice, so the store need not look for hidden ones.
			schema.Families = append(schema.Families, cellstore.Family{Name: name, Bloom: t.bloom, MaxVersions: cellstore.Unlimited})
		}
		list = append(list, schema)
	}
	return append(list, leaves.Schema(tableName(prefix, tableNearest)))
}

// tileKeySize is the length of a row key of tile_places: cell, id.
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

// The fixed part of a tile_places value. If the population has weighty set, a weight of 8 bytes
// precedes the members.
const (
	atLat        = 0
	atLon        = 4
	atPopulation = 8
	atCountry    = 16
	atSplit      = 18
	atMembers    = 20

	weighty = 1 << 63
)

type country = near.Country

// place is a tile_places row without its cell. It points to the memory of the row.
type place struct {
	id         uint32
	lat, lon   int32 // 1e-7 degrees
	population uint64
	weight     uint64 // 0: the weight of its code and population
	country    country
	qualifier  []byte // class.code
	properties []byte // JSON members without lat and lon; the first is the id
	members    []byte // all of them
}

func (p *place) importance() uint64 { return importance(p.qualifier, p.population, p.weight) }

func (p *place) tier() int { return tierOf(p.qualifier, p.population, p.weight) }

func parsePlace(row *cellstore.Row) (p place, err error) {
	if len(row.Key) != tileKeySize || len(row.Cells) != 1 {
		return p, cellstore.CorruptRow(tableTiles, row.Key, "has another layout")
	}
	c := &row.Cells[0]
	if !p.parse(c.Qualifier, c.Value) {
		return p, cellstore.CorruptRow(tableTiles, row.Key, "is cut short")
	}
	p.id = binary.BigEndian.Uint32(row.Key[4:])
	return p, nil
}

// parse decodes all but the id, and reports whether the value is complete.
func (p *place) parse(qualifier, v []byte) bool {
	if len(v) < atMembers || len(qualifier) == 0 {
		return false
	}
	p.lat = int32(binary.BigEndian.Uint32(v[atLat:]))
	p.lon = int32(binary.BigEndian.Uint32(v[atLon:]))
	p.population = binary.BigEndian.Uint64(v[atPopulation:])
	p.country = country(v[atCountry:])
	p.qualifier = qualifier
	split := int(binary.BigEndian.Uint16(v[atSplit:]))
	v = v[atMembers:]
	if p.population&weighty != 0 {
		if len(v) < 8 {
			return false
		}
		p.population &^= weighty
		p.weight, v = binary.BigEndian.Uint64(v), v[8:]
	}
	if split > len(v) {
		return false
	}
	p.properties, p.members = v[:split:split], v
	return true
}

// unitsPerDegree is the stored precision of coordinates.
const unitsPerDegree = 1e7

func toUnits(degrees float64) int32 { return int32(math.Round(degrees * unitsPerDegree)) }

func toDegrees(units int32) float64 { return float64(units) / unitsPerDegree }
