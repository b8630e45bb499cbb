package places

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"
	"math"
	"time"

	"quadrille/cellstore"
	"quadrille/places/internal/extsort"
	"quadrille/quadkey"
)

// BuildOptions are for [Build]; the zero value works.
type BuildOptions struct {
	// TempDir is where places that do not fit in memory are sorted: a
	// directory with room for about 400 bytes per place. Empty: the system's.
	TempDir string
	// Memory is how many bytes the sorting may hold; 0 means 512 MiB, and less
	// than 16 MiB is taken as 16 MiB. The store's own memory is not counted.
	Memory int64
	// Progress, if set, is called now and then, and at the end of each stage,
	// from the goroutine that runs Build. The first stage, taking the places,
	// is not reported: the sequence knows better how far it has come.
	Progress func(stage string, done, total int64)
}

const (
	defaultMemory = 512 << 20
	minMemory     = 16 << 20
	// progressEvery is how many places lie between two calls of Progress and
	// between two looks at the context.
	progressEvery = 8192
)

// Stats says what a Build did.
type Stats struct {
	Read       int64 // places given
	Stored     int64 // places kept
	Duplicates int64 // places dropped for a newer one of the same id
	Spilled    int64 // bytes of temporary files written
}

// Meta describes a built data set. It belongs into its manifest as JSON, and
// [Open] needs it.
type Meta struct {
	// SchemaVersion is that of the rows.
	SchemaVersion int `json:"schema_version"`
	// Places is how many there are, Tiers how many of each tier.
	Places int64            `json:"places"`
	Tiers  map[string]int64 `json:"tiers,omitempty"`
	// Bounds is west, south, east, north in degrees of what the places span,
	// without regard to ±180°; absent without places.
	Bounds []float64 `json:"bounds,omitempty"`
	// Modified is the newest modification date; absent when none has one.
	Modified time.Time `json:"modified,omitzero"`
	// Fingerprint identifies the content: the same places have the same. Page
	// cursors are bound to it.
	Fingerprint string `json:"fingerprint"`
}

// Build writes the tables of the package documentation into a store that has
// none of them. Places come in any order; of several with the same id the one
// with the latest modification date is kept, and the first given where dates
// are equal. An error of the sequence and a place that is not valid end the
// build; a store left by a failed build is of no use.
//
// Memory stays within opts.Memory and a small multiple of the parts that are
// kept per 16 places, however many there are.
func Build(ctx context.Context, store cellstore.Store, seq iter.Seq2[Place, error], opts BuildOptions) (Meta, Stats, error) {
	b := &builder{ctx: ctx, opts: opts}
	meta, err := b.build(store, seq)
	if err != nil {
		return Meta{}, b.stats, fmt.Errorf("places: %w", err)
	}
	return meta, b.stats, nil
}

// builder takes the places through two sorts.
//
// The first, by id, puts duplicates side by side; what survives goes to
// place_info at once and to the second sort, by cell and id, whose order is
// that of tile_places and of the pass that makes place_rollup and place_index.
//
// A record of the first sort is
//
//	timestamp (8) │ length of value (4) │ length of qualifier (1) │ qualifier │ tile_places value │ details
//
// and a record of the second is the same without the details: all JSON is
// written once, when the place arrives, and copied from there.
type builder struct {
	ctx   context.Context
	opts  BuildOptions
	stats Stats

	byID, byCell *extsort.Sorter
	sum          hash.Hash
	newest       int64 // ms
	bounds       [4]float64
	tier         [tiers]int64
}

const recordHead = 13

func (b *builder) build(store cellstore.Store, seq iter.Seq2[Place, error]) (_ Meta, err error) {
	// Both sorters are full at once while one is read and the other filled.
	memory := b.opts.Memory
	if memory == 0 {
		memory = defaultMemory
	}
	memory = max(memory, minMemory) / 2
	b.byID = extsort.New(b.opts.TempDir, memory)
	b.byCell = extsort.New(b.opts.TempDir, memory)
	defer func() { err = errors.Join(err, b.byID.Close(), b.byCell.Close()) }()

	for _, s := range schemas() {
		if err := store.CreateTable(b.ctx, s); err != nil {
			return Meta{}, err
		}
	}
	if err := b.collect(seq); err != nil {
		return Meta{}, err
	}
	if err := b.writeInfo(store); err != nil {
		return Meta{}, err
	}
	if err := b.byID.Close(); err != nil {
		return Meta{}, err
	}
	b.stats.Spilled = b.byID.Spilled()
	if err := b.writeTiles(store); err != nil {
		return Meta{}, err
	}
	b.stats.Spilled += b.byCell.Spilled()

	meta := Meta{
		SchemaVersion: SchemaVersion,
		Places:        b.stats.Stored,
		Fingerprint:   hex.EncodeToString(b.sum.Sum(nil)[:16]),
	}
	if b.stats.Stored > 0 {
		meta.Bounds = b.bounds[:]
		meta.Tiers = map[string]int64{}
		for i, n := range b.tier {
			meta.Tiers[tierNames[i]] = n
		}
	}
	if b.newest > 0 {
		meta.Modified = time.UnixMilli(b.newest).UTC()
	}
	return meta, nil
}

// step reports progress and notices the end of the context. It is called with
// the number of places done in a stage, after each.
func (b *builder) step(stage string, done, total int64) error {
	if done%progressEvery != 0 {
		return nil
	}
	if b.opts.Progress != nil {
		b.opts.Progress(stage, done, total)
	}
	return b.ctx.Err()
}

func (b *builder) end(stage string, done int64) error {
	if b.opts.Progress != nil {
		b.opts.Progress(stage, done, done)
	}
	return b.ctx.Err()
}

func (b *builder) collect(seq iter.Seq2[Place, error]) error {
	var record, qualifier []byte
	for p, err := range seq {
		if err != nil {
			return err
		}
		if err := p.Validate(); err != nil {
			return err
		}
		qualifier = appendQualifier(qualifier[:0], p.Class, p.Code)
		record = binary.BigEndian.AppendUint64(record[:0], uint64(timestamp(p.Modified)))
		record = append(record, 0, 0, 0, 0, byte(len(qualifier)))
		record = append(record, qualifier...)
		at := len(record)
		record = appendValue(record, &p)
		binary.BigEndian.PutUint32(record[8:], uint32(len(record)-at))
		record = appendDetails(record, &p)

		// Among equal ids the latest date comes first, and then the first given.
		seconds := min(max(p.Modified.Unix(), 0), math.MaxUint32)
		if err := b.byID.Add(uint64(p.ID)<<32|uint64(^uint32(seconds)), record); err != nil {
			return err
		}
		if b.stats.Read++; b.stats.Read%progressEvery == 0 {
			if err := b.ctx.Err(); err != nil {
				return err
			}
		}
	}
	return b.ctx.Err()
}

// timestamp of a cell: milliseconds since 1970, never negative.
func timestamp(t time.Time) int64 {
	if t.Unix() <= 0 {
		return 0
	}
	return min(t.Unix(), cellstore.MaxTimestamp/1000-1) * 1000
}

// stored is a record of either sort, taken apart.
type stored struct {
	ts                        int64
	qualifier, value, details []byte
	core                      []byte // all but the details
}

func parseStored(record []byte) (s stored, err error) {
	if len(record) < recordHead {
		return s, errors.New("temporary file is damaged")
	}
	valueLen, qualLen := int(binary.BigEndian.Uint32(record[8:])), int(record[12])
	if recordHead+qualLen+valueLen > len(record) {
		return s, errors.New("temporary file is damaged")
	}
	s.ts = int64(binary.BigEndian.Uint64(record))
	s.core = record[:recordHead+qualLen+valueLen]
	s.qualifier, s.value = s.core[recordHead:recordHead+qualLen], s.core[recordHead+qualLen:]
	s.details = record[len(s.core):]
	return s, nil
}

// writeInfo drops duplicates, writes place_info and feeds the second sort.
func (b *builder) writeInfo(store cellstore.Store) error {
	const stage = "writing places"
	info, err := newLoad(b.ctx, store, tableInfo)
	if err != nil {
		return err
	}
	defer info.abort()

	var key, value []byte
	var last uint32 // ids start at 1
	err = b.byID.Each(func(sortKey uint64, record []byte) error {
		id := uint32(sortKey >> 32)
		if id == last {
			b.stats.Duplicates++
			return nil
		}
		last = id
		s, err := parseStored(record)
		if err != nil {
			return err
		}
		lon, lat := coordinates(s.value)
		cell, err := quadkey.CellOf(lon, lat)
		if err != nil {
			return err
		}
		if err := b.byCell.Add(uint64(cell)<<32|uint64(id), s.core); err != nil {
			return err
		}
		key = appendInfoKey(key[:0], id)
		value = append(append(value[:0], '{'), s.value[atMembers:]...)
		value = append(append(value, s.details...), '}')
		b.newest = max(b.newest, s.ts)
		b.stats.Stored++
		if err := info.add(key, cellstore.Cell{Family: famJSON, Timestamp: s.ts, Value: value}); err != nil {
			return err
		}
		return b.step(stage, b.stats.Stored+b.stats.Duplicates, b.stats.Read)
	})
	if err != nil {
		return err
	}
	if err := info.commit(); err != nil {
		return err
	}
	return b.end(stage, b.stats.Read)
}

func coordinates(value []byte) (lon, lat float64) {
	return toDegrees(int32(binary.BigEndian.Uint32(value[atLon:]))),
		toDegrees(int32(binary.BigEndian.Uint32(value[atLat:])))
}

// writeTiles writes the tables that are in the order of cells.
func (b *builder) writeTiles(store cellstore.Store) error {
	const stage = "writing tiles of places"
	tiles, err := newLoad(b.ctx, store, tableTiles)
	if err != nil {
		return err
	}
	defer tiles.abort()
	rollups, err := newLoad(b.ctx, store, tableRollup)
	if err != nil {
		return err
	}
	defer rollups.abort()

	b.sum = sha256.New()
	b.bounds = [4]float64{180, 90, -180, -90}
	var indexes [tiers]*index
	for i := range indexes {
		indexes[i] = newIndex()
	}
	roll := &rollup{emit: rollups.add, ts: b.newest}
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
		tier := tierOf(p.qualifier, p.population)
		c.Family = tierNames[tier]
		if err := tiles.add(row.Key, *c); err != nil {
			return err
		}
		if err := indexes[tier].add(cell, &p); err != nil {
			return err
		}
		if err := roll.add(cell, &p); err != nil {
			return err
		}
		b.tier[tier]++
		b.sum.Write(row.Key)
		b.sum.Write(s.core)
		lon, lat := toDegrees(p.lon), toDegrees(p.lat)
		b.bounds = [4]float64{min(b.bounds[0], lon), min(b.bounds[1], lat), max(b.bounds[2], lon), max(b.bounds[3], lat)}
		done++
		return b.step(stage, done, b.stats.Stored)
	})
	if err != nil {
		return err
	}
	if err := roll.finish(); err != nil {
		return err
	}
	if err := tiles.commit(); err != nil {
		return err
	}
	if err := rollups.commit(); err != nil {
		return err
	}
	summary, err := newLoad(b.ctx, store, tableIndex)
	if err != nil {
		return err
	}
	defer summary.abort()
	if err := writeIndex(&indexes, b.newest, summary.add); err != nil {
		return err
	}
	if err := summary.commit(); err != nil {
		return err
	}
	return b.end(stage, done)
}
