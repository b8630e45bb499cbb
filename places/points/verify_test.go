package points

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

// builtRows builds a collection and returns it with its rows.
func builtRows(t *testing.T) (cellstore.Store, Meta, []cellstore.Row) {
	t.Helper()
	store := buildtest.NewStore(t)
	meta := must.Get(Build(t.Context(), store, func(yield func(Point, error) bool) {
		for i := range 300 {
			p := Point{ID: fmt.Sprint("p", i), Lat: float64(i%17)/8 + 46, Lon: float64(i%23)/16 + 7}
			p.Properties = fmt.Appendf(nil,
				`{"name":"Line\nÜ %d","price":%d.50,"kind":"k%d","open":%t,"tags":["a","b\u0007"],"more":{"a":[1, null]}}`, i, i, i%5, i%2 == 0)
			if !yield(p, nil) {
				return
			}
		}
	}, BuildOptions{Name: "shops", Memory: 64 << 20, TempDir: t.TempDir(), Timestamp: 5})).In(t)
	table := must.Get(store.Table(t.Context(), tableName)).In(t)
	var rows []cellstore.Row
	for row := range must.All(t, table.Scan(t.Context(), cellstore.Scan{})) {
		c := row.Cells[0]
		c.Value = bytes.Clone(c.Value)
		rows = append(rows, cellstore.Row{Key: bytes.Clone(row.Key), Cells: []cellstore.Cell{c}})
	}
	return store, meta, rows
}

func TestVerify(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine damages, opens and reads again and again")
	store, meta, rows := builtRows(t)
	var last int64
	must.Do(t, Verify(t.Context(), store, meta, func(done, total int64) { last = done }))
	if last != 0 {
		t.Errorf("progress %d of few rows", last)
	}
	table, err := store.Table(t.Context(), tableName)
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind byte) []cellstore.Row {
		return slices.DeleteFunc(slices.Clone(rows), func(r cellstore.Row) bool { return r.Key[0] != kind })
	}
	ids, placed, trees := of(rowID), of(rowPoint), of(rowTree)
	apply := func(row []byte, ops ...cellstore.Op) {
		t.Helper()
		must.Do(t, table.Apply(t.Context(), cellstore.Mutation{Row: row, Ops: ops}))
	}
	set := func(r *cellstore.Row, value []byte) {
		t.Helper()
		apply(r.Key, cellstore.PutAt(r.Cells[0].Family, nil, r.Cells[0].Timestamp, value))
	}
	drop := func(r *cellstore.Row) { t.Helper(); apply(r.Key, cellstore.DeleteRow(math.MaxInt64)) }
	// check expects a report of the present damage, and repairs the damaged rows.
	check := func(name, want string, damaged ...*cellstore.Row) {
		t.Helper()
		err := Verify(t.Context(), store, meta, nil)
		if !errors.Is(err, cellstore.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		for _, r := range damaged {
			drop(r)
			set(r, r.Cells[0].Value)
		}
		if err := Verify(t.Context(), store, meta, nil); err != nil {
			t.Fatalf("%s: not mended: %v", name, err)
		}
	}
	with := func(r *cellstore.Row, old, text string) []byte {
		return bytes.Replace(r.Cells[0].Value, []byte(old), []byte(text), 1)
	}

	id, p := &ids[7], &placed[100]
	drop(id)
	check("id dropped", "its id has no row", id)
	drop(p)
	check("point dropped", "there are 299 points and 300 ids", p)

	for want, row := range map[string]cellstore.Row{
		"which has another key":         {Key: append(appendPointKey(nil, 12345, ""), p.Key[keyHead:]...), Cells: p.Cells},
		"its id has no row":             {Key: append(slices.Clone(p.Key), 'x'), Cells: p.Cells},
		"it is of no point, id or tree": {Key: []byte("zz"), Cells: p.Cells},
	} {
		if want == "which has another key" {
			drop(p)
		}
		set(&row, p.Cells[0].Value)
		if err := Verify(t.Context(), store, meta, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		drop(&row)
		set(p, p.Cells[0].Value)
	}

	set(p, nil)
	check("point emptied", "holds no point", p)
	set(p, p.Cells[0].Value[:10])
	check("point cut", "does not hold a point", p)
	set(p, with(p, `{"name"`, `{ "name"`))
	check("blank", "not compact", p)
	set(p, with(p, `{"name"`, `{"name`))
	check("no JSON", "bad properties: no valid JSON", p)
	set(p, with(p, `"open":`, `"open":"x","o":`))
	check("type", "not the types of the schema", p)
	kind := string(p.Cells[0].Value)
	from := strings.Index(kind, `"kind":"k`) + len(`"kind":"k`)
	set(p, []byte(kind[:from]+"9"+kind[from+1:]))
	check("value", "signature", p)

	version := slices.Clone(id.Cells[0].Value)
	version[15]++
	set(id, version)
	check("id flipped", "another position", id)
	version[15]--
	apply(id.Key, cellstore.PutAt(famID, nil, 9, version))
	check("id of another version", "another position, version or end", id)

	nodes := &trees[1]
	for name, at := range map[string]int{"latitude": 15, "longitude": 23, "signature": 31} {
		flipped := slices.Clone(nodes.Cells[0].Value)
		flipped[nodeBytes+at] ^= 1
		set(nodes, flipped)
		check(name, "of the points in its tile", nodes)
	}
	set(&trees[0], with(&trees[0], "tags", "togs"))
	check("summary", "summary of values", &trees[0])

	other := meta
	other.Points++
	if err := Verify(t.Context(), store, other, nil); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Error(err)
	}
	other.SchemaVersion++
	if err := Verify(t.Context(), store, other, nil); !errors.Is(err, cellstore.ErrNewer) {
		t.Error(err)
	}
}
