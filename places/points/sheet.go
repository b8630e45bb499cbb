package points

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"quadrille/feature"
	"quadrille/internal/bytecache"
	"quadrille/quadkey"
)

// sheet has all points of a collection at one moment, in the order of their keys: their positions,
// and some properties as columns. It answers what would need all rows: filtered tiles, and numbers
// of points by their properties. It is immutable.
type sheet struct {
	keys     []quadkey.PointKey
	lat, lon []int32
	expires  []int64            // nil if no point expires
	columns  map[string]*column // by the name of the property
}

// Bytes implements bytecache.Value.
func (sh *sheet) Bytes() int64 {
	n := int64(len(sh.keys)*16 + len(sh.expires)*8)
	for _, c := range sh.columns {
		n += c.bytes()
	}
	return n
}

// DefaultColumnBytes is the memory of SetColumnBytes if it is not called.
const DefaultColumnBytes = 128 << 20

// columnCache has sheets and selections of all collections.
var columnCache, columnBytes = bytecache.NewOfLarge[columnKey, columnValue](DefaultColumnBytes), int64(DefaultColumnBytes)

// SetColumnBytes sets the memory for columns of all collections, and forgets those there are. Points
// beyond it are read by their rows each time. Call it before queries begin.
func SetColumnBytes(most int64) {
	columnCache, columnBytes = bytecache.NewOfLarge[columnKey, columnValue](most), most
}

// columnValue is a *sheet or a *selection.
type columnValue interface{ Bytes() int64 }

// columnKey names a sheet, or with a filter a selection of its points.
type columnKey struct {
	collection uint64 // its number in this process
	version    uint64 // of the points of a selection, and the number of a sheet
	filter     string
	part       byte
}

// Hash returns 0, because one lock guards all values.
func (columnKey) Hash() uint64 { return 0 }

// ExtraBytes implements bytecache.Key.
func (k columnKey) ExtraBytes() int { return len(k.filter) }

// sheets makes the sheets of a collection. One goroutine at a time prepares one.
type sheets struct {
	number  uint64        // of the collection
	busy    chan struct{} // full while a goroutine prepares
	last    uint64        // the number of the newest sheet; 0 for none
	version uint64        // the commits that it has seen
}

var collections atomic.Uint64

func newSheets() *sheets {
	return &sheets{number: collections.Add(1), busy: make(chan struct{}, 1)}
}

// changes are the keys of points that were written since the newest sheet. Writes hold views.agree,
// and sheets hold it for reading.
type changes struct {
	version uint64 // commits
	keys    []quadkey.PointKey
	known   bool // whether keys are all
}

// maxChanges bounds the keys of changes. With more, all rows are read again.
const maxChanges = 1 << 16

func (c *changes) add(keys []quadkey.PointKey) {
	c.version++
	if c.known = c.known && len(c.keys)+len(keys) <= maxChanges; c.known {
		c.keys = append(c.keys, keys...)
	} else {
		c.keys = nil
	}
}

// sheetOf calls fn with a sheet that has columns of the named properties, in the state of r, and
// with the version of its points. It returns false if there is no memory for a sheet, or only if it
// is there already: most is the number of rows beyond which reading them costs more than a sheet.
func (c *Collection) sheetOf(ctx context.Context, names []string, rows int64, fn func(r reading, sh *sheet, version uint64) error) (bool, error) {
	if c.tree == nil {
		return false, nil
	}
	of := c.sheets
	select {
	case of.busy <- struct{}{}:
	default:
		feature.Pause(ctx) // whoever makes the sheet needs a processor
		select {
		case of.busy <- struct{}{}:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	r, sh, err := c.prepare(ctx, names, rows)
	version := of.version
	<-of.busy
	if err != nil || sh == nil {
		return false, err
	}
	defer c.end(r)
	return true, fn(r, sh, version)
}

// lacks reports whether some of the named properties have no column.
func (sh *sheet) lacks(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return sh.columns[name] == nil })
}

// maxEasyChanges is the number of changed keys up to which reading them is no heavy work.
const maxEasyChanges = 1000

// rowBytes is about what a point takes in a sheet with two columns of few values.
const rowBytes = 24

// prepare returns a sheet and the state that it has, which the caller ends, or no sheet.
func (c *Collection) prepare(ctx context.Context, names []string, rows int64) (r reading, sh *sheet, err error) {
	of := c.sheets
	old, _ := columnCache.Get(columnKey{collection: of.number, version: of.last, part: 's'}).(*sheet)
	var changed []quadkey.PointKey
	total := int64(c.tree.root().count)
	dear := old == nil || old.lacks(names)
	if total*rowBytes > columnBytes || dear && rows*8 < total {
		return r, nil, nil
	}
	if r, err = c.moment(ctx, func() {
		if v := c.views; v != nil {
			if changed = v.changes.keys; !v.changes.known {
				old, dear = nil, true
			}
			v.changes.keys, v.changes.known, of.version = nil, true, v.changes.version
		}
	}); err != nil {
		return r, nil, err
	}
	if dear && rows*8 < total {
		of.last = 0
		c.end(r)
		return r, nil, nil
	}
	sh = old
	work := func(ctx context.Context, step func(context.Context) error) error {
		// Others wait for the result, and the next question needs it, so this client's end does not end it.
		ctx, cancel := feature.SharedContext(ctx)
		defer cancel()
		if len(changed) > 0 && old != nil {
			if sh, err = c.advance(ctx, r, old, changed, step); err != nil {
				return err
			}
		}
		if sh == nil || sh.lacks(names) {
			sh, err = c.read(ctx, r, sh, names, step)
		}
		return err
	}
	if dear || len(changed) > maxEasyChanges {
		err = feature.RunHeavy(ctx, work)
	} else {
		err = work(ctx, context.Context.Err)
	}
	if err != nil {
		of.last = 0 // the changes are forgotten, so it cannot be advanced any more
		c.end(r)
		return r, nil, err
	}
	if sh != old {
		of.last = lastSheet.Add(1)
		columnCache.Add(columnKey{collection: of.number, version: of.last, part: 's'}, sh)
	}
	return r, sh, nil
}

var lastSheet atomic.Uint64

// read reads all rows. It returns a sheet with the columns of old, which may be nil, and with those
// of the named properties.
func (c *Collection) read(ctx context.Context, r reading, old *sheet, names []string, step func(context.Context) error) (*sheet, error) {
	sh := &sheet{columns: map[string]*column{}}
	if old != nil && old.Bytes() < columnBytes/4 {
		for name, column := range old.columns {
			sh.columns[name] = column
		}
	}
	var makers []columnMaker
	for _, name := range names {
		if sh.columns[name] == nil {
			makers = append(makers, newColumnMaker(name, nil))
		}
	}
	err := c.askOf(ctx, r, &feature.Query{Step: step}, func(s *search) error {
		return s.rowsWithin(ctx, 0, math.MaxUint64, func() { sh.add(&s.record, makers) })
	})
	if err != nil {
		return nil, err
	}
	for i := range makers {
		sh.columns[makers[i].name] = makers[i].column()
	}
	return sh, nil
}

// rowsWithin calls fn with the points of a range of keys, expired or not.
func (s *search) rowsWithin(ctx context.Context, first, last quadkey.PointKey, fn func()) error {
	n := 0
	s.key, s.until = appendPointKey(s.key[:0], first, ""), appendEnd(s.until[:0], last)
	return s.rows(ctx, s.key, s.until, 0, func() (bool, error) {
		if n++; s.step != nil && n%stepPoints == 0 {
			if err := s.step(); err != nil {
				return false, err
			}
		}
		fn()
		return true, nil
	})
}

// add appends a point, and its properties to the makers.
func (sh *sheet) add(r *record, makers []columnMaker) {
	if r.expires != 0 && sh.expires == nil {
		sh.expires = make([]int64, len(sh.keys))
	}
	if sh.expires != nil {
		sh.expires = append(sh.expires, r.expires)
	}
	sh.keys, sh.lat, sh.lon = append(sh.keys, r.key), append(sh.lat, r.lat), append(sh.lon, r.lon)
	for i := range makers {
		makers[i].add(makers[i].path.Find(r.properties))
	}
}

// span is a run of rows of an earlier sheet, or of those that have been read anew.
type span struct {
	from, to int
	fresh    bool
}

func splice[T any](old, fresh []T, spans []span) []T {
	list := make([]T, 0, len(old)+len(fresh))
	for _, s := range spans {
		if s.fresh {
			list = append(list, fresh[s.from:s.to]...)
		} else {
			list = append(list, old[s.from:s.to]...)
		}
	}
	return list
}

// advance returns the sheet in the state of r: it reads the points of changed keys. It returns nil
// if all should be read.
func (c *Collection) advance(ctx context.Context, r reading, old *sheet, changed []quadkey.PointKey,
	step func(context.Context) error) (*sheet, error) {
	slices.Sort(changed)
	changed = slices.Compact(changed)
	fresh := &sheet{}
	var makers []columnMaker
	for name, of := range old.columns {
		if of.values() > 2*len(old.keys)+1<<10 {
			return nil, nil // most of them are gone
		}
		makers = append(makers, newColumnMaker(name, of))
	}
	var spans []span
	at := 0
	err := c.askOf(ctx, r, &feature.Query{}, func(s *search) error {
		for i, key := range changed {
			if i%stepPoints == 0 {
				if err := step(ctx); err != nil {
					return err
				}
			}
			from := at + rank(old.keys[at:], key)
			begin := len(fresh.keys)
			if err := s.rowsWithin(ctx, key, key, func() { fresh.add(&s.record, makers) }); err != nil {
				return err
			}
			spans = append(spans, span{at, from, false}, span{begin, len(fresh.keys), true})
			if at = len(old.keys); key < math.MaxUint64 {
				at = from + rank(old.keys[from:], key+1)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	spans = append(spans, span{at, len(old.keys), false})
	sh := &sheet{
		keys: splice(old.keys, fresh.keys, spans), lat: splice(old.lat, fresh.lat, spans), lon: splice(old.lon, fresh.lon, spans),
		columns: map[string]*column{},
	}
	if old.expires != nil || fresh.expires != nil {
		all := func(s *sheet) []int64 {
			if s.expires == nil {
				return make([]int64, len(s.keys))
			}
			return s.expires
		}
		sh.expires = splice(all(old), all(fresh), spans)
	}
	for i := range makers {
		m := &makers[i]
		if !m.tooLarge {
			m.codes = splice(old.columns[m.name].list(len(old.keys)), m.codes, spans)
		}
		sh.columns[m.name] = m.column()
	}
	return sh, nil
}

// rank returns the number of keys less than a key.
func rank(keys []quadkey.PointKey, key quadkey.PointKey) int {
	at, _ := slices.BinarySearch(keys, key) // the first of equal ones
	return at
}

// rows returns the range of the rows with keys of a range.
func (sh *sheet) rows(keys keyRange) (from, to int) {
	from, to = rank(sh.keys, keys.first), len(sh.keys)
	if keys.last < math.MaxUint64 {
		to = from + rank(sh.keys[from:], keys.last+1)
	}
	return from, to
}
