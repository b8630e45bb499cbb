package places

import (
	"crypto/sha256"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// writeTiles writes the tables that are in the order of cells.
func (b *builder) writeTiles(store cellstore.Store) error {
	const stage = "writing tiles of places"
	tiles, err := b.newLoad(store, tableTiles)
	if err != nil {
		return err
	}
	defer tiles.Abort()
	rollups, err := b.newLoad(store, tableRollup)
	if err != nil {
		return err
	}
	defer rollups.Abort()

	b.sum = sha256.New()
	b.bounds = [4]float64{180, 90, -180, -90}
	var indexes [tiers]*indexer
	for i := range indexes {
		indexes[i] = newIndexer(i)
	}
	roll := &rollup{emit: rollups.Add, ts: b.newest}
	row := cellstore.Row{Cells: make([]cellstore.Cell, 1)}
	var done int64
	err = b.byCell.Each(func(sortKey uint64, record []byte) error {
		s, err := parseStored(record)
		if err != nil {
			return err
		}
		cell := quadkey.Cell(sortKey >> 32)
		row.Key = appendTileKey(row.Key[:0], cell, uint32(sortKey))
		c := &row.Cells[0]
		*c = cellstore.Cell{Qualifier: s.qualifier, Timestamp: s.ts, Value: s.value}
		p, err := parsePlace(&row)
		if err != nil {
			return err
		}
		tier := p.tier()
		c.Family = tierNames[tier]
		if err := tiles.Add(row.Key, *c); err != nil {
			return err
		}
		if err := indexes[tier].add(cell, &p); err != nil {
			return err
		}
		b.nearest.add(cell, tier, &p)
		if err := roll.add(cell, &p); err != nil {
			return err
		}
		b.sum.Write(row.Key)
		b.sum.Write(record)
		b.count(tier, &p)
		done++
		return b.step(stage, done, b.stats.Stored)
	})
	if err != nil {
		return err
	}
	if err := roll.finish(); err != nil {
		return err
	}
	if err := tiles.Commit(); err != nil {
		return err
	}
	if err := rollups.Commit(); err != nil {
		return err
	}
	if err := b.writeIndexes(store, &indexes); err != nil {
		return err
	}
	if err := b.end(stage, done); err != nil {
		return err
	}
	b.nearestMeta, err = b.writeNearest(store)
	return err
}

// count adds a place to the totals.
func (b *builder) count(tier int, p *place) {
	b.tier[tier]++
	b.weighted = b.weighted || p.weight != 0
	lon, lat := toDegrees(p.lon), toDegrees(p.lat)
	b.bounds = [4]float64{min(b.bounds[0], lon), min(b.bounds[1], lat), max(b.bounds[2], lon), max(b.bounds[3], lat)}
}

// writeIndexes writes the table of the indexes of all tiers.
func (b *builder) writeIndexes(store cellstore.Store, indexes *[tiers]*indexer) error {
	load, err := b.newLoad(store, tableIndex)
	if err != nil {
		return err
	}
	defer load.Abort()
	if err := writeIndex(indexes, b.newest, load.Add); err != nil {
		return err
	}
	return load.Commit()
}
