package places

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/places/internal/voronoi"
	"quadrille/quadkey"
)

// leaves is the layout of place_nearest. Its notes are tiers.
var leaves = voronoi.Layout{Table: tableNearest, Family: famNear, ID: 4, Note: 1}

// SetCacheBytes bounds the memory for the nearest places, airports and weather stations of all Finders of the
// process, in bytes, and empties it. It is 16 MiB unless SetCacheBytes changes it.
func SetCacheBytes(most int64) { voronoi.SetCacheBytes(most) }

// mostCompeting bounds the places that place_nearest is about, and with them the memory of a build: 320
// MiB. GeoNames has 5 million populated places.
const mostCompeting = 1 << 24

// NearestMeta describes place_nearest.
type NearestMeta struct {
	// The table is about the places of these classes (letters) and kinds; all if empty.
	Classes string   `json:"classes,omitempty"`
	Kinds   []string `json:"kinds,omitempty"`
	voronoi.Counts
}

// filter returns the filter for the places that the table is about.
func (m *NearestMeta) filter() filter {
	f := filter{codes: slices.Sorted(slices.Values(m.Kinds))}
	for i := range len(m.Classes) {
		f.classes |= 1 << (m.Classes[i] - 'A')
	}
	return f
}

// nearestBuilder collects the places for place_nearest.
type nearestBuilder struct {
	filter
	expected int
	sites    voronoi.Sites
}

// use sets the filter for the places of the table.
func (n *nearestBuilder) use(of feature.Filter) error {
	if of == nil {
		of = OnlyPopulated
	}
	var rest feature.Filter
	var possible bool
	if n.filter, rest, possible = filterOf(of, nil); !possible || rest != nil || n.countries != nil || n.minPopulation > 0 {
		return errors.New("BuildOptions.Nearest has to be a filter by class and kind alone: leave out its other terms")
	}
	return nil
}

// expect counts a place before the places come in the order of their cells.
func (n *nearestBuilder) expect(p *place) {
	if n.passes(p) {
		n.expected++
	}
}

// add takes a place, in the order of cells.
func (n *nearestBuilder) add(cell quadkey.Cell, tier int, p *place) {
	if n.expected > mostCompeting || !n.passes(p) {
		return
	}
	if n.sites.Len() == 0 {
		n.sites.Grow(n.expected)
	}
	n.sites.Add(cell, voronoi.Site{Position: voronoi.Position{Lat: p.lat, Lon: p.lon}, Ref: p.id, Note: uint16(tier)})
}

// writeNearest writes place_nearest. It returns nil if the table stays empty because it would be
// about too many places.
func (b *builder) writeNearest(store cellstore.Store) (*NearestMeta, error) {
	const stage = "listing nearest places"
	n := &b.nearest
	if n.expected > mostCompeting {
		return nil, nil
	}
	meta := &NearestMeta{Kinds: n.codes}
	for class := byte('A'); class <= 'Z'; class++ {
		if n.classes.has(class) {
			meta.Classes += string(class)
		}
	}
	load, err := b.newLoad(store, tableNearest)
	if err != nil {
		return nil, err
	}
	defer load.Abort()
	total, done := int64(n.sites.Len()), int64(0)
	appendID := func(dst []byte, s *voronoi.Site) []byte { return binary.BigEndian.AppendUint32(dst, s.Ref) }
	division := voronoi.Division{Sites: &n.sites, Partial: true}
	meta.Counts, err = leaves.Write(b.ctx, load, &division, b.newest, appendID,
		func(t quadkey.Tile, _ []byte, _ []voronoi.Site) error {
			done++
			if done%progressEvery != 0 {
				return nil
			}
			// Leaves come in the order of their cells, of which there are 2³².
			_, last := t.CellRange()
			return b.step(stage, int64(float64(last)/math.MaxUint32*float64(total)), total)
		})
	if err != nil {
		return nil, err
	}
	if err := load.Commit(); err != nil {
		return nil, err
	}
	n.sites = voronoi.Sites{}
	return meta, b.end(stage, total)
}

// nearestTable is an open place_nearest.
type nearestTable struct {
	filter
	table   *voronoi.Table
	empty   bool
	lookups sync.Pool // of *lookup
}

// lookup is the memory of one call of listed.
type lookup struct {
	voronoi.Lookup
	row   cellstore.Row
	key   []byte
	place *place // the last one, or nil
	shown feature.Feature
}

// openNearest opens place_nearest. It returns nil for a data set without it.
func openNearest(ctx context.Context, store cellstore.Store, meta *Meta) (*nearestTable, error) {
	if meta.Nearest == nil {
		return nil, nil
	}
	n := &nearestTable{filter: meta.Nearest.filter(), empty: meta.Nearest.Positions == 0}
	n.lookups.New = func() any { return new(lookup) }
	table, err := store.Table(ctx, tableName(meta.Prefix, tableNearest))
	n.table = leaves.Open(table)
	return n, err
}

// answers reports whether the table has the answer to a query: the nearest place of those that it is
// about. flt is the filter of the query, and after is where the answer begins.
func (n *nearestTable) answers(q *feature.Query, flt *filter, after near.Cursor) bool {
	return n != nil && q.Limit == 1 && after == near.Cursor{} && flt.classes == n.classes && flt.minPopulation == 0 &&
		len(flt.countries) == 0 && slices.Equal(flt.codes, n.codes)
}

var selectTiers = func() (of [tiers]*cellstore.Selection) {
	for tier := range of {
		of[tier] = &cellstore.Selection{Families: []string{tierNames[tier]}}
	}
	return of
}()

// listed yields the place nearest to a point, if its rank is at most reach. It reads two rows, unless they are
// cached: the leaf of the point and the place. known is false if the leaf does not tell.
func (f *Finder) listed(ctx context.Context, q *feature.Query, reach uint64,
	yield func(*feature.Feature, error) bool) (known bool) {
	n := f.nearest
	if n.empty {
		return true
	}
	l := n.lookups.Get().(*lookup)
	defer n.lookups.Put(l)
	found, err := n.table.Nearest(ctx, q.Near.Lat, q.Near.Lon, &l.Lookup)
	if err == nil && !found {
		err = cellstore.CorruptRow(tableNearest, nil, "is missing")
	}
	if err != nil {
		yield(nil, fmt.Errorf("places: %w", err))
		return true
	}
	if l.Candidates == 0 {
		return false
	}
	rank := near.DistanceRank(l.DistanceM)
	if rank > reach {
		return true
	}
	p, err := f.listedPlace(ctx, l)
	if err != nil {
		yield(nil, err)
		return true
	}
	p.show(&l.shown)
	l.shown.DistanceM = l.DistanceM
	l.shown.Mark = appendMark(l.shown.Mark[:0], rank, p.id)
	yield(&l.shown, nil)
	return true
}

// listedPlace returns the place of a lookup.
func (f *Finder) listedPlace(ctx context.Context, l *lookup) (p *place, err error) {
	id := binary.BigEndian.Uint32(l.ID)
	if p = l.place; p == nil || p.id != id {
		var cached bool
		if p, cached = f.nearest.table.Record(l.ID).(*place); !cached {
			if p, err = f.readListed(ctx, l, id); err != nil {
				return nil, err
			}
			f.nearest.table.CacheRecord(l.ID, p)
		}
		l.place = p
	}
	if p.lat != l.Lat || p.lon != l.Lon {
		leaf := l.Tile.Key()
		return nil, cellstore.CorruptRow(tableNearest, leaf[:], "has a place elsewhere than the place's own row")
	}
	return p, nil
}

// readListed reads the place of a lookup.
func (f *Finder) readListed(ctx context.Context, l *lookup, id uint32) (*place, error) {
	cell, err := quadkey.CellOf(l.Degrees())
	if err != nil || l.Note >= tiers {
		return nil, cellstore.CorruptRow(tableNearest, l.ID, "has another layout")
	}
	l.key = appendTileKey(l.key[:0], cell, id)
	found, err := f.tiles.Get(ctx, l.key, selectTiers[l.Note], &l.row)
	if err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	if !found {
		return nil, cellstore.CorruptRow(tableTiles, l.key, "is missing")
	}
	p, err := parsePlace(&l.row)
	if err != nil {
		return nil, err
	}
	return p.clone(), nil
}

// clone returns a copy of a place that shares no memory with it.
func (p *place) clone() *place {
	c := *p
	c.qualifier, c.members = bytes.Clone(p.qualifier), bytes.Clone(p.members)
	c.properties = c.members[:len(p.properties):len(p.properties)]
	return &c
}

// Bytes implements voronoi.Record.
func (p *place) Bytes() int64 { return int64(cap(p.qualifier) + cap(p.members)) }
