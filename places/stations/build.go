package stations

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"
	"math"
	"slices"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/extsort"
	"quadrille/places/internal/bulkload"
	"quadrille/places/internal/voronoi"
	"quadrille/quadkey"
)

// MaxStations bounds the stations of a data set. With as many, a Finder takes 40 MB of memory, and
// a build takes about 1 GB.
const MaxStations = 1 << 20

// BuildOptions are the options of Build and BuildWeather. The zero value is valid.
type BuildOptions struct {
	// TempDir is the directory for sorting data that does not fit in memory. Empty means the
	// system's directory for temporary files.
	TempDir string
	// Memory bounds the bytes of memory for sorting. 0 means 256 MiB, and less
	// than 4 MiB counts as 4 MiB.
	Memory int64
	// Progress, if set, is called at intervals, and at the end of each stage, from the goroutine
	// that builds. total is 0 if unknown.
	Progress func(stage string, done, total int64)
}

func (o BuildOptions) memory() int64 {
	if o.Memory == 0 {
		return 256 << 20
	}
	return max(o.Memory, 4<<20)
}

func (o BuildOptions) progress(stage string, done, total int64) {
	if o.Progress != nil {
		o.Progress(stage, done, total)
	}
}

// progressEvery is the number of records between two calls of Progress and
// between two checks of the context.
const progressEvery = 8192

// Meta describes a data set of stations. Store it as JSON in the manifest; Open
// needs it.
type Meta struct {
	SchemaVersion int   `json:"schema_version"`
	Stations      int64 `json:"stations"`
	// Positions is the number of distinct positions of stations.
	Positions int64 `json:"positions"`
	// Leaves counts the leaves of station_tiles, and Listed the positions in
	// all of them.
	Leaves int64 `json:"leaves"`
	Listed int64 `json:"listed"`
	// Bounds is west, south, east, north in degrees, ignoring ±180°. It is
	// absent if there are no stations.
	Bounds []float64 `json:"bounds,omitempty"`
	// Fingerprint identifies the content. Page cursors depend on it.
	Fingerprint string `json:"fingerprint"`
}

// Stats counts what Build did.
type Stats struct {
	Read       int64 // stations given
	Duplicates int64 // dropped for another record of the same id
}

// Build writes the tables of stations into a store that has none of them. Stations come in any
// order. Of several records with one id, Build keeps the one with the latest last day. Of those
// with the same last day it keeps the first. An error of the sequence, an invalid station, or more
// than MaxStations end the build. Discard the store after a failed build.
func Build(ctx context.Context, store cellstore.Store, seq iter.Seq2[Station, error], opts BuildOptions) (Meta, Stats, error) {
	b := &builder{ctx: ctx, store: store, opts: opts, sum: sha256.New()}
	meta, err := b.build(seq)
	if err != nil {
		return Meta{}, b.stats, fmt.Errorf("stations: %w", err)
	}
	return meta, b.stats, nil
}

// site is a position of stations.
type site struct {
	id     ID // the least one
	at     position
	shared int // how many stations are there
}

type builder struct {
	ctx   context.Context
	store cellstore.Store
	opts  BuildOptions
	stats Stats
	sum   hash.Hash

	stations []Station // in the order of their ids
	at       []position
	sites    []site  // in the order of their ids
	siteOf   []int32 // of each station
	tiles    *extsort.Sorter
	meta     Meta
}

func (b *builder) build(seq iter.Seq2[Station, error]) (_ Meta, err error) {
	for _, s := range stationSchemas() {
		if err := b.store.CreateTable(b.ctx, s); err != nil {
			return Meta{}, err
		}
	}
	if err := b.collect(seq); err != nil {
		return Meta{}, err
	}
	b.tiles = extsort.New(b.opts.TempDir, b.opts.memory())
	defer func() { err = errors.Join(err, b.tiles.Close()) }()
	b.findSites()
	b.meta = Meta{SchemaVersion: SchemaVersion, Stations: int64(len(b.stations)), Positions: int64(len(b.sites)), Bounds: b.bounds()}
	for _, write := range []func() error{b.writeTiles, b.writeInfo, b.writeIndex} {
		if err := write(); err != nil {
			return Meta{}, err
		}
	}
	b.meta.Fingerprint = hex.EncodeToString(b.sum.Sum(nil)[:16])
	return b.meta, nil
}

// collect reads the stations and keeps one of each id.
func (b *builder) collect(seq iter.Seq2[Station, error]) error {
	for s, err := range seq {
		if err != nil {
			return err
		}
		if err := s.Validate(); err != nil {
			return err
		}
		if b.stats.Read++; b.stats.Read > MaxStations {
			return fmt.Errorf("%w stations: more than %d; split them into data sets of regions", ErrTooMany, MaxStations)
		}
		b.stations = append(b.stations, s)
	}
	slices.SortStableFunc(b.stations, func(x, y Station) int {
		if c := bytes.Compare(x.ID[:], y.ID[:]); c != 0 {
			return c
		}
		return cmp.Compare(dayOf(y.End, always), dayOf(x.End, always))
	})
	b.stations = slices.CompactFunc(b.stations, func(x, y Station) bool { return x.ID == y.ID })
	b.stats.Duplicates = b.stats.Read - int64(len(b.stations))
	return b.ctx.Err()
}

// findSites groups the stations by position. Sites are in the order of their
// least ids.
func (b *builder) findSites() {
	b.at = make([]position, len(b.stations))
	b.siteOf = make([]int32, len(b.stations))
	index := make(map[position]int32, len(b.stations))
	for i := range b.stations {
		s := &b.stations[i]
		at := positionOf(s.Lat, s.Lon)
		n, ok := index[at]
		if !ok {
			n = int32(len(b.sites))
			index[at] = n
			b.sites = append(b.sites, site{id: s.ID, at: at})
		}
		b.at[i], b.siteOf[i] = at, n
		b.sites[n].shared++
	}
}

func (b *builder) bounds() []float64 {
	if len(b.at) == 0 {
		return nil
	}
	box := []float64{180, 90, -180, -90}
	for _, p := range b.at {
		lon, lat := p.Degrees()
		box[0], box[1] = min(box[0], lon), min(box[1], lat)
		box[2], box[3] = max(box[2], lon), max(box[3], lat)
	}
	return box
}

// timestamp returns a cell's timestamp: milliseconds since 1970, never
// negative.
func timestamp(t time.Time) int64 {
	if t.Unix() <= 0 {
		return 0
	}
	return min(t.Unix(), cellstore.MaxTimestamp/1000-1) * 1000
}

// writeTiles writes the leaves and records which leaves list each position.
func (b *builder) writeTiles() error {
	const stage = "dividing the world among stations"
	newest := int64(0)
	for i := range b.stations {
		newest = max(newest, timestamp(b.stations[i].End))
	}
	sites, err := b.competing()
	if err != nil {
		return err
	}
	return bulkload.Fill(b.ctx, b.store, tableTiles, func(l *bulkload.Load) error {
		appendID := func(dst []byte, s *voronoi.Site) []byte { return append(dst, b.sites[s.Ref].id[:]...) }
		counts, err := leaves.Write(b.ctx, l, &voronoi.Division{Sites: sites}, newest, appendID,
			func(t quadkey.Tile, value []byte, listed []voronoi.Site) error {
				key := t.Key()
				for i := range listed {
					if err := b.tiles.Add(uint64(listed[i].Ref), key[:]); err != nil {
						return err
					}
				}
				b.sum.Write(key[:])
				b.sum.Write(value)
				if b.meta.Leaves++; b.meta.Leaves%progressEvery == 0 {
					// Leaves come in the order of their cells. There are 2³² cells.
					_, last := t.CellRange()
					b.opts.progress(stage, int64(last), math.MaxUint32)
				}
				return nil
			})
		if errors.Is(err, voronoi.ErrTooMany) {
			return fmt.Errorf("%w: %w", ErrTooMany, err)
		}
		if err != nil {
			return err
		}
		b.meta.Leaves, b.meta.Listed = counts.Leaves, counts.Listed
		b.opts.progress(stage, math.MaxUint32, math.MaxUint32)
		return nil
	})
}

// competing returns the positions in the order of their cells.
func (b *builder) competing() (*voronoi.Sites, error) {
	at := make([]position, len(b.sites))
	for i := range b.sites {
		at[i] = b.sites[i].at
	}
	order, err := byCell(at)
	if err != nil {
		return nil, err
	}
	sites := &voronoi.Sites{}
	sites.Grow(len(order))
	for _, p := range order {
		s := &b.sites[p.n]
		sites.Add(p.cell, voronoi.Site{Position: s.at, Ref: uint32(p.n), Note: uint16(min(s.shared, maxShared))})
	}
	return sites, nil
}

// placed is a position of a list with its cell.
type placed struct {
	cell quadkey.Cell
	n    int32
}

// byCell returns the positions of a list in the order of their cells.
func byCell(list []position) ([]placed, error) {
	order := make([]placed, len(list))
	for i := range order {
		lon, lat := list[i].Degrees()
		cell, err := quadkey.CellOf(lon, lat)
		if err != nil {
			return nil, err
		}
		order[i] = placed{cell, int32(i)}
	}
	slices.SortFunc(order, func(x, y placed) int { return cmp.Or(cmp.Compare(x.cell, y.cell), cmp.Compare(x.n, y.n)) })
	return order, nil
}

// writeInfo writes the records. Positions are in the order of their least ids,
// so the leaves of a position are available when its first station is written.
func (b *builder) writeInfo() error {
	return bulkload.Fill(b.ctx, b.store, tableInfo, func(l *bulkload.Load) error {
		w := &infoWriter{b: b, l: l}
		at, keys := int32(0), []byte(nil)
		err := b.tiles.Each(func(n uint64, key []byte) error {
			if int32(n) != at {
				if err := w.through(at, keys); err != nil {
					return err
				}
				at, keys = int32(n), keys[:0]
			}
			keys = append(keys, key...)
			return nil
		})
		if err != nil || len(b.sites) == 0 {
			return err
		}
		if err := w.through(at, keys); err != nil {
			return err
		}
		return w.rest()
	})
}

type infoWriter struct {
	b     *builder
	l     *bulkload.Load
	next  int // station
	value []byte
}

// through writes the stations up to and including the first station of position n. keys are the
// leaves of this position.
func (w *infoWriter) through(n int32, keys []byte) error {
	for ; w.next < len(w.b.stations); w.next++ {
		first := w.b.sites[w.b.siteOf[w.next]].id == w.b.stations[w.next].ID
		if first && w.b.siteOf[w.next] != n {
			return fmt.Errorf("position %d is in no leaf", w.b.siteOf[w.next])
		}
		if !first {
			if err := w.later(); err != nil {
				return err
			}
			continue
		}
		if err := w.record(); err != nil {
			return err
		}
		const chunk = tilesChunk * len(quadkey.Key{})
		for i := 0; i*chunk < len(keys); i++ {
			part := keys[i*chunk : min((i+1)*chunk, len(keys))]
			w.value = append(append(w.value[:0], tilesListed), part...)
			if err := w.tiles(uint16(i)); err != nil {
				return err
			}
		}
		w.next++
		return nil
	}
	return nil
}

// rest writes the stations at the last position, except the first one.
func (w *infoWriter) rest() error {
	for ; w.next < len(w.b.stations); w.next++ {
		if err := w.later(); err != nil {
			return err
		}
	}
	return nil
}

// later writes a station that is not the first of its position.
func (w *infoWriter) later() error {
	if err := w.record(); err != nil {
		return err
	}
	first := &w.b.sites[w.b.siteOf[w.next]]
	w.value = append(append(w.value[:0], tilesShared), first.id[:]...)
	return w.tiles(0)
}

func (w *infoWriter) record() error {
	s := &w.b.stations[w.next]
	w.value = appendMembers(w.value[:0], s, w.b.at[w.next])
	w.b.sum.Write(w.value)
	if err := w.l.Add(s.ID[:], cellstore.Cell{Family: famJSON, Timestamp: timestamp(s.End), Value: w.value}); err != nil {
		return err
	}
	if w.next%progressEvery == 0 {
		w.b.opts.progress("writing stations", int64(w.next), int64(len(w.b.stations)))
		return w.b.ctx.Err()
	}
	return nil
}

func (w *infoWriter) tiles(part uint16) error {
	s := &w.b.stations[w.next]
	var qualifier [2]byte
	binary.BigEndian.PutUint16(qualifier[:], part)
	return w.l.Add(s.ID[:], cellstore.Cell{Family: famTiles, Qualifier: qualifier[:], Timestamp: timestamp(s.End), Value: w.value})
}

// writeIndex writes the table that a Finder keeps in memory.
func (b *builder) writeIndex() error {
	order, err := byCell(b.at)
	if err != nil {
		return err
	}
	return bulkload.Fill(b.ctx, b.store, tableIndex, func(l *bulkload.Load) error {
		var key [4]byte
		var value []byte
		for i := 0; i < len(order); i += indexChunk {
			binary.BigEndian.PutUint32(key[:], uint32(i))
			value = value[:0]
			newest := int64(0)
			for _, p := range order[i:min(i+indexChunk, len(order))] {
				s := &b.stations[p.n]
				e := entry{id: s.ID, at: b.at[p.n], begin: dayOf(s.Begin, always), end: dayOf(s.End, forever)}
				copy(e.country[:], s.Country)
				value = e.append(value)
				newest = max(newest, timestamp(s.End))
			}
			if err := l.Add(key[:], cellstore.Cell{Family: famIndex, Timestamp: newest, Value: value}); err != nil {
				return err
			}
		}
		b.opts.progress("writing stations", int64(len(order)), int64(len(order)))
		return nil
	})
}
