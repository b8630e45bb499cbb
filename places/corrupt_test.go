package places

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/bulkload"
	"quadrille/quadkey"
)

// A row that is cut anywhere is reported as corrupt, unless it still is a valid row.
func TestCutRows(t *testing.T) {
	value := appendValue(nil, columnsOf(t, &bern), "")
	split := int(binary.BigEndian.Uint16(value[atSplit:]))
	key := appendTileKey(nil, 7, bern.ID)
	for n := range value {
		var row cellstore.Row
		row.SetKey(key)
		row.AppendCell("high", []byte("P.PPLC"), 0, value[:n])
		p, err := parsePlace(&row)
		if err == nil {
			_, err = nameOf(p.properties)
		}
		if whole := err == nil; whole != (n >= atMembers+split) || !whole && !errors.Is(err, cellstore.ErrCorrupt) {
			t.Fatalf("%d of %d bytes: %v", n, len(value), err)
		}
	}
	for _, key := range [][]byte{nil, key[:7], append(key, 0)} {
		var row cellstore.Row
		row.SetKey(key)
		row.AppendCell("high", nil, 0, value)
		if _, err := parsePlace(&row); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("key %x: %v", key, err)
		}
	}

	x := place{id: 1, qualifier: []byte("P.PPL")}
	one := appendPoint(nil, &x, "name")
	points := appendPoint(one, &x, "")
	for n := range points {
		seen, ok := 0, true
		for rest := points[:n]; ok && len(rest) > 0; seen++ {
			_, rest, ok = cutPoint(rest)
		}
		if whole := n == 0 || n == len(one); whole != ok || seen > 2 || ok && seen > 1 {
			t.Fatalf("%d of %d bytes: %d points, whole: %v", n, len(points), seen, ok)
		}
	}

	record := append([]byte{0, 0, 0, 0, 0, 0, 0, 9, 1, 'q'}, "value"...)
	for n := range record {
		if _, err := parseStored(record[:n]); (err == nil) != (n >= 10) {
			t.Fatalf("%d of %d bytes: %v", n, len(record), err)
		}
	}
	whole := appendColumns(nil, &bern)
	for n := range whole {
		var c columns
		if err := c.parse(string(whole[:n])); err == nil {
			t.Fatalf("%d of %d bytes of columns are whole", n, len(whole))
		}
	}
	name := appendAlternate(nil, &AlternateName{Lang: "de", Name: "x"})
	for n := range name {
		var a alternate
		if err := a.parse(string(name[:n])); (err == nil) != (n >= 4) {
			t.Fatalf("%d of %d bytes: %v", n, len(name), err)
		}
	}
}

func TestCorruptIndex(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	count := func(n uint64, list ...byte) []byte {
		return append(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, n), 0), list...)
	}
	for name, rows := range map[string][]indexRow{
		"unknown kind":        {{"x\x00", nil}},
		"short key":           {{"p", count(1, 0)}},
		"unknown tier":        {{"p\x03P.PPL\x00CH\x00", count(1, 0)}},
		"short group":         {{"p\x00P.PPL\x00CH\x00", []byte{1}}},
		"group of no block":   {{"p\x00P.PPL\x00CH\x00", count(1)}},
		"group of no place":   {{"p\x00P.PPL\x00CH\x00", count(0, 0)}},
		"no end of the code":  {{"p\x00P.PPLCH0", count(1, 0)}},
		"country of 3":        {{"p\x00P.PPL\x00CHE\x00", count(1, 0)}},
		"populated 2":         {{"p\x00P.PPL\x00CH\x02", count(1, 0)}},
		"half a sample":       {{"s\x00\x00\x00\x00\x00", []byte{1, 2}}},
		"sample of no place":  {{"s\x00\x00\x00\x00\x00", []byte{1, 2, 3, 4}}},
		"half a block":        {{"b\x00\x00\x00\x00\x00", make([]byte, blockSize-1)}},
		"block of no place":   {{"b\x00\x00\x00\x00\x00", make([]byte, blockSize)}},
		"half a grid":         {{"g\x00", make([]byte, 511)}},
		"place of no sample":  {{"p\x00P.PPL\x00CH\x00", count(1, 0)}},
		"too many of a place": {{"p\x00P.PPL\x00CH\x00", count(1<<40, 0)}},
		"block beyond": {
			{"b\x00\x00\x00\x00\x00", make([]byte, blockSize)}, {"p\x00P.PPL\x00CH\x00", count(1, 1)}, {"s\x00\x00\x00\x00\x00", make([]byte, 4)},
		},
		"list cut short": {
			{"b\x00\x00\x00\x00\x00", make([]byte, blockSize)}, {"p\x00P.PPL\x00CH\x00", count(1, 0x80)}, {"s\x00\x00\x00\x00\x00", make([]byte, 4)},
		},
		"more blocks than places": {
			{"b\x00\x00\x00\x00\x00", make([]byte, blockSize)}, {"p\x00P.PPL\x00CH\x00", count(1, 0, 0)}, {"s\x00\x00\x00\x00\x00", make([]byte, 4)},
		},
	} {
		if err := openWithIndex(t, rows, 0); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := []indexRow{
		{"b\x00\x00\x00\x00\x00", make([]byte, blockSize)}, {"p\x00P.PPL\x00CH\x00", count(1, 0)}, {"s\x00\x00\x00\x00\x00", make([]byte, 4)},
	}
	if err := openWithIndex(t, whole, 1); err != nil {
		t.Errorf("a whole one: %v", err)
	}
}

type indexRow struct {
	key   string
	value []byte
}

// openWithIndex opens tables that have only rows of place_index.
func openWithIndex(t *testing.T, rows []indexRow, count int64) error {
	t.Helper()
	store := buildtest.NewStore(t)
	for _, s := range schemas("") {
		must.Do(t, store.CreateTable(t.Context(), s))
	}
	l, err := bulkload.New(t.Context(), store, "place_index")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		must.Do(t, l.Add([]byte(row.key), cellstore.Cell{Family: famSummary, Value: row.value}))
	}
	must.Do(t, l.Commit())
	_, err = Open(t.Context(), store, Meta{SchemaVersion: SchemaVersion, Places: count})
	return err
}

// A place without a name is reported as damage, and never becomes a hit.
func TestNamelessRowIsReported(t *testing.T) {
	store := buildtest.NewStore(t)
	meta, _ := must.Two(Build(t.Context(), store, source([]Place{bern}), BuildOptions{})).In(t)
	f := must.Get(Open(t.Context(), store, meta)).In(t)
	table := must.Get(store.Table(t.Context(), tableName("", tableTiles))).In(t)
	var put cellstore.Mutation
	for row := range must.All(t, table.Scan(t.Context(), cellstore.Scan{})) {
		c := row.Clone().Cells[0]
		put = cellstore.Mutation{Row: row.Clone().Key, Ops: []cellstore.Op{
			cellstore.PutAt(c.Family, c.Qualifier, c.Timestamp+1, bytes.Replace(c.Value, []byte(`"name"`), []byte(`"nema"`), 1)),
		}}
	}
	must.Do(t, table.Apply(t.Context(), put))
	nearby, _, err := f.Nearby(t.Context(), NearbyQuery{Lat: bern.Lat, Lon: bern.Lon, Limit: 1}, nil)
	if !errors.Is(err, cellstore.ErrCorrupt) || len(nearby) != 0 {
		t.Errorf("%v, %v", nearby, err)
	}
	within, _, err := f.Within(t.Context(), WithinQuery{Box: quadkey.World, Limit: 1}, nil)
	if !errors.Is(err, cellstore.ErrCorrupt) || len(within) != 0 {
		t.Errorf("%v, %v", within, err)
	}
}

// Rows of place_index with any content are refused or searched, without a panic.
func FuzzIndex(f *testing.F) {
	group := func(list ...byte) []byte {
		return append(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 1), 7), list...)
	}
	f.Add("P.PPL\x00CH\x01", group(0), make([]byte, blockSize), uint32(5))
	f.Add("P.PPL\x00CH\x01", group(0x80), make([]byte, blockSize), uint32(5))
	f.Add("\x00\x00\x00\x00", group(0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), make([]byte, 2*blockSize), uint32(5))
	f.Fuzz(func(t *testing.T, key string, value, blocks []byte, sample uint32) {
		x := &index{every: sampleEvery[low], samples: []quadkey.Cell{quadkey.Cell(sample)}}
		if !x.readBlocks(blocks) || !x.readGroup(key, value) || !x.fits() {
			return
		}
		for _, flt := range []filter{{}, {classes: 1 << 15}, {minPopulation: 5}, {countries: []country{{'C', 'H'}}}} {
			m := x.mask(&flt)
			if !m.none {
				x.greatest(&m, 0, int32(len(x.samples)))
			}
			m.meets(x.blocksOf(0, int32(len(x.samples))))
		}
	})
}

// A record without a name or a position, or of another place, is damage. It never becomes a place
// at 0,0.
func TestDecodeDamaged(t *testing.T) {
	const whole = `{"id":5,"name":"x","lat":-90,"lon":180}`
	for object, want := range map[string]error{
		whole: nil, `{"id":5,"name":"x"}`: cellstore.ErrCorrupt, `{"id":5,"name":"x","lat":1}`: cellstore.ErrCorrupt,
		`{"id":6,"name":"x","lat":1,"lon":2}`: cellstore.ErrCorrupt, `{"id":5,"name":null,"lat":1,"lon":2}`: cellstore.ErrCorrupt,
		`{"id":5,"name":"x","lat":null,"lon":null}`: cellstore.ErrCorrupt,
		`{"id":5,"name":"x","lat":91,"lon":2}`:      cellstore.ErrCorrupt,
		whole[:20]:                                  cellstore.ErrCorrupt,
	} {
		var h Hit
		if err := decode(5, []byte(object), &h, &h); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", object, err, want)
		}
	}
}

// A tile whose stored features or points are cut is damage. It never becomes a tile with fewer
// places.
func TestCutRollupIsReported(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	store := buildtest.NewStore(t)
	far := bern
	far.ID, far.Lon = far.ID+1, -100
	meta, _ := must.Two(Build(t.Context(), store, source([]Place{bern, far}), BuildOptions{})).In(t)
	f := must.Get(Open(t.Context(), store, meta)).In(t)
	table := must.Get(store.Table(t.Context(), tableName("", tableRollup))).In(t)
	var row cellstore.Row
	key := quadkey.Tile{}.Key()
	if found, err := table.Get(t.Context(), key[:], selectShown, &row); err != nil || !found || len(row.Cells) != 2 {
		t.Fatal(found, err)
	}
	count := func() (n int, err error) {
		for _, err = range f.Tile(t.Context(), quadkey.Tile{}, nil) {
			if err == nil {
				n++
			}
		}
		return n, err
	}
	if n, err := count(); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	stored := row.Clone()
	for i := range stored.Cells {
		c := &stored.Cells[i]
		put := func(value []byte) {
			t.Helper()
			err := table.Apply(t.Context(), cellstore.Mutation{
				Row: key[:],
				Ops: []cellstore.Op{cellstore.PutAt(c.Family, c.Qualifier, c.Timestamp, value)},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for n := range c.Value {
			put(c.Value[:n])
			if _, err := count(); !errors.Is(err, cellstore.ErrCorrupt) {
				t.Errorf("%d of %d bytes of %s: %v", n, len(c.Value), c.Family, err)
			}
		}
		put(c.Value)
	}
	put := cellstore.Mutation{
		Row: key[:],
		Ops: []cellstore.Op{cellstore.PutAt(famPoints, nil, stored.Cells[1].Timestamp, stored.Cells[1].Value[:9])},
	}
	must.Do(t, table.Apply(t.Context(), put))
	if err := f.Draw(t.Context(), quadkey.Tile{}, nil, &drawn{}); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("points cut short: %v", err)
	}
}
