package rowcache

import (
	"encoding/binary"
	"maps"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
)

const (
	// maxViews bounds the views of a table.
	maxViews = 128
	// maxSelection bounds the encoded length of a selection with a view, in bytes.
	maxSelection = 4 << 10
)

// known is the cached part of one state of a table: a view for each selection. It ends with a
// change of the table.
type known struct {
	bypass bool // nothing is cached: reads go to the store

	cache     *Cache
	validator cellstore.Validator
	families  []string

	views atomic.Pointer[map[string]*view]

	mu   sync.Mutex // of changes of views
	dead bool
}

// bypassing is the state of a table that is being changed, or that has a TTL.
var bypassing = &known{bypass: true}

func newKnown(c *Cache, v cellstore.Validator) *known {
	k := &known{cache: c, validator: v}
	for _, f := range v.Schema.Families {
		if f.TTL > 0 {
			return bypassing
		}
		k.families = append(k.families, f.Name)
	}
	k.views.Store(&map[string]*view{})
	return k
}

// forget empties k permanently.
func (k *known) forget() {
	if k.bypass {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
	for _, v := range *k.views.Load() {
		v.forget()
	}
	k.views.Store(&map[string]*view{})
}

// view returns the view of a selection. It is nil if the selection is too long or invalid, or after
// forget.
func (k *known) view(sel *cellstore.Selection) *view {
	var buf [192]byte
	key := appendSelection(buf[:0], sel)
	v := (*k.views.Load())[string(key)]
	if v == nil {
		if v = k.open(string(key), sel); v == nil {
			return nil
		}
	}
	v.touch()
	return v
}

// family does the same as view, for one family of NextEach.
func (k *known) family(name string) *view {
	var buf [192]byte
	v := (*k.views.Load())[string(appendFamily(buf[:0], name))]
	if v == nil {
		return k.view(&cellstore.Selection{Families: []string{name}})
	}
	v.touch()
	return v
}

func (k *known) open(key string, sel *cellstore.Selection) *view {
	if len(key) > maxSelection || k.validator.Selection(sel) != nil {
		return nil // the store refuses it with its error
	}
	own := &cellstore.Selection{}
	if sel != nil {
		own = sel.Clone()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old := *k.views.Load()
	if v := old[key]; v != nil || k.dead {
		return v
	}
	views := maps.Clone(old)
	if len(views) >= maxViews {
		makeRoom(views)
	}
	v := newView(k, own)
	views[key] = v
	k.views.Store(&views)
	return v
}

// makeRoom drops the views that were not used since its last call, or any half of them if all were
// used.
func makeRoom(views map[string]*view) {
	for _, unusedOnly := range []bool{true, false} {
		for key, v := range views {
			if v.used.Swap(false) && unusedOnly || len(views) <= maxViews/2 {
				continue
			}
			delete(views, key)
			v.forget()
		}
		if len(views) < maxViews {
			return
		}
	}
}

// appendSelection encodes a selection. Selections whose fields are equal, in any
// order of their families, have the same bytes.
func appendSelection(b []byte, sel *cellstore.Selection) []byte {
	if sel == nil {
		return appendHead(b, 0, 0, 0)
	}
	b = appendHead(b, sel.Versions, len(sel.Columns), len(sel.Families))
	switch len(sel.Families) {
	case 0:
	case 1:
		b = appendBytes(b, sel.Families[0])
	default:
		var buf [8]string
		for _, name := range sortedNames(append(buf[:0], sel.Families...)) {
			b = appendBytes(b, name)
		}
	}
	for i := range sel.Columns {
		b = appendBytes(appendBytes(b, sel.Columns[i].Family), sel.Columns[i].Qualifier)
	}
	min, max, timed := sel.Time.Bounds()
	f := &sel.Filter
	if !timed && f.IsZero() {
		return b
	}
	if timed {
		b = binary.AppendVarint(binary.AppendVarint(append(b, 't'), min), max)
	}
	b = appendBytes(appendBytes(appendBytes(append(b, 'f'), f.Prefix), f.From), f.To)
	return binary.AppendVarint(binary.AppendVarint(b, int64(f.Limit)), int64(f.Offset))
}

func appendFamily(b []byte, name string) []byte { return appendBytes(appendHead(b, 0, 0, 1), name) }

func appendHead(b []byte, versions, columns, families int) []byte {
	if versions == 0 {
		versions = 1
	}
	b = binary.AppendVarint(b, int64(versions))
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(columns)), uint64(families))
}

func appendBytes[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// sortedNames sorts in place, without the closure of slices.Sort: families are
// few.
func sortedNames(s []string) []string {
	for i := 1; i < len(s); i++ {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return s
}
