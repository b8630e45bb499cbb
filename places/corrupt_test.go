package places

import (
	"encoding/binary"
	"errors"
	"testing"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// Rows cut short anywhere are reported as corrupt, or are whole.
func TestCutRows(t *testing.T) {
	value := appendValue(nil, &bern)
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
		seen := 0
		err := eachPoint(points[:n], quadkey.Tile{}, func(uint32, float64, float64, string, string, int64) error {
			seen++
			return nil
		})
		if whole := n == 0 || n == len(one); whole != (err == nil) || !whole && !errors.Is(err, cellstore.ErrCorrupt) || seen > 1 {
			t.Fatalf("%d of %d bytes: %d points, %v", n, len(points), seen, err)
		}
	}

	record := append([]byte{0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 1, 'q', 'v', 'v'}, "details"...)
	for n := range record {
		if _, err := parseStored(record[:n]); (err == nil) != (n >= 16) {
			t.Fatalf("%d of %d bytes: %v", n, len(record), err)
		}
	}
	var g group
	if g.parse(make([]byte, groupSize-1)) || !g.parse((&group{}).append(nil)) {
		t.Error("groups of the wrong size are taken, or none")
	}
}

func TestCorruptIndex(t *testing.T) {
	for name, row := range map[string]struct {
		key   string
		value []byte
	}{
		"unknown kind":        {"x\x00", nil},
		"short key":           {"q", (&group{}).append(nil)},
		"unknown tier":        {"q\x03P.PPL", (&group{}).append(nil)},
		"short group":         {"q\x00P.PPL", []byte{1}},
		"country of 3":        {"c\x00ABC", (&group{}).append(nil)},
		"half a sample":       {"s\x00\x00\x00\x00\x00", []byte{1, 2}},
		"sample of no place":  {"s\x00\x00\x00\x00\x00", []byte{1, 2, 3, 4}},
		"place of no sample":  {"q\x00P.PPL", (&group{count: 1}).append(nil)},
		"too many of a place": {"q\x00P.PPL", (&group{count: 1 << 40}).append(nil)},
	} {
		store := newStore(t)
		for _, s := range schemas() {
			if err := store.CreateTable(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		l, err := newLoad(t.Context(), store, tableIndex)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.add([]byte(row.key), cellstore.Cell{Family: famSummary, Value: row.value}); err != nil {
			t.Fatal(err)
		}
		if err := l.commit(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), store, Meta{SchemaVersion: SchemaVersion}); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A load whose cells cannot be written says so and does not hang.
func TestLoadFails(t *testing.T) {
	store := newStore(t)
	if err := store.CreateTable(t.Context(), schemas()[1]); err != nil {
		t.Fatal(err)
	}
	l, err := newLoad(t.Context(), store, tableInfo)
	if err != nil {
		t.Fatal(err)
	}
	defer l.abort()
	cell := cellstore.Cell{Family: famJSON, Value: make([]byte, batchSize/2)}
	for i := 0; i < 100 && err == nil; i++ {
		err = l.add([]byte("same row"), cell)
	}
	if err == nil {
		err = l.commit()
	}
	if !errors.Is(err, cellstore.ErrUnsorted) {
		t.Error(err)
	}
}
